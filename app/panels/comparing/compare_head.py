"""What stands above a picture of the Compare page."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel

from app.theme import news, set_look, theme
from app.widgets.boxes import hbox
from app.widgets.finding_chip import FindingChip
from core.language import tr


class CompareHead(QFrame):
    """Above a picture: what it is, its finding, and how far it lies."""

    def __init__(self, title: str) -> None:
        super().__init__()
        set_look(self, role="header")
        self._title, self._name, self._distance = QLabel(title), QLabel(), QLabel()
        for label in (self._name, self._distance):
            label.setTextFormat(Qt.TextFormat.PlainText)
            set_look(label, role="second")
        set_look(self._title, role="title")
        self._chip = FindingChip(-1, "?")
        row = hbox(self, spacing=8, margins=(12, 0, 12, 0))
        row.addWidget(self._title)
        row.addWidget(self._name)
        row.addWidget(self._chip)
        row.addStretch(1)
        row.addWidget(self._distance)
        news.changed.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        self.setFixedHeight(theme().px(32))

    def tell(self, title: str, name: str, finding: str | None, code: int, letter: str, distance: str) -> None:
        self._title.setText(title)
        self._name.setText(name)
        self._chip.set_finding(code, letter, finding or tr("finding not given"))
        self._distance.setText(distance)

    @property
    def title(self) -> str:
        """Which of the two it is, with its name."""
        return f"{self._title.text()} {self._name.text()}".strip()

    def tell_problem(self, problem: str) -> None:
        """Why there is no picture, in the place of the distance."""
        if problem:
            self._distance.setText(problem)
