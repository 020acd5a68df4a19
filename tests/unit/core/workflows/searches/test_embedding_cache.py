from __future__ import annotations

import os

import numpy as np
import pytest

from semblance.core.workflows.searches.embedding_cache import CachedEmbedding, load_embedding, save_embedding


def prepared() -> CachedEmbedding:
    return CachedEmbedding(np.arange(4), np.ones((4, 2)), np.empty((4, 0)), np.zeros((4, 3), np.float32))


def test_a_stored_embedding_is_read(tmp_path):
    save_embedding(tmp_path / "m.npz", prepared())
    read = load_embedding(tmp_path / "m.npz")
    assert all(np.array_equal(one, two) for one, two in zip(read, prepared(), strict=True))


@pytest.mark.parametrize("rows", [np.array(["a"] * 4), np.arange(4.0), np.array([None] * 4)])
def test_other_kinds_of_values_are_not_used(tmp_path, rows):
    np.savez(tmp_path / "m.npz", **{**prepared()._asdict(), "rows": rows})
    assert load_embedding(tmp_path / "m.npz") is None


def test_what_unpacks_to_more_than_it_is_is_not_read(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "m.npz", **prepared()._asdict())
    monkeypatch.setattr(np, "load", None)
    assert load_embedding(tmp_path / "m.npz") is None


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "m.npz")
    assert load_embedding(tmp_path / "m.npz") is None
