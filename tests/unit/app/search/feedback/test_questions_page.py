"""Questions in the Refine panel and in full size: by mouse and keys, prepared ahead, taken back, or none."""

from __future__ import annotations

import shutil

import pytest
from PIL import Image
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QApplication

from semblance.app.search.feedback.questions import QuestionSection
from semblance.app.search.feedback.questions_page import NOTHING_HELD_OUT, LearningCurve, QuestionsPage
from semblance.app.shell import search_operations
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader, ThumbnailSource
from semblance.core.imaging.region import Region
from semblance.core.library.case_columns import CaseColumns
from semblance.core.searches.feedback.judgements import JudgementKind
from semblance.core.searches.feedback.questions import QuestionAnswer
from semblance.core.searches.query import Query
from semblance.core.workflows.library.library_snapshot import read_snapshot
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches.feedback.next_question import CaseQuestion
from semblance.core.workflows.searches.feedback.refinement_session import HeldOutScore
from tests.helpers.contexts import make_context
from tests.helpers.striped_library import striped_library
from tests.helpers.tables import PLAIN
from tests.helpers.widgets import finish_delayed_calls, show_widget


def answer_by_findings(columns: CaseColumns, question: CaseQuestion) -> QuestionAnswer:
    """The answer of a user who knows the findings of the cases."""
    query, first, second = (
        columns.finding_name(columns.index_of_id(case))
        for case in (question.query, question.first, question.second)
    )
    answers = {
        (True, False): QuestionAnswer.FIRST,
        (False, True): QuestionAnswer.SECOND,
        (True, True): QuestionAnswer.BOTH,
    }
    return answers.get((first == query, second == query), QuestionAnswer.NEITHER)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return striped_library(
        tmp_path_factory.mktemp("questions"), n=40, metrics=(PLAIN, TrainRequest("l1", "city"))
    )


@pytest.fixture
def trained(made, tmp_path):
    shutil.copytree(made, tmp_path / "Striped.semblance")
    yield tmp_path / "Striped.semblance"


@pytest.fixture
def context(context, trained):
    context.state.set_library(read_snapshot(trained))
    context.state.set_metric("plain")
    return context


class Grey(ThumbnailSource):
    """Every case has an image at once."""

    def get(self, case_row: int) -> QImage | None:
        image = QImage(16, 16, QImage.Format.Format_RGB888)
        image.fill(QColor(case_row % 200, 90, 90))
        return image

    def problem(self, case_row: int) -> str:
        return ""


@pytest.fixture
def page(qtbot, context, jobs):
    ask(context, jobs)
    page = show_widget(qtbot, QuestionsPage(context), 1280, 760)
    wait_until_idle(qtbot, jobs)
    return page


@pytest.fixture
def section(qtbot, context, jobs):
    ask(context, jobs)
    section = show_widget(qtbot, QuestionSection(context, Grey()), 312, 260)
    wait_until_idle(qtbot, jobs)
    return section


def ask(context, jobs, query: Query | None = None) -> None:
    search_operations.submit_query(context, query or Query(case=context.state.columns.ids[0]))
    jobs.run_pending()


def wait_until_idle(qtbot, jobs) -> None:
    """Run jobs until neither a job nor a delayed call of a window is pending."""
    for widget in QApplication.topLevelWidgets():
        finish_delayed_calls(qtbot, widget)
    if jobs.pending:
        jobs.run_pending()
        wait_until_idle(qtbot, jobs)


def judgement_kinds(context) -> list:
    entries = [entry for entry in context.state.ranked_search.entries if entry.undone is None]
    return [(e.judgement.query, e.judgement.kind, e.judgement.case) for e in entries]


# In full size


@pytest.mark.parametrize(
    ("key", "kinds"),
    [
        (Qt.Key.Key_Left, (JudgementKind.ALIKE, JudgementKind.NOT_ALIKE)),
        (Qt.Key.Key_Right, (JudgementKind.NOT_ALIKE, JudgementKind.ALIKE)),
        (Qt.Key.Key_B, (JudgementKind.ALIKE, JudgementKind.ALIKE)),
        (Qt.Key.Key_N, (JudgementKind.NOT_ALIKE, JudgementKind.NOT_ALIKE)),
    ],
)
def test_keys_answer(qtbot, page, context, jobs, key, kinds) -> None:
    question = page.session.question
    qtbot.keyClick(page, key)
    wait_until_idle(qtbot, jobs)
    assert judgement_kinds(context) == [
        (question.query, kinds[0], question.first),
        (question.query, kinds[1], question.second),
    ]
    assert page.progress.answered_text == "1 answered"
    assert page.session.question not in (None, question)


def test_the_mouse_answers_too(qtbot, page, context, jobs) -> None:
    for given, count in (
        (QuestionAnswer.FIRST, 2),
        (QuestionAnswer.BOTH, 4),
        (None, 4),
        (QuestionAnswer.NEITHER, 6),
    ):
        qtbot.mouseClick(page.buttons[given], Qt.MouseButton.LeftButton)
        wait_until_idle(qtbot, jobs)
        assert len(judgement_kinds(context)) == count
    qtbot.mouseClick(page.undo, Qt.MouseButton.LeftButton)
    wait_until_idle(qtbot, jobs)
    assert len(judgement_kinds(context)) == 4


def test_next_question_and_its_images_are_prefetched(qtbot, page, jobs) -> None:
    following = page.session.next
    assert following is not None
    qtbot.keyClick(page, Qt.Key.Key_N)
    assert page.session.question == following
    assert page.panes[1].view.image is not None
    assert jobs.pending, "the answer is being saved"


def test_skip_saves_nothing_and_asks_about_other_cases(qtbot, page, context, jobs) -> None:
    passed = set()
    for _ in range(4):
        question = page.session.question
        assert not {question.first, question.second} & passed
        passed |= {question.first, question.second}
        qtbot.keyClick(page, Qt.Key.Key_Space)
        wait_until_idle(qtbot, jobs)
    assert judgement_kinds(context) == []
    assert page.progress.answered_text == "0 answered"


def test_undo_asks_the_same_question_again(qtbot, page, context, jobs) -> None:
    first = page.session.question
    qtbot.keyClick(page, Qt.Key.Key_Left)
    wait_until_idle(qtbot, jobs)
    second = page.session.question
    qtbot.keyClick(page, Qt.Key.Key_Space)
    wait_until_idle(qtbot, jobs)
    qtbot.keyClick(page, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert page.session.question == second
    assert len(judgement_kinds(context)) == 2
    qtbot.keyClick(page, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    wait_until_idle(qtbot, jobs)
    assert page.session.question == first
    assert judgement_kinds(context) == []
    assert not page.undo.isEnabled()


def test_escape_goes_back(qtbot, page) -> None:
    with qtbot.waitSignal(page.closed):
        qtbot.keyClick(page, Qt.Key.Key_Escape)


def test_key_repeat_answers_once(qtbot, page, context, jobs) -> None:
    from PySide6.QtCore import QEvent
    from PySide6.QtGui import QKeyEvent

    pending = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_N, Qt.KeyboardModifier.NoModifier, "n", autorep=True)
    QApplication.sendEvent(page, pending)
    wait_until_idle(qtbot, jobs)
    assert judgement_kinds(context) == []


def test_learning_curve_and_its_badge(qtbot, page, context, jobs) -> None:
    for _ in range(3):
        page.session.answer(answer_by_findings(context.state.columns, page.session.question))
        wait_until_idle(qtbot, jobs)
    assert sorted(page.progress.curve.points) == [0, 2, 4, 6]
    assert page.progress.value.text().startswith("0.") or page.progress.value.text().startswith("1.")
    assert page.progress.badge.isVisible()
    assert (
        "without marks. Tested on 10 cases of patients not used for training" in page.progress.before.text()
    )


def test_findings_and_case_names_are_hidden(page, context) -> None:
    from PySide6.QtWidgets import QLabel

    question = page.session.question
    label = context.state.columns.name(context.state.columns.index_of_id(question.first))
    for head in page.headers[1:]:
        assert not any(one.text() == label for one in head.findChildren(QLabel))


def test_page_asks_about_library_cases_for_any_query(qtbot, context, jobs, tmp_path) -> None:
    outside = tmp_path / "outside.png"
    Image.new("L", (32, 32), 90).save(outside)
    ask(context, jobs, Query(image=outside))
    page = QuestionsPage(context)
    qtbot.addWidget(page)
    page.show()
    wait_until_idle(qtbot, jobs)
    assert page.session.question is not None
    assert page.session.question.query in context.state.columns.ids


def test_metric_without_coordinates_shows_a_notice(qtbot, context, jobs) -> None:
    context.state.set_metric("city")
    ask(context, jobs)
    page = QuestionsPage(context)
    qtbot.addWidget(page)
    page.show()
    wait_until_idle(qtbot, jobs)
    assert page.session.question is None
    assert "coordinates" in page.session.problem.title


def test_read_only_library_shows_a_notice(qtbot, trained, jobs, monkeypatch) -> None:
    import dataclasses

    context = make_context(jobs)
    context.state.set_library(dataclasses.replace(read_snapshot(trained), writable=False))
    context.state.set_metric("plain")
    ask(context, jobs)
    page = QuestionsPage(context)
    qtbot.addWidget(page)
    page.show()
    wait_until_idle(qtbot, jobs)
    assert "read-only" in page.session.problem.text
    assert not page.buttons[QuestionAnswer.BOTH].isEnabled()


def test_session_ends_when_all_cases_are_judged(qtbot, page, context, jobs) -> None:
    for _ in range(400):
        if page.session.question is None:
            break
        page.session.answer(None)
        jobs.run_pending()
    assert page.session.question is None
    assert page.session.problem.title == "No questions left"


def test_no_held_out_cases_is_shown(qtbot, page) -> None:
    page.progress.show_score(4, None)
    assert page.progress.curve.accessibleDescription() == NOTHING_HELD_OUT
    assert page.progress.value.text() == "–"
    assert not page.progress.badge.isVisible()


def test_closing_the_library_leaves_the_page(qtbot, page, context) -> None:
    with qtbot.waitSignal(page.closed):
        context.state.set_library(None)


# In the Refine panel


def test_click_on_an_image_answers(qtbot, section, context, jobs) -> None:
    question = section.session.question
    qtbot.mouseClick(section.second, Qt.MouseButton.LeftButton)
    wait_until_idle(qtbot, jobs)
    assert [kind for _, kind, _ in judgement_kinds(context)] == [JudgementKind.NOT_ALIKE, JudgementKind.ALIKE]
    assert section.session.question.query == question.query


def test_arrow_keys_answer_in_the_panel(qtbot, section, context, jobs) -> None:
    question = section.session.question
    section.setFocus()
    qtbot.keyClick(section, Qt.Key.Key_Left)
    wait_until_idle(qtbot, jobs)
    assert judgement_kinds(context)[0] == (question.query, JudgementKind.ALIKE, question.first)
    qtbot.mouseClick(section.skip, Qt.MouseButton.LeftButton)
    wait_until_idle(qtbot, jobs)
    assert len(judgement_kinds(context)) == 2


def test_another_query_starts_another_session(qtbot, section, context, jobs) -> None:
    ask(context, jobs, Query(case=context.state.columns.ids[5]))
    wait_until_idle(qtbot, jobs)
    assert section.session.question.query == context.state.columns.ids[5]


def test_region_query_shows_why_there_is_no_question(qtbot, section, context, jobs) -> None:
    ask(context, jobs, Query(case=context.state.columns.ids[0], region=Region(2, 2, 10, 10)))
    wait_until_idle(qtbot, jobs)
    assert section.session.question is None
    assert "whole case" in section.message.text()
    assert section.message.isVisible()


def test_question_about_a_case_judged_elsewhere_is_dropped(qtbot, section, context, jobs) -> None:
    from semblance.app.search.feedback import mark_cards
    from semblance.core.searches.feedback.judgements import likeness_judgement

    question = section.session.question
    mark_cards.save_judgements(
        context, [likeness_judgement(context.state.search, question.first, positive=True)]
    )
    wait_until_idle(qtbot, jobs)
    now = section.session.question
    assert question.first not in (now.first, now.second)


def test_action_requests_the_full_size_page(qtbot, section) -> None:
    with qtbot.waitSignal(section.full_size_requested):
        section.header.action_requested.emit()


def test_images_are_drawn(section) -> None:
    drawn = section.first.grab().toImage()
    section.first.show_image(None, "no image")
    assert section.first.grab().toImage() != drawn


def test_thumbnails_that_arrive_late_are_drawn(qtbot, context, jobs) -> None:
    ask(context, jobs)
    waiting: list = []
    section = QuestionSection(context, ThumbnailLoader(lambda rows, done: waiting.append((rows, done))))
    qtbot.addWidget(section)
    section.show()
    wait_until_idle(qtbot, jobs)
    assert waiting, "images of the question are sent for"


def score(accuracy: float) -> HeldOutScore:
    return HeldOutScore(accuracy, (accuracy - 0.05, accuracy + 0.05), 0.6, 80, "held-out patients")


@pytest.fixture
def curve(qtbot) -> LearningCurve:
    return show_widget(qtbot, LearningCurve(), 280, 190)


def test_curve_describes_its_last_point(curve) -> None:
    empty = curve.grab().toImage()
    curve.add(2, score(0.62))
    one = curve.grab().toImage()
    curve.add(4, score(0.7))
    assert sorted(curve.points) == [2, 4]
    assert "0.70 (0.65–0.75) after 4 marks, 0.60 before any" in curve.accessibleDescription()
    assert curve.grab().toImage() != one != empty


def test_undone_judgements_remove_points(curve) -> None:
    for judged in (2, 4, 6):
        curve.add(judged, score(0.6 + judged / 100))
    curve.add(4, score(0.64))
    assert sorted(curve.points) == [2, 4]


def test_empty_curve_shows_the_reason(curve) -> None:
    curve.add(2, score(0.62))
    curve.clear("Nothing is held out.")
    assert not curve.points
    assert curve.accessibleDescription() == "Nothing is held out."
