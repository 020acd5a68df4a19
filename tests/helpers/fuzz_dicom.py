"""DICOM files to mutate, and how they are read; ``python -m tests.fuzz --kinds dicom`` runs many."""

from __future__ import annotations

import io
from pathlib import Path

_LARGEST = 1 << 20


def seeds(data: Path | None) -> list[bytes]:
    """Files to mutate: generated ones of several packings, and the small real ones."""
    import numpy as np
    from pydicom.uid import ExplicitVRBigEndian, ImplicitVRLittleEndian, JPEG2000Lossless, RLELossless

    from tests.helpers.dicom_files import ct_slice, encoded, image

    rng = np.random.default_rng(0)
    grey = rng.integers(-1000, 1000, (64, 64)).astype(np.int16)
    colour = rng.integers(0, 256, (3, 12, 16, 3)).astype(np.uint8)
    found = [
        encoded(ct_slice(grey)),
        encoded(ct_slice(grey), ImplicitVRLittleEndian),
        encoded(ct_slice(grey), ExplicitVRBigEndian),
        encoded(image(colour)),
    ]
    for syntax in (RLELossless, JPEG2000Lossless):
        packed = ct_slice(grey)
        encoded(packed)
        packed.compress(syntax, generate_instance_uid=False)
        out = io.BytesIO()
        packed.save_as(out, enforce_file_format=True)
        found.append(out.getvalue())
    if data is not None:
        files = sorted(p for p in (data / "dicom").rglob("*") if p.is_file() and p.suffix == ".dcm")
        found += [
            p.read_bytes() for p in files if 0 < p.stat().st_size <= _LARGEST and "chest" not in p.parts
        ]
    return found


def decode(data: bytes) -> str:
    """What became of one file: "decoded", "no pixels" or "refused"."""
    from semblance.core.errors import BadInput
    from semblance.core.imaging.dicom import cad_marks, segmentations, structure_sets
    from semblance.core.imaging.dicom.dicom_file import errors_as_bad_input, open_dicom
    from semblance.core.imaging.dicom.geometry import slice_plane
    from semblance.core.imaging.dicom.images import DicomImages
    from semblance.core.library.importers.dicom import named_files
    from semblance.core.library.importers.dicom_series import HEADER_TAGS, group_instances, read_instance

    try:
        header = open_dicom(io.BytesIO(data), "mutated", HEADER_TAGS)
        group_instances([read_instance("mutated", header.dataset, pixels=True, pseudonyms=None)])
        whole = open_dicom(io.BytesIO(data), "mutated")
        with errors_as_bad_input("mutated"):
            named_files(whole.dataset)
            cad_marks.cad_marks(whole.dataset)
            plane = slice_plane(whole.dataset)
            if plane is not None:
                structure_sets.structures(whole.dataset, [plane], (64, 64))
            segmentations.referenced_instances(whole.dataset)
        if not whole.pixels:
            return "no pixels"
        images = DicomImages(io.BytesIO(data), "mutated")
        for frame in sorted({0, len(images) - 1}):
            images.image(frame).grey()
    except BadInput as error:
        assert error.message
        return "refused"
    return "decoded"
