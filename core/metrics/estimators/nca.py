"""Neighbourhood components analysis: scikit-learn's, with progress and a way to stop.

Goldberger, Roweis, Hinton, Salakhutdinov: Neighbourhood components analysis. NIPS 2004.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.language import tr_lazy
from semblance.core.metrics import declarations
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner, linear_point
from semblance.core.metrics.training_data.rows import TrainingInput, check_memory, labelled_rows
from semblance.core.metrics.training_data.validation import chosen_rounds, validation_part

#: Arrays of n x n numbers scikit-learn holds at once.
_SQUARES = 4


class NCA(declarations.NCA, LinearLearner):
    """Maximises the expected accuracy of a random nearest neighbour that leaves the case itself out.

    It starts as scikit-learn's ``init="auto"`` does: from the features as they are where none are dropped, else from
    linear discriminants where there are enough, else from principal components. The number of rounds is chosen on
    cases set aside, and as many are run on all.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_wine(return_X_y=True)
        >>> X = scale(X)
        >>> learner = make_learner("nca", components=2, random_state=0).fit(X, y)
        >>> learner.transform(X).shape
        (178, 2)
    """

    def _learn(self, data: TrainingInput) -> LearntMap:
        rows = labelled_rows(self.title, data.X, data.y)
        X, codes = rows.X, rows.codes
        check_memory(
            8.0 * _SQUARES * len(X) ** 2,
            tr_lazy(
                "{title} compares all of {n:,} training cases with each other, which",
                title=self.title,
                n=len(X),
            ),
            tr_lazy("Train on fewer cases, or use ccml."),
        )
        centred = X - X.mean(axis=0)
        scale = float(np.sqrt(np.square(centred).mean()))
        Z = centred / scale
        reporter = data.reporter

        def on_part(part: npt.NDArray[np.intp], ended: Callable[[Matrix], bool]) -> object:
            def step(L: Matrix, number: int, _loss: float) -> bool:
                what = tr_lazy("{title}: choosing the number of rounds", title=self.title)
                reporter.progress(min(number, self.rounds), self.rounds, what)
                return ended(L) or reporter.stop_requested

            return self._ascent(Z[part], codes[part], self.rounds, data, step)

        part = validation_part(Z, codes, rows.groups(data), self.validation, data.seed)
        most, notes = chosen_rounds(part, self.rounds, on_part)
        state: dict[str, Any] = {"L": None, "rounds": 0, "stopped": False}

        def step(L: Matrix, number: int, loss: float) -> bool:
            state["L"], state["rounds"] = L, number
            reporter.progress(min(number, most), most, self.title)
            reporter.partial(linear_point(number, 1.0 + loss / len(X), L / scale))
            state["stopped"] = reporter.stop_requested
            return bool(state["stopped"])

        reporter.check_cancelled()
        reporter.progress(0, most, self.title)
        end = self._ascent(Z, codes, most, data, step)
        L = end if not state["stopped"] or state["L"] is None else state["L"]
        rounds = int(state["rounds"])
        if state["stopped"]:
            note = tr_lazy("Stopped on request after {rounds} rounds.", rounds=rounds)
        elif rounds >= most:
            note = tr_lazy("All {rounds} rounds; not yet at the optimum.", rounds=rounds)
        else:
            note = tr_lazy("Converged after {rounds} rounds.", rounds=rounds)
        return LearntMap(L / scale, (note, *notes), rounds=rounds)

    def _ascent(
        self,
        X: Matrix,
        codes: npt.NDArray[np.int64],
        rounds: int,
        data: TrainingInput,
        step: Callable[[Matrix, int, float], bool],
    ) -> Matrix:
        """scikit-learn's map (m, d) of rows (n, d); ``step`` gets the map, the round and the loss, and may stop it."""
        from sklearn.neighbors import NeighborhoodComponentsAnalysis

        latest = {"loss": 0.0}

        class ReportingNCA(NeighborhoodComponentsAnalysis):  # type: ignore[misc]
            def _loss_grad_lbfgs(self, *arguments: Any) -> tuple[float, Matrix]:
                data.reporter.check_cancelled()
                loss, gradient = super()._loss_grad_lbfgs(*arguments)
                latest["loss"] = float(loss)
                return loss, gradient

        def report(flat: Matrix, number: int) -> None:
            if step(flat.reshape(-1, X.shape[1]).copy(), number, latest["loss"]):
                raise StopIteration

        n_components = min(self.components or X.shape[1], X.shape[1])
        nca = ReportingNCA(
            n_components=n_components,
            # More principal components than cases are more than there are.
            init="auto" if n_components <= len(X) else "identity",
            max_iter=rounds,
            callback=report,
            random_state=data.seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nca.fit(X, codes)
        L: Matrix = nca.components_
        return L
