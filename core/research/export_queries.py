"""The splits of an experiment, what each query found, its description and its methods, as files of an export."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from semblance.core.csv_cells import csv_lines
from semblance.core.evaluation.evaluation_files import (
    COLUMNS,
    FORMULAS,
    QUERIES,
    QUERY_HEADER,
    SPLITS,
    CaseCells,
    chosen_json,
    program_json,
    queries_csv,
    splits_csv,
    splits_json,
    t_quantiles,
)
from semblance.core.evaluation.result import NamedSplit, SplitQueries
from semblance.core.research.kept_queries import KeptSplit, kept_from_bytes
from semblance.core.research.methods_text import (
    MeasuredCases,
    MeasuredLearner,
    MeasuredProtocol,
    Methods,
    methods_text,
)
from semblance.core.research.results import DEFAULT_STEPS, ResultRow, result_rows
from semblance.core.research.run_cells import ExperimentState

#: The columns before those of a query.
_BEFORE = ("protocol", "cases", "steps")


def query_files(state: ExperimentState, *, identified: bool) -> dict[str, Iterator[str]]:
    """The file of queries, and one of splits for each protocol and cases, by name. Without ``identified`` cases are
    counted in the order they were read, not named. Empty where the finished cells kept none."""
    rows = [row for row in result_rows(state) if _complete(state, row)]
    measured = {(row.protocol, row.cases): row for row in reversed(rows)}
    found: dict[str, Iterator[str]] = {}
    for (protocol, cases), row in sorted(measured.items()):
        name = SPLITS if len(measured) == 1 else _split_file_name(state, protocol, cases)
        found[name] = splits_csv([one.split for one in _kept(state, row)], _ids(state, cases, identified))
    if rows and state.spec.per_query:
        found[QUERIES] = _queries(state, rows, identified)
    return found


def _split_file_name(state: ExperimentState, protocol: int, cases: int) -> str:
    text = f"splits {state.spec.protocols[protocol].label} {state.cases[cases]['name']}"
    return "-".join("".join(c if c.isalnum() or c in ".=" else " " for c in text).split()).lower() + ".csv"


def _queries(state: ExperimentState, rows: Sequence[ResultRow], identified: bool) -> Iterator[str]:
    first = {row.protocol: row for row in reversed(rows)}
    more: dict[str, None] = {}
    for row in first.values():
        for one in _kept(state, row):
            if one.records is not None:
                more |= dict.fromkeys(one.records.columns)
    yield csv_lines([(*_BEFORE, *QUERY_HEADER, *more)])
    for row in rows:
        names = row_names(state, row)
        before = [names[key] for key in _BEFORE]
        cells = CaseCells.of(_ids(state, row.cases, identified), state.cases[row.cases]["findings"])
        kept = list(_kept(state, row))
        splits = [one.split for one in kept]
        queries = _split_queries(names["learner"], kept)
        yield from queries_csv(queries, splits, cells, list(more), before)


def row_names(state: ExperimentState, row: ResultRow) -> dict[str, str]:
    """Protocol, cases, steps and learner of a row as the other files name them."""
    answers = [state.answers[cell.id] for cell in row.cells if cell.id in state.answers]
    used = [split["steps"] for answer in answers for split in answer["splits"]]
    return {
        "protocol": state.spec.protocols[row.protocol].label,
        "cases": str(state.cases[row.cases]["name"]),
        "steps": used[0] if used else state.spec.steps[row.steps] or DEFAULT_STEPS,
        "learner": state.spec.variants()[row.learner].label,
    }


def _split_queries(learner: str, kept: Sequence[KeptSplit]) -> list[SplitQueries]:
    return [
        SplitQueries(learner, one.split.repeat, one.split.fold, one.records)
        for one in kept
        if one.records is not None
    ]


def _complete(state: ExperimentState, row: ResultRow) -> bool:
    """Whether the finished cells of a row kept their splits, and none failed."""
    done = [cell for cell in row.cells if cell.id in state.answers]
    return (
        bool(done)
        and state.store is not None
        and not any(state.answers[cell.id]["failed"] for cell in done)
        and all(state.store.has_kept(cell.id) for cell in done)
    )


def _kept(state: ExperimentState, row: ResultRow) -> Iterator[KeptSplit]:
    assert state.store is not None
    for cell in row.cells:
        content = state.store.read_kept(cell.id) if cell.id in state.answers else None
        if content is not None:
            yield from kept_from_bytes(content)


def _ids(state: ExperimentState, cases: int, identified: bool) -> list[str]:
    facts = state.cases[cases]
    if identified and facts["ids"]:
        return [str(one) for one in facts["ids"]]
    return [str(place + 1) for place in range(len(facts["findings"]))]


def description(
    state: ExperimentState, results: Mapping[str, Any], spec: Mapping[str, Any], *, identified: bool
) -> str:
    """What the numbers depend on, and how they are computed from the files. ``spec`` names no folder."""
    every = result_rows(state)
    rows = [row for row in every if _complete(state, row)]
    splits: dict[tuple[int, int], list[NamedSplit]] = {}
    chosen = []
    searched: dict[str, None] = {}
    for row in rows:
        kept = list(_kept(state, row))
        splits.setdefault((row.protocol, row.cases), [one.split for one in kept])
        queries = _split_queries(row_names(state, row)["learner"], kept)
        searched |= dict.fromkeys(one.records.searched for one in queries)
        chosen += [{**row_names(state, row), **one} for one in chosen_json(queries)]
    counts = (
        sum(value is not None for value in score["values"])
        for row in results["results"]
        for score in row["scores"].values()
    )
    document = {
        "format": "semblance experiment",
        "program": program_json(
            [
                *(("protocol", one.protocol) for one in state.spec.protocols),
                *(("learner", one.learner) for one in state.spec.variants()),
            ]
        ),
        "versions": results["versions"],
        "experiment": spec,
        "seed": state.spec.seed,
        "case_id": "as in the data" if identified else "a number, in the order in which the cases were read",
        "findings": {one["name"]: sorted(set(one.get("findings", ()))) for one in state.cases},
        "splits": [
            {
                "protocol": state.spec.protocols[protocol].label,
                "cases": state.cases[cases]["name"],
                "splits": splits_json(found),
            }
            for (protocol, cases), found in sorted(splits.items())
        ],
        "without_queries": [row_names(state, row) for row in every if row not in rows],
        "searched": sorted(searched),
        "chosen": chosen,
        "t_quantile": t_quantiles(counts),
        "formulas": FORMULAS,
        "columns": COLUMNS,
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def experiment_methods(state: ExperimentState, results: Mapping[str, Any]) -> str:
    """What a journal asks of the methods of an experiment."""
    spec = state.spec
    rows = results["results"]
    splits = {row["cases"]: row["split"] for row in rows if "split" in row}
    cases = [
        MeasuredCases(
            one["name"],
            one["source"],
            chosen.features or "",
            str(splits[one["name"]]["rule"]),
            splits[one["name"]]["by_patient"],
            splits[one["name"]]["n_train"],
            splits[one["name"]]["n_test"],
            [str(note) for note in one["notes"]],
        )
        for one, chosen in zip(state.cases, spec.cases, strict=True)
        if one["source"] and one["name"] in splits
    ]
    learners: dict[tuple[str, str], MeasuredLearner] = {}
    for row in rows:
        if row["scores"]:
            variant = next(one for one in spec.variants() if one.label == row["learner"])
            key = (row["learner"], row["steps_used"])
            learners.setdefault(
                key, MeasuredLearner(variant.learner, row["params"], row["steps_used"], variant.grid)
            )
    given = all(one.splits for one in spec.cases)
    return methods_text(
        Methods(
            cases,
            list(learners.values()),
            [
                MeasuredProtocol(one.protocol, one.settings, 0 if given else one.n_repeats)
                for one in spec.protocols
            ],
            spec.seed,
            results["versions"],
            chosen_by=f"{spec.select_by} in {spec.inner_folds} folds of it",
            compared=bool(results["comparisons"]),
            over_tables=bool(results["over_tables"]),
        )
    )
