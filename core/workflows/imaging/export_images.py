"""Export the images of several cases into a folder, for slides, teaching or other programs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semblance.core.csv_cells import csv_text
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.files import is_taken, make_folder, write_file
from semblance.core.imaging import ImageAddress, ImageReader, open_image
from semblance.core.imaging.drawn_figures import draw_figures
from semblance.core.imaging.hide_text import TextHider
from semblance.core.imaging.image import Image
from semblance.core.imaging.measurements import Figure
from semblance.core.imaging.pseudonyms import Pseudonyms
from semblance.core.imaging.region import Region
from semblance.core.imaging.shown_range import shown_bytes
from semblance.core.imaging.thumbnail import CASING, LINE
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.library import Library
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import CaseDetails
from semblance.core.reports.dicom.structured_report import polylines
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.imaging.card_images import windowed_pixels
from semblance.core.workflows.imaging.case_annotations import figures_of_case, labels_on, measured_slice
from semblance.core.workflows.imaging.deidentify_files import deidentify_images, library_pseudonyms
from semblance.core.workflows.imaging.library_cache import cached_library

if TYPE_CHECKING:
    from PIL import Image as PILImage

    from semblance.core.workflows.imaging.card_images import WindowLevel

#: Kinds of files, with their endings.
KINDS = {"png": ".png", "jpeg": ".jpg", "tiff": ".tif", "dicom": ".dcm"}
SCREEN, FULL = "screen", "full"
SIZES = (SCREEN, FULL)
#: The longest side of an image in screen size, in pixels, enough for a slide.
SCREEN_PIXELS = 1024
#: The list of the files.
INDEX = "images.csv"
_QUALITY = 92
#: Lines are so many times thinner than the longest side.
_LINES = 400
_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class ImageExportOptions:
    """``kind`` (:data:`KINDS`) and ``size`` (:data:`SIZES`) of the images; ``marks``: regions and measurements with
    their results are drawn on them; ``clean_pixels``: burnt-in text is blacked out; ``identified``: files are named by
    their cases, and DICOM files are copied as they are, else they are de-identified.

    Raises:
        BadArguments: an unknown kind or size, or drawn marks or a smaller size of DICOM files.
    """

    kind: str = "png"
    size: str = SCREEN
    marks: bool = False
    clean_pixels: bool = False
    identified: bool = False

    def __post_init__(self) -> None:
        for value, known in ((self.kind, tuple(KINDS)), (self.size, SIZES)):
            if value not in known:
                raise BadArguments(
                    tr_lazy("Images cannot be exported as '{value}'.", value=value),
                    tr_lazy("Use one of {known}.", known=", ".join(known)),
                )
        if self.kind == "dicom" and (self.marks or (self.identified and self.clean_pixels)):
            raise BadArguments(
                "DICOM files are exported without marks, and with identifiers as they are.",
                "Choose png, jpeg or tiff, or leave that out.",
            )


@dataclass(frozen=True)
class ImageExport:
    """``files`` in ``folder``, and ``failed`` (case, reason)."""

    folder: Path
    files: tuple[str, ...]
    failed: tuple[tuple[str, str], ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values for ``--json``."""
        return {
            "folder": str(self.folder),
            "files": list(self.files),
            "failed": [{"case_id": case, "reason": str(reason)} for case, reason in self.failed],
        }


def export_images(
    library: LibraryLocation,
    cases: Sequence[str],
    out: Path,
    options: ImageExportOptions | None = None,
    *,
    window_level: WindowLevel | None = None,
    reporter: Reporter = SILENT,
) -> ImageExport:
    """Write the images of ``cases`` into the new or empty folder ``out``, numbered in their order, with the list
    images.csv. Case ids are in names and list only where they are ``identified``. Of a volume it is the slice with the
    region, else with ``marks`` the first that was measured, else the middle one; as DICOM all of its files.
    ``window_level``: of images with the same unit of values.

    Raises:
        BadArguments: no cases, or ``out`` has files.
        SemblanceError: ``out`` cannot be written, or what finds burnt-in text is not installed.
        Cancelled: the reporter was cancelled; finished files stay, listed and logged.
    """
    chosen = options or ImageExportOptions()
    check_export(cases, out)
    opened = cached_library(library)
    rows = opened.catalogue.rows_of(cases)
    details = opened.catalogue.details(list(rows.values()))
    hider = TextHider(reporter) if chosen.clean_pixels and chosen.kind != "dicom" else None
    pseudonyms: Pseudonyms | None = None
    make_folder(out, private=False)
    failed: list[tuple[str, str]] = []
    lines: list[tuple[object, ...]] = []
    files: list[str] = []
    try:
        for number, case_id in enumerate(cases, start=1):
            reporter.check_cancelled()
            reporter.progress(number - 1, len(cases), tr_lazy("Exporting images into {name}", name=out.name))
            case = details.get(rows.get(case_id, -1))
            try:
                if case is None or case.address is None:
                    raise BadInput("This case is not in the library, or has no image.")
                stem = _stem(number, len(cases), case_id, chosen)
                if chosen.kind == "dicom":
                    if pseudonyms is None and not chosen.identified:
                        pseudonyms = library_pseudonyms(library)
                    written = _write_dicom(case.address, out, stem, pseudonyms, chosen, reporter)
                else:
                    written = [_write_image(opened, case, out, stem, chosen, hider, window_level)]
            except SemblanceError as error:
                failed.append((case_id, str(error)))
                continue
            files += written
            ids = (case_id,) if chosen.identified else ()
            lines += [(name, case.finding, *ids) for name in written]
    finally:
        # Also of a cancelled export: what it left is listed and logged.
        log_export(library, "images", KINDS[chosen.kind], identified=chosen.identified, files=len(files))
        header = ("file", "finding", *(("case_id",) if chosen.identified else ()))
        write_file(out / INDEX, csv_text(header, lines).encode(), private=False)
    return ImageExport(out, tuple(files), tuple(failed))


def cases_of_collection(library: LibraryLocation, name: str, *, reporter: Reporter = SILENT) -> list[str]:
    """The cases of the teaching collection ``name`` in its order, each once.

    Raises:
        BadInput: there is none.
    """
    return cached_library(library).collections.get(name).cases


def check_export(cases: Sequence[str], out: Path) -> None:
    """Refuse, before any work, what :func:`export_images` refuses.

    Raises:
        BadArguments: no cases, or ``out`` has files.
    """
    if not cases:
        raise BadArguments("No case was named.", "Name some, or select them.")
    if is_taken(out):
        raise BadArguments(tr_lazy("{folder} has files already.", folder=out), "Choose a new folder.")


def _stem(number: int, count: int, case_id: str, options: ImageExportOptions) -> str:
    """The name of a file without its ending."""
    stem = f"image-{number:0{max(4, len(str(count)))}d}"
    # File systems allow 255 bytes.
    name = _UNSAFE.sub("_", case_id).encode()[-160:].decode(errors="ignore")
    return f"{stem}-{name}" if options.identified else stem


def _write_image(
    library: Library,
    case: CaseDetails,
    out: Path,
    stem: str,
    options: ImageExportOptions,
    hider: TextHider | None,
    window_level: WindowLevel | None,
) -> str:
    from PIL import Image as PILImage

    assert case.address is not None
    shown, place = case.region, case.shown_slice
    figures = figures_of_case(library, case.case_id) if options.marks else ()
    if shown is None and (measured := measured_slice(figures)) is not None:
        shown, place = Region(0, 0, 1, 1, z=measured), measured
    image = open_image(case.address, shown)
    labels = labels_on(image, place, figures)
    if hider is not None:
        image, _ = hider.hide(image, case.content)
    longest = max(image.width, image.height)
    wanted = longest if options.size == FULL else min(longest, SCREEN_PIXELS)
    pixels = None if window_level is None else windowed_pixels(image, window_level, wanted)
    drawn = PILImage.fromarray(shown_bytes(image) if pixels is None else pixels)
    if max(drawn.size) > wanted:
        scale = wanted / max(drawn.size)
        drawn = drawn.resize(
            (max(1, round(drawn.width * scale)), max(1, round(drawn.height * scale))),
            PILImage.Resampling.LANCZOS,
        )
    if options.marks:
        drawn = _with_marks(drawn, image, case, labels)
    # Comments and EXIF of the original may name a patient.
    drawn.info = {}
    name, content = stem + KINDS[options.kind], io.BytesIO()
    drawn.save(content, options.kind.upper(), **({"quality": _QUALITY} if options.kind == "jpeg" else {}))
    write_file(out / name, content.getvalue(), private=False)
    return name


def _with_marks(
    drawn: PILImage.Image, image: Image, case: CaseDetails, labels: Mapping[Figure, str]
) -> PILImage.Image:
    """``drawn`` with the region of ``case`` on the slice that is shown, which is ``image``, and figures with labels."""
    from PIL import ImageDraw

    drawn, region = drawn.convert("RGB"), case.region
    if labels:
        drawn = draw_figures(drawn, list(labels), image.width, image.height, list(labels.values()))
    if region is None:
        return drawn
    pen = ImageDraw.Draw(drawn)
    across, down = drawn.width / image.width, drawn.height / image.height
    width = max(1, round(max(drawn.size) / _LINES))
    lines = polylines(region.on_slice(case.shown_slice or 0) or region, image.height, image.width)
    for colour, thick in ((CASING, 3 * width), (LINE, width)):
        for line in lines:
            pen.line([(x * across, y * down) for x, y in line], fill=colour, width=thick, joint="curve")
    return drawn


def _write_dicom(
    address: ImageAddress,
    out: Path,
    stem: str,
    pseudonyms: Pseudonyms | None,
    options: ImageExportOptions,
    reporter: Reporter,
) -> list[str]:
    """``pseudonyms``: for de-identified files; ``None``: they are copied as they are."""
    addresses = list(dict.fromkeys(_files(address)))
    if pseudonyms is not None:
        result = deidentify_images(pseudonyms, addresses, out, clean=options.clean_pixels, reporter=reporter)
        if result.failed:
            raise BadInput(result.failed[0][1])
        return list(result.files)
    names = []
    with ImageReader() as reader:
        for number, one in enumerate(addresses, start=1):
            with reader.dicom_file(one) as file:
                if file is None:
                    raise BadInput("It is no DICOM file.", "Export it as png.")
                name = f"{stem}.dcm" if len(addresses) == 1 else f"{stem}-{number:04d}.dcm"
                file.seek(0)
                write_file(out / name, file.read(), private=False)
                names.append(name)
    return names


def _files(address: ImageAddress) -> Iterator[ImageAddress]:
    """The files of an image: of a series each, of frames their file."""
    for one in address.slices or (address,):
        yield ImageAddress(one.container, one.member)
