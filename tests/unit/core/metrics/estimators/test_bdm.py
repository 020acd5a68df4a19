"""What BDM and BDM+V do with constraints, stopping and awkward data."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.metrics import make_learner
from semblance.core.metrics.estimators.bdm import BDMVisualShare, pairs_by_share
from semblance.core.metrics.training import TrainingPoint
from semblance.core.tasks import Cancelled, Reporter
from tests.helpers import naive_bdm as naive

EACH = 6


class Recorder(Reporter):
    def __init__(self, stop_at=10**9, cancel_at=10**9):
        self.points = []
        self.steps = []
        self.stop_at, self.cancel_at = stop_at, cancel_at

    def progress(self, done, total, what):
        self.steps.append((done, total, what))

    def partial(self, result):
        self.points.append(result)

    def check_cancelled(self):
        if len(self.points) >= self.cancel_at:
            raise Cancelled

    @property
    def stop_requested(self):
        return len(self.points) >= self.stop_at


@pytest.mark.parametrize("step", ["paper", "exact"])
@pytest.mark.parametrize("name", ["bdm", "bdm_v"])
@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_rises(name, step, seed):
    X, y = naive.problem(n=60, findings=2 + seed, seed=seed)
    objectives = make_learner(name, rounds=200, step=step).fit(X, y).objectives_
    assert len(objectives) > 10
    assert all(after < before for before, after in itertools.pairwise(objectives))


def test_separable_findings_stop_early_with_finite_weights():
    X = np.array([[0.0, 1], [0.1, 0], [0.2, 1], [5, 0], [5.1, 1], [5.2, 0]])
    learner = make_learner("bdm", rounds=500).fit(X, ["a"] * 3 + ["b"] * 3)
    assert np.isfinite(learner.distance_.weights).all()
    assert len(learner.distance_.weights) < 500
    assert "Stopped" in learner.stopped_


def test_repeated_rows_are_never_cut_apart():
    rng = np.random.default_rng(0)
    half = rng.integers(0, 4, size=(40, 7)).astype(float) / 3
    X, y = np.concatenate([half, half, half]), np.tile((half.sum(axis=1) > 3.3).astype(int), 3)
    learner = make_learner("bdm", rounds=100).fit(X, y)
    bits = learner.distance_.bits(X)
    assert (bits[:40] == bits[40:80]).all()
    assert (bits[:40] == bits[80:]).all()


def test_more_features_than_cases_give_what_all_features_give():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 80)), np.arange(30) % 2
    X[:, 0] += y
    learner = make_learner("bdm", rounds=3).fit(X, y)
    assert learner.distance_.directions.shape == (80, 3)
    assert np.linalg.norm(learner.distance_.directions, axis=0) == pytest.approx(1.0)
    bits = [([1.0] * 30, 0.0)]
    s_plus, s_minus = naive.weights(naive.similarity(y), naive.distances(bits))
    matrix = X.T @ (naive.laplacian(s_minus) - naive.laplacian(s_plus)) @ X
    u = learner.distance_.directions[:, 0]
    assert np.abs(matrix @ u - np.linalg.eigvalsh(matrix)[-1] * u).max() < 1e-9 * np.abs(matrix).max()


def test_pairs_alone_are_enough_and_overrule_findings():
    X, y = naive.problem()
    same = [(i, j, 1) for i in range(45) for j in range(i + 1, 45) if y[i] == y[j]]
    other = [(j, i, -1) for i in range(45) for j in range(i + 1, 45) if y[i] != y[j]]
    from_pairs = make_learner("bdm", rounds=5).fit(X, pairs=np.array(same + other))
    from_findings = make_learner("bdm", rounds=5).fit(X, y).objectives_
    assert from_pairs.objectives_ == pytest.approx(from_findings, rel=1e-12)
    overruled = make_learner("bdm", rounds=5).fit(X, y, pairs=np.array([[0, 1, 1]]))
    assert overruled.metric().card.constraints["similar"] == len(same) + 1


def test_cases_without_a_finding_take_part_only_through_visual_pairs():
    X, y = naive.problem()
    known = np.array([*y[:40], "", "", "", "", ""])
    alone = make_learner("bdm", rounds=5).fit(X[:40], y[:40])
    assert make_learner("bdm", rounds=5).fit(X, known).objectives_ == pytest.approx(
        alone.objectives_, rel=1e-12
    )
    assert make_learner("bdm_v", rounds=5).fit(X, known).metric().card.n_cases == 45


def test_no_visual_neighbours_is_plain_bdm():
    X, y = naive.problem()
    with_none = make_learner("bdm_v", rounds=5, visual_neighbours=0).fit(X, y)
    assert with_none.objectives_ == make_learner("bdm", rounds=5).fit(X, y).objectives_


def test_every_round_is_reported_and_a_point_keeps_its_distance():
    X, y = naive.problem()
    recorder = Recorder()
    learner = make_learner("bdm", rounds=6).fit(X, y, reporter=recorder)
    assert recorder.steps == [(t, 6, "BDM") for t in range(7)]
    assert [point.round for point in recorder.points] == [1, 2, 3, 4, 5, 6]
    assert [point.objective for point in recorder.points] == learner.objectives_[1:]
    third = recorder.points[2]
    assert isinstance(third, TrainingPoint)
    assert len(third.distance.weights) == 3
    again = pickle.loads(pickle.dumps(third))
    assert (again.round, again.objective) == (3, third.objective)
    assert (again.distance.between(X, X) == third.distance.between(X, X)).all()


def test_stopping_keeps_the_finished_rounds():
    X, y = naive.problem()
    learner = make_learner("bdm", rounds=50).fit(X, y, reporter=Recorder(stop_at=4))
    assert len(learner.distance_.weights) == 4
    card = learner.metric().card
    assert card.rounds == 4
    assert card.notes[0] == "Stopped on request after 4 rounds."


def test_stopping_before_the_first_round_still_gives_a_metric():
    X, y = naive.problem()
    learner = make_learner("bdm").fit(X, y, reporter=Recorder(stop_at=0))
    assert learner.metric().card.rounds == 1


def test_cancelling_leaves_the_learner_as_it_was():
    X, y = naive.problem()
    learner = make_learner("bdm", rounds=3).fit(X, y)
    before = learner.metric().card.content_hash
    with pytest.raises(Cancelled):
        learner.fit(X[:, ::-1], y, reporter=Recorder(cancel_at=2))
    assert learner.metric().card.content_hash == before


def test_the_card_says_what_was_learnt_from():
    X, y = naive.problem()
    card = make_learner("bdm_v", rounds=3).fit(X, y, groups=np.arange(45) // 3).metric().card
    assert card.learner == "bdm_v"
    assert card.parameters == {"visual_neighbours": 5, "rounds": 3, "step": "paper", "training_cases": 4_000}
    assert card.findings == {"finding 0": 15, "finding 1": 15, "finding 2": 15}
    assert (card.n_cases, card.n_patients, card.rounds) == (45, 15, 3)
    assert card.constraints["similar"] + card.constraints["dissimilar"] == 45 * 44 // 2
    assert card.constraints["visual"] == card.constraints["similar"] - 3 * 15 * 14 // 2
    assert any("Euclidean" in note for note in card.notes)
    assert card.versions["numpy"] == np.__version__


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (["a"] * 10, "All training cases have the finding 'a'"),
        (list("abcdefghij"), "similar"),
        (["a", "b"], "10 cases but 2 findings"),
        (None, "findings or pairs"),
        ([None] * 10, "dissimilar"),
    ],
)
def test_findings_without_similar_and_dissimilar_pairs_are_refused(y, words):
    with pytest.raises(BadInput, match=words) as caught:
        make_learner("bdm").fit(np.random.default_rng(0).normal(size=(10, 3)), y)
    assert caught.value.hint


def test_features_that_separate_nothing_are_refused():
    with pytest.raises(BadInput, match="No threshold"):
        make_learner("bdm").fit(np.ones((6, 2)), list("ababab"))


def test_what_would_not_fit_is_refused_before_memory_is_taken(monkeypatch):
    monkeypatch.setattr("semblance.core.metrics.estimators.bdm.MAX_VALUES", 134)
    X, y = naive.problem(n=45, d=3)
    with pytest.raises(BadInput, match="45 cases of 3 features would take") as caught:
        make_learner("bdm").fit(X, y)
    assert "at most 44 cases" in caught.value.hint


def test_a_parameter_out_of_range_is_refused():
    X, y = naive.problem()
    learner = make_learner("bdm")
    learner.rounds = 0
    with pytest.raises(BadArguments, match="rounds"):
        learner.fit(X, y)


def made_up(n: int = 90, seed: int = 0, noise: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Three quiet columns tell two findings; two loud ones are what cases look like."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n)
    X = np.hstack([y[:, None] + rng.normal(0, noise, (n, 3)), rng.normal(0, 2.0, (n, 2))])
    return X, y


def nearest(X: np.ndarray, k: int) -> set[tuple[int, int]]:
    """Pairs of which one is among the ``k`` nearest of the other, by loops."""
    out = set()
    for i in range(len(X)):
        squared = ((X - X[i]) ** 2).sum(axis=1)
        squared[i] = np.inf
        out |= {(min(i, j), max(i, j)) for j in np.argsort(squared, kind="stable")[:k].tolist()}
    return out


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 1.0])
def test_pairs_come_from_visual_neighbours_before_findings(share: float) -> None:
    X, y = made_up()
    pairs = pairs_by_share(X, y, share, 0, each=EACH)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs[:, :2], axis=0)) == len(pairs)
    near = nearest(X, round(share * EACH)) if share else set()
    for i, j, sign in pairs.tolist():
        if (i, j) in near:
            assert sign == 1
        elif sign == 1:
            assert y[i] == y[j]
        elif share < 1.0 and y[i] == y[j]:
            assert share > 0.0  # drawn from all, as not similar
    assert near <= {(i, j) for i, j, _ in pairs.tolist()}
    if share == 1.0:
        assert {(i, j) for i, j, sign in pairs.tolist() if sign == 1} == near


def test_every_case_takes_part() -> None:
    X, y = made_up()
    pairs = pairs_by_share(X, y, 0.5, 0, each=EACH)
    for sign in (1, -1):
        assert set(range(len(X))) == set(pairs[pairs[:, 2] == sign, :2].ravel().tolist())


def test_cases_without_finding_form_visual_pairs_only() -> None:
    X, y = made_up()
    y[:10] = -1
    near = nearest(X, 3)
    for i, j, sign in pairs_by_share(X, y, 0.5, 0, each=EACH).tolist():
        if sign == 1 and (i < 10 or j < 10):
            assert (i, j) in near


def test_the_same_seed_gives_the_same_pairs() -> None:
    X, y = made_up()
    one, two, other = (pairs_by_share(X, y, 0.5, seed) for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_visual_share_0_equals_bdm() -> None:
    X, y = made_up()
    plain = make_learner("bdm", rounds=12).fit(X, y)
    between = BDMVisualShare(visual_share=0.0, rounds=12).fit(X, y)
    assert between.objectives_ == plain.objectives_
    assert between.metric().card.learner == "bdm_v"


def test_visual_share_0_favours_findings_and_1_visual_similarity() -> None:
    # Findings that overlap: where bits separate them at once, all others tie and visual similarity decides again.
    (X, y), (Q, z) = made_up(200, noise=0.9), made_up(200, seed=1, noise=0.9)
    accuracy, visual = [], []
    apart = ((Q[:, None] - Q) ** 2).sum(axis=2)
    for share in (1.0, 0.5, 0.0):
        metric = BDMVisualShare(visual_share=share, rounds=120, random_state=0).fit(X, y).metric()
        D = metric.distances(Q, Q) + 1e-9 * apart
        np.fill_diagonal(D, np.inf)
        near = np.argsort(D, axis=1)[:, :10]
        accuracy.append((z[near] == z[:, None]).mean())
        visual.append(np.take_along_axis(apart, near, axis=1).mean())
    assert accuracy[0] < min(accuracy[1:])
    assert visual[0] < visual[1] < visual[2]


def test_it_needs_findings() -> None:
    with pytest.raises(BadInput, match="learns from findings"):
        BDMVisualShare().fit(made_up()[0])


def test_the_objective_never_rises_between_looks_and_findings() -> None:
    X, y = made_up()
    assert (np.diff(BDMVisualShare(rounds=40, random_state=0).fit(X, y).objectives_) < 0).all()
