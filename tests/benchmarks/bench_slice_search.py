"""A slice finds the same level in volumes of other patients: by all slices, and by the middle slice as a case was
before. The volumes are generated versions of the CT at hand. And the time and memory with 1,000 volumes."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.benchmarks.harness import require_data, row
from tests.helpers.ct_versions import Volume, abdominal_ct, chest_ct, version_of

#: Versions of each volume that are searched, and that are searched with.
SEARCHED, QUERIES = 4, 10
LEVEL_MM = 5.0
VOLUMES, SLICES = 1_000, 100
#: Seconds for a search with a slice among them.
SECONDS = 2.0


class _Described(NamedTuple):
    """The outputs of the encoder for the described slices of a version, and where these lie in the original, in mm."""

    kind: int
    features: npt.NDArray[np.float32]
    maps: npt.NDArray[np.float32]
    slices: npt.NDArray[np.intp]
    mm: npt.NDArray[np.float64]
    middle: int


def run(data: Path | None) -> list[dict[str, Any]]:
    """Shares of slices, and seconds."""
    return [*_levels(require_data(data)), *_scale()]


def _levels(data: Path) -> list[dict[str, Any]]:
    from semblance.core.features.places import PlaceCoding
    from semblance.core.features.slice_descriptions import SliceDescriptions, SliceLayout, coded_slices
    from semblance.core.retrieval.place_index import PlaceIndex, PlaceQuery
    from semblance.core.retrieval.slice_index import SliceIndex, SlicesInSpace, VolumeQuery

    crops = np.load(data / "images" / "ct_colonography_crops.npz")["ct"]
    originals = [chest_ct(data), abdominal_ct(data)]
    originals += [Volume(one.astype(np.float32), (0.8, 0.8, 0.8)) for one in crops]
    rng = np.random.default_rng(2026)
    begin = time.perf_counter()
    searched = [_described(kind, one, rng) for kind, one in enumerate(originals) for _ in range(SEARCHED)]
    queries = [_described(kind, one, rng) for kind, one in enumerate(originals) for _ in range(QUERIES)]
    passes = sum(len(one.slices) for one in (*searched, *queries))
    seconds = (time.perf_counter() - begin) / passes
    middles = np.stack([one.maps[one.middle] for one in searched])
    coding = PlaceCoding.fitted(middles.reshape(-1, middles.shape[-1]))
    images = PlaceIndex(coding.coded(middles).reshape(len(middles), -1, coding.width))
    volumes = []
    for one in searched:
        coded = coded_slices(one.features, one.maps, coding, SliceLayout.fitting(SLICES, 14, 14))
        volumes.append(SliceDescriptions(one.slices, *coded))
    index = SliceIndex(images, SlicesInSpace.of(volumes), {at: at for at in range(len(volumes))})
    every = [(at, number) for at, one in enumerate(searched) for number in range(len(one.slices))]
    whole = np.concatenate([coding.coded(one.maps) for one in searched]).reshape(len(every), -1, coding.width)
    of_bytes = PlaceIndex(whole)
    names = (
        "slices",
        "level",
        "within",
        "bytes",
        "middle",
        "chance",
        "all",
        "all level",
        "order",
        "order level",
    )
    hits: dict[str, list[bool]] = {name: [] for name in names}
    for one in queries:
        own = np.array([other.kind == one.kind for other in searched])
        codes = coding.coded(one.maps[one.middle]).reshape(-1, coding.width)
        shown = PlaceQuery.of(codes, np.linalg.norm(codes.astype(np.float64), axis=1))
        wholes = coded_slices(one.features, one.maps, coding, SliceLayout.fitting(SLICES, 14, 14))[0]
        for name, in_order in (("all", False), ("order", True)):
            volume = VolumeQuery(shown.places, shown.weights, wholes, one.middle, in_order)
            nearest = index.search(volume, 1).rows
            at, slice_ = int(nearest[0]), index.slice_numbers(volume, nearest)[0]
            level = float(searched[at].mm[np.searchsorted(searched[at].slices, slice_)])
            hits[name].append(bool(own[at]))
            hits[f"{name} level"].append(bool(own[at]) and abs(level - one.mm[one.middle]) <= LEVEL_MM)
        for number, mm in enumerate(one.mm.tolist()):
            codes = coding.coded(one.maps[number]).reshape(-1, coding.width)
            query = PlaceQuery.of(codes, np.linalg.norm(codes.astype(np.float64), axis=1))
            order = index.search(query, len(searched)).rows
            numbers = index.slice_numbers(query, order)
            levels = {
                int(at): float(searched[at].mm[np.searchsorted(searched[at].slices, slice_)])
                for at, slice_ in zip(order, numbers, strict=True)
            }
            first = int(order[0])
            hits["slices"].append(bool(own[first]))
            hits["level"].append(bool(own[first]) and abs(levels[first] - mm) <= LEVEL_MM)
            for at in np.flatnonzero(own).tolist():
                away = np.abs(searched[at].mm - mm)
                if away.min() <= LEVEL_MM / 2:
                    hits["within"].append(abs(levels[at] - mm) <= LEVEL_MM)
                    hits["chance"].append(bool(np.mean(away <= LEVEL_MM) > rng.uniform()))
            at, slice_ = every[int(of_bytes.search(query, 1).rows[0])]
            hits["bytes"].append(bool(own[at]) and abs(searched[at].mm[slice_] - mm) <= LEVEL_MM)
            hits["middle"].append(bool(own[images.search(query, 1).rows[0]]))
    shares = {name: float(np.mean(found)) for name, found in hits.items()}
    return [
        row("slices whose nearest volume is of the same anatomy", shares["slices"], "share"),
        row("  by the middle slice of each volume alone", shares["middle"], "share"),
        row("  and opens within 5 mm of the level", shares["level"], "share"),
        row("  the same with 8 bits for each number of a place", shares["bytes"], "share"),
        row("volumes of the same anatomy that open within 5 mm of the level", shares["within"], "share"),
        row("  by chance", shares["chance"], "share"),
        row("volumes whose nearest, by all slices, is of the same anatomy", shares["all"], "share"),
        row("  and opens within 5 mm of the level of the middle slice", shares["all level"], "share"),
        row("volumes whose nearest, by slices in order, is of the same anatomy", shares["order"], "share"),
        row("  and opens within 5 mm of the level of the middle slice", shares["order level"], "share"),
        row("time to describe a slice", 1000 * seconds, "ms"),
    ]


def _described(kind: int, original: Volume, rng: np.random.Generator) -> _Described:
    from semblance.core.features.registry import make_extractor
    from semblance.core.features.slice_descriptions import described_slices
    from semblance.core.imaging.image import ValueScale
    from semblance.core.imaging.stacks import array_stack

    changed, positions = version_of(original, rng, 1.0)
    scale = ValueScale(unit="HU")
    stack = array_stack(np.rint(changed.values).astype(np.int16), "version", changed.spacing, scale)
    chosen = described_slices(len(stack), changed.spacing[0])
    extractor = make_extractor("encoder")
    found = extractor.describe([extractor.prepare(stack.image(number)) for number in chosen.tolist()])
    assert found.maps is not None
    mm = positions[chosen] * original.spacing[0]
    middle = int(np.searchsorted(chosen, len(stack) // 2))
    return _Described(kind, found.features, found.maps, chosen, mm, middle)


def _scale() -> list[dict[str, Any]]:
    from semblance.core.features.slice_descriptions import WHOLE, SliceDescriptions
    from semblance.core.retrieval.place_index import PlaceIndex, PlaceQuery
    from semblance.core.retrieval.slice_index import MOST_SLICES, SliceIndex, SlicesInSpace, VolumeQuery

    rng = np.random.default_rng(0)
    numbers = np.arange(SLICES)
    wholes = rng.integers(-127, 128, (VOLUMES, SLICES, WHOLE)).astype(np.int8)
    volumes = [
        SliceDescriptions(numbers, wholes[at], rng.integers(0, 2**64, (SLICES, 14, 14), dtype=np.uint64))
        for at in range(VOLUMES)
    ]
    images = PlaceIndex(rng.integers(-127, 128, (VOLUMES, 196, 64)).astype(np.int8))
    slices = SlicesInSpace.of(volumes)
    index = SliceIndex(images, slices, {at: at for at in range(VOLUMES)})
    out = [row("memory of the slices of 1,000 volumes of 100 slices", slices.nbytes / 2**20, "MB")]
    queries: dict[str, PlaceQuery] = {}
    for what, places in (("a region of 20 places", 20), ("a whole slice", 196)):
        queries[what] = PlaceQuery.of(rng.integers(-127, 128, (places, 64)).astype(np.int8))
    slice_ = queries["a whole slice"]
    for what, in_order in (("a volume of 32 slices", False), ("a volume of 32 slices in order", True)):
        some = wholes[0, :MOST_SLICES]
        queries[what] = VolumeQuery(slice_.places, slice_.weights, some, MOST_SLICES // 2, in_order)
    for what, query in queries.items():
        taken = []
        for _ in range(3):
            begin = time.perf_counter()
            # Found slices are kept for the last query.
            index.search(replace(query), 20)
            taken.append(time.perf_counter() - begin)
        best = min(taken)
        out.append(row(f"search among them with {what}", best, "s", most=SECONDS))
    return out
