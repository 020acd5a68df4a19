"""The last judgements at the bottom of the Query panel: a drop marks a case or an image, a button undoes the newest."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QImage,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QMenu, QSizePolicy, QWidget

from semblance.app.search.feedback import mark_cards
from semblance.app.search.feedback.judgement_list import LedgerModel, LedgerRow
from semblance.app.shell.context import Context
from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.state import Change
from semblance.app.shell.theme import BASE, SMALL, colour, theme
from semblance.app.widgets.cards.case_drag import dragged_case
from semblance.app.widgets.drop_target import dropped_file
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.menus import attach_menu, case_menu
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.text_cache import CENTRE, text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource, as_image
from semblance.core.language import format_number, tr, translate
from semblance.core.searches.feedback.judgements import JudgementKind, counts_in, outside_image
from semblance.core.workflows.imaging import card_images
from semblance.core.workflows.imaging.card_images import CardImage
from semblance.core.workflows.searches.rank_cases import RankedSearch

IMAGE, SPACING = 32, 68
_HINT = tr("Drop cases or an image here")
_ICONS = {JudgementKind.ALIKE: "plus", JudgementKind.NOT_ALIKE: "minus", JudgementKind.CLOSER: "target"}


class JudgementStrip(QWidget):
    """The newest judgements that count in the search. What is dropped on the left half is marked as more like the
    query, on the right half as less like it. ``list_requested``: show all of them."""

    list_requested = Signal()

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        self.setAcceptDrops(True)
        self.header = SectionHeader(tr("Judgements"))
        self.header.action_requested.connect(lambda: mark_cards.undo(context))
        self.images = _JudgementImages(context, thumbnails)
        self.images.clicked.connect(self.list_requested)
        #: What could not be used in the ranking.
        self.note = WrappedLabel(role="small")
        column = vbox(self, spacing=4)
        for widget in (self.header, self.images, self.note):
            column.addWidget(widget)
        self._sides = _DropSides(self)
        self._state.on_change(Change.SEARCH | Change.RANKING | Change.LIBRARY, self, self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        state, ranked_search = self._state, self._state.ranked_search
        judged = state.own_judgement_count
        self.setVisible(state.search is not None)
        self.header.set_note(format_number(judged, ",") if judged else _HINT if state.can_write else "")
        self.header.set_action(tr("Undo last") if judged else "")
        self.header.set_action_enabled(state.can_write)
        self.images.setVisible(judged > 0)
        problems = _problems(ranked_search) if ranked_search is not None else []
        self.note.setText(" ".join(problems))
        self.note.setVisible(bool(problems))
        if ranked_search is None or not judged:
            return
        rows = LedgerModel()
        search = ranked_search.search
        in_force = [
            entry
            for entry in ranked_search.entries
            if entry.undone is None and counts_in(entry.judgement, search)
        ]
        rows.show(state.search, in_force[-_JudgementImages.MAX_IMAGES :], (), state.columns)
        ranks: dict[int, int] = {case.row: case.rank for case in ranked_search.result.ranked}
        self.images.show_rows([(row, ranks.get(row.case, 0)) for row in rows.rows])

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._state.can_judge and self._dragged(event) is not None:
            event.acceptProposedAction()
            self._sides.show_side(event.position().x())

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.acceptProposedAction()
        self._sides.show_side(event.position().x())

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._sides.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._sides.hide()
        event.acceptProposedAction()
        if (dragged := self._dragged(event)) is not None:
            positive = event.position().x() < self.width() / 2
            mark_cards.mark_cases(self._context, [dragged], positive=positive)

    def _dragged(self, event: QDropEvent) -> str | None:
        """The id of the case, or the path of the file, that is dragged."""
        row, file = dragged_case(event.mimeData()), dropped_file(event.mimeData())
        if row is None:
            return None if file is None else str(file)
        index = self._state.columns.index_of_row(row)
        return self._state.columns.ids[index] if index >= 0 else None


def _problems(ranked_search: RankedSearch) -> list[str]:
    """Why concepts and marks do not count in a ranking."""
    left_out = list(map(translate, ranked_search.left_out))
    if ranked_search.refused is None or not ranked_search.search.is_shifted:
        return left_out
    why = str(ranked_search.refused)
    return [tr("The search continues without concepts. {why}", why=why), *left_out]


class _DropSides(QWidget):
    """Shown during a drag: the left half marks as more like the query, the right half as less like it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._section, self._like = parent, True
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_side(self, x: float) -> None:
        self._like = x < self._section.width() / 2
        self.setGeometry(self._section.rect())
        self.show()
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.fillRect(self.rect(), colour(tokens.panel))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        half = self.width() // 2
        for like, left, text in ((True, 0, tr("+ More like this")), (False, half, tr("− Less like this"))):
            box = QRect(left, 0, half, self.height()).adjusted(1, 1, -2, -2)
            on = like == self._like
            painter.setPen(QPen(colour(tokens.accent if on else tokens.strong_line), 2 if on else 1))
            painter.drawRoundedRect(QRectF(box), 4, 4)
            text_cache(BASE, 600 if on else 400).draw(painter, box, text, tokens.text, CENTRE)
        painter.end()


class _JudgementImages(QWidget):
    """Draws the newest judgements, as many as fit."""

    MAX_IMAGES = 12
    clicked = Signal()

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__()
        self._context, self._thumbnails = context, thumbnails
        #: Marked images from outside the library, by path.
        self._file_images: dict[Path, QImage | None] = {}
        self._rows: list[tuple[LedgerRow, int]] = []
        thumbnails.ready.connect(lambda _rows: self.update())
        # The first mark moves nothing.
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        policy.setRetainSizeWhenHidden(True)
        self.setSizePolicy(policy)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        attach_menu(self, self._make_menu)

    def _make_menu(self, at: QPoint) -> QMenu | None:
        """The menu of the case at a point."""
        place = at.x() // theme().px(SPACING)
        row = self._rows[place][0].case if 0 <= place < len(self._rows) else -1
        return case_menu(self._context.case_menu, self, row) if row >= 0 else None

    def show_rows(self, rows: list[tuple[LedgerRow, int]]) -> None:
        """Show judgements with the current rank of their cases; 0 for a case that is not in the ranking."""
        self._rows = rows
        sentences = ". ".join(row.sentence for row, _ in rows)
        self.setAccessibleName(tr("The last judgements: {judgements}", judgements=sentences))
        self.setToolTip("\n".join(row.sentence for row, _ in rows))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(SPACING) * 3, theme().px(IMAGE))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens, side = QPainter(self), theme(), theme().px(IMAGE)
        ratio = self.devicePixelRatioF()
        for place, (row, rank) in enumerate(self._rows):
            x = place * tokens.px(SPACING)
            if x + tokens.px(SPACING) > self.width() + tokens.px(8):
                break
            square = QRect(x, 0, side, side)
            painter.fillRect(square, colour(tokens.image_well))
            image = self._thumbnails.get(row.case) if row.case >= 0 else self._file_image(row.judgement.case)
            if image is not None:
                _draw(painter, image, square, ratio)
            size = tokens.px(16)
            fill = tokens.tool_on if row.judgement.kind != JudgementKind.CLOSER else "none"
            icon = icon_pixmap(_ICONS[row.judgement.kind], size, tokens.accent, ratio, fill)
            painter.drawPixmap(x + side + 6, 1, icon)
            rank_rect = QRect(x + side + 8, size, tokens.px(28), side - size)
            text_cache(SMALL).draw(painter, rank_rect, str(rank) if rank else "", tokens.third)
        painter.end()

    def _file_image(self, case: str) -> QImage | None:
        path = outside_image(case)
        if path is None or path in self._file_images:
            return self._file_images.get(path) if path is not None else None
        self._file_images[path] = None
        job = self._context.jobs.run(
            tr("Thumbnail"), card_images.file_image, path, 2 * IMAGE, pool=WorkerPool.READ, quiet=True
        )

        def show(found: CardImage) -> None:
            if found.pixels is not None:
                self._file_images[path] = as_image(found.pixels)
                self.update()

        job.done.connect(show)
        return None


def _draw(painter: QPainter, image: QImage, square: QRect, ratio: float) -> None:
    side = round(square.width() * ratio)
    scaled = image.scaled(
        side, side, Qt.AspectRatioMode.KeepAspectRatio, Qt.TransformationMode.SmoothTransformation
    )
    scaled.setDevicePixelRatio(ratio)
    width, height = scaled.width() / ratio, scaled.height() / ratio
    painter.drawImage(
        square.x() + round((square.width() - width) / 2),
        square.y() + round((square.height() - height) / 2),
        scaled,
    )
