"""conv_ccml and convnet: frozen equal to torch, better than pixels, true to the contract of learners."""

from __future__ import annotations

import doctest
import subprocess
import sys

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics import load_metric, make_learner
from semblance.core.metrics.estimators.image_networks import Network, as_images
from semblance.core.metrics.training import TrainingPoint
from semblance.core.tasks import Cancelled
from tests.helpers.learners import HOPELESS, PROBLEMS, Listener, problem

torch = pytest.importorskip("torch", reason="needs the extra 'deep': make test-deep")

SIDE = 12
VARIANTS = [
    ("conv_ccml", {"layers": 2, "rounds": 12}),
    ("conv_ccml", {"layers": 1, "rounds": 12, "locality": "classwise", "k": 2, "components": 3}),
    ("convnet", {"layers": 2, "rounds": 12}),
    ("convnet", {"layers": 1, "rounds": 12, "rate": 0.01, "decay": 0.0}),
]
over_variants = pytest.mark.parametrize(("name", "settings"), VARIANTS, ids=str)
USABLE = [one for one in PROBLEMS if one not in HOPELESS]


def make(name, settings):
    return make_learner(name, random_state=7, **settings)


def as_rows(X):
    """Rows of a problem spread over images, its own scale unchanged."""
    spread = np.random.default_rng(0).normal(size=(X.shape[1], SIDE * SIDE))
    return (X.astype(np.float64) @ spread).astype(X.dtype)


def imaged(name):
    X, y = problem(name)
    return as_rows(X), y


def corners(n, side=SIDE, seed=0):
    """Noise with a bright cross somewhere in the image, or a bright ring: alike by shape, not by pixel."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 0.4, size=(n, side, side))
    y = np.arange(n) % 2
    for image, finding in zip(X, y, strict=True):
        row, column = rng.integers(0, side - 4, 2)
        part = image[row : row + 5, column : column + 5]
        if finding:
            part[2, :] += 0.6
            part[:, 2] += 0.6
        else:
            part[[0, -1], :] += 0.6
            part[:, [0, -1]] += 0.6
    return X.reshape(n, -1), np.array(["ring", "cross"])[y]


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("side", [12, 15, 28])
def test_frozen_it_gives_what_torch_gives(layers, side):
    X = np.random.default_rng(1).uniform(size=(20, side * side))
    network = Network(torch, as_images("It", X, layers), layers, 8, X, seed=0)
    with torch.no_grad():
        for tensor in network.parameters:
            tensor += 0.1 * torch.randn(tensor.shape, generator=torch.Generator().manual_seed(3))
    expected = network.embed(X)
    assert np.abs(network.frozen().embed(X) - expected).max() <= 1e-5 * np.abs(expected).max()


@over_variants
def test_shapes_are_separated_that_pixels_do_not_separate(name, settings):
    X, y = corners(400)
    fitted = make(name, settings | {"rounds": 150, "components": 16}).fit(X[:300], y[:300])

    def error(metric):
        d = metric.distances(X[300:], X[:300])
        return np.mean(y[:300][d.argmin(axis=1)] != y[300:])

    plain = error(make_learner("euclidean").fit(X[:300], y[:300]).metric())
    assert error(fitted.metric()) < 0.6 * plain


@over_variants
@pytest.mark.parametrize("which", USABLE)
def test_on_every_problem_it_is_a_distance_and_repeats_itself(name, settings, which):
    X, y = imaged(which)
    metric = make(name, settings).fit(X, y).metric()
    rows = X[:14]
    d = metric.distances(rows, rows)
    assert np.isfinite(d).all()
    assert (np.diag(d) == 0).all()
    assert (d == d.T).all()
    for q, x in ((0, 1), (2, 3), (1, 1)):
        parts = [part.amount for part in metric.explain(rows[q], rows[x])]
        one = metric.distances(rows[q], rows[x])[0, 0]
        assert sum(parts) == pytest.approx(one, rel=1e-9, abs=1e-14 * max(map(abs, parts)))
    again = make(name, settings).fit(X, y).metric()
    assert again.card.content_hash == metric.card.content_hash


@over_variants
@pytest.mark.parametrize("which", sorted(HOPELESS))
def test_what_nothing_can_be_learnt_from_is_refused(name, settings, which):
    with pytest.raises(BadInput) as caught:
        make(name, settings).fit(*imaged(which))
    assert caught.value.hint


@over_variants
def test_saved_and_loaded_it_is_the_same(name, settings, tmp_path):
    X, y = imaged("two findings")
    metric = make(name, settings).fit(X, y).metric()
    metric.save(tmp_path / "metric.zip")
    again = load_metric(tmp_path / "metric.zip")
    assert (again.distances(X, X) == metric.distances(X, X)).all()
    assert again.explain(X[0], X[1]) == metric.explain(X[0], X[1])
    assert again.card == metric.card
    assert again.card.versions["torch"] == torch.__version__


@over_variants
def test_cancelled_at_any_report_it_is_as_before(name, settings):
    X, y = imaged("two findings")
    listener = Listener()
    make(name, settings).fit(X, y, reporter=listener)
    learner = make(name, settings).fit(*imaged("many findings"))
    before = dict(vars(learner))
    assert listener.cancel_checks > 10
    for moment in np.unique(np.linspace(1, listener.cancel_checks, 8).round().astype(int)):
        with pytest.raises(Cancelled):
            learner.fit(X, y, reporter=Listener(cancel_at=moment))
        assert vars(learner).keys() == before.keys()
        assert all(vars(learner)[key] is value for key, value in before.items())


@over_variants
def test_stopped_early_it_keeps_what_it_has(name, settings):
    X, y = imaged("two findings")
    whole, stopped = Listener(), Listener(stop_after=3)
    final = make(name, settings).fit(X, y, reporter=whole).metric().distances(X, X)
    assert all(isinstance(point, TrainingPoint) for point in whole.partials)
    assert (final == whole.partials[-1].distance.between(X, X)).all()
    metric = make(name, settings).fit(X, y, reporter=stopped).metric()
    assert len(stopped.partials) == 3
    assert (metric.distances(X, X) == stopped.partials[-1].distance.between(X, X)).all()
    assert any("topped" in note for note in metric.card.notes)


@over_variants
def test_it_says_nothing_and_leaves_torch_as_it_was(name, settings, capfd):
    before = torch.get_num_threads(), torch.random.get_rng_state()
    make(name, settings).fit(*imaged("many findings"))
    assert capfd.readouterr() == ("", "")
    assert torch.get_num_threads() == before[0]
    assert torch.equal(torch.random.get_rng_state(), before[1])


def test_without_squares_it_says_what_to_do():
    X = np.random.default_rng(0).normal(size=(10, 30))
    with pytest.raises(BadInput, match="30 numbers a case are not a square") as caught:
        make_learner("conv_ccml").fit(X, ["a", "b"] * 5)
    assert "--steps none" in caught.value.hint


@pytest.mark.parametrize(("side", "layers"), [(5, 1), (11, 2), (129, 1)])
def test_images_too_small_or_too_large_are_refused(side, layers):
    X = np.random.default_rng(0).normal(size=(10, side * side))
    with pytest.raises(BadInput, match=f"{side} x {side}"):
        make_learner("conv_ccml", layers=layers).fit(X, ["a", "b"] * 5)


def test_where_only_equal_images_have_a_finding_it_still_is_a_distance():
    X = np.vstack([np.ones((8, SIDE * SIDE)), np.random.default_rng(0).normal(size=(4, SIDE * SIDE))])
    metric = make_learner("conv_ccml", rounds=5).fit(X, ["a", "b"] * 4 + [""] * 4).metric()
    assert np.isfinite(metric.distances(X, X)).all()


def test_diverging_weights_are_reported(monkeypatch):
    def run_away(training):
        with torch.no_grad():
            training.network.parameters[0].fill_(torch.inf)

    monkeypatch.setattr("semblance.core.metrics.estimators.image_networks.NetworkTraining._descend", run_away)
    with pytest.raises(BadInput, match="did not converge"):
        make_learner("convnet", rate=0.1, decay=0.0, rounds=1).fit(*corners(40))


def test_a_saved_metric_is_used_without_torch(tmp_path):
    X, y = corners(40)
    make(*VARIANTS[0]).fit(X, y).metric().save(tmp_path / "metric.zip")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import sys, numpy as np\n"
        "sys.modules['torch'] = None\n"
        "from semblance.core.metrics import load_metric\n"
        "metric = load_metric(sys.argv[1])\n"
        "X = np.load(sys.argv[2])\n"
        "print(metric.distances(X, X).shape, len(metric.explain(X[0], X[1])))\n"
    )
    files = [str(tmp_path / "metric.zip"), str(tmp_path / "X.npy")]
    done = subprocess.run([sys.executable, "-c", code, *files], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["(40,", "40)", "1"]


@pytest.mark.parametrize("name", ["conv_ccml", "convnet"])
def test_the_example_in_the_docstring_runs_as_shown(name):
    kind = type(make_learner(name))
    (example,) = doctest.DocTestFinder(recurse=False).find(kind, name, globs={})
    output: list[str] = []
    doctest.DocTestRunner().run(example, out=output.append)
    assert "".join(output) == ""
