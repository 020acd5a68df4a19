"""The command palette: find and run every command with the keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QLabel,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from shiboken6 import isValid

from semblance.app.shell.actions import CommandEntry
from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.theme import BASE, SMALL, colour, set_look, theme
from semblance.app.widgets.labels import IconLabel
from semblance.app.widgets.layouts import HLine, fill, hbox, vbox
from semblance.app.widgets.text_cache import RIGHT, text_cache
from semblance.core.language import tr

WIDTH, ROWS, TOP = 576, 9, 88
_ROW = 32
_MAX_RECENT = 5
_Index = QModelIndex | QPersistentModelIndex


_WORD_START, _INSIDE, _INITIALS, _CATEGORY, _SYNONYM = 4000, 3000, 2000, 1000, 500
#: Words that a text need not contain to be found.
_SMALL_WORDS = frozenset(tr("a an and as for in into of on or the this to with").split())


@dataclass(frozen=True)
class CommandMatch:
    """An entry that was found. ``letters``: positions of the matching letters in its text."""

    entry: CommandEntry
    letters: frozenset[int] = frozenset()


def matches(entries: Sequence[CommandEntry], query: str) -> list[CommandMatch]:
    """The entries that match every word of ``query`` except small words, best first.

    A match at the start of a word is best, then inside a word, then initials, then the category, then the
    synonyms. Disabled entries come last. Equal entries keep their order.
    """
    terms = query.casefold().split()
    required = [word for word in terms if word not in _SMALL_WORDS] or terms
    found: list[tuple[tuple[bool, int], CommandMatch]] = []
    for entry in entries:
        score, letters = 0, set[int]()
        for word in terms:
            gain, at = _match_term(entry, word)
            if word not in required and gain <= _INSIDE:
                continue
            if not gain:
                break
            score += gain
            letters |= at
        else:
            found.append(((not entry.enabled, -score), CommandMatch(entry, frozenset(letters))))
    return [match for _, match in sorted(found, key=lambda pair: pair[0])]


def _match_term(entry: CommandEntry, word: str) -> tuple[int, set[int]]:
    text = entry.text.casefold()
    if len(text) != len(entry.text):
        # Case folding that changes the length would highlight other letters than were found.
        text = entry.text.lower() if len(entry.text.lower()) == len(entry.text) else entry.text
    at = _word_start(text, word)
    if at >= 0:
        return _WORD_START - at, set(range(at, at + len(word)))
    at = text.find(word)
    if at >= 0:
        return _INSIDE - at, set(range(at, at + len(word)))
    initials = _find_initials(text, word)
    if initials:
        return _INITIALS - initials[-1] + initials[0] - len(text), set(initials)
    if entry.category.casefold().startswith(word):
        return _CATEGORY, set()
    if _word_start(entry.synonyms.casefold(), word) >= 0:
        return _SYNONYM, set()
    return 0, set()


@lru_cache(maxsize=2048)
def _word_starts(text: str) -> tuple[int, ...]:
    """Where words start in ``text``, ascending. Cached, because every typed letter searches the same texts."""
    is_alnum = [letter.isalnum() for letter in text]
    return tuple(at for at, inside in enumerate(is_alnum) if inside and (at == 0 or not is_alnum[at - 1]))


def _word_start(text: str, word: str) -> int:
    return next((at for at in _word_starts(text) if text.startswith(word, at)), -1)


def _find_initials(text: str, word: str) -> list[int]:
    """Positions of the letters of ``word`` in order, each at the start of a word or right behind the letter
    before; empty if there are none."""
    starts = _word_starts(text)
    if not starts or len(word) < 2:
        return []

    def place(letter: int, after: int) -> list[int] | None:
        if letter == len(word):
            return []
        options = [at for at in range(after, len(text)) if text[at] == word[letter]]
        # Looser rules would find nearly everything.
        for at in options:
            if at in starts or (letter and at == after):
                rest = place(letter + 1, at + 1)
                if rest is not None:
                    return [at, *rest]
        return None

    return place(0, 0) or []


class CommandPalette(QWidget):
    """Covers its window while it is open. Typing filters, Enter runs, Esc or a click outside closes."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._entries: list[CommandEntry] = []
        self._recent: list[str] = []
        self._focus_before: QWidget | None = None
        self._model = _MatchesModel(self)
        self.field = QLineEdit()
        self.field.setPlaceholderText(tr("Type a few letters of a command"))
        self.field.setAccessibleName(tr("Search all commands"))
        self.field.setFrame(False)
        self.field.textChanged.connect(self._filter)
        self.field.installEventFilter(self)
        self.list = QListView()
        self.list.setModel(self._model)
        self.list.setItemDelegate(_CommandDelegate(self))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setMouseTracking(True)
        self.list.setUniformItemSizes(True)
        self.list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.entered.connect(self.list.setCurrentIndex)
        self.list.clicked.connect(lambda _index: self._run())
        self.list.setAccessibleName(tr("Commands"))
        self.no_match = QLabel(tr("No command matches."))
        self.no_match.setContentsMargins(18, 8, 18, 8)
        set_look(self.no_match, role="third")
        self.panel = self._frame()
        window.installEventFilter(self)
        QApplication.instance().focusChanged.connect(self._keep_focus)  # type: ignore[union-attr]
        self.hide()

    def open(self, entries: Sequence[CommandEntry]) -> None:
        """Show ``entries``, those that were run recently first."""
        recent = {text: place for place, text in enumerate(self._recent)}
        self._entries = sorted(entries, key=lambda entry: recent.get(entry.text, _MAX_RECENT))
        self._focus_before = self._window.focusWidget()
        self.field.clear()
        self._filter("")
        self.setGeometry(self._window.rect())
        self.show()
        self.raise_()
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)

    def shown(self) -> list[CommandEntry]:
        """The listed entries in order."""
        return [match.entry for match in self._model.matches]

    def dismiss(self) -> None:
        """Close and restore the focus."""
        if self.isHidden():
            return
        self.hide()
        if self._focus_before is not None and isValid(self._focus_before):
            self._focus_before.setFocus(Qt.FocusReason.PopupFocusReason)
        self._focus_before = None

    def _keep_focus(self, _before: QWidget | None, now: QWidget | None) -> None:
        """While this is open, what loads behind it may take the focus: its keys would then act there, unseen."""
        if self.isHidden() or now is None or now.window() is not self._window or self.isAncestorOf(now):
            return
        self._focus_before = now
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._window:
            if event.type() == QEvent.Type.Resize and not self.isHidden():
                self.setGeometry(self._window.rect())
                self._fit()
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event.key())
        return False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self.panel.geometry().contains(event.position().toPoint()):
            self.dismiss()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), colour("#000000", 0.4 if theme().is_dark else 0.18))
        painter.end()

    def _frame(self) -> QFrame:
        panel = QFrame(self)
        set_look(panel, role="palette")
        head = fill(hbox(spacing=11, margins=(17, 10, 12, 10)), IconLabel("search"), (self.field, 1))
        keys = QLabel(tr("Enter runs    ↑ ↓ moves    Esc closes"))
        keys.setContentsMargins(18, 8, 18, 8)
        set_look(keys, role="small")
        column = fill(vbox(panel, margins=(1, 1, 1, 1)), head, HLine())
        column.addSpacing(4)
        column.addWidget(self.list)
        column.addWidget(self.no_match)
        column.addSpacing(4)
        column.addWidget(HLine())
        column.addWidget(keys)
        return panel

    def _key(self, key: int) -> bool:
        moves: dict[int, int] = {
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_Tab: 1,
            Qt.Key.Key_Backtab: -1,
            Qt.Key.Key_PageDown: ROWS - 1,
            Qt.Key.Key_PageUp: 1 - ROWS,
        }
        if key in moves:
            self._move(moves[key])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._run()
        elif key == Qt.Key.Key_Escape:
            self.dismiss()
        else:
            return False
        return True

    def _move(self, steps: int) -> None:
        count = self._model.rowCount()
        if not count:
            return
        at = self.list.currentIndex().row() + steps
        # One step wraps around; a page stops at the end.
        at = at % count if abs(steps) == 1 else max(0, min(count - 1, at))
        self.list.setCurrentIndex(self._model.index(at))

    def _run(self) -> None:
        at = self.list.currentIndex().row()
        if not 0 <= at < self._model.rowCount():
            return
        entry = self._model.matches[at].entry
        if not entry.enabled:
            return
        self._recent = [entry.text, *(text for text in self._recent if text != entry.text)][:_MAX_RECENT]
        self.dismiss()
        entry.run()

    def _filter(self, query: str) -> None:
        self._model.show(matches(self._entries, query))
        if self._model.rowCount():
            self.list.setCurrentIndex(self._model.index(0))
            self.list.scrollToTop()
        self._fit()

    def _fit(self) -> None:
        count, row = self._model.rowCount(), theme().px(_ROW)
        self.no_match.setVisible(not count)
        self.list.setVisible(bool(count))
        space = max(3, (self._window.height() - 2 * TOP - theme().px(90)) // row)
        self.list.setFixedHeight(min(count, ROWS, space) * row)
        width = min(theme().px(WIDTH), self._window.width() - 32)
        self.panel.setFixedWidth(width)
        self.panel.adjustSize()
        left = (self._window.width() - width) // 2
        self.panel.move(left, min(TOP, max(8, self._window.height() - self.panel.height() - 8)))


class _MatchesModel(QAbstractListModel):
    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.matches: list[CommandMatch] = []

    def show(self, found: list[CommandMatch]) -> None:
        self.beginResetModel()
        self.matches = found
        self.endResetModel()

    def rowCount(self, parent: _Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.matches)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        entry = self.matches[index.row()].entry
        if role == Qt.ItemDataRole.DisplayRole:
            return entry.text
        if role == Qt.ItemDataRole.AccessibleDescriptionRole:
            return ", ".join(part for part in (entry.category, entry.shortcut) if part)
        return None


class _CommandDelegate(QStyledItemDelegate):
    """Draws icon, text with the matching letters in bold, category and shortcut."""

    def sizeHint(self, option: QStyleOptionViewItem, index: _Index) -> QSize:
        return QSize(WIDTH, theme().px(_ROW))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: _Index) -> None:
        model = index.model()
        assert isinstance(model, _MatchesModel)
        match, tokens = model.matches[index.row()], theme()
        entry, at = match.entry, QRect(option.rect)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        painter.save()
        if chosen:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(colour(tokens.selected))
            painter.drawRoundedRect(QRectF(at).adjusted(5, 0, -5, 0), 4, 4)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
            painter.fillRect(QRect(at.x() + 5, at.y() + 6, 2, at.height() - 12), colour(tokens.accent))
        ratio = painter.device().devicePixelRatioF()
        if entry.icon:
            shade = tokens.second if entry.enabled else tokens.disabled
            side = tokens.px(16)
            top = at.y() + (at.height() - side) // 2
            painter.drawPixmap(at.x() + 18, top, icon_pixmap(entry.icon, side, shade, ratio))
        right = at.right() - 17
        face = text_cache(SMALL)
        if entry.shortcut:
            space = int(face.width(entry.shortcut)) + 2
            face.draw(
                painter,
                QRect(right - space, at.y(), space, at.height()),
                entry.shortcut,
                tokens.second,
                RIGHT,
            )
            right -= space + 12
        left = 30 + tokens.px(16)
        x = self._text(painter, QRect(at.x() + left, at.y(), right - at.x() - left, at.height()), match)
        where = QRect(x + 10, at.y(), max(0, right - x - 10), at.height())
        shade = tokens.third if entry.enabled else tokens.disabled
        if where.width() > 24:
            text_cache(BASE).draw(painter, where, entry.category, shade)
        painter.restore()

    @staticmethod
    def _text(painter: QPainter, where: QRect, match: CommandMatch) -> int:
        """Draw the text; returns the x of its end."""
        tokens, entry = theme(), match.entry
        plain, bold = text_cache(BASE), text_cache(BASE, 600)
        shown, _ = plain.fitted(entry.text, where.width())
        x, begin = float(where.x()), 0
        while begin < len(shown):
            found = begin in match.letters
            end = begin
            while end < len(shown) and (end in match.letters) == found:
                end += 1
            part, face = shown[begin:end], bold if found else plain
            shade = tokens.accent if found else tokens.text
            width = face.width(part)
            box = QRect(round(x), where.y(), int(width) + 2, where.height())
            face.draw(painter, box, part, shade if entry.enabled else tokens.disabled)
            x += width
            begin = end
        return round(x)
