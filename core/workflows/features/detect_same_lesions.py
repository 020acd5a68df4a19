"""Find the cases of a library that show one lesion: equal and nearly equal images, groups stated by the source, and
repeated rows of tables."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.imaging.region import box_overlap
from semblance.core.imaging.same_image import (
    OUTLINE_CORRELATION,
    OUTLINE_NUMBERS,
    ComparableImage,
    is_same_image,
    mirrored,
    outlines,
)
from semblance.core.library.lesion_groups import add_detected, groups_of_several, read_groups
from semblance.core.retrieval.close_pairs import close_pairs
from semblance.core.tasks import SILENT, Reporter

if TYPE_CHECKING:
    from semblance.core.imaging.region import Box, Region
    from semblance.core.library.catalogue import Catalogue
    from semblance.core.library.library import Library
    from semblance.core.library.records import CaseDetails, FeatureSet

#: The attribute by which a source states that cases of one patient are of one lesion.
LESION_ATTRIBUTE = "lesion_id"
#: Images closest to each in outline, and by the encoder, that are compared with it.
_COMPARED, _COMPARED_BY_ENCODER = 8, 10
#: The cosine of the encoder's numbers from which images are compared. A crop of .75 of each side has .73 or more in
#: 49 of 50 images of BUSI and Corel.
_ENCODER_COSINE = 0.7
#: Numbers that the encoder's are reduced to, to look for candidates.
_REDUCED = 64
#: Prepared thumbnails in memory.
_KEPT = 2000
#: Rows of a table are repeated cases only where most rows differ: coarse numbers are often equal.
_MOST_REPEATED = 0.5
#: Regions of two copies of an image are of one lesion where they overlap by this share of both together.
_REGION_OVERLAP = 0.5


def detect_same_lesions(library: Library, *, reporter: Reporter = SILENT) -> None:
    """Group the cases of ``library`` that are of one lesion, by their thumbnails and tables.

    Cases of earlier calls are compared with new cases only.
    """
    images = library.catalogue.shown_images()
    contents = {r.id: str(r.content) for r in library.catalogue.cases_of_lesions() if r.id in images}
    add_detected(library.catalogue, _equal(contents, images))
    add_detected(library.catalogue, _named_by_source(library.catalogue))
    add_detected(library.catalogue, _repeated_rows(library.catalogue))
    _add_near_duplicates(library, contents, images, reporter)


def detect_crops(
    library: Library, feature_set: FeatureSet, new: Collection[int], reporter: Reporter = SILENT
) -> None:
    """Group the cases whose image is a part of another, or nearly equal, by the encoder's ``feature_set``.

    The cases ``new`` are compared with those nearest to them.
    """
    rows, numbers = library.features.read(feature_set)
    images = library.catalogue.shown_images()
    there = np.array([int(row) in images for row in rows], dtype=bool) & np.isfinite(numbers).all(axis=1)
    rows, numbers = rows[there], numbers[there]
    queries = np.flatnonzero(np.isin(rows, list(new)))
    if len(rows) < 2 or not len(queries):
        return
    vectors = _reduced(numbers)
    found = close_pairs(
        vectors,
        [vectors[queries]],
        queries,
        least=_ENCODER_COSINE,
        most=_COMPARED_BY_ENCODER,
        reporter=reporter,
    )
    candidates = [(int(rows[one]), int(rows[other])) for one, other, _ in found]
    comparison = _Comparison(library, images, parts=True)
    add_detected(library.catalogue, comparison.same(candidates, reporter))


def count_lesions(catalogue: Catalogue) -> dict[str, int]:
    """The number of same-lesion ``groups`` with two cases or more, and of the ``cases`` in them."""
    several = groups_of_several(read_groups(catalogue))
    return {"groups": len(several), "cases": sum(map(len, several))}


def _equal(contents: Mapping[int, str], images: Mapping[int, object]) -> Iterator[tuple[int, int]]:
    """Cases of equal content in different files. In one file these may be equal regions, which are different
    lesions."""
    by_content: dict[str, list[int]] = {}
    for row, content in contents.items():
        by_content.setdefault(content, []).append(row)
    for rows in by_content.values():
        yield from ((one, other) for one, other in pairwise(rows) if images[one] != images[other])


def _named_by_source(catalogue: Catalogue) -> Iterator[tuple[int, int]]:
    """Cases of one patient that have the same :data:`LESION_ATTRIBUTE`."""
    first: dict[tuple[str | None, str], int] = {}
    for r in catalogue.cases_with_attribute(LESION_ATTRIBUTE):
        if r.attributes.get(LESION_ATTRIBUTE):
            before = first.setdefault((r.patient, r.attributes[LESION_ATTRIBUTE]), r.id)
            if before != r.id:
                yield before, r.id


def _repeated_rows(catalogue: Catalogue) -> list[tuple[int, int]]:
    """Equal rows of tables whose patients are not known to differ."""
    n_rows, rows = catalogue.repeated_rows()
    first: dict[str, Any] = {}
    repeated = []
    for r in rows:
        before = first.setdefault(r.content, r)
        if before is not r and (not before.patient or not r.patient or before.patient == r.patient):
            repeated.append((int(before.id), int(r.id)))
    return repeated if len(repeated) <= _MOST_REPEATED * n_rows else []


def _add_near_duplicates(
    library: Library, contents: Mapping[int, str], images: Mapping[int, object], reporter: Reporter
) -> None:
    """Group cases whose thumbnails show one image; only those without an outline yet are looked up."""
    known = library.thumbnails.outlines()
    new = sorted({content for content in contents.values() if content not in known})
    made: dict[str, bytes] = {}
    for start in range(0, len(new), _KEPT):
        for content, encoded in library.thumbnails.get(new[start : start + _KEPT]).items():
            reporter.check_cancelled()
            made[content] = _outline_bytes(encoded)
            reporter.progress(len(made), len(new), "Looking for the same lesions and copies")
    known |= made
    first: dict[str, int] = {}
    for row, content in contents.items():
        if known.get(content):
            first.setdefault(content, row)
    if len(first) < 2 or not made:
        return
    several = {
        content: np.frombuffer(known[content], dtype=np.float16).reshape(-1, OUTLINE_NUMBERS)
        for content in first
    }
    rows = np.repeat(list(first.values()), [len(forms) for forms in several.values()])
    compared = np.concatenate(list(several.values())).astype(np.float32)
    queries = np.flatnonzero(
        np.repeat([content in made for content in first], [len(f) for f in several.values()])
    )
    found = close_pairs(
        compared,
        mirrored(compared[queries]),
        queries,
        least=OUTLINE_CORRELATION,
        most=_COMPARED,
        reporter=reporter,
    )
    candidates = dict.fromkeys((int(rows[one]), int(rows[other])) for one, other, _ in found)
    comparison = _Comparison(library, images, parts=False)
    add_detected(library.catalogue, list(comparison.same(list(candidates), reporter)))
    # Stored together with the groups, so that the import after a cancelled or killed one compares these images.
    library.thumbnails.put_outlines(made.items())


def _outline_bytes(encoded: bytes) -> bytes:
    """The outlines of a thumbnail, float16; nothing for a uniform or damaged one."""
    try:
        return outlines(ComparableImage(encoded)).astype(np.float16).tobytes()
    except (OSError, ValueError):
        return b""


def _reduced(numbers: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """(n, d) features of the encoder on fewer axes, of length 1; inner products approximate the cosines."""
    wide = numbers / np.maximum(np.linalg.norm(numbers, axis=1, keepdims=True), 1e-9)
    sample = wide[:: max(1, len(wide) // 2000)].astype(np.float64)
    axes = np.linalg.svd(sample, full_matrices=False)[2][:_REDUCED]
    reduced = wide @ axes.T
    out: npt.NDArray[np.float32] = (
        reduced / np.maximum(np.linalg.norm(reduced, axis=1, keepdims=True), 1e-9)
    ).astype(np.float32)
    return out


class _Comparison:
    """Compares thumbnails of candidates; regions of one image are never the same lesion."""

    def __init__(self, library: Library, images: Mapping[int, object], *, parts: bool) -> None:
        self._library, self._images, self._parts = library, images, parts
        self._known: OrderedDict[str, ComparableImage | None] = OrderedDict()

    def same(self, candidates: Sequence[tuple[int, int]], reporter: Reporter) -> Iterator[tuple[int, int]]:
        """Those of ``candidates`` that show one image and the same part of it."""
        groups = {row: member.group for row, member in read_groups(self._library.catalogue).items()}
        root: dict[object, object] = {}

        def group_of(row: int) -> object:
            key: object = ("group", groups[row]) if row in groups else row
            while key in root:
                key = root[key]
            return key

        for start in range(0, len(candidates), _KEPT // 4):
            part = candidates[start : start + _KEPT // 4]
            details = self._library.catalogue.details(sorted({row for pair in part for row in pair}))
            self._prepare(details.values())
            for number, (one, other) in enumerate(part):
                reporter.check_cancelled()
                reporter.progress(start + number, len(candidates), "Comparing possible copies")
                a, b = group_of(one), group_of(other)
                if a == b or self._images[one] == self._images[other]:
                    continue
                if self._are_same(details[one], details[other]):
                    root[b] = a
                    yield one, other

    def _prepare(self, details: Iterable[CaseDetails]) -> None:
        new = sorted({case.content for case in details} - self._known.keys())
        for content, encoded in self._library.thumbnails.get(new).items():
            try:
                self._known[content] = ComparableImage(encoded)
            except (OSError, ValueError):
                # A damaged thumbnail is made again when it is shown; until then its case is compared with no other.
                self._known[content] = None
        while len(self._known) > _KEPT + len(new):
            self._known.popitem(last=False)

    def _are_same(self, one: CaseDetails, other: CaseDetails) -> bool:
        a, b = self._known.get(one.content), self._known.get(other.content)
        if a is None or b is None or not _same_region(one, other):
            return False
        with_region = one.region is not None
        return is_same_image(a, b, parts=self._parts and not with_region)


def _same_region(one: CaseDetails, other: CaseDetails) -> bool:
    """Whether both are whole images, or the same part of them."""
    if one.region is None or other.region is None:
        return one.region is other.region
    a, b = _shares(one.region, one), _shares(other.region, other)
    if a is None or b is None:
        return False
    return box_overlap(a, b) >= _REGION_OVERLAP


def _shares(region: Region, case: CaseDetails) -> Box | None:
    if not case.width or not case.height:
        return None
    left, top, right, bottom = region.box
    return left / case.width, top / case.height, right / case.width, bottom / case.height
