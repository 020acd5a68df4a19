"""The overview of the Evaluation panel: three plots and the metrics side by side."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.evaluation.score_table import BRIEF, ScoreTable
from semblance.app.shell.context import Context
from semblance.app.shell.theme import colour, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.plots.figure_view import FigureView
from semblance.app.widgets.plots.live_curve import LiveCurve
from semblance.core.language import tr
from semblance.core.reports.curves import ACCURACY, ROC

#: Below this width the table gives its room to the plots; its tab stays.
TABLE_FROM = 1200
#: A plot wants this much; those that have no room are in their own tabs.
PLOT = 220
SHORT = {"held-out": tr("held-out"), "unknown": "", "training": "", "stale": ""}


class Cell(QWidget):
    """A title with a badge above its content."""

    def __init__(self, title: str, content: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = ElidedLabel(title, role="title")
        self.badge = Badge("held-out")
        self._head = QWidget()
        self._row = hbox(self._head, spacing=8, margins=(12, 0, 12, 0))
        self._row.addWidget(self._title)
        self._row.addStretch(1)
        self._row.addWidget(self.badge)
        column = vbox(self, spacing=2, margins=(0, 4, 0, 4))
        column.addWidget(self._head)
        column.addWidget(content, 1)
        theme_signals.changed.connect(self._fit)
        self._fit()

    def set_title(self, title: str) -> None:
        self._title.setText(title)

    def add_beside_title(self, widget: QWidget) -> None:
        self._row.insertWidget(1, widget)

    def set_badge(self, kind: str, text: str = "", *, shown: bool = True) -> None:
        self.badge.set_kind(kind, text)
        self.badge.setVisible(shown)

    def _fit(self) -> None:
        self._head.setFixedHeight(theme().px(24))


class PlotCell(Cell):
    """A plot with its title and badge."""

    def __init__(self, title: str, view: FigureView, parent: QWidget | None = None) -> None:
        super().__init__(title, view, parent)
        self.view = view


class Overview(QWidget):
    """Accuracy, ROC and training side by side; the table of metrics where there is room for it."""

    table_shown = Signal(bool)

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.accuracy = PlotCell(tr("Retrieval accuracy @ k"), FigureView(context, ACCURACY))
        self.roc = PlotCell(tr("ROC"), FigureView(context, ROC))
        self.curve = LiveCurve(context)
        training = QWidget()
        vbox(training, margins=(0, 4, 0, 4)).addWidget(self.curve)
        self.table = ScoreTable(BRIEF)
        inset = QWidget()
        hbox(inset, margins=(6, 0, 6, 0)).addWidget(self.table)
        self.metrics = Cell(tr("Metrics"), inset)
        self._rule = _Upright()
        #: The second and the third plot, each with what stands before it.
        self._further = ((_Upright(), self.roc), (_Upright(), training))
        row = hbox(self)
        row.addWidget(_evenly(self.accuracy), 1)
        for rule, part in self._further:
            row.addWidget(rule)
            row.addWidget(_evenly(part), 1)
        row.addWidget(self._rule)
        row.addWidget(_evenly(self.metrics), 1)

    @property
    def has_table(self) -> bool:
        """Whether the table names the lines, so that the plots need not."""
        return not self.metrics.isHidden()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        for place, parts in enumerate(self._further, 2):
            for part in parts:
                part.setVisible(self.width() >= place * theme().px(PLOT))
        room = self.width() >= theme().px(TABLE_FROM)
        if room == self.metrics.isHidden():
            self.metrics.setVisible(room)
            self._rule.setVisible(room)
            self.table_shown.emit(room)


def _evenly(part: QWidget) -> QWidget:
    part.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
    return part


class _Upright(QWidget):
    """A hair line that does not reach the edges."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedWidth(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect().adjusted(0, 8, 0, -8), colour(theme().line))
        painter.end()
