"""Generated DICOM files of all combinations of pixel attributes, with what the standard says of each.

The expected numbers are computed from the numbers written, by the formulas of PS3.3 C.7.6.3, C.11.1 and C.11.2, and by
nothing of the program.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydicom import Dataset
from pydicom.dataset import FileMetaDataset
from pydicom.sequence import Sequence
from pydicom.uid import (
    UID,
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    JPEG2000Lossless,
    JPEGLosslessSV1,
    JPEGLSLossless,
    RLELossless,
)

PLAIN = (ImplicitVRLittleEndian, ExplicitVRLittleEndian, ExplicitVRBigEndian, DeflatedExplicitVRLittleEndian)
PACKED = (RLELossless, JPEGLSLossless, JPEG2000Lossless, JPEGLosslessSV1)
#: The encoder of JPEG 2000 takes no smaller images.
_SMALLEST = 32
_ENCODERS = {RLELossless: "pydicom", JPEGLSLossless: "pyjpegls", JPEG2000Lossless: "pylibjpeg"}
_COMPUTED, _XA = "1.2.840.10008.5.1.4.1.1.1", "1.2.840.10008.5.1.4.1.1.12.1"
#: Red, green, blue to Y, CB, CR (PS3.3 C.7.6.3.1.2).
_FULL = np.array([[0.299, 0.587, 0.114], [-0.1687, -0.3313, 0.5], [0.5, -0.4187, -0.0813]])
_PARTIAL = np.array([[0.2568, 0.5041, 0.0979], [-0.1482, -0.2910, 0.4392], [0.4392, -0.3678, -0.0714]])
_SLOPES = (None, None, (1, 0), (1, -1024), (2, -1000), (0.5, 3.25), (-1, 4095), (-10, 3000), (0.000244, -0.5))


@dataclass
class Sample:
    """A file of one or more frames, of which ``frame`` is compared.

    ``values`` (h, w) or (h, w, 3): after modality LUT or rescale, colours 0 to 255. ``shown``: 0 to 255 through
    ``window``, a centre and width or, of the file, "1st window" or "1st table"; colours have none. ``tolerance``: of
    values. ``padded`` (h, w): what is no image. ``traits``: what it is made of.
    """

    number: int
    data: bytes
    frame: int
    values: np.ndarray
    shown: np.ndarray
    window: tuple[float, float] | str
    traits: dict[str, Any]
    tolerance: float = 0.0
    padded: np.ndarray | None = None
    lut: bool = False


@dataclass
class _Parts:
    """What a monochrome file gets besides its pixels."""

    elements: dict[str, Any] = field(default_factory=dict)
    traits: dict[str, Any] = field(default_factory=dict)


def sample(number: int, seed: int = 0) -> Sample:
    """The file of this number; the same in every run."""
    draw = np.random.default_rng((seed, number))
    return _colour(number, draw) if draw.random() < 0.3 else _monochrome(number, draw)


def _pick(draw: np.random.Generator, choices: Any) -> Any:
    return choices[int(draw.integers(len(choices)))]


# Monochrome


def _monochrome(number: int, draw: np.random.Generator) -> Sample:
    allocated = _pick(draw, (8, 8, 16, 16, 16, 16))
    stored_bits = (
        allocated if draw.random() < 0.4 else int(draw.integers(max(2, allocated // 2 - 1), allocated + 1))
    )
    signed = bool(draw.random() < 0.4)
    high = stored_bits - 1 if draw.random() < 0.85 else int(draw.integers(stored_bits - 1, allocated))
    low = -(1 << (stored_bits - 1)) if signed else 0
    top = low + (1 << stored_bits) - 1
    frames = _pick(draw, (1, 1, 1, 3))
    syntax = _pick(draw, PLAIN + PLAIN + PACKED)
    rows, columns = (int(draw.integers(5, 24)) + _SMALLEST * (syntax == JPEG2000Lossless) for _ in range(2))
    shape = (frames, rows, columns)
    stored = draw.integers(low, top + 1, shape) if draw.random() < 0.5 else _ramp(shape, low, top)
    padding = _padding(draw, stored, signed, allocated, stored_bits)
    parts = _Parts({"SOPClassUID": _XA if draw.random() < 0.07 else _COMPUTED})
    if padding is not None:
        parts.elements["PixelPaddingValue"] = padding
    modality = _modality(draw, parts, low, top, signed)
    values = modality(stored)
    window, voi = _voi(draw, parts, values)
    inverted = draw.random() < 0.25
    shown = voi(values)
    shown = 255 - shown if inverted else shown
    frame = int(draw.integers(frames))
    unused = _unused_bits(draw, stored, allocated, stored_bits, high)
    # The encoders write what no decoder reads where 8 bits or fewer lie in 16.
    is_odd = unused is not None or high != stored_bits - 1 or frames > 1 or (stored_bits <= 8 < allocated)
    if syntax in PACKED and is_odd:
        syntax = ExplicitVRLittleEndian
    dataset = _dataset(stored, allocated, stored_bits, high, signed, parts.elements)
    dataset.PhotometricInterpretation = "MONOCHROME1" if inverted else "MONOCHROME2"
    data, syntax = _encoded(dataset, stored if unused is None else unused, allocated, syntax, signed)
    is_padding = None if padding is None else stored[frame] == _as_pixel(padding, signed, allocated)
    return Sample(
        number,
        data,
        frame,
        values[frame],
        shown[frame],
        window,
        {
            "photometric": dataset.PhotometricInterpretation,
            "bits": f"{stored_bits} of {allocated} up to {high}",
            "high bit": high != stored_bits - 1,
            "signed": signed,
            "frames": frames,
            "padding": padding,
            "syntax": syntax.name,
            "XA": parts.elements["SOPClassUID"] == _XA,
            **parts.traits,
        },
        padded=is_padding,
        lut="ModalityLUTSequence" in parts.elements and parts.elements["SOPClassUID"] != _XA,
    )


def _ramp(shape: tuple[int, ...], low: int, top: int) -> np.ndarray:
    return np.linspace(low, top, int(np.prod(shape))).round().astype(np.int64).reshape(shape)


def _padding(
    draw: np.random.Generator, stored: np.ndarray, signed: bool, allocated: int, bits: int
) -> int | None:
    """A padding value that some pixels get, as it is written: perhaps with the other sign."""
    if draw.random() > 0.25:
        return None
    low = -(1 << (bits - 1)) if signed else 0
    number = int(low if draw.random() < 0.5 else draw.integers(low, low + (1 << bits)))
    stored[:, :2, :3] = number
    if draw.random() < 0.4 and bits == allocated == 16:
        return number + 65536 if signed and number < 0 else number - 65536 if number > 32767 else number
    return number


def _as_pixel(padding: int, signed: bool, allocated: int) -> int:
    number = padding % (1 << allocated)
    return number - (1 << allocated) if signed and number >= 1 << (allocated - 1) else number


def _modality(
    draw: np.random.Generator, parts: _Parts, low: int, top: int, signed: bool
) -> Callable[[np.ndarray], np.ndarray]:
    is_applied = parts.elements["SOPClassUID"] != _XA
    if draw.random() < 0.25:
        return (
            _modality_lut(draw, parts, low, top, signed)
            if is_applied
            else _unapplied(draw, parts, low, top, signed)
        )
    chosen = _pick(draw, _SLOPES)
    parts.traits["rescale"] = chosen
    if chosen is None:
        return lambda stored: stored.astype(np.float64)
    slope, intercept = chosen
    parts.elements |= {"RescaleSlope": str(slope), "RescaleIntercept": str(intercept), "RescaleType": "US"}
    return lambda stored: stored * slope + intercept if is_applied else stored.astype(np.float64)


def _unapplied(
    draw: np.random.Generator, parts: _Parts, low: int, top: int, signed: bool
) -> Callable[[np.ndarray], np.ndarray]:
    _modality_lut(draw, parts, low, top, signed)
    return lambda stored: stored.astype(np.float64)


def _modality_lut(
    draw: np.random.Generator, parts: _Parts, low: int, top: int, signed: bool
) -> Callable[[np.ndarray], np.ndarray]:
    first = int(draw.integers(low, max(low + 1, min(top, low + 200))))
    item, table = _lut(draw, first, top, signed)
    parts.elements["ModalityLUTSequence"] = [item]
    item["ModalityLUTType"] = "US"
    parts.traits["modality LUT"] = item["form"]
    return lambda stored: table(stored).astype(np.float64)


def _lut(
    draw: np.random.Generator, first: int, last: int, signed: bool
) -> tuple[dict[str, Any], Callable[[np.ndarray], np.ndarray]]:
    """A table from ``first`` to about ``last`` in one of the forms that files have."""
    bits = _pick(draw, (8, 8, 12, 16, 16))
    count = int(np.clip(last - first + 1 if draw.random() < 0.7 else draw.integers(2, 300), 2, 65536))
    rising = np.sort(draw.integers(0, 1 << bits, count))
    rising[0], rising[-1] = 0, (1 << bits) - 1
    entries = (
        rising if draw.random() < 0.6 else rising[::-1] if draw.random() < 0.5 else draw.permutation(rising)
    )
    forms = ["words", "SS"] + (["packed"] if bits == 8 else [])
    form = _pick(draw, forms)
    item = {
        "descriptor": (count % 65536, first, bits),
        "first_vr": "US" if signed and draw.random() < 0.3 else "SS" if signed or first < 0 else "US",
        "entries": entries.astype(np.uint16),
        "form": f"{form} of {bits} bits",
    }

    def table(numbers: np.ndarray) -> np.ndarray:
        return entries[np.clip(np.rint(numbers).astype(np.int64) - first, 0, count - 1)]

    return item, table


def _voi(
    draw: np.random.Generator, parts: _Parts, values: np.ndarray
) -> tuple[tuple[float, float] | str, Callable[[np.ndarray], np.ndarray]]:
    least, most = float(values.min()), float(values.max())
    span = max(most - least, 1.0)
    center, width = _window(draw, least, span)
    chance = draw.random()
    if chance < 0.2 and np.array_equal(values, np.rint(values)) and least >= -32768 and most <= 65535:
        first = int(least + draw.integers(0, max(1, int(span / 3))))
        item, table = _lut(draw, first, int(most), least < 0)
        top = (1 << item["descriptor"][2]) - 1
        parts.elements["VOILUTSequence"] = [item]
        parts.traits["VOI LUT"] = item["form"]
        return "1st table", lambda numbers: table(numbers) * (255 / top)
    if chance < 0.35:
        parts.traits["window"] = "none in the file"
        return (center, width), functools.partial(_linear, center, width)
    function = _pick(draw, ("LINEAR", "LINEAR", "LINEAR_EXACT", "SIGMOID"))
    parts.elements |= {"WindowCenter": f"{center:.8g}", "WindowWidth": f"{width:.8g}"}
    if function != "LINEAR" or draw.random() < 0.3:
        parts.elements["VOILUTFunction"] = function
    parts.traits["window"] = function
    by = {"LINEAR": _linear, "LINEAR_EXACT": _linear_exact, "SIGMOID": _sigmoid}[function]
    return "1st window", functools.partial(by, float(f"{center:.8g}"), float(f"{width:.8g}"))


def _window(draw: np.random.Generator, least: float, span: float) -> tuple[float, float]:
    center = least + span * float(draw.uniform(0.1, 0.9))
    return round(center, 3), max(1.0, round(span * float(draw.uniform(0.05, 1.4)), 3))


def _linear(center: float, width: float, numbers: np.ndarray) -> np.ndarray:
    if width == 1:
        return np.where(numbers <= center - 0.5, 0.0, 255.0)
    return np.clip((numbers - (center - 0.5)) / (width - 1) + 0.5, 0, 1) * 255


def _linear_exact(center: float, width: float, numbers: np.ndarray) -> np.ndarray:
    return np.clip((numbers - center) / width + 0.5, 0, 1) * 255


def _sigmoid(center: float, width: float, numbers: np.ndarray) -> np.ndarray:
    return 255 / (1 + np.exp(np.clip(-4 * (numbers - center) / width, -80, 80)))


def _unused_bits(
    draw: np.random.Generator, stored: np.ndarray, allocated: int, bits: int, high: int
) -> np.ndarray | None:
    """The numbers as they lie in the file where the high bit is another, or an overlay lies in the unused bits."""
    if bits == allocated:
        return None
    has_overlay = draw.random() < 0.2
    if high == bits - 1 and not has_overlay:
        return None
    mask = ((1 << bits) - 1) << (high + 1 - bits)
    cells = (stored << (high + 1 - bits)) & mask
    if has_overlay:
        cells |= draw.integers(0, 1 << allocated, stored.shape) & ~mask
    return cells & ((1 << allocated) - 1)


# Colour


def _colour(number: int, draw: np.random.Generator) -> Sample:
    kind = _pick(
        draw, ("RGB", "RGB", "YBR_FULL", "YBR_FULL_422", "YBR_PARTIAL_422", "PALETTE COLOR", "PALETTE COLOR")
    )
    if kind == "PALETTE COLOR":
        return _palette(number, draw)
    syntax = _pick(draw, (*PLAIN, RLELossless, JPEG2000Lossless, JPEGLSLossless))
    least = _SMALLEST * (syntax == JPEG2000Lossless)
    rows, columns = int(draw.integers(4, 16)) + least, 2 * int(draw.integers(3, 12)) + least
    rgb = np.repeat(draw.integers(0, 256, (rows, columns // 2, 3)), 2, axis=1)
    planar = int(draw.random() < 0.4) if kind in ("RGB", "YBR_FULL") else 0
    deep = kind == "RGB" and draw.random() < 0.2
    whole = kind == "YBR_FULL_422" and draw.random() < 0.4
    if syntax in PACKED and (kind != "RGB" or deep):
        syntax = ExplicitVRLittleEndian
    pixels = rgb.copy()
    if kind != "RGB":
        matrix, low = (_PARTIAL, 16) if "PARTIAL" in kind else (_FULL, 0)
        pixels = np.clip(np.rint(rgb @ matrix.T + np.array([low, 128, 128])), 0, 255).astype(np.int64)
    allocated = 16 if deep else 8
    if deep:
        pixels = pixels * 257
    dataset = _dataset(
        pixels[None, ..., 0], allocated, allocated, allocated - 1, False, {"SOPClassUID": _COMPUTED}
    )
    dataset.PhotometricInterpretation, dataset.SamplesPerPixel = kind, 3
    dataset.PlanarConfiguration = planar
    cells = pixels
    if kind.endswith("_422") and not whole:
        cells = np.stack(
            [pixels[:, 0::2, 0], pixels[:, 1::2, 0], pixels[:, 0::2, 1], pixels[:, 0::2, 2]], axis=-1
        )
    elif planar and syntax in PLAIN:
        cells = np.moveaxis(pixels, 2, 0)
    elif syntax not in PLAIN:
        dataset.PlanarConfiguration = 0
    data, syntax = _encoded(dataset, cells, allocated, syntax, False)
    traits = {
        "photometric": kind,
        "planar": planar,
        "bits": allocated,
        "whole chrominance": whole,
        "syntax": syntax.name,
    }
    values = rgb.astype(np.float64)
    return Sample(number, data, 0, values, values, "", traits, 0.0 if kind == "RGB" else 3.0)


def _palette(number: int, draw: np.random.Generator) -> Sample:
    rows, columns = int(draw.integers(4, 16)), int(draw.integers(4, 16))
    allocated, bits, form = _pick(
        draw,
        (
            (8, 8, "words"),
            (8, 8, "packed"),
            (8, 16, "words"),
            (16, 16, "words"),
            (16, 8, "packed"),
            (8, 16, "segments"),
        ),
    )
    signed = bool(draw.random() < 0.2) and form != "segments"
    first = int(draw.integers(-20, 50)) if signed else int(draw.integers(0, 50)) if draw.random() < 0.5 else 0
    count = (
        65536
        if allocated == 16 and draw.random() < 0.2 and not signed and not first
        else int(draw.integers(16, 200))
    )
    low = -(1 << (allocated - 1)) if signed else 0
    indices = draw.integers(
        max(low, first - 10), min(low + (1 << allocated), first + count + 10), (1, rows, columns)
    )
    tables = [draw.integers(0, 1 << bits, count) for _ in range(3)]
    if form == "segments":
        tables = [np.linspace(*draw.integers(0, 65536, 2), count).round().astype(np.int64) for _ in range(3)]
    elements: dict[str, Any] = {"SOPClassUID": _COMPUTED}
    syntax = _pick(draw, (*PLAIN, RLELossless))
    order = ">" if syntax == ExplicitVRBigEndian else "<"
    dataset = _dataset(indices, allocated, allocated, allocated - 1, signed, elements)
    dataset.PhotometricInterpretation = "PALETTE COLOR"
    for offset, entries in enumerate(tables):
        dataset.add_new(0x00281101 + offset, "SS" if first < 0 else "US", [count % 65536, first, bits])
        if form == "segments":
            words = np.array([0, 1, entries[0], 1, count - 1, entries[-1]], f"{order}u2")
            dataset.add_new(0x00281221 + offset, "OW", words.tobytes())
            continue
        dataset.add_new(0x00281201 + offset, "OW", _table_bytes(entries, form, order))
    data, syntax = _encoded(dataset, indices, allocated, syntax, signed)
    places = np.clip(indices[0] - first, 0, count - 1)
    values = np.stack([entries[places] for entries in tables], axis=-1) * (255 / ((1 << bits) - 1))
    traits = {
        "photometric": "PALETTE COLOR",
        "palette": f"{form} of {bits} bits, {count} from {first}",
        "bits": allocated,
        "signed": signed,
        "syntax": syntax.name,
    }
    return Sample(number, data, 0, values, values, "", traits, 1.0)


# Writing


def _dataset(
    stored: np.ndarray, allocated: int, bits: int, high: int, signed: bool, elements: dict[str, Any]
) -> Dataset:
    out = Dataset()
    out.SOPInstanceUID, out.StudyInstanceUID, out.SeriesInstanceUID = "1.2.3.4.1", "1.2.3.4.2", "1.2.3.4.3"
    out.PatientID, out.Modality = "P1", "XA" if elements["SOPClassUID"] == _XA else "CR"
    out.SamplesPerPixel, out.BitsAllocated, out.BitsStored, out.HighBit = 1, allocated, bits, high
    out.PixelRepresentation = int(signed)
    if stored.shape[0] > 1:
        out.NumberOfFrames = stored.shape[0]
    out.Rows, out.Columns = stored.shape[1:3]
    for keyword, value in elements.items():
        if keyword.endswith("LUTSequence"):
            out.add_new(keyword, "SQ", Sequence([]))
            setattr(out, f"_{keyword}", value)
        elif keyword == "PixelPaddingValue":
            out.add_new(keyword, "SS" if value < 0 else "US", value)
        else:
            setattr(out, keyword, value)
    return out


def _table_bytes(entries: np.ndarray, form: str, order: str) -> bytes:
    if form != "packed":
        return entries.astype(f"{order}u2").tobytes()
    data = entries.astype(np.uint8).tobytes()
    data += b"\0" * (len(data) % 2)
    return np.frombuffer(data, "<u2").astype(f"{order}u2").tobytes()


def _encoded(
    dataset: Dataset, cells: np.ndarray, allocated: int, syntax: UID, signed: bool
) -> tuple[bytes, UID]:
    order = ">" if syntax == ExplicitVRBigEndian else "<"
    for keyword in ("ModalityLUTSequence", "VOILUTSequence"):
        for described in getattr(dataset, f"_{keyword}", ()):
            item = Dataset()
            vr = described["first_vr"]
            count, first, bits = described["descriptor"]
            item.add_new(0x00283002, vr, [count, first % 65536 if vr == "US" else first, bits])
            if "ModalityLUTType" in described:
                item.ModalityLUTType = "US"
            form = described["form"].split()[0]
            if form == "SS":
                item.add_new(0x00283006, "SS", [_signed(int(one)) for one in described["entries"]])
            else:
                item.add_new(0x00283006, "OW", _table_bytes(described["entries"], form, order))
            dataset[keyword].value.append(item)
    kind = {8: "u1", 16: "u2"}[allocated]
    raw = (cells & ((1 << allocated) - 1)).astype(order + kind)
    content = raw.tobytes()
    vr = "OW" if allocated > 8 or syntax == ImplicitVRLittleEndian else "OB"
    dataset.add_new(0x7FE00010, vr, content + b"\0" * (len(content) % 2))
    meta = FileMetaDataset()
    dataset.file_meta = meta
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = (
        dataset.SOPClassUID,
        dataset.SOPInstanceUID,
    )
    meta.TransferSyntaxUID = syntax if syntax in PLAIN else ExplicitVRLittleEndian
    if syntax not in PLAIN:
        packed = _packed(dataset, cells, allocated, syntax, signed)
        if packed is not None:
            return packed, syntax
        syntax = ExplicitVRLittleEndian
    out = io.BytesIO()
    dataset.save_as(out, enforce_file_format=True)
    return out.getvalue(), syntax


def _packed(dataset: Dataset, cells: np.ndarray, allocated: int, syntax: UID, signed: bool) -> bytes | None:
    """The file compressed without loss; ``None`` where the encoder does not take its bits."""
    import copy

    out, made = io.BytesIO(), copy.deepcopy(dataset)
    if syntax == JPEGLosslessSV1:
        made.save_as(out, enforce_file_format=True)
        return _jpeg_lossless(out.getvalue())
    numbers = cells.astype(f"{'i' if signed else 'u'}{allocated // 8}")
    try:
        shown = numbers[0] if numbers.ndim == 3 and made.SamplesPerPixel == 1 else numbers
        made.compress(syntax, shown, encoding_plugin=_ENCODERS[syntax])
    except Exception:  # noqa: BLE001 - encoders refuse some depths in their own ways
        return None
    made.save_as(out, enforce_file_format=True)
    return out.getvalue()


def _jpeg_lossless(data: bytes) -> bytes | None:
    import tempfile
    from pathlib import Path

    import gdcm

    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "a.dcm", Path(folder) / "b.dcm"
        before.write_bytes(data)
        reader = gdcm.ImageReader()
        reader.SetFileName(str(before))
        if not reader.Read():
            return None
        change = gdcm.ImageChangeTransferSyntax()
        change.SetTransferSyntax(gdcm.TransferSyntax(gdcm.TransferSyntax.JPEGLosslessProcess14_1))
        change.SetInput(reader.GetImage())
        if not change.Change():
            return None
        writer = gdcm.ImageWriter()
        writer.SetFileName(str(after))
        writer.SetFile(reader.GetFile())
        writer.SetImage(change.GetOutput())
        return after.read_bytes() if writer.Write() else None


def _signed(number: int) -> int:
    number %= 65536
    return number - 65536 if number > 32767 else number
