from __future__ import annotations

import json
import os
import zlib

import numpy as np
import pytest

from semblance.core.workflows.features.derived_arrays import load_arrays, save_arrays

ARRAYS = {
    "numbers": np.linspace(0.0, 1.0, 30).reshape(10, 3),
    "none": np.empty((10, 0)),
    "small": np.arange(5, dtype=np.int16),
    "flags": np.array([True, False]),
    "single": np.float32(3.5) * np.ones((2, 2), np.float32),
}


def test_arrays_are_read_as_they_were_and_lie_aligned_on_the_disk(tmp_path):
    save_arrays(tmp_path / "a", ARRAYS, "key")
    read = load_arrays(tmp_path / "a", "key")
    assert read is not None
    assert list(read) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert np.array_equal(read[name], array)
        assert read[name].dtype == array.dtype
        assert read[name].flags.aligned
        assert not read[name].flags.writeable
    assert load_arrays(tmp_path / "a", "another key") is None


@pytest.mark.parametrize("place", [0, 30, 150, -200, -1])
def test_a_changed_byte_is_noticed_wherever_it_is(tmp_path, place):
    save_arrays(tmp_path / "a", ARRAYS)
    data = bytearray((tmp_path / "a").read_bytes())
    data[place] ^= 4
    (tmp_path / "a").write_bytes(data)
    assert load_arrays(tmp_path / "a") is None


@pytest.mark.parametrize(
    "change", [lambda data: data[:-1], lambda data: data + b"x", lambda _: b"", lambda d: d[:40]]
)
def test_a_file_of_another_length_is_not_used(tmp_path, change):
    save_arrays(tmp_path / "a", ARRAYS)
    (tmp_path / "a").write_bytes(change((tmp_path / "a").read_bytes()))
    assert load_arrays(tmp_path / "a") is None


@pytest.mark.parametrize(
    "entry",
    [
        ["a", "|O", [1], 0],
        ["a", "<U4", [1], 0],
        ["a", "<f8", [-1], 0],
        ["a", "<f8", [10**12, 10**12], 0],
        ["a", "<f8", [1.0], 0],
        ["a", "<f8", 3, 0],
        ["a", "nonsense", [1], 0],
        ["a", "<f8", [1]],
        "text",
        None,
    ],
)
def test_a_header_made_by_hand_is_refused(tmp_path, entry):
    header = b"semblance arrays 1\n" + json.dumps({"made_from": "", "arrays": [entry]}).encode() + b"\n"
    (tmp_path / "a").write_bytes(header + bytes(-len(header) % 64) + bytes(8))
    assert load_arrays(tmp_path / "a") is None


def test_a_header_made_by_hand_with_the_right_values_is_read(tmp_path):
    entry = ["a", "<f8", [1], zlib.crc32(bytes(8))]
    header = b"semblance arrays 1\n" + json.dumps({"made_from": "", "arrays": [entry]}).encode() + b"\n"
    (tmp_path / "a").write_bytes(header + bytes(-len(header) % 64) + bytes(8))
    assert load_arrays(tmp_path / "a") is not None


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a")
    assert load_arrays(tmp_path / "a") is None
