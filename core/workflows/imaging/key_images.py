"""Key images: the slices of a case that a person marked, kept with the case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from semblance.core.imaging import ImageAddress, ImageReader, open_image
from semblance.core.imaging.image import Image, ValueWindow
from semblance.core.imaging.region import Region
from semblance.core.imaging.slab import MODE_NAMES, Slab, SlabMode
from semblance.core.language import format_number, join_texts, tr_lazy
from semblance.core.library.annotations import KEY_IMAGE, Annotation, AnnotationTable
from semblance.core.library.location import LibraryLocation
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.imaging.library_cache import cached_library, case_at
from semblance.core.workflows.imaging.view_planes import slab_of_slices


@dataclass(frozen=True)
class KeyImage:
    """The ``slice`` of a volume, from 0, or an image as it was shown when it was marked: ``window``: its ends in the
    image's unit, where known; ``inverted``; the ``slab`` around the slice."""

    slice: int | None = None
    window: tuple[float, float] | None = None
    inverted: bool = False
    slab: Slab | None = None

    def to_json(self) -> dict[str, Any]:
        """What is stored with the case."""
        found: dict[str, Any] = {"inverted": self.inverted}
        if self.window is not None:
            found["window"] = list(self.window)
        if self.slab is not None:
            found["slab"] = {"mode": self.slab.mode.value, "thickness_mm": self.slab.thickness_mm}
        return found

    @classmethod
    def of(cls, place: int | None, data: Mapping[str, Any]) -> KeyImage:
        """The inverse of :meth:`to_json`; what is damaged is left out."""
        window = slab = None
        try:
            if "window" in data:
                low, high = data["window"]
                window = float(low), float(high)
            if "slab" in data:
                slab = Slab(SlabMode(data["slab"]["mode"]), float(data["slab"]["thickness_mm"]))
        except (TypeError, ValueError, KeyError):
            pass
        return cls(place, window, bool(data.get("inverted")), slab)

    @property
    def caption(self) -> str:
        """Such as "Slice 12, MIP 10 mm"."""
        parts = [
            tr_lazy("Key image") if self.slice is None else tr_lazy("Slice {place}", place=self.slice + 1)
        ]
        if self.slab is not None:
            thickness = format_number(self.slab.thickness_mm, ".4g")
            parts.append(tr_lazy("{mode} {mm} mm", mode=MODE_NAMES[self.slab.mode], mm=thickness))
        return join_texts(parts)


def key_images_of(table: AnnotationTable, case_id: str) -> tuple[KeyImage, ...]:
    """The key images of a case, by slice."""
    found = [KeyImage.of(one.slice, one.data) for one in table.of_case(case_id) if one.kind == KEY_IMAGE]
    return tuple(sorted(found, key=lambda one: -1 if one.slice is None else one.slice))


def key_images(library: LibraryLocation, row: int, *, reporter: Reporter = SILENT) -> tuple[KeyImage, ...]:
    """The key images of the case in a catalogue row; none if it is gone."""
    opened = cached_library(library)
    case = opened.catalogue.details([row]).get(row)
    return () if case is None else key_images_of(opened.annotations, case.case_id)


def mark_key_image(
    library: LibraryLocation, row: int, key: KeyImage, *, is_marked: bool, reporter: Reporter = SILENT
) -> tuple[KeyImage, ...]:
    """Mark the slice of ``key`` as a key image, or take the mark away; the key images after it.

    Raises:
        BadInput: the case is gone.
        SemblanceError: the mark is another person's, which the user may not change.
    """
    opened = cached_library(library)
    case = case_at(opened, row)
    table = opened.annotations
    others = [one for one in table.of_case(case.case_id) if (one.kind, one.slice) != (KEY_IMAGE, key.slice)]
    added = [Annotation(KEY_IMAGE, key.to_json(), key.slice)] if is_marked else []
    table.replace(case.case_id, [*others, *added])
    return key_images_of(table, case.case_id)


def open_key_image(address: ImageAddress, key: KeyImage) -> Image:
    """The image at ``address`` as it was marked.

    Raises:
        BadInput: it cannot be read, or the volume has no such slice.
    """
    if key.slice is None:
        image = open_image(address)
    elif key.slab is not None:
        image = slab_of_slices(address, key.slice, key.slab)
    else:
        with ImageReader() as reader:
            image = reader.open(address, Region(0, 0, 1, 1, z=key.slice))
    if key.window is None or image.is_colour:
        return image
    values = replace(image.values, windows=(ValueWindow(*key.window),), inverse=key.inverted)
    return replace(image, values=values)
