"""A waterfall chart of a distance: a row for each contribution, its bar begins where the one above ends, and the
total below."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QWidget

from semblance.app.shell.theme import colour, plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import HLine, fill, hbox, vbox
from semblance.core.language import format_number, localise_number, tr
from semblance.core.reports.formatting import MIN_DIGITS, distance_text, signed_text

ROW, BAR = 26, 10
_NAME_WIDTH, _AMOUNT_WIDTH, _BAR_MIN, _MIN_WIDTH = 126, 70, 24, 120


@dataclass(frozen=True)
class Contribution:
    """A contribution to the distance. ``key``: what is excluded if its box is cleared; empty for no box."""

    name: str
    amount: float
    tip: str = ""
    key: str = ""
    included: bool = True


class Waterfall(QWidget):
    """``exclusion_changed(keys)`` gives all excluded keys when a box is set or cleared."""

    exclusion_changed = Signal(tuple)

    def __init__(self) -> None:
        super().__init__()
        self._contributions: list[Contribution] = []
        self._hidden_keys: frozenset[str] = frozenset()
        self._rows: list[_ContributionRow] = []
        self._column = vbox(self)
        self._separator = HLine()
        self.total = _ContributionRow(self, total=True)
        self._column.addWidget(self._separator)
        self._column.addWidget(self.total)
        theme_signals.changed.connect(self._update_sizes)
        self._update_sizes()

    def show_contributions(
        self,
        contributions: Sequence[Contribution],
        total: float,
        hidden_keys: Sequence[str] = (),
        *,
        total_name: str = "",
        in_percent: bool = False,
    ) -> None:
        """``hidden_keys`` are excluded and have no row. ``total_name``: what the total is, by default the distance.
        ``in_percent``: amounts as shares of the total."""
        self._contributions, self._hidden_keys = list(contributions), frozenset(hidden_keys)
        while len(self._rows) > len(contributions):
            row = self._rows.pop()
            row.hide()
            row.deleteLater()
        while len(self._rows) < len(contributions):
            row = _ContributionRow(self)
            self._column.insertWidget(len(self._rows), row)
            self._rows.append(row)
        edges = [0.0, *itertools.accumulate(contribution.amount for contribution in contributions)]
        low, high = min([*edges, total]), max([*edges, total])
        span = (high - low) or 1.0
        ticked = [
            contribution.key for contribution in contributions if contribution.key and contribution.included
        ]
        for place, (row, contribution) in enumerate(zip(self._rows, contributions, strict=True)):
            start, end = ((edge - low) / span for edge in edges[place : place + 2])
            row.show_contribution(
                contribution,
                share_text(contribution.amount, total)
                if in_percent
                else part_text(contribution.amount, total),
                start,
                end,
                last=contribution.key != "" and ticked == [contribution.key],
                first=place == 0,
            )
        zero = -low / span
        total_line = Contribution(total_name or tr("Distance"), total)
        self.total.reserve_box(any(contribution.key for contribution in contributions))
        text = share_text(total, total) if in_percent else distance_label(total)
        self.total.show_contribution(total_line, text, zero, zero + total / span, last=False, first=False)

    @property
    def contributions(self) -> list[Contribution]:
        return list(self._contributions)

    @property
    def rows(self) -> list[_ContributionRow]:
        """The rows, without the total."""
        return list(self._rows)

    def toggled(self, key: str, included: bool) -> None:
        excluded = {
            contribution.key
            for contribution in self._contributions
            if contribution.key and not contribution.included
        } | self._hidden_keys
        excluded = excluded - {key} if included else excluded | {key}
        self.exclusion_changed.emit(tuple(sorted(excluded)))

    def move_focus(self, row: _ContributionRow, step: int) -> None:
        """Focus the box above or below."""
        boxes = [one for one in self._rows if one.box.isVisibleTo(self)]
        place = boxes.index(row) + step
        if 0 <= place < len(boxes):
            boxes[place].box.setFocus(Qt.FocusReason.TabFocusReason)

    def minimumSizeHint(self) -> QSize:
        """Names are shortened before the panel becomes wider."""
        return QSize(theme().px(_MIN_WIDTH), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_sizes()

    @property
    def name_width(self) -> int:
        """Width of a name beside a box, px. The bars get the space that the longest name leaves."""
        px = theme().px
        rest = self.width() - px(12) - 4 - px(_AMOUNT_WIDTH) - px(_BAR_MIN) - 24
        names = [tr("Distance"), *(contribution.name for contribution in self._contributions)]
        longest = max(map(self.fontMetrics().horizontalAdvance, names))
        # A name without a box begins at the place of the box.
        boxed = any(contribution.key for contribution in self._contributions)
        needed = longest + px(12) if boxed else longest - 4
        return max(px(24), min(px(_NAME_WIDTH), needed, rest))

    def _update_sizes(self) -> None:
        for row in (*self._rows, self.total):
            row.update_sizes()


def part_text(amount: float, total: float) -> str:
    """``+0.071``, with as many decimals as contributions to ``total`` need."""
    size = abs(total)
    if size >= 0.1 or size == 0.0:
        return signed_text(amount)
    sign = "−" if amount < 0 else "+"
    if size >= 0.001:
        return localise_number(f"{sign}{abs(amount):.{4 if size >= 0.01 else 5}f}")
    return localise_number(f"{sign}{abs(amount):.1e}")


def share_text(amount: float, total: float, digits: int = 0) -> str:
    """``17 %``: an amount as a share of ``total``; ``digits`` after the decimal point."""
    return format_number(amount / total if total else 0.0, f".{digits}%").replace("-", "−")


def distance_label(total: float) -> str:
    """A distance, with more decimals if it is so small that only one digit would remain."""
    return distance_text(total, 5 if 0.001 <= abs(total) < 0.01 else MIN_DIGITS)


class _ContributionCheckBox(QCheckBox):
    """A check box whose arrow keys focus the box of the next row."""

    focus_moved = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if step is None:
            super().keyPressEvent(event)
        else:
            self.focus_moved.emit(step)


class _ContributionRow(QWidget):
    def __init__(self, waterfall: Waterfall, *, total: bool = False) -> None:
        super().__init__(waterfall)
        self._waterfall, self._total, self._has_box_space = waterfall, total, False
        self._contribution = Contribution("", 0.0)
        self.box = _ContributionCheckBox()
        self.box.toggled.connect(self._set_included)
        self.box.focus_moved.connect(lambda step: waterfall.move_focus(self, step))
        self._name = ElidedLabel(role="title" if total else "")
        self._amount = ElidedLabel(role="title" if total else "")
        self._amount.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.bar = _ContributionBar(total)
        fill(hbox(self, spacing=8), self.box, self._name, (self.bar, 1), self._amount)
        self.update_sizes()

    @property
    def name(self) -> str:
        return self._name.text()

    @property
    def amount_text(self) -> str:
        return self._amount.text()

    def show_contribution(
        self, contribution: Contribution, amount: str, start: float, end: float, *, last: bool, first: bool
    ) -> None:
        self._contribution = contribution
        self._name.setText(contribution.name)
        self._name.set_tip(contribution.tip)
        text = amount if self._total or contribution.included else tr("left out")
        self._amount.setText(text)
        for label in (self._name, self._amount):
            set_look(label, role="title" if self._total else "" if contribution.included else "third")
        self.box.setVisible(bool(contribution.key) or self._total)
        self.box.blockSignals(True)
        self.box.setChecked(contribution.included)
        self.box.blockSignals(False)
        # Without any features nothing can be compared.
        self.box.setEnabled(not last)
        self.box.setToolTip(
            tr("The last group stays in")
            if last
            else tr("Clear to rank without {name}", name=contribution.name)
        )
        self.box.setAccessibleName(tr("Rank with {name}", name=contribution.name))
        self.box.setAccessibleDescription(
            tr("{amount} of the distance", amount=text) if contribution.included else text
        )
        self.setToolTip(plain_tip(contribution.tip))
        self.setAccessibleName(f"{contribution.name}: {text}")
        self.bar.setAccessibleName(f"{contribution.name}: {text}")
        self.bar.show_bar(start, end, included=contribution.included, first=first)
        self.update_sizes()

    def reserve_box(self, on: bool) -> None:
        """Reserve the space of a box, so that the names are aligned."""
        policy = self.box.sizePolicy()
        policy.setRetainSizeWhenHidden(on)
        self.box.setSizePolicy(policy)
        self._has_box_space = on
        self.update_sizes()

    def update_sizes(self) -> None:
        px = theme().px
        self.setFixedHeight(px(ROW))
        self.box.setFixedWidth(px(12) + 4)
        has_box_space = self._has_box_space or bool(self._contribution.key)
        self._name.setFixedWidth(self._waterfall.name_width + (0 if has_box_space else px(12) + 12))
        self._amount.setFixedWidth(px(_AMOUNT_WIDTH))
        if self._total:
            self.box.hide()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """A click on the name or the bar toggles the box."""
        if event.button() == Qt.MouseButton.LeftButton and self._contribution.key and self.box.isEnabled():
            self.box.toggle()

    def _set_included(self, included: bool) -> None:
        if self._contribution.key:
            self._waterfall.toggled(self._contribution.key, included)


class _ContributionBar(QWidget):
    def __init__(self, total: bool) -> None:
        super().__init__()
        self._total = total
        self._start = self._end = 0.0
        self._included, self._first = True, False

    def show_bar(self, start: float, end: float, *, included: bool, first: bool) -> None:
        self._start, self._end, self._included, self._first = start, end, included, first
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        width, height = self.width() - 1, min(tokens.px(BAR), self.height())
        top = (self.height() - height) / 2
        left, right = (width * edge for edge in sorted((self._start, self._end)))
        if not self._total:
            painter.setPen(QPen(colour(tokens.strong_line), 1))
            start, end = (int(width * edge) for edge in (self._start, self._end))
            if not self._first:
                painter.drawLine(start, 0, start, int(top))
            painter.drawLine(end, int(top), end, self.height())
        if self._included:
            bar = QRectF(left, top, max(right - left, 1.0), height)
            if self._end < self._start and not self._total:
                painter.fillRect(bar, colour(tokens.panel))
                painter.setPen(QPen(colour(tokens.text), 1))
                painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5))
            else:
                painter.fillRect(bar, colour(tokens.accent if self._total else tokens.bar_fill))
        painter.end()
