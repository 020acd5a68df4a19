"""Small ONNX encoders with known weights, and their settings files."""

from __future__ import annotations

import json

import numpy as np


def save(path, nodes, inputs, outputs, weights=(), *, domain="", external=None):
    """A model of ``nodes`` at ``path``; inputs and outputs are (name, shape), or (name, shape, type)."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def value(name, shape, kind=TensorProto.FLOAT):
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(
        nodes,
        "encoder",
        [value(*one) for one in inputs],
        [value(*one) for one in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in weights],
    )
    opsets = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if domain else [])]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    if external:
        onnx.save(model, str(path), save_as_external_data=True, location=external, size_threshold=0)
    else:
        onnx.save(model, str(path))
    return path


def averages(path, *, batch="n", size=4, channels=3, external=None, kind=1):
    """Means of each channel, times 1, 2, 3 ...: (n, channels)."""
    from onnx import helper

    dtype = {1: np.float32, 10: np.float16, 11: np.float64}[kind]
    nodes = [
        helper.make_node("ReduceMean", ["pixels"], ["flat"], axes=[2, 3], keepdims=0),
        helper.make_node("Mul", ["flat", "w"], ["features"]),
    ]
    weights = [("w", np.arange(1, channels + 1, dtype=dtype))]
    shape = [batch, channels, size, size]
    return save(
        path,
        nodes,
        [("pixels", shape, kind)],
        [("features", [batch, channels], kind)],
        weights,
        external=external,
    )


def mapped(path, *, size=4, channels=3):
    """Means of each channel as ``features``, the pixels themselves as ``map`` (n, channels, size, size), and as
    ``tokens`` (n, 1 + size * size, channels) behind a class token of their means."""
    from onnx import helper

    node = helper.make_node
    nodes = [
        node("ReduceMean", ["pixels"], ["features"], axes=[2, 3], keepdims=0),
        node("Identity", ["pixels"], ["map"]),
        node("Transpose", ["pixels"], ["last"], perm=[0, 2, 3, 1]),
        node("Reshape", ["last", "shape"], ["places"]),
        node("Unsqueeze", ["features", "axis"], ["class"]),
        node("Concat", ["class", "places"], ["tokens"], axis=1),
    ]
    square = ["n", channels, size, size]
    outputs = [("features", ["n", channels]), ("map", square), ("tokens", ["n", 1 + size * size, channels])]
    weights = [("shape", np.array([0, -1, channels])), ("axis", np.array([1]))]
    return save(path, nodes, [("pixels", square)], outputs, weights)


def transformer(path, *, size=16, patch=8, width=6, seed=0):
    """A vision transformer of one block: patches and a class token attend to each other; (n, tokens, width)."""
    from onnx import helper

    rng = np.random.default_rng(seed)
    tokens = (size // patch) ** 2
    weights = [
        ("patches", rng.normal(size=(width, 3, patch, patch)).astype(np.float32) / patch),
        ("shape", np.array([0, width, tokens])),
        ("token", rng.normal(size=(1, 1, width)).astype(np.float32)),
        ("query", rng.normal(size=(width, width)).astype(np.float32)),
        ("many", np.array([1, width])),
    ]
    nodes = [
        helper.make_node("Conv", ["pixels", "patches"], ["maps"], strides=[patch, patch]),
        helper.make_node("Reshape", ["maps", "shape"], ["rows"]),
        helper.make_node("Transpose", ["rows"], ["embedded"], perm=[0, 2, 1]),
        helper.make_node("Shape", ["embedded"], ["n"], start=0, end=1),
        helper.make_node("Concat", ["n", "many"], ["token_shape"], axis=0),
        helper.make_node("Expand", ["token", "token_shape"], ["class_token"]),
        helper.make_node("Concat", ["class_token", "embedded"], ["all"], axis=1),
        helper.make_node("MatMul", ["all", "query"], ["queries"]),
        helper.make_node("Transpose", ["all"], ["keys"], perm=[0, 2, 1]),
        helper.make_node("MatMul", ["queries", "keys"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["attention"], axis=2),
        helper.make_node("MatMul", ["attention", "all"], ["features"]),
    ]
    return save(
        path, nodes, [("pixels", ["n", 3, size, size])], [("features", ["n", tokens + 1, width])], weights
    )


def settings(path, **values):
    path.write_text(json.dumps({"input_size": 4} | values), encoding="utf-8")
    return path
