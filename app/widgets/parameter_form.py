"""A form for the parameters of a learner or extractor, and its field for a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.theme import plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.fields import NoWheelComboBox, NumberField, value_text
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import fill, hbox, vbox
from semblance.app.widgets.section_header import SectionHeader
from semblance.core.errors import BadArguments
from semblance.core.language import tr, tr_name, translate
from semblance.core.parameters import Parameter, Value


class FileField(QWidget):
    """Edits the path of ``parameter``. ``edited``: the user changed it."""

    edited = Signal()

    def __init__(self, parameter: Parameter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parameter = parameter
        self.line = QLineEdit(str(parameter.default))
        self.line.setFixedWidth(theme().px(192))
        self.line.textEdited.connect(self.edited)
        self.button = QPushButton(tr("Choose …"))
        self.button.setAccessibleName(tr("Choose {what}", what=tr_name(parameter.title)))
        self.button.clicked.connect(self._choose)
        fill(hbox(self, spacing=8), self.line, self.button)
        self.setFocusProxy(self.line)

    def value(self) -> Value:
        """The path as written.

        Raises:
            BadArguments: there is no such file; the hint says what to do.
        """
        text = self.line.text().strip()
        if not Path(text).expanduser().is_file():
            message = (
                tr("There is no file '{text}'.", text=text)
                if text
                else tr("No {what} is chosen.", what=tr_name(self._parameter.title))
            )
            raise BadArguments(message, tr("Choose a file ({pattern}).", pattern=self._parameter.file))
        return self._parameter.check(text)

    def set_value(self, value: Value) -> None:
        self.line.setText(str(value))

    def _choose(self) -> None:
        title, pattern = tr_name(self._parameter.title), self._parameter.file
        begin = str(Path(self.line.text()).expanduser().parent) if self.line.text() else ""
        kinds = f"{title} ({pattern});;{tr('All files')} (*)"
        if file := choose_file(self, title, kinds, begin=begin):
            self.set_value(str(file))
            self.edited.emit()


@dataclass(frozen=True)
class _ParameterRow:
    parameter: Parameter
    editor: _EditorWidget
    problem: QLabel


_EditorWidget = NumberField | FileField | QComboBox | QCheckBox


class ParameterForm(QWidget):
    """One row for each of ``parameters``: its name, its field, and the paper's value.

    ``valuesChanged`` is emitted for every change, valid or not. The meaning of the focused field is shown below
    the rows, and as the tooltip and status tip of each field.
    """

    valuesChanged = Signal()

    def __init__(
        self, parameters: Sequence[Parameter] = (), parent: QWidget | None = None, *, title: str = ""
    ) -> None:
        super().__init__(parent)
        self._rows: dict[str, _ParameterRow] = {}
        self._header = SectionHeader(title)
        self._header.action_requested.connect(self.set_paper_values)
        self._meaning = WrappedLabel(role="small")
        self._meaning.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(0, 1)
        fill(vbox(self, spacing=6), self._header, self._grid, self._meaning)
        self.set_parameters(parameters, title=title)
        theme_signals.changed.connect(self._fit)

    def set_parameters(self, parameters: Sequence[Parameter], *, title: str = "") -> None:
        """Show other parameters, at their defaults."""
        while item := self._grid.takeAt(0):
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        self._rows = {}
        for line, parameter in enumerate(parameters):
            self._add_row(parameter, 2 * line)
        self._header.set_title(tr_name(title))
        papers = any(parameter.paper is not None for parameter in parameters)
        self._header.set_action(tr("paper’s defaults") if papers else tr("defaults") if parameters else "")
        self._header.setVisible(bool(title or parameters))
        self._meaning.setText("")
        self._fit()
        self._update_problems()

    def values(self) -> dict[str, Value]:
        """All values by name.

        Raises:
            BadArguments: the first value that is not allowed.
        """
        return {name: self._value(row) for name, row in self._rows.items()}

    def set_values(self, values: Mapping[str, Value]) -> None:
        """Show ``values``. Other parameters keep their values, unknown names are ignored."""
        for name, value in values.items():
            if name in self._rows:
                self._show(self._rows[name], value)
        self._changed()

    def set_paper_values(self) -> None:
        """Set the paper's values, or the defaults where the paper has none."""
        papers = {name: row.parameter.paper for name, row in self._rows.items()}
        defaults = {name: row.parameter.default for name, row in self._rows.items()}
        self.set_values({name: defaults[name] if papers[name] is None else papers[name] for name in papers})

    def is_valid(self) -> bool:
        return not self.problems()

    def problems(self) -> dict[str, str]:
        """Why values are not allowed, by name."""
        return {name: text for name, row in self._rows.items() if (text := _problem(row))}

    def editor(self, name: str) -> QWidget:
        """The field of one parameter.

        Raises:
            KeyError: no parameter of that name.
        """
        return self._rows[name].editor

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusIn:
            for row in self._rows.values():
                if watched in (row.editor, row.editor.focusProxy()):
                    self._meaning.setText(tr_name(row.parameter.meaning))
        return False

    def _add_row(self, parameter: Parameter, line: int) -> None:
        editor = self._editor(parameter)
        editor.setToolTip(plain_tip(tr_name(parameter.meaning)))
        editor.setStatusTip(tr_name(parameter.meaning))
        editor.setAccessibleName(tr_name(parameter.title))
        editor.setAccessibleDescription(tr_name(parameter.meaning))
        (editor.focusProxy() or editor).installEventFilter(self)
        problem = WrappedLabel(role="error")
        problem.hide()
        row = _ParameterRow(parameter, editor, problem)
        self._rows[parameter.name] = row
        left = Qt.AlignmentFlag.AlignLeft
        if isinstance(editor, QCheckBox):
            self._grid.addWidget(editor, line, 0, 1, 2, left)
        else:
            label = ElidedLabel(tr_name(parameter.title), role="second")
            label.setBuddy(editor)
            label.set_tip(tr_name(parameter.meaning))
            label.setMinimumWidth(48)
            self._grid.addWidget(label, line, 0)
            wide = 2 if isinstance(editor, QComboBox) and parameter.paper is None else 1
            self._grid.addWidget(editor, line, 1, 1, wide, left)
        if parameter.paper is not None:
            paper_value = (
                ""
                if parameter.choices and parameter.paper == parameter.default
                else value_text(parameter.paper)
            )
            hint = QLabel(tr("paper {value}", value=paper_value) if paper_value else "")
            set_look(hint, role="small")
            self._grid.addWidget(hint, line, 2, Qt.AlignmentFlag.AlignRight)
        self._grid.addWidget(problem, line + 1, 0, 1, 3)

    def _editor(self, parameter: Parameter) -> _EditorWidget:
        if isinstance(parameter.default, bool):
            box = QCheckBox(tr_name(parameter.title))
            box.setChecked(parameter.default)
            box.toggled.connect(self._changed)
            return box
        if parameter.choices:
            combo = NoWheelComboBox()
            combo.addItems(list(parameter.choices))
            combo.setCurrentText(value_text(parameter.default))
            combo.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
            combo.currentIndexChanged.connect(self._changed)
            return combo
        if parameter.file:
            chosen = FileField(parameter)
            chosen.edited.connect(self._changed)
            return chosen
        field = NumberField(parameter)
        field.edited.connect(self._changed)
        return field

    @staticmethod
    def _value(row: _ParameterRow) -> Value:
        if isinstance(row.editor, QCheckBox):
            return row.editor.isChecked()
        if isinstance(row.editor, QComboBox):
            return row.parameter.check(row.editor.currentText())
        return row.editor.value()

    @staticmethod
    def _show(row: _ParameterRow, value: Value) -> None:
        # One signal for all fields instead of one for each.
        blocked = row.editor.blockSignals(True)
        if isinstance(row.editor, QCheckBox):
            row.editor.setChecked(bool(value))
        elif isinstance(row.editor, QComboBox):
            row.editor.setCurrentText(value_text(value))
        else:
            row.editor.set_value(value)
        row.editor.blockSignals(blocked)

    def _changed(self) -> None:
        self._update_problems()
        self.valuesChanged.emit()

    def _update_problems(self) -> None:
        is_changed = False
        for row in self._rows.values():
            problem = _problem(row)
            row.problem.setText(problem)
            row.problem.setVisible(bool(problem))
            expected = row.parameter.default if row.parameter.paper is None else row.parameter.paper
            is_changed = is_changed or bool(problem) or self._value(row) != expected
        self._header.set_action_enabled(is_changed)

    def _fit(self) -> None:
        for row in self._rows.values():
            if isinstance(row.editor, NumberField):
                row.editor.setFixedWidth(theme().px(128 if isinstance(row.parameter.default, str) else 64))
        # Space for two lines, so that nothing moves with the focus.
        self._meaning.ensurePolished()
        lines = 2 * self._meaning.fontMetrics().lineSpacing() if self._rows else 0
        self._meaning.setMinimumHeight(lines)


def _problem(row: _ParameterRow) -> str:
    try:
        ParameterForm._value(row)
    except BadArguments as refused:
        return translate(refused.hint)
    return ""
