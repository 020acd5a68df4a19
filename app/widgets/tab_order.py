"""Tab goes through a window as a person reads it, however its widgets came to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QAbstractButton, QComboBox, QDialog, QDockWidget, QLabel, QScrollArea, QWidget


def stops(window: QWidget) -> list[QWidget]:
    """What Tab stops at in ``window``, row by row and from left to right, one panel after another."""
    return list(_stops_within(window))


def _stops_within(parent: QWidget, also: QWidget | None = None) -> Iterator[QWidget]:
    """``also`` is counted whether Tab would stop there or not."""
    for child in _as_read(parent):
        inside = list(_stops_within(child, also)) if not isinstance(child, QLabel) else []
        passed = isinstance(child, QScrollArea) and _leads_through(child, inside)
        if child is also or (_takes_tab(child) and not passed):
            yield child
        yield from inside


def _takes_tab(widget: QWidget) -> bool:
    tab = Qt.FocusPolicy.TabFocus
    chosen = _chosen_of_group(widget)
    return (
        widget.isEnabled()
        and (widget.focusPolicy() & tab == tab if chosen is None else chosen is widget)
        and widget.focusProxy() is None
        and widget.width() > 0
        and widget.height() > 0
    )


def _chosen_of_group(widget: QWidget) -> QAbstractButton | None:
    """The one that is on of the buttons of which ``widget`` is one and arrows choose another."""
    group = widget.group() if isinstance(widget, QAbstractButton) else None
    chosen = group.checkedButton() if group is not None and group.exclusive() else None
    return chosen if chosen is not None and chosen.isVisible() and chosen.isEnabled() else None


def _behind(widget: QWidget) -> bool:
    """Whether ``widget`` is a dock behind another one, which Qt only moves out of sight."""
    return isinstance(widget, QDockWidget) and (
        widget.geometry().right() < 0 or widget.geometry().bottom() < 0
    )


def _leads_through(area: QScrollArea, inside: list[QWidget]) -> bool:
    """Whether ``area`` needs no keys of its own: what it holds is reached by Tab, or all of it is seen."""
    bars = (area.verticalScrollBar(), area.horizontalScrollBar())
    return bool(inside) or all(bar.maximum() == 0 for bar in bars)


def _as_read(parent: QWidget) -> list[QWidget]:
    """The widgets seen in ``parent``: rows of those that stand beside each other, from the left."""
    shown = [
        child
        for child in parent.children()
        if isinstance(child, QWidget) and not child.isWindow() and child.isVisible() and not _behind(child)
    ]
    shown.sort(key=lambda child: (child.y(), child.x()))
    rows: list[list[QWidget]] = []
    floor = -1
    for child in shown:
        middle = child.y() + child.height() // 2
        if rows and middle <= floor:
            rows[-1].append(child)
            floor = min(floor, child.y() + child.height())
        else:
            rows.append([child])
            floor = child.y() + child.height()
    return [child for row in rows for child in sorted(row, key=lambda child: child.x())]


def move_on(window: QWidget, forward: bool) -> bool:
    """What ``focusNextPrevChild`` of a window does: the keyboard goes to the next stop, or the one before."""
    now = window.focusWidget()
    order = list(_stops_within(window, now))
    if not order or order == [now]:
        return False
    if now in order:
        chosen = order[(order.index(now) + (1 if forward else -1)) % len(order)]
    else:
        chosen = _nearest(now, order) if now is not None else order[0 if forward else -1]
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    chosen.setFocus(reason)
    show_in_scroll_areas(chosen)
    return True


def enable(wanted: Mapping[QWidget, bool]) -> None:
    """Enable or disable widgets of one window. From one that is disabled the keyboard goes to what stands
    nearest, not to what Tab would come to, which may be in another panel."""
    gone = [widget for widget, on in wanted.items() if not on]
    for widget, on in wanted.items():
        if on:
            widget.setEnabled(True)
    for left in gone:
        if left.window().focusWidget() is left:
            order = [stop for stop in stops(left.window()) if stop not in gone]
            if order:
                _nearest(left, order).setFocus(Qt.FocusReason.OtherFocusReason)
    for widget in gone:
        widget.setEnabled(False)


def _nearest(gone: QWidget, order: list[QWidget]) -> QWidget:
    """Where the keyboard goes from what is hidden now: to what stood nearest, in the same part."""
    around, near = gone.parentWidget(), order
    while around is not None:
        near = [stop for stop in order if around.isAncestorOf(stop)]
        if near:
            break
        around = around.parentWidget()
    here = gone.mapToGlobal(gone.rect().center())
    return min(
        near or order,
        key=lambda stop: (stop.mapToGlobal(stop.rect().center()) - here).manhattanLength(),
    )


def show_in_scroll_areas(widget: QWidget) -> None:
    """Scroll whatever ``widget`` lies in until it is seen."""
    around = widget.parentWidget()
    while around is not None:
        if isinstance(around, QScrollArea):
            around.ensureWidgetVisible(widget)
        around = around.parentWidget()


def set_accessible_name(box: QComboBox, name: str) -> None:
    """What screen readers call ``box``, which already stands in its place.

    On Linux Qt tells them the chosen text in place of the accessible name, and the label where there is one.
    """
    box.setAccessibleName(name)
    label = QLabel(name, box.parentWidget())
    label.setBuddy(box)
    label.hide()


class Dialog(QDialog):
    """A dialog that Tab goes through as it is read, from its first field on."""

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        first = stops(self)
        if self.focusWidget() is None and first:
            first[0].setFocus(Qt.FocusReason.OtherFocusReason)

    def focusNextPrevChild(self, forward: bool) -> bool:
        return move_on(self, forward)
