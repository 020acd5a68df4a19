"""Report a search: ranking, findings, reasons, the metric's card and its plots, de-identified by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from core.errors import SemblanceError
from core.imaging import open_picture
from core.imaging.deidentify import is_telling
from core.imaging.formats import DICOM, HEAD_BYTES, sniff
from core.imaging.thumbnail import thumbnail
from core.library.export_log import note_export
from core.library.records import CaseDetails, now
from core.metrics.registry import learner_title
from core.reports.card_facts import card_facts
from core.reports.curves import ACCURACY, ROC, Curve
from core.reports.document import Fact, Plot, QueryFacts, RankedRow, ReportDocument, VoteFacts
from core.reports.write import check_suffix, write_report
from core.searches.query import Query
from core.tasks import SILENT, Reporter
from core.workflows.desk import Desk, desk_for
from core.workflows.drawing import draw
from core.workflows.opening import LibrarySnapshot, publish
from core.workflows.scoreboard import accuracy_curves, findings, roc_curves, scored_metrics
from core.workflows.searching import VOTERS, SearchResult, explain, search

#: Ranked cases on a report.
LISTED = 20
#: Attributes that tell when a picture was taken and where it is filed.
_TELLING = frozenset(("date", "study", "series", "instance", "of"))
#: Pixels of the query's picture and of a plot on paper.
QUERY_SIDE, PLOT = 480, (520, 300)


def write_search_report(
    library: Path,
    metric: str,
    query: Query,
    out: Path,
    *,
    identified: bool = False,
    hide_same_patient: bool = True,
    fold_duplicates: bool = True,
    reporter: Reporter = SILENT,
) -> Path:
    """Ask ``query`` and write its report to ``out`` (.pdf, .html, .csv or .json); returns ``out``.

    Raises:
        BadArguments: no such metric, or a suffix no report has.
        BadInput: no such case, or a picture that cannot be read.
        SemblanceError: ``out`` cannot be written.
    """
    check_suffix(out)
    desk = desk_for(library, metric, reporter)
    result = search(
        library,
        metric,
        query,
        k=LISTED,
        hide_same_patient=hide_same_patient,
        fold_duplicates=fold_duplicates,
        reporter=reporter,
    )
    reporter.progress(0, None, f"Writing {out.name}")
    write_report(_document(desk, library, result, identified=identified), out)
    note_export(desk.library.path, "report", out.suffix, identified=identified)
    return out


def _document(desk: Desk, library: Path, result: SearchResult, *, identified: bool) -> ReportDocument:
    details = desk.library.catalogue.details([case.row for case in result.ranked])
    thumbnails = desk.library.thumbnails.get([case.content for case in details.values()])
    card = desk.metric.card
    scores = desk.record.scores or {}
    snapshot = publish(library)
    asked = _query_facts(desk, result.query, identified=identified)
    without = max(0, len(result.ranked[:VOTERS]) - sum(result.counts.values()))
    vote = VoteFacts(result.counts, next(iter(result.counts), None), without=without)
    return ReportDocument(
        title="Retrieval report",
        created=now(),
        library=desk.library.name,
        metric=desk.record.name,
        query=asked,
        ranking=tuple(
            RankedRow(
                case.rank,
                case.case_id,
                case.distance,
                case.finding,
                case.patient,
                case.path,
                _thumbnail(details[case.row], thumbnails),
                _parts(library, desk, result, case.case_id),
                alike=case.alike,
            )
            for case in result.ranked
        ),
        findings=snapshot.columns.findings,
        vote=vote,
        card=card_facts(card, learner_title(card.learner)),
        measured_on=str(scores.get("measured_on", "")),
        hidden={"same_patient": result.same_patient, "near_duplicates": result.near_duplicates},
        no_good_match=result.no_good_match,
        plots=_plots(snapshot, desk.record.name, asked.finding or vote.finding),
        versions=card.versions,
        identified=identified,
        patients=snapshot.columns.patients,
    )


def _query_facts(desk: Desk, query: Query, *, identified: bool) -> QueryFacts:
    if query.case is None:
        assert query.image is not None
        picture = open_picture(query.image, query.region).cropped(query.region)
        name = str(query.image) if identified else _untold_name(query.image)
        return QueryFacts(None, name, thumbnail=thumbnail(picture, QUERY_SIDE), region=query.region)
    row = desk.row_of(query.case)
    case = desk.library.catalogue.details([row])[row]
    image = None
    if case.address is not None:
        region = query.region or case.region
        image = thumbnail(open_picture(case.address, region).cropped(region), QUERY_SIDE)
    facts = tuple(
        Fact(name.capitalize(), value)
        for name, value in sorted(case.attributes.items())
        if identified or not (name in _TELLING or is_telling(name))
    )
    return QueryFacts(query.case, None, case.patient, case.finding, image, query.region, facts)


def _untold_name(image: Path) -> str:
    """The path of a picture from outside; of a DICOM file, which is often called after its patient, only that
    it is one."""
    with image.open("rb") as file:
        return "A DICOM file" if sniff(file.read(HEAD_BYTES)) == DICOM else str(image)


def _thumbnail(case: CaseDetails, kept: Mapping[str, bytes]) -> bytes | None:
    """The kept thumbnail, or one made now; none for a row of a table or a picture that is gone."""
    if case.content in kept or case.address is None:
        return kept.get(case.content)
    try:
        return thumbnail(open_picture(case.address, case.region))
    except SemblanceError:
        # The report says which case it is; its missing picture is told in the library's own list.
        return None


def _parts(library: Path, desk: Desk, result: SearchResult, case: str) -> tuple[tuple[str, float], ...]:
    """The shares of the distance to ``case``; they sum to it."""
    parts = explain(library, desk.record.name, result.query, case)
    return tuple((part.name, float(part.amount)) for part in parts if part.amount)


def _plots(snapshot: LibrarySnapshot, metric: str, finding: str | None) -> tuple[Plot, ...]:
    """Retrieval accuracy, and the ROC of ``finding``, of the metric beside the others it has to beat."""
    metrics = [scored for scored in scored_metrics(snapshot) if scored.scores is not None]
    current = next((scored for scored in metrics if scored.name == metric), None)
    if current is None or current.scores is None:
        return ()
    known = findings(metrics, snapshot.columns.findings)
    chosen = finding if finding in known else next(iter(known), None)
    figures: list[tuple[str, str, Sequence[Curve]]] = [
        (ACCURACY, "Retrieval accuracy @ k", accuracy_curves(metrics, metric))
    ]
    if chosen is not None:
        figures.append((ROC, f"ROC, {chosen} against the rest", roc_curves(metrics, metric, chosen)))
    return tuple(
        Plot(
            caption,
            draw(kind, curves, theme="print", size=PLOT, ratio=2.0),
            draw(kind, curves, theme="print", size=PLOT, format="svg"),
            current.scores.measured_on,
        )
        for kind, caption, curves in figures
    )
