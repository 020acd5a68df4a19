"""The commands on whole libraries and on those that several people share on a server: ``semblance library``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semblance.app.cli.options import LIBRARY_HELP, Json, LibraryArgument, Location
from semblance.app.cli.output import (
    ConsoleReporter,
    EntryLines,
    LineIfPresent,
    echo,
    print_document,
    printer,
    write_json,
)
from semblance.core.library.location import LibraryLocation, library_location
from semblance.core.normal_text import composed

if TYPE_CHECKING:
    from semblance.core.workflows.maintenance.share_library import CaseSelection

commands = typer.Typer(no_args_is_help=True, help="Move whole libraries, and manage those on a server.")
project = typer.Typer(
    no_args_is_help=True,
    help="Projects of a library on a server: its cases for one purpose until a date, under other names.",
)
commands.add_typer(project, name="project")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the project.")]
Cases = Annotated[
    list[str] | None, typer.Option("--case", metavar="ID", help="A case. The option can be repeated.")
]
Listed = Annotated[
    Path | None,
    typer.Option("--list", metavar="FILE", help="A text file with the id of a case in each line."),
]
Patients = Annotated[
    list[str] | None,
    typer.Option("--patient", metavar="PATIENT", help="All cases of a patient. The option can be repeated."),
]
Findings = Annotated[
    list[str] | None,
    typer.Option(
        "--finding", metavar="FINDING", help="All cases with a finding. The option can be repeated."
    ),
]
Everything = Annotated[bool, typer.Option("--all", help="All cases.")]
People = Annotated[
    list[str] | None,
    typer.Option("--person", metavar="PERSON", help="An account of the server. The option can be repeated."),
]


show_move = printer(
    "{target} holds the same as {source}: {rows:,} rows, {files:,} files, {thumbnails:,} thumbnails.",
    LineIfPresent(
        "removed", "{source} was removed.", "{source} is still there. With --remove it is removed."
    ),
)
show_people = printer(
    EntryLines(
        "",
        "{right:13}  {name}",
        empty="Nobody has a right of this library. Its owner and superusers may do everything.",
    )
)
show_project = printer(
    "{name}: {purpose}",
    "  {state}, until {until}, {cases:,} cases",
    EntryLines("members", "  {right:13}  {name}"),
)
show_indexes = printer(
    EntryLines(
        "",
        lambda one: (
            "{metric}: no candidates. {why_none}"
            if one["candidates"] is None
            else "{metric}: {candidates} candidates of {cases:,} cases contain {recall@20:.3f} of the 20 nearest "
            "(measured with {measured_with} cases)."
        ).format_map(one),
    )
)


def show_projects(document: Any) -> None:
    """One project, or all."""
    for one in [document] if isinstance(document, dict) else document:
        show_project(one)
    if document == []:
        echo("The library has no projects.")


@commands.command()
def move(
    source: Annotated[Location, typer.Argument(metavar="FROM", help=LIBRARY_HELP, parser=library_location)],
    target: Annotated[
        Location,
        typer.Argument(metavar="TO", help="A new folder, or an empty database.", parser=library_location),
    ],
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove FROM once TO was found to hold the same.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Copy a library from a folder to a server or back, and compare both. The images stay where they are."""
    from semblance.core.workflows.maintenance.move_library import move_library

    with ConsoleReporter() as reporter:
        result = move_library(source, target, remove=remove, reporter=reporter)
    print_document(result, as_json, show_move)


@commands.command()
def index(
    library: LibraryArgument,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="METRIC", help="Only this metric. The option can be repeated."),
    ] = None,
    fewest: Annotated[
        int | None,
        typer.Option(min=1, help="Set from how many cases on an index is used. [default at first: 100000]"),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(
            min=0.5,
            max=1.0,
            help="Set the share of the 20 nearest cases that the candidates must contain. [default at first: 0.98]",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Build or update the indexes on a server that find candidates for searches, and measure their recall."""
    from semblance.core.workflows.searches.index_candidates import index_candidates

    with ConsoleReporter() as reporter:
        done = index_candidates(library, tuple(metric or ()), fewest=fewest, recall=recall, reporter=reporter)
    print_document([one.to_json() for one in done], as_json, show_indexes)


@commands.command()
def people(library: LibraryArgument, as_json: Json = False) -> None:
    """List who has which right in a library on a server."""
    from semblance.core.workflows.maintenance.share_library import list_people

    print_document(list_people(library), as_json, show_people)


@commands.command()
def grant(
    library: LibraryArgument,
    person: Annotated[str, typer.Argument(metavar="PERSON", help="The name of an account of the server.")],
    right: Annotated[
        str, typer.Argument(metavar="RIGHT", help="reader, annotator, curator, administrator, or none.")
    ],
    create: Annotated[
        bool,
        typer.Option("--create", help="Create the account. Its password is asked for, or read from stdin."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Give a person a right in a library on a server, in place of the one they had."""
    import sys

    from semblance.core.workflows.maintenance.share_library import set_right

    password = None
    if create and sys.stdin.isatty():
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    elif create:
        password = sys.stdin.readline().rstrip("\r\n")
    print_document(set_right(library, person, right, password), as_json, show_people)


@commands.command()
def watch(library: LibraryArgument, as_json: Json = False) -> None:
    """Print what others change in a library on a server, as it happens. End it with Ctrl-C."""
    import sys

    from semblance.core.workflows.maintenance.watch_library import AWAY, BACK, WATCHING, library_changes

    def say(event: str, text: str, **more: Any) -> None:
        # One JSON document a line, because there is no end.
        if as_json:
            write_json({"event": event, **more})
        else:
            echo(text)
            sys.stdout.flush()

    for event in library_changes(library):
        if event.kind == AWAY:
            say(event.kind, f"{event.reason} Trying again.", reason=event.reason)
        elif event.kind in (WATCHING, BACK):
            say(event.kind, f"Watching {library}." if event.kind == WATCHING else "The server answers again.")
        else:
            by = f" by {', '.join(sorted(event.authors))}" if event.authors else ""
            text = f"Changed{by}: {', '.join(event.tables)}."
            say(event.kind, text, tables=list(event.tables), authors=dict(event.authors))


@project.command()
def create(
    library: LibraryArgument,
    name: Name,
    purpose: Annotated[str, typer.Option(metavar="TEXT", help="What the cases are used for.")],
    until: Annotated[str, typer.Option(metavar="DATE", help="The last day, such as 2030-12-31.")],
    as_json: Json = False,
) -> None:
    """Make a project, or give the project of this name another purpose and last day."""
    from semblance.core.workflows.maintenance.share_library import create_project

    print_document(create_project(library, name, purpose, until), as_json, show_projects)


@project.command("list")
def list_all(library: LibraryArgument, as_json: Json = False) -> None:
    """List the projects of a library, with their members and numbers of cases."""
    from semblance.core.workflows.maintenance.share_library import list_projects

    print_document(list_projects(library), as_json, show_projects)


@project.command()
def add(
    library: LibraryArgument,
    name: Name,
    case: Cases = None,
    listed: Listed = None,
    patient: Patients = None,
    finding: Findings = None,
    everything: Everything = False,
    person: People = None,
    right: Annotated[
        str, typer.Option(metavar="RIGHT", help="Of the people: reader or annotator.")
    ] = "reader",
    as_json: Json = False,
) -> None:
    """Put cases and people into a project. Cases that it has already are brought up to date."""
    from semblance.core.workflows.maintenance.share_library import add_cases

    chosen = _chosen(case, listed, patient, finding, everything)
    _change_project(library, name, chosen, add_cases, person, right, as_json)


@project.command("remove")
def remove_from_project(
    library: LibraryArgument,
    name: Name,
    case: Cases = None,
    listed: Listed = None,
    patient: Patients = None,
    finding: Findings = None,
    everything: Everything = False,
    person: People = None,
    as_json: Json = False,
) -> None:
    """Take cases and people out of a project, and what was judged of these cases there."""
    from semblance.core.workflows.maintenance.share_library import remove_cases

    chosen = _chosen(case, listed, patient, finding, everything)
    _change_project(library, name, chosen, remove_cases, person, None, as_json)


@project.command()
def links(library: LibraryArgument, name: Name, as_json: Json = False) -> None:
    """List the ids of a project's cases there and in the library. Only curators can."""
    from semblance.core.workflows.maintenance.share_library import links as found_links

    def show(document: Any) -> None:
        for pseudonym, case in document.items():
            echo(f"{pseudonym}  {case}")

    print_document(found_links(library, name), as_json, show)


@project.command()
def close(
    library: LibraryArgument,
    name: Name,
    remove: Annotated[
        bool, typer.Option("--remove", help="Also remove the project with everything in it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Close a project: nobody can open it any more."""
    from semblance.core.workflows.maintenance.share_library import close as close_project

    print_document(close_project(library, name, remove=remove), as_json, show_projects)


def _change_project(
    library: LibraryLocation,
    name: str,
    chosen: CaseSelection,
    change_cases: Callable[..., dict[str, Any]],
    people: list[str] | None,
    right: str | None,
    as_json: bool,
) -> None:
    """Give ``people`` a ``right`` in a project, or take it away (``None``), and add or remove the ``chosen`` cases."""
    from semblance.core.workflows.maintenance.share_library import change_members

    document = change_members(library, name, people, right) if people else None
    if chosen or document is None:
        with ConsoleReporter() as reporter:
            document = change_cases(library, name, chosen, reporter=reporter)
    print_document(document, as_json, show_projects)


def _chosen(
    case: list[str] | None,
    listed: Path | None,
    patient: list[str] | None,
    finding: list[str] | None,
    everything: bool,
) -> CaseSelection:
    from semblance.core.workflows.maintenance.share_library import CaseSelection
    from semblance.core.workflows.searches.batch_queries import listed_cases

    ids = [*map(composed, case or ()), *(listed_cases(listed) if listed is not None else ())]
    return CaseSelection(tuple(ids), tuple(patient or ()), tuple(finding or ()), everything)
