"""Compare Semblance with the standard's formulas, dcmtk and GDCM on generated files.

Where a reader differs from Semblance the standard decides: :data:`SETTLED` names its section for every difference that
is the other reader's. All others are faults of Semblance.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from semblance.core.errors import SemblanceError
from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.shown_range import shown_window
from tests.differential import readers
from tests.differential.generated import Sample

#: Of 255.
SHOWN_TOLERANCE = 2.0
#: Of the radiotherapy doses of pydicom.
_DOSE_SLOPE = 1e-6
_STANDARD, _DCMTK, _GDCM = "standard", "dcmtk", "GDCM"


@dataclass(frozen=True)
class Settled:
    """Why ``reader`` differs where ``applies``, and the section of the standard that decides."""

    reader: str
    why: str
    section: str
    applies: Callable[[Sample], bool]


def _window(sample: Sample) -> str:
    return str(sample.traits.get("window", ""))


def _is_fraction(sample: Sample) -> bool:
    return sample.traits.get("rescale") in ((0.5, 3.25), (0.000244, -0.5), _DOSE_SLOPE)


def _is(*files: str) -> Callable[[Sample], bool]:
    return lambda sample: sample.traits.get("file") in files


def _has(sample: Sample, trait: str, text: str) -> bool:
    return text in str(sample.traits.get(trait, ""))


SETTLED = (
    Settled(
        _DCMTK, "draws LINEAR_EXACT as LINEAR", "PS3.3 C.11.2.1.3.2", lambda s: _window(s) == "LINEAR_EXACT"
    ),
    Settled(_DCMTK, "rounds values of a fractional slope to whole numbers", "PS3.3 C.11.1.1.2", _is_fraction),
    Settled(
        _DCMTK,
        "does not read tables written as SS",
        "PS3.3 C.11.1.1.1: the bits count",
        lambda s: _has(s, "modality LUT", "SS") or _has(s, "VOI LUT", "SS"),
    ),
    Settled(
        _DCMTK,
        "takes whole chrominance for halved",
        "PS3.3 C.7.6.3.1.2: the length proves three bytes",
        lambda s: bool(s.traits.get("whole chrominance")),
    ),
    Settled(
        _DCMTK,
        "reads the last byte of an odd frame before another wrongly",
        "PS3.5 8.1.1: frames follow each other without filling",
        lambda s: s.traits.get("frames") == 3 and s.values.size % 2 == 1 and " of 8 " in s.traits["bits"],
    ),
    Settled(
        _GDCM,
        "does not extend the sign of JPEG-LS below the allocated bits",
        "PS3.5 8.2.3",
        lambda s: s.traits.get("signed", False) and _has(s, "syntax", "JPEG-LS"),
    ),
    Settled(
        _GDCM,
        "does not shift numbers whose high bit is not Bits Stored - 1",
        "PS3.5 8.1.1",
        lambda s: s.traits.get("high bit", False),
    ),
    Settled(
        _GDCM,
        "leaves YBR_FULL_422 as luminance and chrominance",
        "PS3.3 C.7.6.3.1.2",
        lambda s: s.traits["photometric"] == "YBR_FULL_422",
    ),
    Settled(
        _GDCM,
        "takes the sign of a codestream for that of the pixels",
        "PS3.5 8.2: Pixel Representation, which dcmtk and pydicom follow",
        _is("J2K_pixelrep_mismatch.dcm", "JLSL_16_15_1_1F.dcm"),
    ),
    Settled(
        _GDCM, "joins the bytes of 16-bit colours in runs wrongly", "PS3.5 G.2", _is("SC_rgb_rle_16bit.dcm")
    ),
)


@dataclass
class Outcome:
    """Files compared, and for each reader how many it did not read, agreed with, differed from with a reason (why,
    section -> number), and without (number of the file, what)."""

    files: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    agreed: Counter[str] = field(default_factory=Counter)
    settled: dict[str, Counter[tuple[str, str]]] = field(default_factory=lambda: defaultdict(Counter))
    faults: list[tuple[int, str]] = field(default_factory=list)

    def table(self) -> str:
        """The outcome as a table of text."""
        lines = [f"{self.files:,} files"]
        for reader in (_STANDARD, _DCMTK, _GDCM):
            settled = self.settled[reader]
            unread = f", {self.refused[reader]:,} not read by it" if self.refused[reader] else ""
            lines.append(f"{reader}: {self.agreed[reader]:,} agree, {settled.total():,} settled{unread}")
            lines += [f"  {n:,} {why} ({section})" for (why, section), n in settled.most_common()]
        lines.append(f"{len(self.faults):,} not settled")
        lines += [f"  {number}: {what}" for number, what in self.faults]
        return "\n".join(lines)


def compare(samples: Iterable[Sample], folder: Path, outcome: Outcome | None = None) -> Outcome:
    """Read every sample by all readers and add to ``outcome``; ``folder`` is for the files of the other programs."""
    out, listed = outcome or Outcome(), list(samples)
    paths = [folder / f"{one.number}.dcm" for one in listed]
    for one, path in zip(listed, paths, strict=True):
        path.write_bytes(one.data)
    by_gdcm = readers.gdcm([(path, one.frame) for one, path in zip(listed, paths, strict=True)])
    for one, path, gdcm in zip(listed, paths, by_gdcm, strict=True):
        _compare_one(one, path, gdcm, out)
    return out


def sample_of_file(path: Path, number: int) -> Sample | None:
    """The first frame of a file, whose expected numbers are those that Semblance reads; ``None`` where it refuses it or
    its values come from a modality LUT alone."""
    data = path.read_bytes()
    try:
        image = DicomImages(io.BytesIO(data), path.name).image(0)
    except SemblanceError:
        return None
    window: tuple[float, float] | str = ""
    if image.values.windows:
        window = "1st window" if image.values.windows[0].stated else "1st table"
    elif not image.is_colour:
        low, high, _ = shown_window(image)
        low, high = (end * image.values.slope + image.values.intercept for end in (low, high))
        window = (low + high) / 2 + 0.5, high - low + 1
    values, greys = readers.ours(data, 0, window)
    traits = {"photometric": image.photometric, "file": path.name, "rescale": image.values.slope}
    has_lut = b"\x28\x00\x00\x30" in data
    tolerance = 2.0 if image.is_colour else 0.0
    return Sample(number, data, 0, values, greys, window, traits, tolerance, image.padding_mask(), has_lut)


def _compare_one(one: Sample, path: Path, gdcm: np.ndarray | None, out: Outcome) -> None:
    out.files += 1
    try:
        values, greys = readers.ours(one.data, one.frame, one.window)
    except (SemblanceError, AssertionError) as error:
        out.faults.append((one.number, f"{error} {one.traits}"))
        return
    exact = max(one.tolerance, 1e-6 * max(1.0, float(np.abs(one.values).max())))
    shown = max(one.tolerance, SHOWN_TOLERANCE)
    apart = _apart(values, one.values, one.padded), _apart(greys, one.shown, one.padded)
    _note(
        out,
        one,
        _STANDARD,
        f"values {apart[0]:g}, greys {apart[1]:g}",
        apart[0] <= exact and apart[1] <= shown,
    )
    if readers.DCMTK is not None:
        drawn = readers.dcmtk(path, one.frame, one.window, is_sigmoid=_window(one) == "SIGMOID")
        if drawn is None:
            out.refused[_DCMTK] += 1
        else:
            greys_apart = _apart(greys, drawn, one.padded)
            _note(out, one, _DCMTK, f"greys {greys_apart:g}", greys_apart <= shown)
    if gdcm is None:
        out.refused[_GDCM] += 1
    elif not one.lut:
        values_apart = _apart(values, gdcm, None)
        _note(out, one, _GDCM, f"values {values_apart:g}", values_apart <= exact)


def _note(out: Outcome, one: Sample, reader: str, what: str, agrees: bool) -> None:
    if agrees:
        out.agreed[reader] += 1
        return
    for known in SETTLED:
        if known.reader == reader and known.applies(one):
            out.settled[reader][known.why, known.section] += 1
            return
    out.faults.append((one.number, f"{reader} differs in {what}: {one.window} {one.traits}"))


def _apart(found: np.ndarray, wanted: np.ndarray, padded: np.ndarray | None) -> float:
    """The greatest difference of what is no padding."""
    if found.shape != wanted.shape:
        return float("inf")
    apart = np.abs(found.astype(np.float64) - wanted)
    if padded is not None:
        apart = apart[~padded]
    return float(apart.max()) if apart.size else 0.0
