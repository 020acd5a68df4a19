"""The scores of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from semblance.core.evaluation.result import EvaluationResult, LearnerResult
    from semblance.core.reports.plot import ThemeName
    from semblance.figures import RocData


class Scores:
    """Scores of learners on cases they were not fitted on. It does not change.

    ``scores["bdm_v"]["auc"]`` is the mean over the repeats.
    """

    def __init__(self, result: EvaluationResult, document: Mapping[str, Any]) -> None:
        """The program makes it: see :meth:`semblance.Library.evaluate`."""
        self._result, self._document = result, document

    @property
    def result(self) -> EvaluationResult:
        """The scores, curves and comparisons, as :mod:`semblance.core.evaluation` has them."""
        return self._result

    @property
    def protocol(self) -> str:
        """The name of the protocol."""
        return self._result.protocol

    @property
    def learners(self) -> tuple[str, ...]:
        """The names of the learners that gave a result."""
        return tuple(one.learner for one in self._result.results)

    @property
    def failed(self) -> dict[str, str]:
        """Learner -> why it gave no result."""
        return {one.learner: str(one.reason) for one in self._result.failed}

    def __getitem__(self, learner: str) -> dict[str, float | None]:
        """Name of a score -> its mean over the repeats, of one learner."""
        return {name: score.mean for name, score in self._of(learner).scores.items()}

    def roc(self, finding: str, learner: str | None = None) -> RocData:
        """The ROC curve of one finding against the rest, averaged over the repeats: ``fpr`` and ``tpr`` (n,), ``auc``
        and its interval ``ci95``. It shows itself in a notebook and has ``.plot()``.

        Raises:
            BadArguments: no such finding or learner, or several learners where none is named.
        """
        from semblance.core.errors import BadArguments
        from semblance.core.language import tr_lazy
        from semblance.figures import roc_data

        found = self._of(learner)
        if finding not in found.roc:
            raise BadArguments(
                tr_lazy("There is no ROC curve of '{finding}'.", finding=finding),
                tr_lazy("There are: {names}.", names=", ".join(found.roc) or "none"),
            )
        return roc_data(found, finding, self._result.measured_on)

    def plot(self, finding: str | None = None, *, theme: ThemeName = "light") -> Figure:
        """Retrieval accuracy over the number of retrieved cases, with its 95 % interval; with ``finding`` the ROC of
        every learner. A figure of Matplotlib.

        ``theme``: "light", "dark" or "print".

        >>> scores.plot("malignant").savefig("roc.pdf")  # doctest: +SKIP

        Raises:
            BadArguments: no such finding.
        """
        from semblance.figures import roc_figure, scores_figure

        if finding is None:
            return scores_figure(self._result, theme=theme)
        return roc_figure([self.roc(finding, learner) for learner in self.learners], theme=theme)

    def _repr_html_(self) -> str:
        from semblance.display import scores_html

        return scores_html(self._result, [str(note) for note in self._document.get("notes", ())])

    def to_frame(self) -> Any:
        """A data frame with a row for each learner and score: learner, score, mean, std, ci95_low, ci95_high.

        Scores are fractions from 0 to 1. It is a pandas data frame where pandas is installed.
        """
        from semblance.frame import data_frame

        lines = [
            (one.learner, name, score) for one in self._result.results for name, score in one.scores.items()
        ]
        return data_frame(
            {
                "learner": [learner for learner, _, _ in lines],
                "score": [name for _, name, _ in lines],
                "mean": [score.mean for _, _, score in lines],
                "std": [score.std for _, _, score in lines],
                "ci95_low": [None if score.ci95 is None else score.ci95[0] for _, _, score in lines],
                "ci95_high": [None if score.ci95 is None else score.ci95[1] for _, _, score in lines],
            }
        )

    def to_json(self) -> dict[str, Any]:
        """The document that ``semblance evaluate --json`` prints."""
        return dict(self._document)

    def _of(self, learner: str | None) -> LearnerResult:
        from semblance.core.errors import BadArguments
        from semblance.core.language import tr_lazy

        results = self._result.results
        found = [one for one in results if learner is None or one.learner == learner]
        if len(found) != 1:
            raise BadArguments(
                tr_lazy("There is no result of '{learner}'.", learner=learner)
                if learner is not None
                else tr_lazy("Several learners were evaluated."),
                tr_lazy("Name one of: {names}.", names=", ".join(self.learners) or "none"),
            )
        return found[0]

    def __repr__(self) -> str:
        from semblance.core.evaluation.chance import names_beside_chance
        from semblance.core.language import visible
        from semblance.frame import Columns

        result = self._result
        known = {name for one in result.results for name in one.scores}
        columns: dict[str, list[Any]] = {"learner": [one.learner for one in result.results]}
        for name in names_beside_chance(result.compared, known):
            columns[name] = [_text(one.scores.get(name)) for one in result.results]
        lines = [
            f"Scores by the protocol {result.protocol}, {result.repeats} repeats, on {result.measured_on} cases",
            repr(Columns(columns)),
            *(f"failed: {name}: {reason}" for name, reason in self.failed.items()),
            *(visible(str(note)) for note in self._document.get("notes", ())),
        ]
        return "\n".join(lines)


def _text(score: Any) -> str:
    if score is None or score.mean is None:
        return "–"
    spread = "" if score.ci95 is None else f" ({score.ci95[0]:.3f}–{score.ci95[1]:.3f})"
    return f"{score.mean:.3f}{spread}"
