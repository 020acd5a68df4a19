from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library.library import Library
from semblance.core.workflows.library.import_source import import_source, recognise_source
from tests.helpers.bad_images import encoded, pattern, write_zip
from tests.helpers.images import striped_folder
from tests.helpers.import_checks import arrays, counts, facts
from tests.helpers.libraries import case_rows
from tests.helpers.program import run_at_once

TOP = Path(__file__).resolve().parents[4]


# Zips, arrays, tables


def test_a_zip_gives_the_same_as_its_folder(images, tmp_path, library):
    import_source(images, library)
    files = {
        path.relative_to(images).as_posix(): path.read_bytes() for path in images.rglob("*") if path.is_file()
    }
    packed = write_zip(tmp_path / "images.zip", files)
    result = import_source(packed, tmp_path / "zipped")
    assert facts(tmp_path / "zipped") == facts(library)
    assert counts(result) == (12, 0, 0, 1)
    assert counts(import_source(packed, tmp_path / "zipped")) == (0, 12, 0, 1)
    files["level/p000.png"] = encoded(pattern())
    del files["level/p001.png"]
    write_zip(packed, files)
    result = import_source(packed, tmp_path / "zipped")
    assert (result.updated, result.unchanged, result.missing) == (1, 10, ["level/p001.png"])


def test_a_zip_of_strangers(tmp_path, library):
    good = encoded(pattern())
    packed = write_zip(
        tmp_path / "odd.zip",
        {"a/good.png": good, "../evil.png": good, "/abs.png": good, "a/cut.png": good[:99]},
    )
    result = import_source(packed, library)
    assert (result.added, sorted(item["path"] for item in result.failed)) == (
        1,
        ["../evil.png", "/abs.png", "a/cut.png"],
    )
    assert not list(tmp_path.parent.glob("evil.png"))


def test_an_array_file_and_again(tmp_path, library):
    source = arrays(tmp_path / "set.npz")
    result = import_source(source, library)
    assert (result.kind, *counts(result)) == ("medmnist", 30, 0, 0, 0)
    assert result.findings == {"0": 15, "1": 15}
    assert counts(import_source(source, library)) == (0, 30, 0, 0)
    arrays(source, n=31, seed=1)
    result = import_source(source, library)
    assert (result.added, result.updated, result.cases) == (31, 30, 31)
    arrays(source, n=10, seed=1)
    result = import_source(source, library)
    assert result.cases == 10
    assert len(result.removed) == 21
    assert "set/train_images[30]" in result.removed


def test_an_array_with_an_image_that_is_none(tmp_path, library):
    images = np.random.default_rng(0).random((5, 9, 8))
    images[2] = np.nan
    np.savez(tmp_path / "set.npz", train_images=images)
    result = import_source(tmp_path / "set.npz", library)
    assert [item["path"] for item in result.failed] == ["set.npz!train_images[2]"]
    assert result.added == 4
    assert counts(import_source(tmp_path / "set.npz", library)) == (0, 4, 1, 0)


def test_an_array_file_cut_off(tmp_path, library):
    source = arrays(tmp_path / "set.npz")
    whole = source.read_bytes()
    source.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadInput, match=r"set\.npz"):
        import_source(source, library)
    source.write_bytes(whole)
    assert import_source(source, library).added == 30


def table(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["case_id", "size", "age", "label"], *rows])
    return path


def test_a_table_and_again(tmp_path, library):
    rows = [[f"c{n}", str(n), str(50 + n), "benign" if n % 2 else "malignant"] for n in range(8)]
    source = table(tmp_path / "t.csv", rows)
    result = import_source(source, library)
    assert (result.kind, *counts(result)) == ("table", 8, 0, 0, 0)
    with Library.open(library) as opened:
        made = opened.features.make("raw", "raw", 1, {}, [("size", "size"), ("age", "age")], dtype="float64")
        rows_, values, _ = opened.catalogue.numbers(case_rows(opened).tolist())
        opened.features.write_chunk(made, rows_, values)
    assert counts(import_source(source, library)) == (0, 8, 0, 0)
    rows[3][1], rows[4][1] = "99", "words"
    del rows[6]
    table(source, rows)
    result = import_source(source, library)
    assert (result.updated, result.unchanged, result.cases) == (1, 5, 6)
    assert sorted(result.removed) == ["t/c4", "t/c6"]
    assert [item["path"] for item in result.failed] == ["t.csv:6"]
    with Library.open(library) as opened:
        made = opened.features.get("raw")
        assert opened.features.cases_to_extract(made, images=False).tolist() == [
            opened.catalogue.row_of("t/c3")
        ]


def test_a_table_longer_than_a_transaction_is_complete_and_known_again(tmp_path, library):
    rows = [[f"c{n}", str(n), str(n % 7), "benign" if n % 2 else "malignant"] for n in range(4500)]
    rows[3000][1] = "words"
    source = table(tmp_path / "t.csv", rows)
    result = import_source(source, library)
    assert (result.added, len(result.failed), result.cases) == (4499, 1, 4499)
    with Library.open(library) as opened:
        ids, values, contents = opened.catalogue.numbers(case_rows(opened).tolist())
        assert len(set(contents)) == len(ids) == 4499
        assert values[:, 0].tolist() == [n for n in range(4500) if n != 3000]
        assert opened.catalogue.files(opened.catalogue.sources()[0])[""].stamp > 0
    again = import_source(source, library)
    assert (again.added, again.unchanged, again.removed) == (0, 4499, [])


@pytest.mark.parametrize(
    "text",
    ["", "a,b,label\n", "label\nx\ny\n", "a,b\n1,2\n3,4.5\n5,6.25\n", "\0\1\2", "a,label\nwords,x\nmore,y\n"],
)
def test_tables_that_cannot_be_used_are_refused_in_words(tmp_path, library, text):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(BadInput, match=r"t\.csv"):
        import_source(tmp_path / "t.csv", library)


def test_sources_of_one_name_stay_apart(tmp_path, library):
    for folder, seed in (("a", 1), ("b", 2)):
        import_source(striped_folder(tmp_path / folder / "scans", n=4, seed=seed), library)
    assert {case_id.split("/")[0] for case_id in facts(library)} == {"scans", "scans 2"}
    assert import_source(tmp_path / "b" / "scans", library).unchanged == 4


def test_programs_that_import_the_same_at_once_share_its_cases(images, library):
    code = (
        "import sys\nfrom pathlib import Path\nfrom semblance.core.workflows.library import import_source\n"
        "import_source.BATCH = 2\nsys.stdin.readline()\n"
        "import_source.import_source(Path(sys.argv[1]), Path(sys.argv[2]))\n"
    )
    run_at_once(code, *[(images, library)] * 2)
    assert len(facts(library)) == 12
    with Library.open(library) as opened:
        assert len(opened.catalogue.sources()) == 1
    assert import_source(images, library).unchanged == 12


def test_kinds_are_recognised_best_first(images, tmp_path):
    assert recognise_source(images)[0][0] == "folder"
    assert [kind for kind, _, _ in recognise_source(arrays(tmp_path / "x.npz"))] == ["medmnist"]
