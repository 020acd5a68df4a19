"""Builds the neutral document of the report of a search: ranking, reasons, judgements, the metric, plots."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from semblance.core.errors import SemblanceError
from semblance.core.evaluation.evaluate_metric import MetricScores, chance_note, scored_card
from semblance.core.evaluation.protocols.region import RegionSearchScore
from semblance.core.imaging import ImageAddress, open_image
from semblance.core.imaging.hide_text import TextHider
from semblance.core.imaging.image import Image, ValueWindow
from semblance.core.imaging.measurements import Figure, figures_from_json
from semblance.core.imaging.region import Region
from semblance.core.imaging.thumbnail import framed, region_thumbnail, thumbnail
from semblance.core.language import as_lazy, current_language, join_texts, tr_lazy, tr_lazy_n
from semblance.core.library.case_names import date_name
from semblance.core.library.finding_codes import FindingCode, finding_code
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import CaseDetails, now
from semblance.core.metrics.registry import learner_title
from semblance.core.metrics.score_titles import search_score_title
from semblance.core.reports.card_document import card_facts
from semblance.core.reports.case_attributes import attribute_title, shown_attributes
from semblance.core.reports.curves import ACCURACY, ACCURACY_K, ROC, Curve, RocCurve
from semblance.core.reports.document import (
    GIVEN_VECTOR,
    JudgementRow,
    LabelledImage,
    LabelledValue,
    MeasuredImage,
    ReportDocument,
    ReportedCase,
    ReportedQuery,
    ReportPlot,
    compared_rows,
)
from semblance.core.reports.formatting import beside_chance, spread_text, time_text
from semblance.core.reports.options import ReportOptions
from semblance.core.reports.plot import PlotLayout
from semblance.core.reports.redaction import CaseNames
from semblance.core.searches.feedback.judgements import (
    Judgement,
    JudgementKind,
    QueryMarks,
    outside_image,
    refines,
)
from semblance.core.searches.query import Query
from semblance.core.searches.search import BOTH, PLACE, Search
from semblance.core.searches.similar_cases import MatchedPlace, RankedCase
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.evaluation.scored_metrics import (
    ScoredMetric,
    accuracy_curves,
    roc_curves,
    roc_findings,
    scored_metrics,
)
from semblance.core.workflows.imaging.case_annotations import figures_of_case
from semblance.core.workflows.imaging.key_images import key_images_of, open_key_image
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot, read_snapshot
from semblance.core.workflows.metrics.measure_places import REGION_SEARCH
from semblance.core.workflows.reports.embedded_search import embedded_search
from semblance.core.workflows.reports.export_plots import draw
from semblance.core.workflows.reports.measured_images import MeasuredCase, measured_images
from semblance.core.workflows.reports.metric_cards import opening_text
from semblance.core.workflows.searches.explain_distance import (
    MOVED,
    ShortExplanation,
    nearest_mark,
    short_explanations,
)
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.search_result import SearchResult

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.workflows.imaging.card_images import WindowLevel

#: Pixels of the image of the query or of a compared case, and of a plot on paper.
IMAGE_SIDE, PLOT = 480, (380, 270)
#: Marked cases that are named in a sentence at most.
_MAX_NAMED = 8
_VERDICTS = {JudgementKind.ALIKE: tr_lazy("alike"), JudgementKind.NOT_ALIKE: tr_lazy("not alike")}


def report_document(
    loaded: LoadedMetric,
    library: LibraryLocation,
    ranked_search: RankedSearch,
    options: ReportOptions,
    reporter: Reporter = SILENT,
    *,
    case_names: CaseNames | None = None,
    hider: TextHider | None = None,
    window_level: WindowLevel | None = None,
) -> ReportDocument:
    """The document of ``ranked_search``, de-identified unless ``options`` say otherwise; ``case_names``: the
    pseudonyms of cases, and ``hider``: what blacks out burnt-in text, both shared with other reports.
    ``window_level``: how the query is displayed, and the large images of cases with the same unit of values.

    Raises:
        BadInput: an image that cannot be read.
        SemblanceError: burnt-in text is to be blacked out, and what finds it is not installed.
    """
    images = _Images((hider or TextHider(reporter)) if options.clean_pixels else None, window_level)
    result, search = ranked_search.result, ranked_search.search
    details = loaded.library.catalogue.details([case.row for case in result.ranked])
    thumbnails = loaded.library.thumbnails.get([case.content for case in details.values()])
    scores = loaded.record.scores or {}
    snapshot = read_snapshot(library)
    query = _query_facts(loaded, result.query, options, images)
    names = case_names or CaseNames()
    # In this order: the query is the first case of its report.
    for case_id in (query.case_id, *(case.case_id for case in result.ranked)):
        if case_id is not None:
            names(case_id)
    why = short_explanations(library, search, [case.case_id for case in result.ranked], reporter=reporter)
    in_force = [entry.judgement for entry in ranked_search.entries if entry.undone is None]
    judged = {one.case: _VERDICTS[one.kind] for one in in_force if one.kind != JudgementKind.CLOSER}
    scored = _scored(snapshot, loaded.record.name, result.vote.finding or query.finding)
    card = loaded.metric.card if scored is None else scored_card(loaded.metric.card, scores)
    ranking = _ranking(
        ranked_search,
        details,
        thumbnails,
        why,
        judged,
        images,
        identified=options.identified,
        reporter=reporter,
    )
    return ReportDocument(
        title=tr_lazy("Retrieval report"),
        created=now(),
        # The folder of a library often has the name of the imported source.
        library=loaded.library.name
        if options.identified
        else tr_lazy("Library of {n:,} cases", n=len(snapshot.columns.ids)),
        metric=loaded.record.name,
        query=query,
        ranking=ranking,
        findings=snapshot.columns.findings,
        finding_colours=snapshot.finding_colours,
        finding_codes=_finding_codes(loaded, query, details),
        vote=replace(
            result.vote, counts=result.counts, finding=result.vote.finding or next(iter(result.counts), None)
        ),
        marked=bool(result.marks),
        card=card_facts(card, learner_title(card.learner)),
        measured_on=str(scores.get("measured_on", "")),
        tested=_tested_by_place(loaded.record.card) if result.compared_by == PLACE else _tested(scored),
        hidden={"same_patient": result.same_patient, "near_duplicates": result.near_duplicates},
        no_close_match=result.no_close_match,
        unclear=result.is_unclear,
        judgements=tuple(_judgement_row(one) for one in in_force),
        plots=() if scored is None else _plots(scored),
        measured=_measured(loaded, ranked_search, ranking, details, images, identified=options.identified),
        order=_order(search, result, None if options.identified else names),
        notes=_notes(search, ranked_search),
        versions=card.versions,
        identified=options.identified,
        free_text=options.free_text,
        blacked_out=images.hidden,
        case_names=names,
        patients=tuple(snapshot.columns.patients),
        clinic=options.clinic,
        logo=options.logo,
        comment=options.comment,
        embedded_search=embedded_search(loaded.library, search, in_force, identified=options.identified),
    )


def _finding_codes(
    loaded: LoadedMetric, query: ReportedQuery, details: Mapping[int, CaseDetails]
) -> dict[str, FindingCode]:
    """The codes of the findings of the query and of its similar cases."""
    cases = list(details.values())
    if query.case_id is not None:
        row = loaded.cases.row_of(query.case_id)
        cases.insert(0, loaded.library.catalogue.details([row])[row])
    codes = (finding_code(case.attributes, case.finding) for case in cases)
    return {code.finding: code for code in reversed([one for one in codes if one is not None])}


def _ranking(
    ranked_search: RankedSearch,
    details: Mapping[int, CaseDetails],
    thumbnails: Mapping[str, bytes],
    why: Sequence[ShortExplanation],
    judged: Mapping[str, str],
    images: _Images,
    *,
    identified: bool,
    reporter: Reporter,
) -> tuple[ReportedCase, ...]:
    """The ranked cases with their explanations ``why``; ``judged``: the verdict of each judged case."""
    result, search = ranked_search.result, ranked_search.search
    chosen = {place for place, case in enumerate(result.ranked) if case.case_id in search.in_report}
    shown = compared_rows(result.ranked, [judged.get(case.case_id, "") for case in result.ranked], chosen)
    large_ids = {case.case_id for case in shown}
    case_images = []
    for place, case in enumerate(result.ranked):
        if images.hides_text:
            reporter.progress(place, len(result.ranked), tr_lazy("Looking for text in images"))
        stored = thumbnails.get(details[case.row].content)
        is_large = case.case_id in large_ids
        case_images.append(
            images.of_case(details[case.row], stored, case.place, is_large=is_large, identified=identified)
        )
    return tuple(
        ReportedCase(
            **vars(case) | {"near_liked": None, "near_disliked": None},
            thumbnail=small,
            parts=_shown_parts(reason.parts, case.distance, moved=search.is_shifted),
            judgement=judged.get(case.case_id, ""),
            reason=_reason(reason.sentence, case, result),
            image=large,
            is_chosen=case.case_id in search.in_report,
        )
        for case, reason, (small, large) in zip(result.ranked, why, case_images, strict=True)
    )


def _measured(
    loaded: LoadedMetric,
    ranked_search: RankedSearch,
    ranking: Sequence[ReportedCase],
    details: Mapping[int, CaseDetails],
    images: _Images,
    *,
    identified: bool,
) -> tuple[MeasuredImage, ...]:
    """What was measured on the query and on the cases that are shown large."""
    cases = [measured_query(loaded, ranked_search.search)]
    for row, case in zip(ranking, ranked_search.result.ranked, strict=True):
        found = details[case.row]
        if row.image is not None and found.address is not None:
            figures = figures_of_case(loaded.library, case.case_id)
            cases.append(MeasuredCase(found.address, figures, case.rank, case.case_id))

    def shown(case: MeasuredCase, image: Image, where: Figure) -> Image | None:
        if images.hides_text:
            if where.plane is not None:
                # Text is found in images as they are stored.
                return None
            image = images.hide(image, (case.address, where.slice))
        return images.windowed(image, is_query=case.rank is None)

    return measured_images([one for one in cases if one is not None], shown, IMAGE_SIDE)


def measured_query(loaded: LoadedMetric, search: Search) -> MeasuredCase | None:
    """What was measured on the query of ``search``; ``None`` without an image."""
    query = search.query
    if query.case is None:
        figures = figures_from_json(search.measured)
        return None if query.image is None else MeasuredCase(ImageAddress(query.image), figures)
    row = loaded.cases.row_of(query.case)
    case = loaded.library.catalogue.details([row])[row]
    if case.address is None:
        return None
    return MeasuredCase(case.address, figures_of_case(loaded.library, query.case), None, query.case)


def _judgement_row(one: Judgement) -> JudgementRow:
    if one.kind == JudgementKind.CLOSER:
        return JudgementRow(tr_lazy("closer to the query"), one.case, one.query, one.other, one.time)
    return JudgementRow(_VERDICTS[one.kind], one.case, one.query, None, one.time)


def _reason(sentence: str, case: RankedCase, result: SearchResult) -> str:
    """Why ``case`` has its rank: its features, then the marked case nearest to it, named by rank."""
    ranks = {one.case_id: one.rank for one in result.ranked}

    def name(marked: str) -> str:
        return tr_lazy("rank {rank}", rank=ranks[marked]) if marked in ranks else ""

    return join_texts([one for one in (sentence, nearest_mark(case, result.marks, name)) if one], " ")


def _order(search: Search, result: SearchResult, names: CaseNames | None) -> str:
    """What determines the order besides the metric as it was trained; empty for nothing."""
    again = tr_lazy(
        "Ranked by {metric}, trained again without the query and its patient's cases. The scores and plots "
        "are those of the metric trained with them.",
        metric=result.metric,
    )
    by_place = ""
    if any(case.place is not None for case in result.ranked):
        by_place = (
            tr_lazy(
                "Ordered by the metric and by how well the region is found inside each image. Frames show where."
            )
            if search.match == BOTH
            else tr_lazy("Ordered by how well the region is found inside each image. Frames show where.")
        )
    sentences = [again if result.without_patient else "", by_place, _order_by_marks(result.marks, names)]
    return join_texts([one for one in sentences if one], " ")


def _order_by_marks(marks: QueryMarks, names: CaseNames | None) -> str:
    """How marks changed the order, and which cases are marked; empty without marks."""
    if not marks:
        return ""
    changed = tr_lazy_n(
        "Ordered by {n} mark ({liked} more like the query, {disliked} less). Distances, counts and the estimate are "
        "those of the metric without it.",
        "Ordered by {n} marks ({liked} more like the query, {disliked} less). Distances, counts and the estimate are "
        "those of the metric without them.",
        len(marks),
        liked=len(marks.liked),
        disliked=len(marks.disliked),
    )
    lists = []
    if marks.liked:
        lists.append(tr_lazy("More like the query: {cases}.", cases=_named(marks.liked, names)))
    if marks.disliked:
        lists.append(tr_lazy("Less like the query: {cases}.", cases=_named(marks.disliked, names)))
    return join_texts([changed, *lists], " ")


def _named(marked: Sequence[str], names: CaseNames | None) -> str:
    """The first of the ``marked`` cases by name, and the number of the others."""
    named = [_name_of_marked(one, names) for one in marked[:_MAX_NAMED]]
    if more := len(marked) - len(named):
        named.append(tr_lazy("{n} more", n=more))
    return join_texts(named)


def _notes(search: Search, ranked_search: RankedSearch) -> tuple[str, ...]:
    """Other influences on the ranking, and what a person noted of its cases."""
    notes = list(ranked_search.result.warnings)
    in_force = [entry.judgement for entry in ranked_search.entries if entry.undone is None]
    is_refined = search.strength > 0.0 and any(refines(one, search) for one in in_force)
    if ranked_search.refused is None and is_refined:
        notes.append(
            tr_lazy(
                "The marks refined the metric by {strength:.0f} %; it was not measured again, "
                "so scores and plots are those of the metric they began with.",
                strength=100 * search.strength * ranked_search.trust,
            )
        )
    if ranked_search.refused is not None:
        notes.append(
            tr_lazy(
                "The ranking is by the metric as it is, because it could not be refined: {refused}",
                refused=ranked_search.refused,
            )
        )
    if search.without:
        notes.append(tr_lazy("Ranked without: {without}.", without=join_texts(map(as_lazy, search.without))))
    moved = [
        tr_lazy("{name} {amount:+.2f}", name=name, amount=amount)
        for name, amount in search.concepts
        if amount
    ]
    if moved:
        notes.append(tr_lazy("Moved along: {moved}.", moved=join_texts(moved)))
    noted = dict(search.notes)
    notes += [
        tr_lazy("Rank {rank}: {note}", rank=case.rank, note=noted[case.case_id])
        for case in ranked_search.result.ranked
        if case.case_id in noted
    ]
    return tuple(notes)


def _name_of_marked(case: str, names: CaseNames | None) -> str:
    image = outside_image(case)
    if names is None:
        return case if image is None else image.name
    return names(case) if image is None else tr_lazy("an image from outside")


def _query_facts(
    loaded: LoadedMetric, query: Query, options: ReportOptions, images: _Images
) -> ReportedQuery:
    given = (
        ()
        if query.vector is None
        else (LabelledValue(tr_lazy("Features"), tr_lazy("{n} given numbers", n=len(query.vector))),)
    )
    if query.case is None and query.image is None:
        return ReportedQuery(None, str(GIVEN_VECTOR), facts=given)
    if query.case is None:
        assert query.image is not None
        image = images.windowed(images.open(ImageAddress(query.image), query.region), is_query=True)
        return ReportedQuery(
            None,
            str(query.image),
            thumbnail=thumbnail(image.cropped(query.region), IMAGE_SIDE),
            overview=_overview(image, query.region),
            region=query.region,
            facts=given,
        )
    row = loaded.cases.row_of(query.case)
    case = loaded.library.catalogue.details([row])[row]
    small = whole = None
    if case.address is not None:
        region = query.region or case.region
        image = images.windowed(images.open(case.address, region), is_query=True)
        small, whole = thumbnail(image.cropped(region), IMAGE_SIDE), _overview(image, region)
    attributes = shown_attributes(case.attributes, identified=options.identified, free_text=options.free_text)
    if case.is_date_shifted and "date" in attributes:
        attributes["date"] = date_name(case.date)
    facts = tuple(LabelledValue(attribute_title(name), value) for name, value in attributes.items())
    return ReportedQuery(
        query.case,
        None,
        case.patient,
        case.finding,
        small,
        whole,
        query.region,
        (*facts, *given),
        () if case.address is None else images.key_images(loaded.library, query.case, case.address),
    )


def _overview(image: Image, region: Region | None) -> bytes | None:
    return None if region is None else region_thumbnail(image, region, IMAGE_SIDE)


def _framed(image: bytes | None, place: MatchedPlace | None) -> bytes | None:
    """``image`` with a frame around ``place``; as it is without a place, or where its size in pixels is not known."""
    has_size = place is not None and place.image_width > 0 and place.image_height > 0
    return framed(image, place.share) if image is not None and place is not None and has_size else image


def _shown_parts(
    parts: tuple[tuple[str, float], ...], distance: float, *, moved: bool
) -> tuple[tuple[str, float], ...]:
    """The parts of the shown distance; that of the concepts is a part of its own."""
    rest = distance - sum(amount for _, amount in parts)
    return (*parts, (MOVED, rest)) if moved and rest else parts


class _Images:
    """The images of a report, with a ``hider`` without the text burnt into them.

    ``hidden``: the number of areas blacked out so far, ``None`` without a ``hider``.
    """

    def __init__(self, hider: TextHider | None, window_level: WindowLevel | None = None) -> None:
        self._hider, self._window_level = hider, window_level
        self.hidden = None if hider is None else 0

    @property
    def hides_text(self) -> bool:
        return self._hider is not None

    def open(self, address: ImageAddress, region: Region | None) -> Image:
        """
        Raises:
            BadInput: the image cannot be read.
        """
        image = open_image(address, region)
        return self.hide(image, (address, None if region is None else region.middle_slice))

    def hide(self, image: Image, key: Hashable) -> Image:
        """``image`` without the text burnt into it, where that is hidden; ``key``: the same for the same image."""
        if self._hider is None or self.hidden is None:
            return image
        image, areas = self._hider.hide(image, key)
        self.hidden += areas
        return image

    def key_images(self, library: Library, case_id: str, address: ImageAddress) -> tuple[LabelledImage, ...]:
        """The key images of a case, as they were marked.

        Raises:
            BadInput: one cannot be read any more.
        """
        found = []
        for key in key_images_of(library.annotations, case_id):
            image = self.hide(open_key_image(address, key), (address, key))
            found.append(LabelledImage(key.caption, thumbnail(image, IMAGE_SIDE)))
        return tuple(found)

    def of_case(
        self,
        case: CaseDetails,
        stored: bytes | None,
        place: MatchedPlace | None = None,
        *,
        is_large: bool,
        identified: bool,
    ) -> tuple[bytes | None, bytes | None]:
        """The thumbnail of a similar case and, if ``is_large``, its image in the size of the first page, both with a
        frame around the ``place`` that a search found, and of a volume on its slice.

        Without a file there is the ``stored`` thumbnail only, and none where text is to be hidden, since it is found
        in the whole image. Text is readable in the large image, so there is none of a case that may contain it.
        """
        may_show_text = not identified and not self.hides_text and bool(case.attributes.get("burnt_in_text"))
        is_large = is_large and not may_show_text
        if place is not None and place.slice is not None:
            # The stored one may show another slice.
            stored = None
        if case.address is None:
            return (None if self.hides_text else stored), None
        if stored is not None and not is_large and not self.hides_text:
            return _framed(stored, place), None
        try:
            image = self.open(case.address, case.region if place is None else place.region)
        except SemblanceError:
            # The report names the case; the list of unreadable files has its missing image.
            return (None if self.hides_text else _framed(stored, place)), None
        small = thumbnail(image) if stored is None or self.hides_text else stored
        large = thumbnail(self.windowed(image), IMAGE_SIDE) if is_large else None
        return _framed(small, place), _framed(large, place)

    def windowed(self, image: Image, *, is_query: bool = False) -> Image:
        """``image`` as it is displayed beside the query: with the window of the query if its values are comparable,
        which only values with a unit are."""
        shown = self._window_level
        if (
            shown is None
            or image.is_colour
            or shown.unit != image.values.unit
            or not (shown.unit or is_query)
        ):
            return image
        windows = (ValueWindow(shown.low, shown.high, curve=shown.curve),)
        return replace(image, values=replace(image.values, windows=windows, inverse=shown.negative))


@dataclass(frozen=True)
class _Scored:
    """The ranking metric as it was scored, the others to compare it with, and the finding of the ROC."""

    current: ScoredMetric
    scores: MetricScores
    metrics: tuple[ScoredMetric, ...]
    finding: str | None

    def roc(self) -> tuple[RocCurve, ...]:
        return () if self.finding is None else roc_curves(self.metrics, self.current.name, self.finding)


def _scored(snapshot: LibrarySnapshot, metric: str, finding: str | None) -> _Scored | None:
    """The scores of ``metric``; ``finding``: the one to show the ROC of, or another one if it has none."""
    metrics = tuple(scored for scored in scored_metrics(snapshot) if scored.scores is not None)
    current = next((scored for scored in metrics if scored.name == metric), None)
    if current is None or current.scores is None:
        return None
    known = roc_findings((current,), snapshot.columns.findings)
    return _Scored(current, current.scores, metrics, finding if finding in known else next(iter(known), None))


def _tested_by_place(card: Mapping[str, Any]) -> str:
    """What search by place was tested on, as one sentence: the scores of the metric say nothing of it."""
    stored = card.get(REGION_SEARCH)
    if stored is None:
        return tr_lazy("Search by place was not tested in this library.")
    return tr_lazy(
        "Search by place was tested in this library: {summary}",
        summary=RegionSearchScore.from_json(stored).summary,
    )


def _tested(scored: _Scored | None) -> str:
    """What the metric was tested on and its score, as one sentence."""
    if scored is None:
        return tr_lazy("The metric was not tested on held-out cases.")
    scores = scored.scores
    results = [
        _score(f"auc:{scored.finding}", spread_text(curve.auc, curve.auc_low, curve.auc_high))
        for curve in scored.roc()
        if curve.current
    ]
    mean, low, high = scored.current.accuracy(ACCURACY_K)
    if mean is not None:
        results.append(
            _score(f"retrieval_accuracy@{ACCURACY_K}", beside_chance(mean, low, high, scores.chance))
        )
    if scores.macro is not None:
        macro = beside_chance(scores.macro.mean, scores.macro.low, scores.macro.high, scores.macro_chance)
        results.append(_score(f"macro_retrieval_accuracy@{scores.macro.k}", macro))
    if scored.current.ece is not None:
        results.append(_score("calibration_error", spread_text(scored.current.ece)))
    text = tr_lazy_n(
        "The metric was tested with {n} query ({measured_on}): {results}.",
        "The metric was tested with {n} queries ({measured_on}): {results}.",
        scored.scores.n_queries,
        measured_on=as_lazy(scored.scores.measured_on),
        results=join_texts(results, "; "),
    )
    texts = [text, *([note] if (note := chance_note(scores)) else [])]
    if scored.current.openings:
        last = scored.current.openings[-1]
        texts.append(
            tr_lazy(
                "Sealed test vault, opening {number} ({time}): {result}.",
                number=last.number,
                time=time_text(last.time),
                result=opening_text(last),
            )
        )
    if scored.current.stale:
        texts.append(tr_lazy("The library has changed since."))
    return join_texts(texts, " ")


def _score(score: str, value: str) -> str:
    return tr_lazy("{name} {value}", name=search_score_title(score), value=value)


def _plots(scored: _Scored) -> tuple[ReportPlot, ...]:
    """The ROC of the finding of ``scored`` and retrieval accuracy, of the metric and of those it is compared with."""
    figures: list[tuple[str, str, tuple[Curve, ...]]] = []
    if scored.finding is not None:
        caption = tr_lazy("ROC, {chosen} against the rest", chosen=scored.finding)
        figures.append((ROC, caption, scored.roc()))
    accuracy = accuracy_curves(scored.metrics, scored.current.name)
    figures.append((ACCURACY, tr_lazy("Search accuracy @ k"), accuracy))
    return tuple(
        ReportPlot(
            caption,
            _drawn(kind, curves, PlotLayout("print", PLOT, 2.0), current_language()),
            _drawn(kind, curves, PlotLayout("print", PLOT, format="svg"), current_language()),
            scored.scores.measured_on,
        )
        for kind, caption, curves in figures
    )


@lru_cache(maxsize=8)
def _drawn(kind: str, curves: tuple[Curve, ...], layout: PlotLayout, _language: str) -> bytes:
    """A plot; many reports, and all previews of one, have the same."""
    return draw(kind, curves, layout)
