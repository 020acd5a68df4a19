"""The card of a metric: its learner, training data, scores and failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from semblance.app.shell.file_dialogs import choose_target
from semblance.app.shell.theme import theme
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import fill, hbox, vbox
from semblance.app.widgets.panel import FullPage
from semblance.core.errors import BadInput
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS
from semblance.core.language import tr, translate
from semblance.core.metrics.card import MetricCard
from semblance.core.reports.card_document import (
    CardDocument,
    CardSection,
    CardTable,
    card_markdown,
    compare_cards,
    comparison_markdown,
)
from semblance.core.reports.document import LabelledValue
from semblance.core.workflows.library.library_snapshot import MetricFacts
from semblance.core.workflows.reports.metric_cards import document_of

#: Longer words may be wrapped after every so many characters.
WRAP_AFTER = 32
#: First entry of the list of metrics to compare with.
NO_COMPARISON = tr("compare with…")
#: Width of the labels, px.
_LABEL_WIDTH = 180


class MetricCardPage(FullPage):
    """Shows the facts of one metric or compares two. ``save(name, path)`` writes the card."""

    def __init__(
        self,
        metric: MetricFacts,
        others: Sequence[MetricFacts] = (),
        save: Callable[[str, Path], None] | None = None,
    ) -> None:
        super().__init__(tr("Metric card: {name}", name=metric.name))
        self._metric, self._save = metric, save
        self.document = card_document(metric)
        self._text = card_markdown(self.document)
        self._others = {other.name: other for other in others if other.name != metric.name}
        self.area = QScrollArea()
        self.area.setAccessibleName(tr("Contents of the card"))
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        fill(vbox(self), self.header, (self.area, 1))
        self._add_actions()
        self._show_card()

    def _add_actions(self) -> None:
        copy = QPushButton(tr("Copy"))
        copy.setToolTip(tr("Copy as Markdown text"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._text))
        save = QPushButton(tr("Save…"))
        save.setVisible(self._save is not None)
        save.clicked.connect(self._choose_file)
        self.other_metric_box = QComboBox()
        self.other_metric_box.setAccessibleName(tr("Compare with another metric"))
        self.other_metric_box.addItems([NO_COMPARISON, *self._others])
        self.other_metric_box.setVisible(bool(self._others))
        self.other_metric_box.currentIndexChanged.connect(self._compare)
        for widget in (self.other_metric_box, copy, save):
            self.header.add_action(widget)

    def _compare(self, index: int) -> None:
        """Compare with the metric at ``index`` of the list. Index 0 means none."""
        if index < 1:
            self._text = card_markdown(self.document)
            self._show_card()
            return
        other = list(self._others.values())[index - 1]
        table = compare_cards(self.document, card_document(other))
        self._text = comparison_markdown(table)
        self._show_comparison(
            _table_widget(table, bold=lambda row: bool(table.rows[row][-1]), is_comparison=True)
        )

    def _show_card(self) -> None:
        page = QWidget()
        column = vbox(page, spacing=16, margins=(12, 8, 12, 8))
        for section in self.document.sections:
            column.addWidget(_section_widget(section))
        column.addStretch(1)
        self.area.setWidget(page)

    def _show_comparison(self, widget: QWidget) -> None:
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(12, 8, 12, 8)
        column.addWidget(widget)
        column.addStretch(1)
        self.area.setWidget(page)

    def _choose_file(self) -> None:
        file, _ = choose_target(
            self, tr("Save the metric's card"), f"{self._metric.name}.md", "Markdown (*.md);;JSON (*.json)"
        )
        if file and self._save is not None:
            self._save(self._metric.name, file)


def card_document(metric: MetricFacts) -> CardDocument:
    """The card of a metric with the authors of its judgements. An unreadable card has the error message."""
    try:
        document = document_of(metric.name, metric.card, metric.scores)
        authors = MetricCard.from_json(metric.card).authors
    except BadInput as error:
        section = CardSection(
            tr("Metric"), (LabelledValue(tr("Name"), metric.name), LabelledValue(tr("Card"), error.message))
        )
        return CardDocument(metric.name, (section,), {})
    if not authors:
        return document
    judgements = CardSection(tr("Marks"), (LabelledValue(tr("Judged by"), ", ".join(authors)),))
    return CardDocument(document.name, (*document.sections, judgements), document.values)


def _section_widget(section: CardSection) -> QWidget:
    widget = QWidget()
    column = vbox(widget, spacing=6)
    header = hbox()
    title = WrappedLabel(section.title, "title", selectable=True)
    title.setWordWrap(False)
    header.addWidget(title)
    if section.measured_on:
        header.addWidget(Badge(_badge_kind(section.measured_on)))
    header.addStretch(1)
    column.addLayout(header)
    grid = QGridLayout()
    grid.setHorizontalSpacing(16)
    grid.setVerticalSpacing(4)
    grid.setColumnMinimumWidth(0, theme().px(_LABEL_WIDTH))
    grid.setColumnStretch(1, 1)
    for row, fact in enumerate(section.facts):
        grid.addWidget(WrappedLabel(fact.label, "second", selectable=True), row, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(WrappedLabel(_breakable(translate(fact.value)), selectable=True), row, 1)
    column.addLayout(grid)
    if section.table is not None:
        column.addWidget(_table_widget(section.table))
    return widget


def _breakable(text: str) -> str:
    """``text`` with line breaks allowed inside long words, because a content hash is wider than the dialog."""
    return " ".join(
        "\u200b".join(word[start : start + WRAP_AFTER] for start in range(0, len(word), WRAP_AFTER))
        for word in text.split(" ")
    )


def _badge_kind(measured_on: str) -> str:
    return "held-out" if measured_on == HELD_OUT_PATIENTS else "unknown"


def _table_widget(
    table: CardTable, bold: Callable[[int], bool] = lambda _row: False, *, is_comparison: bool = False
) -> QWidget:
    widget = QWidget()
    grid = QGridLayout(widget)
    grid.setContentsMargins(0, 4, 0, 0)
    grid.setHorizontalSpacing(16)
    grid.setVerticalSpacing(4)
    for column, text in enumerate(table.header):
        grid.addWidget(WrappedLabel(text, "second", selectable=True), 0, column)
        grid.setColumnStretch(column, 1)
    if is_comparison:
        # The values need the space between the first column and the last.
        for column in (0, len(table.header) - 1):
            grid.setColumnStretch(column, 0)
        grid.setColumnMinimumWidth(0, theme().px(_LABEL_WIDTH))
    for row, cells in enumerate(table.rows):
        for column, text in enumerate(cells):
            role = "second" if column == 0 else "title" if bold(row) and column < len(cells) - 1 else ""
            grid.addWidget(
                WrappedLabel(_breakable(text), role, selectable=True),
                row + 1,
                column,
                Qt.AlignmentFlag.AlignTop,
            )
    return widget
