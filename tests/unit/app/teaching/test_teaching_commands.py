"""Collections in the window: cases are put in, ordered, noted, removed and restored; the quiz covers findings."""

from __future__ import annotations

import zipfile

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from semblance.app.teaching.export_collection_dialog import ExportCollectionDialog
from semblance.app.teaching.teaching_commands import TeachingCommands
from semblance.app.widgets.dialog import NameDialog
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.imaging.region import Region
from semblance.core.library.collections import CollectionItem
from semblance.core.library.library import Library
from semblance.core.searches.query import Query
from semblance.core.workflows.library.edit_cases import remove_cases
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.teaching.export_collection import CollectionExport
from tests.helpers.libraries import make_library


@pytest.fixture
def path(tmp_path):
    return make_library(tmp_path / "lib.semblance")


class NoThumbnails(ThumbnailSource):
    def get(self, case_row):
        return None


class Rows(list):
    """Selected rows."""

    def tolist(self):
        return list(self)


@pytest.fixture
def commands(qtbot, context, path):
    parent = QWidget()
    qtbot.addWidget(parent)
    made = TeachingCommands(context, parent, NoThumbnails(), lambda: Rows([1, 3]))
    made.list_requested.connect(lambda _name, panel: qtbot.addWidget(panel))
    made.page_requested.connect(lambda _name, page: qtbot.addWidget(page))
    context.state.set_library(read_snapshot(path))
    context.jobs.run_pending()
    return made


def stored(path):
    with Library.open(path) as library:
        return [(one.name, [item.case for item in one.items]) for one in library.collections.all()]


def undo(context):
    message = context.messages.history[-1]
    dict(message.actions)["Undo"]()
    context.jobs.run_pending()


def test_selected_cases_go_into_a_new_collection_and_the_region_with_the_query(
    commands, context, path, monkeypatch
):
    monkeypatch.setattr(NameDialog, "ask", lambda _: "Masses")
    menu = QMenu()
    commands.fill_menu(menu, 3)
    (entry,) = (action for action in menu.actions() if action.text() == "Add 2 cases to a collection")
    (new,) = (action for action in entry.menu().actions() if action.text() == "New collection…")
    new.trigger()
    context.jobs.run_pending()
    assert stored(path) == [("Masses", ["s/0.png", "s/2.png"])]
    context.state.set_query(Query(case="s/1.png", region=Region(1, 1, 4, 4)))
    commands.fill_menu(inner := QMenu(), 2)
    into = next(action for action in inner.actions() if action.text() == "Add to a collection").menu()
    into.actions()[0].trigger()
    context.jobs.run_pending()
    with Library.open(path) as library:
        assert library.collections.get("Masses").items[2].region == Region(1, 1, 4, 4)
    undo(context)
    assert stored(path) == [("Masses", ["s/0.png", "s/2.png"])]


def test_the_list_shows_orders_notes_removes_and_restores(commands, context, path):
    with Library.open(path) as library:
        listed = [CollectionItem("s/0.png", notes="n"), CollectionItem("s/1.png"), CollectionItem("s/3.png")]
        library.collections.make("one", listed)
    remove_cases(path, ["s/3.png"])
    commands.show_collections()
    context.jobs.run_pending()
    panel = commands._panel
    texts = [panel.items.item(n).text() for n in range(3)]
    assert (
        "benign" in texts[0] and texts[0].endswith("\nn") and texts[2].startswith("No longer in the library")
    )
    panel.items.setCurrentRow(0)
    panel.items.insertItem(1, panel.items.takeItem(0))
    panel.items._tell()
    context.jobs.run_pending()
    assert stored(path) == [("one", ["s/1.png", "s/0.png", "s/3.png"])]
    panel.items.setCurrentRow(1)
    panel.notes.setText("look here")
    panel.notes.editingFinished.emit()
    context.jobs.run_pending()
    panel.items.setCurrentRow(0)
    panel.search_with_current()
    assert context.state.query == Query(case="s/1.png")
    panel.remove()
    context.jobs.run_pending()
    assert stored(path) == [("one", ["s/0.png", "s/3.png"])]
    undo(context)
    assert stored(path)[0][1] == ["s/1.png", "s/0.png", "s/3.png"]
    panel.name.setText("two")
    panel.rename()
    panel.duplicate()
    context.jobs.run_pending()
    assert [name for name, _ in stored(path)] == ["two", "two 2"]
    panel.delete()
    context.jobs.run_pending()
    assert len(stored(path)) == 1
    undo(context)
    assert [name for name, _ in stored(path)] == ["two", "two 2"]


def test_a_collection_that_is_renamed_or_whose_neighbour_goes_stays_current(commands, context, path):
    with Library.open(path) as library:
        for name in ("a", "b", "c"):
            library.collections.make(name, [CollectionItem("s/0.png")])
    commands.show_collections()
    context.jobs.run_pending()
    panel = commands._panel
    panel.name.setText("z")
    panel.rename()
    context.jobs.run_pending()
    assert [name for name, _ in stored(path)] == ["b", "c", "z"]
    assert panel.current.collection.name == panel.name.text() == "z"
    with Library.open(path) as library:
        library.collections.delete(library.collections.get("b").id)
    commands.read()
    context.jobs.run_pending()
    assert panel.current.collection.name == "z"
    panel.delete()
    context.jobs.run_pending()
    assert panel.current.collection.name == "c"


def test_an_item_opens_at_its_slice_beside_the_query(commands, context, path, qtbot):
    with Library.open(path) as library:
        library.collections.make("one", [CollectionItem("s/1.png", slice=7), CollectionItem("gone")])
    commands.show_collections()
    context.jobs.run_pending()
    panel = commands._panel
    assert not panel.compare_button.isEnabled()
    with qtbot.waitSignal(commands.compare_requested) as asked:
        qtbot.keyClick(panel.items, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        # In the window the key belongs to a command, which must not run.
        pressed = QKeyEvent(
            QEvent.Type.ShortcutOverride, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier
        )
        pressed.ignore()
        assert panel.items.event(pressed) and pressed.isAccepted()
    (row,) = asked.args
    assert context.state.columns.ids[context.state.columns.index_of_row(row)] == "s/1.png"
    assert context.state.last_views.get((context.state.location, row)).place == 7
    panel.items.setCurrentRow(1)
    panel.compare_current()
    assert "no longer" in context.messages.history[-1].what


def test_the_quiz_covers_findings_and_stores_no_answer(commands, context, path, qtbot):
    with Library.open(path) as library:
        library.collections.make(
            "one", [CollectionItem("s/0.png", notes="because"), CollectionItem("s/1.png")]
        )
    commands.read()
    context.jobs.run_pending()
    commands.start_quiz(commands._listed[0])
    quiz = commands._quiz
    assert [button.text() for button in quiz.buttons] == ["benign", "malignant"]
    for number in range(2):
        assert (
            "What does it show?" in quiz.question.text()
            and not quiz.answer.text()
            and not quiz.next_button.isEnabled()
        )
        qtbot.mouseClick(quiz.buttons[0], Qt.MouseButton.LeftButton)
        assert (
            quiz.answered == number + 1 and quiz.next_button.isEnabled() and not quiz.buttons[1].isEnabled()
        )
        if number == 0:
            quiz.go_on()
    assert quiz.right == 1 and "1 of 2 right" in quiz.score.text()
    with Library.open(path) as library:
        assert library.judgements("").read() == []


def test_neither_the_choices_nor_the_list_answer_the_quiz(commands, context, path):
    with Library.open(path) as library:
        library.collections.make("one", [CollectionItem("s/0.png")])
    commands.show_collections()
    context.jobs.run_pending()
    commands.start_quiz(commands._listed[0])
    assert [button.text() for button in commands._quiz.buttons] == ["benign", "malignant"]
    commands._panel.set_covered(True)
    assert commands._panel.items.item(0).text() == "Case 1"


def test_a_collection_is_exported_as_chosen(qtbot, context, path, monkeypatch, tmp_path):
    with Library.open(path) as library:
        library.collections.make("one", [CollectionItem("s/0.png", notes="look at the margin")])
    context.state.set_library(read_snapshot(path))
    dialog = ExportCollectionDialog(context, "one")
    qtbot.addWidget(dialog)
    assert dialog.options() == CollectionExport() and "numbered" in dialog.note.text()
    dialog.notes.click()
    dialog.identified.click()
    assert dialog.options() == CollectionExport(identified=True, free_text=True)
    dialog.kind.setCurrentIndex(dialog.kind.findData(".dcm"))
    assert not dialog.options().free_text and not dialog.notes.isEnabled()
    dialog.kind.setCurrentIndex(dialog.kind.findData(".zip"))
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(tmp_path / "x"), ""))
    dialog.export()
    context.jobs.run_pending()
    with zipfile.ZipFile(tmp_path / "x.zip") as packed:
        page = packed.read("index.html").decode()
    assert "look at the margin" in page and "s/0.png" in page
