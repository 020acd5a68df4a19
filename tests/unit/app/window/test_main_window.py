"""What a window does after its first paint."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QMimeData, QObject, QPointF, QSize, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QWidget

from semblance.app.library import library_commands
from semblance.app.library.import_dialog import ImportDialog
from semblance.app.screenshot import wait_until_idle
from semblance.app.shell.library_operations import close_library
from semblance.app.shell.settings import Settings
from semblance.app.shell.theme import theme
from semblance.app.window.main_window import MainWindow
from semblance.app.window.preload import LATER_MODULES
from semblance.core.searches.query import Query
from semblance.core.workflows.library.import_source import recognise_source
from tests.helpers.dicom_files import image, save
from tests.helpers.images import striped_folder
from tests.helpers.windows import flush, open_window, search_first_case, wait_for

pytestmark = pytest.mark.usefixtures("without_processes")

LEFT = Qt.MouseButton.LeftButton

#: What is built, by the object that has it.
PANELS = ("thumbnails", "concepts", "ranking", "library", "query", "side", "evaluation")
PARTS = ("case_links", "search_view")


def drop(widget: QWidget, path: Path) -> None:
    mime = QMimeData()
    mime.setUrls([QUrl.fromLocalFile(str(path))])
    where, copying = widget.rect().center(), Qt.DropAction.CopyAction
    held = (mime, LEFT, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(widget, QDragEnterEvent(where, copying, *held))
    QApplication.sendEvent(widget, QDropEvent(QPointF(where), copying, *held))


def test_both_themes_and_every_text_size_can_be_drawn(library):
    with open_window(library) as window:
        window.panels.library.step(1)
        wait_until_idle(window)
        for name in ("light", "dark"):
            window.context.actions["theme"].trigger()
            assert theme().name == window.context.settings.theme == name
            window.context.actions["text_larger"].trigger()
            wait_until_idle(window)
            assert not window.grab().isNull()
        for _ in range(12):
            window.context.actions["text_smaller"].trigger()
        assert theme().text_scale == 0.8
        wait_until_idle(window)
        assert not window.grab().isNull()
        assert [m for m in window.context.messages.history if m.level == "error"] == []
    assert (Settings().theme, Settings().text_scale) == ("dark", 0.8)


def test_without_a_library_the_start_page_stands_alone(private_home):
    with open_window() as window:
        wait_for(window, lambda: window.built)
        assert window.start_page.isVisible()
        assert not any(dock.isVisible() for dock in window.parts.layout.docks.values())


def test_the_window_says_that_a_library_opens_and_shows_the_start_page_if_it_cannot(private_home, tmp_path):
    (tmp_path / "gone.semblance").mkdir()
    with open_window() as window:
        wait_for(window, lambda: window.built)
        window.open_library(tmp_path / "gone.semblance")
        assert window.opening_page.isVisible()
        assert "Opening gone" in [label.text() for label in window.opening_page.findChildren(QLabel)]
        wait_until_idle(window)
        assert window.start_page.isVisible()
        assert [message.level for message in window.context.messages.history] == ["error"]


def test_closing_leads_back_to_the_start_and_the_query_comes_back(qtbot, library):
    with open_window(library) as window:
        window.panels.library.step(3)
        wait_until_idle(window)
        query = window.state.query
        assert window.state.ranking is not None
        qtbot.keyClick(window, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
        assert window.start_page.isVisible()
        assert not any(dock.isVisible() for dock in window.parts.layout.docks.values())
        assert window.windowTitle() == "Semblance"
        assert window.context.settings.last_library is None
        assert not window.context.actions["report"].isEnabled()
        wait_until_idle(window)
        window.start_page.recent_requested.emit(str(library))
        wait_until_idle(window)
        assert window.state.query == query
        assert window.state.ranking is not None


@pytest.mark.parametrize("panel", ["library", "query", "train", "evaluation", "ranking"])
def test_f1_opens_the_page_of_the_panel_with_the_focus(qtbot, library, panel):
    with open_window(library) as window:
        window.activateWindow()
        if panel == "train":
            window.parts.layout.show_side("train")
        window.panels.library.step(1)
        wait_until_idle(window)
        where = {
            "library": window.panels.library.search,
            "query": window.panels.query.view,
            "train": window.panels.side.train.train_button,
            "evaluation": window.panels.evaluation.header.help_button,
            "ranking": window.panels.ranking.grid,
        }[panel]
        where.setFocus()
        assert where.hasFocus()
        qtbot.keyClick(where, Qt.Key.Key_F1)
        text = window.parts.commands.help_dialog.page.toPlainText()
        assert text.casefold().startswith({"ranking": "similar cases"}.get(panel, panel))


def test_the_palette_runs_a_command_by_keyboard(qtbot, library):
    with open_window(library) as window:
        window.activateWindow()
        qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        field = window.parts.commands.palette.field
        assert field.hasFocus()
        qtbot.keyClicks(field, "close libr")
        qtbot.keyClick(field, Qt.Key.Key_Return)
        wait_until_idle(window)
        assert window.state.library is None
        assert window.start_page.isVisible()


@pytest.mark.parametrize("where", ["start_page", "window"])
def test_a_dropped_library_is_opened(library, where):
    with open_window() as window:
        if where == "start_page":
            drop(window.start_page.viewport(), library)
        else:
            drop(window, library)
        wait_until_idle(window)
        assert window.state.location == library
        assert not window.start_page.drop_zone.property("held")


def test_a_dropped_image_is_the_query(library, trained):
    image = trained.parent / "images" / "level" / "p000.png"
    with open_window(library) as window:
        drop(window, image)
        wait_until_idle(window)
        assert window.state.query == Query(image=image)
        # The case of the library with the same pixels does not answer its own image.
        assert not any(case.case_id.endswith("level/p000.png") for case in window.state.ranking.ranked)
        assert window.state.ranking.same_patient + window.state.ranking.near_duplicates > 0


def test_a_dropped_dicom_file_is_the_query(library, trained, tmp_path):
    file = save(image(np.arange(64 * 64, dtype=np.uint16).reshape(64, 64)), tmp_path / "one.dcm")
    with open_window(library) as window:
        drop(window, file)
        wait_until_idle(window)
        assert window.state.query == Query(image=file)


def test_no_progress_is_shown_while_a_source_is_confirmed(monkeypatch, tmp_path):
    opened = []

    class Recorded(ImportDialog):
        def exec(self) -> int:
            opened.append((self.kind(), [job.title for job in window.jobs.active if job.title]))
            return 0

    monkeypatch.setattr(library_commands, "ImportDialog", Recorded)
    source = striped_folder(tmp_path / "images")
    with open_window() as window:
        window.parts.commands.library.import_with_options(source)
        wait_for(window, lambda: bool(opened))
        assert opened == [("folder", [])]


def test_a_source_recognised_after_closing_opens_no_dialog(monkeypatch, tmp_path):
    dialogs, late = [], []

    class Recorded(ImportDialog):
        def exec(self) -> int:
            dialogs.append(self)
            return 0

    monkeypatch.setattr(library_commands, "ImportDialog", Recorded)
    monkeypatch.setattr(
        library_commands.library_operations,
        "recognise",
        lambda _context, _source, answer: late.append(answer),
    )
    with open_window() as window:
        window.parts.commands.library.import_with_options(striped_folder(tmp_path / "images"))
        found = recognise_source(tmp_path / "images")
        late[0](found)
        window.close()
        flush()
        assert not dialogs
        window.show()
        late[0](found)
        flush()
        assert dialogs


def test_the_id_of_the_case_in_use_is_copied(qtbot, library):
    with open_window(library) as window:
        window.activateWindow()
        window.panels.library.step(1)
        wait_until_idle(window)
        window.panels.ranking.grid.setFocus()
        qtbot.keyClick(window.panels.ranking.grid, Qt.Key.Key_Home)
        window.context.actions["copy_case_id"].trigger()
        assert QGuiApplication.clipboard().text() == window.state.ranking.ranked[0].case_id
        window.panels.library.grid.setFocus()
        qtbot.keyClick(window.panels.library.grid, Qt.Key.Key_End)
        window.context.actions["copy_case_id"].trigger()
        assert QGuiApplication.clipboard().text() == window.state.columns.ids[-1]


class Windows(QObject):
    """Takes down every window that is shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() == QEvent.Type.Show and isinstance(watched, QWidget) and watched.isWindow():
            self.shown.append(type(watched).__name__)
        return False


def test_parts_that_are_built_late_never_flash_as_windows_of_their_own(qtbot, library):
    windows = Windows()
    qtbot.addWidget(holder := QWidget())
    windows.setParent(holder)
    with open_window() as window:
        QApplication.instance().installEventFilter(windows)
        window.open_library(library)
        wait_until_idle(window)
        search_first_case(window)
        for name in ("why", "train", "refine"):
            window.parts.layout.show_side(name)
        for tab in range(window.panels.evaluation.header.tabs.count()):
            window.panels.evaluation.header.tabs.setCurrentIndex(tab)
        window.parts.full.view_query()
        window.parts.full.ask_next()
        window.parts.full.compare(window.state.ranking.ranked[0].row)
        window.parts.full.leave()
        wait_until_idle(window)
        assert window.isActiveWindow()
        QApplication.instance().removeEventFilter(windows)
    assert windows.shown == []


def test_only_panels_that_were_shown_are_built(library):
    with open_window(library) as window:
        search_first_case(window)
        assert window.parts.full.pages() == {}
        before = len(window.findChildren(QWidget))
        window.parts.full.view_query()
        assert list(window.parts.full.pages()) == ["large"]
        assert len(window.findChildren(QWidget)) > before


def test_a_window_larger_than_the_screen_fills_it(library):
    with open_window(library) as window:
        window.resize(1440, 900)
        window.fit(QSize(1920, 1080))
        assert (window.width(), window.height()) == (1440, 900)
        assert not window.isMaximized()
        window.fit(QSize(1280, 800))
        assert window.isMaximized()


def test_a_file_is_added_by_the_menu_and_the_next_dialog_begins_beside_it(library, tmp_path, monkeypatch):
    given, folders = [], []

    def choose(_window, _title, folder, _kinds):
        folders.append(folder)
        return str(tmp_path / "more.zip"), ""

    monkeypatch.setattr(QFileDialog, "getOpenFileName", choose)
    monkeypatch.setattr(
        library_commands.LibraryCommands,
        "import_with_options",
        lambda _commands, source, into=None: given.append((source, into)),
    )
    with open_window(library) as window:
        window.context.actions["import_file"].trigger()
        window.context.actions["import_file"].trigger()
    assert given == [(tmp_path / "more.zip", library)] * 2
    assert folders == [str(Path.home()), str(tmp_path)]


def test_recent_libraries_have_images_when_no_library_is_open(library):
    with open_window(library) as window:
        close_library(window.context)
        wait_for(window, lambda: any(not p.pixmap().isNull() for p in window.start_page.previews.values()))


def test_the_end_of_building_a_window_is_emitted(qapp, private_home):
    window = MainWindow()
    built: list[bool] = []

    def record() -> None:
        parts = window.parts
        built.append("docks" in vars(parts.layout))
        built.extend(name in vars(parts.panels) for name in PANELS)
        built.extend(name in vars(parts) for name in PARTS)

    window.show()
    window.start(None, record)
    assert built == [] and "parts" not in vars(window)
    wait_until_idle(window)
    assert built and all(built)
    assert sys.modules.keys() >= set(LATER_MODULES)
    window.close()
    window.deleteLater()
    flush()
