"""The state of one window: the open library, the search and its ranking, with a signal for changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Flag, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, Signal, Slot

from semblance.app.shell.last_views import LastViews
from semblance.app.shell.query_history import QueryHistory
from semblance.app.shell.query_source import QuerySource
from semblance.app.shell.theme import set_finding_colours
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation, ServerAddress
from semblance.core.searches.query import Query
from semblance.core.searches.search import BOTH, Search, new_ledger

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from PySide6.QtWidgets import QWidget

    from semblance.core.imaging.measurements import Figure
    from semblance.core.imaging.region import Region
    from semblance.core.library.case_columns import CaseColumns
    from semblance.core.library.records import Edit
    from semblance.core.searches.feedback.judgements import QueryMarks
    from semblance.core.workflows.imaging.card_images import WindowLevel
    from semblance.core.workflows.library.library_snapshot import LibrarySnapshot, MetricFacts
    from semblance.core.workflows.metrics.training_curve import CurvePoint
    from semblance.core.workflows.searches.rank_cases import RankedSearch
    from semblance.core.workflows.searches.search_result import SearchResult


@dataclass(frozen=True)
class TrainingRun:
    """The live curve of a training that runs or has just ended."""

    name: str
    learner: str
    rounds: int | None
    points: tuple[CurvePoint, ...] = ()
    running: bool = True


#: Fields of a search: what is hidden, grouped, diverse or counts as no close match.
OPTIONS = frozenset({"hide_same_patient", "group_duplicates", "diverse", "no_match_rate"})
#: Stands for no query.
_NO_QUERY = Query()


class Change(Flag):
    """What changed in the state; one change can have several parts."""

    #: Another library, or none, is open.
    LIBRARY = auto()
    #: The cases, feature sets or metrics of the open library.
    CASES = auto()
    #: The current metric or feature set.
    METRIC = auto()
    QUERY = auto()
    #: Any field of :attr:`WindowState.search`.
    SEARCH = auto()
    #: One of :data:`OPTIONS`.
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
    #: The notes, the measurements and the cases chosen for the report, also because the search is another one.
    REPORT = auto()
    TRAINING = auto()
    EXTRACTION = auto()
    #: Whether the server of the library answers.
    SERVER = auto()


class WindowState(QObject):
    """Plain values and one signal. Operations set the values, widgets read them and connect to the signal."""

    #: A :class:`Change` with everything that one method call changed.
    changed = Signal(object)
    #: Another query, or library, than before: the :class:`QuerySource` of before and the present one, or ``None``.
    source_changed = Signal(object, object)
    #: Show the search with the view of this mapping (:attr:`view`).
    view_requested = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.library: LibrarySnapshot | None = None
        #: The library that was requested last. It is open or being opened.
        self.opening: LibraryLocation | None = None
        self.metric: MetricFacts | None = None
        self.features = ""
        #: The ranking of :attr:`search` with its ledger, never that of another query; ``None`` while there is none.
        self.ranked_search: RankedSearch | None = None
        #: Whether the ranking of another query than before is still to come.
        self.awaits_ranking = False
        self.training: TrainingRun | None = None
        #: The extractor that is running; empty for none.
        self.extracting = ""
        #: The library that is being imported, measured and trained without further questions.
        self.preparing: LibraryLocation | None = None
        #: Rows of the cases selected on the map, ascending; ``None``: all.
        self.selected_rows: npt.NDArray[np.int64] | None = None
        #: Window and level of the query's image; ``None`` for colour and without an image.
        self.window_level: WindowLevel | None = None
        #: Why the current metric cannot be refined by judgements, once that is known.
        self.refusal: SemblanceError | None = None
        #: Name of the saved search that is open; empty for none.
        self.search_name = ""
        #: That saved search as this window last saw it, and then what it sent to be saved since.
        self.seen_searches: list[Mapping[str, Any]] = []
        #: Slice and window of the images that were shown.
        self.last_views = LastViews()
        #: Case -> the note that is kept with it, "" for none, as far as it was read.
        self.kept_notes: dict[str, str] = {}
        #: The queries since the library was opened.
        self.history = QueryHistory()
        #: The library in which it was offered to measure places.
        self.places_offered_in: LibraryLocation | None = None
        #: Why the server of the library does not answer; empty while it does.
        self.server_problem = ""
        #: How the present search is shown; saved with it.
        self.view: Mapping[str, Any] = {}
        self._search = Search("", _NO_QUERY, new_ledger(), refined=False)
        #: What is noted for the report of the search that was shown last.
        self._noted = _noted_in(self._search)
        #: The query whose pages were shown last.
        self._source: QuerySource | None = None
        self._collected = Change(0)
        self._collecting = 0
        #: The numbers of active judgements, of those that count, and of those on other queries that refine; and the
        #: ranking they were counted for.
        self._judgement_counts: tuple[RankedSearch | None, int, int, int] = (None, 0, 0, 0)

    def on_change(self, what: Change, owner: QObject, do: Callable[[], object]) -> None:
        """Call ``do`` once for every change with a part of ``what``, as long as ``owner`` lives."""
        follower = _ChangeFilter(what, owner, do)
        self.changed.connect(follower.follow)

    def on_change_while_shown(self, what: Change, widget: QWidget, do: Callable[[], object]) -> None:
        """As :meth:`on_change`, but while ``widget`` is hidden ``do`` waits until it is shown, and is called once."""
        follower = _ShownChangeFilter(what, widget, do)
        self.changed.connect(follower.follow)

    def on_other_source(
        self,
        owner: QObject,
        shown: Callable[[], QuerySource | None],
        show: Callable[[QuerySource | None], object],
    ) -> None:
        """Let ``owner`` never show the query or the library of before.

        ``shown``: what it shows. When another query is set, ``show`` is called with it if that of before is shown;
        with ``None``, so that it closes, where there is none or the library is another one.
        """
        follower = _SourceFollower(self, owner, shown, show)
        self.source_changed.connect(follower.follow)

    def _notify(self, change: Change) -> None:
        if self._collecting:
            self._collected |= change
            return
        noted, self._noted = self._noted, _noted_in(self._search)
        if noted != self._noted:
            change |= Change.REPORT
        if change & Change.LIBRARY:
            self.history.clear()
        if self.query is not None and change & (Change.QUERY | Change.SEARCH | Change.REPORT | Change.NAME):
            self.history.record(self._search, is_named=bool(self.search_name))
        before, self._source = self._source, self.source
        if before is None and self._source is not None:
            # The entry of a query whose case was removed stayed as long as there was no other.
            self._forget_removed()
        if before != self._source or change & Change.LIBRARY:
            self.source_changed.emit(before, self._source)
        if change:
            self.changed.emit(change)

    @contextmanager
    def _collect_changes(self) -> Iterator[None]:
        """Emit one signal at the end for all changes inside."""
        self._collecting += 1
        try:
            yield
        finally:
            self._collecting -= 1
            if not self._collecting:
                collected, self._collected = self._collected, Change(0)
                self._notify(collected)

    @property
    def columns(self) -> CaseColumns:
        """The cases of the open library (none without one)."""
        return self.library.columns if self.library else self._no_cases

    @cached_property
    def _no_cases(self) -> CaseColumns:
        from semblance.core.library.case_columns import no_cases

        return no_cases()

    @property
    def location(self) -> LibraryLocation | None:
        return self.library.location if self.library else None

    @property
    def search(self) -> Search | None:
        """The present search; ``None`` without a query or metric."""
        search = self._search
        return None if self.metric is None or search.query == _NO_QUERY else search

    @property
    def ledger(self) -> str:
        """The ledger with the judgements of the present search."""
        return self._search.ledger

    @property
    def query(self) -> Query | None:
        return None if self._search.query == _NO_QUERY else self._search.query

    @property
    def query_row(self) -> int:
        """The catalogue row of the query; -1 without one, and for an image from outside."""
        return -1 if self.query is None else self.columns.row_of_id(self.query.case)

    @property
    def source(self) -> QuerySource | None:
        """The image of the query; ``None`` without one."""
        return None if self.query is None else QuerySource.of(self.location, self.query)

    @property
    def ranking(self) -> SearchResult | None:
        return None if self.ranked_search is None else self.ranked_search.result

    @property
    def options(self) -> dict[str, Any]:
        """The values of :data:`OPTIONS`, which stay when another query or library is chosen."""
        return {name: getattr(self._search, name) for name in OPTIONS}

    @property
    def hide_same_patient(self) -> bool:
        return self._search.hide_same_patient

    @property
    def group_duplicates(self) -> bool:
        return self._search.group_duplicates

    @property
    def diverse(self) -> float:
        return self._search.diverse

    @property
    def no_match_rate(self) -> float:
        return self._search.no_match_rate

    def set_library(self, library: LibrarySnapshot | None) -> None:
        """Set another library, or none. Only the options of the search stay."""
        self.library = library
        self.server_problem = (
            tr("The copy on this computer was opened.") if library is not None and library.copied else ""
        )
        self.metric = self.ranked_search = self.training = self.selected_rows = None
        self.awaits_ranking = False
        self._search = Search("", _NO_QUERY, new_ledger(), refined=False, **self.options)
        self.features, self.search_name, self.view = "", "", {}
        self.last_views.clear()
        self.kept_notes.clear()
        set_finding_colours(library.finding_colours if library is not None else ())
        if library is not None:
            self._choose_defaults()
        self._notify(
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
        """Set a newer snapshot of the open library. Query and ranking stay; what is drawn of them is drawn again where
        findings got other numbers."""
        before, self.library = self.library, library
        renumbered = before is not None and before.columns.findings != library.columns.findings
        set_finding_colours(library.finding_colours)
        self._forget_removed()
        name = self.metric.name if self.metric else None
        self.metric = next((m for m in library.metrics if m.name == name), None)
        self._choose_defaults()
        other = self.metric is None or self.metric.name != name
        redrawn = Change.RANKING if renumbered and self.ranked_search is not None else Change(0)
        self._notify(Change.CASES | Change.METRIC | redrawn | (Change.SEARCH if other else Change(0)))

    def _forget_removed(self) -> None:
        self.history.remove(lambda past: not self.has_case_of(past.query))

    def _choose_defaults(self) -> None:
        assert self.library is not None
        names = [s.name for s in self.library.feature_sets]
        if self.features not in names:
            self.features = names[0] if names else ""
        if self.metric is None and self.library.metrics:
            current = (m for m in self.library.metrics if m.name == self.library.current_metric)
            self.metric = next(current, self.library.metrics[-1])
            self.features = self.metric.features
        self._adopt_metric()

    def _adopt_metric(self) -> None:
        """Search with the current metric. Groups of another feature set are not left out any more."""
        name = self.metric.name if self.metric else ""
        if name != self._search.metric:
            known = {m.name: m.features for m in self.library.metrics} if self.library else {}
            same = known.get(name) == known.get(self._search.metric)
            without = self._search.without if same else ()
            self._search = replace(self._search, metric=name, without=without, without_patient=False)

    def set_metric(self, name: str) -> None:
        if self.library is None or (self.metric is not None and self.metric.name == name):
            return
        found = next((m for m in self.library.metrics if m.name == name), None)
        if found is not None:
            self.metric, self.features = found, found.features
            self._adopt_metric()
            self._notify(Change.METRIC | Change.SEARCH)

    def set_features(self, name: str) -> None:
        if name != self.features:
            self.features = name
            self._notify(Change.METRIC)

    def set_query(self, query: Query | None, match: str | None = None) -> None:
        """Set the query, or none, and what it is compared by (:meth:`match_of`). Unless only the region changes, its
        patient is left out of the training no longer, what was noted for the report is removed, and there is no ranking
        until the query has its own. The ledger stays."""
        before, target = self._search.query, query or _NO_QUERY
        changes: dict[str, Any] = {"query": target, "match": self.match_of(match)}
        change = Change.QUERY | Change.SEARCH
        if (before.case, before.image) != (target.case, target.image):
            changes |= {"like": (), "unlike": (), "without_patient": False}
            changes |= {"notes": (), "in_report": (), "measured": ()}
            change |= Change.RANKING
            self.ranked_search = None
        self._search = replace(self._search, **changes)
        if self.ranked_search is None:
            self.awaits_ranking = self.search is not None
        self._notify(change)

    def has_case_of(self, query: Query) -> bool:
        """Whether ``query`` is an image from outside, or a case that the library still has."""
        return query.case is None or self.columns.index_of_id(query.case) >= 0

    def go_to_query(self, place: int) -> bool:
        """Set the query at ``place`` in the history again, with its region, marks and notes; metric and options stay.

        Returns whether its marks are those of a saved search, which go on in a copy.
        """
        past = self.history.entries[place]
        with self._collect_changes():
            # A saved search that is open stays as it is.
            self.set_search_name("")
            self.history.place = place
            kept = ("query", "match", "ledger", "like", "unlike", "notes", "in_report", "measured")
            changes = {name: getattr(past.search, name) for name in kept}
            self._search = replace(self._search, without_patient=False, **changes)
            self.ranked_search, self.awaits_ranking = None, self.search is not None
            self._notify(Change.QUERY | Change.SEARCH | Change.RANKING)
        return past.is_named

    def set_region(self, region: Region | None, match: str | None = None, slices: str = "") -> None:
        """Search with a part of the present query, its ``slices``, or the whole of it, and compare it by ``match``."""
        if self.query is None:
            return
        before = self.query.region, self.query.slices, self.match
        if before != (region, slices, self.match_of(match)):
            self.set_query(replace(self.query, region=region, slices=slices), match)

    @property
    def match(self) -> str:
        """What the query is compared by: :attr:`semblance.core.searches.search.Search.match`."""
        return self._search.match

    @property
    def text(self) -> str:
        """The words that the order follows too: :attr:`semblance.core.searches.search.Search.text`."""
        return self._search.text

    def match_of(self, match: str | None) -> str:
        """``match``, or with ``None`` what a new query or region is compared by: as before, but no longer cut out as a
        saved search may be."""
        return match if match is not None else BOTH if self._search.match == BOTH else ""

    @property
    def has_places(self) -> bool:
        """Whether a region can be searched for inside the images of the library."""
        return self.library is not None and self.library.has_places

    def change_search(self, **changes: Any) -> None:
        """Change fields of the search other than metric and query."""
        changed = replace(self._search, **changes)
        if changed != self._search:
            self._search = changed
            self._notify(Change.SEARCH | (Change(0) if OPTIONS.isdisjoint(changes) else Change.OPTIONS))

    def note(self, case: str) -> str:
        """What was noted on a case for the report of the present search."""
        return dict(self._search.notes).get(case, "")

    def set_note(self, case: str, text: str) -> None:
        """Note ``text`` on a case; "" removes the note."""
        notes = dict(self._search.notes) | {case: text}
        kept = tuple((case, text) for case, text in notes.items() if text.strip())
        self._search = replace(self._search, notes=kept)
        self._notify(Change.REPORT)

    def set_kept_note(self, case: str, text: str) -> None:
        """``text`` is kept with a case in the library; "" if nothing is."""
        if self.kept_notes.get(case, "") != text:
            self.kept_notes[case] = text
            self._notify(Change.REPORT)

    def is_in_report(self, case: str) -> bool:
        """Whether a case was chosen for the report of the present search."""
        return case in self._search.in_report

    def set_in_report(self, case: str, chosen: bool) -> None:
        """Choose a case for the first page of the report, or do so no longer."""
        others = tuple(one for one in self._search.in_report if one != case)
        self._search = replace(self._search, in_report=(*others, case) if chosen else others)
        self._notify(Change.REPORT)

    @property
    def measured(self) -> tuple[Figure, ...]:
        """What is measured on the query, of one from outside the library."""
        from semblance.core.imaging.measurements import figures_from_json

        return figures_from_json(self._search.measured)

    def set_measured(self, figures: Sequence[Figure]) -> None:
        """Save these figures of a query from outside with the search."""
        from semblance.core.imaging.measurements import figures_to_json

        self._search = replace(self._search, measured=figures_to_json(figures))
        self._notify(Change.REPORT)

    def restore_search(self, search: Search) -> None:
        """Set a saved search without its name and ranking. The metric changes only if the library has it."""
        with self._collect_changes():
            self.set_search_name("")
            self._search = replace(search, metric=self._search.metric, ledger=search.ledger or new_ledger())
            self.ranked_search = None
            self.set_metric(search.metric)
            self.awaits_ranking = self.search is not None
            self._notify(Change.RANKING | Change.QUERY | Change.OPTIONS | Change.SEARCH)

    def set_search_name(self, name: str, seen: Mapping[str, Any] | None = None) -> None:
        """Set the name the present search is saved under; empty for none. ``seen``: the search as it is saved, where
        the present one is another by now."""
        if name != self.search_name:
            self.search_name = name
            self.seen_searches = [dict(self.search_content() if seen is None else seen)]
            self._notify(Change.NAME)

    def search_content(self) -> Mapping[str, Any]:
        """The present search as it is saved, without its view."""
        return self._search.to_json()

    def restore_view(self, view: Mapping[str, Any]) -> None:
        """Show the present search as it was shown when it was saved."""
        self.view = view
        self.view_requested.emit(view)

    def set_ranked_search(self, ranked_search: RankedSearch | None) -> None:
        """The ranking of the present search, or none."""
        self.ranked_search, self.awaits_ranking = ranked_search, False
        self._notify(Change.RANKING)

    def request_ranking(self) -> None:
        """Signal that a ranking of the present search was started."""
        self._notify(Change.RANKING_REQUESTED)

    def set_window_level(self, window_level: WindowLevel | None) -> None:
        """Set the window and level the query's image is shown with (``None``: none, or colour)."""
        if window_level != self.window_level:
            self.window_level = window_level
            self._notify(Change.WINDOW_LEVEL)

    def set_refusal(self, refusal: SemblanceError | None) -> None:
        """Set why judgements cannot refine the current metric; ``None``: they can."""
        self.refusal = refusal
        self._notify(Change.REFUSAL)

    @property
    def can_write(self) -> bool:
        """Whether judgements, concepts and searches can be saved in the open library now."""
        return self.library is not None and self.library.writable and not self.server_problem

    @property
    def can_edit(self) -> bool:
        """Whether cases, findings, features and metrics of the open library can be changed now."""
        return self.library is not None and self.library.editable and not self.server_problem

    @property
    def why_not_written(self) -> str:
        """Why nothing can be saved in the open library; empty if it can."""
        return "" if self.library is None or self.can_write else self._why_refused(self.library)

    @property
    def why_not_edited(self) -> str:
        """Why the open library cannot be changed; empty if it can."""
        return "" if self.library is None or self.can_edit else self._why_refused(self.library)

    def _why_refused(self, library: LibrarySnapshot) -> str:
        if self.server_problem:
            return tr(
                "The server does not answer, so nothing can be changed. Semblance tries again by itself."
            )
        if not isinstance(library.location, ServerAddress):
            return tr("The library is read-only.")
        return tr(
            "Your right in this library is {right}. An administrator can give you another one.",
            right=library.right,
        )

    @property
    def can_judge(self) -> bool:
        """Whether ranked cases can be judged now."""
        return self.can_write and self.ranking is not None

    @property
    def marks(self) -> QueryMarks:
        """The cases marked as more and as less like the query."""
        from semblance.core.searches.feedback.judgements import NO_MARKS, marks_of

        if self.ranked_search is None or self.query is None:
            return NO_MARKS
        in_force = (entry.judgement for entry in self.ranked_search.entries if entry.undone is None)
        return marks_of(in_force, self.query)

    @property
    def judgement_count(self) -> int:
        """The number of active judgements in the ledger, whatever their query."""
        return self._count_judgements()[0]

    @property
    def own_judgement_count(self) -> int:
        """The number of active judgements that count in the present search."""
        return self._count_judgements()[1]

    @property
    def refining_count(self) -> int:
        """The number of judgements on other queries that refine the metric of the ranking."""
        return self._count_judgements()[2]

    @property
    def marks_count_places(self) -> bool:
        """Whether a mark counts the place that was found in a case, not its whole image."""
        return self.ranking is not None and any(case.place is not None for case in self.ranking.ranked)

    @property
    def marks_set_aside(self) -> QueryMarks:
        """The marks on this image, as a whole or on other regions, that do not count in the ranking."""
        from semblance.core.searches.feedback.judgements import NO_MARKS, marks_set_aside

        ranked = self.ranked_search
        if ranked is None or ranked.search.refined:
            return NO_MARKS
        in_force = [entry.judgement for entry in ranked.entries if entry.undone is None]
        aside, used = marks_set_aside(in_force, ranked.search.query), self.marks
        return aside.without((*used.liked, *used.disliked))

    def _count_judgements(self) -> tuple[int, int, int]:
        ranked = self.ranked_search
        if ranked is None:
            return (0, 0, 0)
        if self._judgement_counts[0] is not ranked:
            from semblance.core.searches.feedback.judgements import counts_in, is_about, refines

            in_force = [entry.judgement for entry in ranked.entries if entry.undone is None]
            own, others = sum(counts_in(one, ranked.search) for one in in_force), 0
            if ranked.refused is None and ranked.search.strength > 0.0:
                query = ranked.search.query
                others = sum(refines(one, ranked.search) and not is_about(one, query) for one in in_force)
            self._judgement_counts = (ranked, len(in_force), own, others)
        return self._judgement_counts[1:]

    def set_selected_rows(self, rows: npt.NDArray[np.int64] | None) -> None:
        """Show only these cases of the library. ``None`` or no rows: all."""
        import numpy as np

        chosen = None if rows is None or not len(rows) else np.unique(rows)
        before = self.selected_rows
        if (chosen is None) != (before is None) or (
            chosen is not None and before is not None and not np.array_equal(chosen, before)
        ):
            self.selected_rows = chosen
            self._notify(Change.SELECTION)

    def set_training(self, training: TrainingRun | None) -> None:
        self.training = training
        self._notify(Change.TRAINING)

    def set_server_problem(self, reason: str) -> None:
        """Record why the server of the library does not answer; "": it does."""
        self.server_problem = reason
        self._notify(Change.CASES | Change.SERVER)

    def set_extracting(self, extractor: str) -> None:
        self.extracting = extractor
        self._notify(Change.EXTRACTION)

    def set_preparing(self, library: LibraryLocation | None) -> None:
        self.preparing = library
        self._notify(Change.EXTRACTION)

    @property
    def last_edit(self) -> Edit | None:
        """The newest edit of the open library that is in force."""
        edits = self.library.edits if self.library is not None else ()
        return next((edit for edit in reversed(edits) if not edit.undone), None)

    @property
    def last_undone_edit(self) -> Edit | None:
        """The edit that is redone next."""
        edits = self.library.edits if self.library is not None else ()
        return next((edit for edit in edits if edit.undone), None)

    @property
    def edit_is_newest(self) -> bool:
        """Whether the newest edit in force was made after the newest judgement in force."""
        entries = self.ranked_search.entries if self.ranked_search is not None else ()
        judged = max((entry.judgement.time for entry in entries if entry.undone is None), default="")
        return self.last_edit is not None and self.last_edit.time >= judged

    def search_record(self) -> Mapping[str, Any]:
        """What is saved of the present search, for the next start or under its name."""
        from semblance.core.workflows.searches.saved_searches import search_record

        return search_record(self._search, self.ranked_search, self.view, self.search_name)


def _noted_in(search: Search) -> tuple[object, ...]:
    return search.notes, search.in_report, search.measured


class _SourceFollower(QObject):
    """Shows the present query in place of the one before for ``owner``, with which it is deleted."""

    def __init__(
        self,
        state: WindowState,
        owner: QObject,
        shown: Callable[[], QuerySource | None],
        show: Callable[[QuerySource | None], object],
    ) -> None:
        super().__init__(owner)
        self._state, self._shown, self._show = state, shown, show

    @Slot(object, object)
    def follow(self, before: QuerySource | None, after: QuerySource | None) -> None:
        shown = self._shown()
        if shown is None:
            return
        if shown.library != self._state.location:
            self._show(None)
        elif shown == before != after:
            self._show(after)


class _ChangeFilter(QObject):
    """Filters the changes of a state for ``owner``, with which it is deleted."""

    def __init__(self, what: Change, owner: QObject, do: Callable[[], object]) -> None:
        super().__init__(owner)
        self._what, self._do = what, do

    @Slot(object)
    def follow(self, change: Change) -> None:
        if change & self._what:
            self._do()


class _ShownChangeFilter(_ChangeFilter):
    """Filters the changes of a state for a widget, for which they wait while it is hidden."""

    def __init__(self, what: Change, widget: QWidget, do: Callable[[], object]) -> None:
        super().__init__(what, widget, do)
        self._widget, self._is_due = widget, False
        widget.installEventFilter(self)

    @Slot(object)
    def follow(self, change: Change) -> None:
        if self._widget.isVisible():
            super().follow(change)
        else:
            self._is_due |= bool(change & self._what)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if self._is_due and event.type() == QEvent.Type.Show:
            self._is_due = False
            self._do()
        return False
