"""The command that scores learners by a protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semblance.app.cli.completion import learner_names, protocol_names
from semblance.app.cli.options import Json
from semblance.app.cli.output import print_document
from semblance.app.cli.reporter import ConsoleReporter
from semblance.app.cli.show_results import show_scores, show_table_scores

commands = typer.Typer()


@commands.command()
def evaluate(
    learner: Annotated[str, typer.Option(metavar="NAME[,NAME...]", autocompletion=learner_names)],
    protocol: Annotated[
        str, typer.Option(help="`semblance protocols` lists them.", autocompletion=protocol_names)
    ],
    library: Annotated[Path | None, typer.Argument(metavar="LIB")] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CSV|builtin:NAME", help="Give it several times to compare learners over tables."
        ),
    ] = None,
    features: Annotated[str | None, typer.Option(metavar="FEATURES")] = None,
    steps: Annotated[str, typer.Option()] = "",
    findings: Annotated[str, typer.Option(metavar="MAP")] = "",
    max_cases: Annotated[int | None, typer.Option(min=2)] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME.KEY=VALUE",
            help="NAME is a learner, or 'protocol': protocol.train_on=one for the protocol metricboost.",
        ),
    ] = None,
    repeats: Annotated[int | None, typer.Option(min=1)] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Score learners by a protocol on parts of a library or table they never saw.

    Over several tables the learners' ranks are compared by Friedman's test, every two by Holm's.
    """
    from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate_tables
    from semblance.core.workflows.evaluation.evaluate_learners import evaluate as score

    request = EvaluateRequest(
        tuple(part.strip() for part in learner.split(",") if part.strip()),
        protocol,
        library,
        table[0] if table else None,
        features,
        steps,
        findings,
        max_cases,
        tuple(settings or ()),
        repeats,
        seed,
    )
    with ConsoleReporter() as reporter:
        if table and len(table) > 1:
            document = evaluate_tables(request, table, reporter=reporter)
        else:
            document = score(request, reporter=reporter)
    print_document(document, as_json, show_table_scores if table and len(table) > 1 else show_scores)
