"""The data check on real images with known faults: recall and precision of each check, and seconds for 10,000 cases.

In copies of three public sets 2 % of the images get a wrong finding, 2 % drawn text, 2 % are blank, 2 % are cut,
2 % show something else, of the mammograms 2 % are mirrored, and of the others 2 % come again, smaller, with another
finding. Recall is the share of these that its check lists, precision the share of these in what it lists. Images
with another fault count for neither. What a check finds in the original images counts against it, though some of it
is right: BUSI has images with text, and findings that look like the other one.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from semblance.core.features.registry import extractor_class
from semblance.core.library.library import Library
from semblance.core.library.records import CHUNK
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.check_data import check_data
from semblance.core.workflows.library.data_issues import IssueKind
from semblance.core.workflows.library.import_source import import_source
from tests.benchmarks.harness import require_data, row

SHARE = 0.02
SEED = 0
WORKERS = 2
LARGE, TARGET_S = 10_000, 60.0
_TEXTS = ("PATIENT 4711", "R CC 12/03/1999", "SMITH JOHN", "Left breast", "Dist 12.3 mm", "2001-04-05 GE")
_FAULTS = (
    IssueKind.LABEL_ERROR,
    IssueKind.TEXT,
    IssueKind.BLANK,
    IssueKind.CUT,
    IssueKind.OUTLIER,
    IssueKind.WRONG_SIDE,
)
#: Name, archive, images used of it, kind of source, and smallest side (smaller images are enlarged).
_SETS = (
    ("BUSI", "busi_256.zip", None, "folder", 1),
    ("Medical MNIST", "medical_mnist_a.zip", 600, "folder", 1),
    ("Medical MNIST, 256 px", "medical_mnist_a.zip", 600, "folder", 256),
    ("mini-MIAS", "mias_a.zip", None, "mammograms", 1),
)
_FOREIGN = "corel1k_a.zip"


@dataclass
class FaultyCopy:
    """A folder with images, and what is wrong: path of an image -> the check that should list it."""

    folder: Path
    faults: dict[str, IssueKind]


def with_text(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    out = image.copy()
    size = max(10, int(max(out.size) * rng.uniform(0.03, 0.06)))
    font, text = ImageFont.load_default(size=size), str(rng.choice(_TEXTS))
    draw = ImageDraw.Draw(out)
    left = rng.uniform(2, max(3.0, out.width - draw.textlength(text, font=font) - 2))
    draw.text(
        (left, rng.uniform(2, out.height - 1.3 * size)), text, fill=int(rng.integers(200, 256)), font=font
    )
    return out


def with_fault(
    image: Image.Image, fault: IssueKind, foreign: list[Image.Image], rng: np.random.Generator
) -> Image.Image:
    if fault == IssueKind.TEXT:
        return with_text(image, rng)
    if fault == IssueKind.BLANK:
        return Image.new("L", image.size, int(rng.integers(0, 256)))
    if fault == IssueKind.CUT:
        pixels = np.array(image)
        pixels[int(rng.uniform(0.4, 0.85) * len(pixels)) :] = rng.choice((0, 128))
        return Image.fromarray(pixels)
    if fault == IssueKind.OUTLIER:
        return foreign[int(rng.integers(len(foreign)))].resize(image.size)
    if fault == IssueKind.WRONG_SIDE:
        return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return image


def read_images(archive: Path, names: list[str]) -> Iterator[tuple[str, Image.Image]]:
    with zipfile.ZipFile(archive) as opened:
        for name in names:
            yield name, Image.open(io.BytesIO(opened.read(name))).convert("L")


def image_names(archive: Path) -> list[str]:
    with zipfile.ZipFile(archive) as opened:
        return sorted(n for n in opened.namelist() if n.lower().endswith((".png", ".jpg", ".jpeg", ".pgm")))


def faulty_copy(images: Path, archive: str, most: int | None, smallest: int, folder: Path) -> FaultyCopy:
    rng = np.random.default_rng(SEED)
    names = image_names(images / archive)
    if most is not None:
        names = sorted(rng.choice(names, most, replace=False).tolist())
    foreign_names = rng.choice(image_names(images / _FOREIGN), 20, replace=False).tolist()
    foreign = [image for _, image in read_images(images / _FOREIGN, foreign_names)]
    kinds = _FAULTS if "mias" in archive else _FAULTS[:-1]
    count = max(3, round(SHARE * len(names)))
    chosen = rng.choice(names, count * len(kinds), replace=False).tolist()
    fault_of = {name: kinds[place % len(kinds)] for place, name in enumerate(chosen)}
    faults: dict[str, IssueKind] = {}
    for name, image in read_images(images / archive, names):
        scale = max(1.0, smallest / min(image.size))
        large = image.resize((round(image.width * scale), round(image.height * scale)))
        path = str(PurePosixPath(name).with_suffix(".png"))
        if name in fault_of:
            faults[path] = fault_of[name]
            large = with_fault(large, fault_of[name], foreign, rng)
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        large.save(target)
    if "mias" not in archive:
        add_copies(folder, [name for name in names if name not in fault_of][:count], faults)
    with zipfile.ZipFile(images / archive) as opened:
        for name in opened.namelist():
            if PurePosixPath(name).name == "Info.txt":
                (folder / name).write_bytes(opened.read(name))
    return FaultyCopy(folder, faults)


def add_copies(folder: Path, names: list[str], faults: dict[str, IssueKind]) -> None:
    """Add a smaller copy of each image to the folder of another finding, saved as JPEG."""
    findings = sorted({PurePosixPath(path.relative_to(folder)).parent for path in folder.rglob("*.png")})
    for number, name in enumerate(names):
        original = PurePosixPath(name).with_suffix(".png")
        other = next(finding for finding in findings if finding != original.parent)
        path = other / f"copy_{number}.jpg"
        with Image.open(folder / original) as image:
            image.resize((image.width * 4 // 5, image.height * 4 // 5)).save(folder / path, quality=80)
        faults[str(path)] = IssueKind.LABEL_CONFLICT


def set_wrong_findings(library: Path, faults: Mapping[str, IssueKind]) -> None:
    """Give every case of an image with a wrong finding another one at random."""
    rng = np.random.default_rng(SEED)
    with Library.open(library, writable=True) as opened:
        cases = opened.catalogue.details([int(r.id) for r in opened.catalogue.all_cases()]).values()
        findings = sorted({case.finding for case in cases if case.finding})
        wrong = [case for case in cases if faults.get(path_of(case.case_id)) == IssueKind.LABEL_ERROR]
        opened.catalogue.relabel(
            (
                case.case_id,
                str(rng.choice([one for one in findings if one != case.finding])),
                case.patient,
                case.attributes,
            )
            for case in wrong
        )


def path_of(case_id: str) -> str:
    """The path of the image in its source; a second region of an image has # and a number behind it."""
    return case_id.partition("/")[2].partition("#")[0]


def measured(name: str, copy: FaultyCopy, kind: str) -> Iterator[dict[str, Any]]:
    library = copy.folder.parent / "lib.semblance"
    import_source(copy.folder, library, kind=kind)
    extract_features(library, "encoder", workers=WORKERS)
    set_wrong_findings(library, copy.faults)
    result = check_data(library)
    for check in dict.fromkeys(copy.faults.values()):
        injected = {path for path, fault in copy.faults.items() if fault == check}
        listed = [
            {path_of(case_id) for case_id in issue.case_ids}
            for issue in result.issues
            if issue.check == check
        ]
        others = copy.faults.keys() - injected
        counted = [paths for paths in listed if paths & injected or not paths <= others]
        what = f"{name}, {check.value.replace('_', ' ')}"
        found = injected & set().union(*counted)
        yield row(f"{what}: recall of {len(injected)}", len(found) / len(injected))
        if counted:
            right = sum(bool(paths & injected) for paths in counted)
            yield row(f"{what}: precision of {len(counted)} listed", right / len(counted))
    yield row(f"{name}: {result.cases:,} cases checked", result.seconds, "s")


def large_library(images: Path, folder: Path) -> Path:
    """10,000 ultrasound images of 256 pixels in other brightness, with made-up features in place of the encoder's."""
    rng = np.random.default_rng(SEED)
    archive = images / "busi_256.zip"
    originals = [np.asarray(image, np.float32) for _, image in read_images(archive, image_names(archive))]
    for number in range(LARGE):
        pixels = originals[number % len(originals)] * rng.uniform(0.6, 1.0)
        target = folder / "images" / ("benign", "malignant")[number % 2] / f"{number}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(target, quality=85)
    library = folder / "large.semblance"
    import_source(folder / "images", library)
    with Library.open(library, writable=True) as opened:
        encoder = extractor_class("encoder")()
        columns = [(one.name, one.group) for one in encoder.feature_names]
        features = opened.features.make(
            "encoder", "encoder", encoder.version, encoder.settings, columns, dtype="float32"
        )
        rows = np.array([r.id for r in opened.catalogue.all_cases()], np.int64)
        for start in range(0, len(rows), CHUNK):
            part = rows[start : start + CHUNK]
            opened.features.write_chunk(features, part, rng.random((len(part), len(columns)), np.float32))
    return library


def run(data: Path | None) -> list[dict[str, Any]]:
    """Rows of this benchmark."""
    images = require_data(data) / "images"
    rows: list[dict[str, Any]] = []
    for name, archive, most, kind, smallest in _SETS:
        with tempfile.TemporaryDirectory() as folder:
            copy = faulty_copy(images, archive, most, smallest, Path(folder) / "images")
            rows += measured(name, copy, kind)
    with tempfile.TemporaryDirectory() as folder:
        library = large_library(images, Path(folder))
        rows.append(row(f"{LARGE:,} images of 256 px", check_data(library).seconds, "s", most=TARGET_S))
    return rows
