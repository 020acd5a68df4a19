"""The commands about kept metrics: their cards, and metrics as files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.console import ConsoleReporter, echo
from semblance.app.cli.parts import Json, LibraryPath, print_document

#: Added to the other commands by :mod:`semblance.app.cli.main`.
cli = typer.Typer()

MetricName = Annotated[str, typer.Option("--metric", metavar="METRIC")]


@cli.command()
def card(
    library: LibraryPath,
    metric: MetricName,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="A .md or .json file.")] = None,
    against: Annotated[str | None, typer.Option(metavar="METRIC", help="Another, side by side.")] = None,
    as_json: Json = False,
) -> None:
    """The card of a metric: data, split, scores, where it fails; or two cards side by side."""
    from semblance.core.reports.card_writing import card_markdown, comparison_markdown
    from semblance.core.workflows.reports.cards import compared_cards, metric_card, write_metric_card

    if against is not None:
        table = compared_cards(library, metric, against)
        rows = [dict(zip(("line", "a", "b", "differs"), row, strict=True)) for row in table.rows]
        print_document(
            {"a": metric, "b": against, "lines": rows},
            as_json,
            lambda _document: echo(comparison_markdown(table)),
        )
    elif out is not None:
        file = str(write_metric_card(library, metric, out))
        print_document({"card": file}, as_json, lambda _document: echo(file))
    else:
        document = metric_card(library, metric)

        def show(_document: Any) -> None:
            echo(card_markdown(document))

        print_document(dict(document.values), as_json, show)


@cli.command("export-metric")
def export_metric(
    library: LibraryPath,
    metric: MetricName,
    out: Annotated[Path, typer.Option(metavar="FILE", help="Ends in .semblance-metric.")],
    as_json: Json = False,
) -> None:
    """Write a metric to one file, for another library or person; it names no case."""
    from semblance.core.workflows.metrics.metric_exchange import export_metric as export

    with ConsoleReporter() as reporter:
        file = str(export(library, metric, out, reporter=reporter))
    print_document({"file": file}, as_json, lambda _document: echo(file))


@cli.command("import-metric")
def import_metric(
    library: LibraryPath,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Made by export-metric.")],
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What it is called here.")] = None,
    as_json: Json = False,
) -> None:
    """Bring a metric into a library that has its features."""
    from semblance.core.workflows.metrics.metric_exchange import import_metric as bring

    with ConsoleReporter() as reporter:
        called = bring(library, file, name, reporter=reporter)
    print_document({"metric": called}, as_json, lambda _document: echo(f"metric: {called}"))
