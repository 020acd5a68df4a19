"""The encoder against bare onnxruntime on the same decoded images, a library of small images, and one query.

Bare: Pillow resizes, numpy scales, onnxruntime runs, written down as one would in a script.

Ratio and time of a library are of processor time, so that other work on the machine does not count. The query needs a
quiet machine.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt

from semblance.core.features import make_extractor
from semblance.core.features.encoder.extractor import Encoder
from semblance.core.features.encoder.model_file import EIGHT_BIT, TRAINED, convert, model_file
from semblance.core.features.places import PlaceCoding
from semblance.core.imaging import Image, ImageAddress, ImageReader
from semblance.core.workflows.features import extract_features as extract_module
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from tests.benchmarks.harness import require_data, row
from tests.helpers.engine_here import open_engine_here

WORKERS = 2
IMAGES, ROUNDS, EXTRACTIONS = 48, 5, 2
QUERIES = 15
SMALL, LARGE = Path("images") / "medical_mnist_a.zip", Path("images") / "corel1k_a.zip"


def addresses(container: Path, n: int) -> list[ImageAddress]:
    with zipfile.ZipFile(container) as archive:
        members = sorted(
            name for name in archive.namelist() if name.lower().endswith((".jpg", ".jpeg", ".png"))
        )
    return [ImageAddress(container, member) for member in members[:: max(1, len(members) // n)][:n]]


def against_onnxruntime(container: Path) -> list[dict[str, Any]]:
    """Images a second of processor time, from decoded pixels, of both."""
    # First: it tells onnxruntime to report nothing.
    extractor = make_extractor("encoder")
    extractor.extract(Image(np.zeros((8, 8), np.uint8), 255.0))
    import onnxruntime
    from PIL import Image as PILImage

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    bare = onnxruntime.InferenceSession(str(model_file()), options, providers=["CPUExecutionProvider"])
    with ImageReader() as reader:
        images = [reader.open(address) for address in addresses(container, IMAGES)]

    def ready(pixels: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        small = PILImage.fromarray(pixels).convert("RGB").resize((224, 224), PILImage.Resampling.BICUBIC)
        scaled = (np.asarray(small, dtype=np.float32) - 127.0) / 128.0
        return np.ascontiguousarray(scaled.transpose(2, 0, 1))

    batches = [slice(start, start + extractor.batch) for start in range(0, len(images), extractor.batch)]
    peer, network, ours = [], [], []
    for _ in range(ROUNDS):
        start = time.process_time()
        seconds_taken = 0.0
        for batch in batches:
            pixels = np.stack([ready(image.pixels) for image in images[batch]])
            start_time = time.process_time()
            bare.run(["features"], {"pixels": pixels})
            seconds_taken += time.process_time() - start_time
        peer.append(time.process_time() - start)
        network.append(seconds_taken)
        start = time.process_time()
        for batch in batches:
            extractor.measure([extractor.prepare(image) for image in images[batch]])
        ours.append(time.process_time() - start)
    ratio = min(peer) / min(ours)
    name = container.stem
    return [
        row(f"{name}: bare onnxruntime, one thread", len(images) / min(peer), "images/s"),
        row(f"{name}: of that in the network itself", min(network) / min(peer) * 100, "%"),
        row(f"{name}: encoder from decoded pixels, one thread", len(images) / min(ours), "images/s"),
        row(f"{name}: encoder / onnxruntime", ratio, "x", least=0.9),
    ]


def a_library(container: Path, folder: Path) -> list[dict[str, Any]]:
    """Seconds as they passed, and as they would without other work on the machine."""
    import_source(container, folder / "lib")
    before = os.times()
    result = extract_features(folder / "lib", "encoder", workers=WORKERS)
    after = os.times()
    of_workers = after.children_user + after.children_system - before.children_user - before.children_system
    own = after.user + after.system - before.user - before.system
    processor = own + of_workers / WORKERS
    what = f"features of {result.extracted:,} small images, {WORKERS} processes"
    return [
        row(what, result.seconds, "s"),
        row(f"{what}: processor time each", processor, "s", most=40),
    ]


def with_descriptions(container: Path) -> list[dict[str, Any]]:
    """The pass that gives levels and coded places as well against that of the features alone, from decoded pixels to
    numbers."""
    extractor = make_extractor("encoder")
    with ImageReader() as reader:
        images = [reader.open(address) for address in addresses(container, IMAGES)]
    prepared = [extractor.prepare(image) for image in images]
    maps = extractor.describe(prepared).maps
    assert maps is not None
    coding = PlaceCoding.fitted(maps.reshape(-1, maps.shape[-1]))
    batches = [slice(start, start + extractor.batch) for start in range(0, len(images), extractor.batch)]
    plain, described = [], []
    for _ in range(ROUNDS):
        start = time.process_time()
        for batch in batches:
            extractor.measure([extractor.prepare(image) for image in images[batch]])
        plain.append(time.process_time() - start)
        start = time.process_time()
        for batch in batches:
            found = extractor.describe([extractor.prepare(image) for image in images[batch]])
            assert found.maps is not None
            coding.coded(found.maps)
        described.append(time.process_time() - start)
    ratio = min(described) / min(plain)
    return [
        row("with levels and places / features alone, one thread", ratio, "x", most=1.15),
        row("bytes of the places of a case", maps[0, :, :, 0].size * coding.width, "B", 15_000, True),
    ]


def extraction_with_descriptions(container: Path, folder: Path) -> list[dict[str, Any]]:
    """Processor time of the whole extraction of a library, read, decoded and written, with and without levels and
    places. In this process, so that both are measured alike."""
    import_source(container, folder / "0")
    for number in range(1, 2 * EXTRACTIONS):
        shutil.copytree(folder / "0", folder / str(number))
    seconds: dict[bool, list[float]] = {True: [], False: []}
    with mock.patch.object(extract_module, "open_engine", open_engine_here):
        for number in range(2 * EXTRACTIONS):
            parts = Encoder.parts if number % 2 else ()
            with mock.patch.object(Encoder, "parts", parts):
                start = time.process_time()
                extract_features(folder / str(number), "encoder")
                seconds[bool(number % 2)].append(time.process_time() - start)
    ratio = min(seconds[True]) / min(seconds[False])
    what = "extraction with levels and places / features alone"
    return [row(what, ratio, "x", most=1.15)]


def in_eight_bits(container: Path, folder: Path) -> list[dict[str, Any]]:
    """The encoder in floats against in 8 bits: the pass of the network with levels and places, and the whole extraction
    of a library."""
    extractors = [make_extractor("encoder", weights=weights) for weights in (TRAINED, EIGHT_BIT)]
    with ImageReader() as reader:
        prepared = [extractors[0].prepare(reader.open(address)) for address in addresses(container, 8)]
    passes: list[list[float]] = [[], []]
    for _ in range(ROUNDS + 1):
        for extractor, seconds in zip(extractors, passes, strict=True):
            start = time.process_time()
            for _ in range(4):
                extractor.describe(prepared)
            seconds.append(time.process_time() - start)
    import_source(container, folder / "0")
    for number in range(1, 2 * EXTRACTIONS):
        shutil.copytree(folder / "0", folder / str(number))
    whole: list[list[float]] = [[], []]
    with mock.patch.object(extract_module, "open_engine", open_engine_here):
        for number in range(2 * EXTRACTIONS):
            start = time.process_time()
            extract_features(folder / str(number), "encoder", settings=extractors[number % 2].settings)
            whole[number % 2].append(time.process_time() - start)
    network, extraction = (min(floats[-ROUNDS:]) / min(small[-ROUNDS:]) for floats, small in (passes, whole))
    return [
        row("the pass in floats / in 8 bits, one thread", network, "x", least=1.6),
        row(f"{container.stem}: extraction in floats / in 8 bits", extraction, "x"),
    ]


def queries(container: Path) -> dict[str, Any]:
    """An image from outside, from its file to its numbers; the network is loaded by one before."""
    seconds_taken = []
    for address in addresses(container, QUERIES + 1):
        start = time.perf_counter()
        extractor = make_extractor("encoder")
        with ImageReader() as reader:
            extractor.extract(reader.open(address))
        seconds_taken.append(time.perf_counter() - start)
    slowest = max(seconds_taken[1:]) * 1e3
    return row("a query image from outside, the slowest", slowest, "ms", most=250)


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    images = require_data(data)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        convert(Path(folder) / "cache")
        converted = time.perf_counter() - start
        rows = [row("converting the weights and checking the graph, once", converted, "s")]
        for container in (SMALL, LARGE):
            rows += against_onnxruntime(images / container)
        rows += a_library(images / SMALL, Path(folder))
        rows += with_descriptions(images / LARGE)
        rows += extraction_with_descriptions(images / LARGE, Path(folder) / "described")
        for container in (SMALL, LARGE):
            rows += in_eight_bits(images / container, Path(folder) / f"{container.stem} 8 bits")
    rows.append(queries(images / LARGE))
    return rows
