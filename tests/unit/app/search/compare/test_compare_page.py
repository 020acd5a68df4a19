from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel

from semblance.app.search.compare import compared_pair
from semblance.app.search.compare.compare_page import ComparePage
from semblance.app.viewer.image_display import SecondImage
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.imaging.region import Region
from semblance.core.searches.feedback.judgements import Judgement, JudgementKind, QueryMarks
from semblance.core.searches.feedback.ledger import LedgerEntry
from semblance.core.searches.query import Query
from semblance.core.searches.similar_cases import MatchedPlace
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.ranked_searches import unrefined_search, with_places
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import PLAIN, table_library
from tests.helpers.use_language import use_language
from tests.helpers.widgets import show_widget


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return striped_library(tmp_path_factory.mktemp("compare"), n=12, features="gabor")


@pytest.fixture
def panel(qtbot, jobs, context, trained):
    context.state.set_library(read_snapshot(trained))
    query = Query(case=context.state.columns.ids[0])
    context.state.set_query(query)
    context.state.set_ranked_search(unrefined_search(nearest_cases(trained, "plain", query, k=8)))
    panel = show_widget(qtbot, ComparePage(context, ThumbnailLoader(lambda _rows, done: done([]))), 1200, 760)
    panel.state = context.state
    panel.compare(context.state.ranking.ranked[2].row)
    jobs.run_pending()
    return panel


def test_query_is_shown_beside_the_ranked_case(panel):
    ranked = panel.state.ranking.ranked[2]
    assert panel.current_case() == ranked.case_id
    assert [pane.view.image is not None for pane in panel.panes] == [True, True]
    texts = panel.facts.texts()
    assert texts[0] == ["Query", "Rank 3"]
    assert texts[1][0] == "Finding"
    assert len(texts[1]) == 3


def test_a_tool_that_a_key_chose_measures_both_images(panel, qtbot):
    views = [pane.view for pane in panel.panes]
    for measured, other in (views, views[::-1]):
        qtbot.keyClick(measured, Qt.Key.Key_E, Qt.KeyboardModifier.ShiftModifier)
        assert (measured.tool, other.tool, panel.measure.isChecked()) == ("roi-ellipse", "roi-ellipse", True)
        measured.set_tool("select")
        assert (measured.tool, other.tool, panel.measure.isChecked()) == ("select", "select", False)
    panel.draw.click()
    assert [view.tool for view in views] == ["select", "rectangle"]


def test_a_button_that_is_pressed_leaves_the_keyboard_at_the_images(panel):
    for button in (panel.back, panel.linked, panel.search_region, panel.acts.in_report):
        assert button.focusPolicy() == Qt.FocusPolicy.TabFocus


def test_keys_step_through_the_ranks_and_go_back(panel, jobs, qtbot):
    left = panel.panes[1].view.viewport.x
    qtbot.keyClick(panel.panes[1].view, Qt.Key.Key_Right)
    jobs.run_pending()
    assert panel.current_case() == panel.state.ranking.ranked[3].case_id
    assert panel.strip.current() == panel.state.ranking.ranked[3].row
    assert panel.panes[1].view.viewport.x == left
    qtbot.keyClick(panel.panes[1].view, Qt.Key.Key_Left)
    jobs.run_pending()
    assert panel.current_case() == panel.state.ranking.ranked[2].case_id
    qtbot.keyClick(panel, Qt.Key.Key_Period)
    assert panel.current_case() == panel.state.ranking.ranked[3].case_id
    qtbot.keyClick(panel, Qt.Key.Key_Comma)
    jobs.run_pending()
    assert panel.current_case() == panel.state.ranking.ranked[2].case_id
    with qtbot.waitSignal(panel.closed):
        qtbot.keyClick(panel, Qt.Key.Key_Escape)


def marked(state, *, order: list[int], **kinds: JudgementKind):
    """The ranking after marks of these cases, with the ranked cases at other ranks."""
    search, ranked = state.ranked_search, state.ranking.ranked
    entries = tuple(
        LedgerEntry(number, Judgement(kind, state.query.case, ranked[int(place[1:])].case_id))
        for number, (place, kind) in enumerate(kinds.items())
    )
    cases = tuple(replace(ranked[place], rank=number + 1) for number, place in enumerate(order))
    return replace(search, entries=entries, result=replace(search.result, ranked=cases))


def test_the_order_stays_while_one_compares_and_only_the_marks_change(panel, jobs, qtbot):
    state, ranked = panel.state, panel.state.ranking.ranked
    unmarked, shown = panel.strip.grab().toImage(), panel.current_case()
    assert panel.acts.text.text() == "No marks yet."
    places = {one: one.geometry() for one in (panel.strip, panel.acts, panel.place_line, *panel.panes)}
    state.set_ranked_search(
        marked(
            state,
            order=[1, 0, 2, 4, 3, 5, 6, 7],
            _0=JudgementKind.ALIKE,
            _2=JudgementKind.NOT_ALIKE,
        )
    )
    jobs.run_pending()
    assert panel.strip.model().judgements == {ranked[0].row: 1, ranked[2].row: -1}
    assert panel.strip.grab().toImage() != unmarked
    assert (panel.current_case(), panel.acts.text.text()) == (shown, "Marked. 4 cases move")
    assert [panel.strip.model().case_row(place) for place in range(8)] == [case.row for case in ranked]
    qtbot.keyClick(panel.strip, Qt.Key.Key_Left)
    jobs.run_pending()
    assert panel.current_case() == ranked[1].case_id
    assert {one: one.geometry() for one in places} == places
    # The next time it is opened it has the order that the similar cases have.
    panel.compare(ranked[1].row)
    assert [panel.strip.model().case_row(place) for place in range(2)] == [ranked[1].row, ranked[0].row]
    assert panel.acts.text.text() == "2 marks"


def test_the_buttons_mark_and_their_keys_work_wherever_the_focus_is(panel, qtbot, monkeypatch):
    monkeypatch.setattr(type(panel.state), "can_judge", property(lambda _state: True))
    panel.feedback.show_case(panel.current_case())
    marks = []
    panel.judged.connect(lambda row, mark: marks.append(mark))
    more, less = panel.feedback._buttons.values()
    assert (more.text(), less.text(), less.width(), less.height()) == ("More like this", "Less", 96, 32)
    qtbot.mouseClick(more, Qt.MouseButton.LeftButton)
    assert more.isChecked()
    for target in (panel.strip, panel.in_report, panel.panes[0].view, panel.next, panel.linked):
        target.setFocus()
        qtbot.keyClick(target, Qt.Key.Key_D)
        assert (more.isChecked(), less.isChecked()) == (False, True)
    assert marks == [1, -1, -1, -1, -1, -1]
    qtbot.keyClick(panel.next, Qt.Key.Key_A)
    assert panel.in_report.text() == "In the report"


def test_no_distance_is_shown(panel):
    texts = [label.text() for label in panel.findChildren(QLabel)] + panel.strip.drawn_texts()
    assert not any("distance" in text for text in texts)


def test_the_header_says_that_marks_order_the_cases(panel, jobs):
    state = panel.state
    assert panel.header._subtitle.text() == "query with rank 3 of 8"
    marks = QueryMarks(liked=(state.ranking.ranked[0].case_id,))
    ranking = replace(state.ranking, marks=marks)
    state.set_ranked_search(replace(state.ranked_search, result=ranking))
    jobs.run_pending()
    assert panel.header._subtitle.text() == "query with rank 3 of 8 · ordered by 1 mark"


def test_stepping_stops_at_the_ends_of_the_ranking(panel, jobs):
    panel.step(-100)
    jobs.run_pending()
    assert panel.current_case() == panel.state.ranking.ranked[0].case_id
    assert not panel.previous.isEnabled()
    panel.step(100)
    jobs.run_pending()
    assert panel.current_case() == panel.state.ranking.ranked[-1].case_id
    assert not panel.next.isEnabled()


def test_linked_images_share_the_view(panel):
    left, right = (pane.view for pane in panel.panes)
    left.zoom_by(4)
    assert right.viewport.zoom == pytest.approx(left.viewport.zoom)
    right.pan_by(30, 20)
    assert left.viewport.x == pytest.approx(right.viewport.x, abs=0.1)
    left.rotate()
    assert right.orientation == left.orientation
    panel.linked.setChecked(False)
    before = right.viewport
    left.fit()
    assert right.viewport == before


def test_window_level_is_linked(panel):
    left, right = (pane.view for pane in panel.panes)
    left.set_window(type(left.window_level)(20.0, 90.0))
    assert (right.window_level.low, right.window_level.high) == pytest.approx((20.0, 90.0), rel=0.2)


def test_missing_image_shows_an_error_beside_the_other_image(panel, jobs, monkeypatch):
    from semblance.core.errors import BadInput

    def gone(*_given, **_more):
        raise BadInput("'x.png' is not there any more.", "Find moved images.")

    monkeypatch.setattr(view_images, "view_case", gone)
    panel.step(1)
    jobs.run_pending()
    assert panel.panes[0].view.image is not None
    assert panel.panes[1].view.image is None
    assert "not there any more" in panel.headers[1].problem.text()


def test_query_outside_the_library_is_compared(panel, jobs, tmp_path):
    path = tmp_path / "mine.png"
    pixels = np.zeros((300, 400, 3), np.uint8)
    pixels[140:142, 190:211] = pixels[130:151, 199:201] = (255, 255, 0)
    Image.fromarray(pixels).save(path)
    ranked = panel.state.ranked_search
    panel.state.set_query(Query(image=path))
    assert panel.panes[0].view.image is None
    result = replace(ranked.result, query=Query(image=path))
    panel.state.set_ranked_search(replace(ranked, result=result))
    jobs.run_pending()
    assert panel.panes[0].view.image.width == 400
    assert panel.panes[0].view.image.is_colour
    assert panel.facts.texts()[1][1] == "not given"
    assert ["Burnt-in annotations", "1", "–"] in panel.facts.texts()
    first, second = (pane.view for pane in panel.panes)
    assert not second.image.is_colour
    assert first.height() == second.height()


def test_page_closes_without_a_ranking(panel, qtbot):
    with qtbot.waitSignal(panel.closed):
        panel.state.set_ranked_search(None)


def draw(qtbot, view, start: tuple[int, int], end: tuple[int, int]) -> None:
    left = Qt.MouseButton.LeftButton
    qtbot.mousePress(view, left, pos=QPoint(*start))
    qtbot.mouseMove(view, QPoint((start[0] + end[0]) // 2, (start[1] + end[1]) // 2))
    qtbot.mouseMove(view, QPoint(*end))
    qtbot.mouseRelease(view, left, pos=QPoint(*end))


def test_a_region_of_the_ranked_case_becomes_the_query(panel, jobs, qtbot):
    case, view = panel.current_case(), panel.panes[1].view
    assert panel.drawn is None
    assert not panel.search_region.isVisible()
    qtbot.keyClick(panel, Qt.Key.Key_R)
    assert panel.draw.isChecked()
    middle = view.rect().center()
    draw(qtbot, view, (middle.x() - 60, middle.y() - 50), (middle.x() + 40, middle.y() + 70))
    assert panel.search_region.isVisible()
    assert panel.panes[0].view.region.region is None
    region = panel.drawn
    with qtbot.waitSignal(panel.closed):
        qtbot.mouseClick(panel.search_region, Qt.MouseButton.LeftButton)
    assert panel.state.query == Query(case=case, region=region)
    assert (region.width > 2, region.height > 2) == (True, True)


def test_menu_draws_and_searches_and_the_next_case_has_no_region(panel, jobs, qtbot):
    texts = [action.text().partition("\t")[0] for action in panel.make_menu(0).actions()]
    assert "Draw region" not in texts
    menu = panel.make_menu(1)
    actions = {action.text().partition("\t")[0]: action for action in menu.actions()}
    assert not actions["Search with this region"].isEnabled()
    actions["Draw region"].trigger()
    middle = panel.panes[1].view.rect().center()
    draw(qtbot, panel.panes[1].view, (middle.x() - 60, middle.y() - 50), (middle.x() + 40, middle.y() + 70))
    assert panel.drawn is not None
    before = panel.state.query
    panel.step(1)
    # The region is on the image of the case before, which stays until that of the next one is there.
    assert panel.panes[1].view.region.region is not None
    assert not panel.search_region.isVisible()
    panel.search_with_region()
    assert panel.state.query == before
    jobs.run_pending()
    assert panel.drawn is None
    assert not panel.search_region.isVisible()
    assert not panel.draw.isChecked()


def test_both_images_are_seen_in_turn_in_one_place(panel, qtbot):
    query, case = (pane.view for pane in panel.panes)
    alone = case.grab().toImage()
    qtbot.keyClick(case, Qt.Key.Key_O)
    assert panel.second.blink.isChecked()
    assert case.second is not None
    assert case.grab().toImage() != alone
    panel.second._timer.stop()
    panel.second._exchange()
    assert case.second is None
    panel.second._timer.start()
    qtbot.keyClick(case, Qt.Key.Key_X)
    assert (panel.second.blink.isChecked(), panel.second._timer.isActive()) == (False, False)
    assert case.second.is_difference
    panel.hide()
    panel.second.difference.click()
    assert case.second is None
    assert query.second is None


def test_the_difference_of_equal_images_is_black(panel, qtbot):
    query, case = (pane.view for pane in panel.panes)
    query.set_overlay_text_shown(False)
    case.set_overlay_text_shown(False)
    case.case_region = None
    case.show_image(query.image)
    case.set_window(query.window_level)
    panel.second.difference.click()
    centre = case.grab().toImage().pixelColor(case.rect().center())
    assert max(centre.red(), centre.green(), centre.blue()) <= 1


@pytest.mark.parametrize("width", [320, 900])
def test_what_the_second_image_is_stands_below_the_letter_of_the_patients_side(panel, width):
    query, case = (pane.view for pane in panel.panes)
    case.resize(width, 400)
    case.set_overlay_text_shown(True)

    def painted(label: str, edges: tuple[str, str, str, str] | None) -> QImage:
        case.show_second(SecondImage(query, label) if label else None)
        case.edges = edges
        return case.grab().toImage()

    sides = ("R", "A", "L", "P")
    middle = range(width // 2 - 8, width // 2 + 8)
    letter = changed_rows(painted("", None), painted("", sides), middle)
    label = changed_rows(painted("Query", sides), painted("Difference", sides), range(width))
    assert letter
    assert min(label) > max(letter)


def changed_rows(one: QImage, other: QImage, columns: range) -> list[int]:
    """Rows of the upper edge that differ in some of ``columns``."""
    return [y for y in range(60) if any(one.pixel(x, y) != other.pixel(x, y) for x in columns)]


def test_cases_and_notes_are_chosen_for_the_report(panel, qtbot, jobs):
    first, second = (panel.state.ranking.ranked[place].case_id for place in (2, 3))
    qtbot.keyClick(panel.panes[1].view, Qt.Key.Key_A)
    qtbot.keyClicks(panel.notes, "same margin")
    qtbot.keyClick(panel.panes[1].view, Qt.Key.Key_Right)
    jobs.run_pending()
    assert (panel.in_report.isChecked(), panel.notes.toPlainText()) == (False, "")
    assert panel.in_report.text() == "Add to report"
    assert panel.state.search.in_report == (first,)
    assert panel.state.search.notes == ((first, "same margin"),)
    qtbot.keyClick(panel.panes[1].view, Qt.Key.Key_Left)
    jobs.run_pending()
    assert (panel.in_report.isChecked(), panel.notes.toPlainText()) == (True, "same margin")
    assert panel.in_report.text() == "In the report"
    panel.state.set_query(Query(case=second))
    assert (panel.state.search.in_report, panel.state.search.notes) == ((), ())
    # Until the ranking of the query is there, there is no case to choose or to note anything on.
    assert (panel.in_report.isChecked(), panel.notes.toPlainText()) == (False, "")
    assert (panel.in_report.text(), panel.in_report.isEnabled()) == ("Add to report", False)
    assert panel.notes.isReadOnly()


@pytest.mark.parametrize(
    ("value", "text"), [("036Y", "36 years"), ("001Y", "1 year"), ("006M", "6 months"), ("adult", "adult")]
)
def test_a_dicom_age_is_written_as_people_write_it(value, text):
    assert compared_pair._age(value) == text


def test_facts_of_the_header_have_names_units_and_dates_of_the_language(panel):
    attributes = {"modality": "CT", "slice_thickness": "1.25", "kernel": "B30f", "date": "2019-03-14"}
    image = SimpleNamespace(width=4, height=4, spacing_mm=None)
    viewed = SimpleNamespace(
        image=image,
        region=None,
        stack=None,
        marks=(),
        case=SimpleNamespace(attributes=attributes, date="2019-03-14"),
    )

    def facts() -> list[tuple[str, str]]:
        return list(compared_pair._facts(panel.state.columns, None, viewed).items())[1:]

    assert facts() == [
        ("Modality", "CT"), ("Slice thickness, mm", "1.25"), ("Kernel", "B30f"), ("Date", "14 Mar 2019")
    ]  # fmt: skip
    with use_language("de"):
        assert [name for name, _ in facts()] == ["Modalität", "Schichtdicke, mm", "Kernel", "Datum"]
        assert dict(facts())["Schichtdicke, mm"] == "1,25"


def test_in_portrait_the_images_are_above_each_other(panel, qtbot):
    query, case = (pane.view for pane in panel.panes)
    assert query.mapTo(panel, QPoint()).y() == case.mapTo(panel, QPoint()).y()
    wide = query.width()
    panel.resize(900, 1400)
    qtbot.waitUntil(lambda: query.mapTo(panel, QPoint()).x() == case.mapTo(panel, QPoint()).x())
    assert query.mapTo(panel, QPoint()).y() < case.mapTo(panel, QPoint()).y()
    assert min(query.width(), query.height()) > wide


def test_rows_of_a_table_are_compared_by_their_features_largest_difference_first(
    qtbot, jobs, context, tmp_path
):
    library = table_library(tmp_path, metrics=[PLAIN])
    context.state.set_library(read_snapshot(library))
    query = Query(case="t/c0")
    context.state.set_query(query)
    context.state.set_ranked_search(unrefined_search(nearest_cases(library, "plain", query, k=8)))
    page = show_widget(qtbot, ComparePage(context, ThumbnailLoader(lambda _rows, done: done([]))), 1200, 760)
    page.compare(context.state.ranking.ranked[0].row)
    jobs.run_pending()
    assert page.features.isVisible()
    assert not any(widget.isVisible() for widget in (*page.panes, page.draw, page.second.blink, page.linked))
    model = page.features.features
    differences = [model.feature(row).difference for row in range(model.rowCount())]
    assert differences == sorted(differences, reverse=True)
    assert len(differences) == 5
    assert model.headerData(2, Qt.Orientation.Horizontal, Qt.ItemDataRole.DisplayRole) == "● Rank 1"
    first = model.texts(0)
    qtbot.keyClick(page.features, Qt.Key.Key_Right)
    jobs.run_pending()
    assert page.current_case() == context.state.ranking.ranked[1].case_id
    assert model.texts(0) != first


@pytest.fixture
def by_place(panel, jobs, trained):
    """The panel on a search by place: a region of the query, and a place in each case."""
    state = panel.state
    query = Query(case=state.query.case, region=Region(2, 4, 12, 8))
    state.set_query(query)
    image = panel.panes[1].view.image
    width, height = image.width, image.height
    places = [MatchedPlace(x, 6, 10, 8, None, 0.8, width, height) for x in (3, 14, 20)]
    result = nearest_cases(trained, "plain", replace(query, region=None), k=8)
    state.set_ranked_search(unrefined_search(replace(with_places(result, *places), query=query)))
    panel.compare(state.ranking.ranked[1].row)
    jobs.run_pending()
    return panel


def middle_of(view, box):
    left, top, right, bottom = view.viewport.box(*box)
    return (left + right) / 2, (top + bottom) / 2


def test_a_search_by_place_frames_its_place_and_says_what_was_searched_with(by_place):
    query, case = (pane.view for pane in by_place.panes)
    assert query.region.region == Region(2, 4, 12, 8)
    assert case.place_marks.frames == ((14, 6, 24, 14),)
    name = by_place.state.columns.name(by_place.state.columns.index_of_id(by_place.state.query.case))
    assert by_place.header._subtitle.text() == f"by place: region of {name}, rank 2 of 8"
    assert by_place.place_line.text() == "Region 12 × 8 px   Z zooms both to the matched place"
    assert by_place.place_line.isVisible()
    assert by_place.strip.model().places[by_place.current_row()].x == 14


def test_z_zooms_both_images_to_the_place_at_one_scale_and_back(by_place, jobs, qtbot):
    views = [pane.view for pane in by_place.panes]
    whole = [view.viewport for view in views]
    qtbot.keyClick(views[1], Qt.Key.Key_Z)
    boxes = [(2, 4, 14, 12), (14, 6, 24, 14)]
    for view, box in zip(views, boxes, strict=True):
        assert view.viewport.zoom > 1.5 * view.viewport.fit_zoom
        middle = middle_of(view, box)
        assert middle == pytest.approx((view.width() / 2, view.height() / 2), abs=2)
    assert views[0].viewport.zoom == pytest.approx(views[1].viewport.zoom)
    # Linked images keep the places beside each other.
    views[0].pan_by(25, -10)
    assert middle_of(views[1], boxes[1]) == pytest.approx(middle_of(views[0], boxes[0]), abs=2)
    # So does the next case, with a place of its own.
    qtbot.keyClick(views[1], Qt.Key.Key_Right)
    jobs.run_pending()
    assert middle_of(views[1], (20, 6, 30, 14)) == pytest.approx(
        (views[1].width() / 2, views[1].height() / 2), abs=2
    )
    qtbot.keyClick(views[1], Qt.Key.Key_Z)
    assert [view.viewport for view in views] == whole


def test_without_places_z_does_nothing_and_no_line_is_shown(panel, qtbot):
    before = [pane.view.viewport for pane in panel.panes]
    qtbot.keyClick(panel.panes[1].view, Qt.Key.Key_Z)
    assert [pane.view.viewport for pane in panel.panes] == before
    assert panel.place_line.text() == ""
    assert not panel.panes[1].view.place_marks
