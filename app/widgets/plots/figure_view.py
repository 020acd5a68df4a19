"""A plot shown as an image that another process draws."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QEvent, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QFontInfo,
    QGuiApplication,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from semblance.app.shell import plot_operations
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.icons import icon
from semblance.app.shell.theme import colour, font, theme, theme_signals
from semblance.app.widgets.menus import Menu
from semblance.core.language import tr
from semblance.core.reports.curves import ACCURACY, Curve, describe_curves
from semblance.core.reports.plot import PlotLayout, ThemeName

#: After a resize the plot is drawn again after this pause.
REDRAW_MS = 120
#: Formats of saved plots: text in the dialog, suffix, and whether it looks as displayed.
SAVE_AS = (
    (tr("PNG image for print") + " (*.png)", ".png", False),
    (tr("PNG image as displayed") + " (*.png)", ".png", True),
    (tr("SVG for print") + " (*.svg)", ".svg", False),
    (tr("PDF for print") + " (*.pdf)", ".pdf", False),
    (tr("CSV, the numbers") + " (*.csv)", ".csv", False),
)
_numbers = itertools.count(1)


class FigureView(QWidget):
    """Shows ``kind`` of plot (``semblance.core.reports.curves.KINDS``); drawn again when its size or the theme changes.

    Until then the old image is scaled. ``clicked``: a click after :meth:`set_click_action`, to show the cases.
    """

    clicked = Signal()

    def __init__(self, context: Context, kind: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context, self._kind = context, kind
        self._channel = f"draw {next(_numbers)}"
        self._curves: tuple[Curve, ...] = ()
        self._named = True
        self._click_text = ""
        self._title = self._note = ""
        self._image = QImage()
        self._is_stale, self._has_drawn = True, False
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMinimumSize(QSize(120, 60))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._redraw_timer = one_shot(self, self._draw)
        if kind == ACCURACY:
            context.actions["whole_axis"].toggled.connect(self._follow_axis)
        self._theme = theme()
        theme_signals.changed.connect(self._theme_changed)
        self.set_curves(())

    def set_click_action(self, text: str) -> None:
        """Emit ``clicked`` on a click, on Enter and from the menu. ``text``: what that does."""
        self._click_text = text
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setToolTip(text)

    def set_curves(
        self, curves: Sequence[Curve], *, named: bool = True, title: str = "", note: str = ""
    ) -> None:
        """Set what to draw. ``named``: with a legend. ``title`` and ``note`` (on what it was measured) stand above
        saved plots and are read by screen readers."""
        changed = (tuple(curves), named) != (self._curves, self._named)
        self._curves, self._named, self._title, self._note = tuple(curves), named, title, note
        self.setAccessibleName(title or tr("Plot"))
        text = describe_curves(self._curves)
        self.setAccessibleDescription(
            tr("{text} Measured on {note}.", text=text, note=note) if note and curves else text
        )
        if changed:
            self._schedule(0)

    @property
    def curves(self) -> tuple[Curve, ...]:
        return self._curves

    def image(self) -> QImage:
        """The image shown now; null before the first is drawn."""
        return self._image

    def save_as(self) -> None:
        """Ask for a file and write the plot to it."""
        if not self._curves:
            self._context.messages.info(tr("There is nothing in this plot to save yet."))
            return
        path, as_displayed = ask_plot_file(self, self._title or tr("plot"))
        if path is not None:
            plot_operations.save(
                self._context,
                path,
                {self._kind: self._curves},
                theme=theme_name() if as_displayed else "print",
                titles={self._kind: self._title},
                note=self._note,
            )

    def copy_image(self) -> None:
        """Copy the image to the clipboard."""
        if not self._image.isNull():
            QGuiApplication.clipboard().setImage(self._image)

    def menu(self) -> QMenu:
        """The menu of the plot."""
        menu = Menu(self)
        if self._click_text:
            menu.addAction(self._click_text, self.clicked.emit).setEnabled(bool(self._curves))
        save = menu.addAction(icon("save"), tr("Save as…"), self.save_as)
        save.setEnabled(bool(self._curves))
        copy = menu.addAction(icon("copy"), tr("Copy image"), self.copy_image)
        copy.setEnabled(not self._image.isNull())
        if self._kind == ACCURACY:
            menu.addAction(self._context.actions["whole_axis"])
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._click()
        else:
            super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._click_text and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._click()
        else:
            super().keyPressEvent(event)

    def _click(self) -> None:
        if self._click_text and self._curves:
            self.clicked.emit()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu().popup(event.globalPos())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._schedule(0)
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._schedule(REDRAW_MS if self._has_drawn else 0)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_stale:
            self._schedule(0)

    def sizeHint(self) -> QSize:
        return QSize(320, 160)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), colour(theme().panel))
        if not self._image.isNull():
            exact = self._image.size() == self._pixels()
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, not exact)
            painter.drawImage(QRect(QPoint(0, 0), self.size()), self._image)
        if self.hasFocus():
            painter.setPen(QPen(colour(theme().accent), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()

    def _pixels(self) -> QSize:
        ratio = self.devicePixelRatioF()
        return QSize(round(self.width() * ratio), round(self.height() * ratio))

    def _theme_changed(self) -> None:
        if self._theme == theme():
            return
        self._theme = theme()
        # The old image has the background of the old theme.
        self._image = QImage()
        self.update()
        self._schedule(0)

    def _follow_axis(self, on: bool) -> None:
        self._context.settings.set_flag(plot_operations.WHOLE_AXIS, on)
        self._schedule(0)

    def _schedule(self, pause: int) -> None:
        self._is_stale = True
        if self.isVisible():
            self._redraw_timer.start(pause)

    def _draw(self) -> None:
        if not self.isVisible() or self.width() < 2 or self.height() < 2:
            return
        self._is_stale, self._has_drawn = False, True
        layout = replace(
            screen_layout(self, self.width(), self.height()),
            named=self._named,
            whole_axis=self._context.settings.flag(plot_operations.WHOLE_AXIS, default=False),
        )
        plot_operations.draw(
            self._context, self._kind, self._curves, layout, self._show, channel=self._channel
        )

    def _show(self, png: bytes) -> None:
        # In the format of windows, so that it is not converted at every paint.
        self._image = QImage.fromData(png).convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)
        self.update()


def screen_layout(widget: QWidget, width: int, height: int = 0) -> PlotLayout:
    """The layout of a plot on ``widget``, in the theme, text size and font of the window."""
    return PlotLayout(
        theme_name(),
        (width, height),
        widget.devicePixelRatioF(),
        text_scale=theme().text_scale,
        family=QFontInfo(font()).family(),
    )


def ask_plot_file(parent: QWidget, name: str) -> tuple[Path | None, bool]:
    """Ask for a file to save a plot to; returns it, with a suffix of :data:`SAVE_AS`, and whether the plot is to
    look as displayed."""
    kinds = ";;".join(text for text, *_ in SAVE_AS)
    path, chosen = choose_target(parent, tr("Save plot"), f"{_file_name(name)}.png", kinds)
    if not path:
        return None, False
    suffix, as_displayed = next(
        ((ending, displayed) for text, ending, displayed in SAVE_AS if text == chosen), (".png", False)
    )
    if path.suffix.lower() not in {s for _, s, _ in SAVE_AS}:
        path = _unused_path(path.with_name(path.name + suffix))
    return path, as_displayed


def _unused_path(path: Path) -> Path:
    """A path that does not exist yet. The dialog checked only the name without the suffix."""
    number, unused = 2, path
    while unused.exists():
        unused, number = path.with_stem(f"{path.stem}-{number}"), number + 1
    return unused


def _file_name(title: str) -> str:
    return "-".join("".join(c if c.isalnum() or c in ".+" else " " for c in title).split()).lower() or tr(
        "plot"
    )


def theme_name() -> ThemeName:
    """The name of the current theme for plots."""
    return "dark" if theme().is_dark else "light"
