"""Which slices, in files or frames, are one volume: of one phase, b-value or echo, one in each place, in order."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from semblance.core.imaging.dicom.attributes import item, items, number, tag_of, value
from semblance.core.imaging.dicom.geometry import frame_planes, is_in_reading_order, slice_plane
from semblance.core.imaging.slice_plane import SAME_DIRECTION, SlicePlane
from semblance.core.language import tr_lazy

if TYPE_CHECKING:
    from pydicom import Dataset

#: Slices nearer to each other than this (mm), or than this share of a pixel, lie in one place.
_SAME_PLACE_MM, _SAME_PLACE_PIXELS = 0.05, 0.2
_PER_FRAME, _SHARED = "PerFrameFunctionalGroupsSequence", "SharedFunctionalGroupsSequence"
_CONTENT: Final = "FrameContentSequence"


@dataclass(frozen=True)
class _Mark:
    """What tells the volumes of a series apart: its name, and where it stands, the first that is there.

    ``always``: its values are never in one volume. The others are asked only where several slices are in one place.
    ``is_equal``: a volume with several values is unusual.
    """

    name: str
    paths: tuple[tuple[str, ...], ...]
    always: bool = False
    is_equal: bool = False


#: PS3.3 C.8.3.1, C.8.13.5.9, C.8.9.4, C.7.6.16.2.2; the more certain first.
_MARKS: Final = (
    _Mark(
        tr_lazy("temporal position"),
        (
            ("TemporalPositionIdentifier",),
            (_CONTENT, "TemporalPositionIndex"),
            ("TemporalPositionSequence", "TemporalPositionTimeOffset"),
        ),
        True,
    ),
    _Mark(tr_lazy("b-value"), (("DiffusionBValue",), ("MRDiffusionSequence", "DiffusionBValue")), True),
    _Mark(tr_lazy("echo"), (("EchoNumbers",), ("MREchoSequence", "EffectiveEchoTime")), True),
    _Mark(tr_lazy("echo time"), (("EchoTime",),), True),
    _Mark(tr_lazy("stack"), ((_CONTENT, "StackID"),), True),
    _Mark(
        tr_lazy("trigger time"),
        (
            ("TriggerTime",),
            ("NominalCardiacTriggerDelayTime",),
            ("CardiacSynchronizationSequence", "NominalCardiacTriggerDelayTime"),
        ),
    ),
    _Mark(
        tr_lazy("gradient direction"),
        (
            ("DiffusionGradientOrientation",),
            ("MRDiffusionSequence", "DiffusionGradientDirectionSequence", "DiffusionGradientOrientation"),
        ),
    ),
    _Mark(tr_lazy("inversion time"), (("InversionTime",),)),
    _Mark(tr_lazy("flip angle"), (("FlipAngle",), ("MRTimingAndRelatedParametersSequence", "FlipAngle"))),
    _Mark(
        tr_lazy("image type"),
        (
            ("ImageType",),
            ("MRImageFrameTypeSequence", "FrameType"),
            ("CTImageFrameTypeSequence", "FrameType"),
            ("PETFrameTypeSequence", "FrameType"),
        ),
    ),
    _Mark(
        tr_lazy("kernel"),
        (("ConvolutionKernel",), ("CTReconstructionSequence", "ConvolutionKernel")),
        is_equal=True,
    ),
    _Mark(
        tr_lazy("slice thickness"),
        (("SliceThickness",), ("PixelMeasuresSequence", "SliceThickness")),
        is_equal=True,
    ),
    _Mark(tr_lazy("tube voltage"), (("KVP",), ("CTXRayDetailsSequence", "KVP"))),
    _Mark(tr_lazy("segment"), (("SegmentIdentificationSequence", "ReferencedSegmentNumber"),)),
    _Mark(tr_lazy("acquisition number"), (("AcquisitionNumber",), (_CONTENT, "FrameAcquisitionNumber"))),
    _Mark(tr_lazy("reference time"), (("FrameReferenceTime",), (_CONTENT, "FrameReferenceDateTime"))),
    _Mark(
        tr_lazy("acquisition time"),
        (("AcquisitionDateTime",), ("AcquisitionTime",), (_CONTENT, "FrameAcquisitionDateTime")),
    ),
    _Mark(tr_lazy("image time"), (("ContentTime",),)),
    _Mark(tr_lazy("dimension index"), ((_CONTENT, "DimensionIndexValues"),)),
)
_B_VALUE, _DIMENSION = (
    next(place for place, mark in enumerate(_MARKS) if mark.paths[0][-1] == keyword)
    for keyword in ("DiffusionBValue", "DimensionIndexValues")
)
#: Private elements with the b-value: creator, group, element within the creator's block.
_PRIVATE_B: Final = (
    ("SIEMENS MR HEADER", 0x0019, 0x0C),
    ("GEMS_PARM_01", 0x0043, 0x39),
    ("Philips Imaging DD 001", 0x2001, 0x03),
    ("Image Private Header", 0x0065, 0x09),
)
#: Blocks that are read: a creator takes the first free one (PS3.5 7.8.1).
_BLOCKS: Final = range(0x10, 0x18)
#: Dimensions that say where a frame lies.
_PLACES: Final = frozenset(("ImagePositionPatient", "InStackPositionNumber", "SliceLocation"))

#: All that is read of a file for this.
TAGS: Final[tuple[str | int, ...]] = (
    *dict.fromkeys(path[0] for mark in _MARKS for path in mark.paths if len(path) == 1),
    *(group << 16 | block for _, group, _ in _PRIVATE_B for block in _BLOCKS),
    *(group << 16 | block << 8 | element for _, group, element in _PRIVATE_B for block in _BLOCKS),
    "InstanceNumber",
    "DimensionIndexSequence",
    _PER_FRAME,
    _SHARED,
)


@dataclass(frozen=True)
class SliceHeader:
    """Where one slice lies, what its volume is told by (a text for each of the marks, "" where the file has none),
    and its ``order`` of acquisition."""

    plane: SlicePlane
    marks: tuple[str, ...]
    order: tuple[float, ...] = ()


@dataclass(frozen=True)
class FoundVolume:
    """Indices of slices in order along their normal, and by what they are told from the others: (name, value)."""

    members: tuple[int, ...]
    told_by: tuple[tuple[str, str], ...] = ()


def slice_header(dataset: Dataset) -> SliceHeader | None:
    """The header of a single-frame object; ``None`` where it does not say where it lies."""
    plane = slice_plane(dataset)
    keywords = ("AcquisitionNumber", "AcquisitionTime", "InstanceNumber")
    order = tuple(number(dataset, keyword) or 0.0 for keyword in keywords)
    return None if plane is None else SliceHeader(plane, _marks((dataset,), dataset), order)


def frame_headers(dataset: Dataset, frames: int) -> list[SliceHeader] | None:
    """The headers of all frames of an object; ``None`` unless it says where each lies, in two places at least."""
    per_frame = items(dataset, _PER_FRAME)
    if frames < 2 or len(per_frame) != frames or item(per_frame[0], "PlanePositionSequence") is None:
        return None
    shared = item(dataset, _SHARED)
    planes = frame_planes(dataset, frames)
    known = [plane for plane in planes if plane is not None]
    if len(known) < frames or len({plane.position for plane in known}) < 2:
        return None
    groups = ([own] if shared is None else [own, shared] for own in per_frame)
    return [
        SliceHeader(plane, _marks(group, dataset), (float(frame),))
        for frame, (plane, group) in enumerate(zip(known, groups, strict=True))
    ]


def slice_order(dataset: Dataset, frames: int) -> Sequence[int]:
    """The frames of an object in order of space, volume after volume, as workstations number them; as they stand in the
    file where they lie behind each other already, or where it does not say where each lies (PS3.3 C.7.6.16.2.3)."""
    headers = frame_headers(dataset, frames)
    return range(frames) if headers is None else order_of(headers)


def order_of(headers: Sequence[SliceHeader]) -> Sequence[int]:
    """:func:`slice_order` of frames with these headers."""
    volumes = list(find_volumes(headers))
    if len(volumes) == 1:
        steps = np.diff(_heights(headers, range(len(headers))))
        if (steps > 0).all() or (steps < 0).all():
            return range(len(headers))
    order: list[int] = []
    for volume in volumes:
        is_right = is_in_reading_order([headers[frame].plane for frame in volume.members])
        order += volume.members if is_right else volume.members[::-1]
    return order


def find_volumes(headers: Sequence[SliceHeader]) -> Iterator[FoundVolume]:
    """The slices of one series as volumes, each of one direction with one slice a place.

    Every slice is in exactly one. What the files give tells phases apart; a phase that lacks a place has a gap there.
    Where nothing does, the order of acquisition decides.
    """
    for members in same_direction([header.plane for header in headers]):
        places = _places(headers, members)
        for part, told_by in _divide(members, headers, places, ()):
            part.sort(key=lambda index: places[index])
            yield FoundVolume(tuple(part), told_by)


def mixed_marks(headers: Sequence[SliceHeader]) -> list[str]:
    """The names of what should be equal in a volume and is not: kernel, thickness."""
    return [
        mark.name
        for place, mark in enumerate(_MARKS)
        if mark.is_equal and len({header.marks[place] for header in headers}) > 1
    ]


def same_direction(planes: Sequence[SlicePlane]) -> list[list[int]]:
    """Indices of ``planes`` by direction; cosines that differ by rounding only are one."""
    found: list[tuple[tuple[float, ...], list[int]]] = []
    for index in sorted(range(len(planes)), key=lambda index: planes[index].cosines):
        cosines = planes[index].cosines
        for first, members in found:
            if max(abs(a - b) for a, b in zip(first, cosines, strict=True)) < SAME_DIRECTION:
                members.append(index)
                break
        else:
            found.append((cosines, [index]))
    return [sorted(members) for _, members in found]


def _heights(headers: Sequence[SliceHeader], members: Sequence[int]) -> Any:
    """mm along the normal of the first; with its own normal each would be off by the rounding of its cosines."""
    normal = headers[members[0]].plane.normal
    return np.array([float(normal @ headers[index].plane.position) for index in members])


def _places(headers: Sequence[SliceHeader], members: Sequence[int]) -> dict[int, int]:
    """Slice -> number of its place along the normal."""
    spacing = headers[members[0]].plane.spacing
    tolerance = min(_SAME_PLACE_MM, _SAME_PLACE_PIXELS * min(spacing)) if spacing else _SAME_PLACE_MM
    out: dict[int, int] = {}
    start, count = -np.inf, -1
    for height, index in sorted(zip(_heights(headers, members).tolist(), members, strict=True)):
        if height - start > tolerance:
            start, count = height, count + 1
        out[index] = count
    return out


_Parts = Iterator[tuple[list[int], tuple[tuple[str, str], ...]]]


def _divide(
    members: list[int],
    headers: Sequence[SliceHeader],
    places: dict[int, int],
    told_by: tuple[tuple[str, str], ...],
) -> _Parts:
    most = _most_in_a_place(members, places)
    chosen: tuple[int, list[list[int]]] | None = None
    for place, mark in enumerate(_MARKS):
        if mark.always:
            parts = _parts(members, headers, place)
            # A value of its own in every slice numbers the slices and tells no volumes apart.
            if len(parts) > 1 and (len(parts) < len(members) or len(parts) <= max(most, 2)):
                chosen = (place, parts)
                break
    if chosen is None and most > 1:
        chosen = _best_parts(members, headers, places, most)
    if chosen is not None:
        place, parts = chosen
        for part in parts:
            named = (*told_by, (_MARKS[place].name, headers[part[0]].marks[place]))
            yield from _divide(part, headers, places, named)
    elif most > 1:
        for count, part in enumerate(_by_acquisition(members, headers, places, most), start=1):
            yield part, (*told_by, (tr_lazy("order of acquisition"), str(count)))
    else:
        yield list(members), told_by


def _best_parts(
    members: list[int], headers: Sequence[SliceHeader], places: dict[int, int], most: int
) -> tuple[int, list[list[int]]] | None:
    """The parts by the mark that leaves the fewest slices in one place, if one leaves fewer.

    No more parts than there are slices in a place, so that what every slice has of its own does not count; if that
    finds nothing, more parts, of which each has two slices on average.
    """
    found: list[tuple[tuple[bool, int, int, int], list[list[int]]]] = []
    for place, mark in enumerate(_MARKS):
        parts = [] if mark.always else _parts(members, headers, place)
        if len(parts) < 2 or 2 * len(parts) > max(len(members), 2 * most):
            continue
        left = max(_most_in_a_place(part, places) for part in parts)
        is_many = len(parts) > most
        if left < most and (left == 1 or not is_many):
            found.append(((is_many, left, len(parts) if is_many else 0, place), parts))
    if not found:
        return None
    rank, parts = min(found)
    return rank[-1], parts


def _by_acquisition(
    members: list[int], headers: Sequence[SliceHeader], places: dict[int, int], most: int
) -> list[list[int]]:
    """Volumes in order of acquisition: one after the other, each upwards, downwards or in steps, if that gives volumes
    of most places each; else those of one place are dealt out."""
    ordered = sorted(members, key=lambda index: (headers[index].order, index))
    count = len({places[index] for index in members})
    begins_anew: tuple[Callable[[list[int], int], bool], ...] = (
        lambda run, index: places[index] <= places[run[-1]],
        lambda run, index: places[index] >= places[run[-1]],
        lambda run, index: places[index] in {places[one] for one in run},
    )
    for begins in begins_anew:
        runs: list[list[int]] = []
        for index in ordered:
            if not runs or begins(runs[-1], index):
                runs.append([])
            runs[-1].append(index)
        if len(runs) <= most and all(2 * len(run) > count for run in runs):
            return runs
    dealt: list[list[int]] = [[] for _ in range(most)]
    taken: Counter[int] = Counter()
    for index in ordered:
        dealt[taken[places[index]]].append(index)
        taken[places[index]] += 1
    return dealt


def _most_in_a_place(members: Sequence[int], places: dict[int, int]) -> int:
    return max(Counter(places[index] for index in members).values())


def _parts(members: Sequence[int], headers: Sequence[SliceHeader], place: int) -> list[list[int]]:
    """The members by the value of a mark, in the order of the values."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for index in members:
        found[headers[index].marks[place]].append(index)
    return [found[text] for text in sorted(found, key=_in_order)]


def _in_order(text: str) -> tuple[float, str]:
    try:
        return float(text or "-inf"), text
    except ValueError:
        return np.inf, text


def _marks(groups: Sequence[Dataset], dataset: Dataset) -> tuple[str, ...]:
    """The text of each mark: from the functional groups of a frame, else from the data set."""
    out = []
    for place, mark in enumerate(_MARKS):
        texts = (_text_at(group, path) for path in mark.paths for group in groups)
        found = next((text for text in texts if text), "")
        if place == _B_VALUE and not found:
            found = _private_b_value(groups[0])
        elif place == _DIMENSION and found:
            found = _without_places(found, dataset)
        out.append(found)
    return tuple(out)


def _text_at(dataset: Dataset, path: tuple[str, ...]) -> str:
    owner = item(dataset, *path[:-1]) if len(path) > 1 else dataset
    return "" if owner is None else _text_of(value(owner, path[-1]))


def _text_of(found: Any) -> str:
    """Numbers with four digits, so that those that differ by rounding are one."""
    if found is None:
        return ""
    if isinstance(found, (list, tuple)) or type(found).__name__ == "MultiValue":
        return "\\".join(map(_text_of, found))
    try:
        return f"{float(found):.4g}" if isinstance(found, (int, float)) else str(found).strip()
    except (TypeError, ValueError, OverflowError):
        return ""


def _private_b_value(dataset: Dataset) -> str:
    for creator, group, place in _PRIVATE_B:
        try:
            block = next((one for one in _BLOCKS if _is_creator(dataset, group << 16 | one, creator)), 0)
            element = group << 16 | block << 8 | place
            if not block or element not in dataset:
                continue
            found: Any = dataset[element].value
            if isinstance(found, bytes):
                text = found.strip(b" \0")
                is_text = bool(text) and all(one in b"0123456789.+-\\eE " for one in text)
                found = text.decode().split("\\") if is_text else struct.unpack("<f", found[:4])[0]
            first = found if isinstance(found, (int, float, str)) else next(iter(found))
            # GE adds 10^9 to those that its scanners computed.
            return f"{float(first) % 100_000:.4g}"
        except Exception:  # noqa: BLE001 - a stranger's private bytes
            continue
    return ""


def _is_creator(dataset: Dataset, tag: int, creator: str) -> bool:
    return tag in dataset and str(dataset[tag].value).strip().casefold() == creator.casefold()


def _without_places(indices: str, dataset: Dataset) -> str:
    """Dimension Index Values without those that say where the frame lies (PS3.3 C.7.6.17)."""
    pointers = [value(one, "DimensionIndexPointer") for one in items(dataset, "DimensionIndexSequence")]
    places = {tag_of(keyword) for keyword in _PLACES}
    parts = indices.split("\\")
    if len(pointers) != len(parts):
        return ""
    return "\\".join(part for part, pointer in zip(parts, pointers, strict=True) if pointer not in places)
