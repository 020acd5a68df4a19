"""Neighbourhood components analysis: scikit-learn's, with progress and a way to stop.

Goldberger, Roweis, Hinton, Salakhutdinov: Neighbourhood components analysis. NIPS 2004.
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from semblance.core.language import tr_lazy
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner, linear_point
from semblance.core.metrics.training_data.labelled_rows import labelled_rows
from semblance.core.metrics.training_data.memory import check_memory
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.metrics.training_data.training_sample import TRAINING_CASES
from semblance.core.parameters import Parameter

#: Arrays of n x n numbers scikit-learn holds at once.
_SQUARES = 4


class NCA(LinearLearner):
    """Maximises the expected accuracy of a random nearest neighbour that leaves the case itself out.

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

    name: ClassVar[str] = "nca"
    title: ClassVar[str] = "NCA"
    paper: ClassVar[str] = "Goldberger et al. 2004, Neighbourhood components analysis"
    summary: ClassVar[str] = "Sharp for the very nearest cases; slow beyond a few thousand cases."
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "components",
            0,
            "Dimensions of the learnt space; 0: as many as there are features.",
            minimum=0,
            maximum=10_000,
        ),
        Parameter("rounds", 50, "Iterations at most.", minimum=1, maximum=10_000),
        TRAINING_CASES,
    )
    accepts: ClassVar[frozenset[str]] = frozenset({"findings"})

    def __init__(
        self,
        components: int = 0,
        rounds: int = 50,
        training_cases: int = 4_000,
        random_state: int | None = None,
    ) -> None:
        self.training_cases = training_cases
        self.components = components
        self.rounds = rounds
        self.random_state = random_state

    def _learn(self, data: TrainingInput) -> LearntMap:
        from sklearn.neighbors import NeighborhoodComponentsAnalysis

        X, codes, _ = labelled_rows(self.title, data.X, data.y)
        check_memory(
            8.0 * _SQUARES * len(X) ** 2,
            tr_lazy(
                "{title} compares all of {n:,} training cases with each other, which",
                title=self.title,
                n=len(X),
            ),
            tr_lazy("Train on fewer cases, or use ccml."),
        )
        reporter = data.reporter
        centred = X - X.mean(axis=0)
        scale = float(np.sqrt(np.square(centred).mean()))
        state: dict[str, Any] = {"loss": None, "L": None, "rounds": 0, "stopped": False}

        class ReportingNCA(NeighborhoodComponentsAnalysis):  # type: ignore[misc]
            def _loss_grad_lbfgs(self, *arguments: Any) -> tuple[float, Matrix]:
                reporter.check_cancelled()
                loss, gradient = super()._loss_grad_lbfgs(*arguments)
                state["loss"] = float(loss)
                return loss, gradient

        def report(flat: Matrix, number: int) -> None:
            state["L"], state["rounds"] = flat.reshape(-1, X.shape[1]).copy(), number
            reporter.progress(min(number, self.rounds), self.rounds, self.title)
            expected_error = 1.0 + state["loss"] / len(X)
            reporter.partial(linear_point(number, expected_error, state["L"] / scale))
            if reporter.stop_requested:
                state["stopped"] = True
                raise StopIteration

        reporter.check_cancelled()
        reporter.progress(0, self.rounds, self.title)
        components = min(self.components or X.shape[1], X.shape[1])
        nca = ReportingNCA(
            n_components=components,
            init="pca" if components <= len(X) else "identity",
            max_iter=self.rounds,
            callback=report,
            random_state=data.seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nca.fit(centred / scale, codes)
        L = nca.components_ if not state["stopped"] or state["L"] is None else state["L"]
        rounds = int(state["rounds"])
        if state["stopped"]:
            note = tr_lazy("Stopped on request after {rounds} rounds.", rounds=rounds)
        elif rounds >= self.rounds:
            note = tr_lazy("All {rounds} rounds; not yet at the optimum.", rounds=rounds)
        else:
            note = tr_lazy("Converged after {rounds} rounds.", rounds=rounds)
        return LearntMap(L / scale, (note,), rounds=rounds)
