"""Ultrasound images with masks, as BUSI (Al-Dhabyani et al., Data in Brief 28, 2020) lays them out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np

from semblance.core.errors import BadInput
from semblance.core.imaging.formats import has_image_name
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.imaging.region import Region, region_of_mask
from semblance.core.language import tr_lazy, tr_lazy_n
from semblance.core.library.importers.folder import FolderImporter
from semblance.core.library.importers.image_files import ignored_files, rejection_of
from semblance.core.library.importers.importer import COMMON_PARAMETERS, FoundCase, Recognition, RejectedFile
from semblance.core.library.importers.labels_csv import is_label_table, read_label_tables
from semblance.core.library.importers.masks import image_size, read_mask
from semblance.core.library.importers.source import Source
from semblance.core.tasks import Reporter

_MASK = re.compile(r"(.+?)_mask(?:_[0-9]{1,3})?", re.IGNORECASE)


class UltrasoundImporter(FolderImporter):
    """Images ``NAME.png`` with masks ``NAME_mask.png``, ``NAME_mask_1.png``, ... in folders of findings.

    One case an image; its masks are united into one region. A black mask (BUSI's normal images) gives
    none. A ``labels.csv`` may name the masks of an image too, several parted by ``;``. The data set has
    no patient ids.
    """

    kind = "ultrasound"
    title = "Ultrasound with masks"
    summary = "BUSI: folders of findings, each image beside the masks (_mask.png) of its lesion."
    parameters = COMMON_PARAMETERS

    def recognise(self, source: Source) -> Recognition | None:
        """Sure where at least half of the images have masks beside them."""
        images = [e.path for e in source.entries() if e.path and has_image_name(e.path)]
        masks = _masks_by_name(images)
        images_with_masks = len(set(masks.values()))
        if not images_with_masks or 2 * images_with_masks < len(images) - len(masks):
            return None
        what = tr_lazy_n("{n} image", "{n} images", len(images) - len(masks))
        return Recognition(
            0.9,
            tr_lazy(
                "{what} with {n} of lesions beside them.",
                what=what,
                n=tr_lazy_n("{n} mask", "{n} masks", len(masks)),
            ),
        )

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """One case for each image, its region the union of its masks."""
        yield from ignored_files(source)
        images: list[str] = []
        for entry in source.entries():
            if entry.path and is_label_table(entry.path):
                continue
            rejected = rejection_of(source, entry)
            if rejected is None:
                images.append(entry.path)
            else:
                yield rejected
        listing = read_label_tables(source, images)
        yield from listing.rejected
        owners = {**_masks_by_name(images), **listing.companions}
        masks: dict[str, list[str]] = {}
        for mask, owner in owners.items():
            masks.setdefault(owner, []).append(mask)
        # Its own reason is reported below; FolderImporter would name only the labels.csv.
        listing.companions.clear()
        shown = [path for path in images if path not in owners]
        with ImageReader() as reader:
            for found in self.cases(source, shown, listing):
                reporter.check_cancelled()
                case_masks = masks.pop(found.path, []) if isinstance(found, FoundCase) else []
                if isinstance(found, RejectedFile) or not case_masks:
                    yield found
                    continue
                region, reports = _region(source, found.path, case_masks, reader)
                yield replace(found, region=region)
                yield from reports
        for owner, unused in masks.items():
            yield from (
                RejectedFile(path, tr_lazy("The mask of '{owner}'.", owner=owner), failed=False)
                for path in unused
            )


def _region(
    source: Source, path: str, masks: list[str], reader: ImageReader
) -> tuple[Region | None, list[RejectedFile]]:
    """The region of the masks that can be used, and how each of them was used."""
    try:
        size = image_size(source, path)
    except BadInput:
        # The import reads the image itself and reports its failure.
        return None, [
            RejectedFile(mask, tr_lazy("The mask of '{path}'.", path=path), failed=False) for mask in masks
        ]
    union = np.zeros(size, dtype=np.bool_)
    reports = []
    for mask in masks:
        try:
            union |= read_mask(source, mask, reader, size)
        except BadInput as error:
            reports.append(RejectedFile(mask, str(error), failed=True))
        else:
            reports.append(RejectedFile(mask, tr_lazy("The mask of '{path}'.", path=path), failed=False))
    return region_of_mask(union) if union.any() else None, reports


def _masks_by_name(images: list[str]) -> dict[str, str]:
    """Mask -> the image beside it, of the same ending or any."""
    by_stem: dict[str, str] = {}
    for path in images:
        by_stem.setdefault(str(PurePosixPath(path).with_suffix("")).casefold(), path)
    owners = {}
    for path in images:
        parts = PurePosixPath(path)
        found = _MASK.fullmatch(parts.stem)
        owner = by_stem.get(str(parts.with_name(found[1])).casefold()) if found else None
        if owner is not None:
            owners[path] = owner
    return owners
