"""Write an evaluation into a folder: its scores, what each query found, its splits, and all that they depend on.

Every number of ``scores.csv`` can be computed again from the other files; ``config.json`` says how.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.csv_cells import cell, csv_lines
from semblance.core.errors import BadInput
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.data_sources import PREFIX
from semblance.core.evaluation.evaluation_files import (
    COLUMNS,
    CONFIG,
    FORMULAS,
    METHODS,
    QUERIES,
    QUERY_HEADER,
    SCORES,
    SPLITS,
    CaseCells,
    chosen_json,
    more_columns,
    program_json,
    queries_csv,
    splits_csv,
    splits_json,
    t_quantiles,
    write_parts,
)
from semblance.core.evaluation.result import EvaluationResult
from semblance.core.evaluation.split_file import case_names
from semblance.core.files import make_folder, write_file
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.evaluation.evaluate_learners import Evaluation

#: The files that a folder of an evaluation has, and how its description begins.
FILES = (SCORES, QUERIES, SPLITS, CONFIG, METHODS)
FORMAT = "semblance evaluation"
_NO_QUERIES = (
    "per_query.csv has no rows: the protocol scores pairs of cases or views, not what single queries find."
)
#: What a text of methods names of how features were made.
_SHOWN_SETTINGS = ("version", "identity")


def check_folder(folder: Path) -> None:
    """Check that an evaluation may be written into ``folder``: it is new, empty, or of an earlier evaluation.

    Raises:
        BadInput: it holds a file of one of these names that no evaluation wrote, or is no folder.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(tr_lazy("{folder} is a file.", folder=folder), "Choose a folder with --out.")
    there = [name for name in FILES if (folder / name).exists()]
    if not there:
        return
    try:
        own = json.loads((folder / CONFIG).read_text("utf-8"))["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        own = False
    if not own:
        raise BadInput(
            tr_lazy(
                "{folder} holds the file {name}, which no evaluation wrote.", folder=folder, name=there[0]
            ),
            "Choose another folder, or move the file.",
        )


def write_evaluation(evaluation: Evaluation, folder: Path, *, reporter: Reporter = SILENT) -> list[Path]:
    """Write the files of :data:`FILES` into ``folder``, which is created if needed, and return their paths. Those of an
    earlier evaluation are replaced; other files stay.

    Raises:
        BadInput: as :func:`check_folder`.
        SemblanceError: the folder cannot be written.
        Cancelled: the reporter was cancelled.
    """
    check_folder(folder)
    result, data = evaluation.result, evaluation.data
    make_folder(folder, private=False)
    texts: dict[str, Iterable[str]] = {
        SPLITS: splits_csv(result.splits, case_names(data)),
        QUERIES: all_queries_csv(result, data),
        SCORES: [scores_csv(result)],
        METHODS: [methods_text(evaluation)],
    }
    digests: dict[str, str] = {}
    for name, parts in texts.items():
        reporter.progress(len(digests), len(FILES), "Writing the evaluation")
        digests[name] = write_parts(folder / name, parts, reporter.check_cancelled)
    if evaluation.request.library is not None:
        log_export(evaluation.request.library, "evaluation", "per query", identified=True, files=len(FILES))
    config = {**configuration(evaluation), "files": digests}
    text = json.dumps(config, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_file(folder / CONFIG, text.encode(), private=False)
    return [folder / name for name in FILES]


def all_queries_csv(result: EvaluationResult, data: EvaluationData) -> Iterator[str]:
    """The whole file of queries, its header first, those of one learner on one split at a time."""
    more = more_columns(result.queries)
    yield csv_lines([(*QUERY_HEADER, *more)])
    cases = CaseCells.of(case_names(data), data.y.tolist())
    yield from queries_csv(result.queries, result.splits, cases, more)


def scores_csv(result: EvaluationResult) -> str:
    """A line for every score of every learner; ``values`` are those of the single splits, in the order of the file of
    splits, separated by spaces, "-" for none."""
    header = (
        "protocol", "learner", "steps", "score", "mean", "std", "ci95_low", "ci95_high", "splits",
        "measured_on", "values",
    )  # fmt: skip
    lines = [
        (
            *map(
                cell,
                (
                    result.protocol,
                    one.learner,
                    one.steps,
                    name,
                    score.mean,
                    score.std,
                    *(score.ci95 or (None, None)),
                    len(score.values),
                    result.measured_on,
                ),
            ),
            # Numbers are no text: one below 0 at the beginning gets no apostrophe.
            " ".join("-" if value is None else repr(float(value)) for value in score.values),
        )
        for one in result.results
        for name, score in one.scores.items()
    ]
    return csv_lines([header, *lines])


def configuration(evaluation: Evaluation) -> dict[str, Any]:
    """What the numbers depend on, and how they are computed from the files."""
    request, result, data = evaluation.request, evaluation.result, evaluation.data
    document = evaluation.document()
    counts = (
        sum(value is not None for value in score.values)
        for one in result.results
        for score in one.scores.values()
    )
    return {
        "format": FORMAT,
        "program": program_json(
            [
                ("protocol", result.protocol),
                ("extractor", evaluation.extractor),
                *(("learner", one.learner) for one in result.results),
            ]
        ),
        "versions": dict(result.versions),
        "data": {
            **document["source"],
            "path": _name(document["source"]["path"]),
            "extractor": evaluation.extractor,
            "made_by": _plain(data.made_by),
            **_digests(evaluation),
        },
        "request": {
            "features": request.features,
            "findings": request.findings,
            "max_cases": request.max_cases,
            "settings": list(request.settings),
            "repeats": request.repeats,
            "splits": _splits_name(request.splits),
        },
        "protocol": {
            "name": result.protocol,
            "title": str(evaluation.protocol.title),
            "paper": evaluation.protocol.paper,
            "settings": _plain(evaluation.protocol.settings),
            "compared": list(result.compared),
            "definitions": " ".join((type(evaluation.protocol).__doc__ or "").split()),
        },
        "learners": [
            {"learner": one.learner, "params": _plain(one.params), "steps": one.steps}
            for one in result.results
        ],
        "failed": [one.to_json() for one in result.failed],
        "seed": result.seed,
        "split": result.split.to_json(),
        "splits": splits_json(result.splits),
        "findings": np.unique(data.y).tolist(),
        "searched": sorted({one.records.searched for one in result.queries}),
        "chosen": chosen_json(result.queries),
        "comparisons": document["comparisons"],
        "t_quantile": t_quantiles(counts),
        "formulas": FORMULAS,
        "columns": COLUMNS,
        "notes": [
            *(str(note) for note in document.get("notes", ())),
            *([] if result.queries else [_NO_QUERIES]),
        ],
    }


def methods_text(evaluation: Evaluation) -> str:
    """What a journal asks of the methods of an evaluation."""
    from semblance.core.research import methods_text as text

    result, data, request = evaluation.result, evaluation.data, evaluation.request
    made = ", ".join(f"{name} {value}" for name, value in data.made_by.items() if name in _SHOWN_SETTINGS)
    features = ", ".join(
        one for one in (request.features or "", evaluation.extractor, made) if one and one != "raw"
    )
    cases = text.MeasuredCases(
        _name(str(result.source["path"])),
        result.source,
        features,
        str(result.split.rule),
        result.split.by_patient,
        result.split.n_train,
        result.split.n_test,
        [str(note) for note in evaluation.notes],
    )
    return text.methods_text(
        text.Methods(
            [cases],
            [text.MeasuredLearner(one.learner, one.params, one.steps) for one in result.results],
            [
                text.MeasuredProtocol(
                    result.protocol,
                    evaluation.protocol.settings,
                    0 if request.splits is not None else request.repeats or evaluation.protocol.repeats,
                )
            ],
            result.seed,
            result.versions,
            compared=bool(result.comparisons),
        )
    )


def _digests(evaluation: Evaluation) -> dict[str, str]:
    """SHA-256 of the table's file, of the features of the cases evaluated, and of their ids and findings."""
    data, table = evaluation.data, evaluation.request.table
    found = {
        "sha256_features": hashlib.sha256(np.ascontiguousarray(data.X, dtype="<f8").tobytes()).hexdigest(),
        "sha256_cases": hashlib.sha256(
            "".join(
                f"{name}\t{y}\n" for name, y in zip(case_names(data), data.y.tolist(), strict=True)
            ).encode()
        ).hexdigest(),
    }
    if table is not None and not table.startswith(PREFIX):
        with Path(table).open("rb") as file:
            found["sha256_file"] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _splits_name(splits: object) -> str | None:
    if splits is None:
        return None
    return Path(splits).name if isinstance(splits, str | Path) else "given in Python"


def _name(path: str) -> str:
    """The name of a table or library without its folder, which may name a person."""
    return path if path.startswith(PREFIX) else Path(path).name


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(dict(values), default=str))  # type: ignore[no-any-return]
