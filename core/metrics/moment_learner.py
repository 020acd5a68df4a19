"""What learners share that need no more of the rows than means and scatter."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics.numerics.covariance import Codes, Moments, fourth_moment, ledoit_wolf
from semblance.core.metrics.training_data.rows import TrainingInput, check_different, codes_of_findings
from semblance.core.metrics.training_data.validation import Rows, best_shrinkage

#: The map (m, d) for a shrinkage, and the shrinkage it took.
Maps = Callable[[float], tuple[Matrix, float]]


class FindingRows(NamedTuple):
    """Rows ``X`` (n, d) with their findings ``codes``, -1 for none, ``classes`` and patients ``groups`` (n,)."""

    X: Matrix
    codes: Codes
    classes: Codes
    groups: npt.NDArray[np.generic] | None


class ShrunkLearner(LinearLearner):
    """A map that whitens a covariance, which is shrunk towards tr(S)/d I as the parameter ``shrinkage`` says.

    Of the rows it knows no more than the :class:`Moments` of their classes.
    """

    shrinkage: float
    n_jobs: int | None

    def _learn(self, data: TrainingInput) -> LearntMap:
        classes = self._classes(data)
        check_different(data.X)
        moments = Moments.of(data.X, classes, int(classes.max()) + 1)
        self._check(moments)
        cases = None
        if data.y is not None:
            groups = None if data.groups is None else np.asarray(data.groups)
            cases = FindingRows(data.X, codes_of_findings(len(data.X), data.y)[0], classes, groups)

        def estimate() -> float:
            return ledoit_wolf(moments.covariance, moments.n, fourth_moment(data.X, classes, moments.means))

        shrinkage, how = chosen_shrinkage(
            self.shrinkage,
            lambda: self._chosen(cases, data.seed),
            lambda: estimate() if moments.scatter.any() else 0.0,
        )
        L, used = self._maps(moments, estimate)(shrinkage)
        self._shrinkage = used
        return LearntMap(L, (*self._notes(moments, L), *shrinkage_note(used, how)))

    @abc.abstractmethod
    def _classes(self, data: TrainingInput) -> Codes:
        """(n,) the class of each case, -1 for those that do not count.

        Raises:
            BadInput: nothing can be learnt from them.
        """

    def _check(self, moments: Moments) -> None:
        """
        Raises:
            BadInput: nothing can be learnt from rows with these ``moments``.
        """

    def _chosen(self, cases: FindingRows | None, seed: int) -> float | None:
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

    ``requested`` as the parameter ``shrinkage``; ``choose`` gives the best on cases set aside, or ``None``,
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
