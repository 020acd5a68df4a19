"""Every widget of the program: ``python -m tests.helpers.gallery [--page NAME] [--theme light]``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from semblance.app.widgets.cards.case_model import CaseModel
    from semblance.app.widgets.thumbnail_loader import Done

PAGES = ("states", "panels", "grid", "start", "palette")


@dataclass(frozen=True)
class SampleImage:
    """A made-up thumbnail."""

    row: int
    pixels: npt.NDArray[np.uint8] | None
    problem: str = ""


def sample_pixels(row: int, side: int = 160) -> npt.NDArray[np.uint8]:
    """A soft grey texture with a dark blob: plainly made up, and different for every row."""
    chance = np.random.default_rng(row)
    image = np.zeros((side, side))
    for cells, weight in ((5, 0.5), (12, 0.3), (40, 0.2)):
        coarse = chance.random((cells, cells))
        at = np.linspace(0, cells - 1, side)
        low = np.minimum(at.astype(int), cells - 2)
        share = at - low
        rows = coarse[low] * (1 - share)[:, None] + coarse[low + 1] * share[:, None]
        image += weight * (rows[:, low] * (1 - share) + rows[:, low + 1] * share)
    y, x = np.mgrid[0:side, 0:side] / side - 0.5
    centre, size = chance.uniform(-0.15, 0.15, 2), chance.uniform(0.1, 0.25)
    away = np.hypot(x - centre[0], (y - centre[1]) * chance.uniform(0.8, 1.4)) / size
    image = image * (0.35 + 0.65 / (1 + np.exp(-6 * (away - 1))))
    return np.asarray(np.clip(image * 260, 0, 255), dtype=np.uint8)


def sample_cases(cases: int = 250, *, ranked: bool = True) -> CaseModel:
    """Made-up cases; some are missing, damaged, waiting, judged or folded."""
    from semblance.app.widgets.cards.case_model import CaseModel
    from semblance.core.library.case_columns import ImageAvailability, case_columns

    chance = np.random.default_rng(1)
    findings = [("malignant", "benign", None)[int(n)] for n in chance.choice(3, cases, p=[0.48, 0.45, 0.07])]
    states = [int(ImageAvailability.OK)] * cases
    if cases > 8:
        states[7], states[8] = int(ImageAvailability.MISSING), int(ImageAvailability.UNREADABLE)
    columns = case_columns(
        range(1, cases + 1),
        [f"US-{n * 37 % 1000:04d}" for n in range(cases)],
        findings,
        [f"P{n // 2:03d}" for n in range(cases)],
        states,
    )
    order = np.arange(cases)
    if not ranked:
        return CaseModel(columns, order)
    alike = np.where(order % 7 == 1, order % 3 + 1, 0)
    distances = np.asarray(0.213 * (1 + order) ** 0.2, dtype=np.float64)
    waiting = order == 10
    return CaseModel(
        columns, order, distances, alike, full_distance=0.5, pending=waiting, judgements={2: 1, 3: 1, 4: -1}
    )


def answer(rows: list[int], done: Done) -> None:
    """Made-up thumbnails, as a worker would give them: a moment later."""
    from PySide6.QtCore import QTimer

    QTimer.singleShot(0, lambda: done([SampleImage(row, sample_pixels(row)) for row in rows]))


def page(name: str) -> QWidget:
    """The page ``name`` of the gallery.

    Raises:
        KeyError: no such page.
    """
    from tests.helpers import gallery_pages

    made: dict[str, Callable[[], QWidget]] = {
        "states": gallery_pages.states,
        "panels": gallery_pages.panels,
        "grid": gallery_pages.grid,
        "start": gallery_pages.start,
        "palette": gallery_pages.palette,
    }
    return made[name]()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.helpers.gallery", description=__doc__)
    parser.add_argument("--page", choices=PAGES, default="states")
    parser.add_argument("--theme", choices=("dark", "light"), default="dark")
    parser.add_argument("--text", type=float, default=1.0, metavar="FACTOR", help="text size")
    parser.add_argument("--scale", type=float, default=1.0, metavar="FACTOR", help="pixels per logical pixel")
    parser.add_argument("--size", default="", metavar="WxH", help="size of the window")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write an image instead of showing it")
    options = parser.parse_args(arguments)
    if options.save:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    if options.scale != 1:
        os.environ["QT_SCALE_FACTOR"] = str(options.scale)

    from PySide6.QtWidgets import QApplication

    from semblance.app.shell.theme import set_theme
    from semblance.app.widgets import focus_ring

    app = QApplication(sys.argv[:1])
    set_theme(app, options.theme, options.text)
    ring = focus_ring.install(app)
    shown = page(options.page)
    if options.size:
        width, height = (int(part) for part in options.size.split("x"))
        shown.resize(width, height)
    shown.show()
    if not options.save:
        return app.exec()
    _settle()
    saved = shown.grab().save(str(options.save))
    shown.close()
    del ring
    return 0 if saved else 1


def _settle() -> None:
    import time

    from PySide6.QtCore import QCoreApplication

    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        QCoreApplication.processEvents()
        time.sleep(0.005)


if __name__ == "__main__":
    sys.exit(main())
