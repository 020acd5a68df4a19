"""The commands about libraries: demo, import, features, relink and info."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from semblance.app.cli.completion import extractor_names
from semblance.app.cli.metrics import REGISTRIES, show_registry
from semblance.app.cli.options import Cluster, Json, LibraryArgument, Location, NewLibrary, Settings, case_ids
from semblance.app.cli.output import ConsoleReporter, EntryLines, echo, print_document, printer, show_fields
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.library.location import library_location

commands = typer.Typer()

#: Case ids shown without --json.
MAX_IDS = 10


@commands.command()
def demo(
    library: Annotated[Path | None, typer.Option(help="The folder of the demo library.")] = None,
    headless: Annotated[
        bool, typer.Option(help="Open no window. Write a report and an image of the window.")
    ] = False,
) -> None:
    """Create the generated demo library, train BDM+V on it, and open the window."""
    from semblance.app.cli.demo import run_demo

    with ConsoleReporter() as reporter:
        result = run_demo(library, headless=headless, reporter=reporter)
    if result.opens_window:
        from semblance.app.open_window import open_window

        raise typer.Exit(open_window(result.library))
    for file in result.files:
        echo(str(file))


@commands.command("import")
def import_(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder, a .zip file or a table.")],
    library: NewLibrary,
    kind: Annotated[str, typer.Option(help="The kind of source. `semblance kinds` lists them.")] = "auto",
    identified: Annotated[
        bool, typer.Option(help="Keep patient ids, dates and folders instead of replacing them by codes.")
    ] = False,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare", help="Then extract the default features and make the best metric on them current."
        ),
    ] = False,
    seal: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Then seal this share of the patients, such as 0.2, for one final test."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="How a table is written, where this is not recognised: delimiter=; (or , or tab), decimal=, (or .), "
            "header=no (or yes), finding=COLUMN, patient=COLUMN, case=COLUMN; columns=a,b,f* (the features of a "
            "table). Of lists of images: several=first (or combination, single, the name of a finding), "
            "uncertain=ignore (or positive, negative, own), finding=COLUMN, patient=COLUMN, image=COLUMN, "
            "boxes=regions (or whole), readers=majority (or any). Of every kind: encoding=windows-1252 (or another, "
            "of tables and lists), findings=exact (findings that differ in capitals or blanks stay apart). The option "
            "can be repeated.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Import the cases of SOURCE into a library. Importing again adds only new ones."""
    from semblance.core.workflows.library.import_and_prepare import PreparedImport, import_and_prepare
    from semblance.core.workflows.library.import_source import import_source
    from semblance.core.workflows.metrics.vault import seal_share, vault_status
    from semblance.core.workflows.searches.index_candidates import update_indexes

    with ConsoleReporter() as reporter:
        if prepare:
            done = import_and_prepare(
                source,
                library,
                kind=kind,
                settings=settings or (),
                identified=identified,
                seal=seal,
                reporter=reporter,
            )
        else:
            imported = import_source(
                source, library, kind=kind, settings=settings or (), identified=identified, reporter=reporter
            )
            done = PreparedImport(imported)
            if seal is not None:
                seal_share(library, seal, reporter=reporter)
        update_indexes(library, reporter)
    result = done.imported
    document = result.to_json()
    if done.prepared is not None:
        document["prepared"] = done.prepared.to_json()
    if seal is not None:
        document["vault"] = vault_status(library).to_json()
    print_document(document, as_json, show_import)
    if done.error is not None:
        raise done.error
    if not result.added and not result.unchanged:
        raise SemblanceError(
            f"Nothing in {source} could be used: {len(result.failed)} failed, {len(result.ignored)} ignored.",
            "Look at the reasons above, or name the --kind.",
        )


@commands.command()
def features(
    library: LibraryArgument,
    extractor: Annotated[
        str | None,
        typer.Option(
            help="The extractor. `semblance extractors` lists them. "
            "[default: the one that suits the cases, usually encoder]",
            autocompletion=extractor_names,
        ),
    ] = None,
    settings: Settings = None,
    name: Annotated[str | None, typer.Option(help="Name of the feature set.")] = None,
    cluster: Cluster = "",
    as_json: Json = False,
) -> None:
    """Extract a feature set. After an interruption, run it again to continue."""
    from semblance.core.features.registry import extractor_class
    from semblance.core.parameters import parse_settings
    from semblance.core.workflows.features.extract_features import extract_features
    from semblance.core.workflows.features.suitable_extractors import suitable_extractors
    from semblance.core.workflows.searches.index_candidates import update_indexes

    if extractor is None:
        # With an empty library any extractor reports what is wrong.
        extractor = next(iter(suitable_extractors(library)), "encoder")
    values = parse_settings(extractor, extractor_class(extractor).parameters, settings or [])
    with ConsoleReporter() as reporter:
        result = extract_features(
            library, extractor, settings=values, name=name, cluster=cluster, reporter=reporter
        )
        update_indexes(library, reporter)
    print_document(result, as_json, show_fields)
    if result.failed and not result.cases:
        raise SemblanceError(
            f"No case of {library} gave {extractor} features.",
            f"The first reason: {result.failed[0]['reason']}",
        )


@commands.command("import-features")
def import_features(
    library: LibraryArgument,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A .npy, .npz, .parquet or .csv file of vectors and ids.")
    ],
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the new feature set.")],
    key: Annotated[
        str,
        typer.Option(
            metavar="case_id|path", help="What names a row: the id of a case, or the path of its image."
        ),
    ] = "case_id",
    ids: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The ids of the rows of a .npy or .npz file: .txt, .csv, .json or .npy. [default: beside the file]",
        ),
    ] = None,
    origin: Annotated[
        str,
        typer.Option(
            metavar="TEXT", help="What made the features, such as 'DINOv2 ViT-B/14'. Shown on cards."
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Add features that another program computed to the cases there are. The same file again adds what is new."""
    from semblance.core.workflows.features.exchange_features import import_features as read_into
    from semblance.core.workflows.searches.index_candidates import update_indexes

    with ConsoleReporter() as reporter:
        result = read_into(library, file, name, key, ids=ids, origin=origin, reporter=reporter)
        update_indexes(library, reporter)
    print_document(result, as_json, show_fields)


@commands.command("export-features")
def export_features(
    library: LibraryArgument,
    out: Annotated[Path, typer.Option(metavar="FILE", help="A .parquet, .npz or .csv file.")],
    features: Annotated[
        str | None,
        typer.Option(
            metavar="FEATURES",
            help="The feature set, or 'places'. Needed only if the library has several.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a feature set with the ids and findings of its cases, for other programs. 'places' are decoded."""
    from semblance.core.workflows.features.exchange_features import export_features as write_out

    with ConsoleReporter() as reporter:
        result = write_out(library, features, out, reporter=reporter)
    print_document(result, as_json, show_fields)


@commands.command()
def relink(
    library: LibraryArgument,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder or .zip file the images are in now.")
    ],
    as_json: Json = False,
) -> None:
    """Find the images of a library again after they were moved."""
    from semblance.core.workflows.library.relink_images import relink as find

    with ConsoleReporter() as reporter:
        result = find(library, folder, reporter=reporter)
    print_document(result, as_json, show_fields)
    if result.still_missing and not result.moved:
        raise SemblanceError(
            f"None of the {result.still_missing} missing files of {library} was found under {folder}.",
            "Name the folder or zip they are in now.",
        )


@commands.command()
def prevalence(
    library: LibraryArgument,
    shares: Annotated[
        list[str] | None,
        typer.Argument(metavar="FINDING=SHARE", help="Such as malignant=0.1. The argument can be repeated."),
    ] = None,
    clear: Annotated[
        bool, typer.Option("--clear", help="Take the library's own shares to be those of the practice again.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Set how frequent findings are in your practice, or show what is set. Estimates change accordingly."""
    from semblance.core.workflows.searches.estimate import parse_shares, prevalences, set_prevalences

    if shares and clear:
        raise BadArguments("Give either shares or --clear.")
    if shares or clear:
        set_prevalences(library, parse_shares(shares or []))
    print_document({"library": str(library), "prevalence": prevalences(library)}, as_json, show_fields)


@commands.command()
def lesions(
    library: LibraryArgument,
    join: Annotated[
        str | None,
        typer.Option(metavar="ID,...", help="Cases to make one group, with the groups they are in."),
    ] = None,
    split: Annotated[
        str | None, typer.Option(metavar="ID,...", help="Cases to take out of their groups.")
    ] = None,
    detect: Annotated[
        bool, typer.Option("--detect", help="Compare all images anew, as an import does.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List, detect, join and split the same-lesion groups of a library. `semblance undo LIB` undoes a join or split."""
    from semblance.core.workflows.library.edit_lesions import (
        detect_groups,
        join_lesions,
        list_lesions,
        split_lesions,
    )

    document: dict[str, Any] = {"library": str(library)}
    if detect:
        with ConsoleReporter() as reporter:
            document["detected"] = asdict(detect_groups(library, reporter=reporter))
    outdated: set[str] = set()
    if join is not None:
        outdated |= set(join_lesions(library, case_ids(join)).outdated)
    if split is not None:
        outdated |= set(split_lesions(library, case_ids(split)).outdated)
    document["outdated_metrics"] = sorted(outdated)
    document["groups"] = [group.to_json() for group in list_lesions(library)]
    print_document(document, as_json, show_lesions)


@commands.command()
def cases(
    library: LibraryArgument,
    find: Annotated[
        str,
        typer.Option(
            metavar="TEXT", help="Only cases with every word of TEXT in their header, id, patient or finding."
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """List the cases of a library, or find them by their headers."""
    from semblance.core.workflows.library.find_cases import find_cases

    print_document(find_cases(library, find), as_json, show_found_cases)


@commands.command()
def info(
    what: Annotated[
        Location,
        typer.Argument(metavar=f"LIB|{'|'.join(REGISTRIES)}", parser=library_location),
    ],
    as_json: Json = False,
) -> None:
    """Describe a library, or list the learners, extractors, kinds or protocols."""
    from semblance.core.workflows.library.describe_library import describe_library

    if isinstance(what, Path) and str(what) in REGISTRIES and not what.exists():
        show_registry(str(what), as_json)
    else:
        print_document(describe_library(what), as_json, show_info)


def show_info(document: Mapping[str, Any]) -> None:
    """Print a description of a library with its first case ids."""
    ids = document["case_ids"]
    more = len(ids) > MAX_IDS
    show_fields({**document, "case_ids": [*ids[:MAX_IDS], "… (--json lists them)"] if more else ids})


def show_lesions(document: Mapping[str, Any]) -> None:
    """Print what a detection found, a line for each same-lesion group, and what is out of date."""
    if detected := document.get("detected"):
        echo(f"{detected['changed']} cases have another group than before the detection")
        if not detected["parts"]:
            echo("Parts of images were not looked for, because the library has no features of the encoder.")
    for group in document["groups"]:
        cases = ", ".join(f"{case['case_id']} ({case['finding'] or 'no finding'})" for case in group["cases"])
        echo(f"{cases}{'; by hand' if group['by_hand'] else ''}")
    if not document["groups"]:
        echo(f"{document['library']}: no same-lesion groups")
    if outdated := document["outdated_metrics"]:
        from semblance.core.workflows.library.edit_staleness import outdated_text

        echo(f"{outdated_text(len(outdated))} ({', '.join(outdated)})")


show_found_cases = printer(
    EntryLines(
        "cases",
        lambda case: "  ".join(
            part for part in (case["case_id"], case["name"], case["patient"], case["finding"]) if part
        ),
    ),
    lambda document: f"{len(document['cases'])} of {document['total']} cases",
)
_show_preparation = printer(
    "{feature_set}: {extracted} cases have features",
    EntryLines("failed", "  no features: {case_id}: {reason}"),
    lambda prepared: tuple(f"  not compared: {reason}" for reason in prepared["refused"].values()),
    "{message}",
    lambda prepared: f"current metric: {prepared['current'] or 'none'}",
)
_show_counts = printer(
    lambda document: (
        f"{document['added']} added, {document['unchanged']} unchanged, "
        f"{len(document['failed'])} failed, {len(document['ignored'])} ignored ({document['kind']})"
    ),
    lambda document: (
        f"{document['library']}: {document['cases']} cases; "
        + ", ".join(f"{finding} {n}" for finding, n in document["findings"].items())
    ),
    lambda document: tuple(document.get("notes", ())),
    EntryLines("removed", "  removed: {}: its file no longer contains it"),
    EntryLines("missing", "  missing: {}"),
    EntryLines("failed", "  failed: {path}: {reason}"),
    EntryLines("ignored", "  ignored: {path}: {reason}"),
)


def show_import(document: Mapping[str, Any]) -> None:
    """Print counts, then every file without a case and the reason."""
    _show_counts(document)
    if "prepared" in document:
        _show_preparation(document["prepared"])
