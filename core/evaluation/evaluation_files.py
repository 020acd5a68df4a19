"""The files of an evaluation or an experiment: its splits, and what each query found.

Every score can be computed again from them; :data:`FORMULAS` and :data:`COLUMNS` say how.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.csv_cells import csv_lines, safe_text
from semblance.core.errors import SemblanceError
from semblance.core.evaluation.intervals import t_quantile
from semblance.core.evaluation.query_records import QueryRecords
from semblance.core.evaluation.result import NamedSplit, SplitQueries
from semblance.core.evaluation.split_file import HEADER, PART_WORDS
from semblance.core.files import replacing
from semblance.core.language import tr_lazy
from semblance.core.plugins import used_plugins
from semblance.core.version import DISTRIBUTION, program_commit, program_version

SCORES, QUERIES, SPLITS, CONFIG, METHODS = (
    "scores.csv",
    "per_query.csv",
    "splits.csv",
    "config.json",
    "methods.txt",
)
#: The columns of the file of queries that every protocol has.
QUERY_HEADER = (
    "learner", "repeat", "fold", "case_id", "finding", "k", "hits", "nearest_ids", "estimate",
    "part", "unit", "answers", "votes",
)  # fmt: skip
#: Between several values of one cell. It is percent-encoded in the ids of cases.
SEPARATOR = ";"


def write_parts(path: Path, parts: Iterable[str], check_cancelled: Callable[[], None]) -> str:
    """Write the parts of a text one after another, and return their SHA-256.

    Raises:
        SemblanceError: it cannot be written.
    """
    digest = hashlib.sha256()
    try:
        with replacing(path, private=False) as temporary, temporary.open("wb") as file:
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


def program_json(used: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Name, version and commit of the program, and the plug-ins among what was ``used``, by kind and name."""
    return {
        "name": DISTRIBUTION,
        "version": program_version(),
        "commit": program_commit() or None,
        "plugins": [one.to_json() for one in used_plugins(used)],
    }


def t_quantiles(counts: Iterable[int]) -> dict[str, float]:
    """Student's t of 95 % intervals of so many values, by the degrees of freedom."""
    return {str(n - 1): t_quantile(0.975, n - 1) for n in sorted(set(counts)) if n > 1}


def splits_json(splits: Sequence[NamedSplit]) -> list[dict[str, Any]]:
    """Repeat, fold, seed and sizes of each split."""
    return [
        {
            "repeat": one.repeat,
            "fold": one.fold,
            "seed": one.split.seed,
            **{name: len(rows) for name, rows in zip(PART_WORDS, _rows(one), strict=False)},
        }
        for one in splits
    ]


def chosen_json(queries: Iterable[SplitQueries]) -> list[dict[str, Any]]:
    """What was chosen on the training parts, by learner and split."""
    return [
        {"learner": one.learner, "repeat": one.repeat, "fold": one.fold, **one.records.chosen}
        for one in queries
        if one.records.chosen
    ]


def _rows(named: NamedSplit) -> tuple[Any, ...]:
    return named.split.train, named.split.validation, named.split.test


def _parts(named: NamedSplit, n: int) -> list[str]:
    words = np.full(n, "excluded", dtype=object)
    for part, rows in zip(PART_WORDS, _rows(named), strict=False):
        words[rows] = part
    found: list[str] = words.tolist()
    return found


def splits_csv(splits: Sequence[NamedSplit], names: Sequence[str]) -> Iterator[str]:
    """The file of splits, one split at a time; ``names`` (n,) are the ids of the cases."""
    yield ",".join(HEADER) + "\n"
    cells = [safe_text(name) for name in names]
    for one in splits:
        yield csv_lines(
            (name, part, one.fold, one.repeat)
            for name, part in zip(cells, _parts(one, len(cells)), strict=True)
        )


@dataclass(frozen=True, eq=False)
class CaseCells:
    """The cases as cells of a file: ``ids`` (n,), ``findings`` (n,), and ``names``, the different findings by name."""

    ids: np.ndarray[Any, Any]
    findings: Sequence[str]
    names: Sequence[str]

    @classmethod
    def of(cls, ids: Sequence[str], findings: Sequence[str]) -> CaseCells:
        """Of the ids and findings of all cases."""
        return cls(
            np.array([safe_text(name.replace(SEPARATOR, "%3B")) for name in ids], dtype=object),
            [safe_text(name) for name in findings],
            [safe_text(name) for name in sorted(set(findings))],
        )


def queries_csv(
    queries: Iterable[SplitQueries],
    splits: Sequence[NamedSplit],
    cases: CaseCells,
    more: Sequence[str],
    before: Sequence[str] = (),
) -> Iterator[str]:
    """The lines of queries, those of one learner on one split at a time: one for each query and each k. ``more``: the
    columns after those of :data:`QUERY_HEADER`, ``before``: cells that begin every line."""
    validation = {(one.repeat, one.fold): set(one.split.validation.tolist()) for one in splits}
    for one in queries:
        # Regions that search by place are in no split, because nothing is fitted.
        lines = _query_lines(one, cases, validation.get((one.repeat, one.fold), set()), more)
        yield csv_lines((*before, *line) for line in lines)


def more_columns(queries: Iterable[SplitQueries]) -> list[str]:
    """The columns that the queries of a protocol have besides those of all protocols."""
    return list(dict.fromkeys(name for one in queries for name in one.records.columns))


def _query_lines(
    one: SplitQueries, cases: CaseCells, validation: set[int], more: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    records = one.records
    columns = [_column(records, name) for name in more]
    for place, row in enumerate(records.rows.tolist()):
        nearest = records.nearest[place]
        near = cases.ids[nearest[nearest >= 0]].tolist()
        for at, k in enumerate(records.k):
            estimate = -1 if records.estimate is None else int(records.estimate[place, at])
            votes = () if records.votes is None else records.votes[place, at].tolist()
            yield (
                one.learner,
                one.repeat,
                one.fold,
                cases.ids[row],
                cases.findings[row],
                str(k),
                _number(float(records.hits[place, at])),
                SEPARATOR.join(near[:k]),
                cases.names[estimate] if estimate >= 0 else "",
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


FORMULAS = {
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
    "region": "scores of each repeat are means over its queries of all folds; place_in_region, "
    "place_in_region@10 and place_in_region_chance: means of their columns; intervals: unit and seed as in "
    "interval_of_one_split, with the seed of the evaluation, over the means of each query over the repeats",
    "residual_precision@20:N": "mean of the column of that name; gain@20:N: less that of :no_feedback",
}
COLUMNS = {
    "hits": "how many of the first k cases have the query's finding; equally near cases count in expectation",
    "nearest_ids": "the first k cases, nearest first, of those that 'searched' names: the other tested cases without "
    "those of the query's patient, the training cases, or all cases without those of the query's patient; equally near "
    "ones in the order of the data; ';' in an id is %3B",
    "answers": "k, or the number of cases that can be ranked where that is smaller",
    "votes": "share of each of 'findings' among the k nearest training cases",
    "estimate": "the finding with the largest share of votes; of equal ones that whose first case is nearer",
    "unit": "a number for the patient, or the copies of an image, drawn together for an interval",
    "chance": "share of the query's finding among all cases that can be ranked; relevant: their number",
}
