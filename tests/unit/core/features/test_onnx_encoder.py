"""A user's own encoder: what it is shown, what it gives, what is refused, and a library of its features."""

from __future__ import annotations

import pickle
import shutil

import numpy as np
import onnx
import pytest

from semblance.core.errors import BadArguments, BadInput
from semblance.core.features import make_extractor
from semblance.core.imaging.image import Image, ValueScale
from semblance.core.imaging.region import Region
from semblance.core.imaging.volume import ArrayStack, Volume
from semblance.core.library.open_library import open_library
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from tests.helpers.encoders import averages, save, settings
from tests.helpers.images import striped_folder


def encoder(folder, model=None, **values):
    model = model or averages(folder / "tiny.onnx")
    return make_extractor("onnx", model=str(model), settings=str(settings(folder / "tiny.json", **values)))


def noise(*shape, seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def test_it_gives_what_the_model_gives(tmp_path):
    pixels = noise(4, 4, 3)
    numbers = encoder(tmp_path).extract(Image(pixels, 255.0))
    assert numbers.dtype == np.float32
    assert numbers == pytest.approx(pixels.mean(axis=(0, 1)) / 255.0 * [1, 2, 3], rel=1e-5)


def test_pixels_are_scaled_as_the_settings_say(tmp_path):
    pixels = noise(4, 4, 3)
    made = encoder(tmp_path, white=255, mean=[1, 2, 3], deviation=[2, 4, 8])
    expected = (pixels.mean(axis=(0, 1)) - [1, 2, 3]) / [2, 4, 8] * [1, 2, 3]
    assert made.extract(Image(pixels, 255.0)) == pytest.approx(expected, rel=1e-5)


def test_grey_images_are_shown_in_three_channels(tmp_path):
    pixels = noise(9, 7)
    numbers = encoder(tmp_path).extract(Image(pixels, 255.0))
    assert numbers[1:] == pytest.approx(numbers[0] * np.array([2, 3]), rel=1e-5)


def test_a_model_of_one_channel_gets_colour_images_in_grey(tmp_path):
    model = averages(tmp_path / "grey.onnx", channels=1)
    pixels = noise(4, 4, 3)
    numbers = encoder(tmp_path, model, channels=1).extract(Image(pixels, 255.0))
    assert numbers == pytest.approx([Image(pixels, 255.0).grey().mean()], rel=1e-5)


def test_a_layout_with_channels_last(tmp_path):
    node = onnx.helper.make_node("ReduceMean", ["pixels"], ["features"], axes=[1, 2], keepdims=0)
    model = save(tmp_path / "last.onnx", [node], [("pixels", ["n", 4, 4, 3])], [("features", ["n", 3])])
    pixels = noise(4, 4, 3)
    numbers = encoder(tmp_path, model, layout="NHWC").extract(Image(pixels, 255.0))
    assert numbers == pytest.approx(pixels.mean(axis=(0, 1)) / 255.0, rel=1e-5)


@pytest.mark.parametrize("kind", [10, 11])
def test_other_precisions(tmp_path, kind):
    model = averages(tmp_path / "other.onnx", kind=kind)
    pixels = noise(4, 4, 3)
    numbers = encoder(tmp_path, model).extract(Image(pixels, 255.0))
    assert numbers == pytest.approx(pixels.mean(axis=(0, 1)) / 255.0 * [1, 2, 3], rel=2e-3)


def test_the_window_shows_hounsfield_units_and_leaves_other_images_alone(tmp_path):
    stored = np.full((4, 4), 1064, dtype=np.int16)
    stored[0, 0] = -2000
    values = ValueScale(intercept=-1024.0, unit="HU", padding=(-2000, -2000))
    made = encoder(tmp_path, window={"level": 40, "width": 400})
    numbers = made.extract(Image(stored, 4000.0, black=-1000.0, values=values))
    assert numbers[0] == pytest.approx(0.5 * 15 / 16, rel=1e-5)
    plain = np.full((4, 4), 51, dtype=np.uint8)
    assert made.extract(Image(plain, 255.0))[0] == pytest.approx(0.2, rel=1e-5)


@pytest.mark.parametrize("batch", ["n", 1, 3])
def test_together_or_one_by_one_they_are_the_same(tmp_path, batch):
    made = encoder(tmp_path, averages(tmp_path / "tiny.onnx", batch=batch))
    images = [Image(noise(5 + i, 6, 3, seed=i), 255.0) for i in range(7)]
    alone = np.stack([made.extract(image) for image in images])
    assert made.extract_many(images) == pytest.approx(alone, rel=1e-6)
    assert made.batch == (16 if batch == "n" else batch)


def test_a_region_is_the_image_cut_out(tmp_path):
    made, pixels = encoder(tmp_path), noise(60, 80)
    part = made.extract(Image(pixels, 255.0), Region(10, 20, 33, 27))
    assert (part == made.extract(Image(pixels[20:47, 10:43].copy(), 255.0))).all()
    with pytest.raises(BadInput):
        made.extract(Image(pixels, 255.0), Region(80, 0, 5, 5))


@pytest.mark.parametrize(("how", "pooled"), [("mean", np.mean), ("max", np.max)])
def test_volumes_are_pooled_over_their_slices(tmp_path, how, pooled):
    made = encoder(tmp_path, slices=how)
    voxels = noise(21, 6, 5)
    stack = ArrayStack(Volume(voxels))
    each = np.stack([made.extract(Image(one, 255.0)) for one in voxels])
    assert made.prepare_stack(stack) == pytest.approx(pooled(each, axis=0), rel=1e-5)
    some = made.prepare_stack(stack, Region(0, 0, 5, 6, z=18, depth=9))
    assert some == pytest.approx(pooled(each[18:], axis=0), rel=1e-5)
    with pytest.raises(BadInput, match="21 slices"):
        made.prepare_stack(stack, Region(0, 0, 5, 6, z=30, depth=2))


def _tokens(path):
    nodes = [
        onnx.helper.make_node("Reshape", ["pixels", "shape"], ["tokens"]),
        onnx.helper.make_node("GlobalMaxPool", ["pixels"], ["maps"]),
        onnx.helper.make_node("Identity", ["pixels"], ["grid"]),
    ]
    return save(
        path,
        nodes,
        [("pixels", ["n", 3, 4, 4])],
        [("tokens", ["n", 3, 16]), ("maps", ["n", 3, 1, 1]), ("grid", ["n", 3, 4, 4])],
        [("shape", np.array([0, 3, 16]))],
    )


@pytest.mark.parametrize(
    ("output", "reduce", "expected"),
    [
        ("tokens", "first", lambda p: p[:, :, 0].ravel()),
        ("tokens", "mean", lambda p: p.mean(axis=2).ravel()),
        ("maps", "none", lambda p: p.max(axis=(0, 1))),
        ("grid", "mean", lambda p: p.mean(axis=(0, 1))),
    ],
)
def test_the_output_and_how_it_becomes_one_row(tmp_path, output, reduce, expected):
    made = encoder(tmp_path, _tokens(tmp_path / "t.onnx"), output=output, reduce=reduce)
    pixels = noise(4, 4, 3)
    numbers = made.extract(Image(pixels, 255.0))
    assert numbers == pytest.approx(expected(pixels / 255.0), rel=1e-5)
    assert len(made.feature_names) == len(numbers)
    assert len({feature.name for feature in made.feature_names}) == len(numbers)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "has 3 outputs"),
        ({"output": "no"}, "no output 'no'"),
        ({"output": "tokens"}, "not one row"),
        ({"output": "grid", "reduce": "first"}, "not one row"),
        ({"output": "maps", "input_size": 8}, "settings say NCHW with 3 x 8 x 8"),
        ({"output": "maps", "channels": 1}, "settings say NCHW with 1 x 4 x 4"),
        ({"output": "maps", "layout": "NHWC"}, "settings say NHWC with 4 x 4 x 3"),
    ],
)
def test_an_input_that_does_not_fit_the_model_is_reported_before_any_image(tmp_path, values, says):
    made = encoder(tmp_path, _tokens(tmp_path / "t.onnx"), **values)
    with pytest.raises(BadInput, match=says) as caught:
        made.feature_names  # noqa: B018
    assert "t.onnx" in caught.value.message
    assert caught.value.hint


def _node(name, *, op="Identity", domain="", **attributes):
    return onnx.helper.make_node(op, ["pixels"], [name], domain=domain, **attributes)


def _two_inputs(path):
    node = onnx.helper.make_node("Add", ["pixels", "more"], ["out"])
    shape = ["n", 3, 4, 4]
    return save(path, [node], [("pixels", shape), ("more", shape)], [("out", shape)])


def _whole_numbers(path):
    shape = ["n", 3, 4, 4]
    return save(path, [_node("out")], [("pixels", shape, 7)], [("out", shape, 7)])


def _three_sides(path):
    return save(path, [_node("out")], [("pixels", ["n", 3, 4])], [("out", ["n", 3, 4])])


def _truth(path):
    return save(path, [_node("out", op="Not")], [("pixels", ["n", 3, 4, 4], 9)], [("out", None, 9)])


def _one_for_all(path):
    node = _node("out", op="ReduceMean", axes=[0, 2, 3], keepdims=0)
    return save(path, [node], [("pixels", ["n", 3, 4, 4])], [("out", [3])])


def _foreign(path):
    node = _node("out", op="Magic", domain="my.operations")
    shape = ["n", 3, 4, 4]
    return save(path, [node], [("pixels", shape)], [("out", shape)], domain="my.operations")


def _many(path):
    return averages(path, batch=64)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_two_inputs, "takes 2 inputs"),
        (_whole_numbers, r"tensor\(int64\)"),
        (_truth, r"tensor\(bool\)"),
        (_three_sides, "any x 3 x 4,"),
        (_one_for_all, "does not give one row per image"),
        (_foreign, "cannot be loaded"),
        (_many, "takes 64 images"),
    ],
)
def test_models_that_are_no_encoder_are_refused(tmp_path, make, says, capfd):
    made = encoder(tmp_path, make(tmp_path / "bad.onnx"))
    with pytest.raises(BadInput, match=says) as caught:
        made.feature_names  # noqa: B018
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    assert capfd.readouterr() == ("", "")


def test_no_finite_number_is_refused_by_name(tmp_path):
    nodes = [_node("logs", op="Log"), onnx.helper.make_node("GlobalAveragePool", ["logs"], ["out"])]
    model = save(tmp_path / "log.onnx", nodes, [("pixels", ["n", 3, 4, 4])], [("out", ["n", 3, 1, 1])])
    made = encoder(tmp_path, model)
    with pytest.raises(BadInput, match=r"no finite numbers for black\.png"):
        made.extract(Image(np.zeros((4, 4), np.uint8), 255.0, name="black.png"))
    pixels = np.full((4, 4), np.nan, np.float32)
    with pytest.raises(BadInput, match=r"scan7\.tif"):
        made.extract(Image(pixels, 1.0, name="scan7.tif"))


def test_weights_in_a_file_beside_it(tmp_path):
    averages(tmp_path / "big.onnx", external="big.bin")
    assert (tmp_path / "big.bin").is_file()
    pixels = noise(4, 4, 3)
    numbers = encoder(tmp_path, tmp_path / "big.onnx").extract(Image(pixels, 255.0))
    assert numbers == pytest.approx(pixels.mean(axis=(0, 1)) / 255.0 * [1, 2, 3], rel=1e-5)
    (tmp_path / "alone").mkdir()
    shutil.copy(tmp_path / "big.onnx", tmp_path / "alone")
    with pytest.raises(BadInput, match="are missing"):
        encoder(tmp_path, tmp_path / "alone" / "big.onnx")


def test_it_travels_to_a_worker_and_comes_again_from_its_settings(tmp_path):
    made, image = encoder(tmp_path), Image(noise(9, 9), 255.0)
    numbers = made.extract(image)
    assert (pickle.loads(pickle.dumps(made)).extract(image) == numbers).all()
    assert (make_extractor("onnx", **made.settings).extract(image) == numbers).all()


@pytest.mark.parametrize("what", ["model", "settings"])
def test_a_changed_file_is_another_encoder(tmp_path, what):
    made = encoder(tmp_path)
    if what == "model":
        averages(tmp_path / "tiny.onnx", batch=2)
    else:
        settings(tmp_path / "tiny.json", white=2)
    with pytest.raises(BadInput, match="have changed"):
        make_extractor("onnx", **made.settings)
    fresh = {name: made.settings[name] for name in ("model", "settings")}
    assert make_extractor("onnx", **fresh).settings["identity"] != made.settings["identity"]


def test_a_library_of_its_features(tmp_path):
    import_source(striped_folder(tmp_path / "images", n=20), tmp_path / "lib")
    given = {
        "model": str(averages(tmp_path / "tiny.onnx")),
        "settings": str(settings(tmp_path / "tiny.json")),
    }
    result = extract_features(tmp_path / "lib", "onnx", settings=given, workers=1)
    assert (result.extracted, result.failed, result.n_features) == (20, [], 3)
    with open_library(tmp_path / "lib") as library:
        feature_set = library.features.get("onnx")
        _, values = library.features.read(feature_set)
        assert np.ptp(values, axis=0).max() > 0
        assert len(str(feature_set.settings["identity"])) == 64
        assert feature_set.groups == ("tiny",) * 3
    again = extract_features(tmp_path / "lib", "onnx", settings=given, workers=1)
    assert (again.extracted, again.cases) == (0, 20)
    settings(tmp_path / "tiny.json", white=2)
    with pytest.raises(BadArguments, match="another extractor or other settings"):
        extract_features(tmp_path / "lib", "onnx", settings=given, workers=1)


def endless(path):
    """A chain of thousands of products of large matrices: minutes of work for four pixels."""
    node = onnx.helper.make_node
    nodes = [
        node("ReduceMean", ["pixels"], ["flat"], axes=[2, 3], keepdims=0),
        node("MatMul", ["flat", "a"], ["wide0"]),
        *(node("MatMul", [f"wide{i}", "b"], [f"wide{i + 1}"]) for i in range(5000)),
        node("ReduceMean", ["wide5000"], ["features"], axes=[1], keepdims=1),
    ]
    weights = [("a", np.ones((3, 1000), np.float32)), ("b", np.eye(1000, dtype=np.float32))]
    shape = ["n", 3, 4, 4]
    return save(path, nodes, [("pixels", shape)], [("features", ["n", 1])], weights)


@pytest.mark.slow
def test_an_encoder_that_takes_too_long_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("semblance.core.features.onnx_session.TIME_LIMIT_S", 0.2)
    with pytest.raises(BadInput, match=r"took more than 0\.2 s for 2 images"):
        encoder(tmp_path, endless(tmp_path / "slow.onnx")).extract(Image(noise(4, 4, 3), 255.0))


@pytest.mark.parametrize("operation", ["Loop", "If"])
def test_an_encoder_that_may_run_without_end_is_refused_before_it_is_loaded(tmp_path, operation):
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    body = onnx.helper.make_graph(
        [node("Identity", ["again"], ["still"])],
        "body",
        [value("i", 7, []), value("again", 9, [])],
        [value("still", 9, [])],
    )
    attributes = {"body": body} if operation == "Loop" else {"then_branch": body, "else_branch": body}
    model = save(
        tmp_path / "loop.onnx",
        [
            node("ReduceMean", ["pixels"], ["features"], axes=[2, 3], keepdims=0),
            node(operation, ["", "yes"] if operation == "Loop" else ["yes"], ["end"], **attributes),
        ],
        [("pixels", ["n", 3, 4, 4])],
        [("features", ["n", 3])],
        [("yes", np.array(True))],
    )
    with pytest.raises(BadInput, match=f"uses the operation {operation}, which can run without end"):
        encoder(tmp_path, model).extract(Image(noise(4, 4, 3), 255.0))
