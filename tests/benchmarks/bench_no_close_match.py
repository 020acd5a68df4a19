"""No close match: is its rate that of new cases, are foreign images rejected, and what does it cost.

New cases are cases of the same collection, whole patients where known, that were drawn out of the library at random.
Tables are compared by a metric trained on a part of the library, images by the encoder. A rate counts as held if it is
at most 1.5 times the nominal one, or within two standard errors of it: a patient's or an image's own near-copies
are new cases too.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.features import make_extractor
from semblance.core.imaging import Image
from semblance.core.library.library import Library
from semblance.core.metrics import make_learner
from semblance.core.retrieval.match_distance import leave_one_out_distances, mean_of_nearest
from semblance.core.searches.query import Query
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.close_library import close_library
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches import rank_cases
from semblance.core.workflows.searches.match_check import encoder_reference, limit_by_metric
from semblance.core.workflows.searches.open_metrics import open_metric
from tests.benchmarks.harness import require_data, row
from tests.benchmarks.synthetic_catalogue import catalogue

TABLES = ("wine", "ionosphere", "mammographic_masses", "lung_texture", "lidc_nodules")
#: Collections that the encoder measures; mini-MIAS has two images of each woman, one after the other.
IMAGES = ("busi_256", "corel1k_a", "medical_mnist_a", "mias_a")
#: Those whose rate is measured; mini-MIAS is foreign to the others.
MEASURED = IMAGES[:3]
RATES = (0.01, 0.05)
#: Times that new cases are drawn, and images of noise.
DRAWS, NOISE = 12, 100
#: Cases of a table that are used: training of some learners takes long.
MOST = 1000
#: Cases of the generated libraries whose first search and later searches are timed.
TIMED = (10_000, 100_000)
LONGEST_S, LONGEST_MS = 1.0, 100.0
QUERIES = 15

Rows = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class NewCases:
    """Distances of ``new`` (q,) cases and of ``usual`` (s,) ones, of which ``fresh`` (s,) were not learnt from."""

    new: npt.NDArray[np.float64]
    usual: npt.NDArray[np.float64]
    fresh: npt.NDArray[np.bool_]

    def rejected(self, rate: float) -> float:
        """The share of the new ones that have no close match."""
        return float(np.mean(self.new > limit_by_metric(self.usual, self.fresh, rate)))


def by_encoder(known: Rows, new: Rows) -> NewCases:
    """``new`` (q, 1280) compared with a library of ``known`` (n, 1280), both of length 1."""
    alone = np.full(len(known), -1)
    usual = leave_one_out_distances(known, np.arange(len(known)), alone, alone)
    squared = np.maximum(2.0 - 2.0 * (new @ known.T), 0.0).astype(np.float64)
    return NewCases(mean_of_nearest(squared), usual, np.ones(len(known), dtype=bool))


def by_metric(file: Path, learner: str) -> Iterator[NewCases]:
    """Cases of a table drawn out of a library, of which 70 % trained the metric, again and again."""
    cells = np.genfromtxt(file, delimiter=",", skip_header=1, dtype=str)
    numbers = np.genfromtxt(file, delimiter=",", skip_header=1)[:, :-1]
    numbers = np.where(np.isnan(numbers), np.nanmedian(numbers, axis=0), numbers)
    rng = np.random.default_rng(0)
    chosen = rng.permutation(len(cells))[:MOST]
    for _ in range(DRAWS):
        chosen = rng.permutation(chosen)
        new, known = np.split(chosen, [3 * len(chosen) // 10])
        trained = np.arange(len(known)) < 7 * len(known) // 10
        spread = numbers[known[trained]].std(axis=0)
        scaled = numbers / np.where(spread > 0, spread, 1.0)
        metric = make_learner(learner).fit(scaled[known[trained]], cells[known[trained], -1]).metric()
        squared = metric.distances(scaled[known], scaled[known])
        np.fill_diagonal(squared, np.inf)
        fresh = ~trained if learner != "euclidean" else np.ones(len(known), dtype=bool)
        away = metric.distances(scaled[new], scaled[known])
        yield NewCases(mean_of_nearest(away), mean_of_nearest(squared), fresh)


def rates(name: str, draws: list[NewCases]) -> Iterator[dict[str, Any]]:
    for rate in RATES:
        found = [draw.rejected(rate) for draw in draws]
        mean = float(np.mean(found))
        # Draws share cases: as if two of the draws were independent.
        error = (rate * (1.0 - rate) / (2 * len(draws[0].new))) ** 0.5
        most = max(1.5 * rate, rate + 2.0 * error)
        yield row(f"{name}: new cases without a close match at {rate:.0%}", mean, "share", rate, mean <= most)


def measured_images(data: Path, folder: Path) -> dict[str, tuple[Rows, list[str]]]:
    """Numbers of the encoder, and findings, of every collection."""
    found: dict[str, tuple[Rows, list[str]]] = {}
    for name in IMAGES:
        library = folder / name
        import_source(data / "images" / f"{name}.zip", library)
        extract_features(library, "encoder")
        with Library.open(library) as opened:
            ids, values = opened.features.read(opened.features.get("encoder"))
            cases = {case.id: case for case in opened.catalogue.all_cases()}
        order = sorted(range(len(ids)), key=lambda at: cases[int(ids[at])].case_id)
        rows = values[order].astype(np.float32)
        findings = [cases[int(ids[at])].finding or "" for at in order]
        found[name] = (rows / np.linalg.norm(rows, axis=1, keepdims=True), findings)
    extractor, rng = make_extractor("encoder"), np.random.default_rng(0)
    noise = [Image(rng.integers(0, 256, (224, 224), np.uint8), 255.0) for _ in range(NOISE)]
    rows = np.stack([extractor.extract(image) for image in noise])
    found["noise"] = (rows / np.linalg.norm(rows, axis=1, keepdims=True), ["noise"] * NOISE)
    return found


def foreign(images: dict[str, tuple[Rows, list[str]]]) -> Iterator[dict[str, Any]]:
    for name in IMAGES:
        rejected = [
            by_encoder(images[name][0], others).rejected(0.05)
            for other, (others, _) in images.items()
            if other != name
        ]
        lowest = min(rejected)
        what = f"{name}: least share of a foreign collection rejected at 5%"
        yield row(what, lowest, "share", least=0.99)
    rows, findings = images["medical_mnist_a"]
    for part in sorted(set(findings)):
        own = np.array([finding == part for finding in findings])
        share = by_encoder(rows[~own], rows[own]).rejected(0.05)
        yield row(f"medical_mnist_a without {part}: {part} rejected at 5%", share, "share", least=0.8)


def speed(folder: Path, n: int) -> Iterator[dict[str, Any]]:
    """What the first search costs more than without the encoder's numbers, and how long later ones take."""
    library, rng = folder / f"timed{n}", np.random.default_rng(0)
    extractor = make_extractor("encoder")
    columns = [(column.name, column.group) for column in extractor.feature_names]
    with Library.open_or_create(library) as opened:
        ids = catalogue(opened, n)
        made = opened.features.make(
            "encoder", "encoder", extractor.version, extractor.settings, columns, dtype="float32"
        )
        centres = rng.random((20, len(columns)), dtype=np.float32)
        for part in np.split(ids, range(256, n, 256)):
            near = centres[rng.integers(0, 20, len(part))]
            noise = 0.2 * rng.random((len(part), len(columns)), dtype=np.float32)
            opened.features.write_chunk(made, part, near + noise)
    train_metric(library, TrainRequest("euclidean", "plain"))
    close_library()
    loaded = open_metric(library, "plain")
    # Processor time: other work on the machine does not count.
    start = time.process_time()
    encoder_reference(loaded)
    first = time.process_time() - start
    later = []
    for number in rng.choice(n, QUERIES, replace=False).tolist():
        start = time.process_time()
        rank_cases.nearest_cases(library, "plain", Query(f"s/{number}"))
        later.append(time.process_time() - start)
    close_library()
    target = LONGEST_S if n <= TIMED[0] else None
    what = f"first search longer by, {n:,} cases, processor time"
    yield row(what, first, "s", most=target)
    slow = 1e3 * median(later[1:])
    yield row(f"a search, {n:,} cases, processor time", slow, "ms", most=LONGEST_MS)


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    data = require_data(data)
    rows: list[dict[str, Any]] = []
    for name in TABLES:
        for learner in ("euclidean", "bdm_v"):
            draws = list(by_metric(data / "tables" / f"{name}.csv", learner))
            rows += rates(f"{name}, {learner}", draws)
    with tempfile.TemporaryDirectory() as folder:
        images = measured_images(data, Path(folder))
        for name in MEASURED:
            rng = np.random.default_rng(0)
            draws = []
            for _ in range(DRAWS):
                order = rng.permutation(len(images[name][0]))
                new, known = np.split(order, [3 * len(order) // 10])
                draws.append(by_encoder(images[name][0][known], images[name][0][new]))
            rows += rates(f"{name}, encoder", draws)
        rows += foreign(images)
        for n in TIMED:
            rows += speed(Path(folder), n)
    return rows
