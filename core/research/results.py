"""The results of the finished cells: scores with intervals, comparisons, ranks, the worst queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semblance.core.evaluation.friedman import friedman_of_means, holm, nemenyi_json
from semblance.core.evaluation.intervals import over_repeats
from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.evaluation.result import LearnerResult, MeasuredScores, summarise
from semblance.core.evaluation.significance import corrected_t_test, wilcoxon_test
from semblance.core.language import tr_lazy
from semblance.core.metrics.training import versions
from semblance.core.research.run_cells import ExperimentCell, ExperimentState, measured_splits

#: The label of steps that are not named.
DEFAULT_STEPS = tr_lazy("usual steps")
#: Number of worst queries of a row, and of every finding.
MAX_QUERIES, MAX_QUERIES_OF_FINDING = 50, 10


@dataclass(frozen=True)
class ResultRow:
    """One learner on one set of cases by one protocol: the indices of an :class:`ExperimentCell` without its repeat."""

    protocol: int
    cases: int
    steps: int
    learner: int
    cells: tuple[ExperimentCell, ...]


def result_rows(state: ExperimentState) -> list[ResultRow]:
    """The rows in the order of the experiment: protocols, cases, steps, learners."""
    groups: dict[tuple[int, int, int, int], list[ExperimentCell]] = {}
    for cell in state.cells:
        groups.setdefault(cell.row, []).append(cell)
    return [
        ResultRow(*key, tuple(sorted(cells, key=lambda cell: cell.repeat)))
        for key, cells in sorted(groups.items())
    ]


def live_table(state: ExperimentState) -> dict[str, Any]:
    """The scores so far, without curves and comparisons, which is fast enough for updates."""
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
        rows.append({**_facts(state, row, answers), "scores": _without_repeat_intervals(state, row, scores)})
    return {**_heading(state), "results": rows}


def document(state: ExperimentState) -> dict[str, Any]:
    """All results of the finished cells, as ``semblance experiment show --json`` prints them.

    Apart from ``seconds`` of each row and ``versions`` they are the same for every run of the experiment.
    """
    rows, measured_rows = [], []
    for row in result_rows(state):
        answers = _answers(state, row)
        measured = [split for answer in answers for split in measured_splits(answer)]
        facts = _facts(state, row, answers)
        if measured:
            result = _summary(state, row, answers, measured)
            facts |= {key: value for key, value in result.to_json().items() if key in ("scores", "curves")}
            facts["scores"] = _with_intervals(
                _without_repeat_intervals(state, row, facts["scores"]), measured
            )
            facts |= {"params": dict(result.params), "steps_used": result.steps}
            facts |= _splits(answers)
        else:
            facts |= {"scores": {}, "curves": {}}
        rows.append(facts)
        measured_rows.append((row, measured))
    compared = [_compared(state, group) for group in _groups(measured_rows)]
    return {
        **_heading(state),
        "spec": state.spec.to_json(),
        "results": rows,
        "comparisons": [one for group in compared for one in group],
        "over_tables": _over_tables(state, rows),
        "worst_queries": _worst_queries(state, measured_rows),
        "worst_findings": _worst_findings(state, measured_rows),
        "versions": {name: ", ".join(numbers) for name, numbers in _versions(state).items()} or versions(),
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
        "notes": [*state.notes, *_version_note(state)],
    }


def _versions(state: ExperimentState) -> dict[str, list[str]]:
    """The versions that the finished cells were measured with."""
    found: dict[str, set[str]] = {}
    for answer in state.answers.values():
        for name, version in answer.get("versions", {}).items():
            found.setdefault(name, set()).add(str(version))
    return {name: sorted(numbers) for name, numbers in found.items()}


def _version_note(state: ExperimentState) -> list[str]:
    """A note if the experiment was continued after an update."""
    several = {name: numbers for name, numbers in _versions(state).items() if len(numbers) > 1}
    if not several:
        return []
    text = "; ".join(f"{name} {', '.join(numbers)}" for name, numbers in several.items())
    return [
        tr_lazy(
            "Cells were measured with several versions ({versions}), which may give different numbers. "
            "For a fair comparison run the experiment again into a new folder.",
            versions=text,
        )
    ]


def _facts(state: ExperimentState, row: ResultRow, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    spec = state.spec
    variant = spec.variants()[row.learner]
    all_answers = [state.answers[cell.id] for cell in row.cells if cell.id in state.answers]
    failed = [answer for answer in all_answers if answer["failed"]]
    source = state.cases[row.cases]["source"]
    seconds = [split["fit_seconds"] for answer in answers for split in answer["splits"]]
    # Splits that are given are one cell, of one or more repeats.
    done = sum(answer.get("repeats", 1) for answer in all_answers)
    return {
        "protocol": spec.protocols[row.protocol].label,
        "cases": state.cases[row.cases]["name"],
        "steps": spec.steps[row.steps] or DEFAULT_STEPS,
        "learner": variant.label,
        "compared": list(protocol_class(spec.protocols[row.protocol].protocol).compared),
        "repeats": {"done": done, "of": max(done, len(row.cells))},
        "failed": failed[0]["failed"] if failed else None,
        "patients": source["patients"] if source else "unknown",
        "seconds": {"fit_median": float(np.median(seconds)) if seconds else None},
    }


def _answers(state: ExperimentState, row: ResultRow) -> list[dict[str, Any]]:
    """The answers of the measured cells of the row; none if one failed, because the rest would be a biased sample."""
    present = [state.answers[cell.id] for cell in row.cells if cell.id in state.answers]
    return [] if any(answer["failed"] for answer in present) else present


def _summary(
    state: ExperimentState,
    row: ResultRow,
    answers: Sequence[Mapping[str, Any]],
    measured: Sequence[MeasuredScores],
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


def _has_one_split(state: ExperimentState, row: ResultRow) -> bool:
    """Whether all repeats test the same cases, so that they differ only by the random state of the learner."""
    return state.spec.cases[row.cases].test is not None


def _without_repeat_intervals(
    state: ExperimentState, row: ResultRow, scores: dict[str, Any]
) -> dict[str, Any]:
    """The scores without intervals over repeats, if all repeats have the same split."""
    if not _has_one_split(state, row):
        return scores
    return {name: {**score, "ci95": None} for name, score in scores.items()}


def _with_intervals(scores: dict[str, Any], measured: Sequence[MeasuredScores]) -> dict[str, Any]:
    """The scores with the mean intervals over the tested cases of each repeat."""
    out = {}
    for name, score in scores.items():
        found: dict[str, list[tuple[float, float]]] = {}
        for one in measured:
            for method, ends in one.intervals.get(name, {}).items():
                found.setdefault(method, []).append(ends)
        means = {method: np.mean(ends, axis=0).tolist() for method, ends in found.items()}
        out[name] = {**score, "within_repeat": means} if means else score
    return out


def _groups(
    measured_rows: Sequence[tuple[ResultRow, list[MeasuredScores]]],
) -> Iterator[list[tuple[ResultRow, list[MeasuredScores]]]]:
    """Rows measured on the same splits."""
    groups: dict[tuple[int, int], list[tuple[ResultRow, list[MeasuredScores]]]] = {}
    for row, measured in measured_rows:
        groups.setdefault((row.protocol, row.cases), []).append((row, measured))
    yield from groups.values()


def _compared(
    state: ExperimentState, group: list[tuple[ResultRow, list[MeasuredScores]]]
) -> list[dict[str, Any]]:
    """Every two rows on the same splits, in each compared score of their protocol.

    Empty if one table or library is for training and another for testing, because all repeats have the same split.
    """
    found: list[dict[str, Any]] = []
    if _has_one_split(state, group[0][0]):
        return found
    for place, (a, measured_a) in enumerate(group):
        for b, measured_b in group[place + 1 :]:
            shared = min(len(measured_a), len(measured_b))
            sizes = _sizes(state, a)
            if shared < 2 or sizes is None:
                continue
            for score in protocol_class(state.spec.protocols[a.protocol].protocol).compared:
                first, second = (
                    [_value_or_none(one.scores.get(score)) for one in side[:shared]]
                    for side in (measured_a, measured_b)
                )
                test = corrected_t_test(first, second, *sizes)
                if test is not None:
                    found.append(
                        {
                            **_names(state, a),
                            "a": _row_label(state, a),
                            "b": _row_label(state, b),
                            "score": score,
                            "difference": test.difference,
                            "ci95": list(test.ci95),
                            "p_corrected_t": test.p_value,
                            "p_wilcoxon": wilcoxon_test(first, second),
                        }
                    )
    return found


def _value_or_none(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else float(value)


def _sizes(state: ExperimentState, row: ResultRow) -> tuple[float, float] | None:
    splits = [split for answer in _answers(state, row) for split in answer["splits"]]
    if not splits:
        return None
    return float(np.mean([one["train"] for one in splits])), float(np.mean([one["test"] for one in splits]))


def _names(state: ExperimentState, row: ResultRow) -> dict[str, str]:
    return {"protocol": state.spec.protocols[row.protocol].label, "cases": state.cases[row.cases]["name"]}


def _row_label(state: ExperimentState, row: ResultRow) -> str:
    """The learner, with its steps if the experiment has several."""
    label = state.spec.variants()[row.learner].label
    steps = state.spec.steps[row.steps] or DEFAULT_STEPS
    return f"{label}, {steps}" if len(state.spec.steps) > 1 else label


def _over_tables(state: ExperimentState, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Friedman's test of the ranks over all cases, Nemenyi's distance, Holm's and Wilcoxon's tests of every pair."""
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


def _queries(
    measured_rows: Sequence[tuple[ResultRow, list[MeasuredScores]]],
) -> Iterator[tuple[ResultRow, str, dict[int, list[float]]]]:
    """For every row the name of the score, and its values over the repeats by tested case."""
    for row, measured in measured_rows:
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
    state: ExperimentState, measured_rows: Sequence[tuple[ResultRow, list[MeasuredScores]]]
) -> list[dict[str, Any]]:
    return [
        {
            **_names(state, row),
            "learner": _row_label(state, row),
            "score": score,
            "queries": _worst_queries_of(state, row, values, MAX_QUERIES),
        }
        for row, score, values in _queries(measured_rows)
    ]


def _worst_queries_of(
    state: ExperimentState, row: ResultRow, values: Mapping[int, list[float]], maximum: int
) -> list[dict[str, Any]]:
    """The queries with the lowest means; of ties those with more repeats first."""
    case_facts = state.cases[row.cases]
    means = {place: float(np.mean(values_of)) for place, values_of in values.items()}
    worst = sorted(means, key=lambda place: (means[place], -len(values[place]), place))[:maximum]
    return [
        {
            "place": place,
            "case_id": case_facts["ids"][place] if case_facts["ids"] else None,
            "case_row": case_facts["rows"][place] if case_facts["rows"] else None,
            "finding": case_facts["findings"][place],
            "mean": means[place],
            "asked": len(values[place]),
        }
        for place in worst
    ]


def _worst_findings(
    state: ExperimentState, measured_rows: Sequence[tuple[ResultRow, list[MeasuredScores]]]
) -> list[dict[str, Any]]:
    found = []
    for row, score, values in _queries(measured_rows):
        findings: dict[str, dict[int, list[float]]] = {}
        for place, values_of in values.items():
            findings.setdefault(state.cases[row.cases]["findings"][place], {})[place] = values_of
        lines = [
            {
                "finding": name,
                "mean": float(np.mean([np.mean(values_of) for values_of in queries.values()])),
                "cases": len(queries),
                "queries": _worst_queries_of(state, row, queries, MAX_QUERIES_OF_FINDING),
            }
            for name, queries in findings.items()
        ]
        lines.sort(key=lambda line: (line["mean"], line["finding"]))
        found.append(
            {**_names(state, row), "learner": _row_label(state, row), "score": score, "findings": lines}
        )
    return found
