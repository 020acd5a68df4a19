from __future__ import annotations

import numpy as np
import pytest

from semblance.core.retrieval.index import Index
from semblance.core.workflows.features.derived_arrays import save_arrays
from semblance.core.workflows.searches.embedding_cache import CachedEmbedding, load_embedding, save_embedding


def embedding() -> CachedEmbedding:
    return CachedEmbedding(np.arange(4), np.ones((4, 2)), np.empty((4, 0)), np.zeros((4, 3), np.float32))


def test_a_stored_embedding_is_read(tmp_path):
    prepared = Index(embedding().embedding).prepared
    save_embedding(tmp_path / "m.embedding", embedding()._replace(prepared=prepared))
    read = load_embedding(tmp_path / "m.embedding")
    assert read is not None
    assert all(np.array_equal(one, two) for one, two in zip(read[:4], embedding()[:4], strict=True))
    assert read.prepared is not None
    assert all(np.array_equal(one, two) for one, two in zip(read.prepared, prepared, strict=True))
    assert read.prepared_ties is None


def test_a_search_in_mapped_data_has_the_order_of_float64_and_reads_two_bytes_a_number(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70_000, 16)) * np.geomspace(0.01, 100.0, 16) + 50.0
    X[::7] = X[3]
    one = CachedEmbedding(np.arange(len(X)), X, np.empty((len(X), 0)), np.empty((0, 3), np.float32))
    save_embedding(tmp_path / "m.embedding", one._replace(prepared=Index(X).prepared))
    read = load_embedding(tmp_path / "m.embedding")
    assert read is not None
    assert read.prepared is not None
    index = Index(read.embedding, prepared=read.prepared)
    used = index.prepared.whole
    assert used is read.prepared.whole
    assert not used.flags.owndata
    assert used.itemsize == 2
    for q in (X[3], X[500] + 1e-6, rng.normal(size=16)):
        distances = np.square(X - q).sum(axis=1)
        assert index.search(q, 50).rows.tolist() == np.argsort(distances, kind="stable")[:50].tolist()


def test_what_an_earlier_version_derived_is_made_again(tmp_path):
    arrays = dict(zip(CachedEmbedding._fields, embedding()[:4], strict=False))
    save_arrays(tmp_path / "m.embedding", {**arrays, "prepared_single": np.ones((4, 2), np.float32)})
    assert load_embedding(tmp_path / "m.embedding") is None


@pytest.mark.parametrize("rows", [np.arange(4.0), np.arange(3), np.arange(4, dtype=np.int32)])
def test_other_kinds_of_values_are_not_used(tmp_path, rows):
    arrays = dict(zip(CachedEmbedding._fields, embedding()[:4], strict=False))
    save_arrays(tmp_path / "m.embedding", {**arrays, "rows": rows})
    assert load_embedding(tmp_path / "m.embedding") is None


def test_data_of_earlier_versions_of_the_metric_are_removed(tmp_path):
    for name in ("m.1.embedding", "m.2.embedding", "n.1.embedding", "m.near"):
        (tmp_path / name).touch()
    save_embedding(tmp_path / "m.3.embedding", embedding())
    assert {one.name for one in tmp_path.iterdir()} == {"m.3.embedding", "n.1.embedding", "m.near"}
