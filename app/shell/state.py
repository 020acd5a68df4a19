"""The one place that knows what is open, asked and ranked; signals when it changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Flag, auto
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot

from semblance.core.errors import SemblanceError
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search, new_ledger

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from semblance.core.imaging.region import Region
    from semblance.core.library.case_columns import CaseColumns
    from semblance.core.workflows.imaging.card_images import WindowLevel
    from semblance.core.workflows.library.library_snapshot import LibrarySnapshot, MetricFacts
    from semblance.core.workflows.metrics.training_curve import CurvePoint
    from semblance.core.workflows.searches.rank_cases import RankedSearch
    from semblance.core.workflows.searches.search_result import SearchResult


@dataclass(frozen=True)
class TrainingRun:
    """A training under way or just ended: its live curve."""

    name: str
    learner: str
    rounds: int | None
    points: tuple[CurvePoint, ...] = ()
    running: bool = True


#: Stands for a query until there is one.
_NOTHING = Query()


class Change(Flag):
    """What changed in the state; one change can have several parts."""

    #: Another library, or none, is open.
    LIBRARY = auto()
    #: The cases, feature sets or metrics of the open library.
    CASES = auto()
    #: The current metric or feature set.
    METRIC = auto()
    QUERY = auto()
    #: Any field of :attr:`State.search`.
    SEARCH = auto()
    #: What of a search is hidden, grouped, diverse or counts as no close match.
    OPTIONS = auto()
    #: The name the search is saved under.
    NAME = auto()
    #: A ranking was requested; it is not there yet.
    RANKING_REQUESTED = auto()
    RANKING = auto()
    #: Whether the current metric can be refined by judgements.
    REFUSAL = auto()
    #: The window and level of the query's image.
    WINDOW_LEVEL = auto()
    #: The cases selected on the map.
    SELECTION = auto()
    TRAINING = auto()
    EXTRACTION = auto()


class State(QObject):
    """Plain values and one signal: operations write the values, widgets read them and follow the signal."""

    #: A :class:`Change` with everything that one call of a method changed.
    changed = Signal(object)
    #: Show the search as this mapping says (:attr:`view`).
    view_requested = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.library: LibrarySnapshot | None = None
        #: The library that was last asked for, open or on its way.
        self.opening: Path | None = None
        self.metric: MetricFacts | None = None
        self.features = ""
        #: The ranking of :attr:`search` with its ledger; ``None`` while there is none.
        self.ranked_search: RankedSearch | None = None
        self.training: TrainingRun | None = None
        #: The extractor that gives the cases their numbers just now; empty for none.
        self.extracting = ""
        #: Rows of the cases chosen on the map, ascending; ``None``: all.
        self.selected_rows: npt.NDArray[np.int64] | None = None
        #: How the query's image is seen; ``None`` for colour and without an image.
        self.window_level: WindowLevel | None = None
        #: Why the current metric cannot be refined by clicks, once that is known.
        self.refusal: SemblanceError | None = None
        #: The kept search that is open; empty for one without a name.
        self.search_name = ""
        #: How the present search is seen, in the window's own words; kept with it.
        self.view: Mapping[str, Any] = {}
        self._search = Search("", _NOTHING, new_ledger())
        #: How many judgements are in force, counted once for each answer.
        self._collected = Change(0)
        self._collecting = 0
        self._counted: tuple[RankedSearch | None, int] = (None, 0)

    def on_change(self, what: Change, owner: QObject, do: Callable[[], object]) -> None:
        """Call ``do`` once for every change with a part of ``what``, as long as ``owner`` lives."""
        follower = _Follower(what, owner, do)
        self.changed.connect(follower.follow)

    def _tell(self, change: Change) -> None:
        if self._collecting:
            self._collected |= change
        elif change:
            self.changed.emit(change)

    @contextmanager
    def _one_change(self) -> Iterator[None]:
        """What changes inside is told once, at the end."""
        self._collecting += 1
        try:
            yield
        finally:
            self._collecting -= 1
            if not self._collecting:
                collected, self._collected = self._collected, Change(0)
                self._tell(collected)

    @property
    def columns(self) -> CaseColumns:
        """The cases of the open library (none without one)."""
        return self.library.columns if self.library else self._no_cases

    @cached_property
    def _no_cases(self) -> CaseColumns:
        from semblance.core.library.case_columns import no_cases

        return no_cases()

    @property
    def path(self) -> Path | None:
        return self.library.path if self.library else None

    @property
    def search(self) -> Search | None:
        """What is asked, with all that was changed about it; ``None`` without a query or metric."""
        search = self._search
        return None if self.metric is None or search.query == _NOTHING else search

    @property
    def ledger(self) -> str:
        """Where the judgements of the present search are kept."""
        return self._search.ledger

    @property
    def query(self) -> Query | None:
        return None if self._search.query == _NOTHING else self._search.query

    @property
    def ranking(self) -> SearchResult | None:
        return None if self.ranked_search is None else self.ranked_search.result

    @property
    def hide_same_patient(self) -> bool:
        return self._search.hide_same_patient

    @property
    def group_duplicates(self) -> bool:
        return self._search.fold_duplicates

    @property
    def diverse(self) -> float:
        return self._search.diverse

    @property
    def no_match_rate(self) -> float:
        return self._search.unusual

    def set_library(self, library: LibrarySnapshot | None) -> None:
        """Another library, or none: nothing of the one before stays but the options."""
        self.library = library
        self.metric = self.ranked_search = self.training = self.selected_rows = None
        before = self._search
        self._search = Search(
            "",
            _NOTHING,
            new_ledger(),
            hide_same_patient=before.hide_same_patient,
            fold_duplicates=before.fold_duplicates,
            diverse=before.diverse,
            unusual=before.unusual,
        )
        self.features, self.search_name, self.view = "", "", {}
        if library is not None:
            self._choose_defaults()
        self._tell(
            Change.LIBRARY
            | Change.NAME
            | Change.CASES
            | Change.METRIC
            | Change.QUERY
            | Change.SEARCH
            | Change.RANKING
            | Change.TRAINING
            | Change.SELECTION
        )

    def renew_library(self, library: LibrarySnapshot) -> None:
        """A newer snapshot of the library that is open; query and ranking stay."""
        self.library = library
        name = self.metric.name if self.metric else None
        self.metric = next((m for m in library.metrics if m.name == name), None)
        self._choose_defaults()
        other = self.metric is None or self.metric.name != name
        self._tell(Change.CASES | Change.METRIC | (Change.SEARCH if other else Change(0)))

    def _choose_defaults(self) -> None:
        assert self.library is not None
        names = [s.name for s in self.library.feature_sets]
        if self.features not in names:
            self.features = names[0] if names else ""
        if self.metric is None and self.library.metrics:
            self.metric = self.library.metrics[-1]
            self.features = self.metric.features
        self._follow_metric()

    def _follow_metric(self) -> None:
        """The search is by the current metric; feature groups of other features mean nothing to it."""
        name = self.metric.name if self.metric else ""
        if name != self._search.metric:
            known = {m.name: m.features for m in self.library.metrics} if self.library else {}
            same = known.get(name) == known.get(self._search.metric)
            without = self._search.without if same else ()
            self._search = replace(self._search, metric=name, without=without)

    def set_metric(self, name: str) -> None:
        if self.library is None or (self.metric is not None and self.metric.name == name):
            return
        found = next((m for m in self.library.metrics if m.name == name), None)
        if found is not None:
            self.metric, self.features = found, found.features
            self._follow_metric()
            self._tell(Change.METRIC | Change.SEARCH)

    def set_features(self, name: str) -> None:
        if name != self.features:
            self.features = name
            self._tell(Change.METRIC)

    def set_query(self, query: Query | None) -> None:
        """Ask something else, or nothing. Examples stay with a query whose region alone is another; the
        judgements stay with the search."""
        before, wanted = self._search.query, query or _NOTHING
        changes: dict[str, Any] = {"query": wanted}
        if (before.case, before.image) != (wanted.case, wanted.image):
            changes |= {"like": (), "unlike": ()}
        self._search = replace(self._search, **changes)
        self._tell(Change.QUERY | Change.SEARCH)

    def set_region(self, region: Region | None) -> None:
        """Ask with a part of the present query, or with the whole of it."""
        if self.query is not None and self.query.region != region:
            self.set_query(replace(self.query, region=region))

    def change_search(self, **changes: Any) -> None:
        """Other fields of the search than its metric and query; ``search_changed`` where one is different."""
        changed = replace(self._search, **changes)
        if changed != self._search:
            options = {"hide_same_patient", "fold_duplicates", "diverse", "unusual"} & set(changes)
            self._search = changed
            self._tell(Change.SEARCH | (Change.OPTIONS if options else Change(0)))

    def restore_search(self, search: Search) -> None:
        """Take over a kept search, as far as its metric is there; nothing is ranked yet, nor named."""
        with self._one_change():
            self.set_search_name("")
            self._search = replace(search, metric=self._search.metric, ledger=search.ledger or new_ledger())
            self.ranked_search = None
            self.set_metric(search.metric)
            self._tell(Change.RANKING | Change.QUERY | Change.OPTIONS | Change.SEARCH)

    def set_search_name(self, name: str) -> None:
        """The present search is kept under ``name`` from now on; empty for none."""
        if name != self.search_name:
            self.search_name = name
            self._tell(Change.NAME)

    def restore_view(self, view: Mapping[str, Any]) -> None:
        """Let the window show the present search as it was seen."""
        self.view = view
        self.view_requested.emit(view)

    def set_ranked_search(self, asked: RankedSearch | None) -> None:
        """The ranking of the present search, or none."""
        self.ranked_search = asked
        self._tell(Change.RANKING)

    def request_ranking(self) -> None:
        """A ranking of the present search is on its way."""
        self._tell(Change.RANKING_REQUESTED)

    def set_option(
        self, *, hide_same_patient: bool | None = None, group_duplicates: bool | None = None
    ) -> None:
        changes: dict[str, Any] = {}
        if hide_same_patient is not None:
            changes["hide_same_patient"] = hide_same_patient
        if group_duplicates is not None:
            changes["fold_duplicates"] = group_duplicates
        self.change_search(**changes)

    def set_window_level(self, window_level: WindowLevel | None) -> None:
        """Set the window and level the query's image is shown with (``None``: none, or colour)."""
        if window_level != self.window_level:
            self.window_level = window_level
            self._tell(Change.WINDOW_LEVEL)

    def set_refusal(self, refusal: SemblanceError | None) -> None:
        """Clicks can, or cannot, refine the current metric."""
        self.refusal = refusal
        self._tell(Change.REFUSAL)

    @property
    def can_judge(self) -> bool:
        """Whether ranked cases can be judged now."""
        writable = self.library is not None and self.library.writable
        return writable and self.ranking is not None and self.refusal is None

    @property
    def judgement_count(self) -> int:
        """How many judgements of the search are in force."""
        asked = self.ranked_search
        if self._counted[0] is not asked:
            count = 0 if asked is None else sum(entry.undone is None for entry in asked.entries)
            self._counted = (asked, count)
        return self._counted[1]

    def set_selected_rows(self, rows: npt.NDArray[np.int64] | None) -> None:
        """Show these cases of the library alone, or all again; none at all stands for all."""
        import numpy as np

        chosen = None if rows is None or not len(rows) else np.unique(rows)
        before = self.selected_rows
        if (chosen is None) != (before is None) or (
            chosen is not None and before is not None and not np.array_equal(chosen, before)
        ):
            self.selected_rows = chosen
            self._tell(Change.SELECTION)

    def set_training(self, training: TrainingRun | None) -> None:
        self.training = training
        self._tell(Change.TRAINING)

    def set_extracting(self, extractor: str) -> None:
        self.extracting = extractor
        self._tell(Change.EXTRACTION)

    @property
    def available(self) -> set[str]:
        """What commands can need, as far as it is there now."""
        out: set[str] = set()
        if self.library is not None:
            out.add("library")
            if len(self.library.metrics) > 1:
                out.add("two metrics")
            if self.library.writable:
                out.add("writable")
                if self.library.feature_sets:
                    out.add("features")
        if self.metric is not None:
            out.add("metric")
            if "writable" in out:
                out.add("can score")
            if self.metric.scores:
                out.add("scores")
        if self.query is not None:
            out.add("query")
            if "writable" in out:
                out.add("can save search")
        if self.ranking is not None:
            out.add("ranking")
        out |= self._judgements_there()
        out |= self._examples_there()
        if self.training is not None and self.training.running:
            out.add("training")
        return out

    def _examples_there(self) -> set[str]:
        out: set[str] = set()
        if self.search is not None:
            out.add("can add examples")
            if self.search.like or self.search.unlike:
                out.add("examples")
        if self.metric is not None and self.library is not None and self.library.writable:
            out.add("can add concepts")
        return out

    def _judgements_there(self) -> set[str]:
        out = {"can judge"} if self.can_judge else set()
        if self.judgement_count:
            out.add("judgements")
        if self.ranked_search is not None and self.judgement_count < len(self.ranked_search.entries):
            out.add("undone judgements")
        return out

    def search_record(self) -> Mapping[str, Any]:
        """What to keep in the library of the present search, for the next start or under its name."""
        from semblance.core.workflows.searches.saved_searches import search_record

        return search_record(self._search, self.ranked_search, self.view, self.search_name)


class _Follower(QObject):
    """Filters the changes of a state for ``owner``, and goes with it."""

    def __init__(self, what: Change, owner: QObject, do: Callable[[], object]) -> None:
        super().__init__(owner)
        self._what, self._do = what, do

    @Slot(object)
    def follow(self, change: Change) -> None:
        if change & self._what:
            self._do()
