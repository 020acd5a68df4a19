"""What learners share that need no more of the rows than means and scatter: these may come in parts."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics.numerics.covariance import ledoit_wolf
from semblance.core.metrics.numerics.moments import Codes, Moments, fourth_moment
from semblance.core.metrics.training_data.chunked_rows import ChunkedRows
from semblance.core.metrics.training_data.content_order import content_order
from semblance.core.metrics.training_data.labelled_rows import codes_of_findings
from semblance.core.metrics.training_data.memory import check_features
from semblance.core.metrics.training_data.rows import all_equal, check_different
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.validation import Rows, best_shrinkage, rows_to_choose_on
from semblance.core.parameters import Parameter
from semblance.core.tasks import Reporter

SHRINKAGE = Parameter(
    "shrinkage",
    -1.0,
    "Share of a round covariance mixed in; -1: chosen on cases set aside, or as Ledoit and Wolf say without findings; "
    "0: none, unless the covariance cannot be inverted.",
    minimum=-1.0,
    maximum=1.0,
)
#: The map (m, d) for a shrinkage, and the shrinkage it took.
Maps = Callable[[float], tuple[Matrix, float]]


class Cases(NamedTuple):
    """Rows ``X`` (n, d) with their findings ``codes``, -1 for none, ``classes`` and patients ``groups`` (n,)."""

    X: Matrix
    codes: Codes
    classes: Codes
    groups: npt.NDArray[np.generic] | None


class MomentLearner(LinearLearner):
    """A map that depends on the rows only through the :class:`Moments` of their classes."""

    def _learn(self, data: TrainingInput) -> LearntMap:
        classes = self._classes(data)
        check_different(data.X)
        moments = Moments.of(data.X, classes, int(classes.max()) + 1)
        cases = None
        if data.y is not None:
            groups = None if data.groups is None else np.asarray(data.groups)
            cases = Cases(data.X, codes_of_findings(len(data.X), data.y)[0], classes, groups)
        return self._learn_from(
            moments, lambda: cases, data.seed, lambda: fourth_moment(data.X, classes, moments.means)
        )

    def fit_chunks(self, rows: ChunkedRows, reporter: Reporter) -> Self:
        """As :meth:`Learner.fit_chunks`; all rows count, and the result is that of ``fit`` but for rounding."""
        check_features(rows.n_features)
        seed = self.random_state or 0
        # Of the rows themselves only their number is asked.
        facts = TrainingInput(np.zeros((rows.n, 1)), rows.y, None, None, rows.groups, reporter, seed)
        classes = self._classes(facts)
        count = int(classes.max()) + 1
        moments = Moments.of(np.empty((0, rows.n_features)), classes[:0], count)
        first, equal = None, True
        parts = rows.map(
            lambda X, start: (Moments.of(X, classes[start : start + len(X)], count), X[:1], all_equal(X))
        )
        for done, (part, row, part_equal) in enumerate(parts):
            reporter.check_cancelled()
            reporter.progress(done, rows.n_chunks, self.title)
            moments += part
            first = row if first is None else first
            equal = equal and part_equal and bool((row == first).all())
        if equal:
            check_different(np.zeros((2, 1)))

        def cases() -> Cases | None:
            if rows.y is None:
                return None
            codes = codes_of_findings(rows.n, rows.y)[0]
            chosen = rows_to_choose_on(codes, rows.groups, seed, lambda: rows.hashes(seed))
            X, groups = rows.take(chosen), None if rows.groups is None else rows.groups[chosen]
            order = content_order(X, rows.y[chosen], groups)
            return Cases(
                X[order],
                codes[chosen][order],
                classes[chosen][order],
                None if groups is None else groups[order],
            )

        def fourth() -> float:
            return sum(
                rows.map(lambda X, start: fourth_moment(X, classes[start : start + len(X)], moments.means))
            )

        self._keep(self._learn_from(moments, cases, seed, fourth), facts)
        return self

    @abc.abstractmethod
    def _classes(self, data: TrainingInput) -> Codes:
        """(n,) the class of each case, -1 for those that do not count; of ``data`` all but the features.

        Raises:
            BadInput: nothing can be learnt from them.
        """

    @abc.abstractmethod
    def _learn_from(
        self,
        moments: Moments,
        cases: Callable[[], Cases | None],
        seed: int,
        fourth: Callable[[], float],
    ) -> LearntMap:
        """The map of rows with these ``moments``.

        ``cases`` gives some with findings to choose a shrinkage on, ``fourth`` the :func:`fourth_moment`.

        Raises:
            BadInput: nothing can be learnt from them.
        """


class ShrunkLearner(MomentLearner):
    """A map that whitens a covariance, which is shrunk towards tr(S)/d I as the parameter :data:`SHRINKAGE` says."""

    shrinkage: float

    def _learn_from(
        self,
        moments: Moments,
        cases: Callable[[], Cases | None],
        seed: int,
        fourth: Callable[[], float],
    ) -> LearntMap:
        def estimate() -> float:
            return ledoit_wolf(moments.covariance, moments.n, fourth())

        shrinkage, how = chosen_shrinkage(
            self.shrinkage,
            lambda: self._chosen(cases(), seed),
            lambda: estimate() if moments.scatter.any() else 0.0,
        )
        L, used = self._maps(moments, estimate)(shrinkage)
        return LearntMap(L, (*self._notes(moments, L), *shrinkage_note(used, how)))

    def _chosen(self, cases: Cases | None, seed: int) -> float | None:
        if cases is None:
            return None

        def map_of(rows: Rows) -> Callable[[float], Matrix]:
            X, classes = cases.X[rows], cases.classes[rows]
            part = Moments.of(X, classes, int(cases.classes.max()) + 1)
            maps = self._maps(
                part, lambda: ledoit_wolf(part.covariance, part.n, fourth_moment(X, classes, part.means))
            )
            return lambda shrinkage: maps(shrinkage)[0]

        return best_shrinkage(cases.X, cases.codes, cases.groups, seed, map_of, self.n_jobs)

    @abc.abstractmethod
    def _maps(self, moments: Moments, estimate: Callable[[], float]) -> Maps:
        """The map for each shrinkage; ``estimate`` gives that of Ledoit and Wolf."""

    def _notes(self, moments: Moments, L: Matrix) -> tuple[str, ...]:
        """Notes of the card before the one on the shrinkage."""
        return ()


def chosen_shrinkage(
    requested: float, choose: Callable[[], float | None], estimate: Callable[[], float]
) -> tuple[float, str]:
    """The shrinkage of a covariance, and how it was found, for the card.

    ``requested`` as the parameter :data:`SHRINKAGE`; ``choose`` gives the best on cases set aside, or ``None``,
    ``estimate`` that of Ledoit and Wolf.
    """
    if requested >= 0.0:
        return requested, ""
    found = choose()
    if found is not None:
        return found, tr_lazy(", chosen on cases set aside")
    return estimate(), tr_lazy(" as Ledoit and Wolf say")


def shrinkage_note(used: float, how: str) -> tuple[str, ...]:
    """For the card."""
    if used == 0.0:
        return ()
    return (tr_lazy("Covariance shrunk by {share:g}{why}.", share=np.round(used, 4), why=how),)
