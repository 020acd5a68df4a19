"""What people measured in the images of a library and noted on its cases, kept with them."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Sequence

from semblance.core.errors import BadInput
from semblance.core.imaging.image import Image
from semblance.core.imaging.measurements import KINDS, Figure, measure
from semblance.core.library.annotations import Annotation, CaseNote
from semblance.core.library.library import Library
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.reports.measurement_text import label_lines
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.imaging.library_cache import cached_library, case_at


def figures_of(annotations: Iterable[Annotation]) -> tuple[Figure, ...]:
    """The figures that are drawn to measure; of damaged ones none."""
    found = []
    for one in annotations:
        if one.kind in KINDS:
            try:
                found.append(Figure.from_json(one.kind, dict(one.data), one.slice))
            except BadInput:
                continue
    return tuple(found)


def figures_of_case(library: Library, case_id: str) -> tuple[Figure, ...]:
    """What is measured in a case."""
    return figures_of(library.annotations.of_case(case_id))


def measured_slice(figures: Iterable[Figure]) -> int | None:
    """The first slice of a volume that ``figures`` lie on."""
    return min((one.slice for one in figures if one.plane is None and one.slice is not None), default=None)


def labels_on(image: Image, place: int | None, figures: Iterable[Figure]) -> dict[Figure, str]:
    """Those of ``figures`` that lie on ``image``, the slice ``place`` of its volume, with their results in words."""
    found = {}
    for one in figures:
        if one.plane is None and one.slice in (None, place):
            # It may have been drawn on another version of the file, and lie outside.
            with contextlib.suppress(BadInput):
                found[one] = "\n".join(label_lines(one, measure(image, one)))
    return found


def save_figures(
    location: LibraryLocation,
    row: int,
    before: Sequence[Figure],
    after: Sequence[Figure],
    *,
    reporter: Reporter = SILENT,
) -> tuple[Figure, ...]:
    """Store what changed in a case from ``before`` to ``after``; what others did meanwhile stays. What is stored then.

    Raises:
        BadInput: the case is gone.
        SemblanceError: a measurement of another person, which the user may not change.
    """
    library = cached_library(location)
    case = case_at(library, row)
    table = library.annotations
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    wanted = []
    for one in table.of_case(case.case_id):
        figures = figures_of([one])
        if figures and gone[figures[0]]:
            gone[figures[0]] -= 1
        else:
            wanted.append(one)
    wanted += [Annotation(one.kind, one.to_json(), one.slice) for one in new.elements()]
    return figures_of(table.replace(case.case_id, wanted))


def read_note(library: LibraryLocation, case: str, *, reporter: Reporter = SILENT) -> CaseNote | None:
    """The note that is kept with the case of this id; ``None`` without one.

    Raises:
        BadInput: not a library, or damaged.
    """
    with open_library(library) as opened:
        return opened.notes.of_cases([case]).get(case)


def keep_note(
    library: LibraryLocation, case: str, text: str, *, reporter: Reporter = SILENT
) -> CaseNote | None:
    """Keep ``text`` with the case of this id in place of the note it had, which an empty one removes; the note.

    Raises:
        BadInput: no such case.
        SemblanceError: the note is another person's, or the library cannot be written to.
    """
    with open_library(library, writable=True) as opened:
        opened.notes.set(case, text)
        return opened.notes.of_cases([case]).get(case)
