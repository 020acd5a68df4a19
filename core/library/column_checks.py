"""Columns that measure nothing: those that count rows, those that are the finding in other words, and those that alone
tell the finding.

Such a column comes into a table by accident: pandas writes its index, a person keeps a column of codes. A metric that
finds it scores high and has learned nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.language import join_texts, tr_lazy, tr_lazy_n

Numbers = npt.NDArray[np.float64]

#: Names of columns that count rows, and of those that identify what a row is of, if they hold whole numbers.
_INDEX_NAMES = re.compile(r"unnamed: \d+|__index_level_\d+__|index|idx|row[ _]?(nr|no|num|number|index)")
_ID_NAMES = re.compile(r"(.*[^a-z])?u?ids?")
#: So many consecutive whole numbers count rows, whatever the column is called.
_FEWEST_ROWS = 10
#: Whole numbers that all differ count rows if chance makes them differ less often than this.
_CHANCE = math.log(1e-6)
#: Cases of a finding, and other cases, below which a column may separate them by chance.
FEW = 5
#: A table of fewer rows is not checked for columns that tell the finding.
_FEWEST_CASES = 20
#: Different values up to which a column is also taken for one of codes; texts with more are identifiers or free texts.
MOST_CODES = 12
#: A column tells the finding from this area under the ROC curve on.
TELLING = 0.98
#: Numbers of a table that are compared with the findings.
_COMPARED = 4_000_000
#: Extractors whose numbers people wrote down; numbers measured in images are not made from the finding.
WRITTEN_DOWN = frozenset(("raw", "clinical"))
#: Columns that a note names.
_LISTED, _NO_FEATURES = 3, 20
_LARGEST_WHOLE = 2.0**53


class WholeNumbers:
    """Whether the numbers of a column, some rows at a time, are whole and differ; it holds none of them.

    ``rows`` that have one, ``None`` if they do not differ or are not whole. Missing ones do not count.
    """

    def __init__(self) -> None:
        self.rows: int | None = 0
        self._least, self._most = math.inf, -math.inf
        self._sum = 0
        self.are_whole = True

    def add(self, values: npt.NDArray[Any]) -> None:
        """Take in the ``values`` (n,) of more rows, NaN where missing."""
        if not self.are_whole:
            return
        values = values[~np.isnan(values)]
        if (
            not np.isfinite(values).all()
            or (values % 1).any()
            or np.abs(values).max(initial=0) > _LARGEST_WHOLE
        ):
            self.are_whole, self.rows = False, None
            return
        if self.rows is None:
            return
        whole = values.astype(np.int64)
        if len(np.unique(whole)) < len(whole):
            self.rows = None
            return
        self.rows += len(whole)
        if len(whole):
            self._least, self._most = min(self._least, int(whole.min())), max(self._most, int(whole.max()))
        self._sum = (self._sum + _hash_sum(whole)) % (1 << 64)

    @property
    def are_consecutive(self) -> bool:
        """Whether they are all whole numbers between two, or those in equal steps, each once, in any order."""
        if not self.rows:
            return False
        width = int(self._most - self._least)
        if width % max(1, self.rows - 1):
            return False
        least, total, step = int(self._least), 0, width // max(1, self.rows - 1)
        for start in range(0, self.rows, 1 << 20):
            stop = min(start + (1 << 20), self.rows)
            total += _hash_sum(least + step * np.arange(start, stop, dtype=np.int64))
        return total % (1 << 64) == self._sum

    def differ_by_chance(self, n: int) -> bool:
        """Whether ``n`` different numbers may be drawn at random from as wide a range."""
        if not self.rows:
            return True
        width = self._most - self._least + 1
        return n > width or _log_chance(n, width) > _CHANCE


def _log_chance(n: int, width: float) -> float:
    """Logarithm of the probability that ``n`` numbers drawn from ``width`` all differ."""
    if n > 1000 or width > 1e9:
        return -n * (n - 1) / (2 * width)
    return math.lgamma(width + 1) - math.lgamma(width - n + 1) - n * math.log(width)


def _hash_sum(values: npt.NDArray[np.int64]) -> int:
    """The sum of hashes (SplitMix64, Steele et al., OOPSLA 2014): equal for equal numbers in any order."""
    z = values.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return int((z ^ (z >> np.uint64(31))).sum(dtype=np.uint64))


def index_reason(
    name: str, numbers: WholeNumbers, sampled: Sequence[float], *, is_named: bool = False
) -> str:
    """Why a column of numbers called ``name`` measures nothing of a row, or "".

    ``sampled``: its values in some rows. ``is_named``: the file itself says that it is an index.
    """
    if is_named:
        return tr_lazy("the file names it as its index")
    if not numbers.are_whole:
        return ""
    if is_index_name(name) or _ID_NAMES.fullmatch(
        re.sub(r"(?<=[a-z])(?=I[Dd]s?$)", "_", name.strip()).lower()
    ):
        return tr_lazy("by its name it counts or identifies rows")
    if numbers.rows and numbers.rows >= _FEWEST_ROWS and numbers.are_consecutive:
        return tr_lazy("it counts the rows")
    filled = [number for number in sampled if not math.isnan(number)]
    if numbers.rows and len(set(filled)) == len(filled) and not numbers.differ_by_chance(len(filled)):
        return tr_lazy("its whole numbers all differ, as those that count rows do")
    return ""


def is_index_name(name: str) -> bool:
    """Whether a column is called as programs call the index of their rows."""
    return _INDEX_NAMES.fullmatch(name.strip().lower()) is not None


def counts_rows(cells: Sequence[str]) -> bool:
    """Whether the ``cells`` of a column are consecutive whole numbers in any order."""
    numbers = WholeNumbers()
    try:
        numbers.add(np.array([float(cell) for cell in cells]))
    except ValueError:
        return False
    return numbers.are_consecutive


def is_finding_in_other_words(values: Sequence[object], findings: Sequence[str]) -> bool:
    """Whether each value goes with one finding and each finding with one value; findings of "" and values of NaN are
    left out."""
    pairs = [
        (value, finding)
        for value, finding in zip(values, findings, strict=True)
        if finding and not (isinstance(value, float) and math.isnan(value))
    ]
    different = set(pairs)
    names = {finding for _, finding in different}
    if len(pairs) < _FEWEST_CASES or len(names) < 2 or len(different) != len(names):
        return False
    return len({value for value, _ in different}) == len(names) and 2 * len(names) <= len(pairs)


def telling_columns(X: npt.NDArray[Any], y: Sequence[str]) -> Iterator[tuple[int, float]]:
    """The columns of ``X`` (n, d) that alone tell the findings ``y`` (n,), and how well (above :data:`TELLING`).

    Of two findings it is the area under the ROC curve, in either direction; else the mean over the findings of
    :func:`separation`, which an order of rows by finding has too. Findings with few cases are left out, and so are
    cases without one.
    """
    own = own_findings(y)[1]
    if own.shape[1] < 2 or own.sum() < _FEWEST_CASES:
        return
    kept = np.flatnonzero(own.any(axis=1))
    kept = kept[:: -(-len(kept) // max(_FEWEST_CASES, _COMPARED // max(1, X.shape[1])))]
    own = own[kept]
    if own.sum(axis=0).min() < FEW:
        return
    for column in range(X.shape[1]):
        codes = ordered_codes(np.asarray(X[kept, column], dtype=np.float64))
        score = max(float(separation(codes, own).mean()), _area(codes, own))
        if score > TELLING:
            yield column, score


def no_feature_notes(
    source: str, columns: Sequence[tuple[str, str]], *, can_be_chosen: bool = True
) -> list[str]:
    """A sentence about the ``columns`` (name, reason) of ``source`` that measure nothing; none without one."""
    if not columns:
        return []
    listed = join_texts(
        [
            tr_lazy("'{column}' ({reason})", column=column, reason=reason)
            for column, reason in columns[:_NO_FEATURES]
        ]
    )
    if not can_be_chosen:
        return [tr_lazy("'{name}': columns that are no features: {columns}.", name=source, columns=listed)]
    return [
        tr_lazy(
            "'{name}': columns that are no features: {columns}. To choose the features yourself, use --set columns=.",
            name=source,
            columns=listed,
        )
    ]


def telling_notes(names: Sequence[str], found: Iterable[tuple[int, float]], source: str) -> list[str]:
    """A sentence about the columns (place in ``names``, score) that alone tell the finding; none without one."""
    best = sorted(found, key=lambda one: -one[1])
    if not best:
        return []
    listed = ", ".join(f"'{names[place]}' ({score:.3f})" for place, score in best[:_LISTED])
    return [
        tr_lazy_n(
            "'{source}': one column alone determines the finding: {columns}, where 1 is perfect. Check that it was not "
            "made from the finding. To leave it out, choose the other columns with --set columns=.",
            "'{source}': each of {n} columns alone determines the finding: {columns}, where 1 is perfect. Check that "
            "they were not made from the finding. To leave them out, choose the other columns with --set columns=.",
            len(best),
            source=source,
            columns=listed,
        )
    ]


def own_findings(y: Sequence[str]) -> tuple[list[str], npt.NDArray[np.bool_]]:
    """The k findings that enough cases have and enough have not, and (n, k) whether each case has it."""
    findings = np.asarray(y, dtype=np.str_)
    names, counts = np.unique(findings[findings != ""], return_counts=True)
    names = names[(counts >= FEW) & (counts.sum() - counts >= FEW)]
    return names.tolist(), findings[:, None] == names[None, :]


def ordered_codes(values: Numbers) -> npt.NDArray[np.intp]:
    """(n,) the place of each value among the different ones; missing is below all."""
    codes: npt.NDArray[np.intp] = np.unique(np.where(np.isnan(values), -np.inf, values), return_inverse=True)[
        1
    ]
    return codes


def separation(
    codes: npt.NDArray[np.intp], own: npt.NDArray[np.bool_], *, are_ordered: bool = True
) -> npt.NDArray[np.float64]:
    """(k,) how well ``codes`` (n,) separate each finding from the others.

    It is the mean of sensitivity and specificity of the best interval, and of the best choice of codes where there are
    few. ``own`` (n, k): whether a case has the finding.
    """
    counts = np.zeros((int(codes.max(initial=0)) + 1, own.shape[1]))
    np.add.at(counts, codes, own)
    everything = np.bincount(codes, minlength=len(counts))[:, None]
    gains = counts / counts.sum(axis=0) - (everything - counts) / (everything.sum() - counts.sum(axis=0))
    best = np.zeros(own.shape[1])
    if len(counts) <= MOST_CODES or not are_ordered:
        best = np.maximum(gains, 0.0).sum(axis=0)
    if are_ordered:
        sums = np.concatenate([np.zeros((1, own.shape[1])), np.cumsum(gains, axis=0)])
        for side in (sums, -sums):
            best = np.maximum(best, (side - np.minimum.accumulate(side)).max(axis=0))
    return 0.5 + best / 2


def _area(codes: npt.NDArray[np.intp], own: npt.NDArray[np.bool_]) -> float:
    """Area under the ROC curve of two findings, in the better direction; 0 for more."""
    if own.shape[1] != 2:
        return 0.0
    first, second = (np.bincount(codes[side], minlength=codes.max() + 1) / side.sum() for side in own.T)
    below = np.concatenate([[0.0], np.cumsum(second[:-1])])
    area = float((first * (below + second / 2)).sum())
    return max(area, 1 - area)
