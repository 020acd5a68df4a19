"""Where an image lies: a file, an entry of a zip, or a row of an array file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
