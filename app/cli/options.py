"""Options and arguments that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.location import LibraryLocation, library_location
from semblance.core.normal_text import composed

if TYPE_CHECKING:
    from semblance.core.imaging.region import Region

    Location = LibraryLocation
else:
    # Typer takes no unions, and --help prints the name of the type. The parser makes the value.
    Location = type("path", (), {})

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]
#: What every command takes as LIB.
LIBRARY_HELP = "The library's folder, or its address on a server such as postgresql://HOST/DATABASE."
LibraryArgument = Annotated[
    Location, typer.Argument(metavar="LIB", help=LIBRARY_HELP, parser=library_location)
]
#: The library that a command creates where there is none.
NewLibrary = Annotated[
    Location,
    typer.Option(
        metavar="LIB", help=f"{LIBRARY_HELP} It is created if it does not exist.", parser=library_location
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        metavar="FEATURES",
        help="The feature set. Needed only if the library has several. a,b takes several together.",
    ),
]
CurrentMetric = Annotated[
    str | None, typer.Option("--metric", metavar="METRIC", help="The metric. Without it, the current one.")
]
Vector = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The numbers of the query in the features of the metric, as another program made them: .npy, .json or "
        ".csv. Alone, or beside --image or --case, whose patient is then recognised.",
    ),
]
Steps = Annotated[str, typer.Option(help="Steps before the learner, such as standardise,pca:200.")]
Findings = Annotated[
    str, typer.Option(metavar="MAP", help="Merge and drop findings, such as '1,2=low;4,5=high;3=-'.")
]
MaxCases = Annotated[int | None, typer.Option(min=2, help="Use a random sample of at most this many cases.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A parameter. The option can be repeated."),
]
Cluster = Annotated[
    str,
    typer.Option(
        "--cluster",
        "--scheduler",
        metavar="ADDRESS",
        help="Run on the workers of this Dask scheduler, such as tcp://host:8786.",
    ),
]
Repeats = Annotated[int | None, typer.Option(min=1, help="Number of random splits.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of the random numbers.")]
Splits = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|official|column:NAME",
        help="Splits in place of the protocol's own: a CSV, TSV or Parquet file with case_id, part (train, validation, "
        "test), fold, repeat; the parts that the data came with; or a column of the cases.",
    ),
]


def names_in(text: str | None) -> tuple[str, ...]:
    """The names in a list with commas."""
    return tuple(one for part in composed(text or "").split(",") if (one := part.strip()))


#: Of a command that writes images.
Clean = Annotated[
    list[str] | None, typer.Option(metavar="pixels", help="Black out text burnt into the images.")
]


def cleans_pixels(clean: list[str] | None) -> bool:
    """Whether ``--clean`` was given.

    Raises:
        BadArguments: with something else than pixels.
    """
    if set(clean or ()) - {"pixels"}:
        raise BadArguments("Only pixels can be cleaned.", "Use --clean pixels.")
    return bool(clean)


def case_ids(text: str | None) -> tuple[str, ...]:
    """The case ids in a list with commas, each once."""
    return tuple(dict.fromkeys(names_in(text)))


def vector_of(file: Path | None) -> tuple[float, ...] | None:
    """The vector in the file that an option names.

    Raises:
        BadInput: it holds none.
    """
    from semblance.core.library.importers.vector_file import read_vector

    return None if file is None else tuple(read_vector(file).tolist())


def parse_region(text: str | None) -> Region | None:
    """The region that an option gives.

    Raises:
        BadArguments: ``text`` is not a region.
    """
    from semblance.core.imaging.region import Region

    try:
        return None if text is None else Region.parse(text)
    except BadInput as error:
        raise BadArguments(error.message, error.hint) from None
