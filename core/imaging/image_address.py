"""The address of an image: a file, an entry of a zip, or a row of an array file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

#: Separates the name of a zip in a folder from an entry of it; no file name may contain it.
IN_ZIP = "!/"
_ENTRY_OF_ZIP = re.compile(rf"(.+?\.zip){IN_ZIP}(.+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class ImageAddress:
    """``container`` is a file on disk: the image itself, a ``.zip`` or a ``.npz``.

    ``member`` names the entry of a zip, or the array of an npz, or ``entry.npz!array`` of an npz within
    a zip; ``frame`` is the row of an array or the frame of a DICOM object (``None`` where the image is the
    whole member). ``slices``: of a volume kept in several files, the address of each slice in order.
    """

    container: Path
    member: str = ""
    frame: int | None = None
    slices: tuple[ImageAddress, ...] = ()

    def __str__(self) -> str:
        inside = f"!{self.member}" if self.member else ""
        row = f"[{self.frame}]" if self.frame is not None else ""
        return f"{self.container}{inside}{row}"


def divide_zip_entry(path: str) -> tuple[str, str]:
    """A path within a folder as (file, entry): "a/ct.zip!/1.dcm" is "1.dcm" of "a/ct.zip", any other path is no entry
    ("")."""
    found = _ENTRY_OF_ZIP.fullmatch(path)
    return (found[1], found[2]) if found else (path, "")


def address_in_folder(folder: Path, path: str, member: str = "", frame: int | None = None) -> ImageAddress:
    """The address of the file ``path`` of a folder, which may be an entry of a zip there; ``member`` is an array in
    it."""
    file, entry = divide_zip_entry(path)
    inside = "!".join(part for part in (entry, member) if part)
    return ImageAddress(folder.joinpath(*PurePosixPath(file).parts), inside, frame)
