"""Count near-duplicate images of a library that are neither known to be of the same patient nor in one group.

Same-lesion groups hold copies of one image. Similar images that are not copies, such as frames of one scan, are in none
unless a user joined them. Copies that a user split, or that were not detected in a library, are in none either.
"""

from __future__ import annotations

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.splits import patient_codes
from semblance.core.imaging.image_signature import image_signature, near_duplicate_pairs
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library

#: Maximum number of images: a signature takes 0.8 ms, and every pair is compared.
MAX_IMAGES = 4000


def count_near_duplicates(library: LibraryLocation, data: EvaluationData) -> int:
    """The number of cases that look like a case of another unit, which a split may put on the other side.

    A unit is a patient, a same-lesion group or an image.

    Thumbnails of the first :data:`MAX_IMAGES` cases are compared. A case without a thumbnail is not counted.

    Raises:
        BadInput: the library cannot be read.
    """
    if data.case_rows is None:
        return 0
    with open_library(library) as opened:
        images = opened.catalogue.shown_images()
        content = {int(case.id): str(case.content) for case in opened.catalogue.all_cases()}
        shown = [place for place, row in enumerate(data.case_rows.tolist()) if row in images][:MAX_IMAGES]
        keys = sorted({content[int(data.case_rows[place])] for place in shown})
        signatures = {key: image_signature(image) for key, image in opened.thumbnails.get(keys).items()}
    found = [
        (place, signature)
        for place in shown
        if (signature := signatures.get(content[int(data.case_rows[place])])) is not None
    ]
    if len(found) < 2:
        return 0
    units = patient_codes(data.units, data.n_cases)
    unit_of_case = np.arange(data.n_cases) if units is None else units
    units_found = unit_of_case[[place for place, _ in found]]
    is_near_duplicate = near_duplicate_pairs([signature for _, signature in found]) & (
        units_found[:, None] != units_found
    )
    return int(np.count_nonzero(is_near_duplicate.any(axis=1)))
