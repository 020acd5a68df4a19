from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library import feature_sets
from semblance.core.library.feature_checks import feature_damage
from semblance.core.library.feature_chunks import chunk_file
from semblance.core.library.library import Library
from semblance.core.library.records import CHUNK
from semblance.core.library.schema import feature_chunks
from semblance.core.workflows.metrics.metric_exchange import export_metric
from semblance.core.workflows.searches.open_metrics import open_metric
from tests.helpers.libraries import case_rows, fill, make_library, numbers_set, raw, values_of
from tests.helpers.program import run_at_once
from tests.helpers.tables import PLAIN, table_library

TOP = Path(__file__).resolve().parents[4]


@pytest.fixture
def library(tmp_path):
    with Library.open(make_library(tmp_path / "lib", cases=20)) as opened:
        yield opened


def read(library, made, rows=None):
    ids, values = library.features.read(made, rows)
    return ids.tolist(), values


def test_many_rows_are_written_as_whole_chunks(tmp_path):
    with Library.open(make_library(tmp_path / "lib", cases=600)) as library:
        made, rows = numbers_set(library), case_rows(library)
        library.features.write_chunk(made, rows[:10], values_of(rows[:10]))
        assert library.features.write_chunk(made, rows, values_of(rows)) == 590
        chunks = library.features.chunk_rows(made)
        assert [len(chunks[number]) for number in sorted(chunks)] == [10, CHUNK, CHUNK, 590 - 2 * CHUNK]
        assert not any(
            library.features.is_changed(made, n, library.features.chunk_sums(made)) for n in chunks
        )
        ids, values = read(library, made)
        assert ids == rows.tolist()
        np.testing.assert_array_equal(values, values_of(rows))


def test_numbers_come_back_with_their_cases_in_order(library):
    made, rows = numbers_set(library), case_rows(library)
    for part in (rows[12:], rows[3:9], rows[:3]):
        shuffled = np.random.default_rng(0).permutation(part)
        assert library.features.write_chunk(made, shuffled, values_of(shuffled)) == len(part)
    there = np.concatenate([rows[:9], rows[12:]])
    ids, values = read(library, made)
    assert ids == there.tolist() == library.features.cases_of(made).tolist()
    np.testing.assert_array_equal(values, values_of(there))
    assert values.dtype == np.float32
    ids, values = read(library, made, np.array([20, 4, 11, 999]))
    assert ids == [4, 20]
    np.testing.assert_array_equal(values, values_of([4, 20]))
    assert library.features.cases_to_extract(made, images=True).tolist() == rows[9:12].tolist()
    assert library.features.cases_to_extract(made, images=False).tolist() == []


def test_features_without_read_permission_are_not_reported_as_damaged(library, monkeypatch):
    import zarr

    def refuse(*_args, **_named):
        raise PermissionError(13, "Permission denied")

    made, rows = numbers_set(library), case_rows(library)
    library.features.write_chunk(made, rows, values_of(rows))
    monkeypatch.setattr(zarr, "open_array", refuse)
    with pytest.raises(
        BadInput, match=r"1\.zarr\) cannot be read: Permission denied\. Check its permissions"
    ):
        read(library, made)


def test_many_chunks_and_blocks_of_them(library):
    fill(library, range(1000))
    made, rows = numbers_set(library), case_rows(library)
    for start in range(0, 1000, CHUNK):
        part = rows[start : start + CHUNK]
        library.features.write_chunk(made, part, values_of(part))
    library.features.forget([7, 300, 999])
    for chunks in (1, 2, 16):
        blocks = list(library.features.blocks(made, chunks))
        ids = np.concatenate([ids for ids, _ in blocks])
        np.testing.assert_array_equal(np.concatenate([values for _, values in blocks]), values_of(ids))
        assert sorted(ids.tolist()) == [row for row in rows if row not in (7, 300, 999)]
    ids, values = read(library, made, rows[::50])
    np.testing.assert_array_equal(values, values_of(ids))


def test_an_empty_set_reads_empty(library):
    made = numbers_set(library)
    ids, values = read(library, made)
    assert (ids, values.shape, values.dtype) == ([], (0, 3), np.float32)
    assert list(library.features.blocks(made)) == []


def test_a_case_is_counted_once(library):
    made, rows = numbers_set(library), case_rows(library)
    assert library.features.write_chunk(made, rows[:10], values_of(rows[:10])) == 10
    wrong = np.zeros((10, 3), np.float32)
    assert library.features.write_chunk(made, rows[5:15], wrong) == 5
    assert library.features.write_chunk(made, rows[:10], wrong) == 0
    ids, values = read(library, made)
    assert ids == rows[:15].tolist()
    np.testing.assert_array_equal(values[:10], values_of(rows[:10]))


def test_forgotten_cases_wait_again_and_get_new_numbers(library):
    made, other, rows = numbers_set(library), numbers_set(library, "other", 2), case_rows(library)
    library.features.write_chunk(made, rows, values_of(rows))
    library.features.write_chunk(other, rows[:4], values_of(rows[:4], 2))
    library.features.forget([2, 5])
    library.features.forget([])
    assert library.features.cases_to_extract(made, images=True).tolist() == [2, 5]
    assert library.features.cases_of(other).tolist() == [1, 3, 4]
    again = np.array([2, 5])
    library.features.write_chunk(made, again, np.full((2, 3), -1, np.float32))
    ids, values = read(library, made)
    assert ids == rows.tolist()
    assert values[[1, 4]].tolist() == [[-1] * 3] * 2
    np.testing.assert_array_equal(values[5:], values_of(rows[5:]))


def test_cases_that_changed_while_they_were_read_are_left_out(library):
    made, rows = numbers_set(library), case_rows(library)[:4]
    contents = [f"c{n}" for n in range(4)]
    fill(library, [1], content="new ")
    library.catalogue.remove(library.catalogue.sources()[0], ["3.png"], ["s/3.png"])
    assert library.features.write_chunk(made, rows, values_of(rows), [(4, "c3", "gone")], contents) == 2
    assert library.features.cases_of(made).tolist() == [1, 3]
    assert library.features.failures(made) == []


def test_failures_are_cached_until_the_case_shows_something_else(library):
    made, rows = numbers_set(library), case_rows(library)
    nothing = np.empty((0, 3), np.float32)
    library.features.write_chunk(made, rows[:0], nothing, [(1, "c0", "cut off"), (2, "", "disk away")])
    assert library.features.failures(made) == [("s/0.png", "cut off"), ("s/1.png", "disk away")]
    assert library.features.cases_to_extract(made, images=True).tolist() == rows[1:].tolist()
    fill(library, [0], content="repaired ")
    assert library.features.failures(made) == [("s/1.png", "disk away")]
    assert library.features.cases_to_extract(made, images=True).tolist() == rows.tolist()
    library.features.write_chunk(made, rows[:2], values_of(rows[:2]))
    assert library.features.failures(made) == []


def test_sets_are_made_once_and_never_mixed(library):
    first = numbers_set(library)
    assert numbers_set(library) == first
    assert first.groups == ("group 0", "group 0", "group 1")
    with pytest.raises(
        BadArguments, match=r"'made up' has another extractor or other settings \(gabor 1\).*--name"
    ):
        numbers_set(library, width=4)
    with pytest.raises(BadArguments, match=r"another extractor or other settings"):
        library.features.make("made up", "gabor", 2, {}, first.columns, dtype="float32")
    assert [found.name for found in library.features.all()] == ["made up"]


def test_the_name_of_a_feature_set_is_needed_only_where_there_are_several(library):
    with pytest.raises(BadInput, match=r"has no features yet.*semblance features LIB --extractor gabor"):
        library.features.get(None)
    first = numbers_set(library)
    assert library.features.get(None) == first
    numbers_set(library, "second")
    with pytest.raises(BadArguments, match=r"several feature sets.*--features: made up, second"):
        library.features.get(None)
    with pytest.raises(BadArguments, match=r"no feature set 'third'.*There are: made up, second"):
        library.features.get("third")
    assert library.features.get("second").name == "second"


def test_a_left_over_store_is_replaced(library):
    """One whose maker was killed before the catalogue knew of it."""
    store = library.location / "features" / "1.zarr"
    store.mkdir()
    (store / "zarr.json").write_text("half")
    made, rows = numbers_set(library), case_rows(library)
    library.features.write_chunk(made, rows, values_of(rows))
    assert read(library, made)[0] == rows.tolist()


@pytest.mark.parametrize("damage", ["no store", "no chunk", "cut chunk", "cut description", "shorter"])
def test_lost_or_damaged_numbers_are_named_never_invented(library, damage):
    made, rows = numbers_set(library), case_rows(library)
    library.features.write_chunk(made, rows[:10], values_of(rows[:10]))
    library.features.write_chunk(made, rows[10:], values_of(rows[10:]))
    store = library.location / "features" / f"{made.id}.zarr"
    chunk, description = store / "c" / "1" / "0", store / "zarr.json"
    if damage == "no store":
        store.rename(store.with_suffix(".gone"))
    elif damage == "no chunk":
        chunk.unlink()
    elif damage == "cut chunk":
        chunk.write_bytes(chunk.read_bytes()[:20])
    elif damage == "cut description":
        description.write_text(description.read_text()[:50])
    else:
        description.write_text(description.read_text().replace(str(2 * CHUNK), str(CHUNK)))
    says = r"features of the feature set 'made up' \(.*1\.zarr\) are lost or damaged\. The rest.*doctor LIB"
    with pytest.raises(BadInput, match=says):
        library.features.read(made)
    with pytest.raises(BadInput, match=says):
        list(library.features.blocks(made))
    with pytest.raises(BadInput, match=says):
        library.features.read(made, rows[15:16])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("damage", ["changed places", "an older one", "gone"])
def test_whole_chunks_that_are_not_the_ones_written_are_named(library, damage, dtype):
    made, rows = numbers_set(library, dtype=dtype), case_rows(library)
    for part in (rows[:10], rows[10:]):
        library.features.write_chunk(made, part, values_of(part))
    one, two = (chunk_file(library.features.store_of(made), number) for number in (0, 1))
    whole = one.read_bytes(), two.read_bytes()
    if damage == "changed places":
        one.write_bytes(whole[1])
        two.write_bytes(whole[0])
    elif damage == "an older one":
        two.write_bytes(whole[0])
    else:
        two.unlink()
    for requested in (None, rows[12:13]):
        with pytest.raises(BadInput, match=r"'made up' .*lost or damaged"):
            read(library, made, requested)
    with pytest.raises(BadInput, match=r"'made up' .*lost or damaged"):
        list(library.features.blocks(made))
    state = feature_damage(library.features, made)
    assert state.damaged == ((0, 1) if damage == "changed places" else (1,))
    if damage != "changed places":
        assert read(library, made, rows[:10])[0] == rows[:10].tolist()


def test_a_chunk_the_disk_cannot_read_is_damaged_and_the_others_are_checked(library, monkeypatch):
    made, rows = numbers_set(library), case_rows(library)
    for part in (rows[:10], rows[10:]):
        library.features.write_chunk(made, part, values_of(part))
    real = feature_sets.chunk_checksum

    def fail(store, number):
        if number == 0:
            raise OSError(5, "Input/output error")
        return real(store, number)

    monkeypatch.setattr(feature_sets, "chunk_checksum", fail)
    assert feature_damage(library.features, made).damaged == (0,)
    with pytest.raises(BadInput, match=r"cannot be read: Input/output error"):
        read(library, made)


def test_chunks_are_read_whose_sums_a_recovered_catalogue_lost(library):
    made, rows = numbers_set(library), case_rows(library)
    library.features.write_chunk(made, rows, values_of(rows))
    with library.catalogue.transaction() as connection:
        connection.execute(feature_chunks.update().values(file_sum=None))
    np.testing.assert_array_equal(read(library, made)[1], values_of(rows))
    assert feature_damage(library.features, made).damaged == ()


def test_rows_of_tables_may_miss_every_value(library):
    made, rows = numbers_set(library, dtype="float64"), case_rows(library)
    library.features.write_chunk(made, rows, np.full((20, 3), np.nan))
    assert np.isnan(read(library, made)[1]).all()
    assert feature_damage(library.features, made).damaged == ()


def test_programs_that_write_at_once_leave_every_case_exactly_once(library):
    code = (
        "import sys\nimport numpy as np\nfrom pathlib import Path\n"
        "from semblance.core.library.library import Library\n"
        "from tests.helpers.libraries import numbers_set, case_rows, values_of\n"
        "with Library.open(Path(sys.argv[1])) as library:\n"
        "    sys.stdin.readline()\n"
        "    made, rows = numbers_set(library), case_rows(library)\n"
        "    rows = np.random.default_rng(int(sys.argv[2])).permutation(rows)\n"
        "    for start in range(0, len(rows), 30):\n"
        "        part = rows[start : start + 30]\n"
        "        library.features.write_chunk(made, part, values_of(part))\n"
    )
    fill(library, range(600))
    run_at_once(code, *((library.location, seed) for seed in range(2)))
    made, rows = numbers_set(library), case_rows(library)
    counted = np.concatenate(list(library.features.chunk_rows(made).values()))
    assert sorted(counted.tolist()) == rows.tolist()
    ids, values = read(library, made)
    np.testing.assert_array_equal(values, values_of(ids))


def test_a_store_of_another_form_is_not_read(library):
    """An older form of zarr can ask for objects, which would be unpickled; blocks may be any size."""
    import json
    import shutil

    import zarr

    made, rows = numbers_set(library), case_rows(library)
    library.features.write_chunk(made, rows, values_of(rows))
    store = library.features.store_of(made)
    for form, chunks, dtype in (
        (2, (CHUNK, 3), "<f4"),
        (3, (1 << 20, 3), "float32"),
        (3, (CHUNK, 3), "int32"),
    ):
        shutil.rmtree(store)
        zarr.create_array(store, shape=(CHUNK, 3), chunks=chunks, dtype=dtype, zarr_format=form)
        with pytest.raises(BadInput, match=r"lost or damaged"):
            library.features.read(made)
    shutil.rmtree(store)
    store.mkdir()
    description = {
        "zarr_format": 2, "shape": [CHUNK, 3], "chunks": [CHUNK, 3], "dtype": "|O", "compressor": None,
        "fill_value": None, "order": "C", "filters": [{"id": "pickle", "protocol": 5}],
    }  # fmt: skip
    (store / ".zarray").write_text(json.dumps(description))
    with pytest.raises(BadInput, match=r"lost or damaged"):
        library.features.read(made)


def test_a_metric_of_a_feature_set_that_is_not_there_is_named(tmp_path):
    path = table_library(tmp_path, metrics=[PLAIN])
    with raw(path) as catalogue:
        catalogue.execute("UPDATE metrics SET feature_set = 9")
    for use in (
        lambda: open_metric(path, "plain"),
        lambda: export_metric(path, "plain", tmp_path / "out.semblance-metric"),
    ):
        with pytest.raises(
            BadInput, match=r"'plain' belongs to a feature set that .*catalogue\.sqlite"
        ) as error:
            use()
        assert "doctor LIB --repair" in error.value.hint
