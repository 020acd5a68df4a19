"""The command that searches a library for similar cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semblance.app.cli.options import CurrentMetric, Json, LibraryArgument, case_ids, parse_region
from semblance.app.cli.output import echo_lines, print_document
from semblance.app.cli.reporter import ConsoleReporter
from semblance.app.cli.show_results import show_cases
from semblance.core.normal_text import composed

commands = typer.Typer()


def _print_schema(requested: bool) -> None:
    if requested:
        from semblance import resources

        echo_lines(resources.path("schemas/search.json").read_text(encoding="utf-8").rstrip())
        raise typer.Exit


@commands.command()
def search(
    library: LibraryArgument,
    metric: CurrentMetric = None,
    case: Annotated[str | None, typer.Option(metavar="ID", help="The query: a case of the library.")] = None,
    image: Annotated[Path | None, typer.Option(metavar="FILE", help="The query: an image file.")] = None,
    region: Annotated[
        str | None, typer.Option(metavar="X,Y,W,H", help="The region of the image to search with, in pixels.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Number of cases.")] = 20,
    diverse: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="From 0, order by distance alone, to 1, prefer cases unlike those before."
        ),
    ] = 0.0,
    no_match_rate: Annotated[
        float,
        typer.Option(
            "--no-match-rate",
            "--unusual",
            min=0.0,
            max=1.0,
            help="Share of the library's own cases for which 'no close match' would be shown. 0: never.",
        ),
    ] = 0.01,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", help="Leave out a group of features. The option can be repeated."),
    ] = None,
    like: Annotated[
        str | None, typer.Option(metavar="ID,...", help="Cases marked as more like what is searched.")
    ] = None,
    unlike: Annotated[
        str | None,
        typer.Option(metavar="ID,...", help="Cases marked as less like it. They come last."),
    ] = None,
    without_patient: Annotated[
        bool,
        typer.Option(
            "--without-patient",
            help="If the metric was trained on the query or its patient, train it again without them first.",
        ),
    ] = False,
    candidates: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="In a library on a server with an index: how many candidates are compared. 0: all cases. "
            "[default: as many as contain the required share of the nearest]",
        ),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Save the search with its estimate, to enter later what the query was."
        ),
    ] = None,
    as_json: Json = False,
    json_schema: Annotated[  # noqa: ARG001 - its callback prints and ends
        bool,
        typer.Option(
            "--json-schema",
            callback=_print_schema,
            is_eager=True,
            help="Print the JSON Schema of what --json prints, and end.",
        ),
    ] = False,
) -> None:
    """Search a library for the cases most similar to a case or an image."""
    from semblance.core.searches.query import Query, check_one_query
    from semblance.core.workflows.metrics.current_metric import current_metric
    from semblance.core.workflows.searches.explain_distance import result_with_reasons
    from semblance.core.workflows.searches.rank_cases import nearest_cases

    query = Query(composed(case) if case else case, image, parse_region(region))
    check_one_query(query)
    with ConsoleReporter() as reporter:
        left_out = tuple(without or ())
        result = nearest_cases(
            library,
            metric or current_metric(library),
            query,
            k=k,
            diverse=diverse,
            no_match_rate=no_match_rate,
            without=left_out,
            without_patient=without_patient,
            candidates=candidates,
            like=case_ids(like),
            unlike=case_ids(unlike),
            reporter=reporter,
        )
        shown = (
            result_with_reasons(library, result, left_out, reporter=reporter) if as_json else result.to_json()
        )
        if save is not None:
            from semblance.core.workflows.searches.saved_searches import save_result

            save_result(library, save, result, left_out)
    print_document(shown, as_json, show_cases)
