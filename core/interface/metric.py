"""A trained metric of a library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from semblance.core.library.location import LibraryLocation
    from semblance.core.library.records import MetricRecord
    from semblance.core.metrics.distance import DistancePart
    from semblance.core.metrics.metric import Metric as FittedMetric
    from semblance.core.reports.card_document import CardDocument

    #: Ids of cases, rows (n, d) of features as extracted, or ``None`` for all cases.
    Cases = str | Sequence[str] | npt.ArrayLike | None


#: Scores that the text of a metric names.
_SHOWN = "retrieval_accuracy@10", "macro_retrieval_accuracy@10", "chance@10", "auc"


class Card(Mapping[str, Any]):
    """What a metric was trained on and how well it found cases of held-out patients; a mapping of plain values.

    Printed it is the card as the window shows it, in Markdown.
    """

    def __init__(self, document: CardDocument) -> None:
        """The program makes it: see :attr:`Metric.card`."""
        self.document = document
        self._values: Mapping[str, Any] = document.values["card"]

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        from semblance.core.language import visible_lines
        from semblance.core.reports.card_document import card_markdown

        return visible_lines(card_markdown(self.document)).rstrip()

    def _repr_html_(self) -> str:
        from semblance.display import card_html

        return card_html(self.document)


class Metric:
    """A distance between cases of a library that was learnt, with its card. It does not change.

    ``distances`` and ``embed`` take ids of cases or rows of features, and without them all cases that have the
    metric's features, in the order of :attr:`case_ids`.
    """

    def __init__(self, location: LibraryLocation, record: MetricRecord) -> None:
        """The program makes it: see :meth:`semblance.Library.train` and :meth:`semblance.Library.metric`."""
        self._location = location
        #: What the library stores of it.
        self.record = record

    @property
    def name(self) -> str:
        """Its name in the library."""
        return self.record.name

    @property
    def learner(self) -> str:
        """The name of the learner that made it."""
        return self.record.learner

    @cached_property
    def features(self) -> str:
        """The name of the feature set that it compares."""
        from semblance.core.library.open_library import open_library

        with open_library(self._location) as opened:
            return opened.features.of_metric(self.record).name

    @cached_property
    def fitted(self) -> FittedMetric:
        """The metric itself, as :func:`semblance.core.metrics.load_metric` gives it: on rows of features alone.

        Raises:
            BadArguments, BadInput: as :meth:`stored_name`.
        """
        from semblance.core.workflows.metrics.stored_metric import stored_metric

        self.stored_name()
        return stored_metric(self.record)

    def stored_name(self) -> str:
        """Its name, by which the library knows it.

        Raises:
            BadArguments: the library has no metric of this name any more.
            BadInput: another one was trained under its name.
        """
        from semblance.core.errors import BadInput
        from semblance.core.language import tr_lazy
        from semblance.core.workflows.imaging.library_cache import cached_library

        if cached_library(self._location).metric(self.name).file != self.record.file:
            raise BadInput(
                tr_lazy("Another metric was trained under the name '{name}' since.", name=self.name),
                tr_lazy("Take that one with library.metric('{name}').", name=self.name),
            )
        return self.name

    @cached_property
    def card(self) -> Card:
        """Its learner, training data and scores on held-out patients.

        Raises:
            BadInput: the card was changed outside the program.
        """
        from semblance.core.workflows.reports.metric_cards import document_of

        return Card(document_of(self.name, self.record.card, self.record.scores))

    @property
    def scores(self) -> dict[str, float]:
        """Name of a score -> its value on held-out patients, as on the card; empty where it was not scored."""
        found = self.record.card.get("scores")
        return dict(found) if isinstance(found, Mapping) else {}

    @cached_property
    def case_ids(self) -> tuple[str, ...]:
        """(n,) the ids of the cases that have the metric's features, in the order of :meth:`embed`."""
        return self._all[0]

    @cached_property
    def _all(self) -> tuple[tuple[str, ...], npt.NDArray[Any]]:
        from semblance.features import read_features

        found = read_features(self._location, self.features)
        return found.case_ids, found.array

    def embed(self, cases: Cases = None) -> npt.NDArray[np.float64]:
        """(n, m) coordinates: the squared Euclidean distance between two rows is the metric's distance.

        ``cases``: ids of cases or rows (n, d) of features; without them all cases.

        Raises:
            BadInput: no such case, one without the features, rows of another width, or a metric without coordinates.
        """
        return self.fitted.embed(self._rows(cases))

    def distances(self, queries: Cases, cases: Cases = None) -> npt.NDArray[np.float64]:
        """(q, n) squared distances of ``queries`` to ``cases``, both ids or rows of features.

        Raises:
            BadInput: no such case, one without the features, or rows of another width.
        """
        return self.fitted.distances(self._rows(queries), self._rows(cases))

    def explain(self, query: str | npt.ArrayLike, case: str | npt.ArrayLike) -> list[DistancePart]:
        """The parts of the distance of two cases, by group of features, the largest first: each has ``.name`` and
        ``.amount``, and together they are the distance.

        Raises:
            BadInput: no such case, or one without the features.
        """
        parts = self.fitted.explain(self._rows(query)[0], self._rows(case)[0])
        return sorted(parts, key=lambda part: -part.amount)

    def save(self, out: str | Path) -> Path:
        """Write the metric to a file for another library or person, as ``semblance export-metric`` does. It names no
        case.

        Raises:
            SemblanceError: the file cannot be written.
        """
        from semblance.core.workflows.metrics.metric_exchange import export_metric

        return export_metric(self._location, self.name, Path(out))

    def _rows(self, cases: Cases) -> npt.NDArray[Any]:
        """(n, d) the features of ``cases``, as extracted."""
        import numpy as np

        from semblance.features import features_of

        if cases is None:
            return self._all[1]
        if isinstance(cases, str):
            return features_of(self._location, self.features, [cases])
        rows = np.asarray(cases)
        if rows.dtype.kind in "UO":
            return features_of(self._location, self.features, [str(case) for case in rows.ravel().tolist()])
        return rows[np.newaxis] if rows.ndim == 1 else rows

    def _repr_html_(self) -> str:
        return self.card._repr_html_()

    def __repr__(self) -> str:
        from semblance.core.language import visible

        scores = [f"{name} {self.scores[name]:.3f}" for name in _SHOWN if name in self.scores]
        return f"Metric {visible(self.name)!r}: {visible(self.learner)} on {visible(self.features)}" + (
            f"; on held-out patients: {', '.join(scores)}" if scores else "; not scored"
        )
