from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.errors import BadArguments, BadInput
from core.features.registry import make_extractor
from core.imaging import open_picture
from core.imaging.region import Region
from core.library.library import Library
from core.library.records import DERIVED
from core.metrics.storage import load_metric
from core.searches.query import Query
from core.searches.search import Search
from core.tasks import Cancelled
from core.workflows.features.extracting import extract_features
from core.workflows.library.importing import import_source
from core.workflows.metrics.training import TrainRequest, train_metric
from core.workflows.searches import desk as desk_module
from core.workflows.searches.desk import close_desks, desk_for
from core.workflows.searches.explaining import why
from core.workflows.searches.searching import search
from tests.helpers.bad_pictures import encoded, pattern
from tests.helpers.listening import Listening
from tests.helpers.pictures import striped_folder
from tests.helpers.tables import table_library, write_table

TOP = Path(__file__).resolve().parents[4]


@pytest.fixture
def table(tmp_path):
    """60 rows of 30 patients, two metrics."""
    library = table_library(tmp_path)
    train_metric(library, TrainRequest("euclidean", "plain"))
    train_metric(library, TrainRequest("bdm_v", "learnt", settings={"rounds": 20}))
    return library


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    pictures = striped_folder(folder / "pictures", n=16)
    shutil.copy(pictures / "level" / "p000.png", pictures / "level" / "copy of p000.png")
    import_source(pictures, folder / "lib")
    extract_features(folder / "lib", "colour_edge_texture")
    train_metric(folder / "lib", TrainRequest("euclidean", "plain"))
    return folder


@pytest.fixture
def pictures(made, tmp_path):
    """16 pictures and a copy of one, with features and a metric; the test's own."""
    shutil.copytree(made, tmp_path / "own", dirs_exist_ok=True)
    library = tmp_path / "own" / "lib"
    with Library.open(library) as opened:
        (source,) = opened.catalogue.sources()
        opened.catalogue.move_source(source, tmp_path / "own" / "pictures", [])
    return library


def ids(result) -> list[str]:
    return [case.case_id for case in result.ranked]


def test_the_nearest_come_first_by_the_metrics_own_distance(table):
    for name in ("plain", "learnt"):
        result = search(table, name, Query("t/c0"), k=1000)
        with Library.open(table) as opened:
            rows, values = opened.features.read(opened.features.get(None))
            details = opened.catalogue.details(rows.tolist())
            metric = load_metric(opened.metric(name).file)
        expected = {
            details[row].case_id: distance
            for row, distance in zip(rows.tolist(), metric.distances(values[:1], values)[0], strict=True)
        }
        assert len(result.ranked) == 58
        distances = [case.distance for case in result.ranked]
        assert distances == sorted(distances)
        np.testing.assert_allclose(distances, [expected[case] for case in ids(result)], rtol=1e-9, atol=1e-12)
        assert [case.rank for case in result.ranked] == list(range(1, 59))
        assert result.compared == 59


def test_the_query_and_its_patient_never_answer(table):
    result = search(table, "plain", Query("t/c10"), k=100)
    assert not {"t/c10", "t/c11"} & set(ids(result))
    assert result.same_patient in (0, 1)
    shown = search(table, "plain", Query("t/c10"), k=100, hide_same_patient=False)
    assert set(ids(shown)) - set(ids(result)) == {"t/c11"}
    assert shown.same_patient == 0


def test_fewer_than_asked_for_and_none_at_all(table):
    assert len(search(table, "plain", Query("t/c0"), k=3).ranked) == 3
    with pytest.raises(BadArguments, match=r"Give either --case or --image"):
        search(table, "plain", Query())
    with pytest.raises(BadArguments, match=r"Give either --case or --image"):
        search(table, "plain", Query("t/c0", Path("x.png")))


def test_the_shape_of_the_json(table):
    document = search(table, "learnt", Query("t/c0"), k=12).to_json()
    json.dumps(document, allow_nan=False)
    assert {
        "query", "metric", "results", "hidden", "vote", "no_good_match", "seconds",
    } <= set(document)  # fmt: skip
    assert document["query"] == {"case_id": "t/c0", "image": None, "region": None}
    shape = {"rank", "case_id", "distance", "finding", "path", "near_duplicates"}
    assert set(document["results"][0]) == shape
    assert set(document["hidden"]) == {"same_patient", "near_duplicates"}
    vote = document["vote"]
    assert {"counts", "calibrated", "measured_on", "finding", "probability", "interval"} < set(vote)
    assert (vote["calibrated"], vote["probability"], vote["interval"]) == (False, None, None)
    assert sum(vote["counts"].values()) == 10
    assert vote["finding"] == "kind 0"
    assert "too few cases" in vote["why_not"]
    assert set(document["seconds"]) == {"features", "search"}


def test_the_ten_nearest_vote_however_many_are_shown(table):
    votes = [search(table, "learnt", Query("t/c0"), k=k).counts for k in (1, 10, 30)]
    assert votes[0] == votes[1] == votes[2]
    assert sum(votes[0].values()) == 10


def test_unknown_names_are_told(table):
    with pytest.raises(BadArguments, match=r"no metric 'magic'.*There are: learnt, plain|plain, learnt"):
        search(table, "magic", Query("t/c0"))
    with pytest.raises(BadInput, match=r"no case 't/c77'.*info LIB --json"):
        search(table, "plain", Query("t/c77"))
    with pytest.raises(BadInput, match="does not exist"):
        search(table.with_name("gone"), "plain", Query("t/c0"))
    # Nothing of the failed questions is kept open, and good ones still work.
    assert search(table, "plain", Query("t/c0")).ranked


def test_a_table_cannot_be_asked_with_a_picture(table, tmp_path):
    (tmp_path / "x.png").write_bytes(encoded(pattern()))
    with pytest.raises(BadInput, match=r"cannot be compared by 'raw'.*Ask with --case"):
        search(table, "plain", Query(image=tmp_path / "x.png"))
    with pytest.raises(BadInput, match="has no picture"):
        search(table, "plain", Query("t/c0", region=Region(0, 0, 5, 5)))


def test_a_case_without_features_is_told_the_way_out(table, tmp_path):
    write_table(tmp_path / "t.csv", n=62)
    import_source(tmp_path / "t.csv", table)
    with pytest.raises(BadInput, match=r"t/c61 has no numbers in the feature set 'raw'.*--extractor raw"):
        search(table, "plain", Query("t/c61"))
    assert "t/c60" not in ids(search(table, "plain", Query("t/c0"), k=100))
    extract_features(table, "raw")
    assert "t/c60" in ids(search(table, "plain", Query("t/c0"), k=100))
    assert search(table, "plain", Query("t/c61")).ranked


# Pictures


def test_a_picture_from_outside_finds_itself(pictures, tmp_path):
    asked = tmp_path / "from outside.png"
    shutil.copy(pictures.parent / "pictures" / "upright" / "p002.png", asked)
    result = search(pictures, "plain", Query(image=asked), k=5)
    assert ids(result)[0] == "pictures/upright/p002.png"
    assert result.ranked[0].distance == pytest.approx(0, abs=1e-9)
    assert result.ranked[0].path == str(pictures.parent / "pictures" / "upright" / "p002.png")
    assert result.same_patient == 0


def test_copies_are_folded_into_one(pictures):
    original, copy = "pictures/level/p000.png", "pictures/level/copy of p000.png"
    result = search(pictures, "plain", Query("pictures/level/p004.png"), k=100)
    (first,) = [case for case in result.ranked if case.case_id in (original, copy)]
    assert first.alike == 1
    assert result.near_duplicates == 1
    unfolded = search(pictures, "plain", Query("pictures/level/p004.png"), k=100, fold_duplicates=False)
    assert {original, copy} <= set(ids(unfolded))
    own = search(pictures, "plain", Query(original), k=100)
    assert copy not in ids(own)
    assert own.near_duplicates == 1


def test_a_region_is_asked_with_that_part_only(pictures, tmp_path):
    path = pictures.parent / "pictures" / "level" / "p000.png"
    region = Region(4, 5, 30, 20)
    by_case = search(pictures, "plain", Query("pictures/level/p000.png", region=region), k=100)
    by_image = search(pictures, "plain", Query(image=path, region=region), k=100)
    assert "pictures/level/p000.png" not in ids(by_case)
    with Library.open(pictures) as opened:
        metric = load_metric(opened.metric("plain").file)
        rows, values = opened.features.read(opened.features.get(None))
        details = opened.catalogue.details(rows.tolist())
    own = make_extractor("colour_edge_texture").extract(open_picture(path), region)
    expected = {
        details[row].case_id: distance
        for row, distance in zip(rows.tolist(), metric.distances(own[None], values)[0], strict=True)
    }
    for result in (by_case, by_image):
        np.testing.assert_allclose(
            [case.distance for case in result.ranked], [expected[case] for case in ids(result)], rtol=1e-6
        )
    assert by_case.query.to_json()["region"] == {
        "kind": "rectangle",
        "x": 4,
        "y": 5,
        "width": 30,
        "height": 20,
    }
    with pytest.raises(BadInput, match="lies outside the picture"):
        search(pictures, "plain", Query(image=path, region=Region(500, 500, 5, 5)))


def test_a_picture_that_cannot_be_read_is_told(pictures, tmp_path):
    (tmp_path / "bad.png").write_bytes(b"no picture")
    with pytest.raises(BadInput, match=r"bad\.png"):
        search(pictures, "plain", Query(image=tmp_path / "bad.png"))
    with pytest.raises(BadInput, match=r"gone\.png' is not there"):
        search(pictures, "plain", Query(image=tmp_path / "gone.png"))


def test_cases_whose_picture_is_missing_still_answer(pictures):
    shutil.rmtree(pictures.parent / "pictures" / "level")
    import_source(pictures.parent / "pictures", pictures)
    result = search(pictures, "plain", Query("pictures/level/p000.png"), k=100)
    assert result.ranked
    with pytest.raises(BadInput, match="is not there"):
        search(pictures, "plain", Query("pictures/level/p000.png", region=Region(0, 0, 9, 9)))


def test_something_quite_different_is_no_good_match(tmp_path):
    library = table_library(tmp_path, n=200)
    train_metric(library, TrainRequest("euclidean", "plain"))
    assert not search(library, "plain", Query("t/c0")).no_good_match
    with (tmp_path / "t.csv").open("a", encoding="utf-8") as file:
        file.write("odd,P999,90,90,90,90,90,kind 0\n")
    import_source(tmp_path / "t.csv", library)
    extract_features(library, "raw")
    result = search(library, "plain", Query("t/odd"))
    assert result.no_good_match
    assert result.ranked[0].distance > result.usual_distance


def elsewhere(code: str, *arguments: object) -> None:
    """Run ``code`` in a program of its own."""
    done = subprocess.run(
        [sys.executable, "-c", "import sys\nfrom pathlib import Path\n" + code, *map(str, arguments)],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_what_was_told_of_a_case_is_read_once(table, monkeypatch):
    before = search(table, "plain", Query("t/c0"), k=20)
    desk = desk_for(table, "plain")
    asked = []
    details = desk.library.catalogue.details
    monkeypatch.setattr(desk.library.catalogue, "details", lambda rows: asked.append(rows) or details(rows))
    assert search(table, "plain", Query("t/c0"), k=20).ranked == before.ranked
    assert asked == []
    monkeypatch.setattr("core.workflows.searches.desk.DETAILS_KEPT", 25)
    assert len(search(table, "plain", Query("t/c0"), k=50).ranked) == 50
    assert search(table, "plain", Query("t/c0"), k=20).ranked == before.ranked
    assert asked


def test_changes_by_another_program_are_noticed(table, tmp_path):
    assert "t/c60" not in ids(search(table, "plain", Query("t/c0"), k=100))
    desk = desk_for(table, "plain")
    assert desk_for(table, "plain") is desk
    write_table(tmp_path / "t.csv", n=64)
    elsewhere(
        "from core.workflows.library.importing import import_source\n"
        "from core.workflows.features.extracting import extract_features\n"
        "import_source(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "extract_features(Path(sys.argv[2]), 'raw')\n",
        tmp_path / "t.csv",
        table,
    )
    assert "t/c60" in ids(search(table, "plain", Query("t/c0"), k=100))
    assert desk_for(table, "plain") is not desk
    elsewhere(
        "from core.workflows.metrics.training import TrainRequest, train_metric\n"
        "train_metric(Path(sys.argv[1]), TrainRequest('bdm', 'plain', settings={'rounds': 5}))\n",
        table,
    )
    distances = [case.distance for case in search(table, "plain", Query("t/c0"), k=100).ranked]
    assert len(set(distances)) < 40  # five bits tell few distances apart


def test_another_library_in_the_same_place_is_noticed(table, tmp_path):
    search(table, "plain", Query("t/c0"))
    shutil.rmtree(table)
    with pytest.raises(BadInput, match="does not exist"):
        search(table, "plain", Query("t/c0"))
    import_source(write_table(tmp_path / "u.csv", n=20), table)
    extract_features(table, "raw")
    train_metric(table, TrainRequest("euclidean", "plain"))
    assert len(search(table, "plain", Query("u/c0"), k=100).ranked) == 18


def derived(library: Path) -> list[Path]:
    return sorted((library / DERIVED).iterdir())


def test_a_later_start_reads_what_was_worked_out_before(table, monkeypatch):
    before = search(table, "learnt", Query("t/c0"))
    close_desks()
    (kept,) = derived(table)
    monkeypatch.setattr(desk_module.Desk, "_embedded", None)
    assert search(table, "learnt", Query("t/c0")).ranked == before.ranked
    assert derived(table) == [kept]


@pytest.mark.parametrize("damage", ["cut", "empty", "words", "one byte", "other arrays", "a folder", "gone"])
def test_damage_to_what_was_worked_out_is_mended(table, damage):
    before = search(table, "learnt", Query("t/c0"))
    close_desks()
    (kept,) = derived(table)
    data = bytearray(kept.read_bytes())
    kept.unlink()
    if damage == "cut":
        kept.write_bytes(data[: len(data) // 2])
    elif damage == "empty":
        kept.write_bytes(b"")
    elif damage == "words":
        kept.write_bytes(b"words " * 100)
    elif damage == "one byte":
        data[len(data) // 2] ^= 0xFF
        kept.write_bytes(data)
    elif damage == "other arrays":
        with kept.open("wb") as file:
            np.savez(file, rows=np.arange(3), embedding=np.zeros(3), ties=np.zeros((3, 0)))
    elif damage == "a folder":
        kept.mkdir()
    else:
        shutil.rmtree(table / DERIVED)
    assert search(table, "learnt", Query("t/c0")).ranked == before.ranked
    if damage != "a folder":
        assert derived(table) == [kept]
        with np.load(kept) as mended:
            assert len(mended["rows"]) == 60


def test_what_is_no_longer_true_is_thrown_away(table, tmp_path):
    search(table, "learnt", Query("t/c0"))
    search(table, "plain", Query("t/c0"))
    assert len(derived(table)) == 2
    write_table(tmp_path / "t.csv", n=64)
    import_source(tmp_path / "t.csv", table)
    extract_features(table, "raw")
    search(table, "learnt", Query("t/c0"))
    assert len(derived(table)) == 2
    train_metric(table, TrainRequest("bdm", "learnt", settings={"rounds": 3}))
    assert len(derived(table)) == 1


def test_a_full_disk_costs_only_what_is_kept(table, monkeypatch):
    def fail(*args: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fail)
    assert search(table, "learnt", Query("t/c0")).ranked
    assert derived(table) == []


def test_a_library_that_cannot_be_written_is_searched(table, monkeypatch):
    usual = os.access
    monkeypatch.setattr(os, "access", lambda p, mode, **more: usual(p, mode, **more) and not (mode & os.W_OK))
    before = {file: file.read_bytes() for file in table.rglob("*") if file.is_file()}
    assert search(table, "learnt", Query("t/c0")).ranked
    assert {file: file.read_bytes() for file in table.rglob("*") if file.is_file()} == before


def test_only_a_few_libraries_are_kept_open(tmp_path, monkeypatch):
    monkeypatch.setattr(desk_module, "KEPT", 2)
    libraries = [table_library(tmp_path / str(n), n=20) for n in range(3)]
    for library in libraries:
        train_metric(library, TrainRequest("euclidean", "plain"))
    for library in itertools.chain(libraries, libraries):
        assert search(library, "plain", Query("t/c0")).ranked
        assert len(desk_module._desks) <= 2


def test_preparing_can_be_cancelled(table):
    with pytest.raises(Cancelled):
        search(table, "plain", Query("t/c0"), reporter=Listening(cancel_after=-1))
    assert search(table, "plain", Query("t/c0")).ranked


def test_a_metric_file_that_is_gone_or_damaged_is_named(table):
    with Library.open(table) as opened:
        file = opened.metric("plain").file
    data = file.read_bytes()
    file.write_bytes(data[:100])
    with pytest.raises(BadInput, match=r"metric.*damaged.*train the metric again"):
        search(table, "plain", Query("t/c0"))
    file.unlink()
    with pytest.raises(BadInput, match=r"no metric at.*train it again"):
        search(table, "plain", Query("t/c0"))
    file.write_bytes(data)
    assert search(table, "plain", Query("t/c0")).ranked


def test_a_metric_without_coordinates_is_searched_and_explained(tmp_path):
    library = table_library(tmp_path)
    train_metric(library, TrainRequest("metricboost", "votes", settings={"readout": "votes"}))
    asked = Query(case=next(iter(desk_for(library, "votes").case_ids.values())))
    first = search(library, "votes", asked, k=5)
    distances = [case.distance for case in first.ranked]
    assert len(distances) == 5
    assert distances == sorted(distances)
    parts = why(library, Search("votes", asked), first.ranked[3].case_id).groups
    assert sum(part.amount for part in parts) == pytest.approx(distances[3], rel=1e-9, abs=1e-12)
