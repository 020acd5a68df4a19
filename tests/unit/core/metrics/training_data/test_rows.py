"""Arrays that would not fit into memory are refused before they are allocated, with their size and a hint."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.metrics import make_learner
from semblance.core.metrics.training_data import rows as memory
from semblance.core.metrics.training_data.rows import MAX_FEATURES, check_memory


@pytest.fixture
def little(monkeypatch):
    """Lets learners hold 64 KiB."""
    monkeypatch.setattr(memory, "budget", lambda: 1 << 16)


def many(n=400, d=6, findings=4):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), np.array([f"finding {code}" for code in rng.integers(0, findings, n)])


def test_a_budget_is_a_share_of_what_the_machine_has():
    assert 1 << 28 < memory.budget() < 1 << 50
    assert memory.budget() == memory.budget()


def test_the_message_says_how_much_and_what_to_do(little):
    check_memory(1 << 16, "Nothing", "Do nothing.")
    with pytest.raises(
        BadInput, match=r"Ten rows would take 3\.0 GiB of memory; 0\.1 MiB may be used"
    ) as error:
        check_memory(3 << 30, "Ten rows", "Use nine.")
    assert error.value.hint == "Use nine."


@pytest.mark.parametrize(
    ("name", "settings", "way_out"),
    [
        ("nca", {}, "fewer cases"),
        ("lmnn", {}, "fewer cases"),
        ("ncmc", {"centres": 20}, "fewer centres"),
        ("itml", {}, "fewer pairs"),
        ("mmc", {}, "fewer pairs"),
        ("distboost", {}, "fewer pairs"),
        ("passive_aggressive", {}, "fewer pairs"),
        ("boostmetric", {}, "fewer neighbours"),
    ],
)
def test_a_learner_that_would_not_fit_is_refused_before_its_first_round(little, name, settings, way_out):
    X, y = many()
    with pytest.raises(BadInput, match=r"would take [\d.,]+ [MG]iB of memory") as error:
        make_learner(name, **settings).fit(X, y)
    assert way_out in error.value.hint


def test_impostors_are_counted_beforehand(monkeypatch):
    X, y = many()
    # Memory for the differences from targets, not for impostors among findings that lie across each other.
    monkeypatch.setattr(memory, "budget", lambda: 400_000)
    with pytest.raises(BadInput, match="impostors of 400 cases"):
        make_learner("lmnn").fit(X, y)
    far = X + 100.0 * np.unique(y, return_inverse=True)[1][:, np.newaxis]
    make_learner("lmnn", rounds=2).fit(far, y)


@pytest.mark.parametrize("name", ["lmnn", "mahalanobis", "passive_aggressive"])
def test_a_matrix_of_too_many_features_is_refused(name):
    X = np.zeros((4, MAX_FEATURES + 1))
    X[:2, 0] = 1.0
    with pytest.raises(BadInput, match=r"11,001 features would take [\d.]+ [MG]iB") as error:
        make_learner(name).fit(X, list("abab"))
    assert "pca:200" in error.value.hint
