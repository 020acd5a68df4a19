"""A click in a mass becomes its outline, unless something else is shown by then."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from semblance.app.search.query.region_search import outline_mass
from semblance.app.shell import search_operations
from semblance.app.shell.state import Change
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.tools import BRUSH, RECTANGLE, SELECT
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region
from semblance.core.searches.query import Query
from semblance.core.workflows.features.suitable_extractors import ExtractorSuitability
from semblance.core.workflows.imaging.view_images import view_file
from tests.helpers.query_panel import LEFT, PART, case_of, draw, image_file, shows_image
from tests.helpers.volume_files import meta_image


def press(panel, key):
    """Press one side of "Search with"."""
    control = panel.search_with
    x = control.width() // 4 if key == "region" else 3 * control.width() // 4
    QTest.mouseClick(control, LEFT, pos=QPoint(x, control.height() // 2))


# Region


def test_drawn_region_is_searched_with(panel_with_query, context):
    draw(panel_with_query, PART)
    assert context.state.query.region == PART
    assert panel_with_query.search_with.value() == "region"
    assert panel_with_query.facts.text("Region") == "rectangle, 24 × 16 px"


def test_drawing_does_not_load_the_image_again(panel_with_query, jobs):
    view = panel_with_query.view
    view.zoom_by(2)
    shown, viewport = view.image, view.viewport
    draw(panel_with_query, PART)
    assert jobs.pending == []
    assert (view.image, view.viewport) == (shown, viewport)


def test_region_of_the_case_is_used_for_the_search(panel_with_query, context):
    viewed = replace(view_file(context.state.query.image), region=PART)
    panel_with_query._show_image(viewed)
    assert not panel_with_query.search_with.isEnabled()
    assert panel_with_query.search_with.value() == "region"
    assert panel_with_query.facts.text("Region") == "the case’s own, 24 × 16 px"


def test_whole_image_disables_and_enables_the_region(panel_with_query, context):
    assert not panel_with_query.search_with.isEnabled()
    draw(panel_with_query, PART)
    press(panel_with_query, "whole")
    assert context.state.query.region is None
    assert panel_with_query.view.region.region == PART
    assert panel_with_query.facts.text("Region").endswith("not used")
    press(panel_with_query, "region")
    assert context.state.query.region == PART
    assert panel_with_query.facts.text("Region") == "rectangle, 24 × 16 px"


def test_moving_an_unused_region_queries_with_it(panel_with_query, context):
    draw(panel_with_query, PART)
    press(panel_with_query, "whole")
    QTest.keyClick(panel_with_query.view, Qt.Key.Key_Right)
    assert context.state.query.region == Region(9, 12, 24, 16)
    assert panel_with_query.search_with.value() == "region"


def test_escape_removes_the_region_and_undo_restores_it(panel_with_query, context):
    draw(panel_with_query, PART)
    QTest.keyClick(panel_with_query.view, Qt.Key.Key_Escape)
    assert context.state.query.region is None
    assert panel_with_query.facts.text("Region") == "none"
    assert not panel_with_query.search_with.isEnabled()
    QTest.mouseClick(panel_with_query.tools.undo, LEFT)
    assert context.state.query.region == PART
    assert panel_with_query.view.region.region == PART


def test_region_of_the_query_is_drawn(panel, context, jobs, tmp_path):
    search_operations.submit_query(context, Query(image=image_file(tmp_path), region=PART))
    jobs.run_pending()
    assert panel.view.region.region == PART
    assert panel.search_with.value() == "region"


def test_region_of_another_image_is_not_drawn(panel, context, jobs, tmp_path):
    search_operations.submit_query(context, Query(image=image_file(tmp_path), region=Region(900, 900, 5, 5)))
    jobs.run_pending()
    assert panel.view.region.region is None
    assert shows_image(panel)


# By place


def choose(panel, number):
    """Press one of the parts of "Search with"."""
    QTest.mouseClick(panel.search_with, LEFT, pos=panel.search_with._part(number).center())


@pytest.fixture
def with_places(library, context):
    """The open library, with places of its images."""
    context.state.renew_library(replace(library, has_places=True))
    return library


def test_with_places_a_drawn_region_is_searched_by_place_or_both(with_places, panel_with_query, context):
    panel, state = panel_with_query, context.state
    draw(panel, PART)
    texts = [text for _, text in panel.search_with._options]
    assert texts == ["place", "whole image", "both"]
    assert (panel.search_with.value(), state.query.region, state.match) == ("place", PART, "")
    choose(panel, 2)
    assert (panel.search_with.value(), state.query.region, state.match) == ("both", PART, "both")
    choose(panel, 1)
    assert (panel.search_with.value(), state.query.region) == ("whole", None)
    choose(panel, 0)
    assert (panel.search_with.value(), state.query.region, state.match) == ("place", PART, "")


def test_the_region_of_a_case_in_the_library_is_found_by_place_on_request(
    with_places, panel_with_query, context
):
    panel = panel_with_query
    panel._show_image(replace(view_file(context.state.query.image), region=PART))
    assert panel.search_with.isEnabled()
    assert panel.search_with._options[1] == ("whole", "own region")
    assert panel.search_with.value() == "whole"
    choose(panel, 0)
    assert context.state.query.region == PART
    assert panel.view.region.region == PART


def test_a_saved_search_with_the_region_cut_out_stays_so_until_another_region_is_drawn(
    with_places, panel_with_query, context
):
    context.state.set_query(replace(context.state.query, region=PART), "whole")
    assert panel_with_query.search_with.value() == "region"
    draw(panel_with_query, Region(20, 20, 10, 10))
    assert (panel_with_query.search_with.value(), context.state.match) == ("place", "")


def test_without_places_it_is_said_once_and_measuring_them_is_offered(
    library, panel_with_query, context, qtbot
):
    context.state.renew_library(replace(library, extractors=(ExtractorSuitability("encoder"),)))
    draw(panel_with_query, PART)
    said = [one for one in context.messages.history if one.topic == search_operations.PLACES]
    assert [text for text, _ in said[0].actions] == ["Measure places"]
    with qtbot.waitSignal(context.actions["measure_places"].triggered):
        said[0].actions[0][1]()
    draw(panel_with_query, Region(20, 20, 10, 10))
    assert len([one for one in context.messages.history if one.topic == search_operations.PLACES]) == 1
    context.state.renew_library(replace(library, has_places=True))
    assert panel_with_query.search_with.value() == "place"


# Tools, keys, menu


def test_tools_and_keys_agree(panel_with_query):
    QTest.mouseClick(panel_with_query.tools.tools[RECTANGLE], LEFT)
    assert panel_with_query.view.tool == RECTANGLE
    QTest.keyClick(panel_with_query.view, Qt.Key.Key_V)
    assert panel_with_query.tools.tools[SELECT].isChecked()
    panel_with_query.set_tool(RECTANGLE)
    assert panel_with_query.tools.tools[RECTANGLE].isChecked()


def test_the_histogram_and_the_image_share_one_window(panel_with_query):
    QTest.keyClick(panel_with_query.histogram, Qt.Key.Key_Right)
    assert panel_with_query.view.window_level == panel_with_query.histogram._window
    QTest.mousePress(panel_with_query.view, LEFT, pos=QPoint(100, 100))
    QTest.mouseMove(panel_with_query.view, QPoint(140, 120))
    QTest.mouseRelease(panel_with_query.view, LEFT, pos=QPoint(140, 120))
    assert panel_with_query.view.window_level == panel_with_query.histogram._window
    first = panel_with_query.view.image.auto
    QTest.mouseClick(panel_with_query.tools.auto, LEFT)
    assert (panel_with_query.view.window_level.low, panel_with_query.view.window_level.high) == first


def entries(menu):
    return {action.text().split("\t")[0]: action for action in menu.actions() if action.text()}


def test_menu_entries(panel_with_query, qtbot):
    draw(panel_with_query, PART)
    menu = panel_with_query.make_menu()
    actions = entries(menu)
    actions["Invert"].trigger()
    assert panel_with_query.view.inverted
    actions["Show overlay text"].trigger()
    assert not panel_with_query.view.is_overlay_text_shown
    actions["Copy file name"].trigger()
    assert QGuiApplication.clipboard().text() == "outside.png"
    actions["Remove region"].trigger()
    assert panel_with_query.view.region.region is None
    actions["Undo region"].trigger()
    assert panel_with_query.view.region.region == PART
    with qtbot.waitSignal(panel_with_query.help_requested):
        actions["Help for this panel"].trigger()
    menu.deleteLater()


# A pop-up takes the keyboard, which there is none of offscreen.
@pytest.mark.qt_log_ignore("does not support grabbing the keyboard", extend=True)
def test_context_menu_deletes_itself(panel, context, jobs, library, qtbot):
    name = case_of(library, "p000.png")
    search_operations.submit_query(context, Query(case=name))
    jobs.run_pending()
    panel.view.customContextMenuRequested.emit(QPoint(20, 20))
    menu = QApplication.activePopupWidget()
    assert not entries(menu)["Remove region"].isEnabled()
    entries(menu)["Invert"].trigger()
    assert panel.view.inverted
    QTest.keyClick(menu, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is None)


def test_everything_can_be_reached_by_keyboard_and_has_a_name(panel_with_query):
    draw(panel_with_query, PART)
    expected = {
        panel_with_query.more,
        *panel_with_query.tools.tools.values(),
        panel_with_query.tools.undo,
        panel_with_query.tools.auto,
        panel_with_query.view,
        panel_with_query.histogram,
        panel_with_query.search_with,
    }
    reached, widget = set(), panel_with_query.more
    for _ in range(60):
        reached.add(widget)
        widget = widget.nextInFocusChain()
    for control in expected:
        assert control in reached
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus
        assert control.isEnabled()
        assert control.accessibleName(), control


def test_low_panel_hides_the_facts(panel_with_query):
    panel_with_query.resize(336, 360)
    assert not panel_with_query.facts.isVisible()
    assert panel_with_query.view.height() >= 96
    panel_with_query.resize(336, 640)
    assert panel_with_query.facts.isVisible()


@pytest.fixture
def disc(tmp_path):
    y, x = np.mgrid[:120, :150]
    pixels = np.where((x - 90) ** 2 + (y - 50) ** 2 < 20**2, 190, 60)
    path = tmp_path / "disc.png"
    noisy = pixels + np.random.default_rng(3).normal(0, 6, pixels.shape)
    Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path)
    return path


@pytest.fixture
def view(qtbot, disc):
    widget = ImageView()
    qtbot.addWidget(widget)
    widget.show_image(view_file(disc).image)
    return widget


@pytest.mark.parametrize(
    ("where", "overlap"), [((92, 48), 0.85), (Region(62, 24, 56, 54), 0.93)], ids=["click", "rectangle"]
)
def test_the_mass_becomes_the_region_and_can_be_undone(context, view, disc, where, overlap):
    job = outline_mass(context, view, None, ImageAddress(disc), None, where)
    assert job.running
    context.jobs.run_pending()
    mask = view.region.region.mask(120, 150)
    truth = np.hypot(*(np.mgrid[:120, :150] - np.array([50, 90])[:, None, None])) < 20
    assert 2 * (mask & truth).sum() / (mask.sum() + truth.sum()) > overlap
    view.region.undo()
    assert view.region.region is None


def test_outline_of_an_earlier_image_is_dropped(context, view, disc):
    outline_mass(context, view, None, ImageAddress(disc), None, (92, 48))
    view.show_image(view_file(disc).image)
    context.jobs.run_pending()
    assert view.region.region is None


def test_missing_image_shows_an_error(context, view, disc):
    disc.unlink()
    outline_mass(context, view, None, ImageAddress(disc), None, (92, 48))
    context.jobs.run_pending()
    assert view.region.region is None
    assert [message.level for message in context.messages.history] == ["error"]


@pytest.mark.parametrize("what", ["flat", "noise", "slope"])
def test_where_nothing_has_an_outline_a_message_says_so_and_offers_the_brush(context, view, disc, what):
    noise = np.random.default_rng(1).integers(0, 256, (120, 150))
    slope = np.linspace(20, 200, 150)[None, :].repeat(120, axis=0)
    pixels = {"flat": np.full((120, 150), 60), "noise": noise, "slope": slope}[what]
    Image.fromarray(pixels.astype(np.uint8)).save(disc)
    outline_mass(context, view, None, ImageAddress(disc), None, (92, 48))
    context.jobs.run_pending()
    assert view.region.region is None
    (message,) = context.messages.history
    assert message.level == "warning"
    assert message.what.startswith("No outline was found")
    ((text, use),) = message.actions
    assert text == "Use the brush"
    use()
    assert view.pointer.tool == BRUSH


def test_scrolling_a_slice_that_is_searched_with_searches_again_once(
    with_places, panel, context, jobs, tmp_path, qtbot
):
    voxels = np.random.default_rng(0).integers(0, 255, (40, 30, 6)).astype(np.uint8)
    file = tmp_path / "ct.mha"
    file.write_bytes(meta_image(voxels, np.diag([1.0, 1.0, 5.0, 1.0]))[0])
    search_operations.submit_query(context, Query(image=file))
    jobs.run_pending()
    assert context.state.query.region is None
    panel.search_with.changed.emit("slice")
    assert context.state.query.region == Region(0, 0, 40, 30, z=3)
    # No frame is drawn around the whole slice.
    assert panel.view.region.region is None
    assert panel.search_with.value() == "slice"
    searched = []
    state = context.state
    state.on_change(
        Change.SEARCH, panel, lambda: searched.append(state.query.region and state.query.region.z)
    )
    for number in (4, 5, 4):
        panel.pane.go_to_slice(number)
        jobs.run_pending()
    assert searched == []
    qtbot.waitUntil(lambda: searched == [4], timeout=2000)
    # What is searched with before that is loading: its region does not become the slice that is still shown.
    panel.pane.go_to_slice(5)
    jobs.run_pending()
    present = context.state.query
    other = Query(image=shutil.copy(file, tmp_path / "other.mha"), region=Region(0, 0, 40, 30, z=2))
    context.state.set_query(other)
    panel._region._search_shown_slice()
    assert context.state.query == other
    context.state.set_query(present)
    jobs.run_pending()
    panel.pane.go_to_slice(4)
    jobs.run_pending()
    panel.search_with.changed.emit("volume")
    assert (context.state.query.slices, context.state.query.region.z) == ("all", 4)
    assert panel.search_with.value() == "volume"
    panel.pane.go_to_slice(1)
    jobs.run_pending()
    qtbot.waitUntil(lambda: context.state.query.region.z == 1, timeout=2000)
    assert context.state.query.slices == "all"
    panel.search_with.changed.emit("slice")
    assert context.state.query == Query(image=file, region=Region(0, 0, 40, 30, z=1))
    panel.search_with.changed.emit("whole")
    panel.pane.go_to_slice(2)
    jobs.run_pending()
    qtbot.wait(300)
    assert context.state.query.region is None
