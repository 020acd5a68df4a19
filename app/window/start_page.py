"""The start page: the demo, a new library, opening one, and recent libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QImage,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from semblance.app.shell.actions import Actions
from semblance.app.shell.settings import RecentLibrary
from semblance.app.shell.theme import colour, plain_tip, set_look, theme, theme_signals
from semblance.app.widgets.buttons import KeyTip
from semblance.app.widgets.labels import ElidedLabel, IconLabel
from semblance.app.widgets.layouts import fill, hbox, vbox
from semblance.app.widgets.panel import header_button
from semblance.core.language import tr, translate, visible
from semblance.core.library.case_names import date_name
from semblance.core.library.location import LibraryLocation, library_name
from semblance.core.purpose import PURPOSE

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MAX_WIDTH = 896
MAX_RECENT = 6
#: Number of images beside a recent library, and the longest side of one in px at text scale 1.
PREVIEWS, PREVIEW_PX = 4, 48
FORMATS = tr(
    "DICOM · mammograms · ultrasound · volumes (NIfTI, NRRD) · folders as findings · zips · table (CSV) · MedMNIST"
)


class StartPage(QScrollArea):
    """The page to choose a library.

    Somebody new sees first what can be done, somebody who comes back the recent libraries. ``demo_requested`` ·
    ``new_requested`` · ``open_requested`` · ``recent_requested(path)`` · ``forget_requested(path)`` remove it from the
    list · ``dropped(path)`` a file or folder dropped on the page · ``glossary_requested`` the glossary.
    """

    demo_requested = Signal()
    new_requested = Signal()
    file_requested = Signal()
    open_requested = Signal()
    server_requested = Signal()
    recent_requested = Signal(str)
    forget_requested = Signal(str)
    dropped = Signal(str)
    glossary_requested = Signal()

    def __init__(self, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._focused = False
        self.setAcceptDrops(True)
        self.viewport().setAcceptDrops(True)
        self._demo = _StartCard(
            "play",
            tr("Try the demo"),
            tr(
                "A synthetic library with a trained metric. It is made on this computer. Nothing is "
                "downloaded."
            ),
            tr("Try the demo"),
        )
        self.demo_button = self._demo.button
        self._new = _StartCard(
            "folder-plus",
            tr("New library"),
            tr(
                "From a folder of images, a zip or a table. You see what was recognised and can correct it "
                "before anything is saved."
            ),
            tr("Choose a folder…"),
        )
        self.file_button = self._new.add_button(tr("Choose a file…"))
        self.file_button.clicked.connect(self.file_requested)
        self._open = _StartCard(
            "folder",
            tr("Open library"),
            tr("A folder whose name ends in .semblance, or a library on a server that several people share."),
            tr("Open…"),
        )
        self.server_button = self._open.add_button(tr("On a server…"))
        self.server_button.clicked.connect(self.server_requested)
        self._help_key = _label("", "third")
        for command in ("demo", "help"):
            actions[command].changed.connect(self._show_keys)
        self._show_keys()
        # Two buttons leave no space for their keys.
        for button, command in (
            (self._new.button, "new_library_folder"),
            (self.file_button, "new_library"),
            (self._open.button, "open_library"),
        ):
            KeyTip(button, actions[command].text(), actions, command)
        for card, signal in (
            (self._demo, self.demo_requested),
            (self._new, self.new_requested),
            (self._open, self.open_requested),
        ):
            card.button.clicked.connect(signal)
        self.drop_zone = _DropZone()
        self._recent = vbox(spacing=4)
        self._first_recent: QPushButton | None = None
        self._is_new = True
        self._title = _label("", "display")
        self.previews: dict[LibraryLocation, QLabel] = {}
        self._column = QWidget()
        self._column.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self._cards = QGridLayout()
        self._lay_out()
        self.set_recent([])
        theme_signals.changed.connect(self._fit)
        self._fit()

    def _show_keys(self) -> None:
        self._demo.show_key(self._actions.key_text("demo"))
        key = self._actions.key_text("help")
        self._help_key.setText(tr("{key} opens help for any panel", key=key) if key else "")

    def show_demo_made(self, *, is_made: bool) -> None:
        """Show on the button of the demo that it is being made, or offer it.

        It keeps the keyboard: Enter pressed twice must not open what is beside it.
        """
        self.demo_button.setText(tr("Making the demo…") if is_made else tr("Try the demo"))

    def set_recent(self, libraries: Sequence[RecentLibrary]) -> None:
        """Show recent libraries, the newest first. Those that do not exist are marked and can be removed."""
        while item := self._recent.takeAt(0):
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()
        self.previews, self._first_recent = {}, None
        for recent in libraries[:MAX_RECENT]:
            line = RecentLine(recent)
            line.button.clicked.connect(partial(self.recent_requested.emit, str(recent.location)))
            line.forget.clicked.connect(partial(self.forget_requested.emit, str(recent.location)))
            self.previews[recent.location] = line.preview
            self._recent.addWidget(line)
            if self._first_recent is None and line.is_found:
                self._first_recent = line.button
        is_new = self._is_new = not libraries
        set_look(self.demo_button, primary=is_new)
        self._title.setText(tr("Open a library") if is_new else tr("Recent"))
        for widget in self._for_new:
            widget.setVisible(is_new)
        for card in (self._demo, self._new, self._open):
            card.set_short(short=not is_new)
        self._fit()

    def show_previews(self, previews: Mapping[LibraryLocation, Sequence[npt.NDArray[np.uint8]]]) -> None:
        """Show images of recent libraries: (h, w, 3) RGB."""
        for path, label in self.previews.items():
            images = previews.get(path, ())
            if images:
                label.setPixmap(_strip(images, label.size(), self.devicePixelRatioF()))

    def set_dragging(self, dragging: bool) -> None:
        """Whether something that can be opened is dragged over the window."""
        self.drop_zone.set_dragging(dragging)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if _local_path(event.mimeData()):
            event.acceptProposedAction()
            self.set_dragging(True)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.acceptProposedAction()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self.set_dragging(False)

    def dropEvent(self, event: QDropEvent) -> None:
        self.set_dragging(False)
        path = _local_path(event.mimeData())
        if path:
            event.acceptProposedAction()
            self.dropped.emit(path)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self._focused:
            self._focused = True
            (self._first_recent or self.demo_button).setFocus(Qt.FocusReason.TabFocusReason)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        available = self.viewport().width() - 48
        self._column.setFixedWidth(max(280, min(theme().px(MAX_WIDTH), available)))
        beside = self._column.width() >= theme().px(640)
        cards = (self._demo, self._new, self._open) if self._is_new else (self._new, self._open, self._demo)
        for place, card in enumerate(cards):
            self._cards.removeWidget(card)
            self._cards.addWidget(card, *((0, place) if beside else (place, 0)))
        for place in range(3):
            self._cards.setColumnStretch(place, 1 if beside or place == 0 else 0)

    def _lay_out(self) -> None:
        self._cards.setContentsMargins(0, 0, 0, 0)
        self._cards.setSpacing(16)
        glossary_link = QPushButton(tr("What is a metric? What is a finding? Open the glossary"))
        glossary_link.clicked.connect(self.glossary_requested)
        set_look(glossary_link, link=True)
        about = _label(
            tr(
                "A library is a folder that knows your cases, their findings and their features. "
                "The images stay where they are."
            ),
            "second",
        )
        about.setWordWrap(True)
        purpose = _label(translate(PURPOSE), "third")
        purpose.setWordWrap(True)
        #: What somebody who comes back knows.
        self._for_new = (about, glossary_link)
        lower = fill(hbox(spacing=16), (self._help_key, 1), glossary_link)
        column = vbox(self._column, margins=(0, 24, 0, 24))
        column.addWidget(self._title)
        column.addSpacing(6)
        column.addWidget(about)
        column.addSpacing(6)
        column.addLayout(self._recent)
        column.addSpacing(18)
        column.addLayout(self._cards)
        column.addSpacing(16)
        column.addWidget(self.drop_zone)
        column.addSpacing(16)
        column.addWidget(purpose)
        column.addSpacing(6)
        column.addLayout(lower)
        page = QWidget()
        set_look(page, role="scrolled")
        around = QVBoxLayout(page)
        around.setContentsMargins(24, 0, 24, 0)
        around.addStretch(2)
        around.addWidget(self._column, 0, Qt.AlignmentFlag.AlignHCenter)
        around.addStretch(3)
        self.setWidget(page)


class RecentLine(QWidget):
    """A recent library: a ``button`` over its whole line, with its ``preview``, and ``forget`` where it is not found.
    Such a one can still be opened, as when its disk was connected since."""

    def __init__(self, recent: RecentLibrary) -> None:
        super().__init__()
        library = recent.location
        exists = self.is_found = not isinstance(library, Path) or library.is_dir()
        where = _where(library, exists=exists)
        facts = _facts(recent)
        self.button = QPushButton()
        set_look(self.button, role="row")
        name = visible(library_name(library))
        self.button.setAccessibleName(", ".join(filter(None, (name, facts, where))))
        self.button.setToolTip(plain_tip(str(library)))
        self.button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.preview = QLabel()
        title = ElidedLabel(name, role="outcome" if exists else "second")
        lines = vbox(spacing=2)
        below = ElidedLabel(where, role="third", mode=Qt.TextElideMode.ElideMiddle)
        texts = [title, ElidedLabel(facts, role="second"), below] if facts else [title, below]
        lines.addStretch(1)
        for label in texts:
            lines.addWidget(label)
        lines.addStretch(1)
        fill(hbox(self.button, spacing=12, margins=(8, 4, 12, 4)), self.preview, (lines, 1))
        for inner in self.button.findChildren(QLabel):
            inner.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.forget = header_button("close", tr("Remove {name} from this list", name=name))
        self.forget.setVisible(not exists)
        fill(hbox(self, spacing=4), (self.button, 1), self.forget)
        theme_signals.changed.connect(self._fit)
        self._fit()

    def _fit(self) -> None:
        self.preview.setFixedSize(theme().px(PREVIEWS * PREVIEW_PX), theme().px(PREVIEW_PX))
        self.button.setFixedHeight(theme().px(PREVIEW_PX + 12))


class _StartCard(QFrame):
    def __init__(self, icon: str, title: str, text: str, button: str) -> None:
        super().__init__()
        set_look(self, role="card")
        self.setAccessibleName(title)
        self._is_short = False
        self._title, self._text = QLabel(title), QLabel(_spaced(text))
        self._text.setWordWrap(True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        set_look(self._title, role="outcome")
        set_look(self._text, role="second")
        self.button = QPushButton(button)
        head = fill(hbox(spacing=12), IconLabel(icon, "text", 18), (self._title, 1))
        foot = self._foot = hbox(spacing=8)
        foot.addWidget(self.button)
        foot.addStretch(1)
        self._key = _label("", "small")
        foot.addWidget(self._key)
        column = self._inside = QVBoxLayout(self)
        column.setContentsMargins(16, 16, 16, 14)
        column.setSpacing(14)
        fill(column, head, (self._text, 1), foot)
        theme_signals.changed.connect(self._fit)

    def set_short(self, *, short: bool) -> None:
        """Show the buttons without the text about them."""
        self._text.setVisible(not short)
        self._is_short = short
        self._fit()

    def show_key(self, key: str) -> None:
        """Show the key of the button at the right."""
        self._key.setText(key)

    def add_button(self, text: str) -> QPushButton:
        """A second button beside the first."""
        button = QPushButton(text)
        self._foot.insertWidget(1, button)
        return button

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        # A layout in a scroll area ignores the height of wrapped text.
        margins = self.contentsMargins() + self._inside.contentsMargins()
        text = (
            0
            if self._is_short
            else self._text.heightForWidth(self.width() - margins.left() - margins.right())
        )
        rest = theme().px(26) + theme().px(24) + 2 * 14 + margins.top() + margins.bottom()
        # Side by side the cards are equally high, below each other as high as necessary.
        least = theme().px(178) if self.width() < theme().px(400) and not self._is_short else 0
        self.setMinimumHeight(max(least, text + rest))


class _DropZone(QWidget):
    """A hint that files can be dropped. The whole window accepts them."""

    def __init__(self) -> None:
        super().__init__()
        self._is_dragging = False
        title = _label(tr("Or drop a folder or file anywhere in this window"), "outcome")
        self.setAccessibleName(title.text())
        kinds = _label(FORMATS, "third")
        column = vbox(self, spacing=6, margins=(16, 18, 16, 18))
        for label in (title, kinds):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            label.setWordWrap(True)
            column.addWidget(label)

    def set_dragging(self, dragging: bool) -> None:
        if dragging != self._is_dragging:
            self._is_dragging = dragging
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        pen = QPen(
            colour(tokens.accent if self._is_dragging else tokens.strong_line), 2 if self._is_dragging else 1
        )
        pen.setDashPattern([5, 4])
        painter.setPen(pen)
        if self._is_dragging:
            painter.setBrush(colour(tokens.selected))
        half = pen.widthF() / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(half, half, -half, -half), 6, 6)
        painter.end()


def _facts(recent: RecentLibrary) -> str:
    opened = tr("opened {day}", day=date_name(recent.opened)) if recent.opened else ""
    return " · ".join(filter(None, (recent.cases, recent.kind, opened)))


def _where(library: LibraryLocation, *, exists: bool) -> str:
    if not isinstance(library, Path):
        return (
            tr("on {host} as {user}", host=library.host, user=library.user) if library.user else library.host
        )
    return str(library.parent) if exists else tr("{folder} (not found)", folder=library.parent)


def _spaced(text: str) -> str:
    """Text with more space between its lines."""
    return f'<p style="line-height: 135%; margin: 0">{text}</p>'


def _strip(images: Sequence[npt.NDArray[np.uint8]], size: QSize, ratio: float) -> QPixmap:
    """``images`` side by side, each in a square."""
    side = size.height() * ratio
    strip = QPixmap(size * ratio)
    strip.fill(Qt.GlobalColor.transparent)
    painter = QPainter(strip)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
    for place, pixels in enumerate(images):
        height, width = pixels.shape[:2]
        image = QImage(pixels.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888)
        scale = (side - 2) / max(width, height)
        drawn = QRectF(0, 0, width * scale, height * scale)
        drawn.moveCenter(QPointF((place + 0.5) * side, side / 2))
        painter.drawImage(drawn, image)
    painter.end()
    strip.setDevicePixelRatio(ratio)
    return strip


def _local_path(data: QMimeData) -> str:
    """The first file or folder of a drag; empty where there is none."""
    return next((url.toLocalFile() for url in data.urls() if url.isLocalFile()), "")


def _label(text: str, role: str) -> QLabel:
    label = QLabel(text)
    set_look(label, role=role)
    return label
