"""The same level in two volumes: their slices are described by the encoder once, and aligned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features.encoder.efficientnet import SIDE
from semblance.core.features.encoder.model_file import all_outputs, encoder_session, model_file
from semblance.core.features.places import unit_rows
from semblance.core.imaging import ImageAddress, ImageReader
from semblance.core.imaging.dicom.value_scale import HU_RANGE
from semblance.core.imaging.image import Image, window_greys
from semblance.core.imaging.volume import Stack
from semblance.core.language import tr_lazy
from semblance.core.library.location import LibraryLocation
from semblance.core.library.records import CaseDetails
from semblance.core.retrieval.slice_alignment import (
    Alignment,
    DescribedSlices,
    align_by_position,
    align_slices,
    no_alignment,
)
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.derived_arrays import SLICES_SUFFIX, load_arrays, save_arrays
from semblance.core.workflows.imaging.library_cache import cached_library, case_at

#: Described slices lie at most so many mm apart, if these are no more than MOST.
FARTHEST_MM, MOST = 2.5, 160
#: Where the positions of two volumes say something else than their content, with at least this confidence and by more
#: than so many mm, the content counts: then their frames of reference are one by name alone.
CONTRADICTION, CONTRADICTION_MM = 0.8, 10.0
#: Slices that decide what the darkest and the brightest grey of a volume are, and the percentiles.
_SAMPLED, _CLIPPED = 9, (0.5, 99.5)
_BATCH = 4
#: What the numbers in the file of a volume's descriptions are: raised when they change.
_VERSION = "1"


def align_cases(library: LibraryLocation, case: str, other: str, *, reporter: Reporter = SILENT) -> Alignment:
    """The level of each slice of the volume ``case`` in the volume ``other``, by their ids.

    Raises:
        BadArguments: both are the same case.
        BadInput: no such case, it is no volume, or a slice cannot be read.
    """
    catalogue = cached_library(library).catalogue
    rows = [catalogue.row_of(one) for one in (case, other)]
    if rows[0] == rows[1]:
        raise BadArguments(
            tr_lazy("'{case}' is given twice.", case=case), "Choose two different volumes to align."
        )
    return align_volumes(library, rows[0], rows[1], reporter=reporter)


def align_volumes(
    library: LibraryLocation | None,
    one: int | ImageAddress,
    other: int | ImageAddress,
    *,
    reporter: Reporter = SILENT,
) -> Alignment:
    """The level of each slice of the volume ``one`` in the volume ``other``; each is the row of a case of ``library``
    or an address.

    By position in the patient where both have one frame of reference, unless their content contradicts it. Else by
    content.

    Raises:
        BadInput: a case is gone, it is no volume, or a slice cannot be read.
    """
    sources = [_source(library, what) for what in (one, other)]
    with (
        ImageReader() as reader,
        reader.stack(sources[0].address) as stack,
        reader.stack(sources[1].address) as other_stack,
    ):
        by_position = _by_position(stack, other_stack) if sources[0].may_be_of_patient(sources[1]) else None
        if not _are_cut_alike(stack, other_stack):
            return by_position or no_alignment(len(stack), len(other_stack))
        work = _Work(reporter, len(_described(stack)) + len(_described(other_stack)))
        described = [
            _descriptions(library, source, opened, work)
            for source, opened in zip(sources, (stack, other_stack), strict=True)
        ]
        found = align_slices(*described, runs_the_same_way=_run_the_same_way(stack, other_stack))
        if by_position is None or _contradicts(found, by_position, other_stack):
            return found
        return by_position


@dataclass(frozen=True)
class _Source:
    """Where a volume is read, and the case it is of."""

    address: ImageAddress
    case: CaseDetails | None

    def may_be_of_patient(self, other: _Source) -> bool:
        """False where both are of known patients who differ."""
        patients = [None if one.case is None else one.case.patient for one in (self, other)]
        return None in patients or patients[0] == patients[1]


def _source(library: LibraryLocation | None, what: int | ImageAddress) -> _Source:
    if isinstance(what, ImageAddress):
        return _Source(what, None)
    assert library is not None
    case = case_at(cached_library(library), what)
    if case.address is None:
        raise BadInput(
            tr_lazy("'{case}' is a row of a table, not a volume.", case=case.case_id),
            "Choose a series or a volume.",
        )
    return _Source(case.address, case)


class _Work:
    """Progress over the described slices of both volumes."""

    def __init__(self, reporter: Reporter, total: int) -> None:
        self._reporter, self._total, self._done = reporter, total, 0

    def advance(self, slices: int) -> None:
        self._done += slices
        self._reporter.progress(self._done, self._total, tr_lazy("Describing the slices"))
        self._reporter.check_cancelled()


def _by_position(stack: Stack, other: Stack) -> Alignment | None:
    """``None`` where the volumes have no common frame of reference."""
    here, there = stack.location, other.location
    if here is None or there is None or not here.shares_frame(there):
        return None
    if stack.spacing_mm is None or other.spacing_mm is None:
        return None
    return align_by_position(
        [here.height_of(place) for place in range(len(stack))],
        [there.height_of(place) for place in range(len(other))],
    )


def _contradicts(found: Alignment, by_position: Alignment, other: Stack) -> bool:
    """Whether the content clearly says something else than the positions."""
    if not len(found.slices) or found.confidence < CONTRADICTION or other.spacing_mm is None:
        return False
    both, here, there = np.intersect1d(found.slices, by_position.slices, return_indices=True)
    if not len(both):
        return True
    apart = np.abs(found.counterparts[here] - by_position.counterparts[there])
    return bool(np.median(apart) * other.spacing_mm[0] > CONTRADICTION_MM)


_OPPOSITE = {"L": "R", "R": "L", "A": "P", "P": "A", "S": "I", "I": "S"}


def _are_cut_alike(stack: Stack, other: Stack) -> bool:
    """False for slices of other directions, as axial and sagittal ones, as far as both are known."""
    if stack.directions is None or other.directions is None:
        return True
    return other.directions[0] in (stack.directions[0], _OPPOSITE[stack.directions[0]])


def _run_the_same_way(stack: Stack, other: Stack) -> bool | None:
    if stack.directions is None or other.directions is None:
        return None
    return stack.directions[0] == other.directions[0]


def _described(stack: Stack) -> npt.NDArray[np.intp]:
    """The slices to describe, evenly spread, with the first and the last."""
    distance = None if stack.spacing_mm is None else stack.spacing_mm[0]
    apart = max(1, int(FARTHEST_MM / distance + 1e-6)) if distance else 1
    count = min(MOST, (len(stack) - 1) // apart + 1 + (1 if (len(stack) - 1) % apart else 0))
    return np.unique(np.rint(np.linspace(0, len(stack) - 1, count)).astype(np.intp))


def _descriptions(
    library: LibraryLocation | None, source: _Source, stack: Stack, work: _Work
) -> DescribedSlices:
    """Those of derived data, where the volume was described before."""
    slices = _described(stack)
    distance = None if stack.spacing_mm is None else stack.spacing_mm[0]
    opened = None if library is None or source.case is None else cached_library(library)
    file = opened.derived / f"{source.case.content[:32]}{SLICES_SUFFIX}" if opened and source.case else None
    key = f"{_VERSION} {model_file().name} {len(stack)}"
    stored = None if file is None else load_arrays(file, key)
    if stored is not None and len(stored.get("rows", ())) == len(slices):
        work.advance(len(slices))
        return DescribedSlices(slices, stored["rows"].astype(np.float32), len(stack), distance)
    described = describe_slices(stack, work)
    if file is not None and opened is not None and opened.can_store_derived:
        save_arrays(file, {"rows": described.rows.astype(np.float16)}, key)
    return described


def describe_slices(stack: Stack, work: _Work | None = None) -> DescribedSlices:
    """Slices of a volume, described by the averages of the encoder's head and of its block of places, each of length 1.

    Raises:
        BadInput: a slice cannot be read, or the encoder cannot be run.
    """
    session, slices = encoder_session(), _described(stack)
    low, high = _greys(stack, slices)
    rows = []
    for start in range(0, len(slices), _BATCH):
        batch = slices[start : start + _BATCH]
        shown = [_shown(stack.image(int(place)), low, high) for place in batch]
        features, places = all_outputs(session, shown, ("features", "places"))
        rows.append(np.concatenate([unit_rows(features), unit_rows(places.mean(axis=(2, 3)))], axis=1))
        if work is not None:
            work.advance(len(batch))
    distance = None if stack.spacing_mm is None else stack.spacing_mm[0]
    return DescribedSlices(slices, unit_rows(np.concatenate(rows)), len(stack), distance)


def _greys(stack: Stack, slices: npt.NDArray[np.intp]) -> tuple[float, float]:
    """The values shown black and white in all slices: those of CT, because files of one kernel are shown as lungs and
    those of another as soft tissue, else all but the darkest and brightest of the volume."""
    first = stack.image(int(slices[len(slices) // 2]))
    if first.is_colour:
        return 0.0, 1.0
    if first.values.unit == "HU":
        return HU_RANGE
    sampled = slices[:: max(1, len(slices) // _SAMPLED)]
    values = []
    for place in sampled:
        image = stack.image(int(place))
        padded = image.padding_mask()
        found = image.physical_values()[:: max(1, image.height // SIDE), :: max(1, image.width // SIDE)]
        if padded is not None:
            found = found[~padded[:: max(1, image.height // SIDE), :: max(1, image.width // SIDE)]]
        values.append(found[np.isfinite(found)])
    together = np.concatenate(values)
    if not together.size:
        return 0.0, 1.0
    low, high = (float(one) for one in np.percentile(together, _CLIPPED))
    return (low, high) if high > low else (low, low + 1.0)


def _shown(image: Image, low: float, high: float) -> npt.NDArray[np.uint8]:
    """(SIDE, SIDE, 3) what the network is shown of a slice."""
    from PIL import Image as PILImage

    if image.is_colour:
        greys: npt.NDArray[Any] = image.rgb()
    else:
        greys = window_greys(np.nan_to_num(image.physical_values(), nan=low), low, high)
        padded = image.padding_mask()
        if padded is not None:
            greys[padded] = 0.0
        if image.values.inverse:
            greys = 1.0 - greys
    shown = np.rint(greys * 255.0).astype(np.uint8)
    small = np.asarray(PILImage.fromarray(shown).resize((SIDE, SIDE), PILImage.Resampling.BICUBIC))
    return small if small.ndim == 3 else np.repeat(small[:, :, np.newaxis], 3, axis=2)
