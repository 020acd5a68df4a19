"""The encoder recognises what it was trained on, and each way of building or feeding it wrongly is caught."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import skimage.data
from PIL import Image as PILImage

from semblance.core.errors import BadInput
from semblance.core.features.encoder import efficientnet
from semblance.core.features.encoder.model_file import SETTINGS, encoder_session, installed_weights, measured
from semblance.core.features.encoder.self_test import check_encoder, colours
from semblance.core.features.encoder.state_dict import read_state_dict
from semblance.core.features.onnx_session import Session


@pytest.fixture(scope="module")
def weights():
    return read_state_dict(installed_weights())


def check(session):
    check_encoder(lambda images: measured(session, images))


@pytest.mark.parametrize(
    ("name", "classes", "chances"),
    [
        ("coffee", [967], [0.95]),
        ("camera", [872], [0.94]),
        ("chelsea", [282, 285, 281], [0.39, 0.36, 0.17]),
    ],
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


def test_the_encoder_as_it_is_passes():
    check(encoder_session())


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
