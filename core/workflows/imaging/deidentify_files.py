"""De-identify DICOM files into a folder, with a receipt of what was removed and by which rule."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.files import is_taken, make_folder, write_file
from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.deidentification.clean_pixels import Boxes, has_overlay_bits, remove_overlay_bits
from semblance.core.imaging.deidentification.deidentify_dataset import (
    DeidentificationChanges,
    check_kind,
    deidentify,
)
from semblance.core.imaging.deidentification.profile import BASIC, EDITION, Option, Profile
from semblance.core.imaging.deidentification.project_key import project_pseudonyms
from semblance.core.imaging.deidentification.repack_pixels import repack_pixels
from semblance.core.imaging.dicom.attributes import text
from semblance.core.imaging.dicom.burnt_in_text import burnt_in_text
from semblance.core.imaging.dicom.dicom_file import (
    DicomFile,
    errors_as_bad_input,
    looks_like_dicom,
    open_dicom,
    whole_dataset,
)
from semblance.core.imaging.dicom.identity import Identity
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.dicom.transfer_syntaxes import DEFLATED_FRAMES
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.language import LazyText, tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.importers.source import Source
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.pseudonyms import pseudonyms_of
from semblance.core.library.records import CATALOGUE, now
from semblance.core.metrics.training import versions
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.imaging.clean_burnt_in_text import PixelCleaner, TextReview

if TYPE_CHECKING:
    from pydicom import Dataset

#: What the receipt is called.
RECEIPT = "receipt.json"
#: Project of those who name none.
PROJECT = "default"
#: Stands in a receipt for what a reason quotes of a file.
_QUOTED = "…"
_DIRECTORY = "1.2.840.10008.1.3.10"


@dataclass
class DeidentifiedFiles:
    """What :func:`deidentify_files` wrote into ``folder`` (``None``: nothing is written): names and SHA-256 of
    ``files``, and ``failed`` and ``ignored`` (file, reason). ``unchecked``: files that may have burnt-in text, which
    was not looked for; ``boxes``: what was blacked out in each file, frame by frame."""

    folder: Path | None
    profile: Profile
    files: dict[str, str] = field(default_factory=dict)
    failed: list[tuple[str, str]] = field(default_factory=list)
    ignored: list[tuple[str, str]] = field(default_factory=list)
    patients: set[str] = field(default_factory=set)
    unchecked: int = 0
    boxes: dict[str, Boxes] = field(default_factory=dict)
    changes: DeidentificationChanges = field(default_factory=DeidentificationChanges)
    #: How often each reason of ``failed`` occurred, without what it quotes of a file.
    not_written: Counter[str] = field(default_factory=Counter)

    def add_failed(self, file: str, reason: str) -> None:
        """Note that ``file`` is not written, and why."""
        self.failed.append((file, str(reason).replace(f"'{file}'", "It")))
        self.not_written[_without_values(reason).replace(f"'{_QUOTED}'", "It")] += 1

    @property
    def receipt_file(self) -> Path:
        """Where the receipt was written."""
        assert self.folder is not None
        return self.folder / RECEIPT

    def to_json(self) -> dict[str, Any]:
        """As plain values for ``--json``; names of source files are in it."""
        return {
            "folder": str(self.folder),
            "receipt": str(self.receipt_file),
            "files": len(self.files),
            "patients": len(self.patients),
            "burnt_in_text_not_checked": self.unchecked,
            "burnt_in_text": self._blacked_out(),
            "failed": [{"file": file, "reason": str(reason)} for file, reason in self.failed],
            "ignored": [{"file": file, "reason": str(reason)} for file, reason in self.ignored],
        }

    def receipt(self) -> dict[str, Any]:
        """What was removed and by which rule, without any value or name of a source file."""
        return {
            "program": "Semblance",
            "version": versions()["semblance"],
            "created": now(),
            "standard": f"DICOM PS3.15 {EDITION} Annex E",
            "profile": [{"code": code, "meaning": meaning} for code, meaning in self.profile.codes()],
            "patients": len(self.patients),
            "files": [{"file": name, "sha256": digest} for name, digest in sorted(self.files.items())],
            "not_written": dict(self.not_written),
            "burnt_in_text_not_checked": self.unchecked,
            "burnt_in_text": self._blacked_out(),
            "changes": self.changes.to_json(),
        }

    def _blacked_out(self) -> dict[str, int]:
        """How many boxes were blacked out, in how many frames and files."""
        frames = [boxes for of_file in self.boxes.values() for boxes in of_file if boxes]
        return {
            "files": sum(any(of_file) for of_file in self.boxes.values()),
            "frames": len(frames),
            "boxes": sum(map(len, frames)),
        }


def deidentify_files(
    source: LibraryLocation,
    out: Path,
    options: Collection[Option] = (),
    project: str | None = None,
    *,
    review: Path | None = None,
    boxes: Path | None = None,
    reporter: Reporter = SILENT,
) -> DeidentifiedFiles:
    """Write the DICOM files of ``source`` into the new folder ``out``, de-identified by the Basic Profile with
    ``options``, and a receipt beside them.

    ``source`` is a folder, a zip, a file, or a library: then its sources are read, its own codes are used, and the
    export is logged. Otherwise the key of ``project`` gives the codes, so that a second call gives the same. Files
    are in a folder for each patient, study and series and are named by their codes.

    With the option for pixels text is looked for in every frame and blacked out. The folder ``review`` gets the images
    with a frame around what was blacked out, which still show it, and the boxes as a file. Given again as ``boxes``,
    with or without changes, they are used in place of those that would be found.

    Raises:
        BadArguments: ``out`` or ``review`` is not empty or lies in ``source``, or ``review`` in ``out``; options that
            exclude each other; no such project; a review or boxes without the option for pixels.
        BadInput: ``source`` or ``boxes`` is not there or cannot be read.
        SemblanceError: ``out`` cannot be written; what finds text is not installed.
        Cancelled: the reporter was cancelled; finished files stay, with a receipt.
    """
    profile = Profile(frozenset(options))
    _check_folder(source, out)
    cleaner = _pixel_cleaner(profile, source, out, review, boxes)
    library, pseudonyms = _library_and_pseudonyms(source, project)
    result = DeidentifiedFiles(out, profile)
    make_folder(out, private=False)
    try:
        for path in _sources(source, library):
            _deidentify_source(path, result, pseudonyms, cleaner, reporter)
    finally:
        write_file(
            out / RECEIPT, json.dumps(result.receipt(), indent=1, ensure_ascii=False).encode(), private=False
        )
        log_export(library, "de-identified images", "dcm", files=len(result.files))
        if cleaner is not None:
            cleaner.log_review(library)
    return result


def deidentify_images(
    pseudonyms: Pseudonyms,
    addresses: Sequence[ImageAddress],
    out: Path,
    *,
    clean: bool = False,
    reporter: Reporter = SILENT,
) -> DeidentifiedFiles:
    """Write the DICOM files at ``addresses`` into the folder ``out``, de-identified as by :func:`deidentify_files` with
    the codes of ``pseudonyms`` (:func:`library_pseudonyms`); ``clean``: text burnt into them is blacked out. Nothing is
    logged.

    Raises:
        SemblanceError: ``out`` cannot be written; what finds text is not installed.
    """
    result = DeidentifiedFiles(out, Profile(frozenset({Option.PIXELS} if clean else ())))
    cleaner = PixelCleaner() if clean else None
    with ImageReader() as reader:
        for address in addresses:
            try:
                with reader.dicom_file(address) as file:
                    if file is None:
                        raise BadInput("It is no DICOM file.", "Export it as png.")
                    _deidentify_file(open_dicom(file, str(address)), result, pseudonyms, cleaner, reporter)
            except BadInput as error:
                result.add_failed(str(address), error.__str__())
    return result


def find_text_for_review(
    source: LibraryLocation,
    review: Path,
    options: Collection[Option],
    project: str | None = None,
    *,
    reporter: Reporter = SILENT,
) -> TextReview:
    """Look for text in the images of ``source`` and write those that have some or may have some into the new folder
    ``review``, without boxes. They show the patients' names. Nothing else is written.

    :func:`semblance.core.workflows.imaging.clean_burnt_in_text.write_boxes` makes of the result, after changes to its
    boxes, the file that :func:`deidentify_files` takes with the same arguments. Files that cannot be read are left out:
    they will not be written either.

    Raises:
        BadArguments, BadInput, SemblanceError, Cancelled: as :func:`deidentify_files`.
    """
    profile = Profile(frozenset(options) | {Option.PIXELS})
    _check_folder(source, review)
    library, pseudonyms = _library_and_pseudonyms(source, project)
    result = DeidentifiedFiles(None, profile)
    cleaner = PixelCleaner(review, draw_boxes=False)
    for path in _sources(source, library):
        _deidentify_source(path, result, pseudonyms, cleaner, reporter)
    return cleaner.review


def _library_and_pseudonyms(
    source: LibraryLocation, project: str | None
) -> tuple[LibraryLocation | None, Pseudonyms]:
    """``source`` if it is a library, and the pseudonyms.

    Raises:
        BadArguments: a project for a library, or no such name.
    """
    if isinstance(source, Path) and not (source / CATALOGUE).is_file():
        return None, project_pseudonyms(project or PROJECT)
    if project is not None:
        raise BadArguments("A library has its own key.", "Leave out the project.")
    return source, library_pseudonyms(source)


def _deidentify_source(
    path: Path,
    result: DeidentifiedFiles,
    pseudonyms: Pseudonyms,
    cleaner: PixelCleaner | None,
    reporter: Reporter,
) -> None:
    with Source.open(path) as source:
        entries = source.entries()
        what = (
            tr_lazy("Looking for text in {name}", name=path.name)
            if result.folder is None
            else tr_lazy("De-identifying {name}", name=path.name)
        )
        for file, reason in source.refused:
            result.add_failed(file, reason)
        result.ignored += source.ignored
        for number, entry in enumerate(entries):
            reporter.check_cancelled()
            reporter.progress(number, len(entries), what)
            label = source.label(entry.path)
            try:
                if not looks_like_dicom(source.head(entry.path)):
                    result.ignored.append((label, tr_lazy("not a DICOM file")))
                    continue
                with contextlib.closing(source.stream(entry.path)) as stream:
                    _deidentify_file(open_dicom(stream, label), result, pseudonyms, cleaner, reporter)
            except BadInput as error:
                result.add_failed(label, error.__str__())


def _pixel_cleaner(
    profile: Profile, source: LibraryLocation, out: Path, review: Path | None, boxes: Path | None
) -> PixelCleaner | None:
    if Option.PIXELS not in profile.options:
        if review is not None or boxes is not None:
            raise BadArguments("Boxes are for text in pixels.", "Add --clean pixels.")
        return None
    if review is not None:
        _check_folder(source, review)
        if review.resolve() == out.resolve() or out.resolve() in review.resolve().parents:
            raise BadArguments(
                "The review shows what is removed, so it cannot lie among the de-identified files.",
                "Choose another folder for it.",
            )
    return PixelCleaner(review, boxes)


def _deidentify_file(
    opened: DicomFile,
    result: DeidentifiedFiles,
    pseudonyms: Pseudonyms,
    cleaner: PixelCleaner | None,
    reporter: Reporter,
) -> None:
    if (
        text(opened.dataset, "MediaStorageSOPClassUID") == _DIRECTORY
        or "DirectoryRecordSequence" in opened.dataset
    ):
        raise BadInput("It is the directory of a medium, which lists patients.", "It is not needed.")
    dataset = whole_dataset(opened)
    possible, has_overlay = burnt_in_text(dataset), has_overlay_bits(dataset)
    with errors_as_bad_input(opened.name):
        changes = DeidentificationChanges()
        check_kind(dataset)
        if opened.pixels and result.folder is not None:
            identity = Identity.of(dataset)
            if left_out := repack_pixels(dataset, opened, identity):
                changes.counts[
                    f"(7FE0,0010) {opened.pixels}", "bytes that are no pixels left out", BASIC[0]
                ] += left_out
        deidentify(dataset, result.profile, pseudonyms, changes)
        patient = str(dataset.PatientID)
        name = _file_name(dataset, patient, pseudonyms)
        syntax, found = opened.syntax, None
        if result.folder is None:
            if cleaner is not None and opened.pixels:
                cleaner.find(opened, name, suspicious=bool(possible), reporter=reporter)
            return
        if cleaner is not None and opened.pixels:
            syntax, found = cleaner.clean(
                dataset, opened, name, changes, suspicious=bool(possible), reporter=reporter
            )
        if has_overlay and opened.pixels and not any(found or ()):
            syntax = remove_overlay_bits(dataset, DicomImages.of(opened)) or syntax
        content = _encoded(dataset, syntax)
    if name in result.files:
        if hashlib.sha256(content).hexdigest() == result.files[name]:
            return
        raise BadInput("Another file has the same instance UID and other content.", "Keep one of them.")
    file = result.folder / name
    make_folder(file.parent, private=False)
    write_file(file, content, private=False)
    result.files[name] = hashlib.sha256(content).hexdigest()
    result.patients.add(patient)
    if found is None:
        result.unchecked += bool(possible)
    else:
        result.boxes[name] = found
    result.changes.counts.update(changes.counts)


def _without_values(reason: str) -> str:
    """A reason without the names and texts that it quotes, which may be the patient's: they may stand anywhere in a
    file and be all that can be read of it."""
    if not isinstance(reason, LazyText) or not reason.values:
        return str(reason)
    values = {
        name: one
        if isinstance(one, (int, float))
        else _without_values(one)
        if isinstance(one, LazyText)
        else _QUOTED
        for name, one in reason.values.items()
    }
    return str(LazyText(reason.msgid, values, reason.plural, reason.n))


def _encoded(dataset: Dataset, syntax: str) -> bytes:
    """The bytes of a file with a preamble and file meta information of its own."""
    from pydicom.dataset import FileMetaDataset
    from pydicom.uid import PYDICOM_IMPLEMENTATION_UID, UID

    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = (
        dataset.SOPClassUID,
        dataset.SOPInstanceUID,
    )
    meta.TransferSyntaxUID = UID(syntax)
    dataset.file_meta = meta
    dataset.preamble = b"\0" * 128
    out = io.BytesIO()
    if syntax == DEFLATED_FRAMES:
        # pydicom does not know it, and would refuse what it can write.
        meta.FileMetaInformationVersion, meta.ImplementationClassUID = b"\0\1", PYDICOM_IMPLEMENTATION_UID
        dataset.save_as(out, implicit_vr=False, little_endian=True, force_encoding=True)
    else:
        dataset.save_as(out, enforce_file_format=True)
    return out.getvalue()


def _file_name(dataset: Dataset, patient: str, pseudonyms: Pseudonyms) -> str:
    study, series = text(dataset, "StudyInstanceUID"), text(dataset, "SeriesInstanceUID")
    instance = text(dataset, "SOPInstanceUID")
    if not instance or "SOPClassUID" not in dataset:
        raise BadInput("It has no UID of its instance or class.", "Leave it out.")
    parts = [pseudonyms.place(one) for one in (study, series)]
    return f"{patient}/study-{parts[0]}/series-{parts[1]}/{pseudonyms.case(instance)}.dcm"


def _sources(source: LibraryLocation, library: LibraryLocation | None) -> Iterator[Path]:
    if library is None:
        assert isinstance(source, Path)
        yield source
        return
    with open_library(library) as opened:
        found = [one.path for one in opened.catalogue.sources()]
    yield from found


def library_pseudonyms(library: LibraryLocation) -> Pseudonyms:
    """The codes of a library, which it keeps from then on."""
    with open_library(library, writable=True) as opened:
        return pseudonyms_of(opened.catalogue)


def _check_folder(source: LibraryLocation, out: Path) -> None:
    if isinstance(source, Path) and source.resolve() in (out.resolve(), *out.resolve().parents):
        raise BadArguments(
            "De-identified files cannot be written into their source.", "Choose another folder for them."
        )
    try:
        is_filled = is_taken(out)
    except OSError as error:
        raise SemblanceError(
            tr_lazy("{folder} cannot be read: {reason}.", folder=out, reason=error.strerror or error),
            "Choose another folder.",
        ) from error
    if is_filled:
        raise BadArguments(tr_lazy("{folder} is not empty.", folder=out), "Choose a new folder.")
