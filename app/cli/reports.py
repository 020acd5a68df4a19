"""The commands that write reports of one or many queries, and images of cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semblance.app.cli.options import (
    Clean,
    CurrentMetric,
    Json,
    LibraryArgument,
    Vector,
    case_ids,
    cleans_pixels,
    parse_region,
    vector_of,
)
from semblance.app.cli.output import ConsoleReporter, EntryLines, print_document, printer
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.library.location import LibraryLocation
from semblance.core.normal_text import composed

commands = typer.Typer()


show_reports = printer(
    lambda document: (
        f"{document['folder']}: {len(document['files']):,} "
        f"report{'' if len(document['files']) == 1 else 's'}, listed in reports.csv."
    ),
    EntryLines("failed", "No report of {case_id}: {reason}"),
)
_show_files = printer(EntryLines("files", "{}"))


@commands.command()
def report(
    library: LibraryArgument,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="A .pdf, .html, .csv, .json or .dcm file; a folder for many queries."
        ),
    ],
    metric: CurrentMetric = None,
    case: Annotated[str | None, typer.Option(metavar="ID", help="The query: a case of the library.")] = None,
    image: Annotated[Path | None, typer.Option(metavar="FILE", help="The query: an image file.")] = None,
    region: Annotated[
        str | None, typer.Option(metavar="x,y,w,h", help="The region of the image to search with, in pixels.")
    ] = None,
    vector: Vector = None,
    cases: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|held-out|all",
            help="Many queries: a file with one case id a line, held-out cases, or all.",
        ),
    ] = None,
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="Format for many queries: pdf, html, csv, json or dcm.")
    ] = "pdf",
    without_patient: Annotated[
        bool,
        typer.Option(
            "--without-patient",
            help="If the metric was trained on a query or its patient, train it again without them first.",
        ),
    ] = False,
    dicom: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="pdf|sr|kos|seg|all|assessment",
            help="What a .dcm file is: a PDF, a structured report, key objects, segmentations, all in a set, or a "
            "reader's assessment with the structured report that it is about.",
        ),
    ] = "pdf",
    like: Annotated[
        str | None, typer.Option(metavar="ID,...", help="Cases marked as more like the query.")
    ] = None,
    unlike: Annotated[
        str | None, typer.Option(metavar="ID,...", help="Cases marked as less like it.")
    ] = None,
    estimate: Annotated[
        str, typer.Option(metavar="accepted|rejected", help="In an assessment: what is said of the estimate.")
    ] = "",
    reader: Annotated[
        str, typer.Option(metavar="NAME", help="In an assessment: who says so. Default: the account.")
    ] = "",
    page: Annotated[str, typer.Option(metavar="A4|letter", help="Paper size.")] = "A4",
    clinic: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the clinic, for the head of the report.")
    ] = "",
    logo: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A PNG or JPEG file, beside the name of the clinic.")
    ] = None,
    comment: Annotated[str, typer.Option(metavar="TEXT", help="A comment in the report.")] = "",
    identified: Annotated[bool, typer.Option(help="Include patient ids and file paths.")] = False,
    free_text: Annotated[
        bool, typer.Option("--free-text", help="Include comments and other free text about the case.")
    ] = False,
    clean: Annotated[
        list[str] | None,
        typer.Option(metavar="pixels", help="Black out text burnt into the images of the report."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a report of a search, or of many. It is de-identified unless --identified is given."""
    from semblance.core.reports.options import ReportOptions, read_logo
    from semblance.core.searches.query import Query
    from semblance.core.searches.search import Search
    from semblance.core.workflows.metrics.stored_metric import current_metric
    from semblance.core.workflows.reports.write_reports import write_report_files, write_reports
    from semblance.core.workflows.searches.feedback.order_by_marks import check_given_marks
    from semblance.core.workflows.searches.open_metrics import open_search_metric

    queries = [value for value in (case, image, cases) if value is not None]
    if len(queries) > 1 or not (queries or vector) or (cases is not None and vector is not None):
        raise BadArguments("A report needs its query.", "Give one of --case, --image, --vector and --cases.")
    clean_pixels = cleans_pixels(clean)
    head = read_logo(logo) if logo else None
    options = ReportOptions(
        page, clinic, head, comment, identified, free_text, dicom, clean_pixels, estimate, reader
    )
    if cases is not None and (like or unlike):
        raise BadArguments("Marks belong to one query.", "Leave out --like and --unlike, or --cases.")
    part = parse_region(region)
    metric = metric or current_metric(library)
    with ConsoleReporter() as reporter:
        if cases is None:
            search = Search(
                metric,
                Query(
                    composed(case) if case else case,
                    image,
                    part,
                    vector=vector_of(vector),
                ),
                like=case_ids(like),
                unlike=case_ids(unlike),
                without_patient=without_patient,
            )
            check_given_marks(open_search_metric(library, search, reporter), search)
            files = write_report_files(library, search, out, options, reporter=reporter)
            document = {"report": str(out), "files": [str(file) for file in files]}
            print_document(document, as_json, _show_files)
            return
        if part is not None:
            raise BadArguments("A region belongs to one query.", "Leave out --region, or --cases.")
        search = Search(metric, Query(), without_patient=without_patient)
        chosen = _query_ids(library, metric, cases)
        result = write_reports(library, search, chosen, out, kind, options, reporter=reporter)
    print_document(result, as_json, show_reports)
    if not result.files:
        raise SemblanceError(f"None of the {len(chosen):,} cases gave a report.", "See the reasons above.")


def _query_ids(library: LibraryLocation, metric: str, cases: str) -> list[str]:
    """The case ids that ``--cases`` selects."""
    from semblance.core.workflows.searches.batch_queries import all_cases, held_out_cases, listed_cases

    if cases == "held-out":
        return held_out_cases(library, metric)
    return all_cases(library) if cases == "all" else listed_cases(Path(cases))


_show_images = printer(
    lambda document: f"{document['folder']}: {len(document['files']):,} files, listed in images.csv.",
    EntryLines("failed", "No image of {case_id}: {reason}"),
)
#: Before the name of a teaching collection.
_COLLECTION = "collection:"


@commands.command("export-images")
def export_images_(
    library: LibraryArgument,
    cases: Annotated[
        str,
        typer.Option(
            metavar="ID,...|FILE|collection:NAME|all",
            help="Case ids, a file with one id a line, a teaching collection, or all cases.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for the images and images.csv.")],
    kind: Annotated[
        str, typer.Option("--as", metavar="png|jpeg|tiff|dicom", help="Kind of the files.")
    ] = "png",
    size: Annotated[
        str,
        typer.Option(metavar="screen|full", help="At most 1,024 pixels a side, or all pixels of the image."),
    ] = "screen",
    marks: Annotated[
        bool, typer.Option("--marks", help="Draw regions and measurements on the images.")
    ] = False,
    clean: Clean = None,
    identified: Annotated[
        bool, typer.Option(help="Name files by their cases, and copy DICOM files with their headers.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the images of several cases into a folder. Without --identified, names and headers identify nobody."""
    from semblance.core.workflows.imaging.export_images import (
        ImageExportOptions,
        cases_of_collection,
        export_images,
    )
    from semblance.core.workflows.searches.batch_queries import all_cases, listed_cases

    options = ImageExportOptions(kind, size, marks, cleans_pixels(clean), identified)
    if cases.startswith(_COLLECTION):
        chosen = cases_of_collection(library, cases.removeprefix(_COLLECTION))
    elif cases == "all":
        chosen = all_cases(library)
    elif Path(cases).is_file():
        chosen = listed_cases(Path(cases))
    else:
        chosen = list(case_ids(cases))
    with ConsoleReporter() as reporter:
        result = export_images(library, chosen, out, options, reporter=reporter)
    print_document(result, as_json, _show_images)
    if not result.files:
        raise SemblanceError(f"None of the {len(chosen):,} cases gave an image.", "See the reasons above.")
