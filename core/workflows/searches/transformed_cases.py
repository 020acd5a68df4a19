"""The cases of a library after a metric's steps, with or without some of its groups of features."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.metric import Metric, replacement_values
from semblance.core.tasks import SILENT, Cancelled, Reporter

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import FeatureSet

#: Chunks of features transformed between two checks for cancellation.
CHUNKS = 2
#: Bytes of the contributions of single groups in memory; 10,000 cases of 200 components are 16 MB per group.
MOST_BYTES = 1 << 29


class TransformedCases:
    """Rows (n, m) of the cases with the ascending ids ``order`` (n,), read on first use and then cached."""

    def __init__(
        self, library: Library, feature_set: FeatureSet, metric: Metric, order: npt.NDArray[np.int64]
    ) -> None:
        self._library, self._feature_set, self._metric, self._order = library, feature_set, metric, order
        self._rows: Matrix | None = None
        self._whole: TransformedCases | None = None
        self._groups: frozenset[str] = frozenset()
        self._contributions: dict[str, Matrix] = {}
        #: The unfinished work of :meth:`prepare`.
        self._making: Iterator[int] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes in memory now."""
        arrays = [*self._contributions.values(), *([] if self._rows is None else [self._rows])]
        return sum(one.nbytes for one in arrays)

    def forget(self) -> None:
        """Free the memory; data is read again on demand."""
        self._rows = self._making = None
        self._contributions = {}

    def without(self, metric: Metric, groups: Collection[str]) -> TransformedCases:
        """The same cases under ``metric``, which is the same metric without ``groups``."""
        blind = TransformedCases(self._library, self._feature_set, metric, self._order)
        blind._whole, blind._groups = self, frozenset(groups)
        return blind

    def rows(self, reporter: Reporter = SILENT) -> Matrix:
        """(n, m) after the metric's steps.

        Raises:
            BadInput: no case has the metric's features.
        """
        if self._rows is None:
            made = None if self._whole is None else self._whole.less(self._metric, self._groups, reporter)
            self._rows = self._read(reporter) if made is None else made
        return self._rows

    def prepare(self, reporter: Reporter = SILENT) -> None:
        """Read the data for leaving out any one group, as far as there is memory for it.

        After cancelling, the next call continues.

        Raises:
            BadInput: no case has the metric's features.
        """
        groups = self._explained_groups
        each = 8 * len(self._order) * self._metric.distance.n_features
        if self._columns_alone is not None or each * len(groups) > MOST_BYTES:
            self.rows(reporter)
        elif not all(group in self._contributions for group in groups):
            self._finish(groups, reporter)

    def less(self, blind: Metric, groups: Collection[str], reporter: Reporter) -> Matrix | None:
        """(n, m) under ``blind``, from the rows of the whole metric, because the steps after imputation are linear.

        ``None`` if the contributions of the groups take too much memory.
        """
        rows = self.rows(reporter)
        alone = self._columns_alone
        if alone is not None:
            out = rows.copy()
            equal = blind.transform(np.zeros((1, blind.n_features)))[0]
            masked = np.isin(alone, list(groups))
            out[:, masked] = equal[masked]
            return out
        if rows.nbytes * len(groups) > MOST_BYTES:
            return None
        self._contribute(groups, reporter)
        out = rows.copy()
        for group in sorted(groups):
            out -= self._contributions[group]
        return out

    @functools.cached_property
    def _columns_alone(self) -> npt.NDArray[np.object_] | None:
        """(m,) the group of each coordinate if each comes from one column; ``None`` after a projection."""
        from semblance.core.metrics.steps.pca import PCA

        tail = self._metric.linear_tail()
        if any(isinstance(step, PCA) for step in tail):
            return None
        names = self._metric.names_before_tail()
        for step in tail:
            names = step.names(names)
        return np.array(names, dtype=object)

    @functools.cached_property
    def _explained_groups(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._metric.names_before_tail()))

    def _contribute(self, groups: Collection[str], reporter: Reporter) -> None:
        """Compute the contributions of ``groups``; of all groups at once if there is memory, because the next one
        would read everything again."""
        if all(group in self._contributions for group in groups):
            return
        each, known = self.rows(reporter).nbytes, self._explained_groups
        self._finish(known if each * len(known) <= MOST_BYTES else tuple(groups), reporter)

    def _finish(self, groups: tuple[str, ...], reporter: Reporter) -> None:
        """Start computing the contributions of ``groups``, or continue an unfinished computation for all of them."""
        making = self._making
        if making is None or groups != self._explained_groups:
            making = self._contributing(groups)
            self._making = making if groups == self._explained_groups else self._making
        try:
            for done in making:
                reporter.progress(done, len(self._order), "Preparing the cases")
                reporter.check_cancelled()
        except Cancelled:
            raise
        except BaseException:
            self._making = None
            raise
        if making is self._making:
            self._making = None

    def _contributing(self, groups: tuple[str, ...]) -> Iterator[int]:
        """Compute the contributions of ``groups``, and the rows if they are missing, part by part; yields the number
        of finished cases."""
        from semblance.core.retrieval.explanation import Grouping

        grouping, start = Grouping(self._metric), replacement_values(self._metric)
        shape = (len(self._order), grouping.linear.shape[0])
        found = {group: np.zeros(shape) for group in groups}
        rows, done = None if self._rows is not None else np.empty(shape), 0
        for places, numbers in self._blocks(SILENT):
            z = grouping.head_rows(numbers) - start
            for number, group in enumerate(grouping.groups):
                if group in found:
                    own = grouping.columns_of(number)
                    found[group][places] = z[:, own] @ grouping.linear[:, own].T
            if rows is not None:
                rows[places] = self._metric.transform(numbers)
            done += len(places)
            yield done
        if self._rows is None and rows is not None and done:
            self._rows = rows
        self._contributions = found

    def _read(self, reporter: Reporter) -> Matrix:
        out: Matrix | None = None
        for places, numbers in self._blocks(reporter):
            part = self._metric.transform(numbers)
            if out is None:
                out = np.empty((len(self._order), part.shape[1]))
            out[places] = part
        if out is None:
            raise BadInput("No case has the metric's features.", "Extract them first.")
        return out

    def _blocks(self, reporter: Reporter) -> Iterator[tuple[npt.NDArray[np.int64], Matrix]]:
        """Positions in the order and features (k, d) of the cases that have both, block by block."""
        done = 0
        for ids, numbers in self._library.features.blocks(self._feature_set, CHUNKS):
            reporter.check_cancelled()
            reporter.progress(done, len(self._order), "Preparing the cases")
            done += len(ids)
            places = np.minimum(np.searchsorted(self._order, ids), len(self._order) - 1)
            there = self._order[places] == ids
            if there.any():
                yield places[there], numbers[there].astype(np.float64)
