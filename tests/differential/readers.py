"""The readers that are compared: Semblance, and two that share nothing with it, dcmtk and GDCM."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.imaging.dicom.images import DicomImages
from semblance.core.imaging.display import display_image, first_greys
from semblance.core.imaging.image import linear_window
from semblance.core.imaging.shown_range import shown_bytes

#: The program of dcmtk that reads also JPEG, and the one for JPEG-LS.
DCMTK, DCMTK_JPEG_LS = shutil.which("dcmj2pnm"), shutil.which("dcml2pnm")
_ABOVE_BYTES = 65535


def ours(data: bytes, frame: int, window: tuple[float, float] | str = "") -> tuple[np.ndarray, np.ndarray]:
    """Values, colours 0 to 255, and greys as Semblance first shows them, or through ``window``.

    Raises:
        AssertionError: thumbnails show others than the viewer.
    """
    image = DicomImages(io.BytesIO(data), "generated").image(frame)
    if not isinstance(window, str):
        chosen = linear_window(*window)
        assert chosen is not None
        image = replace(image, values=replace(image.values, windows=(chosen,)))
    greys = first_greys(display_image(image))
    small = shown_bytes(image)
    if greys.ndim < small.ndim:
        # All colours are grey.
        greys = np.repeat(greys[..., None], 3, axis=2)
    padded = image.padding_mask()
    apart = np.abs(greys.astype(int) - small)[slice(None) if padded is None else ~padded]
    # Numbers below 0 are stored from 0 up in the viewer, which rounds otherwise in single precision.
    assert not apart.size or apart.max() <= 1, "thumbnail and viewer differ"
    if image.is_colour:
        return image.pixels.astype(np.float64) * (255 / image.white), greys
    return image.pixels.astype(np.float64) * image.values.slope + image.values.intercept, greys


def dcmtk(
    path: Path, frame: int, window: tuple[float, float] | str, *, is_sigmoid: bool = False
) -> np.ndarray | None:
    """(h, w) or (h, w, 3) greys as dcmtk draws them; ``None`` where it refuses the file."""
    options = {"1st window": ["+Wi", "1"], "1st table": ["+Wl", "1"], "": []}
    chosen = options[window] if isinstance(window, str) else ["+Ww", *map(str, window)]
    function = ["+Wfs"] if is_sigmoid else []
    program = DCMTK_JPEG_LS if b"1.2.840.10008.1.2.4.8" in path.read_bytes()[:600] else DCMTK
    assert program is not None
    command = [program, "-q", "-O", "+F", str(frame + 1), *chosen, *function, "+op", str(path)]
    done = subprocess.run([*command, f"{path}.pnm"], check=False, capture_output=True)
    if done.returncode:
        return None
    return _pnm(Path(f"{path}.pnm").read_bytes())


def gdcm(files: Sequence[tuple[Path, int]]) -> list[np.ndarray | None]:
    """For each file and frame (h, w) stored numbers by GDCM times its slope plus its intercept, or colours (h, w, 3) as
    they are stored; ``None`` where it refuses the file.

    GDCM ends the process at some files, so that another one reads them.
    """
    asked = "".join(f"{frame} {path}\n" for path, frame in files)
    command = [sys.executable, "-m", "tests.differential.readers"]
    subprocess.run(command, input=asked, text=True, check=True, stderr=subprocess.DEVNULL)
    answers = [path.with_suffix(".npy") for path, _ in files]
    return [np.load(answer) if answer.exists() else None for answer in answers]


def _answer(asked: Iterable[str]) -> None:
    """Write what GDCM reads of each line beside its file, each in a process of its own."""
    import gdcm  # noqa: F401 - once, before the processes divide

    for line in asked:
        frame, _, path = line.rstrip("\n").partition(" ")
        child = os.fork()
        if child == 0:
            found = _gdcm_values(Path(path), int(frame))
            if found is not None:
                np.save(Path(path).with_suffix(".npy"), found)
            os._exit(0)
        os.waitpid(child, 0)


def _gdcm_values(path: Path, frame: int) -> np.ndarray | None:
    import gdcm

    reader = gdcm.ImageReader()
    reader.SetFileName(str(path))
    if not reader.Read():
        return None
    image = reader.GetImage()
    if image.GetPhotometricInterpretation().GetType() == gdcm.PhotometricInterpretation.PALETTE_COLOR:
        lookup = gdcm.ImageApplyLookupTable()
        lookup.SetInput(image)
        if not lookup.Apply():
            return None
        image = lookup.GetOutput()
    if image.GetPlanarConfiguration():
        change = gdcm.ImageChangePlanarConfiguration()
        change.SetPlanarConfiguration(0)
        change.SetInput(image)
        if not change.Change():
            return None
        image = change.GetOutput()
    if image.GetPhotometricInterpretation().GetType() == gdcm.PhotometricInterpretation.YBR_FULL:
        rgb = gdcm.ImageChangePhotometricInterpretation()
        rgb.SetPhotometricInterpretation(gdcm.PhotometricInterpretation(gdcm.PhotometricInterpretation.RGB))
        rgb.SetInput(image)
        if not rgb.Change():
            return None
        image = rgb.GetOutput()
    numbers = _gdcm_pixels(image)
    if numbers is None:
        return None
    part: Any = numbers[min(frame, len(numbers) - 1)]
    if part.ndim == 3:
        return part * (255 / _ABOVE_BYTES) if part.dtype.itemsize == 2 else part.astype(np.float64)
    return part.astype(np.float64) * image.GetSlope() + image.GetIntercept()


def _gdcm_pixels(image: Any) -> np.ndarray | None:
    """(frames, h, w) or (frames, h, w, 3)."""
    import gdcm

    kinds = {
        gdcm.PixelFormat.UINT8: "u1",
        gdcm.PixelFormat.INT8: "i1",
        gdcm.PixelFormat.UINT16: "u2",
        gdcm.PixelFormat.INT16: "i2",
        gdcm.PixelFormat.UINT12: "u2",
        gdcm.PixelFormat.INT12: "i2",
    }
    form = image.GetPixelFormat()
    kind = kinds.get(form.GetScalarType())
    if kind is None:
        return None
    content = image.GetBuffer().encode("utf-8", errors="surrogateescape")
    columns, rows = image.GetDimension(0), image.GetDimension(1)
    samples = form.GetSamplesPerPixel()
    shape = (-1, rows, columns) + ((samples,) if samples > 1 else ())
    if len(content) % (rows * columns * samples * np.dtype(kind).itemsize):
        return None
    return np.frombuffer(content, kind).reshape(shape)


def _pnm(data: bytes) -> np.ndarray:
    """The pixels of a binary PGM or PPM file of 8 bits."""
    kind, size, _, rest = data.split(b"\n", 3)
    columns, rows = map(int, size.split())
    shape = (rows, columns, 3) if kind == b"P6" else (rows, columns)
    return np.frombuffer(rest, np.uint8)[: int(np.prod(shape))].reshape(shape)


if __name__ == "__main__":
    _answer(sys.stdin)
