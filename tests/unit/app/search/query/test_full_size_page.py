"""One image on the whole window."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from semblance.app.search.query.full_size_page import FullSizePage
from semblance.app.shell.query_source import QuerySource
from semblance.core.errors import BadInput
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query
from semblance.core.searches.similar_cases import MatchedPlace, RankedCase
from semblance.core.workflows.imaging import view_images, view_planes
from semblance.core.workflows.imaging.view_images import view_file
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.searches.search_result import SearchResult
from tests.helpers.ranked_searches import unrefined_search
from tests.helpers.striped_library import striped_library
from tests.helpers.widgets import show_widget

LEFT = Qt.MouseButton.LeftButton
NONE = Qt.KeyboardModifier.NoModifier
pytestmark = pytest.mark.usefixtures("forget_volumes")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return striped_library(tmp_path_factory.mktemp("large"), n=12, features="gabor")


@pytest.fixture
def context(context, trained):
    context.state.set_library(read_snapshot(trained))
    return context


@pytest.fixture
def panel(qtbot, context):
    return show_widget(qtbot, FullSizePage(context), 1200, 760)


@pytest.fixture
def show(panel, context, jobs):
    """Show the case at a place of the library, or a file."""

    def showing(what):
        path = context.state.location
        source = QuerySource(path, context.state.columns.ids[what], None) if isinstance(what, int) else what
        panel.show_source(source)
        jobs.run_pending()
        return panel

    return showing


def draw(panel, region):
    """With the real mouse, from corner to corner."""
    panel.tools.tools["rectangle"].click()
    corners = ((region.x, region.y), (region.x + region.width, region.y + region.height))
    begin, end = (
        QPoint(*(round(value) for value in panel.view.viewport.to_widget(*corner))) for corner in corners
    )
    QTest.mousePress(panel.view, LEFT, NONE, begin)
    QTest.mouseMove(panel.view, end)
    QTest.mouseRelease(panel.view, LEFT, NONE, end)


def test_a_case_is_shown_with_its_facts(show, context):
    panel = show(2)
    assert panel.view.image.width == 48
    assert panel.header._subtitle.text() == context.state.columns.name(2)
    assert panel.view.hasFocus() or panel.focusWidget() is panel.view
    assert not panel.three_planes.isVisible()
    assert not panel.strip.isVisible()
    assert panel.search.isVisible()
    assert panel.search.isEnabled()


def test_drawing_on_the_query_searches_at_once(show, context):
    context.state.set_query(Query(case=context.state.columns.ids[0]))
    panel = show(0)
    assert not panel.search.isVisible()
    assert "similar cases update" in panel.hint.text()
    draw(panel, Region(8, 12, 24, 16))
    assert context.state.query.region == Region(8, 12, 24, 16)
    assert panel.search_with.value() == "region"
    panel.search_with._choose(1)
    assert context.state.query.region is None
    assert not panel.view.region.in_use
    QTest.keyClick(panel.view, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert panel.view.region.region is None


def test_region_of_the_query_is_drawn_with_the_image(show, context):
    context.state.set_query(Query(case=context.state.columns.ids[0], region=Region(4, 4, 9, 9)))
    panel = show(0)
    assert panel.view.region.region == Region(4, 4, 9, 9)
    context.state.set_region(Region(5, 5, 10, 10))
    assert panel.view.region.region == Region(5, 5, 10, 10)


def test_search_button_searches_with_the_shown_case(show, context):
    context.state.set_query(Query(case=context.state.columns.ids[0]))
    panel = show(3)
    draw(panel, Region(8, 12, 24, 16))
    assert context.state.query.case == context.state.columns.ids[0]
    QTest.mouseClick(panel.search, LEFT)
    assert context.state.query == Query(case=context.state.columns.ids[3], region=Region(8, 12, 24, 16))
    assert not panel.search.isVisible()


def test_unused_region_is_not_searched_with(show, context):
    panel = show(3)
    draw(panel, Region(8, 12, 24, 16))
    panel.search_with._choose(1)
    assert not panel.view.region.in_use
    QTest.mouseClick(panel.search, LEFT)
    assert context.state.query == Query(case=context.state.columns.ids[3])


def test_the_matched_place_of_a_result_is_framed_and_z_zooms_to_it(show, context):
    context.state.set_query(Query(case=context.state.columns.ids[0], region=Region(4, 4, 9, 9)))
    place = MatchedPlace(20, 10, 12, 8, None, 0.7, 48, 40)
    line = RankedCase(
        1, int(context.state.columns.case_row[2]), context.state.columns.ids[2], 0.6, None, None, ""
    )
    result = SearchResult(context.state.query, "", (replace(line, place=place),), 7, 0, 0, {}, False)
    context.state.set_ranked_search(unrefined_search(result))
    panel = show(2)
    assert panel.view.place_marks.frames == ((20, 10, 32, 18),)
    assert panel.place_hint.text() == "Z zooms to the matched place"
    whole = panel.view.viewport
    QTest.keyClick(panel.view, Qt.Key.Key_Z)
    left, top, right, bottom = panel.view.viewport.box(20, 10, 32, 18)
    assert ((left + right) / 2, (top + bottom) / 2) == pytest.approx(
        (panel.view.width() / 2, panel.view.height() / 2), abs=2
    )
    assert max((right - left) / panel.view.width(), (bottom - top) / panel.view.height()) > 0.4
    QTest.keyClick(panel.view, Qt.Key.Key_Z)
    assert panel.view.viewport == whole
    panel = show(3)
    assert not panel.view.place_marks
    assert panel.place_hint.isHidden()


def test_missing_image_shows_the_reason(show, jobs, monkeypatch):
    def gone(*_given, **_more):
        raise BadInput("'x.png' is not there any more.", "Find moved images.")

    monkeypatch.setattr(view_images, "view_case", gone)
    panel = show(1)
    assert panel.view.image is None
    assert panel.notice.isVisible()
    assert "not there any more" in panel.notice._text.text() + panel.notice._title.text()
    assert not panel.tools.isEnabled()
    monkeypatch.undo()
    QTest.mouseClick(panel.notice._button, LEFT)
    jobs.run_pending()
    assert panel.view.image is not None
    assert panel.view.isVisible()


def test_slow_loading_shows_a_notice(panel, context, jobs):
    panel.show_source(QuerySource(context.state.location, context.state.columns.ids[0], None))
    panel._loading_timer.timeout.emit()
    assert panel.notice.isVisible()
    jobs.run_pending()
    assert not panel.notice.isVisible()


def test_case_outside_the_library_shows_an_error(panel):
    panel.show_source(QuerySource(None, "nobody", None))
    assert "not in this library" in panel.notice._title.text()


def test_late_image_of_another_case_is_dropped(panel, context, jobs):
    ids = context.state.columns.ids
    panel.show_source(QuerySource(context.state.location, ids[0], None))
    panel.show_source(QuerySource(context.state.location, ids[1], None))
    jobs.run_pending()
    assert panel._loaded.case.case_id == ids[1]
    panel.show_source(QuerySource(context.state.location, ids[2], None))
    panel.leave()
    jobs.run_pending()
    assert panel.view.image is None


def test_escape_removes_the_region_before_it_goes_back(show, qtbot):
    panel = show(3)
    draw(panel, Region(8, 12, 24, 16))
    closed = []
    panel.closed.connect(lambda: closed.append(True))
    QTest.keyClick(panel.view, Qt.Key.Key_Escape)
    assert (panel.view.region.region, closed) == (None, [])
    QTest.keyClick(panel.view, Qt.Key.Key_Escape)
    assert closed == [True]


@pytest.fixture
def volume(panel, jobs, tmp_path, monkeypatch):
    """A volume as the image of a file."""
    path = tmp_path / "volume.npz"
    np.savez(path, ct=np.arange(9 * 20 * 30, dtype=np.uint16).reshape(9, 20, 30))
    address = ImageAddress(path, "ct")
    monkeypatch.setattr(view_images, "view_file", lambda *_given, **_more: view_file(address))
    shown = panel.pane.show_viewed
    monkeypatch.setattr(
        panel.pane, "show_viewed", lambda viewed, _path, _what, region: shown(viewed, None, address, region)
    )
    panel.show_source(QuerySource(None, None, path))
    jobs.run_pending()
    panel.strip._resize_timer.timeout.emit()
    jobs.run_pending()
    return panel


def test_a_volume_has_its_slices_at_the_side_and_its_planes_on_a_key(volume, jobs):
    assert volume.strip.isVisible()
    QTest.mouseClick(volume.strip, LEFT, NONE, volume.strip.cell(0).center())
    jobs.run_pending()
    assert volume.pane.place == 0
    assert volume.strip.marked == 0
    QTest.keyClick(volume.view, Qt.Key.Key_X)
    jobs.run_pending()
    assert volume.three_planes.isChecked()
    assert volume.planes.views[1].image is not None
    volume.leave()
    jobs.run_pending()
    assert view_planes._cached_volume._volume is None
    assert not volume.strip.isVisible()


def test_the_rate_of_the_cine_is_remembered(volume, context, jobs, tmp_path):
    volume.pane.bar.rate_button.menu().actions()[-1].trigger()
    assert volume.pane.bar.rate == 30
    volume.pane.bar.set_rate(8)
    volume.show_source(volume.source)
    jobs.run_pending()
    assert volume.pane.bar.rate == 30
    context.settings.set_text("cine_rate", "very fast")
    volume.show_source(volume.source)
    jobs.run_pending()
    assert volume.pane.bar.rate == 12


def test_file_header_is_requested_by_button_and_menu(show, qtbot):
    panel = show(0)
    with qtbot.waitSignal(panel.header_requested):
        QTest.mouseClick(panel.file_header, LEFT)
    menu = panel.make_menu()
    act = next(act for act in menu.actions() if act.text().startswith("File header"))
    with qtbot.waitSignal(panel.header_requested):
        act.trigger()
    menu.close()
    menu.deleteLater()


def test_file_is_shown_and_searched_with(show, context, jobs, tmp_path):
    path = tmp_path / "mine.png"
    Image.fromarray(np.zeros((30, 40), np.uint8)).save(path)
    panel = show(QuerySource(context.state.location, None, path))
    assert panel.view.image.width == 40
    QTest.mouseClick(panel.search, LEFT)
    jobs.run_pending()
    assert context.state.query == Query(image=path)
