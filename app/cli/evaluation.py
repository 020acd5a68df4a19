"""The commands that score learners by a protocol, compare encoders, and measure the agreement of annotators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semblance.app.cli.completion import learner_names, protocol_names
from semblance.app.cli.options import (
    LIBRARY_HELP,
    Cluster,
    Features,
    Findings,
    Json,
    LibraryArgument,
    Location,
    MaxCases,
    Repeats,
    Seed,
    Steps,
    names_in,
)
from semblance.app.cli.output import print_document
from semblance.app.cli.reporter import ConsoleReporter
from semblance.app.cli.show_results import show_agreement, show_encoders, show_scores, show_table_scores
from semblance.core.errors import BadArguments
from semblance.core.library.location import library_location

commands = typer.Typer()


@commands.command("compare-encoders")
def compare_encoders(
    library: LibraryArgument,
    own: Annotated[
        list[str] | None,
        typer.Option(
            "--own",
            metavar="MODEL.onnx,SETTINGS.json",
            help="An encoder of your own and its settings file. The option can be repeated.",
        ),
    ] = None,
    learner: Annotated[
        str, typer.Option(metavar="NAME[,NAME...]", help="The learners.", autocompletion=learner_names)
    ] = "euclidean,bdm_v",
    findings: Findings = "",
    max_cases: MaxCases = 1000,
    repeats: Repeats = 5,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Compare encoders on held-out cases of a library.

    The shipped encoder, the same network with random weights, Gabor features, pixels and encoders of your own measure
    the same cases. Their features are not kept.
    """
    from semblance.core.workflows.evaluation.compare_encoders import EncoderRequest
    from semblance.core.workflows.evaluation.compare_encoders import compare_encoders as compare

    request = EncoderRequest(
        tuple(_own_encoder(text) for text in own or ()),
        names_in(learner),
        findings,
        max_cases or EncoderRequest.max_cases,
        repeats or EncoderRequest.repeats,
        seed,
    )
    with ConsoleReporter() as reporter:
        document = compare(library, request, reporter=reporter)
    print_document(document, as_json, show_encoders)


def _own_encoder(text: str) -> tuple[Path, Path]:
    model, comma, settings = text.rpartition(",")
    if not comma or not model or not settings:
        raise BadArguments(f"'{text}' does not name two files.", "Write --own MODEL.onnx,SETTINGS.json.")
    return Path(model), Path(settings)


@commands.command()
def agreement(library: LibraryArgument, as_json: Json = False) -> None:
    """Measure how far annotators agree: on each concept, and on judgements.

    Cohen's kappa of every two, Fleiss' kappa of what all judged, Krippendorff's alpha of what two or more judged.
    """
    from semblance.core.workflows.research.annotator_agreement import annotator_agreement

    with ConsoleReporter() as reporter:
        found = annotator_agreement(library, reporter=reporter)
    print_document({"subjects": [one.to_json() for one in found]}, as_json, show_agreement)


@commands.command()
def evaluate(
    learner: Annotated[
        str,
        typer.Option(
            metavar="NAME[,NAME...]",
            help="The learners. `semblance learners` lists them.",
            autocompletion=learner_names,
        ),
    ],
    protocol: Annotated[
        str,
        typer.Option(help="The protocol. `semblance protocols` lists them.", autocompletion=protocol_names),
    ],
    library: Annotated[
        Location | None, typer.Argument(metavar="LIB", help=LIBRARY_HELP, parser=library_location)
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CSV|builtin:NAME",
            help="A table. Repeat the option to compare learners over several tables.",
        ),
    ] = None,
    features: Features = None,
    steps: Steps = "",
    findings: Findings = "",
    max_cases: MaxCases = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME.KEY=VALUE",
            help="A parameter of a learner, or of the protocol, such as protocol.train_on=one; or how the table is "
            "written, such as delimiter=; or decimal=, or header=no.",
        ),
    ] = None,
    repeats: Repeats = None,
    seed: Seed = 0,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Evaluate learners by a protocol on held-out cases of a library or table.

    With several tables, Friedman's test compares the learners' ranks, and Holm's test every two learners.
    """
    from semblance.core.workflows.evaluation.evaluate_learners import EvaluateRequest, evaluate_tables
    from semblance.core.workflows.evaluation.evaluate_learners import evaluate as score

    request = EvaluateRequest(
        names_in(learner),
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
        cluster,
    )
    with ConsoleReporter() as reporter:
        if table and len(table) > 1:
            document = evaluate_tables(request, table, reporter=reporter)
        else:
            document = score(request, reporter=reporter)
    print_document(document, as_json, show_table_scores if table and len(table) > 1 else show_scores)
