"""The command that writes reports: one, or of many queries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.options import Json, LibraryPath, parse_region
from semblance.app.cli.output import echo, print_document
from semblance.app.cli.reporter import ConsoleReporter
from semblance.core.errors import BadArguments, SemblanceError

commands = typer.Typer()


def show_reports(document: Any) -> None:
    count = len(document["files"])
    echo(f"{document['folder']}: {count:,} report{'' if count == 1 else 's'}, listed in reports.csv.")
    for failed in document["failed"]:
        echo(f"No report of {failed['case_id']}: {failed['reason']}")


@commands.command()
def report(
    library: LibraryPath,
    metric: Annotated[str, typer.Option(metavar="METRIC")],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help=".pdf, .html, .csv, .json or .dcm; of many queries a folder."),
    ],
    case: Annotated[str | None, typer.Option(metavar="ID", help="The query.")] = None,
    image: Annotated[Path | None, typer.Option(metavar="FILE", help="An image as the query.")] = None,
    region: Annotated[str | None, typer.Option(metavar="x,y,w,h", help="The part that is asked.")] = None,
    cases: Annotated[
        str | None,
        typer.Option(metavar="FILE|held-out|all", help="Many queries: a file with an id a line, or which."),
    ] = None,
    kind: Annotated[str, typer.Option(metavar="KIND", help="Of many: pdf, html, csv, json, dcm.")] = "pdf",
    page: Annotated[str, typer.Option(metavar="A4|letter")] = "A4",
    clinic: Annotated[str, typer.Option(metavar="NAME", help="Stands on top of it.")] = "",
    logo: Annotated[Path | None, typer.Option(metavar="FILE", help="A PNG or JPEG beside the name.")] = None,
    comment: Annotated[str, typer.Option(metavar="TEXT", help="Your own words.")] = "",
    identified: Annotated[bool, typer.Option(help="Keep patient ids and paths in it.")] = False,
    free_text: Annotated[
        bool, typer.Option("--free-text", help="Keep comments and other free text about the case.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a retrieval report, or one for each of many queries; de-identified unless told otherwise."""
    from semblance.core.reports.options import ReportOptions, read_logo
    from semblance.core.searches.query import Query
    from semblance.core.searches.search import Search
    from semblance.core.workflows.reports.write_reports import write_reports, write_search_report

    asked = [given for given in (case, image, cases) if given is not None]
    if len(asked) != 1:
        raise BadArguments("A report needs its query.", "Give one of --case, --image and --cases.")
    options = ReportOptions(page, clinic, read_logo(logo) if logo else None, comment, identified, free_text)
    part = parse_region(region)
    with ConsoleReporter() as reporter:
        if cases is None:
            search = Search(metric, Query(case, image, part))
            write_search_report(library, search, out, options, reporter=reporter)
            print_document({"report": str(out)}, as_json, lambda _document: echo(str(out)))
            return
        if part is not None:
            raise BadArguments("A region belongs to one query.", "Leave out --region, or --cases.")
        search = Search(metric, Query())
        chosen = _query_ids(library, metric, cases)
        result = write_reports(library, search, chosen, out, kind, options, reporter=reporter)
    print_document(result.to_json(), as_json, show_reports)
    if not result.files:
        raise SemblanceError(f"None of the {len(chosen):,} cases gave a report.", "See the reasons above.")


def _query_ids(library: Path, metric: str, cases: str) -> list[str]:
    """The ids that ``--cases`` means."""
    from semblance.core.workflows.searches.batch_queries import all_cases, held_out_cases, listed_cases

    if cases == "held-out":
        return held_out_cases(library, metric)
    return all_cases(library) if cases == "all" else listed_cases(Path(cases))
