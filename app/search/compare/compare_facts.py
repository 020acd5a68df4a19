"""A table of facts: the query beside a ranked case."""

from __future__ import annotations

import re

from PySide6.QtWidgets import QGridLayout, QLabel, QVBoxLayout, QWidget

from semblance.app.shell.theme import theme, theme_signals
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.finding_chip import FindingChip
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.imaging.burnt_in_marks import MARKS_ATTRIBUTE
from semblance.core.language import format_number, localise_number, tr, tr_n, translate
from semblance.core.library.case_columns import CaseColumns
from semblance.core.library.case_names import date_name
from semblance.core.reports.case_attributes import attribute_title
from semblance.core.workflows.imaging.view_images import ViewedImage

ROW, GAP, NAMES, WIDTH = 20, 4, 84, 320
#: More attributes are in the details of the case.
_MAX_ROWS = 14
_AGE = re.compile(r"0*(\d{1,3})([DWMY])")
_DECIMAL = re.compile(r"-?\d+\.\d+")
#: Identifiers of the archive, which say nothing about similarity.
_IDENTIFIERS = frozenset(("study", "series", "instance", "issuer", "order"))


class CompareFacts(Panel):
    """A table of two columns, with a row for each fact that at least one of both has."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout()
        self._grid.setContentsMargins(12, 8, 12, 8)
        self._grid.setHorizontalSpacing(8)
        # Also between rows of several lines.
        self._grid.setVerticalSpacing(GAP)
        # Names are wrapped as soon as values need the width.
        self._grid.setColumnStretch(0, 1)
        self._grid.setColumnStretch(1, 1)
        self._grid.setColumnStretch(2, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._grid)
        column.addStretch(1)
        theme_signals.changed.connect(self._update_width)
        self._update_width()

    def _update_width(self) -> None:
        self._grid.setColumnMinimumWidth(0, theme().px(NAMES))

    def show_facts(
        self,
        columns: CaseColumns,
        titles: tuple[str, str],
        cases: tuple[str | None, str | None],
        viewed: tuple[ViewedImage | None, ViewedImage | None],
    ) -> None:
        """Show the facts of two cases: ``titles`` of the columns, ids in ``columns``, and images."""
        self.clear()
        for column, title in enumerate(titles):
            self._put(0, column + 1, _label(title, "third"))
        lines = self._lines(columns, cases, viewed)
        for row, (name, values) in enumerate(lines, 1):
            self._put(row, 0, _label(name, "second"))
            for column, value in enumerate(values):
                self._put(row, column + 1, value if isinstance(value, QWidget) else _label(value))

    def clear(self) -> None:
        """Show no facts."""
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()

    def texts(self) -> list[list[str]]:
        """The texts of the table, row by row, with the titles first."""
        found: dict[int, list[str]] = {}
        for place in range(self._grid.count()):
            row = self._grid.getItemPosition(place)[0]  # type: ignore[index]
            item = self._grid.itemAt(place)
            widget = item.widget() if item is not None else None
            if isinstance(widget, QLabel | ElidedLabel):
                found.setdefault(row, []).append(widget.text())
            elif widget is not None:
                found.setdefault(row, []).append(widget.accessibleName())
        return [found[row] for row in sorted(found)]

    def _put(self, row: int, column: int, widget: QWidget) -> None:
        self._grid.setRowMinimumHeight(row, theme().px(ROW))
        self._grid.addWidget(widget, row, column)

    def _lines(
        self,
        columns: CaseColumns,
        cases: tuple[str | None, str | None],
        viewed: tuple[ViewedImage | None, ViewedImage | None],
    ) -> list[tuple[str, list[str | QWidget]]]:
        facts = [_facts(columns, case, one) for case, one in zip(cases, viewed, strict=True)]
        names = list(dict.fromkeys(name for found in facts for name in found))[:_MAX_ROWS]
        lines: list[tuple[str, list[str | QWidget]]] = [
            (tr("Finding"), [_finding(columns, case) for case in cases])
        ]
        lines += [(name, [found.get(name, "–") for found in facts]) for name in names]
        return lines


def _finding(columns: CaseColumns, case: str | None) -> str | QWidget:
    index = columns.index_of_id(case) if case is not None else -1
    finding = columns.finding_name(index) if index >= 0 else None
    if finding is None:
        return tr("not given")
    return FindingChip(int(columns.finding[index]), columns.letters[finding], finding)


def _facts(columns: CaseColumns, case: str | None, viewed: ViewedImage | None) -> dict[str, str]:
    index = columns.index_of_id(case) if case is not None else -1
    out: dict[str, str] = {}
    if index >= 0:
        out[tr("Patient")] = columns.patient_name(index) or tr("not known")
    if viewed is None:
        return out
    image, region = viewed.image, viewed.region
    width, height = (image.width, image.height) if region is None else (region.width, region.height)
    if image.spacing_mm is not None:
        down, across = image.spacing_mm
        out[tr("Size, mm")] = f"{_length(width * across)} × {_length(height * down)}"
        out[tr("Spacing, mm")] = localise_number(
            f"{across:.4g}" if across == down else f"{across:.4g} × {down:.4g}"
        )
    else:
        out[tr("Size, px")] = localise_number(f"{width:,} × {height:,}")
    if viewed.stack is not None:
        out[tr("Slices")] = str(viewed.stack.slices)
    if viewed.case is not None:
        for name, value in viewed.case.attributes.items():
            if name in _IDENTIFIERS:
                continue
            shown = date_name(viewed.case.date) if name == "date" else _shown(name, value)
            out[translate(attribute_title(name))] = shown
    # An image from outside has no attributes, and a case may have been imported before its marks were looked for.
    if viewed.marks:
        out[translate(attribute_title(MARKS_ATTRIBUTE))] = str(len(viewed.marks))
    return out


def _length(mm: float) -> str:
    """A length in mm, in tenths below 100 mm."""
    return format_number(mm, ".0f" if mm >= 100 else ".1f")


def _shown(name: str, value: str) -> str:
    """The ``value`` of the attribute ``name`` as people write it."""
    if name == "age":
        return _age(value)
    return localise_number(value) if _DECIMAL.fullmatch(value) else value


def _age(value: str) -> str:
    """A DICOM age, such as ``036Y``, as people write it; any other text as it is."""
    found = _AGE.fullmatch(value)
    if found is None:
        return value
    n, unit = int(found[1]), found[2]
    if unit == "Y":
        return tr_n("{n} year", "{n} years", n)
    if unit == "M":
        return tr_n("{n} month", "{n} months", n)
    return tr_n("{n} week", "{n} weeks", n) if unit == "W" else tr_n("{n} day", "{n} days", n)


def _label(text: str, role: str = "") -> QWidget:
    """A name, or a value, which is wrapped between its words. A value of a single long word is elided."""
    if role or " " in text:
        return WrappedLabel(text, role)
    label = ElidedLabel(text)
    label.set_tip(text)
    return label
