"""Embeddings of other programs in every layout, and a library's own out again to the bit."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.library.library import Library
from semblance.core.library.open_library import open_library
from semblance.core.workflows.features.exchange_features import (
    add_features,
    export_features,
    import_features,
    read_vectors,
)
from semblance.features import read_features
from tests.helpers.libraries import case_rows, fill, make_library, numbers_set, values_of

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N, WIDTH = 6, 5
IDS = [f"s/{n}.png" for n in range(N)]
PATHS = [f"/images/s/{n}.png" for n in range(N)]
VECTORS = np.random.default_rng(0).normal(size=(N, WIDTH)).astype(np.float32)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return make_library(tmp_path_factory.mktemp("made") / "lib", N)


def npy_beside(file, ids, vectors, beside):
    np.save(file, vectors)
    beside(file, ids)


def text_ids(file, ids):
    file.with_name(f"{file.stem}_ids.txt").write_text("\n".join(ids) + "\n", encoding="utf-8")


def json_ids(file, ids):
    file.with_name("ids.json").write_text(json.dumps(ids), encoding="utf-8")


def csv_ids(file, ids, column):
    with file.with_suffix(".csv").open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["n", column], *enumerate(ids)])


def array_ids(file, ids):
    np.save(file.with_name(f"{file.stem}.ids.npy"), np.array(ids))


def wide_csv(file, ids, vectors, column, delimiter=","):
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out, delimiter=delimiter)
        writer.writerow([column, *(f"f{n}" for n in range(WIDTH)), "note", "label"])
        for one, row in zip(ids, vectors, strict=True):
            numbers = [repr(float(number)) for number in row]
            if delimiter != ",":
                numbers = [number.replace(".", ",") for number in numbers]
            writer.writerow([one, *numbers, "free text", 1])


def list_parquet(file, ids, vectors, column, kind):
    lists = pa.array(vectors.tolist(), kind)
    # A label of whole numbers, as Hugging Face writes it, and another column of text.
    table = pa.table({"label": [1] * len(ids), column: ids, "embedding": lists, "text": ["a"] * len(ids)})
    parquet.write_table(table, file, row_group_size=2)


def wide_parquet(file, ids, vectors, column):
    columns = {f"f{n}": vectors[:, n] for n in range(WIDTH)}
    parquet.write_table(pa.table({column: ids, **columns, "label": [1] * len(ids)}), file)


def hugging_face_images(file, ids, vectors):
    images = pa.array([{"bytes": b"", "path": one} for one in ids])
    parquet.write_table(pa.table({"image": images, "embeddings": pa.array(vectors.tolist())}), file)


def data_frame(file, ids, vectors):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(vectors, index=ids, columns=[f"f{n}" for n in range(WIDTH)])
    frame.to_csv(file) if file.suffix == ".csv" else frame.to_parquet(file)


LAYOUTS = {
    "npy, text": ("f.npy", lambda f, i, v, c: npy_beside(f, i, v, text_ids)),
    "npy, json": ("f.npy", lambda f, i, v, c: npy_beside(f, i, v, json_ids)),
    "npy, array": ("f.npy", lambda f, i, v, c: npy_beside(f, i, v, array_ids)),
    "npy, csv": ("f.npy", lambda f, i, v, c: npy_beside(f, i, v, lambda f, i: csv_ids(f, i, c))),
    "npy, Fortran": ("f.npy", lambda f, i, v, c: npy_beside(f, i, np.asfortranarray(v), text_ids)),
    "npy, big endian": ("f.npy", lambda f, i, v, c: npy_beside(f, i, v.astype(">f4"), text_ids)),
    "npy, double": ("f.npy", lambda f, i, v, c: npy_beside(f, i, v.astype(np.float64), text_ids)),
    "npz": ("f.npz", lambda f, i, v, c: np.savez(f, **{"features": v, c: np.array(i)})),
    "npz, packed": ("f.npz", lambda f, i, v, c: np.savez_compressed(f, **{"X": v, c: np.array(i)})),
    "npz, Fortran": ("f.npz", lambda f, i, v, c: np.savez(f, **{"e": np.asfortranarray(v), c: np.array(i)})),
    "csv": ("f.csv", wide_csv),
    "csv, comma": ("f.csv", lambda f, i, v, c: wide_csv(f, i, v, c, ";")),
    "tsv": ("f.tsv", lambda f, i, v, c: wide_csv(f, i, v, c, "\t")),
    "parquet, wide": ("f.parquet", wide_parquet),
    "parquet, list": ("f.parquet", lambda f, i, v, c: list_parquet(f, i, v, c, pa.list_(pa.float32()))),
    "parquet, large": ("f.parquet", lambda f, i, v, c: list_parquet(f, i, v, c, pa.large_list(pa.float64()))),
    "parquet, fixed": (
        "f.parquet",
        lambda f, i, v, c: list_parquet(f, i, v, c, pa.list_(pa.float32(), WIDTH)),
    ),
}


@pytest.mark.parametrize("key", ["case_id", "path"])
def test_every_layout_is_read_to_the_bit(tmp_path, key):
    order = np.random.default_rng(1).permutation(N)
    for number, (layout, (name, write)) in enumerate(LAYOUTS.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        named = IDS if key == "case_id" else PATHS
        write(folder / name, [named[n] for n in order], VECTORS[order], key)
        read = read_vectors(folder / name, key)
        assert list(read.ids) == [named[n] for n in order], layout
        np.testing.assert_array_equal(read.vectors, VECTORS[order], err_msg=layout)


def test_frames_of_pandas_and_images_of_hugging_face_are_read(library, tmp_path):
    for name in ("f.csv", "f.parquet"):
        data_frame(tmp_path / name, IDS, VECTORS)
        import_features(library, tmp_path / name, f"frame {name}")
        np.testing.assert_array_equal(read_features(library, f"frame {name}").array, VECTORS)
    hugging_face_images(tmp_path / "hf.parquet", [f"{n}.png" for n in range(N)], VECTORS)
    import_features(library, tmp_path / "hf.parquet", "hf", "path")
    np.testing.assert_array_equal(read_features(library, "hf").array, VECTORS)


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".csv"])
def test_what_is_exported_is_read_again_to_the_bit(library, tmp_path, suffix):
    extremes = VECTORS.copy()
    extremes[0] = [np.finfo(np.float32).max, np.finfo(np.float32).tiny, 1e-45, -0.0, 1 / 3]
    add_features(library, f"own{suffix}", extremes, IDS, names=["a", "b,c", "=d", "e", "f"])
    done = export_features(library, f"own{suffix}", tmp_path / f"out{suffix}")
    assert (done.cases, done.sealed, done.n_features) == (N, 0, WIDTH)
    import_features(library, tmp_path / f"out{suffix}", f"back{suffix}")
    back = read_features(library, f"back{suffix}")
    assert back.array.tobytes() == extremes.tobytes()
    assert (back.case_ids, back.names) == (tuple(IDS), ("a", "b,c", "=d", "e", "f"))


def test_cases_without_a_row_have_no_features_and_the_same_again_adds_what_is_new(tmp_path):
    library = make_library(tmp_path / "lib", 4)
    first = add_features(library, "mine", VECTORS[:2], IDS[:2], origin="a model")
    assert (first.added, first.unchanged, first.without_features) == (2, 0, 2)
    again = add_features(library, "mine", VECTORS[:2], IDS[:2])
    assert (again.added, again.unchanged) == (0, 2)
    with pytest.raises(BadArguments, match="holds something else"):
        add_features(library, "mine", VECTORS[1:3], IDS[:2])
    with open_library(library, writable=True) as opened:
        own = numbers_set(opened)
        opened.features.write_chunk(own, case_rows(opened), values_of(case_rows(opened)))
    with pytest.raises(BadArguments, match="holds something else"):
        add_features(library, "made up", VECTORS[:2], IDS[:2])


def test_a_file_adds_the_cases_that_have_come_since(tmp_path):
    library = make_library(tmp_path / "lib", 6)
    np.savez(tmp_path / "f.npz", features=VECTORS, case_id=np.array(IDS))
    import_features(library, tmp_path / "f.npz", "mine")
    with open_library(library, writable=True) as opened:
        # As an image that has changed, or a damaged chunk that was cleared.
        opened.features.forget(case_rows(opened)[:2])
    done = import_features(library, tmp_path / "f.npz", "mine")
    assert (done.added, done.unchanged, done.without_features) == (2, 4, 0)
    np.testing.assert_array_equal(read_features(library, "mine").array, VECTORS)


def test_wrong_ids_are_listed_and_nothing_is_written(library):
    for ids, key, says in (
        ([*IDS[:4], "s/77.png", "s/88.png"], "case_id", r"2 of 6 ids .*: s/77.png, s/88.png\."),
        ([*IDS[:5], IDS[0]], "case_id", r"2 rows .*: s/0.png\."),
        ([*PATHS[:5], "77.png"], "path", r"1 of 6 paths .*: 77.png\."),
        (["0.png", *PATHS[:5]], "path", r"2 rows .*: /images/s/0.png, 0.png\."),
        (PATHS[:5], "case_id", "5 ids for the 6 vectors"),
    ):
        with pytest.raises(BadInput, match=says):
            add_features(library, "wrong", VECTORS, ids, key=key)
    with pytest.raises(BadArguments, match="no key 'name'"):
        add_features(library, "wrong", VECTORS, IDS, key="name")
    with open_library(library) as opened:
        assert "wrong" not in [one.name for one in opened.features.all()]


def test_a_path_fits_whole_by_its_end_or_by_that_of_the_source(tmp_path):
    with Library.create(tmp_path / "lib") as library:
        fill(library, range(3), source="s")
        fill(library, range(3), source="t", content="d")
    ends = [
        "/images/s/0.png",
        "s/1.png",
        "/elsewhere/s/2.png",
        "t\\0.png",
        "file:///images/t/1.png",
        "t/2.png",
    ]
    done = add_features(tmp_path / "lib", "mine", VECTORS, ends, key="path")
    assert done.added == 6
    with pytest.raises(BadInput, match=r"1 paths .* of several cases .*: 1.png\."):
        add_features(tmp_path / "lib", "other", VECTORS[:1], ["1.png"], key="path")


def test_sealed_cases_are_left_out_of_an_export(tmp_path):
    from semblance.core.workflows.metrics.vault import seal_share

    library = make_library(tmp_path / "lib", 40)
    ids = [f"s/{n}.png" for n in range(40)]
    add_features(library, "mine", np.random.default_rng(2).normal(size=(40, 3)), ids)
    sealed = seal_share(library, 0.2).cases
    done = export_features(library, "mine", tmp_path / "f.npz")
    assert sealed > 0
    assert (done.cases, done.sealed) == (40 - sealed, sealed)
    assert len(np.load(tmp_path / "f.npz")["case_id"]) == 40 - sealed


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A library of images with imported features and a metric on them."""
    from semblance.core.workflows.library.import_source import import_source
    from semblance.core.workflows.metrics.train_metric import train_metric
    from semblance.core.workflows.metrics.train_request import TrainRequest
    from tests.helpers.images import striped_folder

    folder = tmp_path_factory.mktemp("searched")
    import_source(striped_folder(folder / "images", n=24), folder / "lib")
    with open_library(folder / "lib") as opened:
        ids = [one.case_id for one in opened.catalogue.all_cases()]
    vectors = np.random.default_rng(3).normal(size=(len(ids), 6)).astype(np.float32)
    add_features(folder / "lib", "dinov2", vectors[:-1], ids[:-1], origin="DINOv2 ViT-B/14")
    made = train_metric(folder / "lib", TrainRequest("euclidean", "mine", features="dinov2"))
    return folder, ids, vectors, made


def test_the_card_says_where_the_features_came_from_and_the_steps_are_those_of_embeddings(searched):
    _, _, _, made = searched
    assert "DINOv2 ViT-B/14" in made.card["notes"][0]
    assert "1 case of the library has none" in made.card["notes"][0]
    assert made.card["steps"][0] == "l2"


def test_a_given_vector_ranks_as_the_case_that_has_it(searched):
    from semblance.core.searches.query import Query
    from semblance.core.workflows.searches.rank_cases import nearest_cases

    folder, ids, vectors, _ = searched
    given = tuple(vectors[4].tolist())
    plain = {"group_duplicates": False, "hide_same_patient": False}
    of_case = nearest_cases(folder / "lib", "mine", Query(ids[4]), k=5, **plain)
    alone = nearest_cases(folder / "lib", "mine", Query(vector=given), k=6, **plain)
    assert [one.case_id for one in alone.ranked] == [ids[4], *(one.case_id for one in of_case.ranked)]
    again = Query.from_json(json.loads(json.dumps(Query(vector=given).to_json())))
    assert again == Query(vector=given)
    image = next(iter((folder / "images").rglob("*.png")))
    with pytest.raises(BadInput, match=r"'dinov2' were imported.*--vector FILE.*onnx"):
        nearest_cases(folder / "lib", "mine", Query(image=image))
    beside = nearest_cases(folder / "lib", "mine", Query(image=image, vector=given), k=24)
    assert beside.ranked
    with pytest.raises(BadInput, match="not in the file that was imported"):
        nearest_cases(folder / "lib", "mine", Query(ids[-1]))
    for query, says in (
        (Query(vector=given[:3]), "3 numbers, and the features of the metric have 6"),
        (Query(), "one query"),
        (Query(ids[0], image), "one query"),
    ):
        with pytest.raises((BadInput, BadArguments), match=says):
            nearest_cases(folder / "lib", "mine", query)
    with pytest.raises(BadArguments, match="as a whole, not by place"):
        nearest_cases(folder / "lib", "mine", Query(vector=given), match="place")


def test_a_search_by_vector_is_saved_marked_and_reported(searched, tmp_path):
    from semblance.core.reports.options import ReportOptions
    from semblance.core.searches.query import Query
    from semblance.core.searches.search import Search
    from semblance.core.workflows.reports.embedded_search import reopen_report
    from semblance.core.workflows.reports.write_reports import write_search_report
    from semblance.core.workflows.searches.rank_cases import nearest_cases
    from semblance.core.workflows.searches.saved_searches import reopen, save_result

    folder, ids, vectors, _ = searched
    query = Query(vector=tuple(vectors[4].tolist()))
    found = nearest_cases(folder / "lib", "mine", query, k=5, like=(ids[0],), unlike=(ids[4],))
    assert found.ranked[-1].case_id != ids[4]
    assert (found.marks.liked, found.marks.disliked) == ((ids[0],), (ids[4],))
    save_result(folder / "lib", "by vector", nearest_cases(folder / "lib", "mine", query, k=5))
    opened = reopen(folder / "lib", "by vector")
    assert opened.ranked_search is not None
    assert (opened.search.query, opened.ranked_search.result.ranked[0].case_id) == (query, ids[4])
    for suffix in (".json", ".html", ".csv"):
        file = write_search_report(
            folder / "lib", Search("mine", query), tmp_path / f"r{suffix}", ReportOptions()
        )
        assert "a given vector" in file.read_text(encoding="utf-8"), suffix
    assert reopen_report(folder / "lib", tmp_path / "r.json").query == query


def test_a_metric_goes_where_features_are_called_alike_and_ranks_without_its_learner(searched, tmp_path):
    import dataclasses

    from semblance.core.metrics.metric import load_metric
    from semblance.core.searches.query import Query
    from semblance.core.workflows.metrics.metric_exchange import export_metric, import_metric
    from semblance.core.workflows.reports.metric_cards import document_of
    from semblance.core.workflows.searches.rank_cases import nearest_cases

    folder = searched[0]
    file = export_metric(folder / "lib", "mine", tmp_path / "m.semblance-metric")
    assert import_metric(folder / "lib", file, "twin") == "twin"
    other = make_library(tmp_path / "other", N)
    with pytest.raises(BadInput, match=r"6 imported features \(DINOv2 ViT-B/14.*import-features"):
        import_metric(other, file)
    add_features(other, "dinov2", np.random.default_rng(5).normal(size=(N, 6)), IDS)
    name = import_metric(other, file)
    with open_library(other) as opened:
        assert "That one model made both is not checked" in opened.metric(name).card["notes"][-1]
    assert nearest_cases(other, name, Query(IDS[0])).ranked
    with open_library(folder / "lib") as opened:
        stored = load_metric(opened.metric("mine").file)
    card = dataclasses.replace(stored.card, learner="my_learner")
    dataclasses.replace(stored, card=card).save(tmp_path / "own.metric")
    called = import_metric(other, tmp_path / "own.metric")
    assert nearest_cases(other, called, Query(IDS[0])).ranked
    with open_library(other) as opened:
        record = opened.metric(called)
        document = document_of(called, record.card, record.scores)
    assert any("my_learner (learner unknown)" in text for _, text in document.lines())
    assert "Learner unknown: this program does not have 'my_learner'" in json.dumps(document.values)


def test_imported_features_stay_with_a_library_on_a_server_and_home_again(searched, tmp_path, database):
    import semblance as sb
    from semblance.core.library.location import library_location
    from semblance.core.searches.query import Query
    from semblance.core.workflows.library.edit_cases import remove_cases
    from semblance.core.workflows.library.local_copies import renew_copy
    from semblance.core.workflows.library.undo_edits import undo
    from semblance.core.workflows.maintenance.backup import back_up, restore
    from semblance.core.workflows.maintenance.move_library import move_library
    from semblance.core.workflows.maintenance.verify_library import verify_library
    from semblance.core.workflows.searches.rank_cases import nearest_cases

    folder, ids, vectors, _ = searched
    server = library_location(database)
    move_library(folder / "lib", server)
    with sb.open_library(database, progress=False) as opened:
        assert len(opened) == 24
        assert opened.features("dinov2").shape == (23, 6)
        ranked = [one.case_id for one in opened.search(ids[4], k=5)]
        opened.add_features("second", vectors, ids)
    export_features(server, "second", tmp_path / "f.parquet")
    assert import_features(server, tmp_path / "f.parquet", "third").added == len(ids)
    remove_cases(server, ids[:2])
    assert len(read_features(server, "dinov2").case_ids) == 21
    undo(server)
    renew_copy(server)
    restore(Path(back_up(server, tmp_path / "b.zip")["file"]), home := tmp_path / "home.semblance")
    for library in (server, home):
        assert not verify_library(library).findings
        read = read_features(library, "dinov2")
        assert dict(zip(read.case_ids, read.array.tolist(), strict=True)) == dict(
            zip(ids[:-1], vectors[:-1].tolist(), strict=True)
        )
        assert [one.case_id for one in nearest_cases(library, "mine", Query(ids[4]), k=5).ranked] == ranked
    # Damaged features cannot be measured again: the doctor says so, and the same file mends them.
    next((home / "features").glob("*.zarr/c/0/0")).write_bytes(b"damaged")
    (problem,) = verify_library(home).findings
    assert problem.remedy.endswith("Then import the features again.")
    verify_library(home, repair=True)
    add_features(home, "dinov2", vectors[:-1], ids[:-1])
    np.testing.assert_array_equal(read_features(home, "dinov2").array, read.array)
