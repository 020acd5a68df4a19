"""The commands of CONTRACT.md, each a few lines on ``semblance.core.workflows``; nothing here loads Qt but ``demo``."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from semblance.app.cli import lists, metric, report, upkeep
from semblance.app.cli.completing import extractor_names, learner_names, protocol_names
from semblance.app.cli.console import (
    ConsoleReporter,
    echo,
    say,
    show_cases,
    show_import,
    show_info,
    show_list,
    show_scores,
    show_table_scores,
)
from semblance.app.cli.experiment import experiment
from semblance.app.cli.parts import Json, LibraryPath, parsed_region, print_document
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.tasks import Cancelled

DONE, COULD_NOT, WRONG_ARGUMENTS, CANCELLED = 0, 1, 2, 130
#: Set by a shell that asks how a line could go on.
COMPLETION = "_SEMBLANCE_COMPLETE"

cli = typer.Typer(
    add_completion=False, no_args_is_help=False, rich_markup_mode=None, pretty_exceptions_enable=False
)
cli.add_typer(metric.cli)
cli.add_typer(report.cli)
cli.add_typer(upkeep.cli)
cli.add_typer(lists.cli)
cli.add_typer(experiment, name="experiment")
_debug = False


def run(arguments: list[str]) -> int:
    """Run one command line; returns its exit status and lets no traceback through without --debug."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A path need not be text.
        sys.stdout.reconfigure(errors="backslashreplace")
    if COMPLETION in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    try:
        outcome = typer.main.get_command(cli).main(arguments, "semblance", standalone_mode=False)
        sys.stdout.flush()
        if outcome == CANCELLED:
            # Typer takes Ctrl-C for an exit of its own.
            raise KeyboardInterrupt
        return outcome if isinstance(outcome, int) else DONE
    except typer.TyperException as error:
        if len(arguments) == 1 and Path(arguments[0]).exists():
            # A desktop opens any folder with us.
            say(
                f"{arguments[0]} is not a library. `semblance import {arguments[0]} --library LIB` makes one."
            )
            return WRONG_ARGUMENTS
        say(f"{error.format_message()} See `semblance --help`, or --help after a command.")
        return WRONG_ARGUMENTS
    except (Cancelled, KeyboardInterrupt, typer.Abort):
        say("Cancelled; what was finished is kept.")
        return CANCELLED
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain of it once more at the end.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return COULD_NOT
    except Exception as error:  # noqa: BLE001 - the last door before the user
        return _told(error)


def _told(error: Exception) -> int:
    if _debug:
        traceback.print_exc()
    if isinstance(error, SemblanceError):
        say(str(error))
        return WRONG_ARGUMENTS if isinstance(error, BadArguments) else COULD_NOT
    say(f"A defect in Semblance ({type(error).__name__}: {error}). Run it again with --debug for details.")
    return COULD_NOT


@cli.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Find the cases that look alike and mean alike. Without a command the window opens."""
    global _debug  # noqa: PLW0603 - set once, before any command
    _debug = debug
    if version:
        from importlib.metadata import version as installed

        echo(f"semblance {installed('semblance')}")
    elif context.invoked_subcommand is None:
        from semblance.app.program import open_window

        raise typer.Exit(open_window())


@cli.command()
def demo(
    library: Annotated[Path | None, typer.Option(help="Where the demo library is kept.")] = None,
    headless: Annotated[bool, typer.Option(help="Open no window; write a report and an image.")] = False,
) -> None:
    """Make the generated demo library, train BDM+V on it, and open the window on it."""
    from semblance.app.demo import run_demo

    with ConsoleReporter() as reporter:
        made = run_demo(library, headless=headless, reporter=reporter)
    if made.opens_window:
        from semblance.app.program import open_window

        raise typer.Exit(open_window(made.library))
    for file in made.files:
        echo(str(file))


@cli.command("import")
def import_(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder, a zip or a file.")],
    library: Annotated[Path, typer.Option(metavar="LIB", help="Made when it is not there.")],
    kind: Annotated[str, typer.Option(help="What the source is; `semblance kinds` lists them.")] = "auto",
    identified: Annotated[
        bool, typer.Option(help="Keep patient ids, dates and folders; else codes stand for them.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Catalogue the cases of SOURCE; importing again adds only what is new."""
    from semblance.core.workflows.library.import_source import import_source

    with ConsoleReporter() as reporter:
        result = import_source(source, library, kind=kind, identified=identified, reporter=reporter)
    print_document(result.to_json(), as_json, show_import)
    if not result.added and not result.unchanged:
        raise SemblanceError(
            f"Nothing in {source} could be used: {len(result.failed)} failed, {len(result.ignored)} ignored.",
            "Look at the reasons above, or name the --kind.",
        )


@cli.command()
def features(
    library: LibraryPath,
    extractor: Annotated[
        str, typer.Option(help="`semblance extractors` lists them.", autocompletion=extractor_names)
    ],
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the feature set.")] = None,
    as_json: Json = False,
) -> None:
    """Extract a feature set; run again to go on where it stopped."""
    from semblance.core.features.registry import extractor_class
    from semblance.core.parameters import parse_settings
    from semblance.core.workflows.features.extract_features import extract_features

    values = parse_settings(extractor, extractor_class(extractor).parameters, settings or [])
    with ConsoleReporter() as reporter:
        result = extract_features(library, extractor, settings=values, name=name, reporter=reporter)
    print_document(result.to_json(), as_json, show_list)
    if result.failed and not result.cases:
        raise SemblanceError(
            f"No case of {library} gave {extractor} features.",
            f"The first said: {result.failed[0]['reason']}",
        )


@cli.command()
def train(
    library: LibraryPath,
    learner: Annotated[
        str, typer.Option(help="`semblance learners` lists them.", autocompletion=learner_names)
    ],
    name: Annotated[str, typer.Option(metavar="METRIC", help="Name of the new metric.")],
    features: Annotated[str | None, typer.Option(metavar="FEATURES")] = None,
    steps: Annotated[str, typer.Option(help="Such as standardise,pca:200.")] = "",
    findings: Annotated[str, typer.Option(metavar="MAP", help="Such as '1,2=low;4,5=high;3=-'.")] = "",
    max_cases: Annotated[int | None, typer.Option(min=2)] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE")] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    judgements: Annotated[str, typer.Option(metavar="LEDGER", help="Learn from these judgements too.")] = "",
    slider: Annotated[
        bool, typer.Option("--slider", help="With bdm_v: all steps from visual to diagnostic likeness.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train a metric; its scores are measured on held-out patients."""
    if slider:
        _train_slider(library, learner, name, features, steps, findings, max_cases, settings, seed, as_json)
        return
    from semblance.core.metrics.registry import learner_class
    from semblance.core.parameters import parse_settings
    from semblance.core.workflows.metrics.train_metric import train_metric
    from semblance.core.workflows.metrics.train_request import TrainRequest

    values = parse_settings(learner, learner_class(learner).parameters, settings or [])
    request = TrainRequest(
        learner, name, features, steps, findings, max_cases, values, seed, judgements=judgements
    )
    with ConsoleReporter() as reporter:
        result = train_metric(library, request, reporter=reporter)
    print_document(result.to_json(), as_json, show_list)


def _train_slider(
    library: Path,
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
    from semblance.core.metrics.estimators.bdm_visual_share import BDMBetween
    from semblance.core.parameters import parse_settings
    from semblance.core.workflows.metrics.slider import prepare_slider
    from semblance.core.workflows.metrics.train_request import TrainRequest

    if learner != BDMBetween.name:
        raise BadArguments(f"'{learner}' has no slider.", f"Only {BDMBetween.name} does.")
    allowed = tuple(one for one in BDMBetween.parameters if one.name != "visual_share")
    values = parse_settings(learner, allowed, settings or [])
    request = TrainRequest(learner, name, features, steps, findings, max_cases, values, seed)
    with ConsoleReporter() as reporter:
        made = prepare_slider(library, request, reporter=reporter)
    print_document(made.to_json(), as_json, show_list)


@cli.command()
def search(
    library: LibraryPath,
    metric: Annotated[str, typer.Option(metavar="METRIC")],
    case: Annotated[str | None, typer.Option(metavar="ID", help="A case of the library.")] = None,
    image: Annotated[Path | None, typer.Option(metavar="FILE", help="An image from outside.")] = None,
    region: Annotated[str | None, typer.Option(metavar="X,Y,W,H", help="Only this part, in pixels.")] = None,
    k: Annotated[int, typer.Option("-k", min=1)] = 20,
    diverse: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="0: by distance alone; up to 1: unlike those before.")
    ] = 0.0,
    unusual: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="Share of the library's own cases that would have no good match; 0: never."
        ),
    ] = 0.01,
    without: Annotated[
        list[str] | None, typer.Option(metavar="GROUP", help="Leave a group of features out; several times.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the cases nearest to a case or an image."""
    from semblance.core.searches.query import Query
    from semblance.core.workflows.searches.explain_distance import result_with_reasons
    from semblance.core.workflows.searches.search_result import nearest_cases

    query = Query(case, image, parsed_region(region))
    with ConsoleReporter() as reporter:
        left_out = tuple(without or ())
        result = nearest_cases(
            library, metric, query, k=k, diverse=diverse, unusual=unusual, without=left_out, reporter=reporter
        )
        shown = (
            result_with_reasons(library, result, left_out, reporter=reporter) if as_json else result.to_json()
        )
    print_document(shown, as_json, show_cases)


@cli.command()
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


@cli.command()
def relink(
    library: LibraryPath,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the moved images are now.")],
    as_json: Json = False,
) -> None:
    """Find moved images again by their content."""
    from semblance.core.workflows.library.relink_images import relink as find

    with ConsoleReporter() as reporter:
        result = find(library, folder, reporter=reporter)
    print_document(result.to_json(), as_json, show_list)
    if result.still_missing and not result.moved:
        raise SemblanceError(
            f"None of the {result.still_missing} missing files of {library} was found under {folder}.",
            "Name the folder or zip they are in now.",
        )


@cli.command()
def info(
    what: Annotated[Path, typer.Argument(metavar=f"LIB|{'|'.join(lists.NAMES)}")], as_json: Json = False
) -> None:
    """What a library holds, or which learners, extractors, kinds or protocols there are."""
    from semblance.core.workflows.library.descriptions import describe_library

    if str(what) in lists.NAMES and not what.exists():
        lists.show(str(what), as_json)
    else:
        print_document(describe_library(what), as_json, show_info)
