"""The page "Ask me next": three large images, answers by keys, and the learning curve."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QEvent, QPoint, QPointF, QRect, QRectF, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QHideEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPen,
    QPolygonF,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QFrame,
    QLabel,
    QMenu,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from semblance.app.search.feedback import mark_cards
from semblance.app.search.feedback.questions import KEYS, QuestionSession
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.icons import icon
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.keys import claims
from semblance.app.shell.state import Change
from semblance.app.shell.theme import SMALL, TICK, colour, set_look, theme, theme_signals
from semblance.app.viewer.image_menu import image_menu
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.layouts import STRETCH, HLine, fill, hbox, vbox
from semblance.app.widgets.menus import attach_menu
from semblance.app.widgets.panel import FullPage, ImageHeader, side_by_side
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.text_cache import CENTRE, RIGHT, text_cache
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS
from semblance.core.language import tr, tr_n
from semblance.core.reports.curves import interval_text
from semblance.core.reports.plot import count_ticks, tick_text, value_ticks
from semblance.core.searches.feedback.questions import QuestionAnswer
from semblance.core.workflows.imaging import view_images
from semblance.core.workflows.imaging.view_images import ViewedImage
from semblance.core.workflows.searches.feedback.refinement_session import HeldOutScore

_NAMES = (tr("Query"), tr("Left"), tr("Right"))


class QuestionsPage(FullPage):
    """Asks about the current search. ``closed``: the user goes back to the similar cases."""

    def __init__(self, context: Context) -> None:
        super().__init__(tr("Ask me next"))
        self._context, self._state = context, context.state
        self.session = QuestionSession(context, across_queries=True, parent=self)
        #: Images, or the reason why there is none, by case.
        self._opened: dict[str, ViewedImage | str] = {}
        self._opening: dict[str, Job] = {}
        self._shown: list[str | None] = [None, None, None]
        self._ledger = ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.panes = [ImagePane(context.jobs, settings=context.settings, share=1 / 3) for _ in _NAMES]
        for pane, name in zip(self.panes, _NAMES, strict=True):
            pane.view.setAccessibleName(name)
        self.headers = [_QuestionHeader(name, key) for name, key in zip(_NAMES, ("", "←", "→"), strict=True)]
        self.buttons = {
            QuestionAnswer.FIRST: QPushButton(tr("Left  ←")),
            QuestionAnswer.BOTH: QPushButton(tr("Both  B")),
            QuestionAnswer.NEITHER: QPushButton(tr("Neither  N")),
            None: QPushButton(tr("Skip  Space")),
            QuestionAnswer.SECOND: QPushButton(tr("Right  →")),
        }
        self.undo = QPushButton(tr("Undo  Ctrl+Z"))
        self.undo.setIcon(icon("undo"))
        self.progress = LearningProgress()
        self._empty = EmptyState()
        self._lay_out()
        self._refresh_timer = one_shot(self, self._refresh)
        self._connect()
        self._show()

    def _menu_of(self, pane: ImagePane, _at: QPoint) -> QMenu:
        """The menu of one of the images; it deletes itself when it closes."""
        return image_menu(pane.view, self._context, self, pane)

    def _lay_out(self) -> None:
        names = {
            QuestionAnswer.FIRST: tr("The left case is like the query"),
            QuestionAnswer.BOTH: tr("Both are like the query"),
            QuestionAnswer.NEITHER: tr("Neither is like the query"),
            None: tr("Skip"),
            QuestionAnswer.SECOND: tr("The right case is like the query"),
        }
        for pane in self.panes:
            pane.view.editable = False
            attach_menu(pane.view, partial(self._menu_of, pane))
            # Keys give answers. The mouse zooms and pans.
            pane.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            pane.histogram.hide()
        self._footer = QFrame()
        set_look(self._footer, role="bar")
        answers = hbox(self._footer, spacing=8, margins=(12, 8, 12, 8))
        answers.addStretch(1)
        for given, button in self.buttons.items():
            button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            button.setAccessibleName(names[given])
            answers.addWidget(button)
        answers.addSpacing(16)
        self.undo.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.undo.setToolTip(tr("Undo the last answer and ask again (Ctrl+Z)"))
        set_look(self.undo, quiet=True)
        answers.addWidget(self.undo)
        answers.addStretch(1)
        question = QWidget()
        question.setLayout(side_by_side(self.headers, self.panes))
        self._pages = QStackedWidget()
        self._pages.addWidget(self._empty)
        self._pages.addWidget(question)

        self._lay_out_page()

    def _lay_out_page(self) -> None:
        body = hbox()
        body.addWidget(self._pages, 1)
        body.addWidget(HLine(vertical=True))
        body.addWidget(self.progress)
        fill(vbox(self), self.header, (body, 1), self._footer)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.progress.set_max_size(self.width() * 36 // 100, self.height() * 28 // 100)

    def _connect(self) -> None:
        for given, button in self.buttons.items():
            button.clicked.connect(lambda _=False, given=given: self.session.answer(given))
        self.undo.clicked.connect(self.session.undo)
        self.session.changed.connect(self._show)
        self.session.prepared.connect(self._open_images)
        self._state.on_change(Change.RANKING | Change.REFUSAL, self, self._schedule_refresh)
        self._state.on_change(Change.LIBRARY, self, self._clear)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._refresh_timer.stop()

    def event(self, event: QEvent) -> bool:
        is_key = event.type() == QEvent.Type.ShortcutOverride
        return (is_key and self.session.can_undo and claims(event, "Ctrl+Z")) or super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Undo):
            self.session.undo()
        elif event.key() in KEYS and not event.isAutoRepeat():
            self.session.answer(KEYS[event.key()])
        elif event.key() not in KEYS:
            super().keyPressEvent(event)

    # Following

    def _schedule_refresh(self) -> None:
        if self.isVisible():
            self._refresh_timer.start()

    def _refresh(self) -> None:
        if self._state.ranking is not None:
            self.session.start()
        if self._state.ledger != self._ledger:
            self._ledger = self._state.ledger
            self.progress.clear()
        self._show()
        judged, ledger = self._state.judgement_count, self._ledger

        def show_score(score: HeldOutScore | None) -> None:
            if self._ledger == ledger:
                self.progress.show_score(judged, score)

        if self._state.can_judge:
            mark_cards.fetch_score(self._context, show_score, channel=mark_cards.CURVE)

    def _clear(self) -> None:
        for job in list(self._opening.values()):
            job.cancel()
        self._opened.clear()
        self._shown = [None, None, None]
        self._ledger = ""
        self.progress.clear()
        if self.isVisible():
            self.closed.emit()

    # Showing

    def _show(self) -> None:
        question, problem = self.session.question, self.session.problem
        self.progress.show_counts(self.session.answered, self._state.judgement_count)
        self.undo.setEnabled(self.session.can_undo)
        for button in self.buttons.values():
            button.setEnabled(question is not None)
        if problem is not None:
            self._empty.show_message(problem.title, problem.text, tr("Similar cases"), self.closed.emit)
            self._empty.copy_details.set_error(problem.error)
        elif question is None:
            self._empty.show_message("", tr("Finding the most useful question…"))
        self._pages.setCurrentIndex(0 if question is None else 1)
        if question is None:
            return
        query = self._state.query
        is_query = query is not None and query.case == question.query
        title = tr("Query") if is_query else tr("Another query")
        self.headers[0].set_title(title)
        self.panes[0].view.setAccessibleName(title)
        self.header.set_subtitle(tr("Which case is like the query? Answer by what matters to you."))
        for place, case in enumerate((question.query, question.first, question.second)):
            if self._shown[place] != case:
                self._shown[place] = case
                # A name may contain the finding, and so the answer.
                self.headers[place].set_name(self._label(case) if place == 0 else "")
                self._draw(place)
        self._open_images()

    def _label(self, case: str) -> str:
        return self._state.columns.name_of_id(case)

    def _open_images(self) -> None:
        """Open the images of this and the next question, and release all others."""
        needed: list[str] = []
        for question in (self.session.question, self.session.next):
            needed += [] if question is None else [question.query, question.first, question.second]
        for case in [case for case in self._opened if case not in needed]:
            del self._opened[case]
        columns, path = self._state.columns, self._state.location
        for case in dict.fromkeys(needed):
            row = columns.row_of_id(case)
            if case in self._opened or case in self._opening or row < 0 or path is None:
                continue
            job = self._context.jobs.run(
                tr("Opening the image"), view_images.view_case, path, row, pool=WorkerPool.READ, quiet=True
            )
            self._opening[case] = job
            job.done.connect(lambda viewed, case=case: self._show_case(case, viewed))
            job.failed.connect(lambda error, case=case: self._show_case(case, str(error)))
            job.ended.connect(lambda case=case: self._opening.pop(case, None))

    def _show_case(self, case: str, found: ViewedImage | str) -> None:
        self._opened[case] = found
        for place, shown in enumerate(self._shown):
            if shown == case:
                self._draw(place)

    def _draw(self, place: int) -> None:
        case, pane = self._shown[place], self.panes[place]
        found = None if case is None else self._opened.get(case)
        problem = found if isinstance(found, str) else ""
        self.headers[place].show_problem(problem)
        if isinstance(found, ViewedImage) and found.case is not None:
            pane.show_viewed(found, self._state.location, found.case.row, None)
            pane.go_to_slice_of(found.region)
        else:
            pane.show_nothing()
            pane.view.problem = problem
        pane.histogram.hide()


class _QuestionHeader(ImageHeader):
    """Title, name and key of an image, without the finding, which would give away the answer."""

    def __init__(self, title: str, key: str) -> None:
        super().__init__(title)
        self._label = ""
        key_label = QLabel(key)
        set_look(key_label, role="second")
        self.add_action(key_label)

    def set_name(self, name: str) -> None:
        self._label = name
        self.set_subtitle(name)

    def show_problem(self, problem: str) -> None:
        """Show why there is no image, beside the name."""
        self.set_subtitle(f"{self._label} {problem}".strip())


WIDTH, CURVE_HEIGHT = 296, 190
EXPLANATION = tr(
    "Five answers rarely change the score. Twenty often do. More are needed if one answer in "
    "five is wrong. Held-out cases are never used for questions."
)
NOTHING_HELD_OUT = tr("No cases are held out. Every case with a finding was marked or used for training.")


class LearningProgress(QWidget):
    """Shows counts and scores. It reads nothing itself."""

    def __init__(self) -> None:
        super().__init__()
        self.header = SectionHeader()
        self.curve = LearningCurve()
        self.badge = Badge("held-out cases")
        self.value, self.before = QLabel("–"), QLabel()
        label, explanation = QLabel(tr("Accuracy @10")), QLabel(EXPLANATION)
        for text in (label, self.before, explanation):
            text.setWordWrap(text is not label)
            set_look(text, role="second")
        set_look(self.value, role="title")
        accuracy = fill(hbox(spacing=8), label, STRETCH, self.badge)
        fill(
            vbox(self, spacing=8, margins=(12, 10, 12, 12)),
            self.header,
            self.curve,
            accuracy,
            self.value,
            self.before,
            explanation,
            STRETCH,
        )
        self._max_size = (theme().px(WIDTH), theme().px(CURVE_HEIGHT))
        theme_signals.changed.connect(self._update_size)
        self._update_size()
        self.show_counts(0, 0)
        self.clear()

    def show_counts(self, answered: int, judged: int) -> None:
        """Show how many questions were answered, and how many judgements the search has."""
        self.answered_text = tr("{n} answered", n=answered)
        self.header.set_title(self.answered_text)
        self.header.set_note(tr_n("{n} mark in force", "{n} marks in force", judged))

    def clear(self) -> None:
        """Remove all scores, for another search."""
        self.curve.clear()
        self._show_accuracy(None)

    def show_score(self, judged: int, score: HeldOutScore | None) -> None:
        """Add the score after so many judgements; ``None`` if no cases are held out."""
        if score is None:
            self.curve.clear(NOTHING_HELD_OUT)
        else:
            self.curve.add(judged, score)
        self._show_accuracy(score)

    def _show_accuracy(self, score: HeldOutScore | None) -> None:
        self.badge.setVisible(score is not None)
        self.value.setText("–" if score is None else interval_text(score.accuracy, *score.interval))
        self.before.setVisible(score is not None)
        if score is not None:
            patients = score.measured_on == HELD_OUT_PATIENTS
            self.badge.set_kind("held-out" if patients else "unknown")
            text = (
                tr(
                    "{before:.2f} without marks. Tested on {n:,} cases of patients not used for training.",
                    before=score.before,
                    n=score.cases,
                )
                if patients
                else tr(
                    "{before:.2f} without marks. Tested on {n:,} held-out cases.",
                    before=score.before,
                    n=score.cases,
                )
            )
            self.before.setText(text)

    def set_max_size(self, width: int, height: int) -> None:
        """Set the maximum width, and the maximum height of the curve, px."""
        self._max_size = (width, height)
        self._update_size()

    def _update_size(self) -> None:
        width, height = self._max_size
        self.setFixedWidth(min(theme().px(WIDTH), width))
        self.curve.setFixedHeight(min(theme().px(CURVE_HEIGHT), height))


_EMPTY = tr("The curve begins with the first answer.")


class LearningCurve(QWidget):
    """Draws a point for each number of judgements. The last one is marked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Accuracy @10 on held-out cases by marks"))
        self._points: dict[int, HeldOutScore] = {}
        self._text = _EMPTY

    @property
    def points(self) -> Mapping[int, HeldOutScore]:
        return self._points

    def clear(self, text: str = _EMPTY) -> None:
        """Remove all points and show ``text`` instead."""
        self._points, self._text = {}, text
        self.setAccessibleDescription(text)
        self.update()

    def add(self, judgements: int, score: HeldOutScore) -> None:
        """Add the score after so many judgements. Points with more judgements are removed, because they were undone."""
        self._points = {n: one for n, one in self._points.items() if n < judgements}
        self._points[judgements] = score
        accuracy = interval_text(score.accuracy, *score.interval)
        self.setAccessibleDescription(
            tr(
                "{accuracy} after {n} marks, {before:.2f} before any",
                accuracy=accuracy,
                n=judgements,
                before=score.before,
            )
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(260), theme().px(160))

    def minimumSizeHint(self) -> QSize:
        return QSize(theme().px(120), theme().px(90))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._points:
            self._draw(painter)
        else:
            area = self.rect().adjusted(8, 0, -8, 0)
            text_cache(SMALL).draw(painter, area, self._text, theme().third, CENTRE)
        painter.end()

    def _draw(self, painter: QPainter) -> None:
        tokens, ticks = theme(), text_cache(TICK)
        size = tokens.px(TICK)
        counts = sorted(self._points)
        scores = [self._points[n] for n in counts]
        before = scores[0].before
        low = min(before, *(one.interval[0] for one in scores))
        high = max(before, *(one.interval[1] for one in scores))
        bottom = self.height() - 2 * size - 12
        values, first, end = value_ticks(low, high, bottom - 8)
        left = max(ticks.width(tick_text(value)) for value in values) + 8
        last = max(10, counts[-1])
        box = QRectF(left, 8, self.width() - size - left, bottom - 8)

        def across(judgements: float) -> float:
            return box.left() + judgements / last * box.width()

        def up(accuracy: float) -> float:
            return box.bottom() - (accuracy - first) / (end - first) * box.height()

        for value in values:
            y = round(up(value)) + 0.5
            painter.setPen(QPen(colour(tokens.line), 1))
            painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
            where = QRect(0, round(y) - size, round(box.left()) - 6, 2 * size)
            ticks.draw(painter, where, tick_text(value), tokens.third, RIGHT)
        for tick in count_ticks(0, last, box.width()):
            x = round(across(tick))
            ticks.draw(painter, QRect(x - 30, round(bottom) + 4, 60, size), str(tick), tokens.third, CENTRE)
        below = QRect(round(box.left()), round(bottom) + 7 + size, round(box.width()), size + 2)
        ticks.draw(painter, below, tr("marks"), tokens.third, CENTRE)
        start = round(up(before)) + 0.5
        dashed = QPen(colour(tokens.second), 1)
        dashed.setDashPattern([3, 3])
        painter.setPen(dashed)
        painter.drawLine(QPointF(box.left(), start), QPointF(box.right(), start))
        along = [across(value) for value in counts]
        upper = [QPointF(a, up(one.interval[1])) for a, one in zip(along, scores, strict=True)]
        lower = [QPointF(a, up(one.interval[0])) for a, one in zip(along, scores, strict=True)]
        line = [QPointF(a, up(one.accuracy)) for a, one in zip(along, scores, strict=True)]
        band = QColor(colour(tokens.accent))
        band.setAlphaF(0.18)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(band)
        painter.drawPolygon(QPolygonF([*upper, *reversed(lower)]))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(colour(tokens.accent), 1.8))
        painter.drawPolyline(QPolygonF(line))
        if len(line) == 1:
            painter.drawLine(upper[0], lower[0])
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(tokens.accent))
        painter.drawEllipse(QRectF(line[-1].x() - 3.5, line[-1].y() - 3.5, 7, 7))
