"""CCML: a metric for class-conditional nearest neighbours.

Im, Taylor: Learning a metric for class-conditional KNN. IJCNN 2016. Equation numbers are theirs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.class_conditional.optimiser import (
    CCMLOptimiser,
    Hyperparameters,
    best_hyperparameters,
    usual_hyperparameters,
)
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner, linear_point
from semblance.core.metrics.numerics.row_space import RowSpace
from semblance.core.metrics.training_data.labelled_rows import (
    LabelledRows,
    labelled_rows,
)
from semblance.core.metrics.training_data.training_input import TrainingInput

Places = npt.NDArray[np.intp]

_SMALL, _SMALL_BATCH, _SMALL_ROUNDS = 400, 64, 90
_BATCH, _ROUNDS, _PASSES = 128, 120, 2
_POINTS = 40


class CCML(declarations.CCML, LinearLearner):
    """Maximises the expected accuracy of class-conditional k-NN (Eq. 11) by Adam on mini-batches.

    Chosen parameters are on the card. Fitted: ``choice_``.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("ccml", components=2, random_state=0).fit(X, y)
        >>> learner.transform(X).shape
        (178, 2)
    """

    def _learn(self, data: TrainingInput) -> LearntMap:
        found = labelled_rows(self.title, data.X, data.y)
        space = RowSpace(found.X - found.X.mean(axis=0))
        # The learning rates suit numbers of about 1.
        scale = float(np.sqrt(np.square(space.rows).mean()))
        rows = LabelledRows(space.rows / scale, found.codes, found.names)
        return self._ascend(rows, found.groups(data), data, lambda A: space.map(A) / scale)

    def _ascend(
        self,
        rows: LabelledRows,
        groups: npt.NDArray[np.generic] | None,
        data: TrainingInput,
        map_of: Callable[[Matrix], Matrix],
    ) -> LearntMap:
        """The map ``map_of`` the one that is learnt in the coordinates of ``rows``, from patients ``groups``."""
        reporter, n = data.reporter, len(rows.X)
        batch = self.batch or (_SMALL_BATCH if n < _SMALL else _BATCH)
        usual = _SMALL_ROUNDS if n < _SMALL else _ROUNDS
        rounds = self.rounds or max(usual, -(-_PASSES * n // batch))
        candidates = self._candidates(rows)
        # A quarter of the rounds each, another quarter of two, and all at the end.
        total = rounds if len(candidates) == 1 else round(rounds * (len(candidates) / 4 + 2 / 4 + 1))
        ticks = 0

        def tick() -> None:
            nonlocal ticks
            ticks += 1
            reporter.check_cancelled()
            reporter.progress(min(ticks, total), total, self.title)

        def begin(part: LabelledRows, choice: Hyperparameters) -> CCMLOptimiser:
            local = self.locality == "local"
            return CCMLOptimiser(part, choice, local=local, batch=batch, rounds=rounds, seed=data.seed)

        chosen = best_hyperparameters(
            rows, candidates, begin, groups=groups, seed=data.seed, tick=tick, n_jobs=self.n_jobs
        )
        ascent = begin(rows, chosen)
        notes = [_described(chosen, len(candidates) > 1)]
        while ascent.round < rounds:
            tick()
            ascent.step()
            if ascent.round * _POINTS // rounds > (ascent.round - 1) * _POINTS // rounds:
                reporter.partial(linear_point(ascent.round, 1.0 - ascent.accuracy, map_of(ascent.A)))
            if reporter.stop_requested:
                notes.append(
                    tr_lazy(
                        "Stopped on request after {round} of {rounds} rounds.",
                        round=ascent.round,
                        rounds=rounds,
                    )
                )
                break
        else:
            notes.append(tr_lazy("All {rounds} rounds.", rounds=rounds))
        return LearntMap(map_of(ascent.A), tuple(notes), rounds=ascent.round)

    def _candidates(self, rows: LabelledRows) -> tuple[Hyperparameters, ...]:
        """What is tried, the parameters given taken as they are."""
        tried = [
            Hyperparameters(
                self.k or choice.k,
                self.rate or choice.rate,
                choice.decay if self.decay < 0.0 else self.decay,
                min(self.components or choice.components, rows.X.shape[1]),
            )
            for choice in usual_hyperparameters(rows.X.shape[1])
        ]
        return tuple(dict.fromkeys(tried))


def _described(choice: Hyperparameters, chosen: bool) -> str:
    how = tr_lazy(", chosen on cases set aside") if chosen else ""
    return tr_lazy(
        "k = {k}, rate {rate:g}, decay {decay:g}, {components} dimensions{how}.",
        k=choice.k,
        rate=choice.rate,
        decay=choice.decay,
        components=choice.components,
        how=how,
    )
