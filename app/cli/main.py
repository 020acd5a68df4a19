"""The command line: all commands, their exit statuses, and the message when one fails.

Each command is a few lines on ``semblance.core.workflows``. Only ``demo`` and the window load Qt.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Annotated

import typer

from semblance.app.cli import (
    collections,
    edits,
    evaluation,
    experiments,
    libraries,
    maintenance,
    metrics,
    pacs,
    reports,
    search,
    serve,
    shared_library,
)
from semblance.app.cli.missing_package import missing_package
from semblance.app.cli.output import echo, json_alone, print_error
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.log import PublicText, describe_failure, logger, start_log, stop_log
from semblance.core.plugins import ALL, OFF_VARIABLE
from semblance.core.purpose import PURPOSE
from semblance.core.tasks import Cancelled
from semblance.core.version import version_with_commit

DONE, FAILED, WRONG_ARGUMENTS, CANCELLED = 0, 1, 2, 130
#: Set by a shell that requests completions.
COMPLETION = "_SEMBLANCE_COMPLETE"

cli = typer.Typer(
    add_completion=False,
    no_args_is_help=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=str(PURPOSE),
)
for group in (libraries, edits, metrics, search, evaluation, reports, maintenance, serve):
    cli.add_typer(group.commands)
cli.add_typer(edits.findings, name="findings")
cli.add_typer(edits.metric, name="metric")
cli.add_typer(edits.feature_set, name="feature-set")
cli.add_typer(experiments.commands, name="experiment")
cli.add_typer(experiments.reader_study, name="reader-study")
cli.add_typer(metrics.vault, name="vault")
cli.add_typer(search.outcome, name="outcome")
cli.add_typer(collections.commands, name="collections")
cli.add_typer(pacs.commands, name="pacs")
cli.add_typer(shared_library.commands, name="library")
_debug = False


def run(arguments: list[str]) -> int:
    """Run one command line; returns its exit status and lets no traceback through without --debug."""
    started = time.monotonic()
    status = FAILED
    try:
        status = _run(arguments)
        return status
    finally:
        logger.info("the command ended with status %d after %.2f s", status, time.monotonic() - started)
        stop_log()


def _run(arguments: list[str]) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A path need not be text.
        sys.stdout.reconfigure(errors="backslashreplace")
    if COMPLETION in os.environ:
        from typer._completion_classes import completion_init

        completion_init()
    try:
        with json_alone() if "--json" in arguments else contextlib.nullcontext():
            outcome = typer.main.get_command(cli).main(arguments, "semblance", standalone_mode=False)
        sys.stdout.flush()
        if outcome == CANCELLED:
            # Typer takes Ctrl-C for an exit of its own.
            raise KeyboardInterrupt
        return outcome if isinstance(outcome, int) else DONE
    except typer.TyperException as error:
        if len(arguments) == 1 and Path(arguments[0]).exists():
            # A desktop may open any folder with Semblance.
            print_error(
                f"{arguments[0]} is not a library. `semblance import {arguments[0]} --library LIB` makes one."
            )
            return WRONG_ARGUMENTS
        message = error.format_message().rstrip(".")
        print_error(f"{message}. See `semblance --help`, or --help after a command.")
        return WRONG_ARGUMENTS
    except (Cancelled, KeyboardInterrupt, typer.Abort):
        print_error("Cancelled; what was finished is kept.")
        return CANCELLED
    except BrokenPipeError:
        # The reader of stdout has closed it. Without this Python would report it again at exit.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Exception as error:  # noqa: BLE001 - no traceback reaches the user
        return _report_error(error)


def _report_error(error: Exception) -> int:
    logger.error("the command failed: %s", PublicText(describe_failure(error)))
    if _debug:
        traceback.print_exc()
    if isinstance(error, SemblanceError):
        print_error(str(error))
        return WRONG_ARGUMENTS if isinstance(error, BadArguments) else FAILED
    missing = missing_package(error)
    if missing:
        print_error(missing)
    elif isinstance(error, PermissionError) and error.filename is not None:
        # Such as the folder of another user, which no check before found out.
        print_error(f"You may not use {error.filename}. Ask its owner for the right to read and write it.")
    else:
        print_error(
            f"A defect in Semblance ({type(error).__name__}: {error}). Run it again with --debug for details."
        )
    return FAILED


@cli.callback(invoke_without_command=True)
def _start(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Write details to the log, and show it.")
    ] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    no_plugins: Annotated[
        bool, typer.Option("--no-plugins", help="Use nothing that other packages add.")
    ] = False,
) -> None:
    """Medical image retrieval. Without a command the window opens."""
    global _debug  # noqa: PLW0603 - set once, before any command
    _debug = debug
    if no_plugins:
        os.environ[OFF_VARIABLE] = ALL
    start_log(verbose=verbose)
    logger.info("the command %s starts", PublicText(context.invoked_subcommand or "window"))
    if version:
        echo(f"semblance {version_with_commit()}")
    elif context.invoked_subcommand is None:
        from semblance.app.open_window import open_window

        raise typer.Exit(open_window())
