"""The Refine panel: the judgements of the search, their effect, and saving the refined metric."""

from __future__ import annotations

from PySide6.QtCore import QRect, QRectF, Qt, Signal
from PySide6.QtGui import (
    QDragEnterEvent,
    QDragLeaveEvent,
    QDragMoveEvent,
    QDropEvent,
    QHideEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from semblance.app.search.feedback import mark_cards
from semblance.app.search.feedback.judgement_list import NONE, JudgementList, LedgerModel
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.state import Change
from semblance.app.shell.theme import BASE, colour, set_look, theme, theme_signals
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.buttons import KeyTip, key_button
from semblance.app.widgets.cards.case_drag import dragged_case
from semblance.app.widgets.drop_target import dropped_file
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.fields import NoWheelSlider
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import EDGE, STRETCH, HLine, PanelScrollArea, fill, hbox, vbox
from semblance.app.widgets.panel import Panel, header_button
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.tab_order import enable_widgets
from semblance.app.widgets.text_cache import CENTRE, text_cache
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.evaluation.evaluate_metric import HELD_OUT_PATIENTS
from semblance.core.language import format_number, localise_number, tr, tr_n, translate
from semblance.core.searches.feedback.influence import Influence
from semblance.core.searches.search import Search
from semblance.core.workflows.searches.feedback.refinement_session import HeldOutScore
from semblance.core.workflows.searches.rank_cases import RankedSearch

#: Ranks for which changes are shown.
FIRST_RANKS = 20
SAVE = tr("Save as new metric…")
#: Below this width the label is shortened.
NARROW = 280
INSTRUCTIONS = tr(
    "Mark cases with + (U, more like this) and – (D, less like this). Press T, or drag one "
    "case onto another, to say which is closer. The order changes with every mark."
)
_INFLUENCE, _NO_INFLUENCE = tr("Influence"), tr("Hide influence")
#: The score is measured when no judgement was made for this long.
MEASURE_AFTER_MS = 400
#: With so few judgements the score rarely changes.
FEW = 10
#: The lines that can contain the badge of the score.
_BESIDE, _BELOW = 2, 3
_WAITING = tr("measuring…")


class RefinePanel(Panel):
    """Shows the marks and comparisons of the current search. A case or an image file that is dropped on the left half
    is marked as more like the query, on the right half as less like it.

    ``save_requested``: name the refined metric · ``train_requested``: train another metric ·
    ``case_requested(case_row)``: show a judged case in the ranking.
    """

    save_requested = Signal()
    train_requested = Signal()
    case_requested = Signal(int)

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__(tr("Refine"))
        self._context, self._state, self._thumbnails = context, context.state, thumbnails
        self._stale = True
        self.setAcceptDrops(True)
        self._sides = _DropSides(self)
        #: The search and ledger whose influences are shown.
        self._influence_search: Search | None = None
        self.rows = LedgerModel(self)
        self.list = JudgementList(self.rows, thumbnails)
        self.scores = RefinementScores(context)
        self._make_parts()
        self._lay_out()
        self._connect()
        self._refresh()

    def _make_parts(self) -> None:
        self._empty = EmptyState()
        self.header = SectionHeader(tr("Marks"))
        self.detail = WrappedLabel()
        self.detail.setContentsMargins(12, 6, 12, 6)
        self._refusal_label = WrappedLabel()
        self._refusal_label.setContentsMargins(12, 8, 12, 8)
        #: What could not be used in the ranking.
        self.note = WrappedLabel(role="small")
        self.note.setContentsMargins(12, 4, 12, 4)
        self._instructions = WrappedLabel(INSTRUCTIONS, "second")
        self._instructions.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._instructions.setContentsMargins(12, 0, 12, 8)
        #: Whether the judgements on other queries refine the metric.
        self.use_others = QCheckBox(tr("Refine the metric by marks on other cases"))
        self.use_others.setToolTip(
            tr(
                "Marks belong to the case they were made on. On, they change the similar cases of every query."
            )
        )
        self.save = QPushButton(SAVE)
        actions = self._context.actions
        KeyTip(self.save, tr("Save the refined metric under a name"), actions, "save_refined")
        self.save.setAccessibleName(SAVE)
        set_look(self.save, primary=True)
        self.undo = key_button("undo", tr("Undo the last mark"), actions, "undo_judgement")
        self.redo = key_button("redo", tr("Redo"), actions, "redo_judgement")
        self.reset = header_button("refresh", tr("Undo all marks; each can be redone"))

    def _lay_out(self) -> None:
        header_row = QHBoxLayout()
        header_row.setContentsMargins(12, 8, 12, 4)
        header_row.addWidget(self.header)
        footer = QFrame()
        set_look(footer, role="bar")
        row = fill(hbox(footer, spacing=4, margins=(EDGE, 8, EDGE, 8)), self.save, STRETCH)
        for widget in (self.reset, self.undo, self.redo):
            row.addWidget(widget)
        self._body = QWidget()
        body = vbox(self._body)
        #: Space for the next question.
        self.question_area = QVBoxLayout()
        fill(body, self.question_area, self._refusal_label, self.note, header_row)
        others_row = hbox(margins=(12, 0, 12, 4))
        others_row.addWidget(self.use_others)
        fill(body, others_row, (self._instructions, 1), (self.list, 1), self.detail, self.scores)
        self._footer = footer
        inner = QWidget()
        self._sections = fill(vbox(inner), (self._empty, 1), (self._body, 1))
        # In a low window all sections scroll together at full height. The footer stays in place.
        fill(vbox(self), (PanelScrollArea(inner, tr("Refine")), 1), footer)

    def _show_page(self, page: QWidget) -> None:
        for one in (self._empty, self._body):
            one.setVisible(one is page)
        self._footer.setVisible(page is self._body)

    def _connect(self) -> None:
        state, context = self._state, self._context
        state.on_change(
            Change.LIBRARY | Change.CASES | Change.METRIC | Change.QUERY | Change.RANKING | Change.REFUSAL,
            self,
            self._schedule_refresh,
        )
        self.use_others.clicked.connect(lambda on: mark_cards.use_other_marks(context, on=on))
        self.list.undo_requested.connect(lambda ids: mark_cards.undo(context, ids))
        self.list.redo_requested.connect(lambda ids: mark_cards.redo(context, ids))
        self.list.chosen.connect(self._show_contradictions)
        self.list.case_requested.connect(self.case_requested)
        self.header.action_requested.connect(self.toggle_influence)
        self.save.clicked.connect(self.save_requested)
        self.undo.clicked.connect(lambda: mark_cards.undo(context))
        self.redo.clicked.connect(lambda: mark_cards.redo(context))
        self.reset.clicked.connect(lambda: mark_cards.reset(context))
        self._refresh_timer = one_shot(self, self._refresh)

    def focus_judgements(self) -> None:
        """Focus the list of judgements, if it is visible."""
        if self.list.isVisible():
            self.list.setFocus(Qt.FocusReason.ShortcutFocusReason)
            if not self.list.currentIndex().isValid() and self.rows.rows:
                self.list.setCurrentIndex(self.rows.index(0))

    def set_questions(self, widget: QWidget) -> None:
        """Put ``widget``, which asks the next question, above the judgements."""
        self.question_area.addWidget(widget)

    def add_section(self, widget: QWidget) -> None:
        """Add a section below the judgements, which is visible without a query too."""
        self._sections.addWidget(HLine())
        self._sections.addWidget(widget)

    # Drag and drop

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if self._state.can_judge and self._dragged(event) is not None:
            event.acceptProposedAction()
            self._sides.show_side(event.position().x())

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        event.acceptProposedAction()
        self._sides.show_side(event.position().x())

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._sides.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._sides.hide()
        event.acceptProposedAction()
        if (dragged := self._dragged(event)) is not None:
            positive = event.position().x() < self.width() / 2
            mark_cards.mark_cases(self._context, [dragged], positive=positive)

    def _dragged(self, event: QDropEvent) -> str | None:
        """The id of the case, or the path of the file, that is dragged."""
        row, file = dragged_case(event.mimeData()), dropped_file(event.mimeData())
        if row is None:
            return None if file is None else str(file)
        index = self._state.columns.index_of_row(row)
        return self._state.columns.ids[index] if index >= 0 else None

    # Following the state

    def _schedule_refresh(self) -> None:
        """Refresh after the ranking is painted, because the user waits for that."""
        self._stale = True
        if self.isVisible() and not self._state.awaits_ranking:
            self._refresh_timer.start()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._stale:
            self._refresh()
        self.scores.resume()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.save.setText(SAVE)
        # The text of another language may be longer than the English one.
        if self.width() < max(theme().px(NARROW), self._footer.minimumSizeHint().width()):
            self.save.setText(tr("Save…"))

    def hideEvent(self, event: QHideEvent) -> None:
        self._refresh_timer.stop()
        super().hideEvent(event)

    def _refresh(self) -> None:
        self._stale = False
        state, ranked_search = self._state, self._state.ranked_search
        entries = ranked_search.entries if ranked_search is not None else ()
        if ranked_search is None or state.search is None:
            self.rows.show(None, (), (), state.columns)
            if state.library is not None and state.metric is None:
                self._empty.show_message(
                    tr("No metric yet"),
                    tr("A metric defines similarity. Train one, then search."),
                    tr("Train a metric"),
                    self.train_requested.emit,
                )
            else:
                self._empty.show_message(
                    tr("Search with a case"),
                    tr("Then mark similar cases. The order changes with every mark."),
                )
            self._show_page(self._empty)
            return
        if state.library is not None and not state.can_write and not entries:
            self._empty.show_message(tr("Marks cannot be saved"), state.why_not_written)
            self._show_page(self._empty)
            return
        self._show_page(self._body)
        self._refusal_label.setText(
            ""
            if state.refusal is None
            else tr(
                "Marks order the similar cases, but they cannot refine this metric. {hint}",
                hint=state.refusal.hint,
            )
        )
        self._refusal_label.setVisible(state.refusal is not None)
        problems = _problems(ranked_search)
        self.note.setText(" ".join(problems))
        self.note.setVisible(bool(problems))
        if self._influence_search is not None:
            self._hide_influence()
        ranked = ranked_search.result.ranked
        places = {case.case_id: case.place for case in ranked if case.place is not None}
        self.rows.show(state.search, entries, ranked_search.contradictions, state.columns, places)
        has_others = state.search.refined or state.own_judgement_count < state.judgement_count
        self.use_others.setVisible(has_others and state.refusal is None)
        self.use_others.setChecked(state.search.refined)
        self.list.setVisible(bool(entries))
        self._instructions.setVisible(not entries)
        self._update_header()
        current = self.list.current_row()
        self._show_contradictions(current.id if current is not None else NONE)
        self.scores.follow(ranked_search)
        writable = state.can_write
        judged, undone = state.judgement_count > 0, state.judgement_count < len(entries)
        enable_widgets(
            {
                self.save: judged and state.can_edit and state.refusal is None,
                self.undo: state.own_judgement_count > 0 and writable,
                self.reset: judged and writable,
                self.redo: undone and writable,
            }
        )

    def _update_header(self) -> None:
        total = len(self.rows.rows)
        # The longer label of the action needs the space.
        note = f"{total:,}" if self._influence_search else tr("{n:,} in the ledger", n=total)
        self.header.set_note(note if total else "")
        shown = self._state.judgement_count > 0 and self._state.refusal is None
        self.header.set_action((_NO_INFLUENCE if self._influence_search else _INFLUENCE) if shown else "")

    def _show_contradictions(self, entry: int) -> None:
        """Show which judgements contradict the current one, and what to do."""
        row = self.rows.row_of(entry)
        against = row.against if row is not None else ()
        n_contradictions = (
            len(self._state.ranked_search.contradictions) if self._state.ranked_search is not None else 0
        )
        self.detail.setVisible(n_contradictions > 0)
        if row is None or not against:
            text = tr_n("{n} contradiction", "{n} contradictions", n_contradictions)
            self.detail.setText(
                tr("{contradictions}. Click a flagged mark to see the others.", contradictions=text)
            )
            return
        lines = []
        for one in against[:2]:
            others = [
                found.sentence for key in one.entries if key != entry and (found := self.rows.row_of(key))
            ]
            text = "; ".join(others[:2])
            if len(others) > 2:
                text = tr("{judgements} and {n} more", judgements=text, n=len(others) - 2)
            lines.append(
                tr(
                    "{judgement}, but {others}: {reason}.",
                    judgement=row.sentence,
                    others=text,
                    reason=translate(one.reason),
                )
                if text
                else f"{row.sentence}: {translate(one.reason)}."
            )
        if len(against) > 2:
            lines.append(tr("{n:,} more contradictions.", n=len(against) - 2))
        self.detail.setText("\n".join([*lines, tr("Both count half. Undo the wrong one.")]))

    # Influence

    def toggle_influence(self) -> None:
        """Show or hide how each judgement changes the ranking."""
        if self._influence_search is not None:
            self._hide_influence()
            self._update_header()
            return
        search = self._state.search

        def show(found: list[Influence]) -> None:
            if self._state.search == search:
                self._influence_search = search
                self.rows.show_influences(found, self._state.columns, FIRST_RANKS)
                self._update_header()

        mark_cards.fetch_influence(self._context, show, FIRST_RANKS)

    def _hide_influence(self) -> None:
        self._influence_search = None
        self.rows.show_influences([], self._state.columns, FIRST_RANKS)


def _problems(ranked_search: RankedSearch) -> list[str]:
    """Why concepts and marks do not count in a ranking."""
    left_out = list(map(translate, ranked_search.left_out))
    if ranked_search.refused is None or not ranked_search.search.is_shifted:
        return left_out
    why = str(ranked_search.refused)
    return [tr("The search continues without concepts. {why}", why=why), *left_out]


class _DropSides(QWidget):
    """Shown during a drag: the left half marks as more like the query, the right half as less like it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._section, self._like = parent, True
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_side(self, x: float) -> None:
        self._like = x < self._section.width() / 2
        self.setGeometry(self._section.rect())
        self.show()
        self.raise_()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme()
        painter.fillRect(self.rect(), colour(tokens.panel))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        half = self.width() // 2
        for like, left, text in ((True, 0, tr("+ More like this")), (False, half, tr("− Less like this"))):
            box = QRect(left, 0, half, self.height()).adjusted(1, 1, -2, -2)
            on = like == self._like
            painter.setPen(QPen(colour(tokens.accent if on else tokens.strong_line), 2 if on else 1))
            painter.drawRoundedRect(QRectF(box), 4, 4)
            text_cache(BASE, 600 if on else 400).draw(painter, box, text, tokens.text, CENTRE)
        painter.end()


class RefinementScores(QWidget):
    """Strength, cases moved and accuracy, below the list of judgements."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context, self._state = context, context.state
        #: The search and the judgements in force at the last measurement.
        self._measured: tuple[Search, tuple[int, ...]] | None = None
        self._ranked_search: RankedSearch | None = None
        #: The score and its interval as text.
        self._score_text = ("", "")
        self.moved = QLabel()
        self.accuracy = QLabel()
        self.badge = Badge("held-out", tr("held-out"))
        self.note = WrappedLabel(role="small")
        self.strength = NoWheelSlider(Qt.Orientation.Horizontal)
        self.strength.setRange(0, 100)
        self.strength.setSingleStep(5)
        self.strength.setPageStep(20)
        self.strength.setValue(100)
        self.strength.setAccessibleName(tr("Strength: how much the marks count, in percent"))
        self._percent = QLabel()
        self._lines: list[QHBoxLayout] = []
        self._lay_out()
        self._measure_timer = one_shot(self, self._measure, MEASURE_AFTER_MS)
        self.strength.valueChanged.connect(self._set_strength)
        self._state.on_change(Change.SEARCH, self, self._show_strength)
        theme_signals.changed.connect(self._update_layout)
        self._update_layout()
        self._show_strength()

    def _lay_out(self) -> None:
        column = vbox(self, spacing=4, margins=(12, 6, 12, 8))
        slider = (self.strength, self._percent)
        for name, widgets in (
            (tr("Strength"), slider),
            (tr("Cases moved"), (self.moved,)),
            (tr("Accuracy @10"), (self.accuracy,)),
            ("", ()),
            ("", (self.note,)),
        ):
            line = QHBoxLayout()
            self._lines.append(line)
            line.setSpacing(6)
            if name:
                label = ElidedLabel(name, role="second")
                line.addWidget(label)
                line.addStretch(0 if widgets is slider else 1)
            for widget in widgets:
                line.addWidget(widget, 1 if widget in (self.strength, self.note) else 0)
            column.addLayout(line)
        self._lines[_BELOW].addStretch(1)
        self._place_badge(beside=True)
        self._percent.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def follow(self, ranked_search: RankedSearch) -> None:
        """Show the effect of the judgements of ``ranked_search``."""
        self._ranked_search = ranked_search
        judged = sum(entry.undone is None for entry in ranked_search.entries)
        self.setVisible(judged > 0 and ranked_search.refused is None and self._state.refusal is None)
        shifts = ranked_search.shifts[:FIRST_RANKS]
        self.moved.setText(tr("{k} of the first {n}", k=sum(map(bool, shifts)), n=FIRST_RANKS))
        share = f"{100 * ranked_search.trust:.0f} %"
        self.strength.setToolTip(
            tr(
                "At full strength {n:,} marks count by {share}, because a few may be wrong.",
                n=judged,
                share=share,
            )
        )
        if self._current_key() != self._measured:
            self._measure_timer.start()

    def resume(self) -> None:
        """Measure what was not measured while the panel was hidden."""
        if self._ranked_search is not None and self._current_key() != self._measured:
            self._measure_timer.start()

    def _current_key(self) -> tuple[Search, tuple[int, ...]] | None:
        ranked_search = self._ranked_search
        if ranked_search is None:
            return None
        return ranked_search.search, tuple(
            entry.id for entry in ranked_search.entries if entry.undone is None
        )

    def _measure(self) -> None:
        key = self._current_key()
        if key is None or not key[1] or not self.isVisible() or key[0] != self._state.search:
            return
        if not self.accuracy.text():
            self.accuracy.setText(_WAITING)

        def show(score: HeldOutScore | None) -> None:
            if self._current_key() == key:
                self._measured = key
                self._show_score(score, len(key[1]))

        mark_cards.fetch_score(self._context, show)

    def _show_score(self, score: HeldOutScore | None, judged: int) -> None:
        self.badge.setVisible(score is not None)
        few_note = ""
        if judged <= FEW:
            few_note = " " + tr_n(
                "{n} mark rarely changes this score. Twenty often do.",
                "{n} marks rarely change this score. Twenty often do.",
                judged,
            )
        if score is None:
            self._score_text = ("", "")
            self.accuracy.setText(tr("not measured"))
            self.note.setText(tr("Every case was marked or used for training.") + few_note)
            return
        low, high = score.interval
        self._score_text = (format_number(score.accuracy, ".2f"), localise_number(f" ({low:.2f}–{high:.2f})"))
        if score.measured_on == HELD_OUT_PATIENTS:
            self.badge.set_kind("held-out", tr("held-out"))
        else:
            self.badge.set_kind("unknown")
        # The width beside the badge is known once it has its text.
        self._update_layout()
        self.note.setText(
            tr(
                "{before:.2f} without marks. Tested on {n:,} cases neither marked nor used for training.",
                before=score.before,
                n=score.cases,
            )
            + few_note
        )

    def _set_strength(self, value: int) -> None:
        self._percent.setText(f"{value} %")
        mark_cards.set_strength(self._context, value / 100)

    def _show_strength(self) -> None:
        search = self._state.search
        value = round(100 * search.strength) if search is not None else 100
        if value != self.strength.value():
            self.strength.blockSignals(True)
            self.strength.setValue(value)
            self.strength.blockSignals(False)
        self._percent.setText(f"{value} %")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_layout()

    def _update_layout(self) -> None:
        mean, interval = self._score_text
        if mean:
            text = self.fontMetrics().horizontalAdvance
            needed = text(tr("Accuracy @10")) + self.badge.sizeHint().width() + text(mean + interval)
            self._place_badge(beside=needed + 40 <= self.width())
            self.accuracy.setText(mean + interval)
            self.accuracy.setToolTip(tr("{score}, with its 95 % interval", score=mean + interval))
        self._percent.setMinimumWidth(theme().px(40))

    def _place_badge(self, *, beside: bool) -> None:
        """Put the badge beside the score, or below it in a narrow panel."""
        target, previous = (
            self._lines[_BESIDE if beside else _BELOW],
            self._lines[_BELOW if beside else _BESIDE],
        )
        if target.indexOf(self.badge) < 0:
            previous.removeWidget(self.badge)
            # Before the number, or at the right end of the line below.
            target.insertWidget(target.count() - 1 if beside else target.count(), self.badge)
