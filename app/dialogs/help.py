"""Help pages in plain words, shown beside the work."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QTextBrowser, QVBoxLayout, QWidget

import resources


class HelpDialog(QDialog):
    """One page of ``resources/help``; links lead to the others."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Help")
        self.resize(560, 640)
        self.page = QTextBrowser()
        self.page.setOpenLinks(False)
        self.page.anchorClicked.connect(lambda url: self.show_page(url.fileName().removesuffix(".md")))
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.addWidget(self.page)

    def show_page(self, name: str) -> None:
        """The page called ``name``; the list of words where there is no such page."""
        pages = resources.path("help")
        file = pages / f"{name}.md"
        if not file.is_file():
            file = pages / "words.md"
        self.page.setMarkdown(file.read_text(encoding="utf-8"))
        self.show()
        self.raise_()
