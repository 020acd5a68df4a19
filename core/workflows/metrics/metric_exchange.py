"""A metric as one file, for another library or another person."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.features.imported import DIGEST, Imported, origin_text
from semblance.core.files import create_folder, open_private, replacing
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation
from semblance.core.library.metric_scores import CHANGES_SINCE, HASH, hash_of
from semblance.core.library.open_library import open_library
from semblance.core.library.records import FeatureSet, checked_name, unique_name
from semblance.core.limits import allow_memory, max_text_bytes, memory_limit, size_text
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.declarations import CLICKS
from semblance.core.metrics.metric import load_metric
from semblance.core.metrics.registry import known_learner
from semblance.core.metrics.storage import DAMAGED, MANIFEST, save_metric
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.metrics.leakage import ELSEWHERE, contents_elsewhere
from semblance.core.workflows.metrics.stored_metric import stored_metric
from semblance.core.workflows.metrics.train_request import REQUESTED

if TYPE_CHECKING:
    from semblance.core.library.library import Library
    from semblance.core.library.records import MetricRecord
    from semblance.core.metrics.metric import Metric

SUFFIX = ".semblance-metric"
#: In the file: the metric itself, and the facts about it.
METRIC, ABOUT = "metric.zip", "about.json"
FORMAT, VERSION = "semblance-metric-exchange", 1
#: In the facts: SHA-256 of the metric itself, and what only the library that wrote the file can make of all of it.
_METRIC_SUM, _SEAL = "metric_sha256", "seal"
#: Keys of a card that stay in the library: authors, training cases elsewhere, names of ledgers.
_STAYS = ("authors", ELSEWHERE, REQUESTED, HASH)


def export_metric(library: LibraryLocation, name: str, out: Path, *, reporter: Reporter = SILENT) -> Path:
    """Write the metric called ``name``, its card and its scores to ``out``.

    The file names no case, patient or author. The training cases are identified by the hashes of their content, so
    that the same images are recognised in another library and never scored as held out.

    Raises:
        BadArguments: no such metric, or a name that does not end in .semblance-metric.
        SemblanceError: the file cannot be written.
    """
    if out.suffix != SUFFIX:
        raise BadArguments(
            tr_lazy("A metric's file cannot be called {out}.", out=out.name),
            tr_lazy("Let it end in {suffix}.", suffix=SUFFIX),
        )
    with open_library(library) as opened:
        record = opened.metric(name)
        # The file in the library names the authors of judgements.
        handed_on = stored_metric(record).with_card(authors=())
        metric = out.with_name(f".{out.name[:40]}-{secrets.token_hex(4)}.metric.part")
        try:
            with replacing(out, private=False) as temporary:
                _save(handed_on, metric, out)
                content = metric.read_bytes()
                facts = _about(opened, record) | {_METRIC_SUM: hashlib.sha256(content).hexdigest()}
                digest = hash_of(facts)
                about = json.dumps(facts | {HASH: digest, _SEAL: _seal(opened, digest)}, ensure_ascii=False)
                with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
                    # Without the times of writing, because the file leaves this computer.
                    archive.writestr(zipfile.ZipInfo(ABOUT), about, zipfile.ZIP_DEFLATED)
                    archive.writestr(zipfile.ZipInfo(METRIC), content, zipfile.ZIP_DEFLATED)
        except OSError as error:
            raise SemblanceError(
                tr_lazy(
                    "The metric could not be written to {out}: {reason}.",
                    out=out,
                    reason=error.strerror or error,
                ),
                "Choose a folder with free space that you may write to.",
            ) from error
        finally:
            metric.unlink(missing_ok=True)
    log_export(library, "metric", SUFFIX)
    return out


def _save(metric: Metric, file: Path, out: Path) -> None:
    """Write ``metric`` to ``file``; errors name ``out``, the path that the user chose."""
    try:
        save_metric(metric, file)
    except BadInput as error:
        raise SemblanceError(
            tr_lazy(
                "The metric could not be written to {out}: {reason}.",
                out=out,
                reason=tr_lazy("the disk refused it"),
            ),
            "Free some space or choose a folder you may write to.",
        ) from error


def import_metric(
    library: LibraryLocation,
    file: Path,
    name: str | None = None,
    *,
    content_here: Callable[[str], str] = str,
    reporter: Reporter = SILENT,
) -> str:
    """Import the metric in ``file`` into ``library``; returns its name there.

    ``file`` is one of :func:`export_metric`, or one that ``Metric.save`` wrote in Python. The latter does not say
    which cases it was trained on, so all cases of the library count as training cases and it is never scored on them.

    Cases of the library that it was trained on, here or elsewhere, count as training cases. Scores are imported only
    into the library they were measured in; elsewhere the metric has none until it is scored. A file that is not as it
    was exported, or that cannot say so, as those of earlier versions, gives an unverified metric without scores.
    Elsewhere than in the library that wrote it, this detects changes by those who do not renew the digest in the file.
    ``content_here`` gives the hash that ``library`` has for a content.

    Raises:
        BadArguments: a name it cannot have.
        BadInput: no such file, no metric, a damaged one, or features that the library does not have.
    """
    if name is not None:
        name = checked_name(name, tr_lazy("A metric"))
    if _saved_in_python(file):
        return _import_saved(library, file, name)
    about, packed, digest = _read(file)
    with open_library(library, writable=True) as opened:
        feature_set, other_file = _matching(opened, about["features"], file)
        target = opened.new_metric_file()
        create_folder(target.parent)
        try:
            with packed.open(METRIC) as source, open_private(target) as out:
                shutil.copyfileobj(source, out)
            metric = load_metric(target)
            intact = digest is not None and _file_sum(target) == about.get(_METRIC_SUM)
            if metric.n_features != len(feature_set.columns):
                raise _damaged(file)
            called = unique_name(name or str(about["name"]), [record.name for record in opened.metrics()])
            trained = {content_here(content) for content in about["training"]}
            cases = opened.catalogue.all_cases()
            rows = np.array([row.id for row in cases if row.content in trained], dtype=np.int64)
            here = about["library"] == _mark(opened)
            verified = intact and (not here or about.get(_SEAL) == _seal(opened, str(digest)))
            card = {**metric.card.to_json(), **about["card"], "name": called}
            card.pop(ELSEWHERE, None)
            # The counted cases may have been other ones.
            card.pop(REQUESTED, None)
            _check_card(card, file)
            # Not in this library, but they may be imported later, or the metric exported to a library that has them.
            if unknown := trained.difference(row.content for row in cases):
                card[ELSEWHERE] = sorted(unknown)
            if not (here and verified):
                card |= {"scores": {}, "measured_on": ""}
            if not verified:
                card |= {"unverified": True, "notes": []}
            card["notes"] = [*card.get("notes", ()), *_unknown_learner(about["learner"]), *other_file]
            opened.add_metric(
                called,
                str(about["learner"]),
                feature_set.id,
                target,
                card,
                rows,
                about["scores"] if here and verified else None,
            )
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            target.unlink(missing_ok=True)
            raise _damaged(file) from error
        except SemblanceError:
            target.unlink(missing_ok=True)
            raise
        except OSError as error:
            target.unlink(missing_ok=True)
            raise SemblanceError(
                tr_lazy(
                    "{opened} could not take the metric: {reason}.",
                    opened=opened.name,
                    reason=error.strerror or error,
                ),
                "Free some space, or look who may write to it.",
            ) from error
        finally:
            packed.close()
    return called


def import_file(
    library: LibraryLocation, file: Path, name: str | None = None, *, reporter: Reporter = SILENT
) -> tuple[str, bool, tuple[str, ...]]:
    """:func:`import_metric`; also returns whether the metric is unverified, and that its learner is unknown if so."""
    called = import_metric(library, file, name, reporter=reporter)
    with open_library(library) as opened:
        card = opened.metric(called).card
        return called, bool(card.get("unverified")), _unknown_learner(card["learner"])


def _saved_in_python(file: Path) -> bool:
    """Whether ``file`` contains a metric alone, without the facts that a library stores."""
    try:
        with zipfile.ZipFile(file) as archive:
            return MANIFEST in archive.namelist()
    except (*DAMAGED, OSError):
        return False


def _import_saved(library: LibraryLocation, file: Path, name: str | None) -> str:
    """:func:`import_metric` of a file that ``Metric.save`` wrote."""
    metric = load_metric(file)
    if _name_problem(metric.card.learner):
        raise _damaged(file)
    with open_library(library, writable=True) as opened:
        feature_set = _with_columns(opened, metric, file)
        own = metric.card.learner if _name_problem(file.stem) else file.stem
        called = unique_name(name or own, [record.name for record in opened.metrics()])
        target = opened.new_metric_file()
        create_folder(target.parent)
        rows = np.array([row.id for row in opened.catalogue.all_cases()], dtype=np.int64)
        note = tr_lazy(
            "Trained outside this library. The file does not say on which cases, so all cases of this library count "
            "as training cases."
        )
        card = dataclasses.replace(
            metric.card,
            name=called,
            scores={},
            measured_on="",
            notes=(note, *_unknown_learner(metric.card.learner)),
            unverified=True,
        )
        try:
            save_metric(dataclasses.replace(metric, card=card), target)
            opened.add_metric(called, card.learner, feature_set.id, target, card.to_json(), rows, None)
        except SemblanceError:
            target.unlink(missing_ok=True)
            raise
    return called


def _with_columns(library: Library, metric: Metric, file: Path) -> FeatureSet:
    """The feature set whose columns, or their groups, have the names of those that ``metric`` takes."""
    for feature_set in library.features.all():
        if metric.feature_groups in tuple(zip(*feature_set.columns, strict=True)):
            return feature_set
    raise BadInput(
        tr_lazy(
            "{file} compares cases by {n} features ({names}, …) that {library} does not have.",
            file=file.name,
            n=metric.n_features,
            names=", ".join(metric.feature_groups[:3]),
            library=library.name,
        ),
        "Import the table with these columns. In Python, fit the metric on a data frame, which names them.",
    )


def _about(library: Library, record: MetricRecord) -> dict[str, Any]:
    feature_set = library.features.of_metric(record)
    trained = set(record.training.tolist())
    contents = {row.content for row in library.catalogue.all_cases() if row.id in trained}
    contents.update(contents_elsewhere(record.card))
    # Errors name the cases that changed since.
    scores = {key: value for key, value in (record.scores or {}).items() if key not in CHANGES_SINCE}
    if scores.get("calibration"):
        # Row ids of this library are not valid elsewhere.
        scores["calibration"] = None
    return {
        "format": FORMAT,
        "version": VERSION,
        "library": _mark(library),
        "name": record.name,
        "learner": record.learner,
        "card": {key: value for key, value in record.card.items() if key not in _STAYS},
        "scores": scores or None,
        "features": _features(feature_set),
        "training": sorted(contents),
    }


def _features(feature_set: FeatureSet) -> dict[str, Any]:
    return {
        "extractor": feature_set.extractor,
        "version": feature_set.version,
        "settings": feature_set.extractor_settings,
        "columns": [list(column) for column in feature_set.columns],
    }


def _mark(library: Library) -> str:
    """An identifier of the library an export comes from; empty if the library has no key yet."""
    return library.pseudonyms().reference("the library itself") if library.writable else ""


def _seal(library: Library, digest: str) -> str:
    """What only ``library`` makes of the digest of a file; empty as :func:`_mark`."""
    return library.pseudonyms().reference(f"a metric {digest}") if library.writable else ""


def _file_sum(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _unknown_learner(learner: str) -> tuple[str, ...]:
    """What the card of a metric says whose learner this program does not have; its distance is enough to rank by."""
    if learner == CLICKS or known_learner(learner) is not None:
        return ()
    return (
        tr_lazy(
            "Learner unknown: this program does not have '{learner}'. The metric ranks, and cannot be trained again.",
            learner=learner,
        ),
    )


def _matching(
    library: Library, required: Mapping[str, Any], file: Path
) -> tuple[FeatureSet, tuple[str, ...]]:
    """The feature set that a metric takes, and what its card has to say of it.

    Imported features are the same if their files were. If only their columns are called alike, whoever imported them
    knows whether one model made both, and the card says so.
    """
    for feature_set in library.features.all():
        if json.loads(json.dumps(_features(feature_set))) == required:
            return feature_set, ()
    if required["extractor"] == Imported.name:
        return _matching_imported(library, required, file)
    settings = " ".join(f"--set {key}={value}" for key, value in dict(required["settings"]).items())
    command = f"semblance features LIB --extractor {required['extractor']} {settings}".strip()
    raise BadInput(
        tr_lazy(
            "{file} compares cases by '{extractor}' features that {library} does not have.",
            file=file.name,
            extractor=required["extractor"],
            library=library.name,
        ),
        tr_lazy(
            "Extract them first ({command}), with the version of Semblance that made the metric.",
            command=command,
        ),
    )


def _matching_imported(
    library: Library, required: Mapping[str, Any], file: Path
) -> tuple[FeatureSet, tuple[str, ...]]:
    origin, columns = origin_text(required["settings"]), required.get("columns")
    alike = [
        one
        for one in library.features.all()
        if one.extractor == Imported.name and [list(column) for column in one.columns] == columns
    ]
    same = [one for one in alike if one.settings.get(DIGEST) == required["settings"].get(DIGEST)]
    if same:
        return same[0], ()
    if alike:
        note = tr_lazy(
            "It was trained on imported features of the same names and number ({origin}). That one model made both is "
            "not checked.",
            origin=origin,
        )
        return alike[0], (note,)
    raise BadInput(
        tr_lazy(
            "{file} compares cases by {n} imported features ({origin}) that {library} does not have.",
            file=file.name,
            n=len(columns) if isinstance(columns, list) else 0,
            origin=origin,
            library=library.name,
        ),
        "Import features of the same model under the same name first: semblance import-features.",
    )


def _check_card(card: Mapping[str, Any], file: Path) -> None:
    try:
        MetricCard.from_json(card)
    except BadInput as error:
        raise BadInput(
            tr_lazy("{file} cannot be used. {message}", file=file.name, message=error.message),
            "Export it again where it is whole.",
        ) from None


def _check_sizes(sizes: Mapping[str, int], file: Path) -> None:
    for entry, limit in ((METRIC, memory_limit()), (ABOUT, max_text_bytes())):
        if sizes[entry] > limit:
            raise BadInput(
                tr_lazy(
                    "'{entry}' in {file} has {size}, above the limit of {limit}.",
                    entry=entry,
                    file=file,
                    size=size_text(sizes[entry]),
                    limit=size_text(limit),
                ),
                tr_lazy(
                    "If you know where it comes from, {allow}.",
                    allow=allow_memory(memory_limit() * sizes[entry] // limit + 1),
                ),
            )


def _read(file: Path) -> tuple[dict[str, Any], zipfile.ZipFile, str | None]:
    """The facts about the metric in the file, the open file, and the digest of the facts; ``None`` where the file has
    another one or none."""
    try:
        packed = zipfile.ZipFile(file)
    except FileNotFoundError:
        raise BadInput(tr_lazy("There is no file {file}.", file=file), "Choose another.") from None
    except OSError as error:
        raise BadInput(
            tr_lazy("{file} cannot be read: {reason}.", file=file, reason=error.strerror or error),
            "Choose another file.",
        ) from error
    except DAMAGED as error:
        raise _damaged(file) from error
    try:
        sizes = {info.filename: info.file_size for info in packed.infolist()}
        if set(sizes) != {METRIC, ABOUT}:
            raise _damaged(file)
        _check_sizes(sizes, file)
        about = json.loads(packed.read(ABOUT).decode())
        if about.get("format") != FORMAT:
            raise _damaged(file)
        if about.get("version") != VERSION:
            raise BadInput(
                tr_lazy("{file} was made by another version of Semblance.", file=file.name),
                "Update Semblance.",
            )
        kinds = {
            "library": str,
            "name": str,
            "learner": str,
            "card": dict,
            "features": dict,
            "training": list,
        }
        if not all(isinstance(about.get(key), kind) for key, kind in kinds.items()):
            raise _damaged(file)
        features = about["features"]
        valid = (
            isinstance(about.get("scores"), (dict, type(None)))
            and isinstance(features.get("extractor"), str)
            and isinstance(features.get("settings"), dict)
            and all(isinstance(content, str) for content in about["training"])
        )
        if not valid or _name_problem(about["name"]):
            raise _damaged(file)
        digest = hash_of({key: value for key, value in about.items() if key not in (HASH, _SEAL)})
        return about, packed, digest if about.get(HASH) == digest else None
    except (*DAMAGED, OSError) as error:
        packed.close()
        raise _damaged(file) from error
    except BadInput:
        packed.close()
        raise


def _name_problem(name: str) -> bool:
    """Whether no metric can have this name."""
    try:
        checked_name(name, tr_lazy("A metric"))
    except BadArguments:
        return True
    return False


def _damaged(file: Path) -> BadInput:
    return BadInput(
        tr_lazy("{file} is no metric of Semblance, or it is damaged.", file=file.name),
        "Export it again where it is whole.",
    )
