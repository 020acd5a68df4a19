"""What made a distance: one line a part, its bar where the one before ended, the total below."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QWidget

from semblance.app.shell.theme import colour, plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.line import HLine
from semblance.core.language import localise_number, tr
from semblance.core.reports.formatting import FEWEST, distance_text, signed_text

ROW, BAR = 26, 10
_NAME, _AMOUNT, _BAR_LEAST, _LEAST = 126, 70, 24, 120


@dataclass(frozen=True)
class Line:
    """A part of the distance. ``key``: what is left out when its box is cleared; empty for no box."""

    name: str
    amount: float
    tip: str = ""
    key: str = ""
    on: bool = True


class Waterfall(QWidget):
    """``exclusion_changed(keys)`` is emitted with the keys left out when a person sets or clears a box."""

    exclusion_changed = Signal(tuple)

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[Line] = []
        self._others: frozenset[str] = frozenset()
        self._rows: list[_Row] = []
        self._column = vbox(self)
        self._rule = HLine()
        self._total = _Row(self, total=True)
        self._column.addWidget(self._rule)
        self._column.addWidget(self._total)
        theme_signals.changed.connect(self._fit)
        self._fit()

    def show_lines(self, lines: Sequence[Line], total: float, others: Sequence[str] = ()) -> None:
        """``others`` are keys that are left out without a line of their own."""
        self._lines, self._others = list(lines), frozenset(others)
        while len(self._rows) > len(lines):
            row = self._rows.pop()
            row.hide()
            row.deleteLater()
        while len(self._rows) < len(lines):
            row = _Row(self)
            self._column.insertWidget(len(self._rows), row)
            self._rows.append(row)
        edges = [0.0, *itertools.accumulate(line.amount for line in lines)]
        low, high = min([*edges, total]), max([*edges, total])
        span = (high - low) or 1.0
        ticked = [line.key for line in lines if line.key and line.on]
        for place, (row, line) in enumerate(zip(self._rows, lines, strict=True)):
            start, end = ((edge - low) / span for edge in edges[place : place + 2])
            row.show_line(
                line,
                part_text(line.amount, total),
                start,
                end,
                last=line.key != "" and ticked == [line.key],
                first=place == 0,
            )
        zero = -low / span
        told = Line(tr("Distance"), total)
        self._total.keep_place(any(line.key for line in lines))
        self._total.show_line(told, whole_text(total), zero, zero + total / span, last=False, first=False)

    @property
    def lines(self) -> list[Line]:
        return list(self._lines)

    @property
    def rows(self) -> list[_Row]:
        """The line widgets, without the total."""
        return list(self._rows)

    @property
    def total_text(self) -> str:
        return self._total.amount_text

    def toggled(self, key: str, on: bool) -> None:
        out = {line.key for line in self._lines if line.key and not line.on} | self._others
        out = out - {key} if on else out | {key}
        self.exclusion_changed.emit(tuple(sorted(out)))

    def step(self, row: _Row, step: int) -> None:
        """The box above or below takes the keys."""
        boxes = [one for one in self._rows if one.box.isVisibleTo(self)]
        place = boxes.index(row) + step
        if 0 <= place < len(boxes):
            boxes[place].box.setFocus(Qt.FocusReason.TabFocusReason)

    def minimumSizeHint(self) -> QSize:
        """Names are shortened before the panel is made wider than its room."""
        return QSize(theme().px(_LEAST), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    @property
    def name_room(self) -> int:
        """Pixels of a name beside a box: what the longest takes leaves the rest to the bars."""
        px = theme().px
        rest = self.width() - px(12) - 4 - px(_AMOUNT) - px(_BAR_LEAST) - 24
        names = [tr("Distance"), *(line.name for line in self._lines)]
        longest = max(map(self.fontMetrics().horizontalAdvance, names))
        # A name without a box begins where the box would stand.
        boxed = any(line.key for line in self._lines)
        needed = longest + px(12) if boxed else longest - 4
        return max(px(24), min(px(_NAME), needed, rest))

    def _fit(self) -> None:
        for row in (*self._rows, self._total):
            row.fit()


def part_text(amount: float, total: float) -> str:
    """``+0.071``, with as many decimals as parts of ``total`` need."""
    size = abs(total)
    if size >= 0.1 or size == 0.0:
        return signed_text(amount)
    sign = "−" if amount < 0 else "+"
    if size >= 0.001:
        return localise_number(f"{sign}{abs(amount):.{4 if size >= 0.01 else 5}f}")
    return localise_number(f"{sign}{abs(amount):.1e}")


def whole_text(total: float) -> str:
    """A distance with as many decimals as its parts, where fewer would leave one figure of it."""
    return distance_text(total, 5 if 0.001 <= abs(total) < 0.01 else FEWEST)


class _Box(QCheckBox):
    """A check box whose arrow keys lead to the next line."""

    stepped = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self.stepped.emit(step)


class _Row(QWidget):
    def __init__(self, owner: Waterfall, *, total: bool = False) -> None:
        super().__init__(owner)
        self._owner, self._total, self._placed = owner, total, False
        self._line = Line("", 0.0)
        self.box = _Box()
        self.box.toggled.connect(self._ticked)
        self.box.stepped.connect(lambda step: owner.step(self, step))
        self._name = ElidedLabel(role="title" if total else "")
        self._amount = ElidedLabel(role="title" if total else "")
        self._amount.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.bar = _Bar(total)
        row = hbox(self, spacing=8)
        row.addWidget(self.box)
        row.addWidget(self._name)
        row.addWidget(self.bar, 1)
        row.addWidget(self._amount)
        self.fit()

    @property
    def name(self) -> str:
        return self._name.text()

    @property
    def amount_text(self) -> str:
        return self._amount.text()

    def show_line(
        self, line: Line, amount: str, start: float, end: float, *, last: bool, first: bool
    ) -> None:
        self._line = line
        self._name.setText(line.name)
        self._name.set_tip(line.tip)
        text = amount if self._total or line.on else tr("left out")
        self._amount.setText(text)
        for label in (self._name, self._amount):
            set_look(label, role="title" if self._total else "" if line.on else "third")
        self.box.setVisible(bool(line.key) or self._total)
        self.box.blockSignals(True)
        self.box.setChecked(line.on)
        self.box.blockSignals(False)
        # Without all its features nothing could be compared.
        self.box.setEnabled(not last)
        self.box.setToolTip(
            tr("The last group stays in") if last else tr("Clear to rank without {name}", name=line.name)
        )
        self.box.setAccessibleName(tr("Rank with {name}", name=line.name))
        self.box.setAccessibleDescription(tr("{amount} of the distance", amount=text) if line.on else text)
        self.setToolTip(plain_tip(line.tip))
        self.setAccessibleName(f"{line.name}: {text}")
        self.bar.setAccessibleName(f"{line.name}: {text}")
        self.bar.show_bar(start, end, on=line.on, first=first)
        self.fit()

    def keep_place(self, on: bool) -> None:
        """Keep the place of a box, so that names stand under one another."""
        policy = self.box.sizePolicy()
        policy.setRetainSizeWhenHidden(on)
        self.box.setSizePolicy(policy)
        self._placed = on
        self.fit()

    def fit(self) -> None:
        px = theme().px
        self.setFixedHeight(px(ROW))
        self.box.setFixedWidth(px(12) + 4)
        beside = self._placed or bool(self._line.key)
        self._name.setFixedWidth(self._owner.name_room + (0 if beside else px(12) + 12))
        self._amount.setFixedWidth(px(_AMOUNT))
        if self._total:
            self.box.hide()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """The name and the bar toggle as the box does."""
        if event.button() == Qt.MouseButton.LeftButton and self._line.key and self.box.isEnabled():
            self.box.toggle()

    def _ticked(self, on: bool) -> None:
        if self._line.key:
            self._owner.toggled(self._line.key, on)


class _Bar(QWidget):
    def __init__(self, total: bool) -> None:
        super().__init__()
        self._total = total
        self._start = self._end = 0.0
        self._on, self._first = True, False

    def show_bar(self, start: float, end: float, *, on: bool, first: bool) -> None:
        self._start, self._end, self._on, self._first = start, end, on, first
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        room, high = self.width() - 1, min(tokens.px(BAR), self.height())
        top = (self.height() - high) / 2
        left, right = (room * edge for edge in sorted((self._start, self._end)))
        if not self._total:
            painter.setPen(QPen(colour(tokens.strong_line), 1))
            start, end = (int(room * edge) for edge in (self._start, self._end))
            if not self._first:
                painter.drawLine(start, 0, start, int(top))
            painter.drawLine(end, int(top), end, self.height())
        if self._on:
            bar = QRectF(left, top, max(right - left, 1.0), high)
            if self._end < self._start and not self._total:
                painter.fillRect(bar, colour(tokens.panel))
                painter.setPen(QPen(colour(tokens.text), 1))
                painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5))
            else:
                painter.fillRect(bar, colour(tokens.accent if self._total else tokens.bar_fill))
        painter.end()
