"""The dialog that asks for a finding or a patient of cases."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QStringListModel, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QCheckBox, QCompleter, QLabel, QLineEdit, QPushButton, QWidget

from semblance.app.shell.theme import set_look, theme
from semblance.app.widgets.dialog import (
    Dialog,
    accept_button,
    action_row,
    cancel_button,
    dialog_layout,
    resize_dialog,
    widen,
)
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import STRETCH, fill, hbox
from semblance.app.widgets.tables import PlainTable
from semblance.core.language import tr, tr_n, translate, visible
from semblance.core.library.packed_texts import PackedTexts
from semblance.core.workflows.library.edit_staleness import outdated_text
from semblance.core.workflows.library.import_labels import LabelImport, LabelLine, LabelLineStatus

#: Names that are proposed at most.
_PROPOSED = 100


class SetLabelDialog(Dialog):
    """A field that proposes known names, a button that removes the label, and a line on what becomes out of date."""

    def __init__(
        self,
        title: str,
        prompt: str,
        known: Sequence[str],
        value: str,
        note: str,
        removal: str,
        new_text: str,
        parent: QWidget | None = None,
    ) -> None:
        """``value``: what all cases have; ``removal``: the text of the button that removes the label; ``new_text``:
        what to say of a name that is not known, with ``{name}``."""
        super().__init__(parent)
        self.setWindowTitle(title)
        self._removed = False
        label = QLabel(prompt)
        self.field = QLineEdit(value)
        self.field.setAccessibleName(prompt)
        self.field.selectAll()
        label.setBuddy(self.field)
        self._known = known if isinstance(known, PackedTexts) else PackedTexts.of(known)
        self._folded, self._new_text = self._known.casefolded(), new_text
        # Qt would compare what is typed with each of very many names.
        self._proposals = QStringListModel(self)
        self.field.textEdited.connect(self._propose)
        completer = QCompleter(self._proposals, self.field)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        # Enter takes the name that is proposed in the field. A list below it would cover the buttons.
        completer.setCompletionMode(QCompleter.CompletionMode.InlineCompletion)
        self.field.setCompleter(completer)
        self.field.installEventFilter(self)
        self.remove_button = QPushButton(removal)
        self.remove_button.clicked.connect(self._remove)
        self.accept_button = accept_button(title.rstrip("…"))
        self.accept_button.clicked.connect(self.accept)
        self.field.textChanged.connect(self._check)
        # Qt announces what it proposes behind the cursor as a selection only.
        self.field.selectionChanged.connect(self._check)
        layout = dialog_layout(self)
        layout.addWidget(label)
        layout.addWidget(self.field)
        self.new_label = QLabel()
        set_look(self.new_label, role="second")
        layout.addWidget(self.new_label)
        if note:
            line = WrappedLabel(note, role="second")
            layout.addWidget(line)
        row = fill(hbox(spacing=8), self.remove_button, STRETCH, cancel_button(self), self.accept_button)
        layout.addLayout(row)
        widen(self, 420)
        self._check()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Qt would only take over what it proposes at the first Enter.
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            is_enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not event.modifiers()
            if is_enter and self.accept_button.isEnabled():
                self.accept()
                return True
        return super().eventFilter(watched, event)

    def label(self) -> str | None:
        """The chosen name; ``None``: the label is removed."""
        return None if self._removed else self._name()

    def _name(self) -> str:
        """What is in the field, as the known name that differs in upper and lower case at most."""
        name = self.field.text().strip()
        alike = self._alike(name)
        return alike[0] if name not in alike and len(alike) == 1 else name

    def _alike(self, name: str) -> list[str]:
        return self._known.chosen(self._folded.equal_to(name.casefold()))

    def _propose(self, text: str) -> None:
        found = self._folded.starting_with(text.casefold())[:_PROPOSED]
        self._proposals.setStringList(self._known.chosen(found))

    def _remove(self) -> None:
        self._removed = True
        self.accept()

    def _check(self) -> None:
        name = self._name()
        self.accept_button.setEnabled(bool(name))
        self.new_label.setText(
            self._new_text.format(name=visible(name)) if name and name not in self._alike(name) else " "
        )


_COLUMNS = (tr("Line"), tr("In the file"), tr("Case"), tr("Finding"), tr("Patient"), tr("What happens"))
_WIDTHS = (50, 160, 160, 150, 110)
#: Lines that the table shows.
_LISTED = 2000
_STATES = {
    LabelLineStatus.CHANGED: tr("changed"),
    LabelLineStatus.SAME: tr("already so"),
    LabelLineStatus.UNMATCHED: tr("no case"),
    LabelLineStatus.AMBIGUOUS: tr("several cases"),
    LabelLineStatus.CONTRADICTORY: tr("contradictory"),
    LabelLineStatus.UNREADABLE: tr("unreadable"),
}
#: What needs a person's attention comes first.
_ORDER = (
    LabelLineStatus.CONTRADICTORY,
    LabelLineStatus.AMBIGUOUS,
    LabelLineStatus.UNMATCHED,
    LabelLineStatus.UNREADABLE,
    LabelLineStatus.CHANGED,
    LabelLineStatus.SAME,
)


class ImportLabelsDialog(Dialog):
    """Counts, a table of the lines, and a button that applies them."""

    def __init__(self, file: str, preview: LabelImport, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._preview = preview
        self.setWindowTitle(tr("Import labels"))
        resize_dialog(self, 860, 480)
        counts, changed = preview.counts, preview.edit.changed
        found = ", ".join(f"{counts[state]:,} {_STATES[state]}" for state in _ORDER if counts[state])
        summary = WrappedLabel(tr("{file}: {lines}.", file=file, lines=found or tr("no lines")))
        self.table = PlainTable(_COLUMNS, tr("Lines of the file"))
        for column, width in enumerate(_WIDTHS):
            self.table.setColumnWidth(column, theme().px(width))
        self.show_same = QCheckBox(tr("Show lines that change nothing"))
        if not counts[LabelLineStatus.SAME]:
            self.show_same.hide()
        self.show_same.toggled.connect(self._fill)
        self._note = WrappedLabel(role="second")
        self.accept_button = accept_button(
            tr_n("Label {n} case", "Label {n} cases", changed) if changed else tr("Nothing to change")
        )
        self.accept_button.setEnabled(changed > 0)
        self.accept_button.clicked.connect(self.accept)
        layout = dialog_layout(self)
        layout.addWidget(summary)
        layout.addWidget(self.table, 1)
        layout.addWidget(self.show_same)
        layout.addWidget(self._note)
        layout.addLayout(action_row(self, self.accept_button))
        self._fill()

    def _fill(self) -> None:
        shown = [
            line
            for line in self._preview.lines
            if line.state != LabelLineStatus.SAME or self.show_same.isChecked()
        ]
        shown.sort(key=lambda line: _ORDER.index(line.state))
        self.table.fill([_cells(line) for line in shown[:_LISTED]])
        notes = [translate(outdated_text(len(self._preview.edit.outdated)))]
        if len(shown) > _LISTED:
            notes.append(tr("The first {n:,} of {all:,} lines are shown.", n=_LISTED, all=len(shown)))
        self._note.setText(" ".join(filter(None, notes)))
        self._note.setVisible(any(notes))


def _cells(line: LabelLine) -> tuple[str, ...]:
    state = _STATES[line.state]
    return (
        str(line.line),
        line.name,
        line.case_id,
        _change(*line.finding),
        _change(*line.patient),
        f"{state}: {translate(line.reason)}" if line.reason else state,
    )


def _change(before: str | None, after: str | None) -> str:
    return (after or "") if before == after else f"{before or '–'} → {after or '–'}"
