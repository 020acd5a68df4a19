from __future__ import annotations

import csv
from types import SimpleNamespace

import numpy as np
from PIL import Image
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton

from semblance.app.search.query.query_facts import breakable
from semblance.app.search.query.query_panel import QueryPanel
from semblance.app.search.saved.save_search import SearchView
from semblance.app.shell import search_operations
from semblance.app.shell.jobs import Jobs
from semblance.app.widgets.cards.case_drag import mime_data
from semblance.app.widgets.cards.case_grid import CaseGrid
from semblance.app.widgets.cards.case_model import CaseModel
from semblance.core.searches.query import Query
from semblance.core.workflows.library import library_snapshot
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.contexts import make_context
from tests.helpers.query_panel import LEFT, PART, case_of, draw, image_file, shows_image
from tests.helpers.widgets import show_widget


def notice(panel):
    """Title and text of what stands in the image's place."""
    assert panel.notice.isVisible()
    shown = panel.notice._title.text(), panel.notice._text.text()
    return tuple(text.replace("\u200b", "") for text in shown)


def button(panel):
    return panel.notice.findChild(QPushButton)


# No query


def test_empty_panel_shows_instructions(panel):
    assert "drop an image here" in notice(panel)[1]
    assert button(panel).isVisible()
    assert not panel.tools.isVisible()
    assert not panel.facts.isVisible()


def test_button_opens_the_file_dialog(panel, context, jobs, tmp_path, monkeypatch):
    path = image_file(tmp_path)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(path), ""))
    QTest.mouseClick(button(panel), LEFT)
    jobs.run_pending()
    assert context.state.query == Query(image=path)


def test_cancelled_file_dialog_does_not_search(panel, context, monkeypatch):
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: ("", ""))
    panel.choose_image()
    assert context.state.query is None


# An image


def test_facts_of_an_image_outside_the_library(panel_with_query):
    assert shows_image(panel_with_query)
    assert panel_with_query.header._subtitle.text() == "outside.png"
    assert panel_with_query._outside.isVisible()
    assert panel_with_query.facts.text("Finding") == "not given"
    assert panel_with_query.facts.text("Patient") == ""
    assert panel_with_query.facts.text("Size") == "48 × 40 px"
    assert panel_with_query.facts.text("Region") == "none"
    assert panel_with_query.facts.text("Spacing") == ""
    assert panel_with_query.view.accessibleName() == "Image of outside.png, 48 by 40 pixels"
    assert panel_with_query.focus_target() is panel_with_query.view


def test_facts_of_a_library_case(panel, context, jobs, library):
    name = case_of(library, "p003.png")
    search_operations.submit_query(context, Query(case=name))
    jobs.run_pending()
    assert shows_image(panel)
    assert not panel._outside.isVisible()
    assert panel.header._subtitle.text() == library.columns.name(library.columns.index_of_id(name))
    assert panel.facts.text("Patient") == "P001"
    assert panel.facts._values["Finding"].accessibleName() == "upright"
    assert panel.facts.text("Size") == "48 × 48 px"


def test_image_stays_until_the_next_one_is_loaded(panel, context, jobs, library, qtbot):
    first, second = case_of(library, "p000.png"), case_of(library, "p001.png")
    search_operations.submit_query(context, Query(case=first))
    jobs.run_pending()
    old, grid = panel.view.image, CaseGrid()
    saved = SearchView(context, panel, SimpleNamespace(grid=grid, view=SimpleNamespace(value=str)), panel)
    qtbot.addWidget(grid)
    assert "zoom" in saved.capture()
    search_operations.submit_query(context, Query(case=second))
    assert panel.view.image is old
    assert "zoom" not in saved.capture(), "the view of an image is saved with another one"
    draw(panel, PART)
    assert context.state.query == Query(case=second)
    jobs.run_pending()
    assert panel.view.image is not old
    assert second in panel.view.accessibleName()
    assert panel.view.region.region is None


def test_only_the_last_of_two_questions_is_shown(panel, context, jobs, library):
    search_operations.submit_query(context, Query(case=case_of(library, "p000.png")))
    search_operations.submit_query(context, Query(case=case_of(library, "p005.png")))
    jobs.run_pending()
    assert "p005.png" in panel.view.accessibleName()


def test_only_slow_loading_shows_a_notice(panel, context, jobs, tmp_path):
    context.state.set_query(Query(image=image_file(tmp_path)))
    assert panel._loading_timer.isActive()
    panel._loading_timer.timeout.emit()
    assert "Loading" in notice(panel)[1]
    jobs.run_pending()
    assert shows_image(panel)
    assert not panel._loading_timer.isActive()


def test_another_library_clears_the_concepts(panel_with_query, context):
    context.state.set_library(None)
    assert "drop an image here" in notice(panel_with_query)[1]
    assert panel_with_query.view.image is None


def test_late_image_of_an_earlier_question_is_dropped(panel, context, jobs, tmp_path):
    context.state.set_query(Query(image=image_file(tmp_path)))
    context.state.set_query(None)
    jobs.run_pending()
    assert panel.view.image is None


def test_colour_images_have_no_histogram(panel, context, jobs, tmp_path):
    pixels = np.zeros((30, 30, 3), np.uint8)
    pixels[:, :, 2] = 90
    Image.fromarray(pixels).save(tmp_path / "colour.png")
    search_operations.submit_query(context, Query(image=tmp_path / "colour.png"))
    jobs.run_pending()
    assert shows_image(panel)
    assert not panel.histogram.isVisible()
    assert not panel.tools.auto.isVisible()


def test_table_row_shows_a_notice(panel, context, jobs, tmp_path):
    table = tmp_path / "masses.csv"
    with table.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(("radius", "texture", "label"))
        rows.writerows((n, n * n % 7, ("benign", "malignant")[n % 2]) for n in range(12))
    path = tmp_path / "masses.semblance"
    import_source(table, path, kind="table")
    context.state.set_library(library_snapshot.read_snapshot(path))
    search_operations.submit_query(context, Query(case=context.state.columns.ids[1]))
    jobs.run_pending()
    assert notice(panel) == ("No image", "The case is a row of a table: it has numbers only.")
    assert panel.facts._values["Finding"].accessibleName() == "malignant"
    assert not panel.tools.isEnabled()


# What goes wrong


def test_file_that_is_no_image_shows_an_error(panel, context, jobs, tmp_path):
    bad = tmp_path / "notes.png"
    bad.write_text("no image")
    # As after a start: it could be read when it became the query.
    context.state.set_query(Query(image=bad))
    jobs.run_pending()
    title, hint = notice(panel)
    assert "notes.png" in title
    assert hint
    assert panel.view.image is None
    assert not panel.tools.isEnabled()
    assert panel.facts.text("Finding") == "not given"


def test_long_names_can_be_broken():
    text = "'/a/very/long/folder/with_many_words.png' ends too soon; averyveryverylongword."
    broken = breakable(text)
    assert broken.replace("\u200b", "") == text
    assert max(len(part) for part in broken.replace("\u200b", " ").split()) <= 14


def test_retry_after_the_file_was_repaired(panel, context, jobs, tmp_path):
    bad = tmp_path / "notes.png"
    bad.write_text("no image")
    context.state.set_query(Query(image=bad))
    jobs.run_pending()
    image_file(tmp_path, "notes.png")
    QTest.mouseClick(button(panel), LEFT)
    jobs.run_pending()
    assert shows_image(panel)


def test_relinked_image_is_shown(panel, context, jobs, library, tmp_path):
    name = case_of(library, "p000.png")
    (tmp_path / "images").rename(tmp_path / "elsewhere")
    search_operations.submit_query(context, Query(case=name))
    jobs.run_pending()
    assert "p000.png" in notice(panel)[0]
    (tmp_path / "elsewhere").rename(tmp_path / "images")
    context.state.renew_library(library)
    jobs.run_pending()
    assert shows_image(panel)


def test_deleted_example_keeps_its_name(panel, context, jobs, library):
    search_operations.submit_query(context, Query(case="nobody"))
    jobs.run_pending()
    assert "nobody" in notice(panel)[0]


# Dropping a file


def drag_of(*paths):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def enter(panel, data):
    event = QDragEnterEvent(
        QPoint(100, 100), Qt.DropAction.CopyAction, data, LEFT, Qt.KeyboardModifier.NoModifier
    )
    event.setAccepted(False)
    QApplication.sendEvent(panel, event)
    return event.isAccepted()


def drop(panel, data):
    event = QDropEvent(
        QPointF(100, 100), Qt.DropAction.CopyAction, data, LEFT, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(panel, event)


def test_dropped_file_becomes_the_query(panel, context, jobs, tmp_path):
    path = image_file(tmp_path, "with space ü.png")
    data = drag_of(path)
    assert enter(panel, data)
    assert panel._drop.isVisible()
    drop(panel, data)
    assert not panel._drop.isVisible()
    jobs.run_pending()
    assert context.state.query == Query(image=path)
    assert shows_image(panel)


def test_file_that_is_read_after_another_query_does_not_replace_it(panel, context, jobs, library, tmp_path):
    search_operations.submit_query(context, Query(image=image_file(tmp_path)))
    later = Query(case=case_of(library, "p000.png"))
    context.state.set_query(later)
    jobs.run_pending()
    assert context.state.query == later


def test_pasted_image_does_not_replace_a_later_query(panel, context, jobs, library):
    image = QImage(20, 20, QImage.Format.Format_Grayscale8)
    image.fill(7)
    search_operations.submit_pasted_image(context, image)
    later = Query(case=case_of(library, "p000.png"))
    search_operations.submit_query(context, later)
    jobs.run_pending()
    assert context.state.query == later


def test_dropped_case_becomes_the_query(panel, context, library):
    data = mime_data(CaseModel(library.columns, library.columns.ordered_by_id()), 3)
    assert enter(panel, data)
    drop(panel, data)
    assert context.state.query == Query(case=case_of(library, "p005.png"))


def test_folders_and_several_files_are_refused(panel, tmp_path):
    one, two = image_file(tmp_path, "one.png"), image_file(tmp_path, "two.png")
    for data in (drag_of(tmp_path), drag_of(one, two), drag_of(tmp_path / "nothing.png"), QMimeData()):
        assert not enter(panel, data)
    remote = QMimeData()
    remote.setUrls([QUrl("https://example.org/a.png")])
    assert not enter(panel, remote)
    assert not panel._drop.isVisible()


# With real processes


def test_with_real_jobs_the_image_comes_from_another_process(qtbot, tmp_path):
    jobs = Jobs()
    context = make_context(jobs)
    panel = show_widget(qtbot, QueryPanel(context), 336, 640)
    search_operations.submit_query(context, Query(image=image_file(tmp_path, size=(700, 500))))
    qtbot.waitUntil(lambda: panel.view.image is not None)
    assert [level.shape for level in panel.view.image.levels] == [(500, 700), (250, 350), (125, 175)]
    panel.grab()
    jobs.shutdown()
    jobs.deleteLater()
