"""What is declared of the learners is what their estimators take."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

from semblance.core.errors import BadArguments
from semblance.core.metrics.declarations import BDMVisualShare
from semblance.core.metrics.registry import estimator_class, grouped_learners, learners, make_learner


def test_each_learner_is_described_and_takes_what_is_declared():
    assert len({learner.name for learner in learners()}) == len(learners())
    for learner in (*learners(), BDMVisualShare):
        taken = inspect.signature(estimator_class(learner)).parameters
        assert taken.keys() == {one.name for one in learner.parameters} | learner.how_fitted(), learner
        for parameter in learner.parameters:
            assert taken[parameter.name].default == parameter.default
            assert parameter.check(parameter.default) == parameter.default
            assert parameter.meaning.endswith("."), parameter
        assert learner.summary.endswith("."), learner
        assert learner.title, learner
        assert learner.how_fitted() <= {"random_state", "n_jobs"}


def test_own_parameters_stand_before_inherited_ones_and_replace_them():
    kernel = next(one for one in learners() if one.name == "bdm_kernel")
    names = [
        "kernel",
        "width",
        "degree",
        "landmarks",
        "visual_neighbours",
        "rounds",
        "step",
        "training_cases",
    ]
    assert [one.name for one in kernel.parameters] == names
    assert make_learner("bdm_kernel").visual_neighbours == 0
    assert make_learner("bdm_v").visual_neighbours == 5


def test_every_learner_is_in_one_of_two_groups():
    papers, compared = grouped_learners()
    assert sorted(one.name for one in (*papers, *compared)) == sorted(one.name for one in learners())


def test_what_is_not_declared_is_refused():
    with pytest.raises(BadArguments, match="no learner 'x'"):
        make_learner("x")
    with pytest.raises(BadArguments, match="no parameter 'k'"):
        make_learner("pca", k=3)
    # It chooses nothing that threads could share.
    with pytest.raises(BadArguments, match="no parameter 'n_jobs'"):
        make_learner("pca", n_jobs=2)
    with pytest.raises(BadArguments, match="'variance' cannot be 2"):
        make_learner("pca", variance=2.0)


def test_a_list_of_learners_needs_neither_numpy_nor_scikit_learn():
    program = (
        "import sys; from semblance.core.metrics import learners; assert learners(); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert not {"numpy", "sklearn"} & set(loaded.stdout.split())
