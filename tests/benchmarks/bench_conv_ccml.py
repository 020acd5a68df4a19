"""ConvCCML: error and nDCG beside Euclid, CCML and the plain network, and the speed of the frozen network.

PneumoniaMNIST with its own test part, which is known to differ from the training part, and a quarter of the
training part held out. Nothing is chosen on what is measured.
"""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.protocols.papers import CCMLProtocol
from semblance.core.evaluation.protocols.protocol import LearnerSpec
from semblance.core.evaluation.splits import HoldOut, hold_out
from semblance.core.features.pixels import Pixels
from semblance.core.imaging.image import Image
from semblance.core.metrics import make_learner
from tests.benchmarks.harness import SkippedBenchmark, require_data, row

SEEDS = 3
LEARNERS = {
    "euclidean": ("euclidean", {}),
    "ccml": ("ccml", {}),
    "conv_ccml, 1 layer": ("conv_ccml", {"layers": 1}),
    "conv_ccml, 2 layers": ("conv_ccml", {"layers": 2}),
    "convnet, 1 layer": ("convnet", {"layers": 1}),
    "convnet, 2 layers": ("convnet", {"layers": 2}),
}
SCORES = {"knn_error": "k-NN error", "ccknn_error": "CCKNN error", "ndcg@10": "nDCG@10"}
#: Images that a frozen network should take a few seconds for.
MANY, FEW_SECONDS = 10_000, 5.0


class FixedSplits(CCMLProtocol):
    """The measuring of the paper on given splits."""

    def __init__(self, description: str, splits: list[HoldOut]) -> None:
        super().__init__()
        self._description, self._splits = description, splits

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        return self._description, self._splits


def images(data: Path) -> tuple[EvaluationData, int]:
    """Pixels and findings, the training part first, and how many it has."""
    with np.load(data / "images" / "pneumoniamnist.npz", allow_pickle=False) as file:
        parts = ("train", "test")
        pixels = np.concatenate([file[f"{part}_images"] for part in parts])
        labels = np.concatenate([file[f"{part}_labels"] for part in parts]).ravel()
        n = len(file["train_images"])
    extractor = Pixels()
    X = np.stack([extractor.extract(Image(plane, 255.0)) for plane in pixels])
    return EvaluationData(X.astype(np.float64), np.array(["normal", "pneumonia"])[labels]), n


def scores(description: str, data: EvaluationData, splits: list[HoldOut]) -> list[dict[str, Any]]:
    rows = []
    for name, (learner, params) in LEARNERS.items():
        spec = LearnerSpec(learner, params)
        (found,) = FixedSplits(description, splits).run(data, [spec], repeats=len(splits)).results
        for score, title in SCORES.items():
            values = 100.0 * np.array(found.scores[score].values, dtype=np.float64)
            spread = f" (deviation {values.std(ddof=1):.1f})" if len(values) > 1 and values.std() > 0 else ""
            rows.append(row(f"{description}, {name}, {title}{spread}", float(values.mean()), "%"))
    return rows


def speed(data: EvaluationData, n: int) -> list[dict[str, Any]]:
    rows = []
    for name, (learner, params) in LEARNERS.items():
        begin = time.perf_counter()
        fitted = make_learner(learner, **params).fit(data.X[:n], data.y[:n])
        rows.append(row(f"fit on {n} images, {name}", time.perf_counter() - begin, "s"))
        if learner == "conv_ccml":
            metric = fitted.metric()
            many = data.X[np.arange(MANY) % len(data.X)]
            begin = time.perf_counter()
            metric.embed(many)
            seconds = time.perf_counter() - begin
            what = f"{MANY:,} images of 28 x 28 without torch, {name}"
            rows.append(row(what, seconds, "s", most=FEW_SECONDS))
    return rows


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    folder = require_data(data)
    if importlib.util.find_spec("torch") is None:
        raise SkippedBenchmark("PyTorch is not installed; run it with .venv-deep (make test-deep sets it up)")
    with threadpool_limits(limits=1, user_api="blas"):
        everything, n = images(folder)
        train, test = np.arange(n), np.arange(n, everything.n_cases)
        own = [HoldOut(train, test, by_patient=False, seed=seed) for seed in range(SEEDS)]
        training = everything.rows(np.arange(n))
        inside = [hold_out(training.y.tolist(), None, seed, 0.25) for seed in range(SEEDS)]
        return [
            *scores("own test part", everything, own),
            *scores("held-out quarter", training, inside),
            *speed(everything, n),
        ]
