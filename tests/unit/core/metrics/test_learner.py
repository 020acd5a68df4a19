"""What every learner promises, on every kind of problem; the list is tests/helpers/learners.py."""

from __future__ import annotations

import functools
import re

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from semblance.core.errors import BadInput
from semblance.core.metrics import learners, make_learner
from semblance.core.metrics.training import TrainingPoint
from semblance.core.tasks import Cancelled
from semblance.testing import check_metric
from tests.helpers.learner_checks import labelled_problem
from tests.helpers.learners import PROBLEMS, VARIANTS, Listener, problem

over_variants = pytest.mark.parametrize("variant", VARIANTS, ids=str)


def accepted(variant, *names):
    """Those of the problems (all, if none is named) that ``variant`` does not refuse."""
    return [name for name in names or PROBLEMS if name not in variant.refuses]


#: Cancelling is tried at every report of a fit with few of them, else at this many, evenly spread.
MOMENTS = 10


@functools.cache
def fitted(place, name):
    """The metric of variant ``place`` on problem ``name``, or its error message."""
    X, y = problem(name)
    try:
        return VARIANTS[place].make().fit(X, y).metric()
    except BadInput as refusal:
        return refusal


@functools.cache
def listened(place, name):
    """What was reported of fitting variant ``place`` on problem ``name``, and the metric."""
    listener = Listener()
    return listener, VARIANTS[place].make().fit(*problem(name), reporter=listener).metric()


def metric_of(variant, name):
    metric = fitted(VARIANTS.index(variant), name)
    assert not isinstance(metric, BadInput), metric
    return metric


def some_rows(name):
    """Training rows and some between them, (m, d)."""
    X, _ = problem(name)
    X = X.astype(np.float64)
    return np.concatenate([X[:14], 0.7 * X[:4] + 0.3 * X[-4:]])


def test_the_list_names_learners_there_are():
    # Those that need an extra of the installation meet their problems in tests/deep.
    names = {learner.name for learner in learners() if not learner.needs}
    assert {variant.learner for variant in VARIANTS} == names
    assert len(set(map(str, VARIANTS))) == len(VARIANTS)


@over_variants
def test_it_fits_or_refuses_each_problem_as_stated(variant):
    outcomes = {name: fitted(VARIANTS.index(variant), name) for name in PROBLEMS}
    refusals = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, BadInput)}
    assert refusals.keys() == variant.refuses, refusals
    for refusal in refusals.values():
        assert refusal.message.endswith(".")
        assert refusal.hint.endswith(".")


@over_variants
def test_its_metrics_keep_the_contract_of_metrics(variant):
    for name in accepted(variant):
        check_metric(metric_of(variant, name), some_rows(name), f"{variant} on {name}")


@over_variants
def test_a_seed_gives_the_same_metric(variant):
    for name in accepted(variant, "two findings", "many findings", "d > n"):
        again = variant.make().fit(*problem(name)).metric()
        assert again.card.content_hash == metric_of(variant, name).card.content_hash, name


@over_variants
def test_the_order_of_rows_changes_nothing(variant):
    names = ("two findings", "many findings", "d > n", "duplicate rows", "cases without a finding")
    for name in accepted(variant, *names):
        metric, rows = metric_of(variant, name), some_rows(name)
        X, y = problem(name)
        order = np.random.default_rng(3).permutation(len(X))
        again = variant.make().fit(X[order], y[order]).metric()
        d = metric.distances(rows, rows)
        assert again.distances(rows, rows) == pytest.approx(d, rel=1e-6, abs=1e-8 * d.max()), name


@pytest.mark.parametrize("name", sorted({variant.learner for variant in VARIANTS}))
def test_the_number_of_threads_changes_nothing(name):
    X, y, _ = labelled_problem(n=120, d=30)
    found = []
    for threads in (1, 4):
        with threadpool_limits(limits=threads):
            found.append(make_learner(name, random_state=0).fit(X, y).metric().card.content_hash)
    assert found[0] == found[1]


@over_variants
def test_cancelled_at_any_report_it_is_as_before(variant):
    X, y = problem("two findings")
    listener, _ = listened(VARIANTS.index(variant), "two findings")
    moments = (
        np.unique(np.linspace(1, listener.cancel_checks, MOMENTS).round().astype(int))
        if listener.cancel_checks
        else np.empty(0, int)
    )
    # Half of them meet a learner that has learnt nothing, the others one that has.
    for learner, half in (
        (variant.make(), moments[::2]),
        (variant.make().fit(*problem("many findings")), moments[1::2]),
    ):
        before = dict(vars(learner))
        for moment in half:
            with pytest.raises(Cancelled):
                learner.fit(X, y, reporter=Listener(cancel_at=moment))
            assert vars(learner).keys() == before.keys()
            assert all(vars(learner)[key] is value for key, value in before.items())


@over_variants
def test_stopped_early_it_keeps_the_best_so_far(variant):
    X, y = problem("two findings")
    whole, _ = listened(VARIANTS.index(variant), "two findings")
    stopped = Listener(stop_after=2)
    if len(whole.partials) < 4:
        return
    assert all(isinstance(point, TrainingPoint) for point in whole.partials)
    assert [point.round for point in whole.partials] == sorted({point.round for point in whole.partials})
    learner = variant.make().fit(X, y, reporter=stopped)
    assert len(stopped.partials) == 2
    rows = some_rows("two findings")
    distances = learner.metric().distances(rows, rows)
    assert any((distances == point.distance.between(rows, rows)).all() for point in stopped.partials)
    assert any("topped" in note for note in learner.metric().card.notes)


@over_variants
def test_points_of_the_curve_may_be_read_late(variant):
    listener, metric = listened(VARIANTS.index(variant), "two findings")
    rows = some_rows("two findings")
    for point in listener.partials:
        assert np.isfinite(point.objective)
        assert np.isfinite(point.distance.between(rows, rows)).all()
    if listener.partials:
        final = metric.distances(rows, rows)
        assert any((final == point.distance.between(rows, rows)).all() for point in listener.partials)


@over_variants
def test_learners_print_nothing(variant, capfd):
    variant.make().fit(*problem("many findings"))
    assert capfd.readouterr() == ("", "")


@over_variants
def test_stopped_at_once_it_gives_a_metric_or_none(variant):
    X, y = problem("two findings")
    rows = some_rows("two findings")
    metric = variant.make().fit(X, y, reporter=Listener(stop_after=0)).metric()
    assert np.isfinite(metric.distances(rows, rows)).all()


@over_variants
def test_progress_never_falls_and_ends_within_its_total(variant):
    listener, _ = listened(VARIANTS.index(variant), "many findings")
    for what in {what for _, _, what in listener.steps}:
        assert what
        done = [(done, total) for done, total, name in listener.steps if name == what]
        assert [count for count, _ in done] == sorted(count for count, _ in done)
        assert all(0 <= count <= total for count, total in done)


@over_variants
def test_the_card_says_what_was_learnt_from_and_why_it_ended(variant):
    learner = variant.make()
    for name in accepted(variant, "two findings", "n = 4", "far apart"):
        X, y = problem(name)
        card = metric_of(variant, name).card
        assert (card.learner, card.n_cases, dict(card.findings)) == (
            variant.learner,
            len(X),
            {finding: int((y == finding).sum()) for finding in np.unique(y)},
        )
        assert dict(card.parameters) == {p.name: getattr(learner, p.name) for p in learner.parameters}
        if {"rounds", "passes"} & {parameter.name for parameter in learner.parameters}:
            assert card.rounds >= 1, name
            ended = re.compile(r"\b(All \d+|[Ss]topped|Converged) ")
            assert any(ended.search(note) for note in card.notes), (name, card.notes)
        assert all(note.endswith(".") for note in card.notes), name


@over_variants
def test_a_second_fit_does_not_depend_on_the_first(variant):
    X, y = problem("two findings")
    learner = variant.make().fit(*problem("d > n")).fit(X, y)
    assert learner.metric().card.content_hash == metric_of(variant, "two findings").card.content_hash
    assert learner.get_params() == variant.make().get_params()


@pytest.mark.parametrize("name", ["rca", "itml", "sdml", "mmc", "distboost"])
def test_pairs_alone_are_enough(name):
    X, y, _ = labelled_problem()
    i, j = np.triu_indices(len(X), 1)
    pairs = np.stack([i, j, np.where(y[i] == y[j], 1, -1)], axis=1)[::7]
    metric = make_learner(name).fit(X, pairs=pairs).metric()
    d = metric.distances(X, X)
    same = y[:, None] == y
    np.fill_diagonal(same, False)
    assert d[same].mean() < d[y[:, None] != y].mean()


@pytest.mark.parametrize(
    "name",
    ["lda", "lfda", "nca", "lmnn", "ncmc", "ccml", "mlkr", "supcon", "proxy_anchor", "triplet_head", "scml"],
)
def test_cases_without_a_finding_are_left_out(name):
    X, y, _ = labelled_problem()
    some = y.copy()
    some[::5] = ""
    known = some != ""
    a = make_learner(name, random_state=1).fit(X, some).metric()
    b = make_learner(name, random_state=1).fit(X[known], y[known]).metric()
    np.testing.assert_allclose(a.distances(X, X), b.distances(X, X), rtol=1e-9)
