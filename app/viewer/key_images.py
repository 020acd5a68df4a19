"""The key images of the case in a pane: marking the slice on screen, and going from one to the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import WorkerPool
from semblance.app.viewer.image_pane import ImagePane
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation
from semblance.core.workflows.imaging import key_images
from semblance.core.workflows.imaging.key_images import KeyImage


class KeyImages(QObject):
    """Those of the case in ``pane``. ``changed(places)``: their slices; 0 for an image that is no volume."""

    changed = Signal(object)

    def __init__(self, context: Context, pane: ImagePane) -> None:
        super().__init__(pane)
        self._context, self._pane = context, pane
        self._source: tuple[LibraryLocation | None, object] | None = None
        self.marked: tuple[KeyImage, ...] = ()
        pane.view.key_image_requested.connect(lambda goes_on: self.go_to_next() if goes_on else self.toggle())
        pane.image_shown.connect(self.read)
        pane.slices.moved.connect(lambda _: self._show_note())

    @property
    def _row(self) -> int | None:
        """The catalogue row of the case that is shown; ``None`` for an image from outside."""
        library, what = self._pane.source
        is_shown = self._pane.view.image is not None and library == self._context.state.location
        return what if is_shown and isinstance(what, int) else None

    @property
    def can_mark(self) -> bool:
        """Whether the slice on screen can be marked."""
        return self._row is not None and self._context.state.can_write

    @property
    def is_marked(self) -> bool:
        """Whether the slice on screen is a key image."""
        return any(one.slice == self._pane.place for one in self.marked)

    def read(self) -> None:
        """Another image is shown: read its key images."""
        row = self._row
        if row is None or self._pane.source != self._source:
            self._source = self._pane.source
            self._receive(self._source, ())
        if row is not None:
            self._run(key_images.key_images, row)

    def toggle(self) -> None:
        """Mark the slice on screen as it is shown, or take its mark away."""
        row, view = self._row, self._pane.view
        if row is None or view.image is None:
            self._context.messages.info(tr("Only images of the library can be key images."))
            return
        if not self._context.state.can_write:
            self._context.messages.info(self._context.state.why_not_written)
            return
        slab = self._pane.slabs.get(0) if view.slab_text else None
        key = KeyImage(self._pane.place, view.window_values, view.inverted, slab)
        self._run(partial(key_images.mark_key_image, is_marked=not self.is_marked), row, key)

    def go_to_next(self) -> None:
        """Show the next key image, after the last the first."""
        places = sorted(one.slice for one in self.marked if one.slice is not None)
        if places:
            following = [place for place in places if place > (self._pane.place or 0)]
            self._pane.go_to_slice((following or places)[0])

    def _run(self, function: Callable[..., Sequence[KeyImage]], row: int, *arguments: object) -> None:
        source = self._pane.source
        try:
            job = self._context.jobs.run(
                tr("Key images"),
                function,
                source[0],
                row,
                *arguments,
                pool=WorkerPool.READ,
                quiet=True,
            )
        except SemblanceError as error:
            self._context.messages.error(error)
            return
        job.done.connect(lambda found: self._receive(source, found))
        job.failed.connect(self._context.messages.error)

    def _receive(self, source: tuple[LibraryLocation | None, object], found: Sequence[KeyImage]) -> None:
        if source == self._pane.source:
            self.marked = tuple(found)
            self.changed.emit([one.slice or 0 for one in self.marked])
            self._show_note()

    def _show_note(self) -> None:
        """Say on the image that it is a key image."""
        view, note = self._pane.view, tr("Key image")
        notes = [one for one in view.notes if one != note]
        view.set_notes([*notes, note] if self.is_marked else notes)
