"""Images of a library that show one thing twice, though no file and no patient says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.splits import patient_codes
from semblance.core.imaging.image_signature import image_signature, near_duplicate_pairs
from semblance.core.library.open_library import open_library

#: Images looked at, at most: a signature takes 0.8 ms, and all of them are compared with all.
MOST_IMAGES = 4000


def count_near_duplicates(library: Path, data: EvaluationData) -> int:
    """How many cases look like one that a split may put on the other side: saved anew, or a moment later.

    Told by thumbnails alone, of the first :data:`MOST_IMAGES` cases; a case without one is like none.

    Raises:
        BadInput: the library cannot be read.
    """
    if data.case_rows is None:
        return 0
    with open_library(library) as opened:
        images = opened.catalogue.shown_images()
        content = {int(case.id): str(case.content) for case in opened.catalogue.all_cases()}
        shown = [at for at, row in enumerate(data.case_rows.tolist()) if row in images][:MOST_IMAGES]
        wanted = sorted({content[int(data.case_rows[at])] for at in shown})
        prints = {key: image_signature(image) for key, image in opened.thumbnails.get(wanted).items()}
    found = [(at, mark) for at in shown if (mark := prints.get(content[int(data.case_rows[at])])) is not None]
    if len(found) < 2:
        return 0
    units = patient_codes(data.units, data.n_cases)
    own = np.arange(data.n_cases) if units is None else units
    sides = own[[at for at, _ in found]]
    alike = near_duplicate_pairs([mark for _, mark in found]) & (sides[:, None] != sides)
    return int(np.count_nonzero(alike.any(axis=1)))
