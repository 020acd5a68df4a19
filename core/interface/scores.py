"""The scores of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from semblance.core.evaluation.result import EvaluationResult, LearnerResult
    from semblance.core.reports.plot import ThemeName
    from semblance.core.workflows.evaluation.evaluate_learners import Evaluation
    from semblance.figures import RocData


class Scores:
    """Scores of learners on cases they were not fitted on. It does not change.

    ``scores["bdm_v"]["auc"]`` is the mean over the repeats.
    """

    def __init__(self, evaluation: Evaluation) -> None:
        """The program makes it: see :meth:`semblance.Library.evaluate`."""
        self._evaluation, self._result = evaluation, evaluation.result

    @cached_property
    def _document(self) -> Mapping[str, Any]:
        return self._evaluation.document()

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

    @cached_property
    def per_query(self) -> Any:
        """A data frame with a row for each query and each k: learner, repeat, fold, case_id, finding, k, hits,
        nearest_ids (the k nearest, nearest first, separated by ";") and estimate, and what the protocol adds.

        ``hits``: how many of the k nearest have the query's finding. It has the same values as ``per_query.csv`` of
        ``semblance evaluate --out``.
        """
        from semblance.core.workflows.evaluation.write_evaluation import all_queries_csv

        return _frame_of_csv("".join(all_queries_csv(self._result, self._evaluation.data)))

    @cached_property
    def splits(self) -> Any:
        """A data frame with the part of each case in each split: case_id, part, fold, repeat.

        :meth:`semblance.Library.evaluate` takes it.
        """
        from semblance.core.evaluation.evaluation_files import splits_csv
        from semblance.core.evaluation.split_file import case_names

        return _frame_of_csv("".join(splits_csv(self._result.splits, case_names(self._evaluation.data))))

    def save(self, folder: str | Path) -> list[Path]:
        """Write scores.csv, per_query.csv, splits.csv and config.json into a folder; returns their paths.

        Raises:
            BadInput: the folder holds files of something else.
            SemblanceError: it cannot be written.
        """
        from semblance.core.workflows.evaluation.write_evaluation import write_evaluation

        return write_evaluation(self._evaluation, Path(folder).expanduser())

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
        splits = "1 split" if result.repeats == 1 else f"{result.repeats} splits"
        lines = [
            f"Scores by the protocol {result.protocol}, {splits}, on {result.measured_on} cases",
            repr(Columns(columns)),
            *(f"failed: {name}: {reason}" for name, reason in self.failed.items()),
            *(visible(str(note)) for note in self._document.get("notes", ())),
        ]
        return "\n".join(lines)


#: Columns of texts, which may look like numbers.
_TEXTS = {"learner", "case_id", "part", "finding", "nearest_ids", "estimate", "votes"}


def _frame_of_csv(text: str) -> Any:
    """A data frame of a CSV text with one header row; an empty number is NaN."""
    import csv
    import io

    from semblance.frame import data_frame

    header, *lines = csv.reader(io.StringIO(text, newline=""))
    columns = list(zip(*lines, strict=True)) if lines else [()] * len(header)
    return data_frame(
        {
            name: values if name in _TEXTS else _numbers(values)
            for name, values in zip(header, columns, strict=True)
        }
    )


def _numbers(values: Sequence[str]) -> Sequence[Any]:
    """``values`` as whole numbers, else as numbers, else as they are, as names of folds."""
    for kind in (int, lambda value: float(value or "nan")):
        try:
            return [kind(value) for value in values]
        except ValueError:
            continue
    return values


def _text(score: Any) -> str:
    if score is None or score.mean is None:
        return "–"
    spread = "" if score.ci95 is None else f" ({score.ci95[0]:.3f}–{score.ci95[1]:.3f})"
    return f"{score.mean:.3f}{spread}"
