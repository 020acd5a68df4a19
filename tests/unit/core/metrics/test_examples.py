"""The example in the docstring of a learner runs and gives what it shows."""

from __future__ import annotations

import doctest

import pytest

from semblance.core.metrics import learners
from semblance.core.metrics.registry import estimator_class

WITH_EXAMPLE = [one for one in map(estimator_class, learners()) if ">>>" in (one.__doc__ or "")]


def test_the_learners_have_examples():
    assert len(WITH_EXAMPLE) >= 21


@pytest.mark.parametrize(
    "learner", [one for one in WITH_EXAMPLE if not one.needs], ids=lambda learner: learner.name
)
def test_the_example_of_a_learner_runs_as_shown(learner):
    (example,) = doctest.DocTestFinder(recurse=False).find(learner, learner.name, globs={})
    said: list[str] = []
    doctest.DocTestRunner().run(example, out=said.append)
    assert "".join(said) == ""
