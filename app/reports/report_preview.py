"""The pages of a report, or the beginning of its text, as they will be in the file. The newest request wins."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QImage, QPalette, QPixmap, QResizeEvent
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QScrollArea, QStackedWidget, QWidget

from semblance.app.reports.report_request import ReportRequest
from semblance.app.shell.context import Context
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.theme import colour, theme
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import vbox
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, tr_n
from semblance.core.workflows.reports.write_reports import ReportPreview, preview_report

CHANNEL = "report preview"
#: The preview waits so long for further typing, in ms.
_PAUSE_MS = 250
_MARGIN = 12
_LEAST_WIDTH = 240


class ReportPreviewView(QWidget):
    """:meth:`show_request` draws what is asked for in another process and leaves what was there until it is done."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self._request: ReportRequest | None = None
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self._start)
        self.status = ElidedLabel(role="second")
        self.pages: list[QLabel] = []
        self._inner = QWidget()
        self._column = vbox(self._inner, spacing=_MARGIN, margins=(_MARGIN, _MARGIN, _MARGIN, _MARGIN))
        self._column.addStretch(1)
        self._area = QScrollArea()
        self._area.setAccessibleName(tr("Preview of the report"))
        self._area.setWidget(self._inner)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # White paper is set off from a white window.
        self._inner.setAutoFillBackground(True)
        palette = self._inner.palette()
        palette.setColor(QPalette.ColorRole.Window, colour(theme().image_well))
        self._inner.setPalette(palette)
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setAccessibleName(tr("Preview of the report"))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.notice = EmptyState()
        self.views = QStackedWidget()
        for view in (self._area, self.text, self.notice):
            self.views.addWidget(view)
        column = vbox(self, spacing=6)
        column.addWidget(self.views, 1)
        column.addWidget(self.status)

    def show_request(self, request: ReportRequest, *, at_once: bool = False) -> None:
        """Show the report of ``request``; after a pause in the typing, unless ``at_once``."""
        self._request = request
        self.status.setText(tr("Drawing the preview…"))
        self._pause.start(0 if at_once else _PAUSE_MS)

    def cancel(self) -> None:
        """Draw no more."""
        self._pause.stop()
        self._context.jobs.cancel_channel(CHANNEL)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _start(self) -> None:
        request, state = self._request, self._context.state
        if request is None or state.location is None or state.search is None:
            return
        width = round(self._page_width() * self.devicePixelRatioF())
        job = self._context.jobs.run(
            "",
            preview_report,
            state.location,
            state.search,
            request.suffix,
            request.options,
            width,
            case=request.cases[0] if request.cases else None,
            window_level=None if request.cases else state.window_level,
            pool=WorkerPool.SEARCH,
            channel=CHANNEL,
            quiet=True,
        )
        job.done.connect(self._show)
        job.failed.connect(self._show_error)

    def _page_width(self) -> int:
        bar = self._area.verticalScrollBar().sizeHint().width()
        return max(theme().px(_LEAST_WIDTH), self._area.width() - bar - 2 * _MARGIN)

    def _show(self, preview: ReportPreview) -> None:
        if not preview.pages:
            self.text.setPlainText(preview.text)
            if preview.text:
                self.views.setCurrentWidget(self.text)
            else:
                self.notice.show_message("", tr("Files of this format cannot be shown here."))
                self.views.setCurrentWidget(self.notice)
            self.status.setText("")
            return
        for page in self.pages:
            self._column.removeWidget(page)
            page.deleteLater()
        self.pages = []
        for number, content in enumerate(preview.pages, start=1):
            page = QLabel()
            page.setAccessibleName(tr("Page {number}", number=number))
            page.setScaledContents(True)
            page.setPixmap(QPixmap.fromImage(QImage.fromData(content)))
            self.pages.append(page)
            self._column.insertWidget(number - 1, page, 0, Qt.AlignmentFlag.AlignHCenter)
        self._fit()
        self.views.setCurrentWidget(self._area)
        shown = len(preview.pages)
        self.status.setText(
            tr_n("{n} page", "{n} pages", preview.count)
            if shown == preview.count
            else tr("The first {shown} of {n} pages", shown=shown, n=preview.count)
        )

    def _show_error(self, error: SemblanceError) -> None:
        self.notice.show_error(error, tr("There is no preview"))
        self.views.setCurrentWidget(self.notice)
        self.status.setText("")

    def _fit(self) -> None:
        """Scale the pages that are shown to the width."""
        width = self._page_width()
        for page in self.pages:
            size = page.pixmap().size()
            page.setFixedSize(width, round(width * size.height() / max(1, size.width())))
