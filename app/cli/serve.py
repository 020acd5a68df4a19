"""The command that answers HTTP requests of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.options import Json, LibraryArgument, cleans_pixels
from semblance.app.cli.output import echo, print_document

commands = typer.Typer()


def _show(document: Any) -> None:
    echo(f"Answering at {document['address']}. Its description: {document['docs']}")
    if document["token"] is not None:
        echo(f"Token: {document['token']}")
    echo("Press Ctrl-C to end.")


@commands.command()
def serve(
    library: LibraryArgument,
    listen: Annotated[
        str,
        typer.Option(
            metavar="[HOST:]PORT",
            help="The address. Without a host only this computer can ask.",
        ),
    ] = "8350",
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A file with the token that clients send. Without it, a new one is printed."
        ),
    ] = None,
    identified: Annotated[
        bool, typer.Option("--identified", help="Let clients ask for patient ids, case ids and paths.")
    ] = False,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="A web page that may ask, such as https://viewer.example. The option can be repeated.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A name under which clients ask, such as that of a proxy. The option can be repeated.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Use HTTPS with the certificate in this file.")
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The key of the certificate.")] = None,
    clean: Annotated[
        list[str] | None,
        typer.Option(
            metavar="pixels", help="Black out text burnt into the images of reports and thumbnails."
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=8, help="Requests that are answered at a time.")] = 1,
    as_json: Json = False,
) -> None:
    """Let other programs search a library over HTTP. End it with Ctrl-C."""
    import sys

    from semblance.app.http_api.application import ServiceSettings
    from semblance.app.http_api.server import new_token, read_token
    from semblance.app.http_api.server import serve as serve_library
    from semblance.core.imaging.text_detector import text_detector
    from semblance.core.network.servers import parse_listen_address
    from semblance.core.workflows.network.answer_requests import describe_served_library

    clean_pixels = cleans_pixels(clean)
    if clean_pixels:
        # Without the network the server does not start. Every answer would be refused.
        text_detector()
    describe_served_library(library)
    host, port = parse_listen_address(listen)
    token = new_token() if token_file is None else read_token(token_file)

    def ready(address: str) -> None:
        document = {
            "library": str(library),
            "address": address,
            "docs": f"{address}/docs",
            "token": token if token_file is None else None,
        }
        print_document(document, as_json, _show)
        sys.stdout.flush()

    settings = ServiceSettings(
        library,
        token,
        identified,
        tuple(allow_origin or ()),
        workers,
        clean_pixels=clean_pixels,
        hosts=tuple(allow_host or ()),
    )
    serve_library(settings, host, port, ready=ready, certificate=certificate, key=key)
