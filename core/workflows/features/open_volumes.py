"""Volumes of cases, opened to be measured: their content is that of the catalogue, or they are refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.imaging.image import Image
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.region import Region
from semblance.core.imaging.stacks import FileStack
from semblance.core.imaging.volume import Stack
from semblance.core.imaging.zip_archive import open_regular_file
from semblance.core.language import tr_lazy
from semblance.core.library.content_hashes import (
    content_hash,
    content_hash_of_stream,
    content_of_part,
    hash_of_stack,
)
from semblance.core.tasks import Reporter

if TYPE_CHECKING:
    from semblance.core.library.library import Library


@dataclass(frozen=True)
class CaseImage:
    """A case as a worker needs it."""

    row: int
    content: str
    address: ImageAddress
    region: Region | None
    slice_hashes: tuple[str, ...] = ()


def case_images(library: Library, rows: npt.NDArray[np.int64]) -> list[CaseImage]:
    """Those of the cases ``rows`` that have an image, by id."""
    details = library.catalogue.details(rows.tolist())
    return [
        CaseImage(row, d.content, d.address, d.region, d.slice_hashes)
        for row, d in sorted(details.items())
        if d.address is not None
    ]


class SliceUnavailable(BadInput):
    """A slice of a volume that cannot be read now, or has changed."""


class OpenVolumes:
    """Opens volumes through ``reader`` and returns the hash of their content; close it before the reader."""

    def __init__(self, reader: ImageReader) -> None:
        self._reader = reader
        self._at: ImageAddress | None = None
        self._stack: Stack | None = None
        self._hash = ""

    def whole(self, address: ImageAddress) -> tuple[Stack, str]:
        """A volume that is one file, an array or a row of one, and the hash of its content.

        Raises:
            BadInput: missing, damaged or no volume.
        """
        if self._at != address or self._stack is None:
            self.close()
            stack = self._reader.stack(address)
            self._stack, self._at, self._hash = stack, address, self._hash_of(address, stack)
        return self._stack, self._hash

    def of_slices(
        self, address: ImageAddress, slice_hashes: tuple[str, ...], reporter: Reporter
    ) -> FileStack:
        """A volume of several files; each slice is checked against its hash when it is read.

        Raises:
            BadInput: the first slice cannot be read; :class:`SliceUnavailable` for a missing or changed slice.
        """
        hashes = dict(zip(address.slices, slice_hashes, strict=True))

        def opened(one: ImageAddress) -> Image:
            reporter.check_cancelled()
            try:
                data = self._reader.read_bytes(one)
            except BadInput as error:
                raise SliceUnavailable(error.message, error.hint) from None
            if content_hash(data) != hashes[one]:
                raise SliceUnavailable(
                    tr_lazy("'{one}' has changed since it was imported.", one=one), "Import it again."
                )
            return self._reader.decode(data, one)

        stack = FileStack(address, opened)
        with self._reader.stack(address) as plain:
            stack.spacing_mm, stack.directions = plain.spacing_mm, plain.directions
            stack.find_positions = plain.positions
        return stack

    def of_case(self, image: CaseImage, reporter: Reporter) -> tuple[Stack, str]:
        """The volume of a case, and the hash of its content; slices in files are checked when they are read.

        Raises:
            BadInput: as :meth:`whole` and :meth:`of_slices`.
        """
        if image.address.slices:
            return self.of_slices(image.address, image.slice_hashes, reporter), image.content
        stack, digest = self.whole(image.address)
        return stack, content_of_part(digest, image.region)

    def close(self) -> None:
        """Close the volume that is open."""
        if self._stack is not None:
            self._stack.close()
        self._stack = self._at = None

    def _hash_of(self, address: ImageAddress, stack: Stack) -> str:
        if self._reader.holds_voxels(address):
            return hash_of_stack(stack)
        if address.member:
            return content_hash(self._reader.read_bytes(address))
        with open_regular_file(address.container, str(address.container)) as file:
            return content_hash_of_stream(file)
