"""The card of a metric: what it is, what it was trained on, and what was measured of it on what."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.theme import set_look
from core.errors import BadInput
from core.metrics.card import MetricCard
from core.metrics.online.clicks import LEARNER as CLICKS
from core.metrics.registry import learner_class, learner_title
from core.reports.card_facts import card_facts
from core.workflows.opening import MetricFacts

#: What stands where nothing was measured.
NOT_MEASURED = "nothing: no score may be claimed for it"


class MetricCardDialog(QDialog):
    """Facts of one metric, line by line, to be read and copied."""

    def __init__(self, metric: MetricFacts, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(f"Metric card: {metric.name}")
        self.resize(620, 560)
        self.lines = metric_lines(metric)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(6)
        self._grid.setColumnStretch(1, 1)
        for row, (name, value) in enumerate(self.lines):
            self._grid.addWidget(_label(name, "second"), row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(_label(value), row, 1)
        self._grid.setRowStretch(len(self.lines), 1)
        page = QWidget()
        page.setLayout(self._grid)
        area = QScrollArea()
        area.setWidget(page)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        copy = QPushButton("Copy")
        copy.clicked.connect(self._copy)
        close = QPushButton("Close")
        close.setDefault(True)
        close.clicked.connect(self.accept)
        buttons = QHBoxLayout()
        buttons.addWidget(copy)
        buttons.addStretch(1)
        buttons.addWidget(close)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 16)
        column.setSpacing(12)
        column.addWidget(area, 1)
        column.addLayout(buttons)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText("\n".join(f"{name}: {value}" for name, value in self.lines))


def metric_lines(metric: MetricFacts) -> list[tuple[str, str]]:
    """(name, value) of everything known of ``metric``; a card that cannot be read says so."""
    try:
        card = MetricCard.from_json(metric.card)
    except BadInput as error:
        return [("Metric", metric.name), ("Card", error.message)]
    lines = [("Metric", metric.name), ("Measured on", card.measured_on or NOT_MEASURED)]
    lines += [(fact.label, fact.value) for fact in card_facts(card, learner_title(card.learner))]
    if card.authors:
        lines.append(("Judged by", ", ".join(card.authors)))
    if card.learner != CLICKS:
        lines.append(("Paper", learner_class(card.learner).paper))
    versions = ", ".join(f"{name} {version}" for name, version in card.versions.items())
    return [*lines, ("Versions", versions)] if versions else lines


def _label(text: str, role: str = "") -> QLabel:
    label = QLabel(text)
    # Findings and columns are called what their files say: text, never HTML.
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setWordWrap(True)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    if role:
        set_look(label, role=role)
    return label
