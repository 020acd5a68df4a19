"""The tour: five steps that point at the controls of a search, for somebody new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeySequence, QPainter, QPaintEvent, QPen, QShortcut
from PySide6.QtWidgets import QApplication, QFrame, QLabel, QMainWindow, QPushButton, QWidget
from shiboken6 import isValid

from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.state import Change
from semblance.app.shell.theme import colour, set_look, theme, theme_signals
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import STRETCH, fill, hbox, vbox
from semblance.app.window.panels import Panels
from semblance.core.language import tr
from semblance.core.library.location import LibraryLocation

WIDTH, GAP, _SIDE_MARGIN = 320, 12, 16
#: Key in the settings: whether the tour was offered to this user.
_OFFERED = "tour_offered"
_TOPIC = "tour"


@dataclass(frozen=True)
class TourStep:
    """``target``: what it points at, in the window's coordinates; ``None`` while that is not shown."""

    title: str
    text: str
    target: Callable[[], QRect | None]


class Tour(QObject):
    """Shows one step after another beside its target. The window can be used meanwhile."""

    def __init__(self, context: Context, window: QMainWindow, panels: Panels) -> None:
        super().__init__(window)
        self._context, self._window, self._panels = context, window, panels
        self._callout: Callout | None = None
        self._ring: _Ring | None = None
        self._place = 0
        #: Whether it starts as soon as there are similar cases.
        self._is_wanted = False
        self._focus_before: QWidget | None = None
        self._move_timer = one_shot(self, self._show_step)
        context.state.on_change(Change.RANKING | Change.EXTRACTION, self, self._follow_ranking)
        context.state.on_change(Change.LIBRARY, self, self.end)
        theme_signals.changed.connect(self._show_step)

    @property
    def steps(self) -> tuple[TourStep, ...]:
        """The steps with the keys as they are now."""
        actions = self._context.actions
        return (
            TourStep(
                tr("The query"),
                tr(
                    "The image here is the query. Click another case in the library, or drag any image here. "
                    "{back} goes back to the query before.",
                    back=actions.key_text("previous_query"),
                ),
                lambda: self._rect_of(self._panels.query.pane),
            ),
            TourStep(
                tr("Similar cases"),
                tr(
                    "The nearest cases come first. The line above counts what the ten nearest turned out to be, and "
                    "says how the estimate was tested."
                ),
                lambda: self._rect_of(self._panels.ranking.summary),
            ),
            TourStep(
                tr("More or less like this"),
                tr(
                    "Press + or - on a card: the order changes at once. {undo} undoes it.",
                    undo=actions.key_text("undo_judgement"),
                ),
                self._marks_rect,
            ),
            TourStep(
                tr("Compare"),
                tr(
                    "Double-click a card, or press Enter: query and case side by side, with zoom, window and slices "
                    "linked. Esc returns."
                ),
                self._first_card_rect,
            ),
            TourStep(
                tr("Report"),
                tr(
                    "{key} prints the query, what you compared, your notes, and how the estimate was tested.",
                    key=actions.text_with_key(tr("Create report…"), "report"),
                ),
                lambda: self._rect_of(self._panels.ranking.report),
            ),
        )

    # Offering and starting

    def start(self) -> None:
        """Begin with the first step, in the demo if no search is shown."""
        self._context.messages.close(_TOPIC)
        if self._context.state.ranking is None:
            self._is_wanted = True
            self._context.actions["demo"].trigger()
            return
        self._is_wanted = False
        self._focus_before = QApplication.focusWidget()
        self.end()
        self._ring, self._callout, self._place = _Ring(self._window), Callout(self._window), 0
        self._callout.moved.connect(self.go)
        self._callout.ended.connect(self.end)
        for watched in (self._window, self._panels.query, self._panels.ranking, self._panels.ranking.grid):
            watched.installEventFilter(self)
        self._show_step()
        self._callout.next.setFocus(Qt.FocusReason.OtherFocusReason)

    def _follow_ranking(self) -> None:
        if self._context.state.ranking is None:
            return
        if self._is_wanted:
            self.start()
        elif self._callout is not None:
            self._show_step()
        else:
            self._offer()

    def _offer(self) -> None:
        """Offer the tour once, when the demo is opened for the first time."""
        from semblance.core.workflows.demo import usual_folder

        settings, library = self._context.settings, self._context.state.location
        # Who waits for the demo to be ready may look away: the offer would be gone.
        is_ready = self._context.state.preparing is None
        if settings.flag(_OFFERED, default=False) or not is_ready or not _is_same(library, usual_folder()):
            return
        settings.set_flag(_OFFERED, True)
        self._context.messages.info(
            tr("New here?"),
            tr("A tour of one minute shows the five steps of a search. Help > Tour shows it again."),
            [(tr("Start the tour"), self.start)],
            topic=_TOPIC,
        )

    # Steps

    def go(self, steps: int) -> None:
        """Go on by ``steps``, or back; beyond the last step the tour ends."""
        self._place = max(0, self._place + steps)
        if self._place >= len(self.steps):
            self.end()
        else:
            self._show_step()

    def end(self) -> None:
        """End the tour; the keyboard returns to where it was."""
        if self._callout is None or self._ring is None:
            return
        had_focus = self._callout.isAncestorOf(QApplication.focusWidget() or self._window)
        for widget in (self._callout, self._ring):
            widget.hide()
            widget.deleteLater()
        self._callout = self._ring = None
        for watched in (self._window, self._panels.query, self._panels.ranking, self._panels.ranking.grid):
            watched.removeEventFilter(self)
        target = self._focus_before
        if had_focus:
            known = target is not None and isValid(target) and target.isVisible()
            (target if known and target is not None else self._panels.ranking.grid).setFocus()

    def _show_step(self) -> None:
        """Show the step beside its target, which may have moved."""
        if self._callout is None or self._ring is None:
            return
        steps = self.steps
        step, callout = steps[self._place], self._callout
        target = step.target()
        # Its fonts, and so its height, are known once it is shown.
        callout.show()
        callout.show_step(step.title, step.text, self._place + 1, len(steps))
        callout.setGeometry(beside(target, callout.size(), self._window.rect()))
        self._ring.show_around(target)
        callout.raise_()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show, QEvent.Type.Hide):
            # Children are hidden after their parent, and a layout moves several widgets.
            self._move_timer.start()
        return False

    # Targets

    def _rect_of(self, widget: QWidget, part: QRect | None = None) -> QRect | None:
        if not widget.isVisible() or widget.window() is not self._window:
            return None
        inside = widget.rect() if part is None else part.intersected(widget.rect())
        return (
            QRect(widget.mapTo(self._window, inside.topLeft()), inside.size())
            if not inside.isEmpty()
            else None
        )

    def _first_card_rect(self) -> QRect | None:
        grid = self._panels.ranking.grid
        return self._rect_of(grid.viewport(), grid.card_rect(0)) if len(grid.model()) else None

    def _marks_rect(self) -> QRect | None:
        grid = self._panels.ranking.grid
        if not len(grid.model()):
            return None
        more, less = grid.mark_rects(0)
        return self._rect_of(grid.viewport(), more.united(less))


class Callout(QFrame):
    """A step with its number and buttons. ``moved(steps)``: forward or back; ``ended``: with Esc or *End tour*."""

    moved = Signal(int)
    ended = Signal()

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        set_look(self, role="callout")
        self._number, self._title, self._text = QLabel(), QLabel(), WrappedLabel()
        set_look(self._number, role="small")
        set_look(self._title, role="outcome")
        self.leave = QPushButton(tr("End tour"))
        set_look(self.leave, quiet=True)
        self.back, self.next = QPushButton(tr("Back")), QPushButton()
        set_look(self.next, primary=True)
        head, foot = hbox(spacing=8), hbox(spacing=8)
        head.addWidget(self._title, 1)
        head.addWidget(self._number)
        fill(foot, self.leave, STRETCH, self.back, self.next)
        fill(vbox(self, spacing=8, margins=(_SIDE_MARGIN, 12, _SIDE_MARGIN, 12)), head, self._text, foot)
        self.leave.clicked.connect(self.ended)
        self.back.clicked.connect(lambda: self.moved.emit(-1))
        self.next.clicked.connect(lambda: self.moved.emit(1))
        # Esc ends the tour wherever the keyboard is.
        QShortcut(QKeySequence(Qt.Key.Key_Escape), window, self.ended.emit).setParent(self)

    def show_step(self, title: str, text: str, number: int, of: int) -> None:
        """Show a step in the height that its text needs."""
        self._title.setText(title)
        self._text.setText(text)
        self._number.setText(tr("{k} of {n}", k=number, n=of))
        self.back.setEnabled(number > 1)
        self.next.setText(tr("Next") if number < of else tr("Done"))
        self.setAccessibleName(tr("Tour, {k} of {n}: {title}", k=number, n=of, title=title))
        self.setAccessibleDescription(text)
        self.next.setAccessibleDescription(f"{title}. {text}")
        width = theme().px(WIDTH)
        # The layout rounds the height of wrapped text down, which cuts off the lowest line.
        self._text.setMinimumHeight(self._text.heightForWidth(width - 2 * _SIDE_MARGIN - 2))
        self.resize(width, self.heightForWidth(width))


class _Ring(QWidget):
    """A frame around what a step points at. It takes no clicks."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_around(self, target: QRect | None) -> None:
        """Show the frame, or nothing around ``None``."""
        self.setVisible(target is not None)
        if target is not None:
            self.setGeometry(target.adjusted(-4, -4, 4, 4))
            self.raise_()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(colour(theme().accent), 2))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(1, 1, -1, -1), 5, 5)
        painter.end()


def beside(target: QRect | None, size: QSize, area: QRect) -> QRect:
    """A rectangle of ``size`` in ``area`` beside ``target``, as near its top left as possible and not over it.

    Where there is no space beside it, in the corner where it hides least of it; without a target in the lower right.
    """
    room = area.adjusted(GAP, GAP, -GAP, -GAP)
    corners = [
        QPoint(x, y)
        for y in (room.bottom() - size.height() + 1, room.top())
        for x in (room.right() - size.width() + 1, room.left())
    ]
    if target is None:
        return QRect(corners[0], size)
    ring = target.adjusted(-GAP, -GAP, GAP, GAP)
    left = max(room.left(), min(target.left(), room.right() - size.width() + 1))
    top = max(room.top(), min(target.top(), room.bottom() - size.height() + 1))
    beside_it = [
        QPoint(ring.right() + 1, top),
        QPoint(ring.left() - size.width(), top),
        QPoint(left, ring.bottom() + 1),
        QPoint(left, ring.top() - size.height()),
    ]
    for at in beside_it:
        if room.contains(QRect(at, size)):
            return QRect(at, size)

    def hidden(at: QPoint) -> int:
        common = QRect(at, size).intersected(target)
        return max(0, common.width()) * max(0, common.height())

    return QRect(min(corners, key=hidden), size)


def _is_same(library: LibraryLocation | None, folder: Path) -> bool:
    return isinstance(library, Path) and library.absolute() == folder.absolute()
