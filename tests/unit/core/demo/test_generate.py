from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from semblance.core.demo import DemoImages, generate
from semblance.core.demo.generate import COLUMNS, MANIFEST, mass_orders, radiograph_orders
from semblance.core.errors import SemblanceError
from semblance.core.tasks import Cancelled, Reporter


def _rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _states(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DemoImages]:
    folder = tmp_path_factory.mktemp("demo images")
    return folder, generate(folder, patients=3, per_category=2)


def test_every_listed_image_exists_and_no_other(made: tuple[Path, DemoImages]) -> None:
    _, images = made
    for folder, expected in ((images.masses, images.n_masses), (images.radiographs, images.n_radiographs)):
        rows = _rows(folder)
        assert len(rows) == expected
        assert tuple(rows[0]) == COLUMNS
        assert {row["path"] for row in rows} == {
            path.relative_to(folder).as_posix() for path in folder.rglob("*.png")
        }
        assert not list(folder.rglob("*.part"))


def test_images_are_grey_and_say_that_they_are_synthetic(made: tuple[Path, DemoImages]) -> None:
    _, images = made
    for folder in (images.masses, images.radiographs):
        for row in _rows(folder):
            assert row["note"] == "synthetic"
            with Image.open(folder / row["path"]) as image:
                assert image.mode == "L"
                assert "no patient" in image.info["Description"]
                assert image.info["Title"].startswith("SYNTHETIC")
                pixels = np.asarray(image)
            notice = pixels[-14:-3, 5:62]
            assert (notice > 180).sum() > 60, row["path"]
            assert pixels.std() > 15, row["path"]


def test_radiographs_fall_into_six_categories(made: tuple[Path, DemoImages]) -> None:
    _, images = made
    counts = Counter(row["label"] for row in _rows(images.radiographs))
    assert len(counts) == 6
    assert set(counts.values()) == {2}


def test_a_complete_folder_is_reused(made: tuple[Path, DemoImages]) -> None:
    folder, images = made
    before = _states(folder)
    assert generate(folder, patients=3, per_category=2) == images
    assert _states(folder) == before


def test_an_incomplete_folder_is_drawn_again_and_the_same(tmp_path: Path) -> None:
    images = generate(tmp_path, patients=1, per_category=1)
    lost = next(images.masses.rglob("*.png"))
    content = lost.read_bytes()
    lost.unlink()
    generate(tmp_path, patients=1, per_category=1)
    assert lost.read_bytes() == content


def test_a_new_seed_replaces_our_images_and_nothing_else(tmp_path: Path) -> None:
    images = generate(tmp_path, patients=2, per_category=1)
    own = images.masses / "my own.png"
    own.write_bytes(b"unchanged")
    first = {path.name: path.read_bytes() for path in images.radiographs.rglob("*.png")}
    generate(tmp_path, seed=8, patients=1, per_category=1)
    assert own.read_bytes() == b"unchanged"
    assert len(list(images.masses.rglob("*.png"))) == 2 + 1
    assert {path.name: path.read_bytes() for path in images.radiographs.rglob("*.png")} != first


def test_a_manifest_cannot_name_files_outside_its_folder(tmp_path: Path) -> None:
    outside = tmp_path / "precious.png"
    outside.write_bytes(b"unchanged")
    folder = tmp_path / "demo"
    folder.mkdir()
    (folder / MANIFEST).write_text(json.dumps({"images": ["../precious.png", str(outside), 3]}))
    generate(folder, patients=1, per_category=1)
    assert outside.read_bytes() == b"unchanged"


@pytest.mark.parametrize("broken", ["", "[]", "{", '{"images": 5}'])
def test_a_broken_manifest_is_replaced(tmp_path: Path, broken: str) -> None:
    (tmp_path / MANIFEST).write_text(broken)
    generate(tmp_path, patients=1, per_category=1)
    assert json.loads((tmp_path / MANIFEST).read_text())["seed"] == 7


def test_processes_draw_the_same_images(tmp_path: Path, made: tuple[Path, DemoImages]) -> None:
    folder, images = made
    assert generate(tmp_path, in_processes=True, patients=3, per_category=2).n_masses == images.n_masses
    for path in folder.rglob("*.png"):
        assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes()


class _Watch(Reporter):
    def __init__(self, stop_after: int = 10**9) -> None:
        self.progress_calls: list[tuple[int, int | None]] = []
        self.stop_after = stop_after

    def progress(self, done: int, total: int | None, what: str) -> None:
        self.progress_calls.append((done, total))

    def check_cancelled(self) -> None:
        if len(self.progress_calls) > self.stop_after:
            raise Cancelled


def test_progress_reaches_its_total(tmp_path: Path) -> None:
    watch = _Watch()
    generate(tmp_path, reporter=watch, patients=1, per_category=1)
    assert watch.progress_calls[0] == (0, 8)
    assert watch.progress_calls[-1] == (8, 8)


def test_cancelling_leaves_no_manifest(tmp_path: Path) -> None:
    with pytest.raises(Cancelled):
        generate(tmp_path, reporter=_Watch(stop_after=2), patients=1, per_category=1)
    assert not (tmp_path / MANIFEST).exists()
    generate(tmp_path, patients=1, per_category=1)
    assert (tmp_path / MANIFEST).exists()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(SemblanceError, match="taken") as caught:
        generate(tmp_path / "taken", patients=1, per_category=1)
    assert caught.value.hint


def test_the_full_plan_is_balanced_and_large_enough() -> None:
    masses = mass_orders(7, 100)
    assert len(masses) >= 240
    assert len({order.patient for order in masses}) >= 80
    assert Counter(order.label for order in masses) == {"benign": 140, "malignant": 140}
    assert {order.view for order in masses} == {"CC", "MLO"}
    assert len({order.path for order in masses}) == len(masses)
    assert Counter(Counter(order.patient for order in masses).values()) == {2: 60, 4: 40}
    radiographs = radiograph_orders(7, 30)
    assert len({order.path for order in radiographs}) == len(radiographs) == 180
    assert not {order.patient for order in masses} & {order.patient for order in radiographs}
