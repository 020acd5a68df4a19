"""Puts a search into the neutral document of a report: ranking, reasons, judgements, the metric, plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from semblance.core.errors import SemblanceError
from semblance.core.imaging import open_image
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.imaging.region_thumbnail import region_thumbnail
from semblance.core.imaging.thumbnail import thumbnail
from semblance.core.language import as_lazy, join_texts, tr_lazy, tr_lazy_n
from semblance.core.library.records import CaseDetails, now
from semblance.core.metrics.registry import learner_title
from semblance.core.reports.card_facts import card_facts
from semblance.core.reports.case_attributes import attribute_title, shown_attributes
from semblance.core.reports.curves import ACCURACY, ROC, Curve
from semblance.core.reports.document import (
    Fact,
    JudgementRow,
    Plot,
    QueryFacts,
    RankedRow,
    ReportDocument,
    VoteFacts,
)
from semblance.core.reports.options import ReportOptions
from semblance.core.reports.plot_canvas import PlotLayout
from semblance.core.reports.redaction import CaseNames
from semblance.core.searches.judgement import Judgement, JudgementKind
from semblance.core.searches.marks import is_mark
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.evaluation.scored_metrics import (
    accuracy_curves,
    roc_curves,
    roc_findings,
    scored_metrics,
)
from semblance.core.workflows.library.library_snapshot import LibrarySnapshot, read_snapshot
from semblance.core.workflows.reports.embedded_search import embedded_search
from semblance.core.workflows.reports.export_plots import draw
from semblance.core.workflows.searches.explain_distance import MOVED, nearest_mark, short_explanations
from semblance.core.workflows.searches.loaded_metric import LoadedMetric
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.search_result import RankedCase, SearchResult

#: Pixels of the query's image and of a plot on paper.
QUERY_SIDE, PLOT = 480, (520, 300)
_VERDICTS = {
    JudgementKind.ALIKE: "alike",
    JudgementKind.NOT_ALIKE: "not alike",
    JudgementKind.CLOSER: "closer",
}


def report_document(
    loaded: LoadedMetric,
    library: Path,
    ranked_search: RankedSearch,
    options: ReportOptions,
    reporter: Reporter = SILENT,
    *,
    case_names: CaseNames | None = None,
) -> ReportDocument:
    """The document of ``ranked_search``, de-identified unless ``options`` say otherwise; ``case_names``: what cases are
    called then, shared with other reports.

    Raises:
        BadInput: an image that cannot be read.
    """
    result, search = ranked_search.result, ranked_search.search
    details = loaded.library.catalogue.details([case.row for case in result.ranked])
    thumbnails = loaded.library.thumbnails.get([case.content for case in details.values()])
    card = loaded.metric.card
    scores = loaded.record.scores or {}
    snapshot = read_snapshot(library)
    query = _query_facts(loaded, result.query, options)
    names = case_names or CaseNames()
    # In this order: the query is the first case of its report.
    for case_id in (query.case_id, *(case.case_id for case in result.ranked)):
        if case_id is not None:
            names(case_id)
    why = short_explanations(library, search, [case.case_id for case in result.ranked], reporter=reporter)
    in_force = [entry.judgement for entry in ranked_search.entries if entry.undone is None]
    judged = {one.case: _VERDICTS[one.kind] for one in in_force if one.kind != JudgementKind.CLOSER}
    without = len(result.vote.voters) - sum(result.counts.values())
    estimate = result.vote
    vote = VoteFacts(
        result.counts,
        estimate.finding or next(iter(result.counts), None),
        estimate.calibrated,
        estimate.probability,
        estimate.interval,
        estimate.measured_on,
        without,
        estimate.why_not,
        estimate.trained,
        estimate.caution,
        estimate.prevalence,
        estimate.voters,
    )
    return ReportDocument(
        title=tr_lazy("Retrieval report"),
        created=now(),
        # The folder of a library is often called after what was imported.
        library=loaded.library.name
        if options.identified
        else tr_lazy("Library of {n:,} cases", n=len(snapshot.columns.ids)),
        metric=loaded.record.name,
        query=query,
        ranking=tuple(
            RankedRow(
                case.rank,
                case.case_id,
                case.distance,
                case.finding,
                case.patient,
                case.path,
                _thumbnail(details[case.row], thumbnails),
                _shown_parts(reason.parts, case.distance, moved=search.is_shifted),
                judged.get(case.case_id, ""),
                case.near_duplicates,
                _reason(reason.sentence, case, result),
            )
            for case, reason in zip(result.ranked, why, strict=True)
        ),
        findings=snapshot.columns.findings,
        vote=vote,
        card=card_facts(card, learner_title(card.learner)),
        measured_on=str(scores.get("measured_on", "")),
        hidden={"same_patient": result.same_patient, "near_duplicates": result.near_duplicates},
        no_good_match=result.no_good_match,
        unclear=result.is_unclear,
        judgements=tuple(_judgement_row(one) for one in in_force),
        plots=_plots(snapshot, loaded.record.name, query.finding or vote.finding),
        order=_order(result),
        notes=_notes(search, ranked_search, None if options.identified else names),
        versions=card.versions,
        identified=options.identified,
        free_text=options.free_text,
        case_names=names,
        patients=snapshot.columns.patients,
        clinic=options.clinic,
        logo=options.logo,
        comment=options.comment,
        embedded_search=embedded_search(loaded.library, search, in_force, identified=options.identified),
    )


def _judgement_row(one: Judgement) -> JudgementRow:
    if one.kind == JudgementKind.CLOSER:
        return JudgementRow(tr_lazy("closer to the query"), one.case, one.query, one.other, one.time)
    return JudgementRow(_VERDICTS[one.kind], one.case, one.query, None, one.time)


def _reason(sentence: str, case: RankedCase, result: SearchResult) -> str:
    """Why ``case`` is where it is: its features, then the marked case nearest to it, by rank."""
    ranks = {one.case_id: one.rank for one in result.ranked}

    def name(marked: str) -> str:
        return tr_lazy("rank {rank}", rank=ranks[marked]) if marked in ranks else ""

    return join_texts([one for one in (sentence, nearest_mark(case, result.marks, name)) if one], " ")


def _order(result: SearchResult) -> str:
    """What the order is by, where it is not by the metric as it was trained, or not by it alone; else empty."""
    sentences, marks = [], result.marks
    if result.without_patient:
        sentences.append(
            tr_lazy(
                "Ranked by {metric}, trained again without the query and its patient's cases. The scores and plots "
                "are those of the metric trained with them.",
                metric=result.metric,
            )
        )
    if marks:
        sentences.append(
            tr_lazy_n(
                "Ordered by {n} mark ({liked} more like the query, {disliked} less). Distances, counts and the "
                "estimate are those of the metric without it.",
                "Ordered by {n} marks ({liked} more like the query, {disliked} less). Distances, counts and the "
                "estimate are those of the metric without them.",
                len(marks),
                liked=marks.n_liked,
                disliked=marks.n_disliked,
            )
        )
    return join_texts(sentences, " ")


def _notes(search: Search, ranked_search: RankedSearch, names: CaseNames | None) -> tuple[str, ...]:
    """What else decided the ranking; examples are called by ``names``, or by their ids and file names."""
    notes = list(ranked_search.result.warnings)
    in_force = [entry.judgement for entry in ranked_search.entries if entry.undone is None]
    refines = search.strength > 0.0 and not all(is_mark(one, search.query) for one in in_force)
    if ranked_search.refused is None and refines:
        notes.append(
            tr_lazy(
                "The judgements refined the metric by {strength:.0f} %; it was not measured again, "
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
    for like, examples in ((True, search.like), (False, search.unlike)):
        if examples:
            called = join_texts(_example(one, names) for one in examples)
            notes.append(
                tr_lazy("Like the examples {names}.", names=called)
                if like
                else tr_lazy("Unlike the examples {names}.", names=called)
            )
    moved = [
        tr_lazy("{name} {amount:+.2f}", name=name, amount=amount)
        for name, amount in search.concepts
        if amount
    ]
    if moved:
        notes.append(tr_lazy("Moved along: {moved}.", moved=join_texts(moved)))
    return tuple(notes)


def _example(example: Query, names: CaseNames | None) -> str:
    if names is None:
        return example.case or (example.image.name if example.image else "")
    return names(example.case) if example.case is not None else tr_lazy("an image from outside")


def _query_facts(loaded: LoadedMetric, query: Query, options: ReportOptions) -> QueryFacts:
    if query.case is None:
        assert query.image is not None
        image = open_image(query.image, query.region)
        return QueryFacts(
            None,
            str(query.image),
            thumbnail=thumbnail(image.cropped(query.region), QUERY_SIDE),
            overview=_overview(image, query.region),
            region=query.region,
        )
    row = loaded.cases.row_of(query.case)
    case = loaded.library.catalogue.details([row])[row]
    small = whole = None
    if case.address is not None:
        region = query.region or case.region
        image = open_image(case.address, region)
        small, whole = thumbnail(image.cropped(region), QUERY_SIDE), _overview(image, region)
    attributes = shown_attributes(case.attributes, identified=options.identified, free_text=options.free_text)
    facts = tuple(Fact(attribute_title(name), value) for name, value in attributes.items())
    return QueryFacts(query.case, None, case.patient, case.finding, small, whole, query.region, facts)


def _overview(image: Image, region: Region | None) -> bytes | None:
    return None if region is None else region_thumbnail(image, region, QUERY_SIDE)


def _thumbnail(case: CaseDetails, stored: Mapping[str, bytes]) -> bytes | None:
    """The stored thumbnail, or a new one; none for a row of a table or an image that is gone."""
    if case.content in stored or case.address is None:
        return stored.get(case.content)
    try:
        return thumbnail(open_image(case.address, case.region))
    except SemblanceError:
        # The report says which case it is; its missing image is reported in the library's own list.
        return None


def _shown_parts(
    parts: tuple[tuple[str, float], ...], distance: float, *, moved: bool
) -> tuple[tuple[str, float], ...]:
    """The parts of the shown distance: what concepts made of it stands by itself."""
    rest = distance - sum(amount for _, amount in parts)
    return (*parts, (MOVED, rest)) if moved and rest else parts


def _plots(snapshot: LibrarySnapshot, metric: str, finding: str | None) -> tuple[Plot, ...]:
    """Retrieval accuracy, and the ROC of ``finding``, of the metric beside the others it has to beat."""
    metrics = [scored for scored in scored_metrics(snapshot) if scored.scores is not None]
    current = next((scored for scored in metrics if scored.name == metric), None)
    if current is None or current.scores is None:
        return ()
    known = roc_findings(metrics, snapshot.columns.findings)
    chosen = finding if finding in known else next(iter(known), None)
    figures: list[tuple[str, str, Sequence[Curve]]] = [
        (ACCURACY, tr_lazy("Retrieval accuracy @ k"), accuracy_curves(metrics, metric))
    ]
    if chosen is not None:
        figures.append(
            (
                ROC,
                tr_lazy("ROC, {chosen} against the rest", chosen=chosen),
                roc_curves(metrics, metric, chosen),
            )
        )
    return tuple(
        Plot(
            caption,
            draw(kind, curves, PlotLayout("print", PLOT, 2.0)),
            draw(kind, curves, PlotLayout("print", PLOT, format="svg")),
            current.scores.measured_on,
        )
        for kind, caption, curves in figures
    )
