"""What a file of labels would change, line by line, before it is applied."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QWidget

from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, resize_dialog
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.tables import PlainTable
from semblance.core.language import tr, tr_n, translate
from semblance.core.workflows.library.edit_staleness import outdated_text
from semblance.core.workflows.library.import_labels import LabelImport, LabelLine, LineState

_COLUMNS = (tr("Line"), tr("In the file"), tr("Case"), tr("Finding"), tr("Patient"), tr("What happens"))
_WIDTHS = (50, 160, 160, 150, 110)
#: Lines that the table shows.
_LISTED = 2000
_STATES = {
    LineState.CHANGED: tr("changed"),
    LineState.SAME: tr("already so"),
    LineState.UNMATCHED: tr("no case"),
    LineState.AMBIGUOUS: tr("several cases"),
    LineState.CONTRADICTORY: tr("contradictory"),
    LineState.UNREADABLE: tr("unreadable"),
}
#: What needs a person's attention comes first.
_ORDER = (
    LineState.CONTRADICTORY,
    LineState.AMBIGUOUS,
    LineState.UNMATCHED,
    LineState.UNREADABLE,
    LineState.CHANGED,
    LineState.SAME,
)


class LabelsDialog(Dialog):
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
        self.show_same.setVisible(counts[LineState.SAME] > 0)
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
            line for line in self._preview.lines if line.state != LineState.SAME or self.show_same.isChecked()
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
