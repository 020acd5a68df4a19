"""The last judgements at the bottom of the Query panel, and a button that undoes the newest."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtGui import QImage, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from semblance.app.search.feedback import mark_cards
from semblance.app.search.feedback.ledger_model import LedgerModel, LedgerRow
from semblance.app.shell.context import Context
from semblance.app.shell.icons import icon_pixmap
from semblance.app.shell.state import Change
from semblance.app.shell.theme import SMALL, colour, theme
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.text_cache import text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import format_number, tr
from semblance.core.searches.feedback.judgements import JudgementKind, counts_in

IMAGE, SPACING = 32, 68
_ICONS = {JudgementKind.ALIKE: "plus", JudgementKind.NOT_ALIKE: "minus", JudgementKind.CLOSER: "target"}


class JudgementStrip(QWidget):
    """Visible while judgements count in the search. ``list_requested``: show all of them."""

    list_requested = Signal()

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__()
        self._state = context.state
        self.header = SectionHeader(tr("Judgements"), action=tr("Undo last"))
        self.header.action_requested.connect(lambda: mark_cards.undo(context))
        self.images = _JudgementImages(thumbnails)
        self.images.clicked.connect(self.list_requested)
        column = vbox(self, spacing=4)
        column.addWidget(self.header)
        column.addWidget(self.images)
        self._state.on_change(Change.RANKING | Change.LIBRARY, self, self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        state, judged = self._state, self._state.own_judgement_count
        self.setVisible(judged > 0)
        if state.ranked_search is None or not judged:
            return
        rows = LedgerModel()
        search = state.ranked_search.search
        in_force = [
            entry
            for entry in state.ranked_search.entries
            if entry.undone is None and counts_in(entry.judgement, search)
        ]
        rows.show(state.search, in_force[-_JudgementImages.MAX_IMAGES :], (), state.columns)
        ranks = {case.row: case.rank for case in state.ranked_search.result.ranked}
        self.images.show_rows([(row, ranks.get(row.case, 0)) for row in rows.rows])
        self.header.set_note(format_number(judged, ","))
        self.header.set_action_enabled(state.can_write)


class _JudgementImages(QWidget):
    """Draws the newest judgements, as many as fit."""

    MAX_IMAGES = 12
    clicked = Signal()

    def __init__(self, thumbnails: ThumbnailSource) -> None:
        super().__init__()
        self._thumbnails = thumbnails
        self._rows: list[tuple[LedgerRow, int]] = []
        thumbnails.ready.connect(lambda _rows: self.update())
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

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
            image = self._thumbnails.get(row.case) if row.case >= 0 else None
            if image is not None:
                _draw(painter, image, square, ratio)
            size = tokens.px(16)
            fill = tokens.tool_on if row.judgement.kind != JudgementKind.CLOSER else "none"
            icon = icon_pixmap(_ICONS[row.judgement.kind], size, tokens.accent, ratio, fill)
            painter.drawPixmap(x + side + 6, 1, icon)
            rank_rect = QRect(x + side + 8, size, tokens.px(28), side - size)
            text_cache(SMALL).draw(painter, rank_rect, str(rank) if rank else "", tokens.third)
        painter.end()


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
