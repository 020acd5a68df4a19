"""Embeddings of other programs in every layout, and a library's own out again to the bit."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from semblance.core.workflows.features.exchange_features import (
    import_features,
    read_features,
)
from tests.helpers.libraries import make_library

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
def test_every_layout_is_read_to_the_bit(library, tmp_path, key):
    order = np.random.default_rng(1).permutation(N)
    for number, (layout, (name, write)) in enumerate(LAYOUTS.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        named = IDS if key == "case_id" else PATHS
        write(folder / name, [named[n] for n in order], VECTORS[order], key)
        done = import_features(library, folder / name, f"{layout} {key}", key)
        assert (done.added, done.without_features, done.n_features) == (N, 0, WIDTH), layout
        stored = read_features(library, f"{layout} {key}")
        np.testing.assert_array_equal(stored.vectors, VECTORS, err_msg=layout)
        assert stored.ids == tuple(IDS), layout
