"""The commands of reader studies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.options import Json, LibraryArgument, Seed, names_in
from semblance.app.cli.output import echo, print_document, show_fields
from semblance.app.cli.reporter import ConsoleReporter

commands = typer.Typer(no_args_is_help=True, help="Create and analyse reader studies.")

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the study.")]


@commands.command("new")
def new(
    library: LibraryArgument,
    name: _Name,
    positive: Annotated[str, typer.Option(help="The finding that sensitivity and the ROC are of.")],
    readers: Annotated[str, typer.Option(metavar="CODE[,CODE...]", help="Codes of the readers, not names.")],
    metrics: Annotated[
        str,
        typer.Option(metavar="METRIC[,METRIC...]", help="Metrics. Each is an arm with its similar cases."),
    ] = "",
    cases: Annotated[
        str,
        typer.Option(metavar="ID[,ID...]", help="The cases to read. Without it they are drawn at random."),
    ] = "",
    n_cases: Annotated[int, typer.Option(help="How many cases are drawn, one of each patient.")] = 40,
    unaided: Annotated[bool, typer.Option(help="An arm without similar cases.")] = True,
    random: Annotated[bool, typer.Option(help="An arm with cases drawn at random, as a control.")] = False,
    washout: Annotated[int, typer.Option(help="Days between two sessions of a reader.")] = 28,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Create a reader study.

    Every reader reads every case once in every arm, in counter-balanced order. Cases that a metric of the study was
    trained on are left out.
    """
    from semblance.core.workflows.research.reader_study import StudyRequest, create_study

    request = StudyRequest(
        name,
        positive,
        names_in(readers),
        names_in(metrics),
        names_in(cases),
        n_cases,
        unaided,
        random,
        washout,
        seed,
    )
    with ConsoleReporter() as reporter:
        status = create_study(library, request, reporter=reporter)
    print_document(_status_document(status), as_json, _show_status)


@commands.command("list")
def list_studies(library: LibraryArgument, as_json: Json = False) -> None:
    """List the reader studies of a library and how far their readers are."""
    from semblance.core.workflows.research.reader_study import studies

    documents = [_status_document(one) for one in studies(library)]
    print_document({"studies": documents}, as_json, _show_studies)


@commands.command("results")
def results(library: LibraryArgument, name: _Name, as_json: Json = False) -> None:
    """Analyse a reader study over the readers who finished it."""
    from semblance.core.research.reader_study.export import result_rows
    from semblance.core.workflows.research.reader_study import analyse_study, study_status

    status, analysis = study_status(library, name), analyse_study(library, name)
    rows = [] if analysis is None else result_rows(status.design, analysis)
    keys = ("score", "compared", "mean", "low", "high", "p_value")
    document = {
        **_status_document(status),
        "finished": [] if analysis is None else list(analysis.readers),
        "results": [dict(zip(keys, row, strict=True)) for row in rows],
    }
    print_document(document, as_json, _show_results)


@commands.command("export")
def export(
    library: LibraryArgument,
    name: _Name,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="The folder to write into.")],
    as_json: Json = False,
) -> None:
    """Write answers, codebook, results and a summary. No file names a patient or a case."""
    from semblance.core.workflows.research.reader_study import export_study

    files = [str(file) for file in export_study(library, name, out)]
    print_document({"files": files}, as_json, _show_files)


@commands.command("delete")
def delete(library: LibraryArgument, name: _Name, as_json: Json = False) -> None:
    """Delete a reader study with its answers."""
    from semblance.core.workflows.research.reader_study import delete_study

    delete_study(library, name)
    print_document({"deleted": name}, as_json, show_fields)


def _show_files(document: Mapping[str, Any]) -> None:
    for file in document["files"]:
        echo(file)


def _status_document(status: Any) -> dict[str, Any]:
    design = status.design
    return {
        "name": status.name,
        "created": status.created,
        "positive": design.positive,
        "findings": list(design.findings),
        "arms": [asdict(arm) for arm in design.arms],
        "cases": len(design.cases),
        "washout_days": design.washout_days,
        "seed": design.seed,
        "readers": [asdict(reader) for reader in status.readers],
    }


def _show_status(document: Mapping[str, Any]) -> None:
    arms = ", ".join(arm["name"] for arm in document["arms"])
    echo(
        f"{document['name']}: {document['cases']} cases; arms: {arms}; positive finding: {document['positive']}"
    )
    for reader in document["readers"]:
        later = f"; the next session opens {reader['opens']}" if reader["opens"] else ""
        echo(f"  {reader['reader']}: {reader['answered']} of {reader['total']} answered{later}")


def _show_studies(document: Mapping[str, Any]) -> None:
    for study in document["studies"]:
        _show_status(study)
    if not document["studies"]:
        echo("no reader studies; `semblance reader-study new` creates one")


def _show_results(document: Mapping[str, Any]) -> None:
    _show_status(document)
    if not document["results"]:
        echo("no reader has finished all sessions")
    for row in document["results"]:
        p_value = "" if row["p_value"] is None else f", p = {row['p_value']:.3g}"
        echo(
            f"  {row['score']}, {row['compared']}: {row['mean']:.3f} ({row['low']:.3f} to {row['high']:.3f}){p_value}"
        )
