"""Parameters are chosen by training parts alone."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.splits import halves
from semblance.core.metrics.registry import make_learner
from semblance.core.metrics.steps.sequence import parse_steps
from semblance.core.research.selection import choose_settings
from semblance.core.tasks import SILENT
from tests.helpers.inline_runner import InlineRunner
from tests.helpers.tables import write_table
from tests.unit.core.research.test_run_cells import document, measure, spec

GRID = [{"rounds": 1}, {"rounds": 10}]


def data(n: int = 80, seed: int = 0) -> EvaluationData:
    rng = np.random.default_rng(seed)
    y = np.array([str(row // 2 % 2) for row in range(n)])
    X = rng.normal(size=(n, 4))
    X[:, 0] += 3 * (y == "1")
    return EvaluationData(X, y, np.array([f"P{row // 2}" for row in range(n)]))


def chosen(cases, train, **more):
    kinds = {"criterion": "knn_accuracy@3", "inner_folds": 3, "seed": 5, "reporter": SILENT, **more}
    combinations = kinds.pop("combinations", GRID)
    return choose_settings(
        lambda params: make_learner("bdm", random_state=1, **params),
        combinations,
        cases,
        train,
        parse_steps("standardise"),
        **kinds,
    )


@pytest.mark.parametrize("criterion", ["knn_accuracy@3", "retrieval_accuracy@5"])
def test_test_part_does_not_affect_the_choice(criterion):
    cases = data()
    split = halves(cases.y.tolist(), cases.groups, 2)
    first = chosen(cases, split.train, criterion=criterion)
    X, y = cases.X.copy(), cases.y.copy()
    X[split.test] = 1e6
    y[split.test] = "1"
    assert chosen(EvaluationData(X, y, cases.groups), split.train, criterion=criterion) == first
    assert all(mean is not None and 0.5 < mean <= 1 for mean in first[1])


def test_no_patient_is_in_two_inner_folds(monkeypatch):
    cases, splits = data(), []
    from semblance.core.research import selection

    real = selection.PreparedSplit

    def watched(part, split, *rest):
        splits.append((part, split))
        return real(part, split, *rest)

    monkeypatch.setattr(selection, "PreparedSplit", watched)
    chosen(cases, halves(cases.y.tolist(), cases.groups, 2).train)
    assert len(splits) == 3
    for part, split in splits:
        assert not set(part.groups[split.train]) & set(part.groups[split.test])


def test_failing_combinations_are_excluded_and_all_failing_is_an_error():
    cases = data()
    train = np.arange(40)
    best, means = choose_settings(
        lambda params: make_learner(**params),
        [{"name": "conv_ccml"}, {"name": "lda"}],
        cases,
        train,
        (),
        criterion="knn_accuracy@1",
        inner_folds=2,
        seed=0,
        reporter=SILENT,
    )
    assert best == {"name": "lda"}
    assert means[0] is None
    with pytest.raises(BadInput, match="No choice of the parameters"):
        choose_settings(
            lambda params: make_learner(**params), [{"name": "conv_ccml"}] * 2, cases, train, (),
            criterion="knn_accuracy@1", inner_folds=2, seed=0, reporter=SILENT,
        )  # fmt: skip


def test_results_list_chosen_parameters(tmp_path):
    table = {"table": str(write_table(tmp_path / "t.csv", n=60))}
    grid = {"learner": "bdm", "grid": {"rounds": [1, 6]}}
    nested = document(measure(tmp_path / "n", spec(table, learners=(grid,))))["results"]
    each = document(measure(tmp_path / "e", spec(table, learners=({**grid, "select": "each"},))))["results"]
    assert [row["learner"] for row in nested] == ["bdm (rounds=1|6)"]
    assert [row["learner"] for row in each] == ["bdm (rounds=1)", "bdm (rounds=6)"]
    assert "rounds" not in nested[0]["params"]
    by_rounds = dict(zip([1, 6], [row["scores"]["auc"]["values"] for row in each], strict=True))
    picked = [one["rounds"] for one in nested[0]["chosen"]]
    assert nested[0]["scores"]["auc"]["values"] == [
        by_rounds[rounds][repeat] for repeat, rounds in enumerate(picked)
    ]


def test_each_shares_cells_with_the_same_learner_named_alone(tmp_path):
    table = {"table": str(write_table(tmp_path / "t.csv", n=40))}
    measure(tmp_path / "e", spec(table, learners=({"learner": "bdm", "params": {"rounds": 2}},)))
    runner = InlineRunner()
    each = {"learner": "bdm", "grid": {"rounds": [2, 3]}, "select": "each"}
    measure(tmp_path / "e", spec(table, learners=(each,)), runner)
    assert len(runner.cells) == 2


def test_unknown_scores_to_choose_by_are_refused():
    for text in ("auc", "knn_accuracy@0", "knn_accuracy@x", "retrieval_accuracy@51"):
        with pytest.raises(BadArguments, match="cannot be chosen by"):
            spec({"table": "builtin:iris"}, select_by=text)
