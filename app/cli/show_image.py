"""The command that prints what the program sees in an image file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.options import Json
from semblance.app.cli.output import echo, print_document
from semblance.core.errors import BadArguments

commands = typer.Typer()


def print_image(document: Any) -> None:
    """Print the document of ``describe_image`` as lines."""
    parts = [f"{document['columns']:,} x {document['rows']:,} pixels", document["photometric"]]
    parts += [f"{document[many]:,} {many}" for many in ("frames", "slices") if document[many] > 1]
    echo(f"{document['path']}: {', '.join(parts)}")
    echo(f"Unit of the values: {document['unit'] or 'unknown'}")
    spacing = document["pixel_spacing_mm"]
    between = document["slice_spacing_mm"]
    echo(
        "Pixel spacing: unknown"
        if spacing is None
        else f"Pixel spacing: rows {spacing[0]:g} mm, columns {spacing[1]:g} mm"
        + ("" if between is None else f", slices {between:g} mm")
    )
    for window in document["windows"]:
        name = f" ({window['explanation']})" if window["explanation"] else ""
        echo(f"Window: center {window['center']:g}, width {window['width']:g}{name}")
    for point in document["values"]:
        echo(f"x {point['x']}, y {point['y']}: value {point['value']}, shown {point['shown']}")
    for note in document["notes"]:
        echo(f"Note: {note}")


@commands.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A DICOM file or another image file.")],
    frame: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="The Nth frame as it stands in the file.")
    ] = None,
    place: Annotated[
        int | None, typer.Option("--slice", min=1, metavar="N", help="The Nth slice in the order of space.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(metavar="C,W", help="Show through this window, such as 40,400.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="X,Y", help="Print the value and the grey of this pixel. Can be repeated."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="PNG", help="Write the image as it is shown.")] = None,
    as_json: Json = False,
) -> None:
    """Print what Semblance sees in an image file: values, unit, spacing, windows and shown greys."""
    from semblance.core.imaging.image import linear_window
    from semblance.core.workflows.imaging.describe_image import describe_image

    if frame is not None and place is not None:
        raise BadArguments("--frame and --slice exclude each other.", "Give one of them.")
    if out is not None and out.suffix.lower() != ".png":
        raise BadArguments(f"'{out}' is no PNG file.", "Give a name that ends in .png.")
    chosen = None if window is None else linear_window(*_pair(window, "--window", float))
    if chosen is None and window is not None:
        raise BadArguments(f"The width of the window '{window}' is too small.", "Give a width of at least 1.")
    points = [_pair(point, "--at", int) for point in at or []]
    document = describe_image(file, frame=frame, place=place, window=chosen, at=points, out=out)
    print_document(document, as_json, print_image)


def _pair(text: str, option: str, kind: type[Any]) -> tuple[Any, Any]:
    try:
        first, second = (kind(part) for part in text.split(","))
    except ValueError:
        raise BadArguments(
            f"{option} takes two numbers with a comma, not '{text}'.", "Such as 10,20."
        ) from None
    return first, second
