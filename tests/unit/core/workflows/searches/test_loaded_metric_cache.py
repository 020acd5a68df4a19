from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library import catalogue
from semblance.core.library.library import Library
from semblance.core.library.records import DERIVED
from semblance.core.retrieval.index import Index
from semblance.core.searches.query import Query
from semblance.core.searches.search import Search
from semblance.core.tasks import Cancelled
from semblance.core.workflows.features import derived_arrays
from semblance.core.workflows.features.derived_arrays import save_arrays
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.metrics.train_metric import train_metric
from semblance.core.workflows.metrics.train_request import TrainRequest
from semblance.core.workflows.searches import embedding_cache, loaded_metric
from semblance.core.workflows.searches import open_metrics as open_metrics_module
from semblance.core.workflows.searches.embedding_cache import load_embedding
from semblance.core.workflows.searches.explain_distance import explain_distance
from semblance.core.workflows.searches.open_metrics import close_loaded_metrics, open_metric, prepare_searches
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.ranked_searches import ids
from tests.helpers.recording_reporter import RecordingReporter
from tests.helpers.tables import table_library, write_table

TOP = Path(__file__).resolve().parents[4]


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


def test_the_details_of_a_case_are_read_once(table, monkeypatch):
    before = nearest_cases(table, "plain", Query("t/c0"), k=20)
    loaded = open_metric(table, "plain")
    requested = []
    details = loaded.library.catalogue.details
    monkeypatch.setattr(
        loaded.library.catalogue, "details", lambda rows: requested.append(rows) or details(rows)
    )
    assert nearest_cases(table, "plain", Query("t/c0"), k=20).ranked == before.ranked
    assert requested == []
    monkeypatch.setattr("semblance.core.workflows.searches.loaded_metric.MAX_DETAILS", 25)
    assert len(nearest_cases(table, "plain", Query("t/c0"), k=50).ranked) == 50
    assert nearest_cases(table, "plain", Query("t/c0"), k=20).ranked == before.ranked
    assert requested


def test_changes_by_another_program_are_noticed(table, tmp_path):
    assert "t/c60" not in ids(nearest_cases(table, "plain", Query("t/c0"), k=100))
    loaded = open_metric(table, "plain")
    assert open_metric(table, "plain") is loaded
    write_table(tmp_path / "t.csv", n=64)
    elsewhere(
        "from semblance.core.workflows.library.import_source import import_source\n"
        "from semblance.core.workflows.features.extract_features import extract_features\n"
        "import_source(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "extract_features(Path(sys.argv[2]), 'raw')\n",
        tmp_path / "t.csv",
        table,
    )
    assert "t/c60" in ids(nearest_cases(table, "plain", Query("t/c0"), k=100))
    assert open_metric(table, "plain") is not loaded
    elsewhere(
        "from semblance.core.workflows.metrics.train_metric import train_metric\n"
        "from semblance.core.workflows.metrics.train_request import TrainRequest\n"
        "train_metric(Path(sys.argv[1]), TrainRequest('bdm', 'plain', settings={'rounds': 5}))\n",
        table,
    )
    distances = [case.distance for case in nearest_cases(table, "plain", Query("t/c0"), k=100).ranked]
    assert len(set(distances)) < 40  # five bits tell few distances apart


def test_another_library_in_the_same_place_is_noticed(table, tmp_path):
    nearest_cases(table, "plain", Query("t/c0"))
    shutil.rmtree(table)
    with pytest.raises(BadInput, match="does not exist"):
        nearest_cases(table, "plain", Query("t/c0"))
    import_source(write_table(tmp_path / "u.csv", n=20), table)
    extract_features(table, "raw")
    train_metric(table, TrainRequest("euclidean", "plain"))
    assert len(nearest_cases(table, "plain", Query("u/c0"), k=100).ranked) == 18


def derived(library: Path) -> list[Path]:
    return sorted((library / DERIVED).iterdir())


def test_a_later_start_reads_the_stored_results(table, monkeypatch):
    before = nearest_cases(table, "learnt", Query("t/c0"))
    close_loaded_metrics()
    (file,) = derived(table)
    monkeypatch.setattr(embedding_cache, "_embedded", None)
    assert nearest_cases(table, "learnt", Query("t/c0")).ranked == before.ranked
    assert derived(table) == [file]


def test_the_first_search_of_a_new_metric_of_many_cases_computes_nothing(table, monkeypatch):
    expected = nearest_cases(table, "learnt", Query("t/c0"))
    close_loaded_metrics()
    for file in derived(table):
        file.unlink()
    prepare_searches(table, "learnt")
    assert derived(table) == [], "few cases are as fast without"
    for module in (embedding_cache, loaded_metric, open_metrics_module):
        monkeypatch.setattr(module, "FEWEST_KEPT", 1)
    monkeypatch.setattr(catalogue, "_SETTLED_S", -1e9)
    prepare_searches(table, "learnt")
    monkeypatch.setattr(embedding_cache, "_embedded", None)
    monkeypatch.setattr(loaded_metric.Neighbourhoods, "sampled", None)
    monkeypatch.setattr(loaded_metric, "IdentityIndex", None)
    assert nearest_cases(table, "learnt", Query("t/c0")).ranked == expected.ranked


def test_a_later_start_in_a_large_library_reads_the_index_and_who_is_related_to_training_cases(
    table, monkeypatch
):
    for module in (embedding_cache, loaded_metric):
        monkeypatch.setattr(module, "FEWEST_KEPT", 1)
    monkeypatch.setattr(catalogue, "_SETTLED_S", -1e9)
    whole = nearest_cases(table, "learnt", Query("t/c0"))
    trained = open_metric(table, "learnt").trained_cases
    assert 0 < len(trained) < 60
    close_loaded_metrics()
    with monkeypatch.context() as patched:
        patched.setattr(Index, "_prepare", lambda _: pytest.fail("prepared again"))
        patched.setattr(loaded_metric, "IdentityIndex", None)
        again = nearest_cases(table, "learnt", Query("t/c0"))
        assert np.array_equal(open_metric(table, "learnt").trained_cases, trained)
    assert (again.ranked, again.vote, again.match) == (whole.ranked, whole.vote, whole.match)
    close_loaded_metrics()
    with Library.open(table) as opened, opened.catalogue.transaction() as connection:
        connection.exec_driver_sql("UPDATE cases SET patient = 'one'")
    assert len(open_metric(table, "learnt").trained_cases) == 60


@pytest.mark.parametrize("damage", ["cut", "empty", "words", "one byte", "other arrays", "a folder", "gone"])
def test_damage_to_what_was_worked_out_is_repaired(table, damage):
    before = nearest_cases(table, "learnt", Query("t/c0"))
    close_loaded_metrics()
    (cached,) = derived(table)
    data = bytearray(cached.read_bytes())
    cached.unlink()
    if damage == "cut":
        cached.write_bytes(data[: len(data) // 2])
    elif damage == "empty":
        cached.write_bytes(b"")
    elif damage == "words":
        cached.write_bytes(b"words " * 100)
    elif damage == "one byte":
        data[len(data) // 2] ^= 0xFF
        cached.write_bytes(data)
    elif damage == "other arrays":
        save_arrays(cached, {"rows": np.arange(3), "embedding": np.zeros(3), "ties": np.zeros((3, 0))})
    elif damage == "a folder":
        cached.mkdir()
    else:
        shutil.rmtree(table / DERIVED)
    assert nearest_cases(table, "learnt", Query("t/c0")).ranked == before.ranked
    if damage != "a folder":
        assert derived(table) == [cached]
        repaired = load_embedding(cached)
        assert repaired is not None
        assert len(repaired.rows) == 60


def test_outdated_values_are_deleted(table, tmp_path):
    nearest_cases(table, "learnt", Query("t/c0"))
    nearest_cases(table, "plain", Query("t/c0"))
    assert len(derived(table)) == 2
    write_table(tmp_path / "t.csv", n=64)
    import_source(tmp_path / "t.csv", table)
    extract_features(table, "raw")
    nearest_cases(table, "learnt", Query("t/c0"))
    assert len(derived(table)) == 2
    of_no_metric = {table / DERIVED / name for name in ("3.places", f"{'a' * 32}.slices")}
    for file in of_no_metric:
        file.write_bytes(b"places")
    train_metric(table, TrainRequest("bdm", "learnt", settings={"rounds": 3}))
    assert len(derived(table)) == 3
    assert of_no_metric < set(derived(table))


def test_with_a_full_disk_only_the_cache_is_not_saved(table, monkeypatch):
    def fail(*args: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(derived_arrays, "replacing", fail)
    assert nearest_cases(table, "learnt", Query("t/c0")).ranked
    assert derived(table) == []


def test_a_library_that_cannot_be_written_is_searched(table, monkeypatch):
    usual = os.access
    monkeypatch.setattr(os, "access", lambda p, mode, **more: usual(p, mode, **more) and not (mode & os.W_OK))
    before = {file: file.read_bytes() for file in table.rglob("*") if file.is_file()}
    assert nearest_cases(table, "learnt", Query("t/c0")).ranked
    assert {file: file.read_bytes() for file in table.rglob("*") if file.is_file()} == before


def test_only_a_few_libraries_stay_open(tmp_path, monkeypatch):
    monkeypatch.setattr(open_metrics_module, "MAX_OPEN", 2)
    libraries = [table_library(tmp_path / str(n), n=20) for n in range(3)]
    for library in libraries:
        train_metric(library, TrainRequest("euclidean", "plain"))
    for library in itertools.chain(libraries, libraries):
        assert nearest_cases(library, "plain", Query("t/c0")).ranked
        assert len(open_metrics_module._open_metrics) <= 2


def test_preparing_can_be_cancelled(table):
    with pytest.raises(Cancelled):
        nearest_cases(table, "plain", Query("t/c0"), reporter=RecordingReporter(cancel_after=-1))
    assert nearest_cases(table, "plain", Query("t/c0")).ranked


def test_a_metric_file_that_is_gone_or_damaged_is_named(table):
    with Library.open(table) as opened:
        file = opened.metric("plain").file
    data = file.read_bytes()
    file.write_bytes(data[:100])
    with pytest.raises(BadInput, match=r"metric.*damaged.*train the metric again"):
        nearest_cases(table, "plain", Query("t/c0"))
    file.unlink()
    with pytest.raises(BadInput, match=r"no metric at.*train it again"):
        nearest_cases(table, "plain", Query("t/c0"))
    file.write_bytes(data)
    assert nearest_cases(table, "plain", Query("t/c0")).ranked


def test_a_metric_without_coordinates_is_searched_and_explained(tmp_path):
    library = table_library(
        tmp_path, metrics=(TrainRequest("metricboost", "votes", settings={"readout": "votes"}),)
    )
    query = Query(case=open_metric(library, "votes").cases.id_of(1))
    first = nearest_cases(library, "votes", query, k=5)
    distances = [case.distance for case in first.ranked]
    assert len(distances) == 5
    assert distances == sorted(distances)
    parts = explain_distance(library, Search("votes", query), first.ranked[3].case_id).groups
    assert sum(part.amount for part in parts) == pytest.approx(distances[3], rel=1e-9, abs=1e-12)
