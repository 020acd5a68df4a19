"""The commands of the sealed test vault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.options import Json, LibraryArgument, Seed
from semblance.app.cli.output import echo, print_document
from semblance.app.cli.reporter import ConsoleReporter
from semblance.core.errors import BadArguments

commands = typer.Typer(
    no_args_is_help=True, help="Seal patients for one final test, and open the vault to test a metric."
)


@commands.command("seal")
def seal(
    library: LibraryArgument,
    share: Annotated[
        float | None, typer.Option(metavar="SHARE", help="Seal this share of the patients, such as 0.2.")
    ] = None,
    listed: Annotated[
        Path | None,
        typer.Option("--list", metavar="FILE", help="Seal the patient or case ids in this file, one a line."),
    ] = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Seal whole patients: no training, choice, score or search sees them until the vault is opened."""
    from semblance.core.workflows.metrics.vault import seal_listed, seal_share
    from semblance.core.workflows.searches.batch_queries import listed_cases

    if (share is None) == (listed is None):
        raise BadArguments("Name the patients either by --share or by --list.", "Example: --share 0.2")
    with ConsoleReporter() as reporter:
        if listed is not None:
            status = seal_listed(library, listed_cases(listed), reporter=reporter)
        else:
            assert share is not None
            status = seal_share(library, share, seed=seed, reporter=reporter)
    print_document(status.to_json(), as_json, _show_status)


@commands.command("status")
def status(library: LibraryArgument, as_json: Json = False) -> None:
    """Show what is sealed, and every opening with its date."""
    from semblance.core.workflows.metrics.vault import vault_status

    print_document(vault_status(library).to_json(), as_json, _show_status)


@commands.command("open")
def open_(
    library: LibraryArgument,
    metric: Annotated[str, typer.Option(metavar="METRIC", help="The metric to test.")],
    as_json: Json = False,
) -> None:
    """Test a finished metric on the sealed patients. This is counted, dated and cannot be undone."""
    from semblance.core.workflows.metrics.vault import open_vault

    with ConsoleReporter() as reporter:
        opening = open_vault(library, metric, reporter=reporter)
    print_document(opening.to_json(), as_json, _show_opening)


@commands.command("unseal")
def unseal(library: LibraryArgument, as_json: Json = False) -> None:
    """Undo the sealing, if the vault was never opened."""
    from semblance.core.workflows.metrics.vault import unseal_vault

    before = unseal_vault(library)
    print_document(
        {"unsealed": before.cases}, as_json, lambda document: echo(f"unsealed: {document['unsealed']} cases")
    )


def _show_status(document: Mapping[str, Any]) -> None:
    if not document["cases"]:
        echo("Nothing is sealed.")
        return
    patients = "unknown patients" if document["patients"] is None else f"{document['patients']} patients"
    echo(f"sealed: {document['cases']} cases of {patients}, {document['how']}, {document['sealed']}")
    echo("findings: " + ", ".join(f"{name} {n}" for name, n in document["findings"].items()))
    if document["metrics_before"]:
        echo(f"trained before the sealing: {', '.join(document['metrics_before'])}")
    for opening in document["openings"]:
        _show_opening(opening)
    if not document["openings"]:
        echo("never opened")


def _show_opening(document: Mapping[str, Any]) -> None:
    from semblance.core.language import translate
    from semblance.core.library.vault import VaultOpening
    from semblance.core.workflows.reports.metric_cards import opening_text

    opening = VaultOpening.from_json(document)
    echo(f"opening {opening.number}, {opening.time}, '{opening.metric}': {translate(opening_text(opening))}")
