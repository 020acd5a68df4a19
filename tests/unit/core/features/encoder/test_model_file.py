"""The converted encoder in the user's cache: made once, made again when damaged, never left half."""

from __future__ import annotations

import collections
import dataclasses
import io
import os
import pickle
import shutil
import struct
from typing import ClassVar

import numpy as np
import onnx
import pytest
import skimage.data
from PIL import Image as PILImage

from semblance.core.errors import BadInput
from semblance.core.features.encoder import efficientnet, model_file
from semblance.core.features.encoder.model_file import (
    SETTINGS,
    all_outputs,
    check_descriptions,
    check_encoder,
    colours,
    encoder_session,
    installed_weights,
    measured,
    read_state_dict,
)
from semblance.core.features.onnx_session import Session


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache, where the encoder has to be converted."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return model_file.cache_folder()


def test_it_is_converted_once_and_again_when_damaged(cache):
    file = model_file.model_file()
    assert [file] == list(cache.iterdir())
    made = file.stat()
    assert model_file.model_file() == file
    assert file.stat().st_mtime_ns == made.st_mtime_ns
    good = file.read_bytes()
    file.write_bytes(good[:5000] + bytes(8) + good[5008:])
    assert model_file.model_file() == file
    assert file.read_bytes() == good


def test_a_ready_made_file_is_used(cache, monkeypatch, tmp_path):
    shipped = tmp_path / "shipped"
    file = model_file.convert(shipped)
    monkeypatch.setattr(model_file, "SHIPPED", shipped)
    monkeypatch.setattr(model_file, "installed_weights", None)
    assert model_file.model_file() == file
    assert not cache.exists()


def test_a_file_with_wrong_numbers_gets_no_name(cache, monkeypatch):
    monkeypatch.setattr(efficientnet, "PADDING", "SAME_LOWER")
    with pytest.raises(BadInput, match="wrong numbers"):
        model_file.model_file()
    assert list(cache.iterdir()) == []


def test_damaged_weights_are_refused_by_name(cache, monkeypatch, tmp_path):
    package = tmp_path / model_file.PACKAGE
    (package / "models").mkdir(parents=True)
    (package / "__init__.py").touch()
    damaged = shutil.copy(model_file.installed_weights(), package / "models")
    with open(damaged, "r+b") as file:  # noqa: PTH123
        file.seek(1_000_000)
        file.write(b"\0\0\0\0\1")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match="are damaged") as caught:
        model_file.model_file()
    assert str(package) in caught.value.message
    assert "pip install" in caught.value.hint


def test_a_cache_that_cannot_be_written_is_reported(cache, tmp_path):
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(BadInput, match="cannot be written") as caught:
        model_file.model_file()
    assert str(cache) in caught.value.message


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


@pytest.fixture(scope="module")
def weights():
    return read_state_dict(installed_weights())


def check(session):
    check_encoder(lambda images: measured(session, images))


@pytest.mark.parametrize(
    ("name", "classes", "chances"),
    [("coffee", [967], [0.95]), ("camera", [872], [0.94]), ("chelsea", [282, 285, 281], [0.39, 0.36, 0.17])],
)
def test_photographs_are_recognised(weights, name, classes, chances):
    photograph = PILImage.fromarray(getattr(skimage.data, name)()).convert("RGB")
    scale = 256 / min(photograph.size)
    photograph = photograph.resize(
        [round(side * scale) for side in photograph.size], PILImage.Resampling.BICUBIC
    )
    left, top = ((side - 224) // 2 for side in photograph.size)
    pixels = np.asarray(photograph.crop((left, top, left + 224, top + 224)))
    (features,) = measured(encoder_session(), [pixels])
    logits = weights["_fc.weight"] @ features + weights["_fc.bias"]
    probabilities = np.exp(logits - logits.max())
    probabilities /= probabilities.sum()
    assert np.argsort(-probabilities)[: len(classes)].tolist() == classes
    assert probabilities[classes] == pytest.approx(chances, abs=0.006)


def check_parts(session):
    check_descriptions(lambda images: all_outputs(session, images, ("levels", "places")))


def test_the_encoder_as_it_is_passes():
    check(encoder_session())
    check_parts(encoder_session())


@pytest.mark.parametrize(
    ("name", "value"), [("EXPONENT", 2.0), ("LEAST", 1.0), ("LEVELS", (2, 3, 7, 10, 14))]
)
def test_other_levels_or_places_are_caught(monkeypatch, tmp_path, weights, name, value):
    monkeypatch.setattr(efficientnet, name, value)
    (tmp_path / "wrong.onnx").write_bytes(efficientnet.onnx_model(weights))
    session = Session(tmp_path / "wrong.onnx", SETTINGS)
    check(session)
    with pytest.raises(BadInput, match="wrong numbers"):
        check_parts(session)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PADDING", "SAME_LOWER"),
        ("STEM_STRIDE", 1),
        ("STAGES", (*efficientnet.STAGES[:3], (3, 3, 1, 6), (3, 5, 2, 6), *efficientnet.STAGES[5:])),
        ("EPSILON", 1e-5),
    ],
)
def test_a_graph_built_wrongly_is_caught(monkeypatch, tmp_path, weights, name, value):
    monkeypatch.setattr(efficientnet, name, value)
    (tmp_path / "wrong.onnx").write_bytes(efficientnet.onnx_model(weights))
    with pytest.raises(BadInput, match="wrong numbers"):
        check(Session(tmp_path / "wrong.onnx", SETTINGS))


def test_channels_in_the_wrong_order_are_caught(tmp_path, weights):
    turned = weights | {"_conv_stem.weight": weights["_conv_stem.weight"][:, ::-1]}
    (tmp_path / "wrong.onnx").write_bytes(efficientnet.onnx_model(turned))
    with pytest.raises(BadInput, match="'colours'"):
        check(Session(tmp_path / "wrong.onnx", SETTINGS))
    session = encoder_session()
    with pytest.raises(BadInput, match="'colours'"):
        check_encoder(lambda images: measured(session, [image[:, :, ::-1] for image in images]))
    assert not np.array_equal(colours(), colours()[:, :, ::-1])


@pytest.mark.parametrize(
    "wrong", [{"mean": (128.0,) * 3}, {"deviation": (127.0,) * 3}, {"mean": (0.485 * 255,) * 3}]
)
def test_wrong_scaling_is_caught(wrong):
    session, settings = encoder_session(), dataclasses.replace(SETTINGS, **wrong)

    def wrongly(images):
        return session.run(settings.scaled(np.stack(images).astype(np.float32)))

    with pytest.raises(BadInput, match="wrong numbers"):
        check_encoder(wrongly)


def test_rows_and_columns_exchanged_are_caught():
    session = encoder_session()
    with pytest.raises(BadInput, match="'ramp'"):
        check_encoder(lambda images: measured(session, [image.transpose(1, 0, 2) for image in images]))


@pytest.fixture(scope="module")
def eight_bit(tmp_path_factory):
    """The file of the encoder in 8 bits."""
    return model_file.convert(tmp_path_factory.mktemp("eight bit"), model_file.EIGHT_BIT)


def test_in_8_bits_the_file_is_the_same_everywhere(eight_bit, weights):
    content = efficientnet.onnx_model(weights, eight_bit=True)
    assert eight_bit.read_bytes() == content
    assert len(content) < 4_000_000


def test_in_8_bits_it_describes_photographs_as_the_floats_do(eight_bit):
    # Of the images that come with scikit-image: the ranges were made with them.
    pixels = [
        np.asarray(PILImage.fromarray(getattr(skimage.data, name)()).convert("RGB").resize((224, 224)))
        for name in ("coffee", "camera", "chelsea", "cell")
    ]
    names = ("features", "levels", "places")
    floats = all_outputs(encoder_session(), pixels, names)
    small = all_outputs(Session(eight_bit, SETTINGS), pixels, names)
    for expected, found in zip(floats, small, strict=True):
        assert found.shape == expected.shape
        rows = [one.reshape(len(pixels), -1) for one in (expected, found)]
        norms = np.prod([np.linalg.norm(one, axis=1) for one in rows], axis=0)
        assert ((rows[0] * rows[1]).sum(axis=1) / norms >= 0.95).all()


def test_in_8_bits_no_processor_overflows_16_bits(eight_bit):
    model = onnx.load(eight_bit)
    kernels = {one.name: onnx.numpy_helper.to_array(one).astype(int) for one in model.graph.initializer}
    dense = [one.reshape(len(one), -1) for one in kernels.values() if one.ndim == 4 and one.shape[1] > 1]
    assert len(dense) == 33
    for rows in dense:
        for signs in (np.maximum(rows, 0), np.maximum(-rows, 0)):
            assert 255 * (signs[:, 1:] + signs[:, :-1]).max() <= 32767


def test_in_8_bits_wrong_numbers_are_caught(monkeypatch, tmp_path):
    monkeypatch.setattr(efficientnet, "EPSILON", 1e-5)
    with pytest.raises(BadInput, match="wrong numbers"):
        model_file.convert(tmp_path, model_file.EIGHT_BIT)
    assert list(tmp_path.iterdir()) == []
