"""Files of vectors of strangers: nothing is unpickled, promises of size are checked, refusals name the place."""

from __future__ import annotations

import io
import json
import os
import zipfile

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.library.importers.vector_file import FeatureTable, read_vector, read_vectors

IDS = ["a", "b", "c"]
VECTORS = np.arange(6, dtype=np.float32).reshape(3, 2)


class Trap:
    """Fails the test if it is unpickled."""

    def __reduce__(self):
        return os._exit, (99,)


def npy(file, array, *, allow_pickle=False):
    np.save(file, array, allow_pickle=allow_pickle)
    file.with_name("ids.txt").write_text("a\nb\nc\n")


def promised(file):
    """A header of terabytes before a few bytes."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": "<f4", "fortran_order": False, "shape": (10**9, 10**3)}
    )
    file.write_bytes(out.getvalue() + b"\0" * 64)


def bomb(file):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("X.npy", "w") as out:
        np.lib.format.write_array_header_1_0(
            out, {"descr": "<i1", "fortran_order": False, "shape": (3, 70_000_000)}
        )
        for _ in range(21):
            out.write(bytes(10_000_000))


def with_gap(value):
    bad = VECTORS.copy().astype(np.float64)
    bad[1, 1] = value
    return bad


HOSTILE = {
    "objects.npy": (
        lambda f: npy(f, np.array([[Trap()]] * 3, dtype=object), allow_pickle=True),
        "Python obj",
    ),
    "objects.npz": (
        lambda f: np.savez(f, features=np.array([[Trap()]] * 3, dtype=object), ids=np.array(IDS)),
        "does not consist of numbers",
    ),
    "ids.npz": (
        lambda f: np.savez(f, features=VECTORS, ids=np.array([Trap()] * 3, dtype=object)),
        r"does not consist of numbers.*ids and names as text: numpy.array\(ids, dtype=str\)",
    ),
    "promise.npy": (promised, "promises 4 TB"),
    "bomb.npz": (bomb, "made to fill the memory"),
    "complex.npy": (lambda f: npy(f, VECTORS.astype(np.complex64)), "complex64; .n, d. real"),
    "text.npy": (lambda f: npy(f, np.array([["x"]] * 3)), "real numbers are needed"),
    "one.npy": (lambda f: npy(f, VECTORS[:, 0]), r"are \(3,\) of float32"),
    "deep.npy": (lambda f: npy(f, VECTORS[:, :, np.newaxis]), r"\(3, 2, 1\)"),
    "cut.npy": (lambda f: (npy(f, VECTORS), f.write_bytes(f.read_bytes()[:-4])), "the file has"),
    "garbage.npy": (lambda f: f.write_bytes(b"x" * 100), "not a NumPy array file"),
    "few.npy": (lambda f: npy(f, VECTORS[:2]), "3 ids for the 2 vectors"),
    "nan.npy": (lambda f: npy(f, with_gap(np.nan)), r"Row 2 of .* \(b\).*number 2 is NaN"),
    "infinite.npy": (lambda f: npy(f, with_gap(np.inf)), "number 2 is inf"),
    "large.npy": (lambda f: npy(f, with_gap(1e300)), r"number 2 is 1e\+300"),
    "no_ids.npz": (lambda f: np.savez(f, features=VECTORS), "Tried: no_ids.ids.txt"),
    "two.npz": (lambda f: np.savez(f, one=VECTORS, two=VECTORS, ids=np.array(IDS)), "told from the others"),
    "path.npz": (lambda f: np.savez(f, features=VECTORS, path=np.array(IDS)), "use --key path"),
    "cell.csv": (lambda f: f.write_text("case_id,x\na,1\nb,two\nc,3\n"), "Line 3 .*'two'"),
    "empty.csv": (lambda f: f.write_text("case_id,x\na,1\nb,\nc,3\n"), "is NaN"),
    "short.csv": (lambda f: f.write_text("case_id,x,y\na,1,2\nb,1\nc,3,4\n"), "Line 3"),
    "no_ids.csv": (lambda f: f.write_text("x,y\n1,2\n"), "no column or array of case ids"),
    "no_numbers.csv": (lambda f: f.write_text("case_id,note\na,red\n"), "no column of numbers"),
    "model.pt": (lambda f: f.write_bytes(b"PK"), "Pickled files"),
    "damaged.parquet": (lambda f: f.write_bytes(b"PAR1" + b"\0" * 50), "cannot be read"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(tmp_path, name):
    write, says = HOSTILE[name]
    write(tmp_path / name)
    with pytest.raises(BadInput, match=says):
        list(read_vectors(tmp_path / name).blocks())


def test_lists_of_other_lengths_and_missing_ones_are_refused_with_the_row(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for lists, says in (
        ([[1.0, 2.0], [3.0], [4.0, 5.0]], "Row 2 .* 1 numbers"),
        ([[1.0, 2.0], None, [4.0, 5.0]], "Row 2"),
        ([[1.0, 2.0], [3.0, None], [4.0, 5.0]], r"Row 2 .*NaN"),
    ):
        parquet.write_table(pa.table({"case_id": IDS, "embedding": lists}), tmp_path / "f.parquet")
        with pytest.raises(BadInput, match=says):
            list(read_vectors(tmp_path / "f.parquet").blocks())
    parquet.write_table(pa.table({"case_id": ["a", None], "x": [1.0, 2.0]}), tmp_path / "f.parquet")
    with pytest.raises(BadInput, match=r"Row 2 .* has no value"):
        read_vectors(tmp_path / "f.parquet")


def test_any_real_type_is_taken(tmp_path):
    for kind in ("f2", "f4", ">f4", "f8", ">f8", "i1", "u2", "i8", "?"):
        file = tmp_path / "f.npy"
        npy(file, VECTORS.astype(kind))
        np.testing.assert_array_equal(read_vectors(file).vectors, VECTORS.astype(kind).astype(np.float32))


def test_an_array_without_rows_or_of_unequal_rows_is_refused_in_words():
    with pytest.raises(BadInput, match="different lengths"):
        FeatureTable.of_array([[1, 2], [3]], ["a", "b"])
    with pytest.raises(BadInput, match="no vectors"):
        FeatureTable.of_array(np.zeros((0, 3)), [])


def test_the_index_that_names_the_rows_is_not_left_out(tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "b"]).to_parquet(tmp_path / "f.parquet")
    table = read_vectors(tmp_path / "f.parquet")
    assert (table.ids, table.names, table.left_out) == (["a", "b"], ("x",), ())


def test_ids_of_whole_numbers_are_texts():
    assert FeatureTable.of_array(VECTORS, [1, np.int64(2), 3.0]).ids == ["1", "2", "3"]


def test_a_vector_is_read_in_every_form(tmp_path):
    expected = [0.5, -1.0, 3.0]
    np.save(tmp_path / "flat.npy", np.array(expected))
    np.save(tmp_path / "row.npy", np.array([expected], dtype=np.float16))
    (tmp_path / "list.json").write_text(json.dumps(expected))
    (tmp_path / "nested.json").write_text(json.dumps([expected]))
    (tmp_path / "line.csv").write_text("0.5,-1,3\n")
    (tmp_path / "header.csv").write_text("a,b,c\n0.5,-1,3\n")
    (tmp_path / "column.csv").write_text("0.5\n-1\n3\n")
    (tmp_path / "comma.csv").write_text("0,5;-1;3\n")
    for file in tmp_path.iterdir():
        assert read_vector(file, 3).tolist() == expected, file.name
    for text, says in (
        ('["a"]', "one vector"),
        ("[1, 1e999]", "no finite number at place 2"),
        ("[[1],[2]]", "one vector"),
    ):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(BadInput, match=says):
            read_vector(tmp_path / "bad.json")
    np.save(tmp_path / "two.npy", VECTORS)
    with pytest.raises(BadInput, match=r"\(3, 2\) of float32 and not one vector"):
        read_vector(tmp_path / "two.npy")
    with pytest.raises(BadInput, match="has 3 numbers, and the features of the metric have 4"):
        read_vector(tmp_path / "flat.npy", 4)
