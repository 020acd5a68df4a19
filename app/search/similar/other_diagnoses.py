"""The nearest cases with a different diagnosis, below the similar cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QSizePolicy, QToolTip, QWidget

from semblance.app.shell import search_operations
from semblance.app.shell import theme as themes
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.theme import BASE, SMALL, colour, plain_tip, theme
from semblance.app.widgets.cards.card_painter import ScaledImages
from semblance.app.widgets.cards.case_drag import CaseData, drag, is_drag
from semblance.app.widgets.finding_chips import SIDE, chip_pixmap
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.place_marks import draw_place
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr, translate
from semblance.core.library.case_columns import CaseColumns, ImageAvailability
from semblance.core.retrieval.explanation.sentence import spoken
from semblance.core.searches.similar_cases import MatchedPlace, RankedCase
from semblance.core.workflows.searches.search_result import SearchResult

#: A mark made within this time needs no differences of the ranking before it.
FIND_AFTER_MS = 50
#: A case of another finding that is farther than this rank is far.
FAR_RANK = 20

#: Height, side of the image and width of a case, with text in two lines, and in a single line.
#: The width has space for "Nearest malignant: rank 78, far" with its chip.
HEIGHT, IMAGE, WIDTH = 46, 42, 268
LINE_HEIGHT, LINE_IMAGE, LINE_WIDTH = 28, 24, 250
_PAD = 4


class OtherDiagnoses(QFrame):
    """The nearest case of each finding that most of the nearest ten have not. Always as high, with cases or without.

    ``chosen(row)``, ``activated(row)`` and ``menu_requested`` as in :class:`CaseStrip`.
    """

    chosen = Signal(int)
    activated = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__()
        self._context = context
        self.setObjectName("others")
        self.strip = CaseStrip(tr("Nearest cases with a different diagnosis"))
        self.strip.set_source(thumbnails)
        self.strip.chosen.connect(self.chosen)
        self.strip.activated.connect(self.activated)
        self.strip.menu_requested.connect(self.menu_requested)
        vbox(self, margins=(8, 4, 12, 4)).addWidget(self.strip)
        #: Catalogue rows and ids of the cases shown.
        self._sought: list[tuple[int, str]] = []
        # The ranking is painted first.
        self._find_timer = one_shot(self, self._find_differences, FIND_AFTER_MS)

    def show_ranking(
        self, ranking: SearchResult | None, columns: CaseColumns, places: Mapping[int, MatchedPlace]
    ) -> None:
        """``places``: those that lie on the small images, by catalogue row."""
        cases = [] if ranking is None else nearest_of_others(ranking, columns)
        listed = 0 if ranking is None else len(ranking.ranked)
        has_findings = len(columns.findings) > 1
        self.strip.set_empty_text(
            tr("No other finding is near.") if has_findings else tr("The library has no other finding.")
        )
        self.strip.set_cases([_strip_case(case, columns, listed, places.get(case.row)) for case in cases])
        self._sought = [(case.row, case.case_id) for case in cases]
        if cases:
            self._find_timer.start()
        else:
            self._find_timer.stop()

    def _find_differences(self) -> None:
        rows, ids = zip(*self._sought, strict=True)

        def show(groups: list[str]) -> None:
            self._show_differences(dict(zip(rows, groups, strict=True)))

        search_operations.find_differences(self._context, ids, show)

    def set_single_line(self, single_line: bool) -> None:
        """Show each case in a single line, where there is little space."""
        self.strip.set_single_line(single_line)

    def _show_differences(self, groups: dict[int, str]) -> None:
        """The feature group each case differs in most, by catalogue row."""
        cases = []
        for case in self.strip.cases:
            group = groups.get(case.row)
            note = tr("differs in {group}", group=_inside_sentence(group)) if group else ""
            cases.append(replace(case, note=note, text=f"{case.text}, {note}") if group else case)
        self.strip.set_cases(cases)


def nearest_of_others(ranking: SearchResult, columns: CaseColumns) -> list[RankedCase]:
    """The nearest case of each finding but that of most of the nearest ten, nearest first.

    A finding that none of the ranked cases has is only among them if the search found it beside them.
    """
    most = next(iter(ranking.counts), None)
    found: dict[str, RankedCase] = {}
    if most is None:
        return []
    for case in (*ranking.ranked, *ranking.others):
        # Findings can be renamed and cases removed since the search.
        is_known = case.finding in columns.findings and columns.index_of_row(case.row) >= 0
        if is_known and case.finding != most:
            found.setdefault(str(case.finding), case)
    return list(found.values())


def rank_text(rank: int, listed: int) -> str:
    """ "rank 78, far", of a ranking of ``listed`` cases; rank 0 is beyond them."""
    if not rank:
        return tr("beyond rank {rank}, far", rank=listed)
    return tr("rank {rank}, far", rank=rank) if rank > FAR_RANK else tr("rank {rank}", rank=rank)


def _strip_case(case: RankedCase, columns: CaseColumns, listed: int, place: MatchedPlace | None) -> StripCase:
    finding, rank = str(case.finding), rank_text(case.rank, listed)
    title = tr("Nearest {finding}:", finding=finding)
    chip = (columns.findings.index(finding), columns.letters[finding])
    has_image = bool(columns.state[columns.index_of_row(case.row)] != ImageAvailability.NO_IMAGE)
    return StripCase(case.row, title, rank, "", f"{title} {rank}, {case.case_id}", chip, has_image, place)


def _inside_sentence(name: str) -> str:
    """A name as it is written inside a sentence: "Grey inside" as "grey inside", "AUC" unchanged."""
    text = spoken(name)
    if text != name:
        return translate(text)
    return name[:1].lower() + name[1:] if name[1:].islower() else name


@dataclass(frozen=True)
class StripCase:
    """``row`` of the catalogue; ``title`` in bold, ``value`` beside it, ``note`` below both; ``text`` for a
    screen reader and the tooltip; ``chip``: code and letter of the finding; ``has_image``: false for a row of a table.
    ``place``: where a search by place found the query."""

    row: int
    title: str
    value: str
    note: str = ""
    text: str = ""
    chip: tuple[int, str] | None = None
    has_image: bool = True
    place: MatchedPlace | None = None


class CaseStrip(QWidget):
    """``chosen(row)`` when one becomes current, ``activated(row)`` by double click or Enter,
    ``menu_requested(row, global position)``."""

    chosen = Signal(int)
    activated = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._cases: tuple[StripCase, ...] = ()
        self._source: ThumbnailSource | None = None
        self._images = ScaledImages()
        self._place, self._hover, self._single_line = 0, -1, False
        self._pressed_at: QPoint | None = None
        self._empty_text = ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setMouseTracking(True)
        themes.theme_signals.changed.connect(self._update_style)
        self._update_accessible_text()

    def set_source(self, source: ThumbnailSource) -> None:
        if self._source is not None:
            self._source.ready.disconnect(self._images_ready)
        self._source = source
        self._images.clear()
        source.ready.connect(self._images_ready)
        self.update()

    def set_cases(self, cases: Sequence[StripCase]) -> None:
        if [case.row for case in cases] != [case.row for case in self._cases]:
            self._place = 0
        self._cases = tuple(cases)
        self.updateGeometry()
        self._update_accessible_text()
        self.update()

    def set_empty_text(self, text: str) -> None:
        """What is shown without cases."""
        self._empty_text = text
        self.update()

    def set_single_line(self, single_line: bool) -> None:
        """One line of text instead of two, with small images."""
        if single_line != self._single_line:
            self._single_line = single_line
            self.updateGeometry()
            self.update()

    @property
    def cases(self) -> tuple[StripCase, ...]:
        return self._cases

    def drawn_texts(self) -> list[str]:
        """The texts of the cases."""
        return [case.text for case in self._cases]

    def current(self) -> int:
        """The catalogue row of the current case, -1 without any."""
        return self._cases[self._place].row if self._cases else -1

    def visible_count(self) -> int:
        """How many cases fit."""
        return max(1, min(len(self._cases), self.width() // self._minimum_cell_width()))

    def cell_rect(self, place: int) -> QRect:
        """The rectangle of the case at ``place``."""
        return QRect(place * self._cell_width(), 0, self._cell_width(), self.height())

    def sizeHint(self) -> QSize:
        return QSize(theme().px(300), theme().px(LINE_HEIGHT if self._single_line else HEIGHT))

    def minimumSizeHint(self) -> QSize:
        return QSize(self._minimum_cell_width(), self.sizeHint().height())

    def _cell_width(self) -> int:
        """The visible cases share the width. Few cases in a wide panel stay close together."""
        minimum = min(self._minimum_cell_width(), self.width())
        return max(minimum, min(minimum * 3 // 2, self.width() // self.visible_count()))

    def _minimum_cell_width(self) -> int:
        return theme().px(LINE_WIDTH if self._single_line else WIDTH)

    def _update_accessible_text(self) -> None:
        self.setAccessibleName(self._name)
        text = self._cases[self._place].text if self._cases else tr("none")
        self.setAccessibleDescription(text)

    def _update_style(self) -> None:
        self.updateGeometry()
        self.update()

    def _images_ready(self, rows: frozenset[int]) -> None:
        for row in rows:
            self._images.forget(row)
        if any(case.row in rows for case in self._cases):
            self.update()

    # Mouse and keys

    def _position_at(self, point: QPoint) -> int:
        place = point.x() // self._cell_width()
        return place if 0 <= place < self.visible_count() and self._cases else -1

    def _select(self, place: int) -> None:
        self._place = place
        self._update_accessible_text()
        self.update()
        self.chosen.emit(self.current())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self._position_at(event.position().toPoint())
        self._pressed_at = None
        if place >= 0:
            self._select(place)
            if event.button() == Qt.MouseButton.LeftButton:
                self._pressed_at = event.position().toPoint()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        place = self._position_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and place >= 0:
            self._select(place)
            self.activated.emit(self.current())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        self._set_hover(self._position_at(point))
        if self._pressed_at is not None and is_drag(self._pressed_at, event):
            self._pressed_at = None
            drag(self, CaseData(self.current()), self._images.get(self.current()), self._source)

    def leaveEvent(self, event: QEvent) -> None:
        self._set_hover(-1)

    def _set_hover(self, place: int) -> None:
        if place != self._hover:
            self._hover = place
            self.update()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        place = self._place if by_key else self._position_at(event.pos())
        if not self._cases or place < 0:
            return
        self._select(place)
        where = self.mapToGlobal(self.cell_rect(place).center()) if by_key else event.globalPos()
        self.menu_requested.emit(self.current(), where)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
        if self._cases and event.key() in steps and not event.modifiers():
            self._select(max(0, min(self.visible_count() - 1, self._place + steps[Qt.Key(event.key())])))
        elif self._cases and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.activated.emit(self.current())
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            place = self._position_at(event.pos())
            if place >= 0:
                QToolTip.showText(event.globalPos(), plain_tip(self._cases[place].text), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    # Painting

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        if not self._cases:
            where = self.rect().adjusted(_PAD, 0, 0, 0)
            text_cache(BASE).draw(painter, where, self._empty_text, theme().third)
        self._images.begin(theme().px(LINE_IMAGE if self._single_line else IMAGE), self.devicePixelRatioF())
        for place in range(self.visible_count() if self._cases else 0):
            self._draw(painter, place)
        painter.end()
        if self._images.late:
            self.update()

    def _draw(self, painter: QPainter, place: int) -> None:
        tokens, case, cell_rect = theme(), self._cases[place], self.cell_rect(place)
        side = tokens.px(LINE_IMAGE if self._single_line else IMAGE)
        current = place == self._place and self.hasFocus()
        if current or place == self._hover:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setBrush(colour(tokens.selected if current else tokens.card_hover))
            painter.setPen(QPen(colour(tokens.accent), 2) if current else Qt.PenStyle.NoPen)
            painter.drawRoundedRect(QRectF(cell_rect).adjusted(1, 1, -1, -1), 4, 4)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        square = QRect(cell_rect.x() + _PAD, cell_rect.y() + (cell_rect.height() - side) // 2, side, side)
        if case.has_image:
            self._image(painter, square, case)
        else:
            square.setWidth(0)
        text_left = left = square.right() + 1 + 2 * _PAD
        bold, plain, small = text_cache(BASE, 600), text_cache(BASE), text_cache(SMALL)
        line = tokens.px(16)
        has_note = not self._single_line and bool(case.note)
        # One line alone stands beside the middle of the image.
        top = square.y() if has_note else cell_rect.y() + (cell_rect.height() - line) // 2
        available = cell_rect.right() - left
        if case.chip is not None:
            chip = chip_pixmap(*case.chip, self.devicePixelRatioF())
            painter.drawPixmap(left, top + (line - tokens.px(SIDE)) // 2, chip)
            left, available = left + tokens.px(SIDE) + 4, available - tokens.px(SIDE) - 4
        width = min(available, int(bold.width(case.title)) + 5)
        bold.draw(painter, QRect(left, top, width, line), case.title, tokens.text)
        value = QRect(left + width, top, max(0, available - width), line)
        plain.draw(painter, value, case.value, tokens.second)
        if has_note:
            available = cell_rect.right() - text_left
            note = QRect(text_left, top + line + 4, available, line)
            small.draw(painter, note, case.note, tokens.second)

    def _image(self, painter: QPainter, square: QRect, case: StripCase) -> None:
        painter.fillRect(square, colour(theme().image_well))
        pixmap = self._images.get(case.row)
        if pixmap is None and self._source is not None and (image := self._source.get(case.row)) is not None:
            pixmap = self._images.make(case.row, image)
        if pixmap is None:
            return
        ratio = self.devicePixelRatioF()
        x = square.x() + (square.width() - pixmap.width() / ratio) / 2
        y = square.y() + (square.height() - pixmap.height() / ratio) / 2
        painter.drawPixmap(round(x), round(y), pixmap)
        draw_place(painter, case.place, QRectF(x, y, pixmap.width() / ratio, pixmap.height() / ratio))
