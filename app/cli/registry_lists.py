"""The commands that list learners, extractors, kinds of sources and protocols."""

from __future__ import annotations

import typer

from semblance.app.cli.options import Json
from semblance.app.cli.output import print_document, show_fields

NAMES = ("learners", "extractors", "kinds", "protocols")

commands = typer.Typer()


def show(name: str, as_json: bool) -> None:
    """Print the list ``name``."""
    from semblance.core.workflows.library import describe_library

    describe = {
        "learners": describe_library.describe_learners,
        "extractors": describe_library.describe_extractors,
        "kinds": describe_library.describe_kinds,
        "protocols": describe_library.describe_protocols,
    }
    print_document(describe[name](), as_json, show_fields)


@commands.command()
def learners(as_json: Json = False) -> None:
    """List the learners and their parameters."""
    show("learners", as_json)


@commands.command()
def extractors(as_json: Json = False) -> None:
    """List the extractors and their parameters."""
    show("extractors", as_json)


@commands.command()
def kinds(as_json: Json = False) -> None:
    """List the kinds of sources that can be imported."""
    show("kinds", as_json)


@commands.command()
def protocols(as_json: Json = False) -> None:
    """List the evaluation protocols."""
    show("protocols", as_json)
