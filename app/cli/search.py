"""The commands that search a library, follow what queries turned out to be, and show an image."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from semblance.app.cli.options import (
    CurrentMetric,
    Json,
    LibraryArgument,
    Vector,
    case_ids,
    parse_region,
    vector_of,
)
from semblance.app.cli.output import (
    ConsoleReporter,
    EntryLines,
    echo,
    echo_lines,
    print_document,
    print_table,
    printer,
    stdout,
)
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.language import tr_lazy, visible
from semblance.core.normal_text import composed
from semblance.core.purpose import PURPOSE
from semblance.core.reports.formatting import library_share_text, prevalence_text

if TYPE_CHECKING:
    from semblance.core.workflows.searches.outcomes import OutcomeConflict


commands = typer.Typer()

outcome = typer.Typer(
    no_args_is_help=True, help="Enter later diagnoses of saved searches, and see whether estimates stay true."
)

_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the saved search.")]


def _print_schema(requested: bool) -> None:
    if requested:
        from semblance import resources

        echo_lines(resources.path("schemas/search.json").read_text(encoding="utf-8").rstrip())
        raise typer.Exit


@commands.command()
def search(
    library: LibraryArgument,
    metric: CurrentMetric = None,
    case: Annotated[str | None, typer.Option(metavar="ID", help="The query: a case of the library.")] = None,
    image: Annotated[Path | None, typer.Option(metavar="FILE", help="The query: an image file.")] = None,
    region: Annotated[
        str | None, typer.Option(metavar="X,Y,W,H", help="The region of the image to search with, in pixels.")
    ] = None,
    vector: Vector = None,
    slice_: Annotated[
        int | None,
        typer.Option(
            "--slice",
            min=1,
            metavar="N",
            help="The slice of a volume to search with, in the order of space: the region on it, or all of it.",
        ),
    ] = None,
    keep_order: Annotated[
        bool,
        typer.Option(
            "--keep-order",
            help="With a volume and --match place: its slices are found in others in their order.",
        ),
    ] = False,
    match: Annotated[
        str,
        typer.Option(
            metavar="place|whole|both",
            help="What is compared: the places of the region or image and all slices of a volume, whole images by the "
            "metric, or both. "
            "[default: place with --region where the library has places, else whole]",
        ),
    ] = "",
    k: Annotated[int, typer.Option("-k", min=1, help="Number of cases.")] = 20,
    diverse: Annotated[
        float,
        typer.Option(
            min=0.0, max=1.0, help="From 0, order by distance alone, to 1, prefer cases unlike those before."
        ),
    ] = 0.0,
    no_match_rate: Annotated[
        float,
        typer.Option(
            "--no-match-rate",
            "--unusual",
            min=0.0,
            max=1.0,
            help="Share of the library's own cases for which 'no close match' would be shown. 0: never.",
        ),
    ] = 0.01,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", help="Leave out a group of features. The option can be repeated."),
    ] = None,
    like: Annotated[
        str | None, typer.Option(metavar="ID,...", help="Cases marked as more like what is searched.")
    ] = None,
    unlike: Annotated[
        str | None,
        typer.Option(metavar="ID,...", help="Cases marked as less like it. They come last."),
    ] = None,
    without_patient: Annotated[
        bool,
        typer.Option(
            "--without-patient",
            help="If the metric was trained on the query or its patient, train it again without them first.",
        ),
    ] = False,
    text: Annotated[
        str,
        typer.Option(
            metavar="WORDS",
            help="Order by these words too: cases with all of them in their finding, notes, report or header come "
            'forward (reciprocal rank fusion). Words in "quotes" follow each other.',
        ),
    ] = "",
    candidates: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="In a library on a server with an index: how many candidates are compared. 0: all cases. "
            "[default: as many as contain the required share of the nearest]",
        ),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Save the search with its estimate, to enter later what the query was."
        ),
    ] = None,
    as_json: Json = False,
    json_schema: Annotated[  # noqa: ARG001 - its callback prints and ends
        bool,
        typer.Option(
            "--json-schema",
            callback=_print_schema,
            is_eager=True,
            help="Print the JSON Schema of what --json prints, and end.",
        ),
    ] = False,
) -> None:
    """Search a library for the cases most similar to a case, an image or a vector."""
    from semblance.core.searches.query import Query, check_one_query
    from semblance.core.workflows.metrics.stored_metric import current_metric
    from semblance.core.workflows.searches.explain_distance import result_with_reasons
    from semblance.core.workflows.searches.rank_cases import nearest_cases
    from semblance.core.workflows.searches.slice_query import query_by_slices, query_on_slice

    query = Query(
        composed(case) if case else case,
        image,
        parse_region(region),
        vector=vector_of(vector),
    )
    check_one_query(query)
    if slice_ is not None:
        query = query_on_slice(library, query, slice_)
    if match == "place" and vector is None:
        query = query_by_slices(library, query, in_order=keep_order)
    elif keep_order:
        raise BadArguments("Slices are compared by place only.", "Add --match place.")
    with ConsoleReporter() as reporter:
        left_out = tuple(without or ())
        result = nearest_cases(
            library,
            metric or current_metric(library),
            query,
            k=k,
            diverse=diverse,
            no_match_rate=no_match_rate,
            without=left_out,
            without_patient=without_patient,
            candidates=candidates,
            match=match,
            text=text,
            like=case_ids(like),
            unlike=case_ids(unlike),
            reporter=reporter,
        )
        shown = (
            result_with_reasons(library, result, left_out, reporter=reporter) if as_json else result.to_json()
        )
        if save is not None:
            from semblance.core.workflows.searches.saved_searches import save_result

            save_result(library, save, result, left_out)
    print_document(shown, as_json, show_cases)


@outcome.command("enter")
def enter(
    library: LibraryArgument,
    name: _Name,
    finding: Annotated[
        str, typer.Option(metavar="FINDING", help="What the query turned out to be; empty removes it.")
    ],
    replaced: Annotated[
        str,
        typer.Option(
            "--replace",
            metavar="FINDING",
            help="The later diagnosis that was entered before and is to be replaced; another one is kept.",
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Enter what the query of a saved search turned out to be. The estimate given then is kept."""
    from semblance.core.workflows.searches.outcomes import OutcomeConflict, enter_outcome

    try:
        found = enter_outcome(library, name, finding, seen=replaced)
    except OutcomeConflict as conflict:
        raise _not_replaced(conflict, name) from None
    print_document(found, as_json, lambda document: echo(_line(document)))


@outcome.command("list")
def list_outcomes(library: LibraryArgument, as_json: Json = False) -> None:
    """List the saved searches with their estimates and outcomes."""
    from semblance.core.workflows.searches.outcomes import followed_searches

    searches = [one.to_json() for one in followed_searches(library)]
    print_document({"searches": searches}, as_json, _show_list)


@outcome.command("drift")
def drift(
    library: LibraryArgument,
    period: Annotated[str, typer.Option(help="month, quarter or year.")] = "quarter",
    as_json: Json = False,
) -> None:
    """Compare the kept estimates with the outcomes, by period."""
    from semblance.core.workflows.searches.outcomes import drift_report

    print_document(drift_report(library, period), as_json, _show_drift)


def _not_replaced(conflict: OutcomeConflict, name: str) -> SemblanceError:
    """The refusal that names the diagnosis that is kept."""
    if not conflict.current:
        return SemblanceError(
            tr_lazy("The later diagnosis of '{name}' was removed.", name=name), "Enter it without --replace."
        )
    return SemblanceError(
        tr_lazy(
            "The later diagnosis of '{name}' is '{current}', entered {time}. It was kept.",
            name=name,
            current=conflict.current,
            time=conflict.time,
        ),
        tr_lazy("To replace it, add --replace '{current}'.", current=conflict.current),
    )


def _line(document: Mapping[str, Any]) -> str:
    estimate = (
        "no estimate"
        if document["probability"] is None
        else f"estimate for {document['estimated']} {document['probability']:.2f}"
    )
    return (
        f"{document['name']}: {estimate}, {document['time']}; outcome {document['outcome'] or 'not entered'}"
    )


_show_list = printer(EntryLines("searches", _line, empty="No search is saved."))


def _show_drift(document: Mapping[str, Any]) -> None:
    echo(
        f"{document['searches']} saved searches, {document['estimates']} with an estimate, "
        f"{document['outcomes']} of these with an outcome"
    )
    if document["outcomes"] < document["minimum"]:
        echo(f"Fewer than {document['minimum']} outcomes: nothing is claimed.")
        return
    table = Table(
        "period", "outcomes", "mean estimate", "had the finding", "Brier score", "error", "perfect below", "p"
    )
    for one in document["scores"]:
        table.add_row(
            one["period"] or "all",
            str(one["n"]),
            *_cells(one),
        )
    print_table(table)
    if document["reference"] is not None:
        echo(f"Brier score on the held-out cases of the metric: {document['reference']:.3f}")


def _cells(one: Mapping[str, Any]) -> list[str]:
    if one["brier"] is None:
        return ["too few", "", "", "", "", ""]

    def spread(value: float, ends: list[float]) -> str:
        return f"{value:.2f} ({ends[0]:.2f}-{ends[1]:.2f})"

    return [
        f"{one['estimate']:.2f}",
        spread(one["observed"], one["observed_interval"]),
        spread(one["brier"], one["brier_interval"]),
        f"{one['error']:.2f}",
        f"{one['perfect']:.2f}",
        "" if one["p"] is None else f"{one['p']:.3f}",
    ]


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


@commands.command()
def align(
    library: LibraryArgument,
    case: Annotated[str, typer.Option("--case", metavar="ID", help="A volume of the library.")],
    other: Annotated[
        str, typer.Option("--with", metavar="ID", help="The volume in which the same levels are to be found.")
    ],
    as_json: Json = False,
) -> None:
    """Find the level of each slice of a volume in another volume, of the same patient or of another one."""
    from semblance.core.workflows.searches.align_volumes import align_cases

    with ConsoleReporter() as reporter:
        found = align_cases(library, composed(case), composed(other), reporter=reporter)
    print_document(found.to_json(), as_json, _show_levels)


def _show_levels(document: Mapping[str, Any]) -> None:
    if not document["slices"]:
        echo("These volumes do not overlap, or too little for the same level to be found.")
        return
    table = Table("slice", "same level", box=None, pad_edge=False)
    for one, other in document["slices"]:
        table.add_row(str(one), str(other))
    print_table(table)
    echo(
        f"By {document['by']}: {document['overlap']:.0%} of the slices have a counterpart, "
        f"confidence {document['confidence']:.2f}"
    )


def _pair(text: str, option: str, kind: type[Any]) -> tuple[Any, Any]:
    try:
        first, second = (kind(part) for part in text.split(","))
    except ValueError:
        raise BadArguments(
            f"{option} takes two numbers with a comma, not '{text}'.", "Such as 10,20."
        ) from None
    return first, second


def _distance(distance: float) -> str:
    """Four decimals, or four significant digits of a small distance, in English notation."""
    return f"{distance:#.4g}" if 0 < distance < 0.1 else f"{distance:.4f}"


def _place_cells(place: Mapping[str, Any] | None) -> list[str]:
    """The rectangle of a place as --region takes it, with its slice, and its similarity."""
    if place is None:
        return ["–", "–"]
    box = ",".join(f"{place[side]:.0f}" for side in ("x", "y", "width", "height"))
    on_slice = "" if place["slice"] is None else f" on slice {place['slice']}"
    return [box + on_slice, f"{place['similarity']:.3f}"]


def _show_text_order(document: Mapping[str, Any]) -> None:
    """By which words a ranking is ordered too, and where its cases have them."""
    if order := document.get("text_order"):
        echo(f"ordered by image and '{visible(order['text'])}', which {order['found']} cases have")
        for line in document["results"]:
            if hit := line["text_hit"]:
                echo(f"  {line['rank']}. {visible(hit['name'])}: {visible(hit['text'])}")


def show_cases(document: Mapping[str, Any]) -> None:
    """Print a ranking as a table."""
    table = Table(box=None, pad_edge=False)
    with_places = any("place" in line for line in document["results"])
    columns = [("rank", "right"), ("case", "left"), ("finding", "left"), ("distance", "right")]
    for column, justify in [*columns, ("place", "left"), ("similarity", "right")] if with_places else columns:
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for line in document["results"]:
        cells = [str(line["rank"]), line["case_id"], line["finding"] or "–", _distance(line["distance"])]
        table.add_row(*map(visible, cells + (_place_cells(line.get("place")) if with_places else [])))
    stdout.print(table)
    marks = sum(map(len, document["feedback"].values()))
    if marks:
        echo(f"ordered by {marks} mark{'s' * (marks > 1)}; the counts and the estimate are without them")
    if document["without_patient"]:
        echo(f"ranked by {document['metric']} trained again without the query and its patient's cases")
    if candidates := document["candidates"]:
        recall = candidates["recall@20"]
        contain = "" if recall is None else f", which contain {recall:.3f} of the 20 nearest on average"
        echo(f"compared: {candidates['number']} candidates of an index{contain}")
    _show_text_order(document)
    if by := {"place": "by place", "both": "by place and as a whole"}.get(document.get("compared_by", "")):
        echo(f"compared {by}: {document['compared']} cases")
    hidden = document["hidden"]
    vote = document["vote"]
    counted = ", ".join(f"{n} {f}" for f, n in vote["counts"].items()) or "none"
    echo(
        f"hidden: {hidden['same_patient']} of the same patient, "
        f"{hidden['near_duplicates']} of the same lesion or copies"
        + (f"; of the {vote['voters']} nearest: {counted}" if vote["voters"] else "")
    )
    if vote["calibrated"]:
        low, high = vote["interval"]
        echo(
            f"estimate for {vote['finding']}: {vote['probability']:.2f} ({low:.2f}–{high:.2f}), "
            f"from {vote['measured_on']}"
        )
        shift = (
            prevalence_text(tuple(vote["prevalence"]))
            if vote["prevalence"]
            else library_share_text(vote["finding"], vote["library_share"])
        )
        echo(f"The estimate is {shift}.")
        if vote["caution"]:
            echo(f"The estimate is {vote['caution']}.")
    elif vote["why_not"]:
        echo(f"No estimate. {vote['why_not']}")
    if document["no_good_match"]:
        echo("No close match in this library.")
    elif document["unclear"]:
        echo("Unclear: similar cases exist, but their findings contradict each other.")
    for warning in document["warnings"]:
        echo(warning)
    echo(PURPOSE)
