"""Write an evaluation into a folder: its scores, what each query found, its splits, and all that they depend on.

Every number of ``scores.csv`` can be computed again from the other files; ``config.json`` says how.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.csv_cells import csv_text, safe_text
from semblance.core.errors import BadInput, SemblanceError
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.data_sources import PREFIX
from semblance.core.evaluation.intervals import t_quantile
from semblance.core.evaluation.query_records import QueryRecords
from semblance.core.evaluation.result import EvaluationResult, NamedSplit, SplitQueries
from semblance.core.evaluation.split_file import HEADER, PART_WORDS, SplitTable, case_names
from semblance.core.files import make_folder, replacing, write_file
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.tasks import SILENT, Reporter
from semblance.core.version import DISTRIBUTION, program_commit, program_version
from semblance.core.workflows.evaluation.evaluate_learners import Evaluation

SCORES, QUERIES, SPLITS, CONFIG = "scores.csv", "per_query.csv", "splits.csv", "config.json"
METHODS = "methods.txt"
#: The files that a folder of an evaluation has, and how its description begins.
FILES = (SCORES, QUERIES, SPLITS, CONFIG, METHODS)
FORMAT = "semblance evaluation"
#: The columns of the file of queries that every protocol has.
QUERY_HEADER = (
    "learner", "repeat", "fold", "case_id", "finding", "k", "hits", "nearest_ids", "estimate",
    "part", "unit", "answers", "votes",
)  # fmt: skip
#: What a text of methods names of how features were made.
_SHOWN_SETTINGS = ("version", "identity")
#: Between several values of one cell. It is percent-encoded in the ids of cases.
SEPARATOR = ";"


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
        QUERIES: queries_csv(result.queries, result.splits, data),
        SCORES: [scores_csv(result)],
        METHODS: [methods_text(evaluation)],
    }
    digests: dict[str, str] = {}
    for name, parts in texts.items():
        reporter.progress(len(digests), len(FILES), "Writing the evaluation")
        digests[name] = _write(folder / name, parts, reporter.check_cancelled)
    if evaluation.request.library is not None:
        log_export(evaluation.request.library, "evaluation", "per query", identified=True, files=len(FILES))
    config = {**configuration(evaluation), "files": digests}
    text = json.dumps(config, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    write_file(folder / CONFIG, text.encode(), private=False)
    return [folder / name for name in FILES]


def _write(path: Path, parts: Iterable[str], check_cancelled: Callable[[], None]) -> str:
    """Write the parts of a text one after another, and return their SHA-256."""
    digest = hashlib.sha256()
    try:
        with replacing(path, private=False) as made, made.open("wb") as file:
            for part in parts:
                check_cancelled()
                content = part.encode()
                digest.update(content)
                file.write(content)
    except OSError as problem:
        raise SemblanceError(
            tr_lazy("{path} was not written: {reason}.", path=path, reason=problem.strerror or problem),
            "Choose a folder you may write to.",
        ) from problem
    return digest.hexdigest()


def scores_csv(result: EvaluationResult) -> str:
    """A line for every score of every learner; ``values`` are those of the single splits, in the order of the file of
    splits, separated by spaces, "-" for none."""
    header = (
        "protocol", "learner", "steps", "score", "mean", "std", "ci95_low", "ci95_high", "splits",
        "measured_on", "values",
    )  # fmt: skip
    lines = [
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
            " ".join("-" if value is None else repr(float(value)) for value in score.values),
        )
        for one in result.results
        for name, score in one.scores.items()
    ]
    return csv_text(header, lines)


def split_rows(splits: Sequence[NamedSplit], names: Sequence[str]) -> SplitTable:
    """The splits as a table: each case in each split, in the order of the cases."""
    parts: list[str] = []
    ids: list[str] = []
    folds: list[str] = []
    repeats: list[str] = []
    for one in splits:
        words = _parts(one, len(names))
        ids += names
        parts += words
        folds += [one.fold] * len(names)
        repeats += [one.repeat] * len(names)
    return SplitTable(tuple(ids), tuple(parts), tuple(folds), tuple(repeats))


def _parts(named: NamedSplit, n: int) -> list[str]:
    words = np.full(n, "excluded", dtype=object)
    split = named.split
    for part, rows in zip(PART_WORDS, (split.train, split.validation, split.test), strict=False):
        words[rows] = part
    found: list[str] = words.tolist()
    return found


def splits_csv(splits: Sequence[NamedSplit], names: Sequence[str]) -> Iterator[str]:
    """The file of splits, one split at a time; ``names`` (n,) are the ids of the cases."""
    yield ",".join(HEADER) + "\n"
    cells = [safe_text(name) for name in names]
    for one in splits:
        yield _lines(
            (name, part, one.fold, one.repeat)
            for name, part in zip(cells, _parts(one, len(cells)), strict=True)
        )


def queries_csv(
    queries: Sequence[SplitQueries], splits: Sequence[NamedSplit], data: EvaluationData
) -> Iterator[str]:
    """The file of queries, those of one learner on one split at a time: a line for each query and each k."""
    more = list(dict.fromkeys(name for one in queries for name in one.records.columns))
    yield _lines([(*QUERY_HEADER, *more)])
    ids = np.array([safe_text(name.replace(SEPARATOR, "%3B")) for name in case_names(data)], dtype=object)
    names = [safe_text(name) for name in np.unique(data.y).tolist()]
    findings = [safe_text(name) for name in data.y.tolist()]
    validation = {(one.repeat, one.fold): set(one.split.validation.tolist()) for one in splits}
    for one in queries:
        yield _lines(_query_lines(one, ids, names, findings, validation[one.repeat, one.fold], more))


def _query_lines(
    one: SplitQueries,
    ids: np.ndarray[Any, Any],
    names: Sequence[str],
    findings: Sequence[str],
    validation: set[int],
    more: Sequence[str],
) -> Iterator[tuple[str, ...]]:
    records = one.records
    columns = [_column(records, name) for name in more]
    for place, row in enumerate(records.rows.tolist()):
        nearest = records.nearest[place]
        near = ids[nearest[nearest >= 0]].tolist()
        for at, k in enumerate(records.k):
            estimate = -1 if records.estimate is None else int(records.estimate[place, at])
            votes = () if records.votes is None else records.votes[place, at].tolist()
            yield (
                one.learner,
                one.repeat,
                one.fold,
                ids[row],
                findings[row],
                str(k),
                _number(float(records.hits[place, at])),
                SEPARATOR.join(near[:k]),
                names[estimate] if estimate >= 0 else "",
                "validation" if row in validation else "test",
                str(int(records.unit[place])),
                str(int(records.answers[place, at])),
                SEPARATOR.join(map(_number, votes)),
                *(_number(column[place, at]) for column in columns),
            )


def _column(records: QueryRecords, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """(q, K) the values of a column, NaN where these queries have none."""
    values = records.columns.get(name)
    shape = len(records.rows), len(records.k)
    if values is None:
        return np.full(shape, np.nan)
    return np.broadcast_to(values[:, None] if values.ndim == 1 else values, shape)


def _number(value: float) -> str:
    """In full precision; a whole number without decimals, and nothing for NaN."""
    if value != value:  # noqa: PLR0124
        return ""
    return str(int(value)) if value == int(value) else repr(float(value))


def _lines(rows: Iterable[Sequence[str]]) -> str:
    import io

    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def configuration(evaluation: Evaluation) -> dict[str, Any]:
    """What the numbers depend on, and how they are computed from the files."""
    request, result, data = evaluation.request, evaluation.result, evaluation.data
    document = evaluation.document()
    counts = sorted(
        {
            sum(value is not None for value in score.values)
            for one in result.results
            for score in one.scores.values()
        }
    )
    return {
        "format": FORMAT,
        "program": {"name": DISTRIBUTION, "version": program_version(), "commit": program_commit() or None},
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
        "splits": [
            {
                "repeat": one.repeat,
                "fold": one.fold,
                "seed": one.split.seed,
                **{
                    name: len(rows)
                    for name, rows in zip(
                        PART_WORDS, (one.split.train, one.split.validation, one.split.test), strict=False
                    )
                },
            }
            for one in result.splits
        ],
        "findings": np.unique(data.y).tolist(),
        "searched": sorted({one.records.searched for one in result.queries}),
        "chosen": [
            {"learner": one.learner, "repeat": one.repeat, "fold": one.fold, **one.records.chosen}
            for one in result.queries
            if one.records.chosen
        ],
        "comparisons": document["comparisons"],
        "t_quantile": {str(n - 1): t_quantile(0.975, n - 1) for n in counts if n > 1},
        "formulas": _FORMULAS,
        "columns": _COLUMNS,
        "notes": [str(note) for note in document.get("notes", ())],
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


_FORMULAS = {
    "mean": "the mean of the values of the splits; std: with n - 1",
    "ci95": "mean -+ t std / sqrt(n) of n splits, t in t_quantile by n - 1, cut to 0..1 where all values are in 0..1; "
    "of one split see interval_of_one_split, for the protocols that have it",
    "interval_of_one_split": "numpy.random.default_rng(seed of the split).multinomial(u, [1/u] * u, size=1000) draws "
    "the u units; percentiles 2.5 and 97.5 of the drawn sum over the drawn number of queries",
    "retrieval_accuracy@k": "mean of hits / answers over the queries with answers > 0",
    "macro_retrieval_accuracy@k": "mean over findings of the mean over their queries",
    "worst_finding@k": "the lowest of these means",
    "chance@k": "mean of chance; macro_chance@k: mean over findings of the mean over their queries",
    "precision@k": "mean of hits / k; recall@k, ndcg@k, hit_rate@k, map@r: means of their columns (map@r: of "
    "average_precision)",
    "knn_accuracy@k": "mean of the credit: 1 / w where the finding is one of the w with the largest share of votes, "
    "else 0; shares within 1e-9 are equal. knn_error@k: 1 less it; balanced_...: mean over findings",
    "auc:FINDING": "chance that a query with the finding has a larger share of it in votes at k = 10 than one without, "
    "equal shares count half; auc: mean over findings. auc_weighted: the same of the columns weighted_votes1, 2, ...",
    "triplet_accuracy": "sum of triplets_right / sum of triplets, each query once",
    "ccknn_error@k": "mean of the column ccknn_error; ccknn_likelihood_error@k likewise",
    "chosen": "scores without @k of the protocols online and ccml are at the k that 'chosen' names",
    "medmnist": "acc@1: hits at 1; mmv@5 and knn_accuracy@11: share of queries whose estimate at k is their finding; "
    "map@5: sum of the precision at each hit among five / number of hits, 0 without a hit",
}
_COLUMNS = {
    "hits": "how many of the first k cases have the query's finding; equally near cases count in expectation",
    "nearest_ids": "the first k cases, nearest first, of those that 'searched' names: the other tested cases without "
    "those of the query's patient, or the training cases; equally near ones in the order of the data; ';' in an id is "
    "%3B",
    "answers": "k, or the number of cases that can be ranked where that is smaller",
    "votes": "share of each of 'findings' among the k nearest training cases",
    "estimate": "the finding with the largest share of votes; of equal ones that whose first case is nearer",
    "unit": "a number for the patient, or the copies of an image, drawn together for an interval",
    "chance": "share of the query's finding among all cases that can be ranked; relevant: their number",
}
