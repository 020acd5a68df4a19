"""An encoder's file before it is loaded: which files it may read, its hash, and what is none."""

from __future__ import annotations

import json
import os
import random

import pytest

from semblance import resources
from semblance.core.errors import BadArguments, BadInput
from semblance.core.features import make_extractor
from semblance.core.features.onnx_file import external_files, identity, read_settings


def number(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(place: int, content: bytes | str | int) -> bytes:
    """Field ``place`` of a message: a number, or what has a length."""
    if isinstance(content, int):
        return number(place << 3) + number(content)
    data = content.encode() if isinstance(content, str) else content
    return number(place << 3 | 2) + number(len(data)) + data


def external_tensor(location: str) -> bytes:
    entry = field(1, "location") + field(2, location)
    offset = field(1, "offset") + field(2, "0")
    return field(1, 4) + field(2, 1) + field(8, "w") + field(13, offset) + field(13, entry) + field(14, 1)


def model(graph: bytes) -> bytes:
    """A model of ``graph``, in the version of 2024."""
    return field(1, 10) + field(7, graph) + field(8, field(1, "") + field(2, 21))


def written(folder, data, name="encoder.onnx"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return folder / name


def in_graph(location):
    return model(field(5, external_tensor(location)))


def in_attribute(location):
    return model(field(1, field(4, "Constant") + field(5, field(5, external_tensor(location)))))


def in_branch(location):
    return model(field(1, field(5, field(6, field(5, external_tensor(location))))))


def in_sparse(location):
    return model(field(15, field(1, external_tensor(location))))


def in_function(location):
    node = field(5, field(10, external_tensor(location)))
    return model(b"") + field(25, field(1, "f") + field(7, node))


def in_training(location):
    return model(b"") + field(20, field(2, field(5, external_tensor(location))))


WAYS = [in_graph, in_attribute, in_branch, in_sparse, in_function, in_training]


def test_a_model_in_one_file_reads_no_other(tmp_path):
    assert external_files(written(tmp_path, model(field(5, field(1, 3) + field(9, b"weights"))))) == []


@pytest.mark.parametrize("way", WAYS)
def test_weights_beside_the_model_are_found_wherever_they_are_named(tmp_path, way):
    (tmp_path / "w.bin").write_bytes(b"weights")
    assert external_files(written(tmp_path, way("w.bin"))) == [tmp_path / "w.bin"]


@pytest.mark.parametrize("way", WAYS)
def test_weights_that_are_missing_are_named(tmp_path, way):
    with pytest.raises(BadInput, match=r"weights 'w\.bin' .* missing"):
        external_files(written(tmp_path, way("w.bin")))


@pytest.mark.parametrize(
    "location",
    ["../secret", "sub/../../secret", "/etc/hostname", "C:\\secret", "..\\secret", "\\\\host\\x", "a\0b"],
)
def test_weights_outside_the_folder_are_refused(tmp_path, location):
    (tmp_path / "secret").write_bytes(b"s")
    with pytest.raises(BadInput, match="outside its folder"):
        external_files(written(tmp_path / "models", in_graph(location)))


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    (tmp_path / "secret").write_bytes(b"s")
    encoder = written(tmp_path / "models", in_graph("w.bin"))
    (tmp_path / "models" / "w.bin").symlink_to(tmp_path / "secret")
    with pytest.raises(BadInput, match="outside its folder"):
        external_files(encoder)


def test_a_part_compiled_for_a_machine_is_refused(tmp_path):
    with pytest.raises(BadInput, match="compiled for one machine"):
        external_files(written(tmp_path, model(field(1, field(4, "EPContext")))))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"PK\x03\x04 a zip",
        b'{"a": "table"}',
        field(1, 10),
        model(b"")[:-1],
        field(7, b"\xff" * 12),
        field(7, field(1, field(5, b"\x0a\xff"))),
        b"\x3a" + b"\xff" * 9 + b"\x01",
        b"\x3b\x3c",
    ],
)
def test_what_is_no_model_is_refused_by_name(tmp_path, data):
    with pytest.raises(BadInput, match=r"encoder\.onnx"):
        external_files(written(tmp_path, data))


def test_damaged_models_raise_only_errors_for_users(tmp_path):
    (tmp_path / "w.bin").write_bytes(b"weights")
    whole = b"".join(way("w.bin") for way in WAYS)
    rng = random.Random(0)
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        encoder = written(tmp_path, bytes(data[: rng.randint(1, len(data))]))
        try:
            found = external_files(encoder)
        except BadInput:
            continue
        assert set(found) <= {tmp_path / "w.bin"}


def test_deep_nesting_does_not_exhaust_the_stack(tmp_path):
    graph = b""
    for _ in range(3000):
        graph = field(1, field(5, field(6, graph)))
    assert external_files(written(tmp_path, model(graph))) == []


def test_its_identity_follows_every_file_and_the_settings(tmp_path):
    (tmp_path / "w.bin").write_bytes(b"weights")
    encoder = written(tmp_path, in_graph("w.bin"))
    first = identity(encoder, "a")
    assert identity(encoder, "a") == first
    assert identity(encoder, "b") != first
    (tmp_path / "w.bin").write_bytes(b"others.")
    os.utime(tmp_path / "w.bin", ns=(1, 1))
    second = identity(encoder, "a")
    assert second != first
    written(tmp_path, in_branch("w.bin"))
    assert identity(encoder, "a") not in (first, second)


def test_an_encoder_that_is_gone_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"no encoder at '.*gone\.onnx'"):
        identity(tmp_path / "gone.onnx", "")
    with pytest.raises(BadInput):
        identity(tmp_path, "")


@pytest.mark.parametrize("given", [{}, {"model": "a.onnx"}, {"settings": "a.json"}])
def test_both_files_must_be_named(given):
    with pytest.raises(BadArguments, match="needs an encoder and its settings"):
        make_extractor("onnx", **given)


def read(tmp_path, **values):
    file = tmp_path / "encoder.json"
    file.write_text(json.dumps(values), encoding="utf-8")
    return read_settings(file)


def test_the_size_alone_is_enough(tmp_path):
    found = read(tmp_path, input_size=224)
    assert (found.height, found.width, found.channels, found.layout) == (224, 224, 3, "NCHW")
    assert (found.mean, found.deviation, found.white) == ((0.0,) * 3, (1.0,) * 3, 1.0)
    assert (found.window, found.output, found.reduce, found.slices) == (None, "", "none", "mean")


def test_the_example_of_the_help_page_is_one(tmp_path):
    text = resources.path("help/own_encoder.md").read_text(encoding="utf-8")
    (tmp_path / "encoder.json").write_text(text.split("```")[1], encoding="utf-8")
    found = read_settings(tmp_path / "encoder.json")
    assert (found.height, found.mean[0], found.window, found.output) == (
        224,
        0.485,
        (40.0, 400.0),
        "features",
    )


def test_every_setting_is_read(tmp_path):
    found = read(
        tmp_path,
        input_size=[96, 128],
        channels=1,
        mean=127.5,
        deviation=[64],
        white=255,
        layout="NHWC",
        window={"level": -600, "width": 1500},
        output="features",
        reduce="first",
        slices="max",
    )
    assert (found.height, found.width, found.channels, found.layout) == (96, 128, 1, "NHWC")
    assert (found.mean, found.deviation, found.white) == ((127.5,), (64.0,), 255.0)
    assert (found.window, found.output) == ((-600.0, 1500.0), "features")
    assert (found.reduce, found.slices) == ("first", "max")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("input_size", 0),
        ("input_size", 5000),
        ("input_size", True),
        ("input_size", "224"),
        ("input_size", [224]),
        ("input_size", None),
        ("channels", 2),
        ("channels", True),
        ("channels", "3"),
        ("mean", [0.5, 0.5]),
        ("mean", "half"),
        ("mean", None),
        ("deviation", 0),
        ("deviation", [1, 1, -1]),
        ("white", 0),
        ("white", True),
        ("layout", "CHW"),
        ("layout", ["NCHW"]),
        ("window", [40, 400]),
        ("window", {"level": 40}),
        ("window", {"level": 40, "width": 0}),
        ("output", 1),
        ("reduce", "max"),
        ("slices", "middle"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_what_can(tmp_path, name, value):
    with pytest.raises(BadInput, match=name) as caught:
        read(tmp_path, **({"input_size": 8} | {name: value}))
    assert "encoder.json" in caught.value.message
    assert "Own encoder" in caught.value.hint


def test_numbers_that_are_none_are_refused(tmp_path):
    file = tmp_path / "encoder.json"
    for text in ('{"input_size": 8, "mean": NaN}', '{"input_size": 8, "white": 1e999}'):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(BadInput):
            read_settings(file)


def test_an_unknown_entry_lists_the_known_ones(tmp_path):
    with pytest.raises(BadInput, match="'std'") as caught:
        read(tmp_path, input_size=8, std=1)
    assert "deviation" in caught.value.hint


@pytest.mark.parametrize("data", [b"", b"[1]", b"\xff\xfe", b"{", b"[" * 100_000, b" " * (1 << 21)])
def test_what_is_no_table_of_json_is_refused(tmp_path, data):
    (tmp_path / "encoder.json").write_bytes(data)
    with pytest.raises(BadInput, match=r"encoder\.json"):
        read_settings(tmp_path / "encoder.json")


def test_a_file_that_is_gone_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"gone\.json"):
        read_settings(tmp_path / "gone.json")
    with pytest.raises(BadInput):
        read_settings(tmp_path)
