"""Makes the folder of demo images, once."""

from __future__ import annotations

import errno
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.csv_cells import csv_line, safe_text
from semblance.core.demo import mammogram
from semblance.core.demo.images import NOTICE, RADIOGRAPHS, ImageOrder, write
from semblance.core.engine import run_parts
from semblance.core.errors import SemblanceError
from semblance.core.files import create_folder, write_file
from semblance.core.language import tr_lazy
from semblance.core.tasks import SILENT, Reporter

#: Increased when the same seed gives different images.
VERSION = 1
MANIFEST = "demo.json"
COLUMNS = ("path", "label", "patient_id", "view", "laterality", "note")
_BATCH = 8
_PROGRESS_TEXT = "Drawing demo images"


@dataclass(frozen=True)
class DemoImages:
    """Two folders with a ``labels.csv`` each; how many images they hold."""

    masses: Path
    radiographs: Path
    n_masses: int
    n_radiographs: int


def generate(
    folder: Path,
    *,
    seed: int = 7,
    in_processes: bool = False,
    reporter: Reporter = SILENT,
    patients: int = 100,
    per_category: int = 30,
) -> DemoImages:
    """Draw the demo images into ``folder``: ``breast masses/`` and ``radiographs/``.

    The masses are benign or malignant, 7 for every 5 ``patients``, each in two views; the radiographs fall into six
    categories of ``per_category``. The same numbers always give the same images. A complete folder is not changed; an
    incomplete one is drawn again. ``in_processes``: in as many processes as are needed.

    Raises:
        SemblanceError: the folder cannot be written.
        Cancelled: the reporter was cancelled; what was drawn stays and is replaced by the next call.
    """
    masses, radiographs = folder / "breast masses", folder / "radiographs"
    work = [(masses, mass_orders(seed, patients)), (radiographs, radiograph_orders(seed, per_category))]
    made = DemoImages(masses, radiographs, *(len(orders) for _, orders in work))
    description = _description(seed, work)
    if _complete(folder, description, work):
        return made
    try:
        _remove_listed(folder)
        for where, orders in work:
            for parent in sorted({(where / order.path).parent for order in orders} | {where}):
                create_folder(parent)
        _draw_all(work, reporter, in_processes=in_processes)
        for where, orders in work:
            write_file(where / "labels.csv", _labels(orders).encode())
        write_file(folder / MANIFEST, json.dumps(description, indent=1).encode())
    except OSError as error:
        raise _write_error(folder, error) from error
    return made


def mass_orders(seed: int, patients: int) -> list[ImageOrder]:
    """Two views of every mass of the plan."""
    out = []
    for lesion in mammogram.plan(np.random.default_rng([seed, 0]), patients):
        label, side = "malignant" if lesion.malignant else "benign", "L" if lesion.left else "R"
        patient = f"M{lesion.patient + 1:03d}"
        for number, view in enumerate(("CC", "MLO")):
            name = f"{label}/{patient}-{lesion.number}-{side}-{view}.png"
            drawn_from = (seed, 3, lesion.patient, lesion.number, number)
            out.append(
                ImageOrder(name, label, patient, view, side, drawn_from, (lesion.patient, lesion.number))
            )
    return out


def radiograph_orders(seed: int, per_category: int) -> list[ImageOrder]:
    """``per_category`` images of each body part; hands and knees in pairs of one patient."""
    out, patient = [], 0
    for kind, (part, (view, paired)) in enumerate(RADIOGRAPHS.items()):
        for number in range(per_category):
            if not paired or number % 2 == 0:
                patient += 1
            side = "RL"[number % 2] if paired else ""
            owner = f"R{patient:03d}"
            name = f"{part}/{owner}{f'-{side}' if side else ''}-{view}.png"
            out.append(ImageOrder(name, part, owner, view, side, (seed, 4, kind, number)))
    return out


def _draw_all(work: list[tuple[Path, list[ImageOrder]]], reporter: Reporter, *, in_processes: bool) -> None:
    size = _BATCH if in_processes else 1
    batches = [
        (where, orders[start : start + size])
        for where, orders in work
        for start in range(0, len(orders), size)
    ]
    if in_processes:
        run_parts(write, batches, title=_PROGRESS_TEXT, reporter=reporter)
        return
    for done, batch in enumerate(batches):
        reporter.progress(done, len(batches), _PROGRESS_TEXT)
        reporter.check_cancelled()
        write(batch)
    reporter.progress(len(batches), len(batches), _PROGRESS_TEXT)


def _labels(orders: list[ImageOrder]) -> str:
    rows = [(one.path, one.label, one.patient, one.view, one.laterality, "synthetic") for one in orders]
    return "".join(f"{csv_line(map(safe_text, row))}\n" for row in (COLUMNS, *rows))


def _description(seed: int, work: list[tuple[Path, list[ImageOrder]]]) -> dict[str, Any]:
    images = [f"{where.name}/{order.path}" for where, orders in work for order in orders]
    labels = "".join(_labels(orders) for _, orders in work)
    return {
        "notice": NOTICE,
        "version": VERSION,
        "seed": seed,
        "labels_sha256": hashlib.sha256(labels.encode()).hexdigest(),
        "pictures": images,
    }


def _complete(folder: Path, description: dict[str, Any], work: list[tuple[Path, list[ImageOrder]]]) -> bool:
    if _manifest(folder) != description:
        return False
    try:
        listed = all((folder / name).stat().st_size > 0 for name in description["pictures"])
        return listed and all((where / "labels.csv").stat().st_size > 0 for where, _ in work)
    except OSError:
        return False


def _manifest(folder: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _remove_listed(folder: Path) -> None:
    """Remove the images of an earlier version or seed, and no other files."""
    found = _manifest(folder)
    names = found.get("pictures", []) if found else []
    for name in names if isinstance(names, list) else []:
        target = folder / str(name)
        inside = target.resolve().is_relative_to(folder.resolve())
        if inside and target.suffix == ".png" and target.is_file():
            target.unlink()
    (folder / MANIFEST).unlink(missing_ok=True)


def _write_error(folder: Path, error: OSError) -> SemblanceError:
    if error.errno == errno.ENOSPC:
        return SemblanceError(
            tr_lazy("The disk is full: the demo images in {folder} could not be finished.", folder=folder),
            "Free about 50 MB, or choose another folder, and start the demo again.",
        )
    return SemblanceError(
        tr_lazy(
            "The demo images cannot be written to {folder}: {reason}.",
            folder=folder,
            reason=error.strerror or error,
        ),
        "Choose a folder you may write to.",
    )
