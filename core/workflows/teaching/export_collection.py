"""Export a teaching collection: as slides, as a teaching set with covered findings, or as DICOM key objects."""

from __future__ import annotations

import contextlib
import io
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.files import is_taken, make_folder, write_file
from semblance.core.imaging import ImageReader, open_image
from semblance.core.imaging.drawn_figures import drawn_figures
from semblance.core.imaging.hide_text import TextHider
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.imaging.raster import decode
from semblance.core.imaging.region import Region
from semblance.core.imaging.thumbnail import LONGEST, region_thumbnail, thumbnail
from semblance.core.language import tr_lazy, translate
from semblance.core.library.collections import Collection, CollectionItem
from semblance.core.library.export_log import log_export
from semblance.core.library.library import Library
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CaseDetails
from semblance.core.reports.case_attributes import attribute_title, shown_attributes
from semblance.core.reports.dicom.common import SourceObject
from semblance.core.reports.redaction import CaseNames, Redactor
from semblance.core.reports.teaching_set import TeachingCase, TeachingSet, set_files, slides_pdf
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.imaging.card_images import CardImage
from semblance.core.workflows.imaging.case_annotations import figures_of_case, labels_on, measured_slice
from semblance.core.workflows.imaging.key_images import key_images_of
from semblance.core.workflows.imaging.library_cache import cached_library, case_at
from semblance.core.workflows.reports.report_objects import referred_object

#: The longest side of an exported image in pixels.
IMAGE_SIDE = 1400


@dataclass(frozen=True)
class CollectionExport:
    """``identified`` keeps the ids of cases and patients; ``free_text``: notes, and texts of headers that may name the
    patient; ``clean_pixels``: text burnt into the images is blacked out; ``marks``: measurements with their results are
    drawn on the images."""

    identified: bool = False
    free_text: bool = False
    clean_pixels: bool = False
    marks: bool = False


@dataclass(frozen=True)
class ExportedCollection:
    """The ``files`` written, and the items ``failed`` (case, reason) that are not in them."""

    files: tuple[Path, ...]
    failed: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As plain values for ``--json``."""
        return {
            "files": [str(file) for file in self.files],
            "failed": [{"case_id": case, "reason": reason} for case, reason in self.failed],
        }


def export_collection(
    library: LibraryLocation,
    name: str,
    out: Path,
    options: CollectionExport | None = None,
    *,
    reporter: Reporter = SILENT,
) -> ExportedCollection:
    """Write the collection ``name`` to ``out``: slides (.pdf), DICOM key objects (.dcm), a teaching set in a .zip file,
    or in a new folder where there is no ending. It is de-identified unless ``options`` say otherwise. Slides and
    teaching sets name cases that are gone; key objects cannot refer to them.

    Raises:
        BadArguments: no such collection, or another ending.
        BadInput: nothing is in it, or the folder is not empty; key objects of no DICOM image.
        SemblanceError: it cannot be written.
    """
    chosen, suffix = options or CollectionExport(), out.suffix.lower()
    if suffix not in ("", ".pdf", ".zip", ".dcm"):
        raise BadArguments(
            tr_lazy("A collection cannot be written as {ending}.", ending=suffix),
            tr_lazy(
                "Use a name that ends in .pdf (slides), .zip (teaching set) or .dcm (key objects), or a folder."
            ),
        )
    with open_library(library) as opened:
        collection = opened.collections.get(name)
        if not collection.items:
            raise BadInput(tr_lazy("The collection '{name}' is empty.", name=name), "Add cases to it first.")
        if suffix == ".dcm":
            result = _write_key_objects(opened, collection, out, chosen)
        else:
            teaching = teaching_set(opened, collection, chosen, reporter)
            reporter.progress(0, None, tr_lazy("Writing {out}", out=out.name))
            result = ExportedCollection(tuple(_write_set(teaching, out)))
    kind = {"": "folder", ".zip": "zip", ".pdf": "pdf", ".dcm": "kos"}[suffix]
    log_export(library, "collection", kind, identified=chosen.identified, files=len(result.files))
    return result


def teaching_set(
    library: Library, collection: Collection, options: CollectionExport, reporter: Reporter = SILENT
) -> TeachingSet:
    """The cases of ``collection`` with their images; those that are gone from the library are named.

    Raises:
        SemblanceError: what finds burnt-in text is not installed.
    """
    cases = library.catalogue.details_of(item.case for item in collection.items)
    notes = library.notes.of_cases(list(cases))
    names = CaseNames()
    redactor = Redactor(
        options.identified,
        {case.patient for case in cases.values() if case.patient},
        {str(case.address): key for key, case in cases.items() if case.address is not None}
        | {item.case: item.case for item in collection.items},
        names,
    )
    hider = TextHider(reporter) if options.clean_pixels else None
    found = []
    for done, item in enumerate(collection.items):
        reporter.check_cancelled()
        reporter.progress(done, len(collection.items), tr_lazy("Reading images"))
        case = cases.get(item.case)
        shown = item.case if options.identified else translate(names(item.case))
        if case is None:
            found.append(TeachingCase(shown, is_gone=True))
            continue
        texts = [item.notes, notes[item.case].text if item.case in notes else ""]
        facts = shown_attributes(case.attributes, identified=options.identified, free_text=options.free_text)
        if options.identified and case.patient:
            facts = {tr_lazy("Patient"): case.patient, **facts}
        found.append(
            TeachingCase(
                shown,
                case.finding,
                {attribute_title(key): redactor.redact(value) for key, value in facts.items()},
                redactor.redact("\n".join(filter(None, texts))) if options.free_text else "",
                _image(library, case, item, hider, options),
            )
        )
    return TeachingSet(
        redactor.redact(collection.name),
        redactor.redact(collection.notes) if options.free_text else "",
        tuple(found),
        options.identified,
        library.catalogue.now(),
    )


def item_image(
    library: LibraryLocation, row: int, item: CollectionItem, *, reporter: Reporter = SILENT
) -> CardImage:
    """The image of ``item``, whose case is in a row of the catalogue, on its slice and with its place outlined.

    Raises:
        BadInput: the case or its image is gone, or it cannot be read.
    """
    opened = cached_library(library)
    encoded = _image(opened, case_at(opened, row), item, None, CollectionExport(identified=True))
    if encoded is None:
        raise BadInput("This case has no image any more.", "Refresh the library.")
    return CardImage(row, decode(encoded, item.case).pixels)


def place_of(case: CaseDetails, item: CollectionItem) -> Region | None:
    """The region that ``item`` is about, on its slice; if it has none that of the case, where that slice has it."""
    if item.region is not None or case.region is None:
        return item.place
    part = case.region if item.slice is None else case.region.on_slice(item.slice)
    return None if part is None else replace(item, region=part).place


def _image(
    library: Library,
    case: CaseDetails,
    item: CollectionItem,
    hider: TextHider | None,
    options: CollectionExport,
) -> bytes | None:
    """The whole image with the place outlined; of a volume without a place or slice, where measurements are drawn, the
    first slice with one, else the middle one; the stored thumbnail where the file is gone, and where text in a larger
    image could be read."""
    if case.address is None:
        return None
    place = place_of(case, item)
    shown = place
    figures = figures_of_case(library, case.case_id) if options.marks else ()
    number = measured_slice(figures) if item.slice is None else item.slice
    if shown is None and number is not None:
        shown = Region(0, 0, 1, 1, z=number)
    number = case.shown_slice if shown is None else shown.middle_slice
    is_small = not options.identified and hider is None and bool(case.attributes.get("burnt_in_text"))
    longest = LONGEST if is_small else IMAGE_SIDE
    try:
        image = open_image(case.address, shown)
    except SemblanceError:
        return None if hider else library.thumbnails.get([case.content]).get(case.content)
    labels = labels_on(image, number, figures)
    if hider is not None:
        image, _ = hider.hide(image, (case.address, None if shown is None else shown.middle_slice))
    picture = None
    if place is not None:
        with contextlib.suppress(BadInput):
            picture = region_thumbnail(image, place.on_slice(place.middle_slice or 0) or place, longest)
    picture = picture or thumbnail(image, longest)
    if not labels:
        return picture
    return drawn_figures(picture, list(labels), image.width, image.height, list(labels.values()))


def _write_set(teaching: TeachingSet, out: Path) -> list[Path]:
    if out.suffix.lower() == ".pdf":
        write_file(out, slides_pdf(teaching), private=False)
        return [out]
    files = set_files(teaching)
    if out.suffix.lower() == ".zip":
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        write_file(out, packed.getvalue(), private=False)
        return [out]
    if is_taken(out):
        raise BadInput(
            tr_lazy("{out} exists and is not empty.", out=out), "Choose another name for the folder."
        )
    for folder in (out, out / "images"):
        make_folder(folder, private=False)
    for name, content in files.items():
        write_file(out / name, content, private=False)
    return [out / name for name in files]


def _write_key_objects(
    library: Library, collection: Collection, out: Path, options: CollectionExport
) -> ExportedCollection:
    """One object for each study, which refers to images of its patient only; of a volume without a place or slice to
    its key images, if there are any, else to all slices. The items that are in no DICOM file, or are gone, cannot be
    referred to."""
    from semblance.core.metrics.training import versions
    from semblance.core.reports.dicom.image_objects import key_objects

    pseudonyms = None
    if not options.identified:
        pseudonyms = library.available_pseudonyms() or Pseudonyms(Pseudonyms.new_key())
    cases = library.catalogue.details_of(item.case for item in collection.items)
    # An archive files an object with the record of one patient.
    by_patient: dict[tuple[str, ...], list[SourceObject]] = {}
    failed = []
    with ImageReader() as reader:
        for item in collection.items:
            case = cases.get(item.case)
            try:
                if case is None:
                    raise BadInput("This case is no longer in the library.")
                place = place_of(case, item)
                number = item.slice if place is None else place.middle_slice
                marked = (one.slice for one in key_images_of(library.annotations, case.case_id))
                wanted = [one for one in marked if one is not None] if number is None else [number]
                source = None
                if case.address is not None:
                    source = referred_object(reader, case.address, wanted or None, pseudonyms)
                if source is None:
                    raise BadInput("Its image is in no DICOM file that can be referred to.")
            except SemblanceError as error:
                failed.append((item.case, str(error)))
            else:
                header = source.header
                patient = str(header.get("PatientID", "")), str(header.get("IssuerOfPatientID", ""))
                by_patient.setdefault(patient if patient[0] else (header.StudyInstanceUID,), []).append(
                    source
                )
    if not by_patient:
        raise BadInput(
            "No case of this collection is in a DICOM file that can be read.",
            "Export slides (.pdf) or a teaching set (.zip).",
        )
    written = []
    contents = [
        content
        for sources in by_patient.values()
        for content in key_objects(sources, versions(), for_teaching=True)
    ]
    for number, content in enumerate(contents):
        file = out if number == 0 else out.with_name(f"{out.stem}-{number + 1}{out.suffix}")
        write_file(file, content, private=False)
        written.append(file)
    return ExportedCollection(tuple(written), tuple(failed))
