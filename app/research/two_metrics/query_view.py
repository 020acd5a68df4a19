"""The image of the query beside two rankings."""

from __future__ import annotations

from typing import Any

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, Lane
from semblance.app.shell.query_source import QuerySource, inside
from semblance.app.viewer.image_view import ImageView
from semblance.app.widgets.panel import PanelHeader
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import ViewedImage


class QueryImage:
    """Shows the query of the state in ``view`` and its name in ``header``."""

    def __init__(self, context: Context, view: ImageView, header: PanelHeader) -> None:
        self._context, self._state = context, context.state
        self._view, self._header = view, header
        self._source: QuerySource | None = None
        self._viewed: ViewedImage | None = None

    def follow(self) -> None:
        """Show the present query; its image is read once."""
        source = self._state.source
        self._header.set_subtitle("" if source is None else source.label(self._state.columns))
        if source != self._source:
            self._source, self._viewed = source, None
            self._read()
        self._show()

    def _read(self) -> None:
        query, columns = self._state.query, self._state.columns
        if query is None or self._state.path is None:
            return
        index = columns.index_of_id(query.case) if query.case else -1
        try:
            if query.image is not None:
                job = self._start_view_job(view_images.view_file, query.image)
            elif index >= 0:
                job = self._start_view_job(
                    view_images.view_case, self._state.path, int(columns.case_row[index])
                )
            else:
                return
        except SemblanceError:
            return
        source = self._source
        job.done.connect(lambda viewed: self._show_image(source, viewed))
        # The rankings are valid without the image. The Query panel shows the error.
        job.failed.connect(lambda _error: None)

    def _start_view_job(self, function: Any, *args: object) -> Job:
        return self._context.jobs.run(
            tr("Opening the image"),
            function,
            *args,
            lane=Lane.READ,
            channel="two metrics image",
            quiet=True,
        )

    def _show_image(self, source: QuerySource | None, viewed: ViewedImage) -> None:
        if source == self._source:
            self._viewed = viewed
            self._show()

    def _show(self) -> None:
        query, viewed = self._state.query, self._viewed
        if viewed is None or query is None:
            self._view.show_image(None)
            return
        self._view.show_image(viewed.image, inside(query.region, viewed.image))
        self._view.case_region = viewed.region
