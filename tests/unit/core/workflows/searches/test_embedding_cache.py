from __future__ import annotations

import numpy as np
import pytest

from semblance.core.retrieval.index import Index
from semblance.core.workflows.searches.derived_arrays import save_arrays
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


@pytest.mark.parametrize("rows", [np.arange(4.0), np.arange(3), np.arange(4, dtype=np.int32)])
def test_other_kinds_of_values_are_not_used(tmp_path, rows):
    arrays = dict(zip(CachedEmbedding._fields, embedding()[:4], strict=False))
    save_arrays(tmp_path / "m.embedding", {**arrays, "rows": rows})
    assert load_embedding(tmp_path / "m.embedding") is None


def test_data_of_earlier_versions_of_the_metric_are_removed(tmp_path):
    for name in ("m.1.npz", "m.2.embedding", "n.1.npz", "m.near"):
        (tmp_path / name).touch()
    save_embedding(tmp_path / "m.3.embedding", embedding())
    assert {one.name for one in tmp_path.iterdir()} == {"m.3.embedding", "n.1.npz", "m.near"}
