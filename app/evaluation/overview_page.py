"""The Overview tab: three plots and the table of metrics side by side."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QToolButton, QWidget

from semblance.app.evaluation.score_table import BRIEF, ScoreTable
from semblance.app.shell.context import Context
from semblance.app.shell.keys import native
from semblance.app.shell.theme import colour, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import STRETCH, fill, hbox, vbox
from semblance.app.widgets.plots.figure_view import FigureView
from semblance.app.widgets.plots.live_curve import LiveCurve
from semblance.core.language import tr
from semblance.core.reports.curves import ACCURACY, ROC

#: Below this width the table is hidden. It has its own tab.
TABLE_MIN_WIDTH = 1200
#: Width of a plot. Plots that do not fit are hidden. They have their own tabs.
PLOT_WIDTH = 220
SHORT_BADGE_TEXTS = {"held-out": tr("held-out"), "unknown": "", "training": "", "stale": ""}


class TitledCell(QWidget):
    """A title with a badge above its content."""

    def __init__(self, title: str, content: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = ElidedLabel(title, role="title")
        self.badge = Badge("held-out")
        self._header = QWidget()
        self._row = fill(
            hbox(self._header, spacing=8, margins=(12, 0, 12, 0)), self._title, STRETCH, self.badge
        )
        fill(vbox(self, spacing=2, margins=(0, 4, 0, 4)), self._header, (content, 1))
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
        self._header.setFixedHeight(theme().px(24))


class PlotCell(TitledCell):
    """A plot with its title and badge. ``axis``: the command that shows its whole axis, which gets a button."""

    def __init__(
        self, title: str, view: FigureView, parent: QWidget | None = None, *, axis: QAction | None = None
    ) -> None:
        super().__init__(title, view, parent)
        self.view = view
        if axis is not None:
            button = QToolButton()
            # With the action as its own, it would get the action's text.
            button.setText(tr("0–1"))
            button.setCheckable(True)
            button.setChecked(axis.isChecked())
            button.toggled.connect(axis.setChecked)
            axis.toggled.connect(button.setChecked)
            button.setToolTip(f"{axis.text()} ({native(axis.shortcut().toString())})")
            button.setAccessibleName(axis.text())
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self.add_beside_title(button)


class Overview(QWidget):
    """Accuracy, ROC and training curve side by side, and the table of metrics if the panel is wide."""

    table_shown = Signal(bool)

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.accuracy = PlotCell(
            tr("Search accuracy @ k"), FigureView(context, ACCURACY), axis=context.actions["whole_axis"]
        )
        self.roc = PlotCell(tr("ROC"), FigureView(context, ROC))
        self.curve = LiveCurve(context)
        training = QWidget()
        vbox(training, margins=(0, 4, 0, 4)).addWidget(self.curve)
        self.table = ScoreTable(BRIEF)
        table_frame = QWidget()
        hbox(table_frame, margins=(6, 0, 6, 0)).addWidget(self.table)
        self.metrics = TitledCell(tr("Metrics"), table_frame)
        self._table_line = VerticalLine()
        #: The second and the third plot, each with the line before it.
        self._optional_plots = ((VerticalLine(), self.roc), (VerticalLine(), training))
        row = hbox(self)
        row.addWidget(_with_stretched_width(self.accuracy), 2)
        for line, widget in self._optional_plots:
            row.addWidget(line)
            row.addWidget(_with_stretched_width(widget), 2)
        row.addWidget(self._table_line)
        # The names of metrics need more width than a plot.
        row.addWidget(_with_stretched_width(self.metrics), 3)

    @property
    def has_table(self) -> bool:
        """Whether the table is shown. It names the curves beside their numbers."""
        return not self.metrics.isHidden()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        for number, widgets in enumerate(self._optional_plots, 2):
            for widget in widgets:
                widget.setVisible(self.width() >= number * theme().px(PLOT_WIDTH))
        is_wide = self.width() >= theme().px(TABLE_MIN_WIDTH)
        if is_wide == self.metrics.isHidden():
            self.metrics.setVisible(is_wide)
            self._table_line.setVisible(is_wide)
            self.table_shown.emit(is_wide)


def _with_stretched_width(widget: QWidget) -> QWidget:
    widget.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Expanding)
    return widget


class VerticalLine(QWidget):
    """A thin line that does not reach the edges."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedWidth(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect().adjusted(0, 8, 0, -8), colour(theme().line))
        painter.end()
