"""The commands of metrics: training, cards, exchange, the vault, and the lists of what they can be made of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.completion import learner_names
from semblance.app.cli.options import (
    Cluster,
    Features,
    Findings,
    Json,
    LibraryArgument,
    MaxCases,
    Seed,
    Settings,
    Steps,
)
from semblance.app.cli.output import (
    ConsoleReporter,
    EntryLines,
    echo,
    echo_lines,
    print_document,
    print_error,
    printer,
    show_fields,
)
from semblance.core.errors import BadArguments
from semblance.core.library.location import LibraryLocation

commands = typer.Typer()

show_new_plugin = printer(
    "{folder}: a package with a working {kind}, yours to change.", EntryLines("next_steps", "    {}")
)

MetricName = Annotated[str, typer.Option("--metric", metavar="METRIC")]

vault = typer.Typer(
    no_args_is_help=True, help="Seal patients for one final test, and open the vault to test a metric."
)

REGISTRIES = ("learners", "extractors", "kinds", "protocols")


@commands.command()
def train(
    library: LibraryArgument,
    learner: Annotated[
        str, typer.Option(help="The learner. `semblance learners` lists them.", autocompletion=learner_names)
    ],
    name: Annotated[str, typer.Option(metavar="METRIC", help="Name of the new metric.")],
    features: Features = None,
    steps: Steps = "",
    findings: Findings = "",
    max_cases: MaxCases = None,
    settings: Settings = None,
    seed: Seed = 0,
    judgements: Annotated[
        str, typer.Option(metavar="LEDGER", help="Also train on the judgements of this ledger.")
    ] = "",
    control: Annotated[
        bool,
        typer.Option(
            "--control/--no-control",
            help="Also train a control with shuffled findings, on at most 1,000 cases.",
        ),
    ] = True,
    slider: Annotated[
        bool,
        typer.Option(
            "--slider", help="With bdm_v: train every position between visual and diagnostic similarity."
        ),
    ] = False,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Train a metric. Its scores are measured on held-out patients."""
    if slider:
        if cluster:
            raise BadArguments("--slider does not run on a cluster.", "Leave out --slider or --cluster.")
        _train_slider(library, learner, name, features, steps, findings, max_cases, settings, seed, as_json)
        return
    from semblance.core.metrics.registry import declared_learner
    from semblance.core.parameters import parse_settings
    from semblance.core.workflows.metrics.train_metric import train_metric
    from semblance.core.workflows.metrics.train_request import TrainRequest
    from semblance.core.workflows.searches.open_metrics import prepare_searches

    values = parse_settings(learner, declared_learner(learner).parameters, settings or [])
    request = TrainRequest(
        learner,
        name,
        features,
        steps,
        findings,
        max_cases,
        values,
        seed,
        judgements=judgements,
        control=control,
    )
    with ConsoleReporter() as reporter:
        result = train_metric(library, request, cluster=cluster, reporter=reporter)
        prepare_searches(library, name, reporter)
    print_document(result, as_json, show_fields)


def _train_slider(
    library: LibraryLocation,
    learner: str,
    name: str,
    features: str | None,
    steps: str,
    findings: str,
    max_cases: int | None,
    settings: list[str] | None,
    seed: int,
    as_json: bool,
) -> None:
    from semblance.core.metrics.declarations import BDMVisualShare
    from semblance.core.parameters import parse_settings
    from semblance.core.workflows.metrics.slider import prepare_slider
    from semblance.core.workflows.metrics.train_request import TrainRequest

    if learner != BDMVisualShare.name:
        raise BadArguments(f"'{learner}' has no slider.", f"Only {BDMVisualShare.name} does.")
    allowed = tuple(one for one in BDMVisualShare.parameters if one.name != "visual_share")
    values = parse_settings(learner, allowed, settings or [])
    request = TrainRequest(learner, name, features, steps, findings, max_cases, values, seed)
    with ConsoleReporter() as reporter:
        result = prepare_slider(library, request, reporter=reporter)
    print_document(result, as_json, show_fields)


@commands.command()
def card(
    library: LibraryArgument,
    metric: MetricName,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the card to this .md or .json file.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Compare with this metric, side by side.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the card of a metric: data, split, scores and weaknesses; or compare two cards."""
    from semblance.core.reports.card_document import card_markdown, comparison_markdown
    from semblance.core.workflows.reports.metric_cards import compared_cards, metric_card, write_metric_card

    if against is not None:
        table = compared_cards(library, metric, against)
        rows = [dict(zip(("line", "a", "b", "differs"), row, strict=True)) for row in table.rows]
        print_document(
            {"a": metric, "b": against, "lines": rows},
            as_json,
            lambda _document: echo_lines(comparison_markdown(table)),
        )
    elif out is not None:
        file = str(write_metric_card(library, metric, out))
        print_document({"card": file}, as_json, lambda _document: echo(file))
    else:
        document = metric_card(library, metric)

        def show(_document: Any) -> None:
            echo_lines(card_markdown(document))

        print_document(dict(document.values), as_json, show)


@commands.command("export-metric")
def export_metric(
    library: LibraryArgument,
    metric: MetricName,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The file to write, ending in .semblance-metric.")
    ],
    as_json: Json = False,
) -> None:
    """Write a metric to one file for another library or person. It names no case."""
    from semblance.core.workflows.metrics.metric_exchange import export_metric as export

    with ConsoleReporter() as reporter:
        file = str(export(library, metric, out, reporter=reporter))
    print_document({"file": file}, as_json, lambda _document: echo(file))


@commands.command("import-metric")
def import_metric(
    library: LibraryArgument,
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A file of `semblance export-metric`, or of Metric.save in Python."
        ),
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of the metric in this library.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Import a metric into a library that has the features it needs."""
    from semblance.core.reports.card_document import UNVERIFIED
    from semblance.core.workflows.metrics.metric_exchange import import_file
    from semblance.core.workflows.searches.open_metrics import prepare_searches

    with ConsoleReporter() as reporter:
        called, unverified, unknown = import_file(library, file, name, reporter=reporter)
        prepare_searches(library, called, reporter)

    def show(_document: Any) -> None:
        echo(f"metric: {called}")
        if unverified:
            echo(f"unverified: {UNVERIFIED}")
        for note in unknown:
            echo(note)

    # Scripts know the name alone.
    print_document({"metric": called} | ({"unverified": True} if unverified else {}), as_json, show)


@vault.command("seal")
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
    print_document(status, as_json, _show_status)


@vault.command("status")
def status(library: LibraryArgument, as_json: Json = False) -> None:
    """Show what is sealed, and every opening with its date."""
    from semblance.core.workflows.metrics.vault import vault_status

    print_document(vault_status(library), as_json, _show_status)


@vault.command("open")
def open_(
    library: LibraryArgument,
    metric: Annotated[str, typer.Option(metavar="METRIC", help="The metric to test.")],
    as_json: Json = False,
) -> None:
    """Test a finished metric on the sealed patients. This is counted, dated and cannot be undone."""
    from semblance.core.workflows.metrics.vault import open_vault

    with ConsoleReporter() as reporter:
        opening = open_vault(library, metric, reporter=reporter)
    print_document(opening, as_json, _show_opening)


@vault.command("unseal")
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


def show_registry(name: str, as_json: bool) -> None:
    """Print the list ``name``."""
    from semblance.core.workflows.library import describe_library

    describe = {
        "learners": describe_library.describe_learners,
        "extractors": describe_library.describe_extractors,
        "kinds": describe_library.describe_kinds,
        "protocols": describe_library.describe_protocols,
    }
    print_document(describe[name](), as_json, show_fields)
    from semblance.core.plugins import broken_plugins

    for broken in broken_plugins():
        print_error(broken.message)


@commands.command("new-plugin")
def new_plugin(
    name: Annotated[str, typer.Argument(help="What it is called, such as grey-histogram.")],
    kind: Annotated[
        str, typer.Option("--kind", help="learner, extractor, importer, protocol or report.")
    ] = "learner",
    out: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="Where the new folder NAME is made.")
    ] = Path(),
    as_json: Json = False,
) -> None:
    """Write a small package that adds a learner, extractor, importer, protocol or report."""
    from semblance.core.workflows.maintenance.new_plugin import new_plugin

    print_document(new_plugin(name, kind, out).to_json(), as_json, show_new_plugin)


@commands.command()
def learners(as_json: Json = False) -> None:
    """List the learners and their parameters."""
    show_registry("learners", as_json)


@commands.command()
def extractors(as_json: Json = False) -> None:
    """List the extractors and their parameters."""
    show_registry("extractors", as_json)


@commands.command()
def kinds(as_json: Json = False) -> None:
    """List the kinds of sources that can be imported."""
    show_registry("kinds", as_json)


@commands.command()
def protocols(as_json: Json = False) -> None:
    """List the evaluation protocols."""
    show_registry("protocols", as_json)
