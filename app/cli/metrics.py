"""The commands about metrics: train, card, export-metric and import-metric."""

from __future__ import annotations

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
from semblance.app.cli.output import echo, echo_lines, print_document, show_fields
from semblance.app.cli.reporter import ConsoleReporter
from semblance.core.errors import BadArguments
from semblance.core.library.location import LibraryLocation

commands = typer.Typer()

MetricName = Annotated[str, typer.Option("--metric", metavar="METRIC")]


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
    from semblance.core.metrics.registry import learner_class
    from semblance.core.parameters import parse_settings
    from semblance.core.workflows.metrics.train_metric import train_metric
    from semblance.core.workflows.metrics.train_request import TrainRequest
    from semblance.core.workflows.searches.index_candidates import index_if_large

    values = parse_settings(learner, learner_class(learner).parameters, settings or [])
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
        index_if_large(library, name, reporter)
    print_document(result.to_json(), as_json, show_fields)


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
    from semblance.core.metrics.estimators.bdm_visual_share import BDMVisualShare
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
    print_document(result.to_json(), as_json, show_fields)


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

    with ConsoleReporter() as reporter:
        called, unverified = import_file(library, file, name, reporter=reporter)

    def show(_document: Any) -> None:
        echo(f"metric: {called}")
        if unverified:
            echo(f"unverified: {UNVERIFIED}")

    # Scripts know the name alone.
    print_document({"metric": called} | ({"unverified": True} if unverified else {}), as_json, show)
