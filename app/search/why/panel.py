"""The Explanation panel: what made the distance from the query to a ranked case, and what if it were left out."""

from __future__ import annotations

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QScrollArea, QStackedWidget, QWidget

from semblance.app.search.why import explain_distance
from semblance.app.search.why.metric_section import MetricSection
from semblance.app.search.why.waterfall import Line, Waterfall
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
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, tr_name, translate
from semblance.core.retrieval.explanation.sentence import spoken
from semblance.core.workflows.searches.explain_distance import Explanation, GroupPart
from semblance.core.workflows.searches.search_result import RankedCase

#: Lines shown before the smallest parts are summed in one.
LINES = 9
#: So long nothing new is told before what an untick needs is read.
QUIET_MS = 300
_GROUPS, _SHARES = "groups", "shares"
#: What the parts of a distance are, by the name core gives them.
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
    """Follows the ranking and the case that is current in it (:meth:`follow`)."""

    def __init__(self, context: Context) -> None:
        super().__init__(tr("Why these cases"))
        self._context, self._state = context, context.state
        #: The catalogue row that is wanted; below zero the first of the ranking.
        self._wanted = -1
        self._asked_for: tuple[object, str] | None = None
        self._why: Explanation | None = None
        self.images = WhyImages(context)
        self.head = SectionHeader(tr("Contributions to the distance"), note=tr("untick to leave out"))
        self.head.action_requested.connect(self.reset)
        self.kind = Segmented([(_GROUPS, tr("Groups")), (_SHARES, tr("Bits"))])
        self.kind.setAccessibleName(tr("Breakdown of the distance"))
        self.kind.changed.connect(lambda _kind: self._show_lines())
        self.waterfall = Waterfall()
        self.waterfall.exclusion_changed.connect(lambda groups: explain_distance.leave_out(context, groups))
        self.sentence = WrappedLabel(role="second")
        self.card = MetricSection(self._state)
        #: Names of the groups in the order their boxes stand in.
        self._order: tuple[str, ...] = ()
        self.empty = EmptyState()
        self._pages = QStackedWidget()
        self._pages.addWidget(self.empty)
        self._body = self._make_body()
        self._pages.addWidget(self._body)
        vbox(self).addWidget(self._pages)
        self._quiet = one_shot(self, self._make_ready, QUIET_MS)
        self._state.on_change(Change.RANKING | Change.METRIC | Change.QUERY, self, self._renew)
        self._renew()

    def _make_body(self) -> QScrollArea:
        inner = QWidget()
        body = vbox(inner, spacing=8, margins=(12, 8, 12, 8))
        body.addWidget(self.images)
        body.addWidget(self.sentence)
        body.addWidget(HLine())
        body.addWidget(self.head)
        body.addWidget(self.kind)
        body.addWidget(self.waterfall)
        body.addWidget(HLine())
        body.addWidget(self.card)
        body.addStretch(1)
        return PanelScrollArea(inner)

    @property
    def shown(self) -> Explanation | None:
        """What is told now."""
        return self._why

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing but what to do next."""
        return self._pages.currentWidget() is self.empty

    def follow(self, case_row: int) -> None:
        """Tell of this case, where it is ranked; of the first otherwise."""
        if case_row != self._wanted:
            self._wanted = case_row
            self._renew()

    def reset(self) -> None:
        """Rank with all groups again."""
        explain_distance.leave_out(self._context, ())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._renew()

    def _line(self) -> RankedCase | None:
        ranking = self._state.ranking
        if ranking is None or not ranking.ranked:
            return None
        return next((line for line in ranking.ranked if line.row == self._wanted), ranking.ranked[0])

    def _renew(self) -> None:
        asked, line = self._state.ranked_search, self._line()
        if asked is None or line is None:
            self._forget()
            self._say_what_next()
            return
        if not self.isVisible() or self._asked_for == (asked, line.case_id):
            return
        self._asked_for = (asked, line.case_id)

        def told(found: Explanation) -> None:
            if self._asked_for != (asked, line.case_id):
                # The ranking it is of is there no more.
                return
            self._why = found
            self._show(line)
            self._quiet.start()

        explain_distance.explain(self._context, asked, line.case_id, line.distance, told, self._fail)
        self.images.show_pair(asked, line)

    def _make_ready(self) -> None:
        """The first group that is unticked shall not wait for all features to be read."""
        if self._state.ranked_search is not None and self.isVisible():
            explain_distance.make_ready(self._context, self._state.ranked_search.search)

    def _forget(self) -> None:
        self._quiet.stop()
        self._context.jobs.cancel_channel(explain_distance.WHY)
        self._asked_for = self._why = None
        self.images.forget()

    def _fail(self, error: SemblanceError) -> None:
        self._why = None
        self.empty.say(tr("No explanation is available"), f"{error.message} {error.hint}".strip())
        self._pages.setCurrentWidget(self.empty)

    def _say_what_next(self) -> None:
        if self._state.ranking is not None:
            self.empty.say(
                tr("There are no similar cases"), tr("No case is left to compare with this query.")
            )
        elif self._state.metric is None:
            self.empty.say(tr("No metric yet"), tr("A metric defines similarity. Train one, then search."))
        else:
            self.empty.say(
                tr("Search with a case"),
                tr("This panel shows what contributes to each distance. You can also rank without a group."),
            )
        self._pages.setCurrentWidget(self.empty)

    def _show(self, line: RankedCase) -> None:
        assert self._why is not None
        self.sentence.setText(self._why.sentence)
        self.kind.set_text(_SHARES, _KINDS.get(self._why.kind, translate(self._why.kind)))
        # Where each feature is a group of its own, both views would be the same.
        groups = {part.name for part in self._why.groups}
        self.kind.setVisible(not {share.name for share in self._why.shares} <= groups)
        if self.kind.isHidden():
            self.kind.set_value(_GROUPS)
        self._show_lines()
        self._pages.setCurrentWidget(self._body)

    def _show_lines(self) -> None:
        why = self._why
        if why is None:
            return
        by_group = self.kind.value() == _GROUPS
        left_out = any(part.left_out for part in why.groups)
        if not left_out:
            self._order = ()
        lines, hidden = _group_lines(why.groups, self._order) if by_group else (_share_lines(why), [])
        if by_group:
            self._order = tuple(line.key for line in lines if line.key)
        self.waterfall.show_lines(lines, why.distance, hidden)
        self.head.set_note("" if left_out or not by_group else tr("untick to leave out"))
        self.head.set_action(tr("Reset") if left_out else "")


def _group_lines(parts: tuple[GroupPart, ...], order: tuple[str, ...] = ()) -> tuple[list[Line], list[str]]:
    """The largest parts first, what is left out last, the smallest summed; and what is left out unseen.

    While something is left out the lines stay in the ``order`` they stood in: a box that is cleared is to be
    ticked where it was.
    """
    inside = sorted((part for part in parts if not part.left_out), key=lambda part: -part.amount)
    out = [part for part in parts if part.left_out]
    by_name = {part.name: part for part in parts if part.group}
    kept = [by_name[name] for name in order if name in by_name]
    if kept:
        kept += [part for part in inside if not part.group]
        inside, out = _without(inside, kept), _without(out, kept)
        rest = inside
    else:
        room = max(2, LINES - len(out))
        kept, rest = (inside, []) if len(inside) <= room else (inside[: room - 1], inside[room - 1 :])
    lines = [_group_line(part) for part in kept]
    if rest:
        names = ", ".join(tr_name(part.name) for part in rest[:12]) + (" …" if len(rest) > 12 else "")
        lines.append(Line(tr("{n} others", n=len(rest)), sum(part.amount for part in rest), names))
    room = max(0, LINES - len(kept)) if order else LINES
    lines += [_group_line(part) for part in out[:room]]
    return lines, [part.name for part in out[room:]]


def _without(parts: list[GroupPart], kept: list[GroupPart]) -> list[GroupPart]:
    names = {part.name for part in kept}
    return [part for part in parts if part.name not in names]


def _group_line(part: GroupPart) -> Line:
    name = tr_name(part.name)
    if not part.group:
        return Line(
            tr("Examples and concepts"),
            part.amount,
            tr("Changes by examples and concepts"),
        )
    if part.left_out:
        return Line(name, 0.0, tr("This group is not used"), part.name, on=False)
    usual = tr(
        "Nearer than this in {group}: {share:.0%} of the library", group=spoken(part.name), share=part.rank
    )
    return Line(name, part.amount, "\n".join(filter(None, (usual, translate(part.detail)))), part.name)


def _share_lines(why: Explanation) -> list[Line]:
    kept, rest = (
        (why.shares, ()) if len(why.shares) <= LINES else (why.shares[: LINES - 1], why.shares[LINES - 1 :])
    )
    lines = [Line(tr_name(share.name), share.amount, translate(share.detail)) for share in kept]
    if rest:
        lines.append(Line(tr("{n} others", n=len(rest)), sum(share.amount for share in rest)))
    return lines
