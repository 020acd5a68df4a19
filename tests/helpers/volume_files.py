"""Files of volumes, written without the program: NIfTI by nibabel, NRRD by pynrrd, MetaImage byte by byte."""

from __future__ import annotations

import io
import zlib
from pathlib import Path

import nibabel as nib
import nrrd
import numpy as np

_META_TYPES = {"u1": "MET_UCHAR", "i2": "MET_SHORT", "u2": "MET_USHORT", "f4": "MET_FLOAT", "i4": "MET_INT"}


def nifti(voxels, lps=None, **fields) -> bytes:
    """``voxels`` (i, j, k) or (i, j, k, n); ``lps`` (4, 4) from their indices to mm; ``fields`` of the header."""
    affine = np.diag([-1.0, -1.0, 1.0, 1.0]) @ (np.eye(4) if lps is None else lps)
    image = nib.Nifti1Image(voxels, affine)
    for name, value in fields.items():
        image.header[name] = value
    data = image.to_bytes()
    # Bytes 252 to 255: qform_code and sform_code.
    return data if lps is not None else data[:252] + bytes(4) + data[256:]


def nrrd_file(voxels, lps, place: Path, ending: str = "nrrd", encoding: str = "gzip", **fields) -> bytes:
    """With ``ending`` nhdr the numbers lie beside the header in ``place``."""
    file = place / f"written.{ending}"
    header = {
        "space": "left-posterior-superior",
        "space directions": lps[:3, :3].T,
        "space origin": lps[:3, 3],
    }
    nrrd.write(str(file), voxels, {**header, "encoding": encoding, **fields})
    return file.read_bytes()


def meta_image(voxels, lps, data_name: str = "LOCAL", *, compressed: bool = False) -> tuple[bytes, bytes]:
    """The header, with the numbers behind it if they are LOCAL, and the numbers."""
    spacing = np.linalg.norm(lps[:3, :3], axis=0)
    cosines = (lps[:3, :3] / spacing).T.ravel()
    data = voxels.transpose(2, 1, 0).tobytes()
    data = zlib.compress(data) if compressed else data
    lines = {
        "ObjectType": "Image",
        "NDims": 3,
        "BinaryData": True,
        "BinaryDataByteOrderMSB": False,
        "CompressedData": compressed,
        "TransformMatrix": " ".join(map(repr, cosines.tolist())),
        "Offset": " ".join(map(repr, lps[:3, 3].tolist())),
        "ElementSpacing": " ".join(map(repr, spacing.tolist())),
        "DimSize": " ".join(map(str, voxels.shape)),
        "ElementType": _META_TYPES[voxels.dtype.str[1:]],
        "ElementDataFile": data_name,
    }
    head = "".join(f"{name} = {value}\n" for name, value in lines.items()).encode()
    return (head + data if data_name == "LOCAL" else head), data


def tiff(voxels, **settings) -> bytes:
    """``voxels`` (..., rows, columns) as pages."""
    import tifffile

    file = io.BytesIO()
    tifffile.imwrite(file, voxels, photometric="minisblack", **settings)
    return file.getvalue()
