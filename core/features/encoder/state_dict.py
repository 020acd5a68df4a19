"""Weights saved by PyTorch in its old form (before 1.6, no zip), read without PyTorch.

The file is five pickles (a magic number, the version of the form, facts about the machine, the tensors, the
keys of their storages) and then each storage: its number of elements as int64, and the elements. A pickle can
name any function of any module and have it called. Here only three names are known: OrderedDict, the function
that describes a tensor, and the kinds of storages. They are replaced by the classes below, so nothing of what a
file names is ever imported or called.
"""

from __future__ import annotations

import pickle
import struct
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy

_MAGIC = 0x1950A86A20F9469CFC6C
_FORM = 1001
_STORAGES: dict[str, np.dtype[Any]] = {"FloatStorage": np.dtype("<f4"), "LongStorage": np.dtype("<i8")}
#: More is no tensor of a network that fits here.
_MOST_BYTES = 1 << 30
_MOST_SIDES = 8


def read_state_dict(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The tensors at ``path`` by name, float32 or int64.

    Raises:
        BadInput: the file cannot be read, is not of this form, or holds anything else than tensors.
    """
    try:
        with path.open("rb") as file:
            return _read(file)
    except OSError as error:
        reason = error.strerror or "it is no file"
        raise BadInput(
            tr_lazy("The weights '{path}' cannot be read: {reason}.", path=path, reason=reason)
        ) from None
    except Exception as error:
        # A damaged pickle raises errors of any class.
        raise BadInput(tr_lazy("'{path}' does not hold weights of a network.", path=path)) from error


@dataclass(frozen=True)
class _Storage:
    key: str
    type: np.dtype[Any]
    elements: int


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, elements: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if len(self.shape) != len(self.strides) or len(self.shape) > _MOST_SIDES:
            raise ValueError("shape and strides")
        if min((self.offset, *self.shape, *self.strides)) < 0 or 0 in self.shape:
            raise ValueError("negative")
        steps = zip(self.shape, self.strides, strict=True)
        if self.offset + sum((side - 1) * stride for side, stride in steps) >= len(elements):
            raise ValueError("outside its storage")
        width = elements.itemsize
        bytes_apart = [stride * width for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(elements[self.offset :], self.shape, bytes_apart)
        return np.array(view, order="C")


class _Unpickler(pickle.Unpickler):
    """Knows storages, tensors and OrderedDict, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if module == "torch" and name in _STORAGES:
            # Only a name, which is looked up in _STORAGES.
            return name
        raise pickle.UnpicklingError(f"{module}.{name}")

    def persistent_load(self, pid: Any) -> _Storage:
        kind, name, key, _device, elements, view = pid
        if kind != "storage" or view is not None or not isinstance(key, str) or type(elements) is not int:
            raise pickle.UnpicklingError("storage")
        storage = _Storage(key, _STORAGES[name], elements)
        if not 0 < elements * storage.type.itemsize <= _MOST_BYTES:
            raise pickle.UnpicklingError("size of a storage")
        return storage


def _tensor(
    storage: _Storage, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any
) -> _Tensor:
    if not isinstance(storage, _Storage) or any(type(n) is not int for n in (offset, *shape, *strides)):
        raise pickle.UnpicklingError("tensor")
    return _Tensor(storage, offset, tuple(shape), tuple(strides))


def _read(file: BinaryIO) -> dict[str, npt.NDArray[Any]]:
    magic, form, _machine, tensors, keys = (_Unpickler(file).load() for _ in range(5))
    if (magic, form) != (_MAGIC, _FORM) or not isinstance(tensors, dict) or not isinstance(keys, list):
        raise ValueError("no such form")
    if not all(isinstance(name, str) and isinstance(one, _Tensor) for name, one in tensors.items()):
        raise ValueError("something else than tensors")
    storages = {one.storage.key: one.storage for one in tensors.values()}
    elements: dict[str, npt.NDArray[Any]] = {}
    for key in keys:
        storage = storages[key]
        (count,) = struct.unpack("<q", file.read(8))
        data = file.read(storage.elements * storage.type.itemsize)
        if count != storage.elements:
            raise ValueError("size of a storage")
        elements[key] = np.frombuffer(data, storage.type, count)
    return {name: one.of(elements[one.storage.key]) for name, one in tensors.items()}
