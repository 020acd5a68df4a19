"""Which images of a patient hang side by side: the views of a mammogram, the prior study beside the current one."""

from __future__ import annotations

import numpy as np

from semblance.core.library.case_columns import NO_PATIENT, CaseColumns, ImageAvailability

#: Laterality and view of the four images of a screening mammogram, in the order they hang.
MAMMOGRAM = (("R", "CC"), ("L", "CC"), ("R", "MLO"), ("L", "MLO"))
#: Orders in which the views of a mammogram usually hang, by name.
ORDERS: dict[str, tuple[tuple[str, str], ...]] = {
    "cc_first": MAMMOGRAM,
    "mlo_first": (("R", "MLO"), ("L", "MLO"), ("R", "CC"), ("L", "CC")),
    "by_side": (("R", "CC"), ("R", "MLO"), ("L", "CC"), ("L", "MLO")),
}
#: Images of one study without a prior, and studies side by side.
_MOST_IMAGES, _MOST_STUDIES = 4, 3

#: Views of a mammogram in the order they hang: laterality and view of each of :data:`MAMMOGRAM`.
ViewOrder = tuple[tuple[str, str], ...]
Rows = tuple[tuple[int | None, ...], ...]


def hanging(columns: CaseColumns, index: int, *, priors: bool = True, order: ViewOrder = MAMMOGRAM) -> Rows:
    """Rows of positions in ``columns`` with the images of the patient of the case at ``index``; ``None``: a free place.

    The views of a mammogram hang in ``order``: in two rows, or with ``priors`` the prior study in a second row.
    Other images of the same kind hang with the newest study first, those of the same series description before others.
    Without an earlier study up to four images of the study are shown.
    """
    headers = columns.headers
    patient = int(columns.patient[index])
    own = np.flatnonzero((columns.patient == patient) & (columns.state != ImageAvailability.NO_IMAGE))
    if patient == NO_PATIENT or not own.size:
        return ((index,),)
    studies: dict[tuple[str, int], list[int]] = {}
    for case in map(int, own):
        if headers.text("modality", case) == headers.text("modality", index):
            studies.setdefault((headers.text("date", case), int(headers.codes["study"][case])), []).append(
                case
            )
    newest_first = [studies[key] for key in sorted(studies, reverse=True)]
    if is_mammogram(columns, index):
        rows = [_views(columns, study, order) for study in newest_first]
        rows = [row for row in rows if any(place is not None for place in row)][: 2 if priors else 1]
        return tuple(rows) if len(rows) > 1 else (rows[0][:2], rows[0][2:])

    def likeness(case: int) -> tuple[bool, bool, int]:
        return (
            case != index,
            headers.text("series_description", case) != headers.text("series_description", index),
            case,
        )

    same_kind = [
        [case for case in study if headers.kind(case) == headers.kind(index)] for study in newest_first
    ]
    same_kind = [study for study in same_kind if study]
    if priors and len(same_kind) > 1:
        return (tuple(min(study, key=likeness) for study in same_kind[:_MOST_STUDIES]),)
    current = next(study for study in same_kind if index in study)
    shown: list[int | None] = [*sorted(current, key=likeness)[:_MOST_IMAGES]]
    return tuple(tuple(shown[start : start + 2]) for start in range(0, len(shown), 2))


def is_mammogram(columns: CaseColumns, index: int) -> bool:
    """Whether the case at ``index`` is one of the four views of a screening mammogram."""
    headers = columns.headers
    return index >= 0 and (headers.text("laterality", index), headers.text("view", index)) in MAMMOGRAM


def _views(columns: CaseColumns, study: list[int], order: ViewOrder) -> tuple[int | None, ...]:
    """The first image of each view of a mammogram in a study, in ``order``."""
    found: dict[tuple[str, str], int] = {}
    for case in study:
        view = (columns.headers.text("laterality", case), columns.headers.text("view", case))
        found.setdefault(view, case)
    return tuple(found.get(view) for view in order)
