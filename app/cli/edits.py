"""The commands that correct a library: labels, findings, feature sets and metrics; undo, redo and history."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semblance.app.cli.options import Json, LibraryArgument, Settings, case_ids, names_in
from semblance.app.cli.output import EntryLines, LineIfPresent, echo, print_document, printer
from semblance.core.errors import BadArguments
from semblance.core.limits import size_text

if TYPE_CHECKING:
    from semblance.core.library.records import Reversal
    from semblance.core.workflows.library.edit_cases import EditResult

commands = typer.Typer()
findings = typer.Typer(no_args_is_help=True, help="Add, rename, merge, recolour, order and delete findings.")
metric = typer.Typer(no_args_is_help=True, help="Rename, duplicate and delete metrics.")
feature_set = typer.Typer(no_args_is_help=True, help="Rename, duplicate and delete feature sets.")

_Cases = Annotated[str, typer.Option("--cases", metavar="ID,...", help="The cases.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Change nothing, only show what would change.")]
_Finding = Annotated[str, typer.Argument(metavar="FINDING", help="The finding.")]
_Old = Annotated[str, typer.Argument(metavar="OLD", help="The present name.")]
_New = Annotated[str, typer.Argument(metavar="NEW", help="The new name.")]
_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name.")]


def _print(results: list[EditResult], as_json: bool) -> None:
    print_document({"edits": [result.to_json() for result in results]}, as_json, _show_edits)


def _edit_text(edit: Mapping[str, Any]) -> tuple[str, ...]:
    """What an edit did, and which metrics are out of date since."""
    from semblance.core.workflows.library.edit_staleness import outdated_text

    done = f"{'Would do: ' if edit['dry_run'] else ''}{edit['description']}"
    outdated = edit["outdated_metrics"]
    return (done, f"{outdated_text(len(outdated))} ({', '.join(outdated)})") if outdated else (done,)


_show_findings = printer(
    EntryLines("findings", "{letter}  {name}: {cases} cases ({colour})", empty="no findings")
)
_show_history = printer(
    EntryLines(
        "edits",
        lambda edit: (
            "{id}  {time}  {author}  {description}".format_map(edit) + (" (undone)" if edit["undone"] else "")
        ),
        empty="no edits",
    ),
    LineIfPresent(
        "deleted_bytes",
        lambda document: (
            f"deleted feature sets and metrics take {size_text(document['deleted_bytes'])}; "
            "--forget-deleted frees them"
        ),
    ),
)
_show_edits = printer(EntryLines("edits", _edit_text))
_show_labels = printer(
    _edit_text,
    "{changed} changed, {same} same, {unmatched} unmatched, {ambiguous} ambiguous, "
    "{contradictory} contradictory, {unreadable} unreadable",
    EntryLines("notes", "{}"),
    EntryLines(
        "lines", lambda line: "  line {line}: {name}: {reason}".format_map(line) if line["reason"] else ""
    ),
)


@commands.command()
def label(
    library: LibraryArgument,
    cases: _Cases,
    finding: Annotated[str | None, typer.Option(help="The finding to set.")] = None,
    no_finding: Annotated[bool, typer.Option("--no-finding", help="Remove the finding.")] = False,
    patient: Annotated[str | None, typer.Option(help="The patient to set.")] = None,
    no_patient: Annotated[bool, typer.Option("--no-patient", help="Remove the patient.")] = False,
    dry_run: _DryRun = False,
    as_json: Json = False,
) -> None:
    """Set the finding or the patient of cases. `semblance undo LIB` undoes it."""
    from semblance.core.workflows.library.edit_cases import set_finding, set_patient

    if (finding is not None and no_finding) or (patient is not None and no_patient):
        raise BadArguments("Either set a label or remove it.")
    if finding is None and patient is None and not no_finding and not no_patient:
        raise BadArguments("No label is given.", "Give --finding or --patient.")
    ids, results = case_ids(cases), []
    if finding is not None or no_finding:
        results.append(set_finding(library, ids, finding, dry_run=dry_run))
    if patient is not None or no_patient:
        results.append(set_patient(library, ids, patient, dry_run=dry_run))
    _print(results, as_json)


@commands.command("import-labels")
def import_labels(
    library: LibraryArgument,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A CSV file with a column case_id or file, and finding, patient or both."
        ),
    ],
    settings: Settings = None,
    dry_run: _DryRun = False,
    as_json: Json = False,
) -> None:
    """Set the findings and patients of cases from a CSV file. Empty cells leave them as they are.

    Settings: encoding=windows-1252 (or another), findings=exact.
    """
    from semblance.core.workflows.library.import_labels import import_labels as read

    print_document(
        read(library, file, settings=settings or (), dry_run=dry_run).to_json(), as_json, _show_labels
    )


@commands.command("finding-rule")
def finding_rule(
    library: LibraryArgument,
    several: Annotated[
        str | None,
        typer.Option(
            metavar="RULE",
            help="The finding of a case with several: auto, first, combination, single, or the name of one finding.",
        ),
    ] = None,
    uncertain: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="What -1 counts as: ignore, positive, negative or own."),
    ] = None,
    dry_run: _DryRun = False,
    as_json: Json = False,
) -> None:
    """Choose the findings of cases whose list names several by another rule. `semblance undo LIB` undoes it."""
    from semblance.core.workflows.library.edit_findings import set_finding_rule

    if several is None and uncertain is None:
        raise BadArguments(
            "No rule is given.", "Give --several or --uncertain. `semblance info LIB` shows the present one."
        )
    _print([set_finding_rule(library, several, uncertain, dry_run=dry_run)], as_json)


@commands.command()
def remove(library: LibraryArgument, cases: _Cases, dry_run: _DryRun = False, as_json: Json = False) -> None:
    """Remove cases from a library. Their image files stay. `semblance undo LIB` brings the cases back."""
    from semblance.core.workflows.library.edit_cases import remove_cases

    _print([remove_cases(library, case_ids(cases), dry_run=dry_run)], as_json)


@commands.command()
def undo(
    library: LibraryArgument,
    edit: Annotated[
        int | None, typer.Option(help="The number of the edit in `semblance history`. [default: the newest]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Undo the newest edit of a library, or one of its history."""
    from semblance.core.workflows.library import undo_edits

    _print_reversal("undone", undo_edits.undo(library, edit), as_json)


@commands.command()
def redo(library: LibraryArgument, as_json: Json = False) -> None:
    """Redo the edit of a library that was undone last."""
    from semblance.core.workflows.library import undo_edits

    _print_reversal("redone", undo_edits.redo(library), as_json)


def _print_reversal(what: str, reversal: Reversal | None, as_json: bool) -> None:
    from semblance.core.workflows.library.undo_edits import edit_json, skipped_text

    def show(document: Mapping[str, Any]) -> None:
        edit = document[what]
        echo(f"{what}: {edit['description']}" if edit else f"nothing to be {what}")
        if skipped := document["skipped"]:
            echo(skipped_text(skipped))

    document = {
        what: None if reversal is None else edit_json(reversal.edit),
        "skipped": 0 if reversal is None else reversal.skipped,
    }
    print_document(document, as_json, show)


@commands.command()
def history(
    library: LibraryArgument,
    forget_deleted: Annotated[
        bool,
        typer.Option(
            "--forget-deleted", help="Remove the files of deleted feature sets and metrics for good first."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """List the edits of a library, oldest first."""
    from semblance.core.workflows.library import undo_edits

    if forget_deleted:
        undo_edits.forget_deleted(library)
    print_document(undo_edits.read_history(library), as_json, _show_history)


# Findings


@findings.command("list")
def list_findings(library: LibraryArgument, as_json: Json = False) -> None:
    """List the findings in their order."""
    from semblance.core.workflows.library.edit_findings import list_findings as read

    listed = [finding.to_json() for finding in read(library)]
    print_document({"findings": listed}, as_json, _show_findings)


@findings.command("add")
def add_finding(
    library: LibraryArgument, finding: _Finding, dry_run: _DryRun = False, as_json: Json = False
) -> None:
    """Add a finding that no case has yet."""
    from semblance.core.workflows.library.edit_findings import add_finding as add

    _print([add(library, finding, dry_run=dry_run)], as_json)


@findings.command("rename")
def rename_finding(
    library: LibraryArgument, old: _Old, new: _New, dry_run: _DryRun = False, as_json: Json = False
) -> None:
    """Rename a finding."""
    from semblance.core.workflows.library.edit_findings import rename_finding as rename

    _print([rename(library, old, new, dry_run=dry_run)], as_json)


@findings.command("merge")
def merge_findings(
    library: LibraryArgument,
    merged: Annotated[str, typer.Argument(metavar="FINDING,...", help="The findings to merge.")],
    into: Annotated[str, typer.Option(metavar="FINDING", help="The finding they become.")],
    dry_run: _DryRun = False,
    as_json: Json = False,
) -> None:
    """Merge findings into one."""
    from semblance.core.workflows.library.edit_findings import merge_findings as merge

    _print([merge(library, names_in(merged), into, dry_run=dry_run)], as_json)


@findings.command("recolour")
def recolour_finding(
    library: LibraryArgument,
    finding: _Finding,
    colour: Annotated[
        str,
        typer.Argument(
            metavar="COLOUR",
            help="vermillion, sky blue, bluish green, orange, reddish purple, blue or yellow.",
        ),
    ],
    dry_run: _DryRun = False,
    as_json: Json = False,
) -> None:
    """Show a finding in another colour."""
    from semblance.core.workflows.library.edit_findings import recolour_finding as recolour

    _print([recolour(library, finding, colour, dry_run=dry_run)], as_json)


@findings.command("order")
def order_findings(
    library: LibraryArgument,
    order: Annotated[str, typer.Argument(metavar="FINDING,...", help="The findings that come first.")],
    dry_run: _DryRun = False,
    as_json: Json = False,
) -> None:
    """Set the order of the findings."""
    from semblance.core.workflows.library.edit_findings import order_findings as set_order

    _print([set_order(library, names_in(order), dry_run=dry_run)], as_json)


@findings.command("delete")
def delete_finding(
    library: LibraryArgument, finding: _Finding, dry_run: _DryRun = False, as_json: Json = False
) -> None:
    """Delete a finding. Its cases have none then."""
    from semblance.core.workflows.library.edit_findings import delete_finding as delete

    _print([delete(library, finding, dry_run=dry_run)], as_json)


# Metrics and feature sets


@metric.command("rename")
def rename_metric(
    library: LibraryArgument, old: _Old, new: _New, dry_run: _DryRun = False, as_json: Json = False
) -> None:
    """Rename a metric."""
    from semblance.core.workflows.library import edit_metrics

    _print([edit_metrics.rename_metric(library, old, new, dry_run=dry_run)], as_json)


@metric.command("duplicate")
def duplicate_metric(
    library: LibraryArgument, old: _Old, new: _New, dry_run: _DryRun = False, as_json: Json = False
) -> None:
    """Copy a metric with its card and scores."""
    from semblance.core.workflows.library import edit_metrics

    _print([edit_metrics.duplicate_metric(library, old, new, dry_run=dry_run)], as_json)


@metric.command("delete")
def delete_metric(
    library: LibraryArgument, name: _Name, dry_run: _DryRun = False, as_json: Json = False
) -> None:
    """Delete a metric."""
    from semblance.core.workflows.library import edit_metrics

    _print([edit_metrics.delete_metric(library, name, dry_run=dry_run)], as_json)


@feature_set.command("rename")
def rename_features(
    library: LibraryArgument, old: _Old, new: _New, dry_run: _DryRun = False, as_json: Json = False
) -> None:
    """Rename a feature set."""
    from semblance.core.workflows.library import edit_metrics

    _print([edit_metrics.rename_features(library, old, new, dry_run=dry_run)], as_json)


@feature_set.command("duplicate")
def duplicate_features(
    library: LibraryArgument, old: _Old, new: _New, dry_run: _DryRun = False, as_json: Json = False
) -> None:
    """Copy a feature set with all its values."""
    from semblance.core.workflows.library import edit_metrics

    _print([edit_metrics.duplicate_features(library, old, new, dry_run=dry_run)], as_json)


@feature_set.command("delete")
def delete_features(
    library: LibraryArgument, name: _Name, dry_run: _DryRun = False, as_json: Json = False
) -> None:
    """Delete a feature set and the metrics on it."""
    from semblance.core.workflows.library import edit_metrics

    _print([edit_metrics.delete_features(library, name, dry_run=dry_run)], as_json)
