"""Small generated DICOM files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
from pydicom import Dataset
from pydicom.dataset import FileMetaDataset
from pydicom.uid import UID, ExplicitVRBigEndian, ExplicitVRLittleEndian, ImplicitVRLittleEndian

from semblance.core.imaging import Image
from semblance.core.imaging.dicom.images import DicomImages

CT, MR, MG = "1.2.840.10008.5.1.4.1.1.2", "1.2.840.10008.5.1.4.1.1.4", "1.2.840.10008.5.1.4.1.1.1.2"
SECONDARY = "1.2.840.10008.5.1.4.1.1.7"
ROOT = "1.2.826.0.1.3680043.10.1430"


def ct_slice(pixels: np.ndarray, number: int = 0, *, series: str = f"{ROOT}.2", **more: Any) -> Dataset:
    """An axial CT slice of signed 16-bit numbers, 2 mm from the next; pixels of 0.5 mm."""
    return image(
        pixels,
        SOPClassUID=CT,
        Modality="CT",
        SOPInstanceUID=f"{series}.{number + 1}",
        SeriesInstanceUID=series,
        StudyInstanceUID=f"{ROOT}.1",
        InstanceNumber=number + 1,
        PatientID="P1",
        PatientName="Nobody^Nowhere",
        ImagePositionPatient=[-10, -20, 2 * number],
        ImageOrientationPatient=[1, 0, 0, 0, 1, 0],
        PixelSpacing=[0.5, 0.5],
        RescaleSlope=1,
        RescaleIntercept=-1024,
        **more,
    )


def image(pixels: np.ndarray, **more: Any) -> Dataset:
    """An object of (h, w), (frames, h, w) or (..., h, w, 3) numbers; ``more`` are its elements by keyword."""
    dataset = Dataset()
    colour = pixels.ndim >= 3 and pixels.shape[-1] == 3
    frames = pixels.shape[: pixels.ndim - (3 if colour else 2)]
    dataset.Rows, dataset.Columns = pixels.shape[len(frames)], pixels.shape[len(frames) + 1]
    if frames:
        dataset.NumberOfFrames = int(np.prod(frames))
    dataset.SamplesPerPixel = 3 if colour else 1
    if colour:
        dataset.PlanarConfiguration = 0
    dataset.PhotometricInterpretation = "RGB" if colour else "MONOCHROME2"
    dataset.BitsAllocated = dataset.BitsStored = 8 * pixels.dtype.itemsize
    dataset.HighBit = dataset.BitsStored - 1
    dataset.PixelRepresentation = int(pixels.dtype.kind == "i")
    dataset.SOPClassUID, dataset.SOPInstanceUID = SECONDARY, f"{ROOT}.9"
    dataset.PixelData = pixels.tobytes()
    for keyword, value in more.items():
        setattr(dataset, keyword, value)
    return dataset


def encoded(dataset: Dataset, syntax: str = ExplicitVRLittleEndian, *, preamble: bool = True) -> bytes:
    """The bytes of a file; its pixel data must be as ``syntax`` has them."""
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID = dataset.get("SOPClassUID", SECONDARY)
    meta.MediaStorageSOPInstanceUID = dataset.get("SOPInstanceUID", f"{ROOT}.9")
    meta.TransferSyntaxUID = UID(syntax)
    out = io.BytesIO()
    if not preamble:
        implicit = syntax == ImplicitVRLittleEndian
        dataset.save_as(out, implicit_vr=implicit, little_endian=syntax != ExplicitVRBigEndian)
        return out.getvalue()
    dataset.file_meta = meta
    if "PixelData" in dataset:
        dataset["PixelData"].VR = "OB" if UID(syntax).is_compressed and syntax.count(".") > 6 else "OW"
    dataset.save_as(out, enforce_file_format=True)
    return out.getvalue()


def save(dataset: Dataset, path: Path, syntax: str = ExplicitVRLittleEndian) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(dataset, syntax))
    return path


def ct_series(folder: Path, count: int = 6, *, size: tuple[int, int] = (24, 32), **more: Any) -> list[Path]:
    """Files of a CT series, slice ``i`` filled with noise around ``100 * i``."""
    rng = np.random.default_rng(count)
    return [
        save(
            ct_slice((100 * i + rng.integers(0, 50, size)).astype(np.int16), i, **more),
            folder / f"{i:03d}.dcm",
        )
        for i in range(count)
    ]


def first_image(dataset: Dataset) -> Image:
    """The first image of the file that ``dataset`` makes."""
    return DicomImages(io.BytesIO(encoded(dataset)), "made up").image(0)


def sequence_of(**elements: object) -> list[Dataset]:
    """A sequence of one item."""
    item = Dataset()
    for keyword, value in elements.items():
        setattr(item, keyword, value)
    return [item]
