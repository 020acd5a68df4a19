"""Verify a library: find what is damaged or missing, and repair it on request."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.language import join_texts, tr_lazy
from semblance.core.library.location import LibraryLocation, ServerAddress, check_is_library
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CATALOGUE, FeatureSet, MetricRecord
from semblance.core.metrics.declarations import CLICKS
from semblance.core.metrics.registry import declared_learner
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.maintenance.verification_result import (
    LibraryProblem,
    VerificationResult,
    first_names,
)
from semblance.core.workflows.metrics.slider_steps import slider_of
from semblance.core.workflows.metrics.train_request import ONLY_IN_WINDOW, REQUESTED

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.workflows.maintenance.repair_library import Repairer


def verify_library(
    library: LibraryLocation, *, repair: bool = False, reporter: Reporter = SILENT
) -> VerificationResult:
    """Verify everything in ``library``; with ``repair``, repair what can be repaired.

    Nothing that may be the only copy is destroyed: damaged files are moved to the folder ``damaged`` of the
    library. Features, thumbnails and prepared metrics are made again.

    Raises:
        BadInput: not a library at all, or from a newer version.
        SemblanceError: ``repair`` where the library cannot be written to.
        Cancelled: the reporter was cancelled; what was repaired stays.
    """
    from semblance.core.library.database import not_writable_error
    from semblance.core.workflows.maintenance.repair_library import Repairer, thumbnail_error

    library = library.absolute()
    if isinstance(library, ServerAddress):
        return _verify_on_server(library, reporter, repair=repair)
    check_is_library(library)
    result = VerificationResult(str(library))
    repairer = Repairer(library, reporter) if repair else None
    if not _verify_file_types(library, result, repairer):
        result.works.append(tr_lazy("Because of this, nothing else was verified."))
        return result
    reporter.progress(0, None, "Checking the catalogue")
    if not verify_catalogue(library, result, repairer):
        result.works.append(tr_lazy("Nothing else can be verified while the catalogue is damaged."))
        return result
    # Check before opening, which replaces an unreadable file.
    thumbnails = thumbnail_error(library)
    with open_library(library, writable=True if repair else None) as opened:
        if repair and not opened.writable:
            raise not_writable_error(library)
        _verify_feature_rows(opened, result, repairer)
        _verify_images(opened, result, repairer, reporter)
        _verify_features(opened, result, repairer, reporter)
        _verify_encoder(opened, result, reporter)
        _verify_metrics(opened, result, repairer, reporter)
        _verify_derived(opened, result, repairer, thumbnails)
        _verify_unused_files(opened, result, repairer)
        cases = len(opened.catalogue.all_cases())
        result.works.insert(
            0, tr_lazy("{cases:,} cases with their findings and marks can be used.", cases=cases)
        )
    _verify_access([library], result, repair=repair)
    if repairer is not None:
        result.moved_to = repairer.moved_to
    return result


def _verify_on_server(library: ServerAddress, reporter: Reporter, *, repair: bool) -> VerificationResult:
    """Verify what a server has. The server checks its tables; copies on this computer are made again."""
    from semblance.core.workflows.maintenance.repair_library import Repairer

    result = VerificationResult(str(library))
    with open_library(library, writable=True if repair else None) as opened:
        opened.files.forget_copies()
        repairer = Repairer(opened.files.folder, reporter) if repair else None
        result.checked["catalogues"] = 1
        _verify_feature_rows(opened, result, repairer)
        _verify_images(opened, result, repairer, reporter)
        _verify_features(opened, result, repairer, reporter)
        _verify_encoder(opened, result, reporter)
        _verify_metrics(opened, result, None, reporter)
        _verify_derived(opened, result, repairer, "")
        result.works.insert(
            0,
            tr_lazy(
                "{cases:,} cases with their findings and marks can be used.",
                cases=len(opened.catalogue.all_cases()),
            ),
        )
    _verify_access([], result, repair=repair)
    return result


def _verify_file_types(library: Path, result: VerificationResult, repairer: Repairer | None) -> bool:
    """Whether the library consists of readable files and folders only. Links lead out of it, reading a pipe would
    block, and a file without permission would be taken for damaged."""
    from semblance.core.workflows.maintenance.repair_library import unreadable_files

    unknown, unreadable = unreadable_files(library)
    if unreadable:
        finding = LibraryProblem(
            tr_lazy("permissions"),
            unreadable[0].relative_to(library).as_posix(),
            tr_lazy(
                "You may not read {files}.",
                files=first_names([file.relative_to(library).as_posix() for file in unreadable]),
            ),
            tr_lazy("Ask the owner of the library for permission to read all of it. Nothing was changed."),
            files=tuple(file.relative_to(library).as_posix() for file in unreadable),
        )
        result.add(finding)
        return False
    for file in unknown:
        relative_path = file.relative_to(library).as_posix()
        finding = LibraryProblem(
            tr_lazy("link"),
            relative_path,
            tr_lazy(
                "{inside} is a link to another place. A library must contain the files themselves.",
                inside=relative_path,
            )
            if file.is_symlink()
            else tr_lazy("{inside} is neither a file nor a folder.", inside=relative_path),
            tr_lazy("Repair (--repair) moves it to the folder 'damaged' and makes derived files again."),
        )
        result.add(finding, repairer.move_aside(file) if repairer is not None else "")
    return not result.unrepaired_problems


def _verify_access(folders: Sequence[Path], result: VerificationResult, *, repair: bool) -> None:
    """Who may use the library and the program's own files on this computer; both are made for their owner alone."""
    from semblance.core.files import make_private
    from semblance.core.workflows.maintenance.repair_library import open_to_others, own_folders

    for folder in (*folders, *own_folders()):
        files = open_to_others(folder)
        if not files:
            continue
        names = [file.relative_to(folder).as_posix() if file != folder else str(folder) for file in files]
        modes = [f"{name} ({mode:04o})" for name, mode in zip(names, files.values(), strict=True)]
        closed = [make_private(file) for file in files] if repair else [False]
        remedy = tr_lazy(
            "Repair (--repair) leaves them to their owner, as does `chmod -R go-rwx`. Where a group shares the folder "
            "on purpose, make it setgid first, as Privacy in the help says: the group then keeps its rights."
        )
        if repair:
            remedy = tr_lazy(
                "They belong to another user, or their disk has no permissions, as network and USB drives. Restrict "
                "who may read the whole disk, or move the folder."
            )
        finding = LibraryProblem(
            tr_lazy("access"),
            str(folder),
            tr_lazy(
                "Others on this computer may use {n:,} files and folders of {folder}: {files}.",
                n=len(files),
                folder=folder,
                files=first_names(modes),
            ),
            remedy,
            harm=False,
            files=tuple(names),
        )
        result.add(finding, tr_lazy("Only their owner may use them now.") if all(closed) else "")


def _verify_feature_rows(library: Library, result: VerificationResult, repairer: Repairer | None) -> None:
    from semblance.core.library.feature_checks import clear_unknown_rows, count_unknown_rows

    if unknown := count_unknown_rows(library.catalogue):
        finding = LibraryProblem(
            tr_lazy("catalogue rows"),
            CATALOGUE,
            tr_lazy("{strange:,} rows of features belong to no case.", strange=unknown),
            tr_lazy("Repair (--repair) removes them."),
        )
        done = ""
        if repairer is not None:
            done = tr_lazy("{n:,} rows were removed.", n=clear_unknown_rows(library.catalogue))
        result.add(finding, done)


def _verify_images(
    library: Library, result: VerificationResult, repairer: Repairer | None, reporter: Reporter
) -> None:
    from semblance.core.library.importers.source import Source
    from semblance.core.workflows.library.file_reader import file_identity

    checked = 0
    for source in library.catalogue.sources():
        reporter.progress(checked, None, tr_lazy("Looking for the images of {source}", source=source.name))
        files = {p: f for p, f in library.catalogue.files(source).items() if f.state in ("ok", "missing")}
        checked += len(files)
        if not files:
            continue
        if not source.path.exists():
            finding = LibraryProblem(
                tr_lazy("images"),
                str(source.path),
                tr_lazy("{source}: its images are missing ({n:,} files).", source=source.name, n=len(files)),
                tr_lazy(
                    "File > Find moved images… (semblance relink LIB FOLDER) finds them in their new folder."
                ),
            )
            result.add(finding)
            continue
        try:
            with Source.open(source.path) as opened:
                existing = {entry.path: entry for entry in opened.entries()}
                missing = sorted(set(files) - set(existing))
                changed = []
                for path in sorted(set(files) & set(existing)):
                    reporter.check_cancelled()
                    entry, known = existing[path], files[path]
                    stamp = entry.mtime_ns if entry.crc is None else entry.crc
                    if entry.size == known.size and stamp == known.stamp:
                        continue
                    if entry.size != known.size or file_identity(opened, path) != known.hash:
                        changed.append(path)
        except SemblanceError as error:
            result.add(LibraryProblem("images", str(source.path), error.message, error.hint))
            continue
        returned = sorted(p for p, f in files.items() if f.state == "missing" and p in existing)
        if missing:
            finding = LibraryProblem(
                tr_lazy("images"),
                str(source.path),
                tr_lazy(
                    "{source}: {n:,} of {n2:,} files are missing: {missing}.",
                    source=source.name,
                    n=len(missing),
                    n2=len(files),
                    missing=first_names(missing),
                ),
                tr_lazy(
                    "Find moved images… searches for them in other folders. Their cases keep their features."
                ),
                files=tuple(missing),
            )
            result.add(finding)
        if changed:
            finding = LibraryProblem(
                tr_lazy("images"),
                str(source.path),
                tr_lazy(
                    "{source}: {n:,} files have changed since they were imported: {changed}.",
                    source=source.name,
                    n=len(changed),
                    changed=first_names(changed),
                ),
                tr_lazy("Import the source again. The features of the cases are then extracted again."),
                files=tuple(changed),
            )
            result.add(finding)
        if repairer is not None:
            repairer.mark_images(library, source, missing, returned)
    result.checked["images"] = checked


def _verify_features(
    library: Library, result: VerificationResult, repairer: Repairer | None, reporter: Reporter
) -> None:
    from semblance.core.features.registry import stored_extractor
    from semblance.core.library.feature_checks import feature_damage

    feature_sets = library.features.every()
    result.checked["feature sets"] = len(feature_sets)
    for feature_set in feature_sets:
        state = feature_damage(library.features, feature_set, reporter)
        store = library.features.store_of(feature_set)
        relative_path = store.relative_to(library.files.folder).as_posix()
        total = state.cases + state.intact
        repaired = ""
        if state.damaged or not state.description:
            what = (
                tr_lazy("the description of its features is lost or damaged")
                if not state.description
                else tr_lazy("blocks of features lost or damaged: {n:,}", n=len(state.damaged))
            )
            finding = LibraryProblem(
                tr_lazy("features"),
                relative_path,
                tr_lazy(
                    "Feature set '{feature_set}': {what}. {cases:,} of {total:,} cases have no features.",
                    feature_set=feature_set.name,
                    what=what,
                    cases=state.cases,
                    total=total,
                ),
                tr_lazy("Repair (--repair) extracts them again from their images.")
                if stored_extractor(feature_set.extractor, feature_set.package).can_measure
                else tr_lazy(
                    "Repair (--repair) moves what is damaged aside. Then import the features again."
                ),
                files=tuple(f"{relative_path}/c/{number}/0" for number in state.damaged),
            )
            lost = state.cases
            if repairer is not None:
                done, lost = repairer.repair_features(library, feature_set, state)
                repaired = "" if lost else done
                finding = replace(finding, remedy=done)
            state = replace(state, intact=total - lost)
            result.add(finding, repaired)
        if state.intact:
            result.works.append(
                tr_lazy(
                    "Feature set '{feature_set}': {sound:,} of {total:,} cases.",
                    feature_set=feature_set.name,
                    sound=state.intact,
                    total=total,
                )
            )


def _verify_encoder(library: Library, result: VerificationResult, reporter: Reporter) -> None:
    """Whether new images would be measured in the same way as those of the library."""
    from semblance.core.features.encoder.extractor import Encoder
    from semblance.core.features.encoder.model_file import check_shipped_encoder

    if not any(feature_set.extractor == Encoder.name for feature_set in library.features.all()):
        return
    reporter.progress(0, None, "Checking the encoder")
    try:
        check_shipped_encoder()
    except SemblanceError as error:
        result.add(LibraryProblem(tr_lazy("encoder"), Encoder.name, error.message, error.hint))
    else:
        result.works.append(tr_lazy("The encoder gives the numbers it must."))


def _verify_metrics(
    library: Library, result: VerificationResult, repairer: Repairer | None, reporter: Reporter
) -> None:
    from semblance.core.metrics.metric import load_metric

    records = library.metrics()
    sets: dict[int, FeatureSet] = {one.id: one for one in library.features.all()}
    result.checked["metrics"] = len(records)
    for done, record in enumerate(records):
        reporter.check_cancelled()
        reporter.progress(done, len(records), "Checking metrics")
        wrong = ""
        try:
            loaded = load_metric(record.file)
            if loaded.card.content_hash != record.card.get("content_hash", loaded.card.content_hash):
                wrong = tr_lazy("It contains another metric than the catalogue states.")
        except SemblanceError as error:
            wrong = error.message
        if not wrong:
            result.works.append(tr_lazy("Metric '{record}'.", record=record.name))
            continue
        used = sets.get(record.feature_set)
        finding = LibraryProblem(
            tr_lazy("metric"),
            record.file.relative_to(library.files.folder).as_posix(),
            tr_lazy("Metric '{record}' cannot be used: {wrong}", record=record.name, wrong=wrong),
            retraining_advice(record, used.name if used is not None and len(sets) > 1 else ""),
        )
        result.add(finding, repairer.replace_metric_file(library, record) if repairer is not None else "")
        if result.findings[-1].repaired:
            result.works.append(tr_lazy("Metric '{record}'.", record=record.name))


def _verify_derived(
    library: Library, result: VerificationResult, repairer: Repairer | None, wrong: str
) -> None:
    from semblance.core.workflows.features.derived_arrays import EMBEDDING_SUFFIX
    from semblance.core.workflows.maintenance.repair_library import damaged_prepared_metrics

    if wrong:
        finding = LibraryProblem(
            tr_lazy("thumbnails"),
            "thumbnails.sqlite",
            tr_lazy("The thumbnails are damaged: {wrong}.", wrong=wrong),
            tr_lazy("They are made again when images are shown. Repair (--repair) makes all of them now."),
            harm=False,
        )
        result.add(finding, repairer.make_thumbnails(library) if repairer is not None else "")
    damaged = damaged_prepared_metrics(library.files.folder)
    result.checked["prepared metrics"] = len(list(library.derived.glob(f"*{EMBEDDING_SUFFIX}")))
    for file in damaged:
        finding = LibraryProblem(
            tr_lazy("derived"),
            file.relative_to(library.files.folder).as_posix(),
            tr_lazy("The prepared data of a metric are damaged."),
            tr_lazy("They are made again when the metric is used."),
            harm=False,
        )
        result.add(finding, repairer.rebuild_prepared_metric(library, file) if repairer is not None else "")


def _verify_unused_files(library: Library, result: VerificationResult, repairer: Repairer | None) -> None:
    from semblance.core.workflows.maintenance.repair_library import unused_files

    for file, is_young in unused_files(library):
        relative_path = file.relative_to(library.files.folder).as_posix()
        says = (
            tr_lazy(
                "{inside} does not belong to the library. It is new, and another program may still be"
                " writing it.",
                inside=relative_path,
            )
            if is_young
            else tr_lazy(
                "{inside} does not belong to the library. A program that was killed left it there.",
                inside=relative_path,
            )
        )
        finding = LibraryProblem(
            tr_lazy("left over"),
            relative_path,
            says,
            tr_lazy("Repair (--repair) moves it to the folder 'damaged' once it is an hour old."),
            harm=False,
        )
        result.add(finding, repairer.move_aside(file) if repairer is not None and not is_young else "")


def verify_catalogue(library: Path, result: VerificationResult, repairer: Repairer | None) -> bool:
    """Whether the catalogue can be used, possibly after a repair. Otherwise nothing else can be verified.

    Raises:
        BadInput: it was made by another version.
    """
    result.checked["catalogues"] = 1
    file = library / CATALOGUE
    return (
        _verify_structure(file, result, repairer)
        and _verify_readable(file, result, repairer)
        and _verify_references(file, result, repairer)
    )


def _verify_structure(file: Path, result: VerificationResult, repairer: Repairer | None) -> bool:
    from semblance.core.library.catalogue_repair import (
        integrity_errors,
        missing_columns,
        refuse_other_version,
    )

    refuse_other_version(file)
    if not (wrong := integrity_errors(file) or missing_columns(file)):
        return True
    finding = LibraryProblem(
        tr_lazy("catalogue"),
        CATALOGUE,
        tr_lazy("The catalogue is damaged: {wrong}.", wrong=wrong[0]),
        tr_lazy(
            "Restore a backup (semblance restore), or recover the readable part: semblance doctor"
            " LIB --repair."
        ),
    )
    done = repairer.recover_catalogue() if repairer is not None else ""
    if repairer is not None and not done:
        remedy = tr_lazy(
            "Nothing could be recovered. Restore a backup, or import the images into a new library."
        )
        finding = replace(finding, remedy=remedy)
    result.add(finding, done)
    return bool(done)


def _verify_readable(file: Path, result: VerificationResult, repairer: Repairer | None) -> bool:
    from semblance.core.library.catalogue_repair import unreadable_rows

    if not (unreadable := unreadable_rows(file)):
        return True
    finding = LibraryProblem(
        tr_lazy("catalogue rows"),
        CATALOGUE,
        tr_lazy("Rows of the catalogue cannot be read: {rows}.", rows=_row_counts_text(unreadable)),
        tr_lazy("Repair (--repair) recovers their readable part. A backup has them completely."),
    )
    done, all_repaired = repairer.repair_rows(unreadable) if repairer is not None else ("", False)
    if done and not all_repaired:
        finding = replace(finding, remedy=join_texts([done, finding.remedy], " "))
    result.add(finding, done if all_repaired else "")
    return all_repaired


def _verify_references(file: Path, result: VerificationResult, repairer: Repairer | None) -> bool:
    from semblance.core.library.catalogue_repair import orphan_rows

    if not (lost := orphan_rows(file)):
        return True
    rows = _row_counts_text({table: range(count) for table, count in lost.items()})
    finding = LibraryProblem(
        tr_lazy("catalogue rows"),
        CATALOGUE,
        tr_lazy("Rows refer to others that are missing: {rows}.", rows=rows),
        tr_lazy("Repair (--repair) removes them."),
    )
    result.add(finding, repairer.remove_orphans() if repairer is not None else "")
    return bool(result.findings[-1].repaired)


def _row_counts_text(rows: Mapping[str, Sequence[int]]) -> str:
    return join_texts(
        tr_lazy("{count:,} of {table}", count=len(found), table=table)
        for table, found in sorted(rows.items())
    )


#: Options of a training request that the command has too.
_OPTIONS = ("steps", "max-cases", "judgements")


def retraining_advice(record: MetricRecord, features: str = "") -> str:
    """How to train the metric of ``record`` again; ``features``: its feature set, if the library has several."""
    if record.learner == CLICKS:
        return tr_lazy(
            "Restore a backup, or make it again from its marks: save the metric of its search once "
            "more. Its card is kept."
        )
    try:
        command = _command(record, features)
    except BadArguments:
        return tr_lazy(
            "Restore a backup: this version has no learner '{learner}' to train it again with. Its card and "
            "scores are kept.",
            learner=record.learner,
        )
    requested = record.card.get(REQUESTED)
    if not isinstance(requested, Mapping):
        return tr_lazy(
            "If it was imported, import its file again. Otherwise train it again with the "
            "settings on its card ({command}), or restore a backup. Its card and scores are kept.",
            command=command,
        )
    if ONLY_IN_WINDOW in requested:
        return tr_lazy(
            "Train it again in the window, with the settings on its card, or restore a backup. Its card and "
            "scores are kept."
        )
    return tr_lazy(
        "Train it again ({command}), or restore a backup. Its card and scores are kept.", command=command
    )


def _command(record: MetricRecord, features: str) -> str:
    """The command that trains the metric, or the slider it is a step of.

    Raises:
        BadArguments: a learner this version does not know.
    """
    card = record.card
    slider = slider_of(card)
    arguments = ["--learner", record.learner, "--name", record.name if slider is None else slider[0]]
    if slider is not None:
        arguments.append("--slider")
    if features:
        arguments += ["--features", features]
    parameters, requested = _part(card, "parameters"), _part(card, REQUESTED)
    for parameter in declared_learner(record.learner).parameters:
        if parameter.name in parameters and parameters[parameter.name] != parameter.default:
            arguments += ["--set", f"{parameter.name}={parameters[parameter.name]}"]
    if seed := _part(card, "split").get("seed"):
        arguments += ["--seed", str(seed)]
    if findings_map := card.get("findings_map"):
        arguments += ["--findings", str(findings_map)]
    for option in _OPTIONS:
        if value := requested.get(option):
            arguments += [f"--{option}", str(value)]
    return f"semblance train LIB {shlex.join(arguments)}"


def _part(card: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a card, which may be missing or of another type in an imported card."""
    found = card.get(name)
    return found if isinstance(found, Mapping) else {}
