"""The header of an image file as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from semblance.core.errors import BadInput
from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.dicom.header_lines import HeaderLine, header_lines
from semblance.core.imaging.image import Image
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.limits import size_text
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.imaging.library_cache import address_of


@dataclass(frozen=True)
class HeaderTable:
    """``name``: the file, or the part of it; ``lines`` of its header; ``left``: the number of further lines."""

    name: str
    lines: list[HeaderLine] = field(default_factory=list)
    left: int = 0
    dicom: bool = False


def read_header(
    library: LibraryLocation | None,
    what: int | ImageAddress,
    place: int | None = None,
    *,
    reporter: Reporter = SILENT,
) -> HeaderTable:
    """The header of an image, or of slice ``place`` of a volume: every element of DICOM, after notes on what the file
    contradicts or what cannot be read; format, size, bit depth and dimensions of other files.

    ``library``, ``what`` as for :func:`semblance.core.workflows.imaging.view_images.view_slices`.

    Raises:
        BadInput: the file is gone, or cannot be read at all.
    """
    address = address_of(library, what)
    if address.slices:
        address = address.slices[min(max(place or 0, 0), len(address.slices) - 1)]
    name = Path(address.member).name or address.container.name
    with ImageReader() as reader:
        with reader.dicom_file(address) as file:
            if file is not None:
                from semblance.core.imaging.dicom.dicom_file import errors_as_bad_input, open_dicom
                from semblance.core.imaging.dicom.number_remarks import number_remarks

                opened = open_dicom(file, str(address))
                with errors_as_bad_input(str(address)):
                    lines, left = header_lines(opened.dataset)
                    remarks = (*opened.remarks, *number_remarks(opened.dataset, address.frame or 0))
                noted = [HeaderLine(0, "", tr_lazy("Note"), "", remark) for remark in remarks]
                return HeaderTable(name, [*noted, *lines], left, dicom=True)
        return HeaderTable(name, _plain_lines(reader, address))


def _plain_lines(reader: ImageReader, address: ImageAddress) -> list[HeaderLine]:
    lines = [(tr_lazy("File"), address.container.name)]
    if address.member:
        lines.append((tr_lazy("Entry"), address.member))
    if address.frame is not None:
        lines.append((tr_lazy("Row"), f"{address.frame:,}"))
    if reader.holds_voxels(address):
        lines += _voxel_lines(reader, address)
    else:
        lines += _raster_lines(reader.read_bytes(address))
    try:
        lines += _image_lines(reader.open(address))
    except BadInput as error:
        lines.append((tr_lazy("Cannot be displayed"), error.message))
    return [HeaderLine(0, "", name, "", value) for name, value in lines]


def _voxel_lines(reader: ImageReader, address: ImageAddress) -> list[tuple[str, str]]:
    """Only what the program uses of a header: its other fields may name people."""
    volumes = reader.volume_file(address)
    found = tr_lazy("NumPy array") if volumes is None else volumes.format
    lines = [(tr_lazy("Format"), found)]
    if volumes is not None and volumes.count > 1:
        lines.append((tr_lazy("Volumes"), f"{volumes.count:,}"))
    if reader.is_stack(address):
        with reader.stack(address) as stack:
            lines.append((tr_lazy("Slices"), f"{len(stack):,}"))
            lines.append((tr_lazy("Data type"), str(stack.image(0).pixels.dtype)))
            if stack.spacing_mm is not None:
                lines.append((tr_lazy("Slice distance"), f"{stack.spacing_mm[0]:.4g} mm"))
    return lines


def _raster_lines(data: bytes) -> list[tuple[str, str]]:
    import io

    from PIL import Image as PILImage

    from semblance.core.imaging.formats import HEAD_BYTES, sniff

    lines = [
        (tr_lazy("Format"), sniff(data[:HEAD_BYTES]) or "unknown"),
        (tr_lazy("File size"), size_text(len(data))),
    ]
    try:
        with PILImage.open(io.BytesIO(data)) as image:
            lines.append((tr_lazy("Pixel format"), image.mode))
            frames = getattr(image, "n_frames", 1)
            if frames > 1:
                lines.append((tr_lazy("Number of images"), f"{frames:,}"))
            dpi = image.info.get("dpi")
            if isinstance(dpi, tuple) and len(dpi) == 2:
                lines.append((tr_lazy("Resolution in dpi"), f"{float(dpi[0]):.4g} × {float(dpi[1]):.4g}"))
    except (OSError, ValueError, SyntaxError, PILImage.DecompressionBombError):
        lines.append((tr_lazy("Pixel format"), tr_lazy("cannot be read")))
    return lines


def _image_lines(image: Image) -> list[tuple[str, str]]:
    pixels = image.pixels
    lines = [
        (tr_lazy("Width"), tr_lazy("{width:,} px", width=image.width)),
        (tr_lazy("Height"), tr_lazy("{height:,} px", height=image.height)),
        (tr_lazy("Channels"), tr_lazy("3 (red, green, blue)") if image.is_colour else tr_lazy("1 (grey)")),
        (tr_lazy("Bits per channel"), str(8 * pixels.dtype.itemsize)),
        (tr_lazy("Minimum"), f"{float(pixels.min()):g}"),
        (tr_lazy("Maximum"), f"{float(pixels.max()):g}"),
    ]
    if image.spacing_mm is None:
        lines.append((tr_lazy("Spacing"), tr_lazy("unknown")))
    else:
        lines.append(
            (
                "Spacing",
                tr_lazy(
                    "{spacing_mm:.4g} × {spacing_mm2:.4g} mm",
                    spacing_mm=image.spacing_mm[1],
                    spacing_mm2=image.spacing_mm[0],
                ),
            )
        )
    return lines
