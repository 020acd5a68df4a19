"""The commands of outcomes: the later diagnoses of past queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from semblance.app.cli.options import Json, LibraryArgument
from semblance.app.cli.output import echo, print_document, print_table
from semblance.core.errors import SemblanceError
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from semblance.core.workflows.searches.outcomes import OutcomeConflict

commands = typer.Typer(
    no_args_is_help=True, help="Enter later diagnoses of saved searches, and see whether estimates stay true."
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the saved search.")]


@commands.command("enter")
def enter(
    library: LibraryArgument,
    name: _Name,
    finding: Annotated[
        str, typer.Option(metavar="FINDING", help="What the query turned out to be; empty removes it.")
    ],
    replaced: Annotated[
        str,
        typer.Option(
            "--replace",
            metavar="FINDING",
            help="The later diagnosis that was entered before and is to be replaced; another one is kept.",
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Enter what the query of a saved search turned out to be. The estimate given then is kept."""
    from semblance.core.workflows.searches.outcomes import OutcomeConflict, enter_outcome

    try:
        found = enter_outcome(library, name, finding, seen=replaced)
    except OutcomeConflict as conflict:
        raise _not_replaced(conflict, name) from None
    print_document(found.to_json(), as_json, lambda document: echo(_line(document)))


@commands.command("list")
def list_outcomes(library: LibraryArgument, as_json: Json = False) -> None:
    """List the saved searches with their estimates and outcomes."""
    from semblance.core.workflows.searches.outcomes import followed_searches

    searches = [one.to_json() for one in followed_searches(library)]
    print_document({"searches": searches}, as_json, _show_list)


@commands.command("drift")
def drift(
    library: LibraryArgument,
    period: Annotated[str, typer.Option(help="month, quarter or year.")] = "quarter",
    as_json: Json = False,
) -> None:
    """Compare the kept estimates with the outcomes, by period."""
    from semblance.core.workflows.searches.outcomes import drift_report

    print_document(drift_report(library, period).to_json(), as_json, _show_drift)


def _not_replaced(conflict: OutcomeConflict, name: str) -> SemblanceError:
    """The refusal that names the diagnosis that is kept."""
    if not conflict.current:
        return SemblanceError(
            tr_lazy("The later diagnosis of '{name}' was removed.", name=name), "Enter it without --replace."
        )
    return SemblanceError(
        tr_lazy(
            "The later diagnosis of '{name}' is '{current}', entered {time}. It was kept.",
            name=name,
            current=conflict.current,
            time=conflict.time,
        ),
        tr_lazy("To replace it, add --replace '{current}'.", current=conflict.current),
    )


def _line(document: Mapping[str, Any]) -> str:
    estimate = (
        "no estimate"
        if document["probability"] is None
        else f"estimate for {document['estimated']} {document['probability']:.2f}"
    )
    return (
        f"{document['name']}: {estimate}, {document['time']}; outcome {document['outcome'] or 'not entered'}"
    )


def _show_list(document: Mapping[str, Any]) -> None:
    for one in document["searches"]:
        echo(_line(one))
    if not document["searches"]:
        echo("No search is saved.")


def _show_drift(document: Mapping[str, Any]) -> None:
    echo(
        f"{document['searches']} saved searches, {document['estimates']} with an estimate, "
        f"{document['outcomes']} of these with an outcome"
    )
    if document["outcomes"] < document["minimum"]:
        echo(f"Fewer than {document['minimum']} outcomes: nothing is claimed.")
        return
    table = Table(
        "period", "outcomes", "mean estimate", "had the finding", "Brier score", "error", "perfect below", "p"
    )
    for one in document["scores"]:
        table.add_row(
            one["period"] or "all",
            str(one["n"]),
            *_cells(one),
        )
    print_table(table)
    if document["reference"] is not None:
        echo(f"Brier score on the held-out cases of the metric: {document['reference']:.3f}")


def _cells(one: Mapping[str, Any]) -> list[str]:
    if one["brier"] is None:
        return ["too few", "", "", "", "", ""]

    def spread(value: float, ends: list[float]) -> str:
        return f"{value:.2f} ({ends[0]:.2f}-{ends[1]:.2f})"

    return [
        f"{one['estimate']:.2f}",
        spread(one["observed"], one["observed_interval"]),
        spread(one["brier"], one["brier_interval"]),
        f"{one['error']:.2f}",
        f"{one['perfect']:.2f}",
        "" if one["p"] is None else f"{one['p']:.3f}",
    ]
