from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAction

from semblance.app.search.hanging_page import GroupView, HangingPage, group_views, saved_layouts
from semblance.app.viewer.window_level import Window
from semblance.app.widgets.dialog import NameDialog
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.library.library_snapshot import read_snapshot
from tests.helpers.dicom_files import MG, image, save
from tests.helpers.widgets import show_widget

TRUE_SIZE = "True size, in mm of the screen"
VIEWS = [("R", "CC"), ("L", "CC"), ("R", "MLO"), ("L", "MLO")]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hanging")
    pixels = np.tile(np.arange(64, dtype=np.uint16) * 50, (64, 1))
    for study in (1, 2):
        for number, (side, view) in enumerate(VIEWS):
            header = {
                "SOPClassUID": MG,
                "SOPInstanceUID": f"1.2.{study}.{number}",
                "StudyInstanceUID": f"1.2.{study}",
                "SeriesInstanceUID": f"1.2.{study}.9",
                "StudyDate": f"202{study}0101",
                "Modality": "MG",
                "PatientID": "P1",
                "ImageLaterality": side,
                "ViewPosition": view,
                "PixelSpacing": [0.1, 0.1],
            }
            save(image(pixels, **header), folder / "mg" / f"{study}{number}.dcm")
    import_source(folder / "mg", folder / "lib")
    return folder / "lib"


@pytest.fixture
def page(qtbot, context, jobs, library):
    context.state.set_library(read_snapshot(library))
    made = show_widget(qtbot, HangingPage(context), 1200, 760)
    made.show_patient(int(context.state.columns.case_row[0]))
    jobs.run_pending()
    return made


def shown(page) -> list[str]:
    cells = zip(page._cells, page.headers, page.panes, strict=True)
    return [header._title.text() for cell, header, pane in cells if cell.isVisible() and pane.view.image]


def menu_of(page) -> list[QAction]:
    """The entries of the menu *Layout* as it opens."""
    page.order.menu().aboutToShow.emit()
    return page.order.menu().actions()


def choose(page, text: str) -> None:
    next(action for action in menu_of(page) if action.text() == text).trigger()


def is_checked(page, text: str) -> bool:
    return next(action for action in menu_of(page) if action.text() == text).isChecked()


def views(page) -> list[str]:
    return [name.partition(",")[0].removeprefix("Mammogram ") for name in shown(page)]


def test_two_studies_hang_one_below_the_other(page, qtbot, jobs):
    names = [name.partition(",")[0] for name in shown(page)]
    assert names == [f"Mammogram {side} {view}" for side, view in VIEWS] * 2
    qtbot.keyClick(page, Qt.Key.Key_O)
    jobs.run_pending()
    assert len(shown(page)) == 4
    assert page._context.settings.text("hanging_priors") == "no"


def test_all_images_zoom_together_until_unlinked(page, qtbot):
    first, second, *_ = (pane.view for pane in page.panes)
    first.zoom_by(2.0)
    # The places differ by a pixel.
    assert second.viewport.zoom == pytest.approx(first.viewport.zoom, rel=0.02)
    qtbot.keyClick(page, Qt.Key.Key_K)
    first.zoom_by(2.0)
    assert second.viewport.zoom == pytest.approx(first.viewport.zoom / 2, rel=0.02)
    with qtbot.waitSignal(page.closed):
        qtbot.keyClick(page, Qt.Key.Key_Escape)


def test_the_order_of_the_views_is_kept_for_the_next_page(page, qtbot, jobs, context):
    choose(page, "MLO, then CC")
    jobs.run_pending()
    order = [f"Mammogram {side} {view}" for side, view in [*VIEWS[2:], *VIEWS[:2]]]
    assert [name.partition(",")[0] for name in shown(page)] == order * 2
    following = show_widget(qtbot, HangingPage(context), 1200, 760)
    following.show_patient(int(context.state.columns.case_row[0]))
    jobs.run_pending()
    assert shown(following) == shown(page)
    assert [action.text() for action in menu_of(following) if action.isChecked()] == ["MLO, then CC"]


def test_a_layout_made_by_mouse_and_keys_is_saved_under_a_name(page, qtbot, jobs, context, monkeypatch):
    """The first header is dragged to the third view, then the keys exchange it with the second."""
    header, target = page.headers[0], page.panes[2].view
    drop = header.mapFromGlobal(target.mapToGlobal(target.rect().center()))
    qtbot.mousePress(header, Qt.MouseButton.LeftButton, pos=QPoint(20, 8))
    qtbot.mouseRelease(header, Qt.MouseButton.LeftButton, pos=drop)
    jobs.run_pending()
    assert views(page) == ["R MLO", "L CC", "R CC", "L MLO"] * 2, "both studies hang alike"
    qtbot.keyClick(page.panes[2].view, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    jobs.run_pending()
    own = ["R MLO", "R CC", "L CC", "L MLO"]
    assert views(page) == own * 2

    monkeypatch.setattr(NameDialog, "ask", lambda _: "Mine")
    choose(page, "Save layout…")
    choose(page, "CC, then MLO")
    jobs.run_pending()
    following = show_widget(qtbot, HangingPage(context), 1200, 760)
    following.show_patient(int(context.state.columns.case_row[0]))
    choose(following, "Mine")
    jobs.run_pending()
    assert views(following) == own * 2
    delete = next(action for action in menu_of(following) if action.text() == "Delete layout").menu()
    delete.actions()[0].trigger()
    assert "Mine" not in [action.text() for action in menu_of(following)]
    assert views(following) == own * 2, "the layout in use stays"


@pytest.mark.parametrize(
    "text", ["", "[", "[1]", '[["Mine", "RCC LCC", true]]', '[["Mine", "RCC RCC LCC LMLO", true]]']
)
def test_damaged_layouts_are_left_out(context, text):
    context.settings.set_text("hanging_layouts", text)
    assert saved_layouts(context.settings) == []


def test_views_of_a_group_share_zoom_window_and_inversion_and_the_next_hanging_has_them(page, jobs):
    """All CC, prior and current, and no MLO; what is towards the chest wall is mirrored between both breasts."""
    right, left, mlo = (page.panes[place].view for place in (0, 1, 2))
    prior = page.panes[4].view
    of_file = mlo.window_level
    right.zoom_by(3.0)
    right.pan_by(40, 10)
    right.set_window(Window(100, 900))
    right.invert()
    for other in (left, prior):
        assert other.viewport.zoom == pytest.approx(right.viewport.zoom, rel=0.02)
        assert other.window_level == Window(100, 900)
        assert other.inverted
    assert (mlo.viewport.fitted, mlo.window_level, mlo.inverted) == (True, of_file, False)
    assert right.viewport.x < 32 < left.viewport.x
    assert left.viewport.x - 32 == pytest.approx(32 - right.viewport.x, abs=0.7)
    page.leave()
    page.show_patient(int(page._context.state.columns.case_row[0]))
    jobs.run_pending()
    assert right.viewport.zoom / right.viewport.fit_zoom == pytest.approx(3.0, rel=0.02)
    assert left.viewport.x - 32 == pytest.approx(32 - right.viewport.x, abs=0.7)
    assert (left.window_level, left.inverted, mlo.inverted) == (Window(100, 900), True, False)
    choose(page, "Fit, with the windows of the files")
    jobs.run_pending()
    assert (right.viewport.fitted, right.inverted, right.window_level) == (True, False, of_file)


def test_true_size_is_kept_for_the_next_patient_and_page(page, qtbot, jobs, context):
    first = page.panes[0].view
    whole = first.viewport.zoom
    choose(page, TRUE_SIZE)
    in_mm = first.viewport.zoom
    assert in_mm != pytest.approx(whole)
    assert is_checked(page, TRUE_SIZE)
    following = show_widget(qtbot, HangingPage(context), 1200, 760)
    assert is_checked(following, TRUE_SIZE)
    for shown_page in (page, following):
        shown_page.show_patient(int(context.state.columns.case_row[0]))
        jobs.run_pending()
        assert shown_page.panes[0].view.viewport.zoom == pytest.approx(in_mm)
    choose(page, TRUE_SIZE)
    assert first.viewport.fitted
    assert not is_checked(following, TRUE_SIZE)


def test_a_drag_is_stored_once_it_has_ended_or_the_page_is_hidden(page, qtbot, context, monkeypatch):
    """Not at each of its steps: all views of all groups are written anew."""
    stored, put = [], context.settings.set_text
    monkeypatch.setattr(context.settings, "set_text", lambda key, text: (stored.append(key), put(key, text)))
    page.panes[0].view.zoom_by(2.0)
    for _ in range(5):
        page.panes[0].view.pan_by(3, 1)
    assert stored == []
    qtbot.waitUntil(lambda: stored == ["hanging_views"])
    page.panes[0].view.pan_by(3, 1)
    page.hide()
    assert stored == ["hanging_views"] * 2
    assert group_views(context.settings)["CC"] == GroupView.of(page.panes[0].view, is_mirrored=False)


def test_every_image_has_the_menu_of_its_case(page):
    texts = []
    page._context.case_menu.fill = lambda _menu, row, header: texts.append((row, header is not None))
    menu = page._make_menu(page.panes[1], QPoint())
    entries = [action.text().partition("\t")[0] for action in menu.actions()]
    assert texts == [(page.panes[1].source[1], True)]
    assert TRUE_SIZE in entries
    menu.deleteLater()
