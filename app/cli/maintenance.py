"""The commands that check, repair, back up and audit a library, and de-identify files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.options import Features, Json, LibraryArgument, Location, names_in
from semblance.app.cli.output import ConsoleReporter, EntryLines, LineIfPresent, print_document, printer
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.library.location import library_location
from semblance.core.limits import size_text

commands = typer.Typer()

#: Cases of one issue that are named in the terminal. With --json all are.
MAX_CASES = 5

#: Files that are named in the terminal. With --json all are.
MAX_FILES = 10


show_check = printer(
    EntryLines(
        "findings",
        lambda found: (
            f"{'' if found['harm'] else '(no data lost) '}{found['says']}",
            f"  -> {found['repaired'] or found['remedy']}",
        ),
    ),
    "Checked: {counted}.",
    EntryLines("works", "Works: {}"),
    LineIfPresent("moved_to", "What was damaged is kept in {moved_to}."),
    LineIfPresent("findings", "", "No problems were found."),
)
show_data_check = printer(
    EntryLines(
        "issues",
        lambda issue: (
            f"{issue['severity']:6}  {issue['check']}: {_first_cases(issue)}",
            f"{'':8}{issue['text']}",
        ),
    ),
    EntryLines("not_checked", "Not checked: {check}. {reason}"),
    EntryLines("unreadable", "Could not read {case_id}: {reason}"),
    lambda document: (
        f"{len(document['issues'])} issues in {document['cases']:,} cases."
        + (f" {document['reviewed']} reviewed before." if document["reviewed"] else "")
    ),
)
show_backup = printer(
    lambda document: f"{document['file']}: {document['files']:,} files, {size_text(document['bytes'])}.",
    EntryLines("missing", "Not in it, for the library has it no more: {}"),
)
show_restored = printer(
    "{library}: {cases:,} cases.",
    LineIfPresent(
        "missing",
        "{missing:,} files of images are not where they were; `semblance relink LIB FOLDER` finds them.",
    ),
)
show_exports = printer(
    EntryLines(
        "",
        lambda line: (
            f"{line['time']}  {line['what']}, {line['kind']}"
            + ("" if line["files"] == 1 else f", {line['files']} files")
            + (", identified" if line["identified"] else ", de-identified")
            + (f", by {line['by']}" if line["by"] else "")
        ),
        empty="Nothing has been exported from this library.",
    )
)
show_audit = printer(
    EntryLines(
        "",
        lambda line: (
            f"{line['time']}  {line['by']}  {line['action']}: "
            + ", ".join(f"{name} {value}" for name, value in line["detail"].items())
        ),
    )
)
show_audit_head = printer("{number} {hash}")
show_audit_check = printer(
    EntryLines("problems", "{}", empty="No entry was changed or removed: {entries:,} checked."),
    "Hash of the last entry: {hash}",
)
show_files = printer(
    "{folder}: {files:,} files of {patients:,} patients.",
    "What was removed and by which rule: {receipt}",
    LineIfPresent(
        "burnt_in_text_not_checked",
        "{burnt_in_text_not_checked:,} files may have text burnt into their pixels: check them, "
        "or add --clean pixels.",
    ),
    lambda document: (
        "Text was blacked out in {frames:,} images of {files:,} files "
        "({boxes:,} boxes). Look at them before you pass them on.".format_map(document["burnt_in_text"])
        if document["burnt_in_text"]["boxes"]
        else ""
    ),
    EntryLines("failed", "Not written: {file}: {reason}", most=MAX_FILES),
    lambda document: (
        f"{len(document['failed']) - MAX_FILES:,} more were not written; --json lists them."
        if len(document["failed"]) > MAX_FILES
        else ""
    ),
)


def _first_cases(issue: Mapping[str, Any]) -> str:
    more = len(issue["cases"]) - MAX_CASES
    return ", ".join(issue["cases"][:MAX_CASES]) + (f" and {more} more" if more > 0 else "")


@commands.command("check-data")
def check_data(library: LibraryArgument, features: Features = None, as_json: Json = False) -> None:
    """List doubtful labels and images of a library: contradictory findings, outliers, wrong sides, burnt-in text."""
    from semblance.core.workflows.library import check_data as workflow

    with ConsoleReporter() as reporter:
        result = workflow.check_data(library, features, reporter=reporter)
    print_document(result, as_json, show_data_check)


@commands.command()
def doctor(
    library: LibraryArgument,
    repair: Annotated[bool, typer.Option("--repair", help="Repair what can be repaired.")] = False,
    as_json: Json = False,
) -> None:
    """Verify a library and list what is damaged or missing and what still works."""
    from semblance.core.workflows.maintenance.verify_library import verify_library

    with ConsoleReporter() as reporter:
        result = verify_library(library, repair=repair, reporter=reporter)
    print_document(result, as_json, show_check)
    if closed := [finding for finding in result.unrepaired_problems if finding.part == "permissions"]:
        raise SemblanceError(f"{library} could not be checked.", closed[0].remedy)
    if result.unrepaired_problems:
        count = len(result.unrepaired_problems)
        raise SemblanceError(
            f"{library} has {count} thing{'s' if count > 1 else ''} damaged or missing.",
            "Restore a backup for what cannot be repaired."
            if repair
            else "Add --repair to repair what can be repaired.",
        )


@commands.command()
def backup(
    library: LibraryArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The .zip file to write.")],
    as_json: Json = False,
) -> None:
    """Back up a library to one file, without its images. It can be in use meanwhile."""
    from semblance.core.workflows.maintenance.backup import back_up

    with ConsoleReporter() as reporter:
        document = back_up(library, file, reporter=reporter)
    print_document(document, as_json, show_backup)


@commands.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file written by `semblance backup`.")],
    library: LibraryArgument,
    as_json: Json = False,
) -> None:
    """Restore a backup to a new library."""
    from semblance.core.workflows.maintenance.backup import restore as make

    with ConsoleReporter() as reporter:
        result = make(file, library, reporter=reporter)
    print_document(result, as_json, show_restored)


@commands.command("audit-log")
def audit_log(
    library: LibraryArgument,
    every: Annotated[
        bool, typer.Option("--all", help="On a server: also searches, views and changes, the last 10,000.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check that no entry was changed, removed or moved.")
    ] = False,
    since: Annotated[
        str,
        typer.Option(
            metavar="HASH",
            help="With --verify: the hash of an earlier check, which must still be in the log.",
        ),
    ] = "",
    head: Annotated[
        bool,
        typer.Option("--head", help="Print the number and the hash of the last entry, to be kept elsewhere."),
    ] = False,
    as_json: Json = False,
) -> None:
    """List what was exported from a library, when, and whether with patient ids; or check the log."""
    from semblance.core.workflows.library import audit_log

    if head:
        print_document(audit_log.audit_head(library), as_json, show_audit_head)
    elif verify or since:
        result = audit_log.check_audit(library, since)
        print_document(result, as_json, show_audit_check)
        if result.problems:
            raise SemblanceError(
                f"The log of {library} was changed.",
                "Compare it with a backup. The entries above are not reliable.",
            )
    elif every:
        print_document(audit_log.list_audit(library), as_json, show_audit)
    else:
        print_document(audit_log.list_exports(library), as_json, show_exports)


@commands.command()
def deidentify(
    source: Annotated[
        Location,
        typer.Argument(
            metavar="SOURCE", help="A folder, zip, DICOM file or library.", parser=library_location
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new folder for the files and their receipt.")],
    profile: Annotated[str, typer.Option(metavar="basic", help="The profile of PS3.15 Annex E.")] = "basic",
    retain: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION",
            help="What to retain: full-dates, modified-dates, patient, device, uids, safe-private or institution. "
            "The option can be repeated.",
        ),
    ] = None,
    clean: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION",
            help="What to clean: pixels (text burnt into images), or instead of removing it descriptors, structured "
            "or graphics. Can be repeated.",
        ),
    ] = None,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The same project gives the same codes, UIDs and date shifts again."
        ),
    ] = None,
    review: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="With --clean pixels: a new folder for the images with boxes around the text, which they still show.",
        ),
    ] = None,
    boxes: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --clean pixels: the file boxes.json of a review, with your changes."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """De-identify DICOM files by the Basic Profile of DICOM PS3.15, with a receipt of what was removed."""
    from semblance.core.imaging.deidentification.profile import CLEANING, RETAINING, parse_options
    from semblance.core.workflows.imaging.deidentify_files import deidentify_files

    if profile != "basic":
        raise BadArguments(f"There is no profile '{profile}'.", "The profile is basic.")
    retained = parse_options(names_in(",".join(retain or [])), RETAINING)
    cleaned = parse_options(names_in(",".join(clean or [])), CLEANING)
    with ConsoleReporter() as reporter:
        result = deidentify_files(
            source, out, retained | cleaned, project, review=review, boxes=boxes, reporter=reporter
        )
    print_document(result, as_json, show_files)
    if not result.files:
        raise SemblanceError(f"No DICOM file of {source} was de-identified.", "See the reasons above.")
