"""What is measured on each image, for every place that shows it. It is stored with its case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from semblance.app.shell.jobs import Jobs, WorkerPool
from semblance.app.shell.messages import Messages
from semblance.app.shell.state import Change, WindowState
from semblance.core.errors import SemblanceError
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.measurements import Figure
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging import case_annotations

#: A case's row in its library, or the address of a file.
Source = tuple[LibraryLocation | None, int | ImageAddress]


class MeasuredFigures(QObject):
    """``changed(source)``: other figures are measured on an image.

    Those of a case are stored in its library. Where nothing can be stored, and on a file, they stay until the window
    closes; those of a query from outside are saved with its search too.
    """

    changed = Signal(object)

    def __init__(self, state: WindowState, jobs: Jobs, messages: Messages) -> None:
        super().__init__(state)
        self._state, self._jobs, self._messages = state, jobs, messages
        self._figures: dict[Source, tuple[Figure, ...]] = {}
        #: What the library has, of cases whose figures are being stored.
        self._stored: dict[Source, tuple[Figure, ...]] = {}
        #: Cases whose figures cannot be stored.
        self._only_here: set[Source] = set()
        state.on_change(Change.QUERY, self, self._follow_query)

    def of(self, source: Source) -> tuple[Figure, ...]:
        """What is measured on an image."""
        return self._figures.get(source, ())

    def read(self, source: Source, figures: Sequence[Figure]) -> tuple[Figure, ...]:
        """The figures of an image that was just opened: ``figures`` as its library has them, or newer ones."""
        is_case = isinstance(source[1], int)
        if is_case and source not in self._stored and source not in self._only_here:
            self._figures[source] = tuple(figures)
        return self.of(source)

    def set(self, source: Source, figures: Sequence[Figure]) -> None:
        """The user measured something else on an image."""
        before = self.of(source)
        if tuple(figures) == before:
            return
        self._figures[source] = tuple(figures)
        library, what = source
        if not isinstance(what, int) or library is None:
            self._keep_with_query(source)
        elif source in self._stored:
            # The job that runs is followed by another one.
            pass
        elif self._state.location == library and self._state.can_write and source not in self._only_here:
            self._store(source, before)
        else:
            self._say_only_here(source)
        self.changed.emit(source)

    def _store(self, source: Source, before: tuple[Figure, ...]) -> None:
        library, what = source
        wanted = self.of(source)
        try:
            job = self._jobs.run(
                tr("Storing the measurements"),
                case_annotations.save_figures,
                library,
                what,
                before,
                wanted,
                pool=WorkerPool.SLICE,
                quiet=True,
            )
        except SemblanceError as error:
            self._fail(source, error)
            return
        self._stored[source] = before
        job.done.connect(lambda stored: self._continue(source, wanted, stored))
        job.failed.connect(lambda error: self._fail(source, error))

    def _continue(self, source: Source, wanted: tuple[Figure, ...], stored: tuple[Figure, ...]) -> None:
        """``stored`` has what others measured meanwhile too."""
        del self._stored[source]
        if self.of(source) != wanted:
            self._store(source, wanted)
        elif Counter(stored) != Counter(wanted):
            self._figures[source] = stored
            self.changed.emit(source)

    def _fail(self, source: Source, error: SemblanceError) -> None:
        """They stay until the window closes."""
        self._stored.pop(source, None)
        self._only_here.add(source)
        self._messages.error(error, topic="measurements")

    def _say_only_here(self, source: Source) -> None:
        if source in self._only_here:
            return
        is_first = not self._only_here
        self._only_here.add(source)
        if is_first:
            self._messages.info(
                tr("Measurements stay until Semblance is closed: they cannot be stored in this library."),
                self._state.why_not_written,
                topic="measurements",
            )

    # A query from outside the library

    def _query_source(self) -> Source | None:
        query = self._state.query
        return (
            None
            if query is None or query.image is None
            else (self._state.location, ImageAddress(query.image))
        )

    def _keep_with_query(self, source: Source) -> None:
        if source == self._query_source():
            self._state.set_measured(self.of(source))

    def _follow_query(self) -> None:
        """The figures of a saved search come back, and those of this session go with the query."""
        source = self._query_source()
        if source is None:
            return
        if source not in self._figures and (saved := self._state.measured):
            self._figures[source] = saved
            self.changed.emit(source)
        elif self.of(source) != self._state.measured:
            self._state.set_measured(self.of(source))
