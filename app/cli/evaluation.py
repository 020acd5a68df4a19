"""The commands that score learners by a protocol, compare encoders, and measure the agreement of annotators."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

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
    Splits,
    Steps,
    names_in,
)
from semblance.app.cli.output import ConsoleReporter, echo, print_document, print_table, score_text, stdout
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.evaluation.chance import names_beside_chance
from semblance.core.language import visible
from semblance.core.library.location import library_location
from semblance.core.metrics.score_titles import score_title

commands = typer.Typer()

#: The scores of :func:`show_encoders`.
_ENCODER_SCORES = ("retrieval_accuracy@10", "auc")


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
    protocol: Annotated[
        str,
        typer.Option(help="The protocol. `semblance protocols` lists them.", autocompletion=protocol_names),
    ],
    learner: Annotated[
        str,
        typer.Option(
            metavar="NAME[,NAME...]",
            help="The learners. `semblance learners` lists them. The protocol region needs none.",
            autocompletion=learner_names,
        ),
    ] = "",
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
    splits: Splits = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write scores.csv, per_query.csv, splits.csv, config.json and methods.txt into this folder.",
        ),
    ] = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Evaluate learners by a protocol on held-out cases of a library or table.

    With several tables, Friedman's test compares the learners' ranks, and Holm's test every two learners.
    """
    from semblance.core.workflows.evaluation.evaluate_learners import (
        EvaluateRequest,
        evaluate_tables,
        measure,
    )
    from semblance.core.workflows.evaluation.write_evaluation import check_folder, write_evaluation

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
        splits,
        out is not None,
    )
    if out is not None:
        if table and len(table) > 1:
            raise BadArguments("--out writes the evaluation of one table.", "Name one table for each folder.")
        check_folder(out)
    with ConsoleReporter() as reporter:
        if table and len(table) > 1:
            document = evaluate_tables(request, table, reporter=reporter)
        else:
            evaluation = measure(request, reporter=reporter)
            document = evaluation.document()
            if out is not None:
                write_evaluation(evaluation, out, reporter=reporter)
    print_document(document, as_json, show_table_scores if table and len(table) > 1 else show_scores)
    # Of tables, one at least gave scores.
    if not document.get("results", True):
        raise SemblanceError(
            "No learner could be measured.", f"The first reason: {document['failed'][0]['reason']}"
        )


def show_agreement(document: Mapping[str, Any]) -> None:
    """Print a table of the subjects, and one of every two annotators for each."""
    if not document["subjects"]:
        echo("No concept was marked by two people, and no judgements are of two people.")
        return
    table = Table(
        "subject", "annotators", "by two or more", "Krippendorff's alpha", "by all", "Fleiss' kappa"
    )
    pairs = Table("subject", "annotators", "by both", "agreed", "Cohen's kappa")
    for one in document["subjects"]:
        title = visible(f"{one['subject']} {one['name']}".strip())
        people = visible(", ".join(f"{name} ({n})" for name, n in one["annotators"].items()))
        table.add_row(
            title,
            people,
            str(one["shared"]),
            _coefficient(one["krippendorff_alpha"]),
            str(one["complete"]),
            _coefficient(one["fleiss_kappa"]),
        )
        for pair in one["pairs"]:
            names = visible(", ".join(pair["annotators"]))
            pairs.add_row(
                title, names, str(pair["n"]), str(pair["agreed"]), _coefficient(pair["cohen_kappa"])
            )
    print_table(table)
    print_table(pairs)


def _coefficient(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "–"
    if found["interval"] is None:
        return f"{found['value']:.2f}"
    return f"{found['value']:.2f} ({found['interval'][0]:.2f} to {found['interval'][1]:.2f})"


def _repeats(document: Mapping[str, Any]) -> str:
    n = document["repeats"]
    return f"{n} repeat" if n == 1 else f"{n} repeats"


def show_scores(document: Mapping[str, Any]) -> None:
    """Print the scores of an evaluation: mean, 95 % interval and the values printed in the paper."""
    results = document["results"]
    known = {name for result in results for name in result["scores"]}
    names = names_beside_chance(document["compared"], known)
    printed = any(result["printed"] for result in results)
    table = Table(box=None, pad_edge=False)
    table.add_column("learner")
    for name in names:
        table.add_column(score_title(name), justify="right")
    if printed:
        table.add_column("paper (printed)")
    table.add_column("fit s", justify="right")
    for result in results:
        cells = [score_text(result["scores"].get(name)) for name in names]
        if printed:
            cells.append("; ".join(_printed(value) for value in result["printed"]) or "–")
        table.add_row(result["learner"], *cells, f"{result['fit_seconds']['median']:.3g}")
    stdout.print(table)
    source = document["source"]
    echo(
        f"{document['protocol']}, {_repeats(document)}, seed {document['seed']}; "
        f"{source['n_cases']} cases; measured on {document['measured_on']} cases, "
        f"patients {source['patients']}"
    )
    for result in results:
        if result.get("chance_note"):
            echo(f"{result['learner']}: {result['chance_note']}")
    for failure in document["failed"]:
        echo(f"failed: {failure['learner']}: {failure['reason']}")
    for note in document.get("notes", ()):
        echo(str(note))


def show_encoders(document: Mapping[str, Any]) -> None:
    """Print the scores on the features of each encoder, and the difference of its accuracy to the first's."""
    table = Table(box=None, pad_edge=False)
    table.add_column("encoder")
    table.add_column("learner")
    first = document["encoders"][0]["name"] if document["encoders"] else ""
    for name in (*(score_title(score) for score in _ENCODER_SCORES), f"difference to {first}", "p"):
        table.add_column(name, justify="right")
    differences = {(one["b"], one["learner"]): one for one in document["comparisons"]}
    for encoder in document["encoders"]:
        for result in encoder["results"]:
            cells = ["", ""]
            if (difference := differences.get((encoder["name"], result["learner"]))) is not None:
                # The document has the first minus the other. Not a minus sign before 0.
                mean, high, low = (0.0 - value for value in (difference["difference"], *difference["ci95"]))
                cells = [f"{mean:+.3f} ({low:+.3f} to {high:+.3f})", f"{difference['p_value']:.3g}"]
            scores = [score_text(result["scores"].get(score)) for score in _ENCODER_SCORES]
            table.add_row(encoder["name"], result["learner"], *scores, *cells)
    stdout.print(table)
    source = document["source"]
    echo(
        f"{_repeats(document)}, seed {document['seed']}; {source['n_cases']} cases; measured on "
        f"{document['measured_on']} cases, patients {source['patients']}"
    )
    for failure in document["failed"]:
        echo(f"failed: {failure['name']}: {failure['reason']}")
    for case in document["left_out"]:
        echo(f"left out: {case['case_id']}: {case['reason']}")


def show_table_scores(document: Mapping[str, Any]) -> None:
    """Print the scores on every table, the learners' ranks over all tables, and every two compared."""
    for one in document["tables"]:
        echo(f"{one['source']['path']}:")
        show_scores(one)
        echo("")
    for score, test in document["friedman"].items():
        ranks = sorted(test["ranks"].items(), key=lambda pair: pair[1])
        echo(
            f"{score_title(score)}, {test['tables']} tables: Friedman chi-squared {test['statistic']:.3f}, "
            f"p {test['p_value']:.3g}; average ranks "
            + ", ".join(f"{name} {rank:.2f}" for name, rank in ranks)
        )
        for pair in document["holm"]:
            if pair["score"] == score:
                echo(
                    f"  {pair['a']} and {pair['b']}: z {pair['z']:.2f}, p {pair['p_value']:.3g}, "
                    f"after Holm {pair['p_adjusted']:.3g}"
                )
    for failure in document["failed_tables"]:
        echo(f"failed: {failure['path']}: {failure['reason']}")


def _printed(value: Mapping[str, Any]) -> str:
    return f"{score_title(value['score'])} {value['value']:.3f}"
