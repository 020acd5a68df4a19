"""The one place that knows what is open, asked and ranked; signals when it changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from core.imaging.region import Region
from core.library.columns import CaseColumns, no_cases
from core.searches.query import Query
from core.workflows.looking import Greys
from core.workflows.opening import LibrarySnapshot, MetricFacts
from core.workflows.searching import SearchResult
from core.workflows.training import CurvePoint


@dataclass(frozen=True)
class TrainingRun:
    """A training under way or just ended: its live curve."""

    name: str
    learner: str
    rounds: int | None
    points: tuple[CurvePoint, ...] = ()
    running: bool = True


class State(QObject):
    """Plain values with signals; widgets read them and listen, operations write them."""

    library_changed = Signal()
    cases_changed = Signal()
    metric_changed = Signal()
    query_changed = Signal()
    ranking_changed = Signal()
    training_changed = Signal()
    options_changed = Signal()
    greys_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.library: LibrarySnapshot | None = None
        self.metric: MetricFacts | None = None
        self.features = ""
        self.query: Query | None = None
        self.ranking: SearchResult | None = None
        self.training: TrainingRun | None = None
        #: How the query's picture is seen; ``None`` for colour and without a picture.
        self.greys: Greys | None = None
        self.hide_same_patient = True
        self.fold_alike = True
        self._empty = no_cases()

    @property
    def columns(self) -> CaseColumns:
        """The cases of the open library (none without one)."""
        return self.library.columns if self.library else self._empty

    @property
    def path(self) -> Path | None:
        return self.library.path if self.library else None

    def set_library(self, library: LibrarySnapshot | None) -> None:
        """Another library, or none: nothing of the one before stays."""
        self.library = library
        self.metric = self.query = self.ranking = self.training = None
        self.features = ""
        if library is not None:
            self._choose_defaults()
        self.library_changed.emit()
        self.cases_changed.emit()
        self.metric_changed.emit()
        self.query_changed.emit()
        self.ranking_changed.emit()
        self.training_changed.emit()

    def renew_library(self, library: LibrarySnapshot) -> None:
        """A newer snapshot of the library that is open; query and ranking stay."""
        self.library = library
        name = self.metric.name if self.metric else None
        self.metric = next((m for m in library.metrics if m.name == name), None)
        self._choose_defaults()
        self.cases_changed.emit()
        self.metric_changed.emit()

    def _choose_defaults(self) -> None:
        assert self.library is not None
        names = [s.name for s in self.library.feature_sets]
        if self.features not in names:
            self.features = names[0] if names else ""
        if self.metric is None and self.library.metrics:
            self.metric = self.library.metrics[-1]
            self.features = self.metric.features

    def set_metric(self, name: str) -> None:
        if self.library is None or (self.metric is not None and self.metric.name == name):
            return
        found = next((m for m in self.library.metrics if m.name == name), None)
        if found is not None:
            self.metric, self.features = found, found.features
            self.metric_changed.emit()

    def set_features(self, name: str) -> None:
        if name != self.features:
            self.features = name
            self.metric_changed.emit()

    def set_query(self, query: Query | None) -> None:
        self.query = query
        self.query_changed.emit()

    def set_region(self, region: Region | None) -> None:
        """Ask with a part of the present query, or with the whole of it."""
        if self.query is not None and self.query.region != region:
            self.set_query(replace(self.query, region=region))

    def set_ranking(self, ranking: SearchResult | None) -> None:
        self.ranking = ranking
        self.ranking_changed.emit()

    def set_option(self, *, hide_same_patient: bool | None = None, fold_alike: bool | None = None) -> None:
        if hide_same_patient is not None:
            self.hide_same_patient = hide_same_patient
        if fold_alike is not None:
            self.fold_alike = fold_alike
        self.options_changed.emit()

    def set_greys(self, greys: Greys | None) -> None:
        """The query's picture is seen in other greys."""
        if greys != self.greys:
            self.greys = greys
            self.greys_changed.emit()

    def set_training(self, training: TrainingRun | None) -> None:
        self.training = training
        self.training_changed.emit()

    @property
    def there(self) -> set[str]:
        """What commands can need, as far as it is there now."""
        out: set[str] = set()
        if self.library is not None:
            out.add("library")
            if self.library.writable:
                out.add("writable")
                if self.library.feature_sets:
                    out.add("features")
        if self.metric is not None:
            out.add("metric")
            if "writable" in out:
                out.add("to score")
            if self.metric.scores:
                out.add("scores")
        if self.query is not None:
            out.add("query")
        if self.ranking is not None:
            out.add("ranking")
        if self.training is not None and self.training.running:
            out.add("training")
        return out

    def memory(self) -> dict[str, Any]:
        """What to keep in the library for the next start."""
        return {
            "query": self.query.to_json() if self.query else None,
            "metric": self.metric.name if self.metric else None,
            "hide_same_patient": self.hide_same_patient,
            "fold_alike": self.fold_alike,
        }
