"""Tab moves through a window in reading order, whatever order its widgets were made in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QDockWidget, QLabel, QScrollArea, QWidget


def tab_stops(window: QWidget) -> list[QWidget]:
    """The widgets that Tab stops at, row by row and from left to right, panel by panel."""
    return list(_tab_stops_in(window))


def _tab_stops_in(parent: QWidget, extra: QWidget | None = None) -> Iterator[QWidget]:
    """``extra`` is included even if Tab would not stop there."""
    for child in _reading_order(parent):
        inside = list(_tab_stops_in(child, extra)) if not isinstance(child, QLabel) else []
        passed = isinstance(child, QScrollArea) and _is_skipped(child, inside)
        if child is extra or (_takes_tab(child) and not passed):
            yield child
        yield from inside


def _takes_tab(widget: QWidget) -> bool:
    tab = Qt.FocusPolicy.TabFocus
    chosen = _checked_of_group(widget)
    return (
        widget.isEnabled()
        and (widget.focusPolicy() & tab == tab if chosen is None else chosen is widget)
        and widget.focusProxy() is None
        and widget.width() > 0
        and widget.height() > 0
    )


def _checked_of_group(widget: QWidget) -> QAbstractButton | None:
    """The checked button of the exclusive group of ``widget``. Arrow keys move inside the group."""
    group = widget.group() if isinstance(widget, QAbstractButton) else None
    chosen = group.checkedButton() if group is not None and group.exclusive() else None
    return chosen if chosen is not None and chosen.isVisible() and chosen.isEnabled() else None


def _is_hidden_dock(widget: QWidget) -> bool:
    """Whether ``widget`` is a dock behind another one. Qt moves it out of the window instead of hiding it."""
    return isinstance(widget, QDockWidget) and (
        widget.geometry().right() < 0 or widget.geometry().bottom() < 0
    )


def _is_skipped(area: QScrollArea, inside: list[QWidget]) -> bool:
    """Whether Tab skips ``area`` because it has tab stops itself or needs no scrolling."""
    bars = (area.verticalScrollBar(), area.horizontalScrollBar())
    return bool(inside) or all(bar.maximum() == 0 for bar in bars)


def _reading_order(parent: QWidget) -> list[QWidget]:
    """The visible widgets in ``parent`` in reading order."""
    shown = [
        child
        for child in parent.children()
        if isinstance(child, QWidget)
        and not child.isWindow()
        and child.isVisible()
        and not _is_hidden_dock(child)
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


def focus_next(window: QWidget, forward: bool) -> bool:
    """Move the focus to the next or previous tab stop, for ``focusNextPrevChild`` of a window."""
    now = window.focusWidget()
    order = list(_tab_stops_in(window, now))
    if not order or order == [now]:
        return False
    if now in order:
        chosen = order[(order.index(now) + (1 if forward else -1)) % len(order)]
    else:
        chosen = _nearest_stop(now, order) if now is not None else order[0 if forward else -1]
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    chosen.setFocus(reason)
    show_in_scroll_areas(chosen)
    return True


def enable_widgets(states: Mapping[QWidget, bool]) -> None:
    """Enable or disable widgets of one window. From a disabled one the focus moves to the nearest tab stop, not
    to the next, which may be in another panel."""
    disabled = [widget for widget, on in states.items() if not on]
    for widget, on in states.items():
        if on:
            widget.setEnabled(True)
    for left in disabled:
        if left.window().focusWidget() is left:
            order = [stop for stop in tab_stops(left.window()) if stop not in disabled]
            if order:
                _nearest_stop(left, order).setFocus(Qt.FocusReason.OtherFocusReason)
    for widget in disabled:
        widget.setEnabled(False)


def _nearest_stop(disabled: QWidget, order: list[QWidget]) -> QWidget:
    """The tab stop nearest to a widget that lost the focus, in the same part of the window if possible."""
    around, near = disabled.parentWidget(), order
    while around is not None:
        near = [stop for stop in order if around.isAncestorOf(stop)]
        if near:
            break
        around = around.parentWidget()
    here = disabled.mapToGlobal(disabled.rect().center())
    return min(
        near or order,
        key=lambda stop: (stop.mapToGlobal(stop.rect().center()) - here).manhattanLength(),
    )


def show_in_scroll_areas(widget: QWidget) -> None:
    """Scroll the areas around ``widget`` until it is visible."""
    around = widget.parentWidget()
    while around is not None:
        if isinstance(around, QScrollArea):
            around.ensureWidgetVisible(widget)
        around = around.parentWidget()


def set_accessible_name(box: QComboBox, name: str) -> None:
    """Set the name of ``box`` for screen readers. Call it when the box is in its layout.

    On Linux Qt passes them the chosen text instead of the accessible name, unless the box has a label.
    """
    box.setAccessibleName(name)
    label = QLabel(name, box.parentWidget())
    label.setBuddy(box)
    label.hide()
