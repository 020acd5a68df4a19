"""Parameters chosen by several threads are those chosen by one."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.metrics import learners, make_learner
from semblance.core.metrics.training_data.validation import parallel_map
from semblance.core.tasks import Cancelled
from tests.helpers.learners import Listener, problem

CHOOSING = [one.name for one in learners() if "n_jobs" in one.how_fitted()]


def test_learners_that_choose_among_candidates_take_n_jobs():
    assert set(CHOOSING) == {"mahalanobis", "rca", "lda", "lfda", "mmc", "passive_aggressive", "ccml"}


@pytest.mark.parametrize("n_jobs", [2, 5, -1])
@pytest.mark.parametrize("name", CHOOSING)
def test_any_number_of_threads_gives_the_same_metric(name, n_jobs):
    rng = np.random.default_rng(2)
    codes = np.arange(160) % 4
    X = rng.normal(size=(160, 9)) + rng.normal(size=(4, 9))[codes]
    y = codes.astype(str)
    one = make_learner(name, random_state=3).fit(X, y).metric()
    several = make_learner(name, random_state=3, n_jobs=n_jobs).fit(X, y).metric()
    assert several.card.content_hash == one.card.content_hash
    assert several.card.notes == one.card.notes
    assert several.card.parameters == one.card.parameters


def test_results_come_in_order_and_an_error_ends_the_choice():
    assert parallel_map(lambda number: number**2, range(20), 3) == [number**2 for number in range(20)]
    with pytest.raises(ValueError, match="n_jobs == 0"):
        parallel_map(str, [1], 0)
    X, y = problem("two findings")
    learner = make_learner("passive_aggressive", n_jobs=2)
    with pytest.raises(Cancelled):
        learner.fit(X, y, reporter=Listener(cancel_at=2))
    assert not hasattr(learner, "model_")
