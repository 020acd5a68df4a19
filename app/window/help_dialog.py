"""The help dialog: contents, search, and the page."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import (
    QDesktopServices,
    QImage,
    QKeySequence,
    QShortcut,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
    QTextTable,
)
from PySide6.QtWidgets import (
    QFrame,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QStyle,
    QTextBrowser,
    QTextEdit,
    QWidget,
)

from semblance import resources
from semblance.app.shell.actions import Actions
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.theme import (
    DISPLAY,
    OUTCOME,
    colour,
    font,
    plain_tip,
    set_look,
    theme,
    theme_signals,
)
from semblance.app.widgets.dialog import Dialog, resize_dialog, widen
from semblance.app.widgets.fields import SearchField
from semblance.app.widgets.layouts import fill, hbox, vbox
from semblance.app.widgets.tab_order import enable_widgets
from semblance.app.window import help_pages
from semblance.core.language import tr

_WIDTH, _HEIGHT = 820, 680
_CONTENTS = 220
#: Limit of marked search hits on a page.
_MAX_MARKS = 200
#: For pages with tables of more columns than this.
_WIDE_PAGE, _MAX_COLUMNS = 1180, 4


class HelpDialog(Dialog):
    """A help page beside the contents. Alt+Left goes back, Alt+Right forward."""

    def __init__(self, actions: Actions, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions = actions
        self.setWindowTitle(tr("Help"))
        resize_dialog(self, _WIDTH, _HEIGHT)
        self._back_pages: list[str] = []
        self._forward_pages: list[str] = []
        self.shown = ""
        self.search = SearchField(tr("Search the help"), icon_name="search")
        self.search.searched.connect(self._search)
        self.search.down_pressed.connect(self._focus_list)
        self.search.returnPressed.connect(self._focus_list)
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Pages of the help"))
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        # Pages that are passed quickly with the arrow keys are not laid out.
        self._page_timer = one_shot(self, self._show_chosen)
        self.list.currentItemChanged.connect(self._current_changed)
        self.list.itemActivated.connect(self._focus_page)
        self.back = QPushButton(tr("Back"))
        self.back.setToolTip(tr("To the page before (Alt+Left)"))
        # Otherwise Enter in the search field or the list would press it.
        self.back.setAutoDefault(False)
        self.back.clicked.connect(self.go_back)
        self.forward = QPushButton(tr("Forward"))
        self.forward.setToolTip(tr("To the page that Back left (Alt+Right)"))
        self.forward.setAutoDefault(False)
        self.forward.clicked.connect(self.go_forward)
        QShortcut(QKeySequence("Alt+Left"), self, self.go_back)
        QShortcut(QKeySequence("Alt+Right"), self, self.go_forward)
        QShortcut(QKeySequence("Ctrl+F"), self, self.search.setFocus)
        self.page = QTextBrowser()
        self.page.setAccessibleName(tr("Help page"))
        self.page.setOpenLinks(False)
        self.page.setFrameShape(QFrame.Shape.NoFrame)
        self.page.setSearchPaths([str(resources.path("help"))])
        # Long words scroll. Broken inside, a narrow column could not be read.
        self.page.setWordWrapMode(QTextOption.WrapMode.WordWrap)
        # A bar that appears and disappears would lay out long pages twice.
        self.page.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.page.anchorClicked.connect(self._follow)
        self._theme_timer = one_shot(self, self._set_document)
        left = vbox(spacing=8)
        for widget in (self.search, self.list):
            left.addWidget(widget)
        buttons = fill(hbox(spacing=8), (self.back, 1), (self.forward, 1))
        left.addLayout(buttons)
        fill(hbox(self, spacing=12, margins=(12, 12, 12, 12)), left, (self.page, 1))
        self._follow_theme()
        self._list_contents()
        theme_signals.changed.connect(self._follow_theme)

    def show_page(self, name: str) -> None:
        """Show the page ``name``; the glossary if there is no such page."""
        if self.shown and self.shown != name:
            self._back_pages.append(self.shown)
            self._forward_pages.clear()
        name = help_pages.PAGE_OF_PANEL.get(name, name)
        self._show(name if help_pages.has(name) else help_pages.FALLBACK)

    def go_back(self) -> None:
        """The page that was shown before this one."""
        if self._back_pages:
            self._forward_pages.append(self.shown)
            self._show(self._back_pages.pop())

    def go_forward(self) -> None:
        """The page that :meth:`go_back` left."""
        if self._forward_pages:
            self._back_pages.append(self.shown)
            self._show(self._forward_pages.pop())

    def _show(self, name: str) -> None:
        self.shown = name
        enable_widgets({self.back: bool(self._back_pages), self.forward: bool(self._forward_pages)})
        self._set_document()
        self._mark_found()
        tables = [f for f in self.page.document().rootFrame().childFrames() if isinstance(f, QTextTable)]
        if max((table.columns() for table in tables), default=0) > _MAX_COLUMNS:
            widen(self, _WIDE_PAGE)
        self._select_in_list(name)
        self.show()
        self.raise_()

    def _follow(self, url: QUrl) -> None:
        """Open a link of the page: another page relative to this one, a table in the program for CSV
        files, or a web page in the browser."""
        if url.scheme() in ("http", "https"):
            QDesktopServices.openUrl(url)
            return
        linked = help_pages.target(self.shown, url.path())
        if linked.endswith(".csv"):
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(resources.path("help") / linked)))
            return
        self.show_page(linked)

    # The list at the left

    def _list_contents(self) -> None:
        self.list.blockSignals(True)
        self.list.clear()
        for title, entries in help_pages.contents():
            heading = QListWidgetItem(title)
            heading.setFlags(Qt.ItemFlag.NoItemFlags)
            heading.setFont(font(OUTCOME, 600))
            self.list.addItem(heading)
            for entry in entries:
                item = QListWidgetItem(f"  {entry.title}")
                item.setData(Qt.ItemDataRole.UserRole, entry.page)
                item.setToolTip(plain_tip(entry.title))
                self.list.addItem(item)
        self.list.blockSignals(False)
        self._select_in_list(self.shown)

    def _search(self, text: str) -> None:
        """The pages that have ``text``, or the contents without any."""
        if not text.strip():
            self._list_contents()
            self.page.setExtraSelections([])
            return
        self.list.blockSignals(True)
        self.list.clear()
        for found in help_pages.find(text):
            item = QListWidgetItem(found.title)
            item.setData(Qt.ItemDataRole.UserRole, found.page)
            item.setToolTip(plain_tip(found.excerpt))
            self.list.addItem(item)
        if not self.list.count():
            self._add_line(tr("No page has these words."))
        self.list.blockSignals(False)

    def _add_line(self, text: str) -> None:
        line = QListWidgetItem(text)
        line.setFlags(Qt.ItemFlag.NoItemFlags)
        self.list.addItem(line)

    def _mark_found(self) -> None:
        """Mark the search terms and scroll to the first."""
        marks: list[QTextEdit.ExtraSelection] = []
        for word in self.search.text().split():
            at = self.page.document().find(word)
            while not at.isNull() and len(marks) < _MAX_MARKS:
                mark = QTextEdit.ExtraSelection()
                mark.cursor = at
                mark.format.setBackground(colour(theme().tool_on))
                marks.append(mark)
                at = self.page.document().find(word, at)
        self.page.setExtraSelections(marks)
        if marks:
            first = QTextCursor(min((mark.cursor for mark in marks), key=QTextCursor.selectionStart))
            first.clearSelection()
            self.page.setTextCursor(first)
            self.page.ensureCursorVisible()

    def _focus_list(self) -> None:
        self.list.setFocus(Qt.FocusReason.ShortcutFocusReason)
        for row in range(self.list.count()):
            if self.list.item(row).flags() & Qt.ItemFlag.ItemIsEnabled:
                self.list.setCurrentRow(row)
                return

    def _focus_page(self) -> None:
        self._show_chosen()
        self.page.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _current_changed(self) -> None:
        self._page_timer.start()

    def _show_chosen(self) -> None:
        item = self.list.currentItem()
        page = None if item is None else item.data(Qt.ItemDataRole.UserRole)
        if page and page != self.shown:
            self.show_page(page)

    def _select_in_list(self, name: str) -> None:
        """Make the shown page current in the list without a signal."""
        self.list.blockSignals(True)
        for row in range(self.list.count()):
            if self.list.item(row).data(Qt.ItemDataRole.UserRole) == name:
                self.list.setCurrentRow(row)
        self.list.blockSignals(False)

    # Looks

    def _follow_theme(self) -> None:
        self.list.setFixedWidth(theme().px(_CONTENTS))
        self.search.setFixedWidth(theme().px(_CONTENTS))
        for button in (self.back, self.forward):
            set_look(button, quiet=True)
        self.page.setStyleSheet(f"background: {theme().panel}; border: none;")
        # A closed dialog sets its document when it is opened, an open one after the window was styled.
        if self.isVisible():
            self._theme_timer.start()

    def _set_document(self) -> None:
        """Set the page as a new document. To change a long document while it is shown took 20 s."""
        document = QTextDocument(self.page)
        document.setDefaultFont(self.page.document().defaultFont())
        document.setDefaultTextOption(self.page.document().defaultTextOption())
        document.setMarkdown(self._text())
        self._format_document(document)
        self._fit_images(document)
        before = self.page.document()
        # Qt keeps the position of a double click, which is invalid in another document.
        before.clear()
        # Qt deletes its own first document itself.
        is_own = before.parent() is self.page
        self.page.setDocument(document)
        if is_own:
            before.deleteLater()

    def _text(self) -> str:
        """The Markdown of the page with the keys that the commands have now."""
        text = help_pages.with_keys(help_pages.text_of(self.shown), self._actions)
        return f"{text}\n{help_pages.commands_table(self._actions)}" if self.shown == "keyboard" else text

    def _fit_images(self, document: QTextDocument) -> None:
        """Scale images to the width of the page."""
        if "](images/" not in help_pages.text_of(self.shown):
            return
        layout = self.layout()
        if layout is not None:
            layout.activate()
        bar = self.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent)
        width = self.page.width() - bar - 2 * round(document.documentMargin())
        single = QTextBlockFormat()
        single.setLineHeight(0, QTextBlockFormat.LineHeightTypes.SingleHeight.value)
        cursor, block = QTextCursor(document), document.begin()
        while block.isValid():
            part = block.begin()
            while not part.atEnd():
                fragment = part.fragment()
                part += 1
                image = fragment.charFormat().toImageFormat()
                if image.isValid():
                    loaded = QImage(str(resources.path("help") / image.name()))
                    if width < loaded.width():
                        # Qt would leave out pixels, which breaks the letters of a screenshot.
                        pixels = round(width * self.devicePixelRatioF())
                        small = loaded.scaledToWidth(
                            min(pixels, loaded.width()), Qt.TransformationMode.SmoothTransformation
                        )
                        document.addResource(
                            QTextDocument.ResourceType.ImageResource.value, QUrl(image.name()), small
                        )
                    image.setWidth(min(width, loaded.width()))
                    cursor.setPosition(fragment.position())
                    cursor.setPosition(
                        fragment.position() + fragment.length(), QTextCursor.MoveMode.KeepAnchor
                    )
                    cursor.setCharFormat(image)
                    # The line height of text would leave a third of the image's height empty below it.
                    cursor.mergeBlockFormat(single)
            block = block.next()

    @staticmethod
    def _format_document(document: QTextDocument) -> None:
        """Set fonts of headings and spacing as in the window; Markdown has none of its own."""
        document.setDocumentMargin(16)
        document.setIndentWidth(16)
        space = QTextBlockFormat()
        space.setBottomMargin(theme().px(8))
        space.setLineHeight(135, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        cursor = QTextCursor(document)
        # All at once, because block by block long tables take ten times as long.
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.mergeBlockFormat(space)
        block = document.begin()
        while block.isValid():
            if level := block.blockFormat().headingLevel():
                cursor.setPosition(block.position())
                cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
                above, heading = QTextBlockFormat(), QTextCharFormat()
                above.setTopMargin(theme().px(14) if level > 1 else 0)
                cursor.mergeBlockFormat(above)
                heading.setFont(font(DISPLAY if level == 1 else OUTCOME, 600))
                cursor.mergeCharFormat(heading)
            block = block.next()
