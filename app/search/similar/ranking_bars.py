"""The line above the similar cases: how they are ordered, with buttons to change it."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QPushButton

from semblance.app.search.feedback import mark_cards
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.icons import icon
from semblance.app.shell.state import Change
from semblance.app.shell.theme import set_look, theme, theme_signals
from semblance.app.widgets.cards.card_view import NONE
from semblance.app.widgets.cards.case_grid import CardComparison
from semblance.app.widgets.labels import ElidedLabel
from semblance.app.widgets.layouts import EDGE, hbox
from semblance.app.widgets.panel import leave_keyboard
from semblance.core.language import tr, tr_n, visible

HEIGHT = 30


class OrderLine(QFrame):
    """Always there, so that a mark moves nothing but the order. It says what the marks of the query did, that marks on
    other cases refine the metric or that marks on this image are not used, and that a comparison needs its second case.
    """

    def __init__(self, context: Context, comparison: CardComparison) -> None:
        super().__init__()
        self._context, self._state, self._comparison = context, context.state, comparison
        set_look(self, message="foot")
        self._text = ElidedLabel(role="second")
        self.before = QPushButton(tr("Order before"))
        self.before.setCheckable(True)
        self.before.setToolTip(tr("Show the order without the marks. They are kept."))
        self.undo = QPushButton(icon("undo"), "")
        self.undo.setAccessibleName(tr("Undo"))
        self.start_again = QPushButton(tr("Start again"))
        #: What is done about marks on other cases, or on this image.
        self.change = QPushButton()
        self.leave_text = QPushButton(tr("Without the words"))
        self.leave_text.setToolTip(tr("Order by the image alone"))
        self.cancel = QPushButton(tr("Cancel"))
        self.cancel.setToolTip(tr("Esc"))
        row = hbox(self, spacing=12, margins=(EDGE, 0, EDGE, 0))
        row.addWidget(self._text, 1)
        for button, act in (
            (self.cancel, comparison.cancel),
            (self.change, self._use_or_leave),
            (self.leave_text, lambda: search_operations.set_text(context, "")),
            (self.before, lambda: mark_cards.set_strength(context, 0.0 if self.before.isChecked() else 1.0)),
            (self.undo, lambda: mark_cards.undo(context)),
            (self.start_again, lambda: mark_cards.clear_marks(context)),
        ):
            set_look(button, quiet=True)
            button.clicked.connect(act)
            leave_keyboard(button)
            row.addWidget(button)
        comparison.changed.connect(self.refresh)
        theme_signals.changed.connect(self._update_height)
        self._update_height()
        changes = Change.RANKING | Change.SEARCH | Change.LIBRARY | Change.SERVER
        self._state.on_change(changes, self, self.refresh)
        self.refresh()

    @property
    def text(self) -> str:
        """Its text."""
        return self._text.text()

    def refresh(self) -> None:
        """Show how the cases are ordered."""
        state, is_comparing = self._state, self._comparison.closer != NONE
        refining, aside = state.refining_count, len(state.marks_set_aside)
        texts = [self._comparison_text()] if is_comparing else self._texts()
        self._text.setText(" · ".join(text for text, _ in texts))
        self._text.set_tip("\n".join(tip for _, tip in texts if tip) or self._text.text())
        for button, has_use in (
            (self.before, bool(state.marks)),
            (self.undo, bool(state.marks)),
            (self.start_again, bool(state.marks)),
            (self.change, bool(refining or aside)),
            (self.leave_text, state.ranking is not None and state.ranking.text is not None),
        ):
            button.setVisible(has_use and not is_comparing)
        self.cancel.setVisible(is_comparing)
        self.before.setChecked(self._is_before)
        undo_tip = self._context.actions.text_with_key(tr("Undo the last mark"), "undo_judgement")
        for button, tip in ((self.undo, undo_tip), (self.start_again, tr("Undo all marks of this query"))):
            button.setEnabled(state.can_write)
            button.setToolTip(state.why_not_written or tip)
        if refining:
            self.change.setText(tr("Use the plain metric"))
            self.change.setToolTip(tr("Rank without the marks on other cases. They are kept."))
        else:
            self.change.setText(tr("Use them"))
            self.change.setToolTip(state.why_not_written or tr("Mark the same cases for this search"))
        self.change.setEnabled(bool(refining) or state.can_write)

    @property
    def _is_before(self) -> bool:
        """Whether the order without the marks is shown."""
        return self._state.search is not None and self._state.search.strength == 0.0

    def _comparison_text(self) -> tuple[str, str]:
        columns = self._state.columns
        name = columns.name(columns.index_of_row(self._comparison.closer))
        if key := self._context.actions.key_text("judge_closer"):
            text = tr(
                "{case} is closer than … click the farther case, or go there and press {key}",
                case=name,
                key=key,
            )
        else:
            text = tr("{case} is closer than … click the farther case", case=name)
        return text, ""

    def _texts(self) -> list[tuple[str, str]]:
        """What orders the cases, each with its tooltip."""
        state, marks, texts = self._state, self._state.marks, list[tuple[str, str]]()
        if state.ranking is not None and (by_text := state.ranking.text) is not None:
            found = tr_n("{n} case has these words.", "{n} cases have these words.", by_text.found)
            texts.append((tr("Ordered by image and “{text}”", text=visible(by_text.text)), found))
        if marks and self._is_before:
            text = tr_n("Order before {n} mark", "Order before {n} marks", len(marks))
            texts.append((text, self._counts()))
        elif marks:
            texts.append((tr_n("Ordered by {n} mark", "Ordered by {n} marks", len(marks)), self._counts()))
        refining, aside = state.refining_count, len(state.marks_set_aside)
        if refining:
            text = tr_n("Refined by {n} mark on other cases", "Refined by {n} marks on other cases", refining)
            texts.append((text, tr("The metric follows these marks, and there is no estimate.")))
        elif aside:
            texts.append((self._aside_text(aside), ""))
        return texts or [(tr("No marks yet. + or − reorders"), state.why_not_written)]

    def _counts(self) -> str:
        marks = self._state.marks
        return tr(
            "{more} more like this, {less} less like this", more=len(marks.liked), less=len(marks.disliked)
        )

    def _aside_text(self, aside: int) -> str:
        query = self._state.query
        if query is not None and query.region is not None:
            return tr_n(
                "{n} mark on this image is set aside for the region",
                "{n} marks on this image are set aside for the region",
                aside,
            )
        return tr_n(
            "{n} mark on a region is set aside for the whole image",
            "{n} marks on a region are set aside for the whole image",
            aside,
        )

    def _use_or_leave(self) -> None:
        if self._state.refining_count:
            mark_cards.use_other_marks(self._context, on=False)
        else:
            mark_cards.use_marks_set_aside(self._context)

    def _update_height(self) -> None:
        self.setFixedHeight(theme().px(HEIGHT))
