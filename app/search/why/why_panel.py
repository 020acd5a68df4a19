"""The panel "Why these cases": what contributes to the distance of a ranked case, and ranking without a part."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QScrollArea, QStackedWidget, QWidget

from semblance.app.search.similar.ranking_panel import HOLD_MS
from semblance.app.search.why.place_reason import parts_of_places
from semblance.app.search.why.waterfall import Contribution, Waterfall
from semblance.app.search.why.why_images import WhyImages
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.state import Change, WindowState
from semblance.app.widgets.badge import Badge
from semblance.app.widgets.buttons import Segmented
from semblance.app.widgets.empty_state import EmptyState, extraction_message
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import STRETCH, HLine, PanelScrollArea, fill, vbox
from semblance.app.widgets.message_lines import CopyDetailsButton
from semblance.app.widgets.panel import Panel
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.widgets.tables import FactList
from semblance.core.errors import BadInput, SemblanceError
from semblance.core.language import tr, tr_n, tr_name, translate
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.registry import learner_title
from semblance.core.reports.curves import interval_text
from semblance.core.retrieval.explanation.sentence import spoken
from semblance.core.searches.search import Search
from semblance.core.searches.similar_cases import RankedCase
from semblance.core.workflows.evaluation import scored_metrics
from semblance.core.workflows.library.library_snapshot import MetricFacts
from semblance.core.workflows.searches import explain_distance
from semblance.core.workflows.searches.compare_places import ComparedPlaces
from semblance.core.workflows.searches.explain_distance import Explanation, GroupPart, nearest_mark
from semblance.core.workflows.searches.rank_cases import RankedSearch

#: Rows shown before the smallest contributions are summed in one.
MAX_ROWS = 9
#: After an explanation was unchanged for so long, what excluding a group needs is read.
PRELOAD_AFTER_MS = 300
_PLACES, _GROUPS, _SHARES = "places", "groups", "shares"
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

_LEARNER, _TRAINED, _ACCURACY, _SPLIT = tr("Learner"), tr("Trained on"), tr("Accuracy @10"), tr("Split")

#: Channel of the explanation.
EXPLANATION_CHANNEL = "why"


class WhyPanel(Panel):
    """Explains the current case of the ranking (:meth:`follow`)."""

    def __init__(self, context: Context) -> None:
        super().__init__(tr("Why these cases"))
        self._context, self._state = context, context.state
        #: The catalogue row to explain; below zero the first of the ranking.
        self._case_row = -1
        self._request: tuple[object, str] | None = None
        self._explanation: Explanation | None = None
        self._is_plain = False
        self.images = WhyImages(context)
        self.images.compared.connect(self._show_contributions)
        self.header = SectionHeader(tr("Contributions to the distance"), note=tr("untick to leave out"))
        self.header.action_requested.connect(self.reset)
        self.kind = Segmented([(_GROUPS, tr("Groups")), (_SHARES, tr("Bits"))])
        self.kind.setAccessibleName(tr("Breakdown of the distance"))
        self.kind.changed.connect(lambda _kind: self._show_contributions())
        self.waterfall = Waterfall()
        #: Why there are no shares of places.
        self.note = WrappedLabel(role="small")
        self.waterfall.exclusion_changed.connect(lambda groups: rank_without(context, groups))
        self.sentence = WrappedLabel()
        self.card = MetricSection(self._state)
        #: Names of the groups in the order of their boxes.
        self._order: tuple[str, ...] = ()
        self._kinds: tuple[str, ...] = ()
        self.empty = EmptyState()
        self._pages = QStackedWidget()
        self._pages.addWidget(self.empty)
        self._body = self._make_body()
        self._pages.addWidget(self._body)
        vbox(self).addWidget(self._pages)
        self._preload_delay = one_shot(self, self._preload, PRELOAD_AFTER_MS)
        #: The reason of the query before stays as long as its cards, so that a quick search does not flash.
        self._hold = one_shot(self, self._show_next_step, HOLD_MS)
        self._state.on_change(Change.RANKING | Change.METRIC | Change.QUERY, self, self._refresh)
        self._refresh()

    def _make_body(self) -> QScrollArea:
        inner = QWidget()
        body = fill(
            vbox(inner, spacing=8, margins=(12, 8, 12, 8)),
            self.sentence,
            self.images,
            HLine(),
            self.header,
            self.kind,
            self.waterfall,
            self.note,
        )
        self._last_line = HLine()
        fill(body, self._last_line, self.card, STRETCH)
        return PanelScrollArea(inner, tr("Why these cases"))

    def set_plain(self, plain: bool) -> None:
        """Explain the case only, without how the metric was trained. Shares stand for distances, and the places of the
        query are marked on its own image."""
        self._is_plain = plain
        self.images.set_plain(plain)
        self._show_contributions()
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
        rank_without(self._context, ())

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
            self._drop()
            if not self._state.awaits_ranking or self.is_empty:
                self._show_next_step()
            elif not self._hold.isActive():
                self._hold.start()
            return
        self._hold.stop()
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

        self.images.show_pair(ranked_search, ranked_case)
        explain(self._context, ranked_search, ranked_case.case_id, ranked_case.distance, show, self._fail)

    def _preload(self) -> None:
        """Read the features before the first group is excluded."""
        if self._state.ranked_search is not None and self.isVisible():
            preload(self._context, self._state.ranked_search.search)

    def _drop(self) -> None:
        """Explain no more what is shown."""
        self._preload_delay.stop()
        self._context.jobs.cancel_channel(EXPLANATION_CHANNEL)
        self._request = self._explanation = None
        self.images.drop()

    def _fail(self, error: SemblanceError) -> None:
        self._explanation = None
        self.empty.show_error(error, tr("No explanation is available"))
        self._pages.setCurrentWidget(self.empty)

    def _show_next_step(self) -> None:
        self._hold.stop()
        self.images.clear()
        if self._state.ranking is not None:
            self.empty.show_message(
                tr("There are no similar cases"), tr("No case is left to compare with this query.")
            )
        elif self._state.metric is None and (work := extraction_message(self._state)):
            self.empty.show_message(*work)
        elif self._state.query is not None:
            self.empty.show_message(tr("No reasons yet"), tr("They appear with the similar cases."))
        else:
            self.empty.show_message(
                tr("Search with a case"), tr("This panel says why a case is similar to the query.")
            )
        self._pages.setCurrentWidget(self.empty)

    def _show(self, ranked_case: RankedCase) -> None:
        assert self._explanation is not None
        name = self._state.columns.name_of_id
        sentences = (self._explanation.sentence, nearest_mark(ranked_case, self._state.marks, name))
        text = " ".join(translate(one) for one in sentences if one)
        self.sentence.setText(text)
        self.sentence.setVisible(bool(text))
        self._show_contributions()
        self._pages.setCurrentWidget(self._body)

    def _breakdowns(self, explanation: Explanation, places: ComparedPlaces | None) -> list[tuple[str, str]]:
        """The ways to break the distance down. One part alone explains nothing."""
        groups = {part.name for part in explanation.groups}
        found = []
        if places is not None and places.parts:
            found.append((_PLACES, tr("Places")))
        if places is not None and places.is_similarity and len(explanation.shares) < 2:
            return found
        # If each feature is its own group, both views are the same.
        has_shares = not {share.name for share in explanation.shares} <= groups
        if len(groups) > 1 or not has_shares:
            found.append((_GROUPS, tr("Groups")))
        if has_shares:
            found.append((_SHARES, _KINDS.get(explanation.kind, translate(explanation.kind))))
        return found

    def _show_contributions(self) -> None:
        explanation = self._explanation
        if explanation is None:
            return
        is_single = len({part.name for part in explanation.groups}) <= 1
        # A single group says nothing: what its places contribute is known with the images.
        is_awaited = is_single and self.images.is_comparing
        places = None if self.images.is_comparing else self.images.places
        breakdowns = [] if is_awaited else self._breakdowns(explanation, places)
        self.note.setText("" if places is None else translate(places.note))
        self.note.setVisible(bool(self.note.text()))
        for widget in (self.header, self.waterfall):
            widget.setVisible(bool(breakdowns))
        self.kind.setVisible(len(breakdowns) > 1)
        if not breakdowns:
            return
        keys = [key for key, _ in breakdowns]
        had_places = _PLACES in self._kinds
        self._kinds = tuple(keys)
        self.kind.set_options(breakdowns, {})
        if _PLACES in keys and not had_places:
            self.kind.set_value(_PLACES)
        if self.kind.value() == _PLACES and places is not None:
            self._show_places(places, explanation)
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
        self.waterfall.show_contributions(
            contributions, explanation.distance, hidden, in_percent=self._is_plain
        )
        self.header.set_title(tr("Contributions to the distance"))
        self.header.set_note("" if left_out or not by_group else tr("untick to leave out"))
        self.header.set_action(tr("Reset") if left_out else "")

    def _show_places(self, places: ComparedPlaces, explanation: Explanation) -> None:
        contributions = [Contribution(*part) for part in parts_of_places(places)]
        total = places.total
        for part in explanation.groups:
            if not part.group and not places.is_similarity:
                contributions.append(_group_contribution(part))
                total += part.amount
        name = tr("Similarity") if places.is_similarity else tr("Distance")
        in_percent = self._is_plain and not places.is_similarity
        self.waterfall.show_contributions(contributions, total, total_name=name, in_percent=in_percent)
        self.header.set_title(
            tr("Contributions to the similarity")
            if places.is_similarity
            else tr("Contributions to the distance")
        )
        self.header.set_note("")
        self.header.set_action("")


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


class MetricSection(QWidget):
    """Shows the metric of the state."""

    def __init__(self, state: WindowState) -> None:
        super().__init__()
        self._state = state
        self.badge = Badge("held-out", tr("held-out"))
        self.facts = FactList((_LEARNER, _TRAINED, _ACCURACY, _SPLIT))
        header_row = SectionHeader(tr("Metric"))
        header_row.add(self.badge)
        column = fill(vbox(self, spacing=4), header_row, self.facts)
        self.copy_details = CopyDetailsButton()
        column.addWidget(self.copy_details)
        state.on_change(Change.METRIC | Change.CASES, self, self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show the facts of the current metric."""
        metric = self._state.metric
        self.badge.setVisible(False)
        self.copy_details.set_error(None)
        if metric is None:
            for name in (_LEARNER, _TRAINED, _ACCURACY, _SPLIT):
                self.facts.set_fact(name, None)
            return
        self._show_card(metric)
        self._show_accuracy(metric)

    def _show_card(self, metric: MetricFacts) -> None:
        try:
            card = MetricCard.from_json(metric.card)
        except BadInput as error:
            self.facts.set_fact(_LEARNER, error.message)
            self.copy_details.set_error(error)
            return
        learner = tr_name(learner_title(card.learner))
        if card.rounds is not None:
            learner = tr_n("{learner}, {n} round", "{learner}, {n} rounds", card.rounds, learner=learner)
        self.facts.set_fact(_LEARNER, learner, metric.name)
        cases = tr_n("{n} case", "{n} cases", card.n_cases)
        if card.n_patients is not None:
            cases = tr("{cases}, {n:,} patients", cases=cases, n=card.n_patients)
        self.facts.set_fact(_TRAINED, cases)
        self.facts.set_fact(_SPLIT, _split(card) or None)

    def _show_accuracy(self, metric: MetricFacts) -> None:
        library = self._state.library
        metrics = scored_metrics.scored_metrics(library) if library is not None else ()
        scored = next((one for one in metrics if one.name == metric.name), None)
        mean, low, high = scored.accuracy(10) if scored is not None else (None, None, None)
        if scored is None or scored.scores is None or mean is None:
            self.facts.set_fact(_ACCURACY, tr("not measured"))
            return
        self.facts.set_fact(
            _ACCURACY,
            interval_text(mean, low, high),
            tr("Tested on {what}", what=tr_name(scored.scores.measured_on)),
        )
        kind = scored.measured
        self.badge.set_kind(kind, tr("held-out") if kind == scored_metrics.HELD_OUT else "")
        self.badge.setVisible(True)


def _split(card: MetricCard) -> str:
    if card.split is None:
        return ""
    by = tr("by patient") if card.split.by_patient else tr("patients unknown")
    return tr(
        "{share:.0%} held out, {by}, seed {seed}", share=card.split.fraction, by=by, seed=card.split.seed
    )


def explain(
    context: Context,
    ranked_search: RankedSearch,
    case: str,
    distance: float,
    done: Callable[[Explanation], object],
    failed: Callable[[SemblanceError], object],
) -> None:
    """Explain to ``done`` why ``case`` is at ``distance`` in a ranking. An unfinished explanation is dropped."""
    if context.state.location is None:
        return
    context.jobs.cancel_channel(search_operations.PRELOAD)
    job = context.jobs.run(
        tr("Explaining"),
        explain_distance.explain_distance,
        context.state.location,
        ranked_search.search,
        case,
        shown=distance,
        pool=WorkerPool.SEARCH,
        channel=EXPLANATION_CHANNEL,
        quiet=True,
    )
    job.done.connect(done)
    job.failed.connect(failed)


def preload(context: Context, search: Search) -> None:
    """Read what ranking without a feature group needs, in the process that ranks. Any other request drops it."""
    if context.state.location is None:
        return
    context.jobs.run(
        "",
        explain_distance.preload_feature_groups,
        context.state.location,
        search,
        pool=WorkerPool.SEARCH,
        channel=search_operations.PRELOAD,
        quiet=True,
    )


def rank_without(context: Context, groups: tuple[str, ...]) -> None:
    """Rank again without ``groups`` of features; with all of them if ``groups`` is empty."""
    before = context.state.search
    context.state.change_search(without=groups)
    if context.state.search != before:
        search_operations.rank(context)
