"""The commands that list what there is to choose from: learners, extractors, kinds and protocols."""

from __future__ import annotations

import typer

from semblance.app.cli.console import show_list
from semblance.app.cli.parts import Json, print_document

NAMES = ("learners", "extractors", "kinds", "protocols")

#: Added to the other commands by :mod:`semblance.app.cli.main`.
cli = typer.Typer()


def show(name: str, as_json: bool) -> None:
    """The list called ``name``."""
    from semblance.core.workflows.library import descriptions

    describe = {
        "learners": descriptions.describe_learners,
        "extractors": descriptions.describe_extractors,
        "kinds": descriptions.describe_kinds,
        "protocols": descriptions.describe_protocols,
    }
    print_document(describe[name](), as_json, show_list)


@cli.command()
def learners(as_json: Json = False) -> None:
    """Every learner with its parameters."""
    show("learners", as_json)


@cli.command()
def extractors(as_json: Json = False) -> None:
    """Every extractor with its parameters."""
    show("extractors", as_json)


@cli.command()
def kinds(as_json: Json = False) -> None:
    """Every kind of source that can be imported."""
    show("kinds", as_json)


@cli.command()
def protocols(as_json: Json = False) -> None:
    """Every evaluation protocol."""
    show("protocols", as_json)
