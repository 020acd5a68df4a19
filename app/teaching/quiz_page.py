"""The page *Quiz*: the cases of a collection one after the other, their findings covered until one answers."""

from __future__ import annotations

import random

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QHideEvent, QImage, QPixmap, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.panel import FullPage
from semblance.app.widgets.thumbnail_loader import as_image
from semblance.core.language import tr, tr_n, visible
from semblance.core.library.collections import CollectionItem
from semblance.core.workflows.imaging.card_images import CardImage
from semblance.core.workflows.teaching.edit_collections import ListedCollection
from semblance.core.workflows.teaching.export_collection import item_image

#: Findings to choose from, if the cases have no more.
_MOST_CHOICES = 8


class QuizPage(FullPage):
    """Answers are counted and not stored: they are no marks. Cases without a finding, and those that are gone, are left
    out. ``running(on)``: it is shown, or not any more."""

    running = Signal(bool)

    def __init__(self, context: Context) -> None:
        super().__init__(tr("Quiz"))
        self._context = context
        #: Row, finding and item of each case.
        self._cases: list[tuple[int, str, CollectionItem]] = []
        self._place = self.answered = self.right = 0
        self._image = QImage()
        self.image = QLabel(alignment=Qt.AlignmentFlag.AlignCenter)
        self.image.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.image.setAccessibleName(tr("The image of this case"))
        self.question = ElidedLabel(role="title")
        self.answer = WrappedLabel()
        self.score = ElidedLabel(role="second")
        self.buttons: list[QPushButton] = []
        self.show_button = QPushButton(tr("Show the finding"))
        self.show_button.clicked.connect(lambda: self.choose(""))
        self.next_button = QPushButton(tr("Next case"))
        self.next_button.clicked.connect(self.go_on)
        set_look(self.next_button, primary=True)
        self._choices = vbox(spacing=6)
        side = vbox(spacing=12, margins=(16, 12, 16, 12))
        side.addWidget(self.question)
        side.addLayout(self._choices)
        acts = hbox(spacing=8)
        for widget in (self.show_button, self.next_button):
            acts.addWidget(widget)
        acts.addStretch(1)
        side.addLayout(acts)
        side.addWidget(self.answer)
        side.addStretch(1)
        side.addWidget(self.score)
        body = hbox()
        body.addWidget(self.image, 3)
        body.addLayout(side, 2)
        page = vbox(self)
        page.addWidget(self.header)
        page.addLayout(body, 1)
        context.state.on_change(Change.LIBRARY, self, self.closed.emit)

    def start(self, listed: ListedCollection) -> bool:
        """Begin with the cases of a collection in random order; whether there are any with a finding."""
        found = zip(listed.rows, listed.findings, listed.collection.items, strict=True)
        self._cases = [(row, finding, item) for row, finding, item in found if row is not None and finding]
        random.shuffle(self._cases)
        self._place, self.answered, self.right = -1, 0, 0
        for button in self.buttons:
            button.hide()
            button.deleteLater()
        self.buttons = []
        for finding in self._choices_of_findings():
            button = QPushButton(visible(finding).replace("&", "&&"))
            button.clicked.connect(lambda _=False, one=finding: self.choose(one))
            self._choices.addWidget(button)
            self.buttons.append(button)
        if self._cases:
            self.go_on()
        return bool(self._cases)

    def _choices_of_findings(self) -> list[str]:
        """The findings of the cases; as one alone is no question, then the most frequent others of the library too."""
        own = {finding for _, finding, _ in self._cases}
        if len(own) > 1:
            return sorted(own)
        columns = self._context.state.columns
        counts = dict(zip(columns.findings, columns.finding_counts, strict=False))
        others = sorted(
            (name for name in counts if counts[name] and name not in own), key=lambda name: -counts[name]
        )
        return sorted(own | set(others[: _MOST_CHOICES - 1]))

    def go_on(self) -> None:
        """Show the next case, its finding covered; after the last one begin again."""
        if self._place + 1 == len(self._cases):
            self._place, self.answered, self.right = -1, 0, 0
        self._place += 1
        # Above what is to be chosen from. The answer stands below.
        case = tr("Case {n} of {all}", n=self._place + 1, all=len(self._cases))
        self.question.setText(f"{case}. {tr('What does it show?')}")
        self.answer.setText("")
        self.next_button.setText(tr("Next case"))
        self._set_answered(False)
        self._image = QImage()
        self._draw()
        row, _, item = self._cases[self._place]
        job = self._context.jobs.run(
            tr("Opening the image"),
            item_image,
            self._context.state.location,
            row,
            item,
            pool=WorkerPool.DRAW,
            channel="quiz",
            quiet=True,
        )
        self._context.follow(job, self._show_image)

    def choose(self, finding: str) -> None:
        """Answer with ``finding``, or uncover the finding without an answer ("")."""
        _, right, item = self._cases[self._place]
        if finding:
            self.answered += 1
            self.right += finding == right
        verdict = "" if not finding else tr("Right.") + " " if finding == right else tr("Not this one.") + " "
        self.answer.setText(verdict + visible(right) + (f"\n\n{visible(item.notes)}" if item.notes else ""))
        self._set_answered(True)
        if self._place + 1 == len(self._cases):
            self.next_button.setText(tr("Begin again"))
        self.next_button.setFocus(Qt.FocusReason.OtherFocusReason)

    def _set_answered(self, answered: bool) -> None:
        for button in (*self.buttons, self.show_button):
            button.setEnabled(not answered)
        self.next_button.setEnabled(answered)
        self.score.setText(
            tr_n("{right} of {n} right", "{right} of {n} right", self.answered, right=self.right)
            + ". "
            + tr("Answers are not stored.")
        )

    def _show_image(self, image: CardImage) -> None:
        if image.pixels is not None and self._cases and image.row == self._cases[self._place][0]:
            self._image = as_image(image.pixels)
            self._draw()

    def _draw(self) -> None:
        pixmap = QPixmap.fromImage(self._image)
        if not pixmap.isNull():
            ratio = self.devicePixelRatioF()
            pixmap = pixmap.scaled(
                self.image.size() * ratio,
                Qt.AspectRatioMode.KeepAspectRatio,
                Qt.TransformationMode.SmoothTransformation,
            )
            pixmap.setDevicePixelRatio(ratio)
        self.image.setPixmap(pixmap)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.running.emit(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.running.emit(False)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._draw()
