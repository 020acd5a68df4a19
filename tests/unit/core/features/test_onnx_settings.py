"""The settings beside an encoder: every entry, its default, and what is refused."""

from __future__ import annotations

import json

import pytest

from semblance import resources
from semblance.core.errors import BadInput
from semblance.core.features.onnx_settings import read_settings


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
