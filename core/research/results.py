"""What the finished cells say together: scores with intervals, comparisons, ranks, the worst queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semblance.core.evaluation.friedman import friedman_of_means, holm
from semblance.core.evaluation.intervals import over_repeats
from semblance.core.evaluation.nemenyi import nemenyi_json
from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.evaluation.result import LearnerResult, Measured, summarise
from semblance.core.evaluation.significance import corrected_t_test, wilcoxon_test
from semblance.core.language import tr_lazy
from semblance.core.metrics.training import versions
from semblance.core.research.cells import Cell, measured_splits
from semblance.core.research.run_cells import ExperimentState

#: Steps where none are named: those that suit the cases.
USUAL_STEPS = tr_lazy("usual steps")
#: Queries told of, the worst first; and of every finding.
MOST_QUERIES, MOST_OF_FINDING = 50, 10


@dataclass(frozen=True)
class Row:
    """One learner on one kind of cases by one protocol: the places of a :class:`Cell`, without the repeat."""

    protocol: int
    cases: int
    steps: int
    learner: int
    cells: tuple[Cell, ...]


def result_rows(state: ExperimentState) -> list[Row]:
    """In the order of the experiment: protocols, cases, steps, learners."""
    together: dict[tuple[int, int, int, int], list[Cell]] = {}
    for cell in state.cells:
        together.setdefault(cell.row, []).append(cell)
    return [
        Row(*key, tuple(sorted(cells, key=lambda cell: cell.repeat)))
        for key, cells in sorted(together.items())
    ]


def live_table(state: ExperimentState) -> dict[str, Any]:
    """Scores so far without curves and comparisons, quick enough to be made again and again."""
    rows = []
    for row in result_rows(state):
        answers = _answers(state, row)
        names = protocol_class(state.spec.protocols[row.protocol].protocol).compared
        values: dict[str, list[float | None]] = {name: [] for name in names}
        for answer in answers:
            for split in answer["splits"]:
                for name in names:
                    values[name].append(split["scores"].get(name))
        scores = {
            name: over_repeats(found).to_json()
            for name, found in values.items()
            if any(value is not None for value in found)
        }
        rows.append({**_facts(state, row, answers), "scores": _honest(state, row, scores)})
    return {**_heading(state), "results": rows}


def document(state: ExperimentState) -> dict[str, Any]:
    """Everything the finished cells say, as ``semblance experiment show --json`` prints it.

    Times are in ``seconds`` of each row, versions in ``versions``; all the rest is the same wherever and
    however often the experiment is run.
    """
    rows, told = [], []
    for row in result_rows(state):
        answers = _answers(state, row)
        measured = [split for answer in answers for split in measured_splits(answer)]
        facts = _facts(state, row, answers)
        if measured:
            result = _summary(state, row, answers, measured)
            facts |= {key: value for key, value in result.to_json().items() if key in ("scores", "curves")}
            facts["scores"] = _with_intervals(_honest(state, row, facts["scores"]), measured)
            facts |= {"params": dict(result.params), "steps_used": result.steps}
            facts |= _splits(answers)
        else:
            facts |= {"scores": {}, "curves": {}}
        rows.append(facts)
        told.append((row, measured))
    compared = [_compared(state, group) for group in _groups(told)]
    return {
        **_heading(state),
        "spec": state.spec.to_json(),
        "results": rows,
        "comparisons": [one for group in compared for one in group],
        "over_tables": _over_tables(state, rows),
        "worst_queries": _worst_queries(state, told),
        "worst_findings": _worst_findings(state, told),
        "versions": {name: ", ".join(some) for name, some in _versions(state).items()} or versions(),
    }


def _heading(state: ExperimentState) -> dict[str, Any]:
    failed = sum(bool(answer["failed"]) for answer in state.answers.values())
    return {
        "experiment": state.spec.name,
        "complete": state.done == len(state.cells),
        "cells": {"total": len(state.cells), "done": state.done, "failed": failed},
        "seed": state.spec.seed,
        "measured_on": "held-out",
        "cases": [
            {
                "name": one["name"],
                "fingerprint": one["fingerprint"],
                "source": one["source"],
                "notes": one["notes"],
                "problem": one["problem"],
            }
            for one in state.cases
        ],
        "notes": [*state.notes, *_mixed(state)],
    }


def _versions(state: ExperimentState) -> dict[str, list[str]]:
    """What the finished cells were measured with, whatever is installed now."""
    found: dict[str, set[str]] = {}
    for answer in state.answers.values():
        for name, version in answer.get("versions", {}).items():
            found.setdefault(name, set()).add(str(version))
    return {name: sorted(some) for name, some in found.items()}


def _mixed(state: ExperimentState) -> list[str]:
    """A word where an experiment was gone on with after an update."""
    several = {name: some for name, some in _versions(state).items() if len(some) > 1}
    if not several:
        return []
    told = "; ".join(f"{name} {', '.join(some)}" for name, some in several.items())
    return [
        tr_lazy(
            "Cells were measured with several versions ({told}), which may give other numbers: for a fair "
            "comparison run it once more into a new folder.",
            told=told,
        )
    ]


def _facts(state: ExperimentState, row: Row, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    spec = state.spec
    variant = spec.variants()[row.learner]
    all_of_them = [state.answers[cell.id] for cell in row.cells if cell.id in state.answers]
    failed = [answer for answer in all_of_them if answer["failed"]]
    source = state.cases[row.cases]["source"]
    seconds = [split["fit_seconds"] for answer in answers for split in answer["splits"]]
    return {
        "protocol": spec.protocols[row.protocol].label,
        "cases": state.cases[row.cases]["name"],
        "steps": spec.steps[row.steps] or USUAL_STEPS,
        "learner": variant.label,
        "compared": list(protocol_class(spec.protocols[row.protocol].protocol).compared),
        "repeats": {"done": len(all_of_them), "of": len(row.cells)},
        "failed": failed[0]["failed"] if failed else None,
        "patients": source["patients"] if source else "unknown",
        "seconds": {"fit_median": float(np.median(seconds)) if seconds else None},
    }


def _answers(state: ExperimentState, row: Row) -> list[dict[str, Any]]:
    """Those of the row's cells that were measured; none where one failed, for the rest would be a choice."""
    there = [state.answers[cell.id] for cell in row.cells if cell.id in state.answers]
    return [] if any(answer["failed"] for answer in there) else there


def _summary(
    state: ExperimentState, row: Row, answers: Sequence[Mapping[str, Any]], measured: Sequence[Measured]
) -> LearnerResult:
    seconds = [split["fit_seconds"] for answer in answers for split in answer["splits"]]
    params = answers[0]["params"]
    chosen = set(state.spec.variants()[row.learner].grid)
    fixed = {name: value for name, value in params.items() if name not in chosen}
    label = state.spec.variants()[row.learner].label
    return summarise(label, fixed, answers[0]["splits"][0]["steps"], measured, seconds)


def _splits(answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    splits = [split for answer in answers for split in answer["splits"]]
    return {
        "split": {
            "rule": answers[0]["rule"],
            "by_patient": splits[0]["by_patient"],
            "n_train": float(np.mean([split["train"] for split in splits])),
            "n_test": float(np.mean([split["test"] for split in splits])),
        },
        "chosen": [split["chosen"] for split in splits if split["chosen"]],
    }


def _one_split(state: ExperimentState, row: Row) -> bool:
    """Whether all repeats test the same cases: they then differ in the learner's chance alone."""
    return state.spec.cases[row.cases].test is not None


def _honest(state: ExperimentState, row: Row, scores: dict[str, Any]) -> dict[str, Any]:
    """The scores without intervals over repeats where nothing was drawn anew from one to the next."""
    if not _one_split(state, row):
        return scores
    return {name: {**score, "ci95": None} for name, score in scores.items()}


def _with_intervals(scores: dict[str, Any], measured: Sequence[Measured]) -> dict[str, Any]:
    """Beside each score the mean ends of the intervals over the tested cases of each repeat."""
    out = {}
    for name, score in scores.items():
        found: dict[str, list[tuple[float, float]]] = {}
        for one in measured:
            for method, ends in one.intervals.get(name, {}).items():
                found.setdefault(method, []).append(ends)
        means = {method: np.mean(ends, axis=0).tolist() for method, ends in found.items()}
        out[name] = {**score, "within_repeat": means} if means else score
    return out


def _groups(told: Sequence[tuple[Row, list[Measured]]]) -> Iterator[list[tuple[Row, list[Measured]]]]:
    """Rows measured on the same splits."""
    together: dict[tuple[int, int], list[tuple[Row, list[Measured]]]] = {}
    for row, measured in told:
        together.setdefault((row.protocol, row.cases), []).append((row, measured))
    yield from together.values()


def _compared(state: ExperimentState, group: list[tuple[Row, list[Measured]]]) -> list[dict[str, Any]]:
    """Every two rows on the same splits, in each score their protocol is judged by.

    None where one table or library is trained on and another tested: repeats would be the same split again.
    """
    found: list[dict[str, Any]] = []
    if _one_split(state, group[0][0]):
        return found
    for place, (a, of_a) in enumerate(group):
        for b, of_b in group[place + 1 :]:
            shared = min(len(of_a), len(of_b))
            sizes = _sizes(state, a)
            if shared < 2 or sizes is None:
                continue
            for score in protocol_class(state.spec.protocols[a.protocol].protocol).compared:
                first, second = (
                    [_there(one.scores.get(score)) for one in side[:shared]] for side in (of_a, of_b)
                )
                test = corrected_t_test(first, second, *sizes)
                if test is not None:
                    found.append(
                        {
                            **_named(state, a),
                            "a": _row_name(state, a),
                            "b": _row_name(state, b),
                            "score": score,
                            "difference": test.difference,
                            "ci95": list(test.ci95),
                            "p_corrected_t": test.p_value,
                            "p_wilcoxon": wilcoxon_test(first, second),
                        }
                    )
    return found


def _there(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else float(value)


def _sizes(state: ExperimentState, row: Row) -> tuple[float, float] | None:
    splits = [split for answer in _answers(state, row) for split in answer["splits"]]
    if not splits:
        return None
    return float(np.mean([one["train"] for one in splits])), float(np.mean([one["test"] for one in splits]))


def _named(state: ExperimentState, row: Row) -> dict[str, str]:
    return {
        "protocol": state.spec.protocols[row.protocol].label,
        "cases": state.cases[row.cases]["name"],
    }


def _row_name(state: ExperimentState, row: Row) -> str:
    """The learner, with its steps where there are several kinds of them."""
    label = state.spec.variants()[row.learner].label
    steps = state.spec.steps[row.steps] or USUAL_STEPS
    return f"{label}, {steps}" if len(state.spec.steps) > 1 else label


def _over_tables(state: ExperimentState, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Friedman's test of the ranks over all cases, Nemenyi's distance, Holm's and Wilcoxon's of every two."""
    found = []
    several = len(state.spec.steps) > 1
    for protocol in state.spec.protocols:
        tables: dict[str, dict[str, dict[str, float]]] = {}
        for row in rows:
            if row["protocol"] == protocol.label and row["scores"]:
                name = f"{row['learner']}, {row['steps']}" if several else row["learner"]
                means = {key: score["mean"] for key, score in row["scores"].items()}
                tables.setdefault(row["cases"], {})[name] = means
        tests = friedman_of_means(list(tables.values()), protocol_class(protocol.protocol).compared)
        for test in tests:
            used = [table for table in tables.values() if all(test.score in table[n] for n in test.ranks)]
            pairs = []
            for pair in holm(test):
                a, b = ([table[name][test.score] for table in used] for name in (pair.a, pair.b))
                pairs.append({**pair.to_json(), "p_wilcoxon": wilcoxon_test(a, b)})
            found.append(
                {"protocol": protocol.label, **test.to_json(), "nemenyi": nemenyi_json(test), "pairs": pairs}
            )
    return found


def _queries(told: Sequence[tuple[Row, list[Measured]]]) -> Iterator[tuple[Row, str, dict[int, list[float]]]]:
    """Of every row the name of the score, and its values over the repeats, by tested case."""
    for row, measured in told:
        values: dict[int, list[float]] = {}
        score = ""
        for one in measured:
            if one.queries is not None:
                score = one.queries.score
                for place, value in zip(one.queries.rows.tolist(), one.queries.values.tolist(), strict=True):
                    if not np.isnan(value):
                        values.setdefault(place, []).append(value)
        if values:
            yield row, score, values


def _worst_queries(
    state: ExperimentState, told: Sequence[tuple[Row, list[Measured]]]
) -> list[dict[str, Any]]:
    return [
        {
            **_named(state, row),
            "learner": _row_name(state, row),
            "score": score,
            "queries": _worst(state, row, values, MOST_QUERIES),
        }
        for row, score, values in _queries(told)
    ]


def _worst(
    state: ExperimentState, row: Row, values: Mapping[int, list[float]], most: int
) -> list[dict[str, Any]]:
    """The queries with the lowest means, those asked more often first."""
    known = state.cases[row.cases]
    means = {place: float(np.mean(some)) for place, some in values.items()}
    worst = sorted(means, key=lambda place: (means[place], -len(values[place]), place))[:most]
    return [
        {
            "place": place,
            "case_id": known["ids"][place] if known["ids"] else None,
            "case_row": known["rows"][place] if known["rows"] else None,
            "finding": known["findings"][place],
            "mean": means[place],
            "asked": len(values[place]),
        }
        for place in worst
    ]


def _worst_findings(
    state: ExperimentState, told: Sequence[tuple[Row, list[Measured]]]
) -> list[dict[str, Any]]:
    found = []
    for row, score, values in _queries(told):
        findings: dict[str, dict[int, list[float]]] = {}
        for place, some in values.items():
            findings.setdefault(state.cases[row.cases]["findings"][place], {})[place] = some
        lines = [
            {
                "finding": name,
                "mean": float(np.mean([np.mean(some) for some in asked.values()])),
                "cases": len(asked),
                "queries": _worst(state, row, asked, MOST_OF_FINDING),
            }
            for name, asked in findings.items()
        ]
        lines.sort(key=lambda line: (line["mean"], line["finding"]))
        found.append(
            {**_named(state, row), "learner": _row_name(state, row), "score": score, "findings": lines}
        )
    return found
