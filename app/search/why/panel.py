"""The panel "Why these cases": what contributes to the distance of a ranked case, and ranking without a part."""

from __future__ import annotations

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QScrollArea, QStackedWidget, QWidget

from semblance.app.search.why import explain_distance
from semblance.app.search.why.metric_section import MetricSection
from semblance.app.search.why.waterfall import Contribution, Waterfall
from semblance.app.search.why.why_images import WhyImages
from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.shell.state import Change
from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.line import HLine
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.scroll_area import PanelScrollArea
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.segmented import Segmented
from semblance.app.widgets.work_notice import extraction_message
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, tr_name, translate
from semblance.core.retrieval.explanation.sentence import spoken
from semblance.core.workflows.searches.explain_distance import Explanation, GroupPart, nearest_mark
from semblance.core.workflows.searches.search_result import RankedCase

#: Rows shown before the smallest contributions are summed in one.
MAX_ROWS = 9
#: After an explanation was unchanged for so long, what excluding a group needs is read.
PRELOAD_AFTER_MS = 300
_GROUPS, _SHARES = "groups", "shares"
#: The kinds of contribution, by their names in core.
_KINDS = {
    "Bits": tr("Bits"),
    "Clouds": tr("Clouds"),
    "Dimensions": tr("Dimensions"),
    "Directions": tr("Directions"),
    "Features": tr("Features"),
    "Parts": tr("Parts"),
    "Places": tr("Places"),
    "Votes": tr("Votes"),
}


class WhyPanel(Panel):
    """Explains the current case of the ranking (:meth:`follow`)."""

    def __init__(self, context: Context) -> None:
        super().__init__(tr("Why these cases"))
        self._context, self._state = context, context.state
        #: The catalogue row to explain; below zero the first of the ranking.
        self._case_row = -1
        self._request: tuple[object, str] | None = None
        self._explanation: Explanation | None = None
        self.images = WhyImages(context)
        self.header = SectionHeader(tr("Contributions to the distance"), note=tr("untick to leave out"))
        self.header.action_requested.connect(self.reset)
        self.kind = Segmented([(_GROUPS, tr("Groups")), (_SHARES, tr("Bits"))])
        self.kind.setAccessibleName(tr("Breakdown of the distance"))
        self.kind.changed.connect(lambda _kind: self._show_contributions())
        self.waterfall = Waterfall()
        self.waterfall.exclusion_changed.connect(
            lambda groups: explain_distance.rank_without(context, groups)
        )
        self.sentence = WrappedLabel()
        self.card = MetricSection(self._state)
        #: Names of the groups in the order of their boxes.
        self._order: tuple[str, ...] = ()
        self.empty = EmptyState()
        self._pages = QStackedWidget()
        self._pages.addWidget(self.empty)
        self._body = self._make_body()
        self._pages.addWidget(self._body)
        vbox(self).addWidget(self._pages)
        self._preload_delay = one_shot(self, self._preload, PRELOAD_AFTER_MS)
        self._state.on_change(Change.RANKING | Change.METRIC | Change.QUERY, self, self._refresh)
        self._refresh()

    def _make_body(self) -> QScrollArea:
        inner = QWidget()
        body = vbox(inner, spacing=8, margins=(12, 8, 12, 8))
        body.addWidget(self.sentence)
        body.addWidget(self.images)
        body.addWidget(HLine())
        body.addWidget(self.header)
        body.addWidget(self.kind)
        body.addWidget(self.waterfall)
        self._last_line = HLine()
        body.addWidget(self._last_line)
        body.addWidget(self.card)
        body.addStretch(1)
        return PanelScrollArea(inner, tr("Why these cases"))

    def set_plain(self, plain: bool) -> None:
        """Explain the case only, without how the metric was trained."""
        self.card.setVisible(not plain)
        self._last_line.setVisible(not plain)

    @property
    def shown(self) -> Explanation | None:
        """The explanation shown."""
        return self._explanation

    @property
    def is_empty(self) -> bool:
        """Whether only the next step is shown."""
        return self._pages.currentWidget() is self.empty

    def follow(self, case_row: int) -> None:
        """Explain this case, or the first one if it is not ranked."""
        if case_row != self._case_row:
            self._case_row = case_row
            self._refresh()

    def reset(self) -> None:
        """Rank with all groups again."""
        explain_distance.rank_without(self._context, ())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._refresh()

    def _ranked_case(self) -> RankedCase | None:
        ranking = self._state.ranking
        if ranking is None or not ranking.ranked:
            return None
        return next(
            (case for case in ranking.ranked if case.row == self._case_row),
            ranking.ranked[0],
        )

    def _refresh(self) -> None:
        ranked_search, ranked_case = self._state.ranked_search, self._ranked_case()
        if ranked_search is None or ranked_case is None:
            self._clear()
            self._show_next_step()
            return
        if not self.isVisible() or self._request == (ranked_search, ranked_case.case_id):
            return
        self._request = (ranked_search, ranked_case.case_id)
        if self.is_empty:
            self.empty.show_message(tr("Explaining"))

        def show(found: Explanation) -> None:
            if self._request != (ranked_search, ranked_case.case_id):
                # It explains an earlier ranking.
                return
            self._explanation = found
            self._show(ranked_case)
            self._preload_delay.start()

        explain_distance.explain(
            self._context, ranked_search, ranked_case.case_id, ranked_case.distance, show, self._fail
        )
        self.images.show_pair(ranked_search, ranked_case)

    def _preload(self) -> None:
        """Read the features before the first group is excluded."""
        if self._state.ranked_search is not None and self.isVisible():
            explain_distance.preload(self._context, self._state.ranked_search.search)

    def _clear(self) -> None:
        self._preload_delay.stop()
        self._context.jobs.cancel_channel(explain_distance.EXPLANATION_CHANNEL)
        self._request = self._explanation = None
        self.images.clear()

    def _fail(self, error: SemblanceError) -> None:
        self._explanation = None
        self.empty.show_error(error, tr("No explanation is available"))
        self._pages.setCurrentWidget(self.empty)

    def _show_next_step(self) -> None:
        if self._state.ranking is not None:
            self.empty.show_message(
                tr("There are no similar cases"), tr("No case is left to compare with this query.")
            )
        elif self._state.metric is None and (work := extraction_message(self._state)):
            self.empty.show_message(*work)
        elif self._state.metric is None:
            self.empty.show_message(
                tr("No metric yet"), tr("A metric defines similarity. Train one, then search.")
            )
        else:
            self.empty.show_message(
                tr("Search with a case"),
                tr("This panel shows what contributes to each distance. You can also rank without a group."),
            )
        self._pages.setCurrentWidget(self.empty)

    def _show(self, ranked_case: RankedCase) -> None:
        assert self._explanation is not None
        columns = self._state.columns

        def name(case: str) -> str:
            index = columns.index_of_id(case)
            return columns.name(index) if index >= 0 else case

        sentences = (self._explanation.sentence, nearest_mark(ranked_case, self._state.marks, name))
        text = " ".join(translate(one) for one in sentences if one)
        self.sentence.setText(text)
        self.sentence.setVisible(bool(text))
        self.kind.set_text(_SHARES, _KINDS.get(self._explanation.kind, translate(self._explanation.kind)))
        # If each feature is its own group, both views are the same.
        groups = {part.name for part in self._explanation.groups}
        self.kind.setVisible(not {share.name for share in self._explanation.shares} <= groups)
        if self.kind.isHidden():
            self.kind.set_value(_GROUPS)
        self._show_contributions()
        self._pages.setCurrentWidget(self._body)

    def _show_contributions(self) -> None:
        explanation = self._explanation
        if explanation is None:
            return
        by_group = self.kind.value() == _GROUPS
        left_out = any(part.left_out for part in explanation.groups)
        if not left_out:
            self._order = ()
        contributions, hidden = (
            _group_contributions(explanation.groups, self._order)
            if by_group
            else (_share_contributions(explanation), [])
        )
        if by_group:
            self._order = tuple(one.key for one in contributions if one.key)
        self.waterfall.show_contributions(contributions, explanation.distance, hidden)
        self.header.set_note("" if left_out or not by_group else tr("untick to leave out"))
        self.header.set_action(tr("Reset") if left_out else "")


def _group_contributions(
    parts: tuple[GroupPart, ...], order: tuple[str, ...] = ()
) -> tuple[list[Contribution], list[str]]:
    """The largest contributions first, excluded ones last, the smallest summed; and the excluded ones not shown.

    While a group is excluded, the rows keep their ``order``, so that the box can be ticked again in the same place.
    """
    included = sorted((part for part in parts if not part.left_out), key=lambda part: -part.amount)
    excluded = [part for part in parts if part.left_out]
    by_name = {part.name: part for part in parts if part.group}
    shown_parts = [by_name[name] for name in order if name in by_name]
    if shown_parts:
        shown_parts += [part for part in included if not part.group]
        included, excluded = _without(included, shown_parts), _without(excluded, shown_parts)
        rest = included
    else:
        space = max(2, MAX_ROWS - len(excluded))
        shown_parts, rest = (
            (included, []) if len(included) <= space else (included[: space - 1], included[space - 1 :])
        )
    contributions = [_group_contribution(part) for part in shown_parts]
    if rest:
        names = ", ".join(tr_name(part.name) for part in rest[:12]) + (" …" if len(rest) > 12 else "")
        contributions.append(
            Contribution(tr("{n} others", n=len(rest)), sum(part.amount for part in rest), names)
        )
    space = max(0, MAX_ROWS - len(shown_parts)) if order else MAX_ROWS
    contributions += [_group_contribution(part) for part in excluded[:space]]
    return contributions, [part.name for part in excluded[space:]]


def _without(parts: list[GroupPart], shown_parts: list[GroupPart]) -> list[GroupPart]:
    names = {part.name for part in shown_parts}
    return [part for part in parts if part.name not in names]


def _group_contribution(part: GroupPart) -> Contribution:
    name = tr_name(part.name)
    if not part.group:
        return Contribution(
            tr("Examples and concepts"),
            part.amount,
            tr("Changes by examples and concepts"),
        )
    if part.left_out:
        return Contribution(name, 0.0, tr("This group is not used"), part.name, included=False)
    rank_text = tr(
        "Nearer than this in {group}: {share:.0%} of the library", group=spoken(part.name), share=part.rank
    )
    return Contribution(
        name, part.amount, "\n".join(filter(None, (rank_text, translate(part.detail)))), part.name
    )


def _share_contributions(explanation: Explanation) -> list[Contribution]:
    shown_parts, rest = (
        (explanation.shares, ())
        if len(explanation.shares) <= MAX_ROWS
        else (explanation.shares[: MAX_ROWS - 1], explanation.shares[MAX_ROWS - 1 :])
    )
    contributions = [
        Contribution(tr_name(share.name), share.amount, translate(share.detail)) for share in shown_parts
    ]
    if rest:
        contributions.append(Contribution(tr("{n} others", n=len(rest)), sum(share.amount for share in rest)))
    return contributions
