"""Help pages in plain words, shown beside the work."""

from __future__ import annotations

from PySide6.QtGui import QTextBlockFormat, QTextCharFormat, QTextCursor, QTextOption, QTextTable
from PySide6.QtWidgets import QDialog, QFrame, QTextBrowser, QVBoxLayout, QWidget

import resources
from app.theme import DISPLAY, OUTCOME, font, news, theme

_WIDTH, _HEIGHT = 560, 640
#: For pages with tables of more columns than this.
_WIDE, _FEW_COLUMNS = 960, 4


class HelpDialog(QDialog):
    """One page of ``resources/help``; links lead to the others."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Help")
        self.resize(_WIDTH, _HEIGHT)
        self.page = QTextBrowser()
        self.page.setOpenLinks(False)
        self.page.setFrameShape(QFrame.Shape.NoFrame)
        # Words that do not fit scroll: broken within, a narrow column could not be read.
        self.page.setWordWrapMode(QTextOption.WrapMode.WordWrap)
        self._follow_theme()
        self.page.anchorClicked.connect(lambda url: self.show_page(url.fileName().removesuffix(".md")))
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.addWidget(self.page)
        news.changed.connect(self._follow_theme)

    def show_page(self, name: str) -> None:
        """The page called ``name``; the list of words where there is no such page."""
        pages = resources.path("help")
        file = pages / f"{name}.md"
        if not file.is_file():
            file = pages / "words.md"
        self.page.setMarkdown(file.read_text(encoding="utf-8"))
        self._set_type()
        tables = [f for f in self.page.document().rootFrame().childFrames() if isinstance(f, QTextTable)]
        if max((table.columns() for table in tables), default=0) > _FEW_COLUMNS:
            self.resize(max(self.width(), theme().px(_WIDE)), self.height())
        self.show()
        self.raise_()

    def _follow_theme(self) -> None:
        self.page.setStyleSheet(f"background: {theme().panel}; border: none;")
        self._set_type()

    def _set_type(self) -> None:
        """Headings and spaces as in the rest of the window; Markdown has none of its own."""
        document = self.page.document()
        document.setDocumentMargin(16)
        document.setIndentWidth(16)
        cursor = QTextCursor(document)
        block = document.begin()
        while block.isValid():
            cursor.setPosition(block.position())
            cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
            level = block.blockFormat().headingLevel()
            space = QTextBlockFormat()
            space.setTopMargin(theme().px(14) if level > 1 else 0)
            space.setBottomMargin(theme().px(8))
            space.setLineHeight(135, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
            cursor.mergeBlockFormat(space)
            if level:
                heading = QTextCharFormat()
                heading.setFont(font(DISPLAY if level == 1 else OUTCOME, 600))
                cursor.mergeCharFormat(heading)
            block = block.next()
        cursor.setPosition(0)
        self.page.setTextCursor(cursor)
