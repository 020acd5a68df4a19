"""Same-lesion groups found at import and by the encoder, on changed copies of real images.

Images of each source are cropped, mirrored, saved anew, windowed, annotated and padded with black. Recall: the share
of the changed copies that are in the group of their original. Precision: the share of the pairs inside the groups that
are of one original; originals that are grouped without any copy (neighbouring slices, say) count as one. The thresholds
were chosen on Corel, BUSI and, at 64 and 28 pixels, MIAS; MIAS is measured here at its own size.
"""

from __future__ import annotations

import io
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from PIL import Image, ImageDraw

from semblance.core.library.lesion_groups import read_groups
from semblance.core.library.library import Library
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from tests.benchmarks.harness import require_data, row

#: Originals of each source.
ORIGINALS = 60
PRECISION, RECALL, FALSE_PAIRS = 0.99, 0.95, 1e-4
#: 28 pixels have too little detail to recognise every copy. What remains of a slice of 64 pixels without its own black
#: margins, which end at no sharp edge, is not the same in every copy.
NO_TARGET = ("pneumoniamnist",)
NO_TARGET_OF_PADDED = (*NO_TARGET, "medical_mnist_a")


def crop(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    width, height = (round(side * rng.uniform(0.75, 0.95)) for side in image.size)
    x, y = int(rng.integers(image.width - width + 1)), int(rng.integers(image.height - height + 1))
    return image.crop((x, y, x + width, y + height))


def mirror(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    ways = (Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.FLIP_TOP_BOTTOM, Image.Transpose.ROTATE_180)
    return image.transpose(ways[rng.integers(3)])


def save_anew(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    scale = rng.uniform(0.6, 1.5)
    sized = image.resize((max(8, round(image.width * scale)), max(8, round(image.height * scale))))
    out = io.BytesIO()
    sized.save(out, "JPEG", quality=int(rng.integers(30, 90)))
    return Image.open(out)


def window(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    low, high, gamma = rng.uniform(0.0, 0.15), rng.uniform(0.7, 1.0), np.exp(rng.uniform(-0.5, 0.5))
    greys = np.clip((np.arange(256) / 255 - low) / (high - low), 0, 1) ** gamma * 255
    return image.point(greys.round().astype(int).tolist() * len(image.getbands()))


def annotate(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    image = image.copy()
    draw, white = ImageDraw.Draw(image), 255 if image.mode == "L" else (255, 255, 255)
    shorter = min(image.size)
    for _ in range(2):
        place = (rng.uniform(0, 0.5) * image.width, rng.uniform(0, 0.9) * image.height)
        size = max(4.0, shorter * rng.uniform(0.06, 0.1))
        draw.text(place, f"{rng.integers(10**6)} R {rng.integers(99)}", fill=white, font_size=size)
    for _ in range(4):
        x, y, r = *(rng.uniform(0.1, 0.9, 2) * image.size), 0.02 * shorter
        draw.line((x - r, y, x + r, y), fill=white, width=max(1, int(r / 4)))
        draw.line((x, y - r, x, y + r), fill=white, width=max(1, int(r / 4)))
    return image


def pad(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    # With numbers of its own, so that the other changes stay those that were always measured.
    left, top, right, bottom = np.random.default_rng(rng.bit_generator.state["state"]["state"]).uniform(
        0, 0.25, 4
    )
    width, height = (
        round(side * share) for side, share in zip(image.size, (left + right, top + bottom), strict=True)
    )
    padded = Image.new(image.mode, (image.width + width, image.height + height))
    padded.paste(image, (round(left * image.width), round(top * image.height)))
    return padded


CHANGES = {
    "crop": crop,
    "mirror": mirror,
    "save anew": save_anew,
    "window": window,
    "annotate": annotate,
    "pad": pad,
}


def originals(data: Path, name: str) -> list[Image.Image]:
    """:data:`ORIGINALS` images of a source, drawn at random."""
    rng = np.random.default_rng(0)
    if name == "pneumoniamnist":
        with np.load(data / "images" / f"{name}.npz") as arrays:
            pixels = np.concatenate([arrays[f"{part}_images"] for part in ("train", "val", "test")])
        return [Image.fromarray(pixels[at]) for at in rng.choice(len(pixels), ORIGINALS, replace=False)]
    with ZipFile(data / "images" / f"{name}.zip") as archive:
        names = sorted(
            entry for entry in archive.namelist() if entry.lower().endswith((".png", ".jpg", ".jpeg", ".pgm"))
        )
        chosen = [names[at] for at in rng.choice(len(names), min(ORIGINALS, len(names)), replace=False)]
        return [Image.open(io.BytesIO(archive.read(entry))).convert("L") for entry in chosen]


def groups_of(folder: Path, library: Path) -> dict[str, int]:
    """Name of a file -> number of the group it is in, after import and the encoder; one of its own for the others."""
    import_source(folder, library, kind="folder")
    extract_features(library, "encoder")
    with Library.open(library) as opened:
        groups = read_groups(opened.catalogue)
        return {
            Path(r.case_id).stem: groups[r.id].group if r.id in groups else -r.id
            for r in opened.catalogue.all_cases()
        }


def changed_copies(data: Path, name: str) -> list[dict[str, Any]]:
    """Recall of each change, and precision, on one source."""
    rng = np.random.default_rng(1)
    images = originals(data, name)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for part in ("alone/x", "all/x"):
            (folder / part).mkdir(parents=True)
        for number, image in enumerate(images):
            for part in ("alone", "all"):
                image.save(folder / part / "x" / f"{number} original.png")
            for change, make in CHANGES.items():
                make(image, rng).save(folder / "all" / "x" / f"{number} {change}.png")
        alone = groups_of(folder / "alone", folder / "lib1")
        grouped = groups_of(folder / "all", folder / "lib2")
    rows = []
    for change in CHANGES:
        found = [grouped[f"{n} {change}"] == grouped[f"{n} original"] for n in range(len(images))]
        judged = name not in (NO_TARGET_OF_PADDED if change == "pad" else NO_TARGET)
        recall = float(np.mean(found))
        rows.append(row(f"{name}, recall: {change}", recall, "share", least=RECALL if judged else None))
    same = [
        alone[f"{a.split()[0]} original"] == alone[f"{b.split()[0]} original"]
        for a, b in combinations(grouped, 2)
        if grouped[a] == grouped[b]
    ]
    precision = float(np.mean(same))
    rows.append(row(f"{name}, precision of {len(same):,} pairs", precision, "share", least=PRECISION))
    among = len(alone) - len(set(alone.values()))
    target = 0.0 if name == "mias_a" else None
    rows.append(
        row(
            f"{name}, originals grouped with others",
            among,
            "cases",
            target,
            None if target is None else among == 0,
        )
    )
    return rows


def body_parts(data: Path) -> list[dict[str, Any]]:
    """Pairs of images of different body parts that are grouped, of all such pairs."""
    with tempfile.TemporaryDirectory() as temporary:
        import_source(data / "images" / "medical_mnist_a.zip", Path(temporary) / "lib")
        extract_features(Path(temporary) / "lib", "encoder")
        with Library.open(Path(temporary) / "lib") as opened:
            cases = opened.catalogue.all_cases()
            groups = {row: member.group for row, member in read_groups(opened.catalogue).items()}
    counts: dict[str, int] = {}
    for r in cases:
        counts[r.finding] = counts.get(r.finding, 0) + 1
    pairs = sum(a * b for a, b in combinations(counts.values(), 2))
    grouped = [r for r in cases if r.id in groups]
    false = sum(groups[a.id] == groups[b.id] and a.finding != b.finding for a, b in combinations(grouped, 2))
    same = sum(groups[a.id] == groups[b.id] and a.finding == b.finding for a, b in combinations(grouped, 2))
    return [
        row(
            f"medical_mnist_a, pairs of different body parts, of {pairs:,}",
            false / pairs,
            "share",
            most=FALSE_PAIRS,
        ),
        row("medical_mnist_a, pairs of one body part", same, "pairs"),
    ]


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    found = require_data(data)
    rows = [
        line
        for name in ("mias_a", "pneumoniamnist", "medical_mnist_a")
        for line in changed_copies(found, name)
    ]
    return rows + body_parts(found)
