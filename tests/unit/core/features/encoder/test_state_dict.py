"""Weights are read without PyTorch, and a file can make the reader do nothing else."""

from __future__ import annotations

import collections
import io
import os
import pickle
import struct
from typing import ClassVar

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.features.encoder.model_file import installed_weights
from semblance.core.features.encoder.state_dict import read_state_dict

MAGIC, FORM = 0x1950A86A20F9469CFC6C, 1001


class Named:
    """Pickled as the global ``module.name``."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Tensor:
    def __init__(self, key, elements, offset, shape, strides, kind="FloatStorage", rebuild=None):
        self.key, self.elements, self.kind = key, elements, kind
        self.rebuild = rebuild or Named("torch._utils", "_rebuild_tensor_v2")
        self.arguments = (offset, shape, strides, False, collections.OrderedDict())


class Storage:
    def __init__(self, tensor):
        self.id = ("storage", Named("torch", tensor.kind), tensor.key, "cpu", tensor.elements, None)


class Pickler(pickle._Pickler):
    """Writes globals that are not installed, and storages as PyTorch does."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def persistent_id(self, value):
        return value.id if isinstance(value, Storage) else None

    def save_named(self, value):
        self.write(b"c" + f"{value.module}\n{value.name}\n".encode())

    def save_tensor(self, value):
        self.save(value.rebuild)
        self.save((Storage(value), *value.arguments))
        self.write(pickle.REDUCE)

    dispatch[Named], dispatch[Tensor] = save_named, save_tensor


def saved(path, tensors, storages=None, *, magic=MAGIC):
    file = io.BytesIO()
    storages = {"a": np.arange(6, dtype="<f4")} if storages is None else storages
    for value in (magic, FORM, {"little_endian": True}, tensors, list(storages)):
        Pickler(file, 2).dump(value)
    for numbers in storages.values():
        file.write(struct.pack("<q", len(numbers)) + numbers.tobytes())
    path.write_bytes(file.getvalue())
    return path


def test_tensors_with_their_strides_and_offsets(tmp_path):
    numbers = {"a": np.arange(6, dtype="<f4"), "b": np.array([7, 8], dtype="<i8")}
    tensors = collections.OrderedDict(
        turned=Tensor("a", 6, 0, (2, 3), (1, 2)),
        tail=Tensor("a", 6, 4, (2,), (1,)),
        count=Tensor("b", 2, 1, (), (), "LongStorage"),
    )
    found = read_state_dict(saved(tmp_path / "w.pth", tensors, numbers))
    assert found["turned"].tolist() == [[0, 2, 4], [1, 3, 5]]
    assert found["tail"].tolist() == [4, 5]
    assert (found["count"].tolist(), found["count"].dtype) == (8, np.int64)


def test_the_shipped_weights():
    found = read_state_dict(installed_weights())
    assert found["_conv_head.weight"].shape == (1280, 320, 1, 1)
    assert found["_fc.bias"].dtype == np.float32
    assert len(found) == 296


class Calls:
    """Unpickled, it calls a function of any module."""

    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


@pytest.mark.parametrize("where", ["instead", "inside"])
def test_nothing_a_file_names_is_called(tmp_path, where):
    call = Calls(os.mkdir, str(tmp_path / "called"))
    harmful = call if where == "instead" else {"w": call}
    with pytest.raises(BadInput, match="does not hold weights"):
        read_state_dict(saved(tmp_path / "w.pth", harmful))
    assert not (tmp_path / "called").exists()


@pytest.mark.parametrize(
    "tensor",
    [
        Tensor("a", 6, 0, (7,), (1,)),
        Tensor("a", 6, 5, (2,), (1,)),
        Tensor("a", 6, -1, (2,), (1,)),
        Tensor("a", 6, 0, (2, 2), (5, 1)),
        Tensor("a", 6, 0, (2,), (-1,)),
        Tensor("a", 6, 0, (0,), (1,)),
        Tensor("a", 6, 0, (2,), (1, 1)),
        Tensor("a", 5, 0, (2,), (1,)),
        Tensor("a", 1 << 60, 0, (2,), (1,)),
        Tensor("gone", 6, 0, (2,), (1,)),
        Tensor("a", 6, 0, (2,), (1,), "HalfStorage"),
        Tensor("a", 6, 0, (2,), (1,), rebuild=Named("torch._utils", "_rebuild_parameter")),
        3,
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, tensor):
    with pytest.raises(BadInput, match="does not hold weights"):
        read_state_dict(saved(tmp_path / "w.pth", {"w": tensor}))


def test_files_that_are_something_else_are_refused(tmp_path):
    good = saved(tmp_path / "w.pth", {"w": Tensor("a", 6, 0, (2,), (1,))})
    (tmp_path / "cut.pth").write_bytes(good.read_bytes()[:-4])
    (tmp_path / "empty.pth").write_bytes(b"")
    saved(tmp_path / "other.pth", {}, magic=1)
    for name in ("cut", "empty", "other"):
        with pytest.raises(BadInput, match=rf"{name}\.pth"):
            read_state_dict(tmp_path / f"{name}.pth")
    with pytest.raises(BadInput, match="cannot be read"):
        read_state_dict(tmp_path / "none.pth")
