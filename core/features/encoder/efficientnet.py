"""EfficientNet-Lite0 as an ONNX graph.

M. Tan and Q. V. Le, "EfficientNet: Rethinking model scaling for convolutional neural networks", ICML 2019;
"Lite" leaves out squeeze-and-excitation and uses ReLU6. The network was trained in TensorFlow, hence padding
"SAME" (at stride 2 the extra row and column go below and to the right) and an epsilon of 1e-3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from semblance.core.features.encoder.activation_ranges import RANGES

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

#: Sides of the input, and how many numbers an image gives.
SIDE, WIDTH = 224, 1280
PADDING = "SAME_UPPER"
STEM_STRIDE = 2
#: (repeats, kernel, stride of the first, expansion) of each stage of blocks.
STAGES = ((1, 3, 1, 1), (2, 3, 2, 6), (2, 5, 2, 6), (3, 3, 2, 6), (3, 5, 1, 6), (4, 5, 2, 6), (1, 3, 1, 6))
EPSILON = 1e-3
#: Blocks (from 0) whose maps are averaged for the levels; the head follows them.
LEVELS = (2, 4, 7, 10, 14)
#: How many numbers their maps have at a pixel, the head's last; each is averaged in two ways.
LEVEL_CHANNELS = (24, 40, 80, 112, 192, WIDTH)
LEVEL_WIDTH = 2 * sum(LEVEL_CHANNELS)
#: The block whose map describes places: GRID x GRID places of PLACE_WIDTH numbers.
PLACE_BLOCK, GRID, PLACE_WIDTH = 10, 14, 112
#: The exponent of the generalised mean (Radenovic et al. 2019), and the least value that is averaged.
EXPONENT, LEAST = 3.0, 1e-6
_OPSET, _IR_VERSION = 17, 8
#: What a pixel of the input is multiplied with to be 0 to 255 again, and what is added then.
_PIXEL_SCALE, _PIXEL_ZERO = 1.0 / 128.0, 127
#: The largest weight in 8 bits, and the largest sum of two neighbours. Processors without instructions for 8 bits add
#: the products of two weights with numbers up to 255 in 16 bits; a larger sum would overflow there, so that the numbers
#: would differ between processors.
_LARGEST_WEIGHT, _LARGEST_PAIR = 127, 128
_RELU6 = (0.0, 6.0)

Weights = Mapping[str, npt.NDArray[Any]]


def onnx_model(weights: Weights, *, eight_bit: bool = False) -> bytes:
    """The network as an ONNX file. ``pixels`` (n, 3, 224, 224) give ``features`` (n, 1280), the averages of the head;
    ``levels`` (n, LEVEL_WIDTH): of each block of :data:`LEVELS` and of the head the mean and the generalised mean, as
    they come; ``places`` (n, 112, 14, 14) of :data:`PLACE_BLOCK`; ``head`` (n, 1280, 7, 7); the maps of the other
    levels by the names of :func:`level_map`. An output that is not asked for costs nothing.

    ``weights`` has the names of the package efficientnet_lite_pytorch. Batch normalisation is folded into the
    convolutions; the classifier is left out.

    ``eight_bit``: the convolutions calculate in 8 bits, with the ranges of
    :data:`semblance.core.features.encoder.activation_ranges.RANGES`; outputs have the same names and shapes.

    Raises:
        KeyError, ValueError: weights of another network.
    """
    from onnx import TensorProto, helper

    graph = _EightBitGraph(weights) if eight_bit else _Graph(weights)
    last = graph.start("pixels")
    blocks: list[str] = []
    for layer in _layers():
        last = graph.add(layer, last)
        if layer.last:
            blocks.append(graph.as_floats(last) if len(blocks) in LEVELS else last)
    last = graph.as_floats(last)
    graph.nodes += [
        helper.make_node("GlobalAveragePool", [last], ["averages"]),
        helper.make_node("Flatten", ["averages"], ["features"]),
        helper.make_node("Identity", [last], ["head"]),
        *(helper.make_node("Identity", [blocks[level]], [level_map(level)]) for level in LEVELS),
    ]
    graph.add_levels([blocks[level] for level in LEVELS], last)
    made = helper.make_graph(
        graph.nodes,
        "EfficientNet-Lite0",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["n", 3, SIDE, SIDE])],
        [
            helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", WIDTH]),
            helper.make_tensor_value_info("levels", TensorProto.FLOAT, ["n", LEVEL_WIDTH]),
            helper.make_tensor_value_info("places", TensorProto.FLOAT, ["n", PLACE_WIDTH, GRID, GRID]),
            helper.make_tensor_value_info("head", TensorProto.FLOAT, ["n", WIDTH, GRID // 2, GRID // 2]),
            *(
                helper.make_tensor_value_info(
                    level_map(level), TensorProto.FLOAT, ["n", channels, "rows", "columns"]
                )
                for level, channels in zip(LEVELS, LEVEL_CHANNELS, strict=False)
                if level != PLACE_BLOCK
            ),
        ],
        graph.tensors,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    return bytes(model.SerializeToString(deterministic=True))


def level_map(block: int) -> str:
    """The output of the network that is the map of one of :data:`LEVELS`."""
    return "places" if block == PLACE_BLOCK else f"block {block}"


def random_weights(like: Weights) -> dict[str, npt.NDArray[Any]]:
    """Weights of the same shapes as ``like``, always the same: normal, of variance 2 / inputs (He et al. 2015), and
    a batch normalisation that changes nothing."""
    rng = np.random.default_rng(0)
    fixed = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0 - EPSILON}
    found: dict[str, npt.NDArray[Any]] = {}
    for name, array in sorted(like.items()):
        if array.ndim == 4:
            deviation = np.sqrt(2.0 / np.prod(array.shape[1:]))
            found[name] = rng.normal(0.0, deviation, array.shape).astype(np.float32)
        else:
            found[name] = np.full(array.shape, fixed.get(name.rpartition(".")[2], 0.0), dtype=np.float32)
    return found


@dataclass(frozen=True)
class _Layer:
    """A convolution with its batch normalisation; ``start`` and ``end`` mark a block whose input is added,
    ``last`` the end of any block."""

    convolution: str
    norm: str
    stride: int = 1
    activation: bool = True
    start: bool = False
    end: bool = False
    last: bool = False


def _layers() -> Iterator[_Layer]:
    yield _Layer("_conv_stem", "_bn0", STEM_STRIDE)
    number = 0
    for repeats, _kernel, first_stride, expansion in STAGES:
        for repeat in range(repeats):
            block, stride = f"_blocks.{number}.", first_stride if repeat == 0 else 1
            number += 1
            if expansion > 1:
                yield _Layer(f"{block}_expand_conv", f"{block}_bn0", start=True)
            yield _Layer(f"{block}_depthwise_conv", f"{block}_bn1", stride, start=expansion == 1)
            yield _Layer(f"{block}_project_conv", f"{block}_bn2", activation=False, end=repeat > 0, last=True)
    yield _Layer("_conv_head", "_bn1")


class _Graph:
    def __init__(self, weights: Weights) -> None:
        from onnx import numpy_helper

        self._weights = weights
        self._block_input = ""
        self.nodes: list[NodeProto] = []
        self.tensors: list[TensorProto] = [
            numpy_helper.from_array(np.array(0, dtype=np.float32), "zero"),
            numpy_helper.from_array(np.array(6, dtype=np.float32), "six"),
            numpy_helper.from_array(np.array(LEAST, dtype=np.float32), "least"),
            numpy_helper.from_array(np.array(EXPONENT, dtype=np.float32), "exponent"),
            numpy_helper.from_array(np.array(1.0 / EXPONENT, dtype=np.float32), "root"),
        ]

    def start(self, pixels: str) -> str:
        """The name of what the first layer is given."""
        return pixels

    def as_floats(self, name: str) -> str:
        """The name of the same numbers, as the outputs need them."""
        return name

    def add(self, layer: _Layer, given: str) -> str:
        """The name of what the layer gives."""
        from onnx import helper, numpy_helper

        if layer.start:
            self._block_input = given
        kernel, bias = self._folded(layer)
        name = layer.convolution
        depthwise = kernel.shape[1] == 1 and kernel.shape[0] > 1
        self.tensors += [
            numpy_helper.from_array(kernel, f"{name}.kernel"),
            numpy_helper.from_array(bias, f"{name}.bias"),
        ]
        self.nodes.append(
            helper.make_node(
                "Conv",
                [given, f"{name}.kernel", f"{name}.bias"],
                [name],
                kernel_shape=kernel.shape[2:],
                strides=[layer.stride, layer.stride],
                auto_pad=PADDING,
                group=kernel.shape[0] if depthwise else 1,
            )
        )
        if layer.activation:
            self.nodes.append(helper.make_node("Clip", [name, "zero", "six"], [f"{name}.relu6"]))
            return f"{name}.relu6"
        if layer.end:
            self.nodes.append(helper.make_node("Add", [name, self._block_input], [f"{name}.sum"]))
            return f"{name}.sum"
        return name

    def add_levels(self, blocks: Sequence[str], head: str) -> None:
        """Put the means of ``blocks`` and ``head`` side by side as ``levels``, each with its generalised mean."""
        from onnx import helper

        parts = []
        for number, name in enumerate((*blocks, head)):
            mean, above, power, powers, pooled = (
                f"level{number}.{part}" for part in ("m", "a", "p", "s", "g")
            )
            self.nodes += [
                helper.make_node("GlobalAveragePool", [name], [mean]),
                helper.make_node("Clip", [name, "least"], [above]),
                helper.make_node("Pow", [above, "exponent"], [power]),
                helper.make_node("GlobalAveragePool", [power], [powers]),
                helper.make_node("Pow", [powers, "root"], [pooled]),
            ]
            parts += [mean, pooled]
        self.nodes += [
            helper.make_node("Concat", parts, ["level averages"], axis=1),
            helper.make_node("Flatten", ["level averages"], ["levels"]),
        ]

    def _folded(self, layer: _Layer) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """The kernel (out, in, h, w) and bias (out,) that convolve and normalise in one."""
        kernel = self._weights[f"{layer.convolution}.weight"].astype(np.float64)
        gamma, beta, mean, variance = (
            self._weights[f"{layer.norm}.{part}"].astype(np.float64)
            for part in ("weight", "bias", "running_mean", "running_var")
        )
        scale = gamma / np.sqrt(variance + EPSILON)
        folded = kernel * scale[:, np.newaxis, np.newaxis, np.newaxis]
        return folded.astype(np.float32), (beta - mean * scale).astype(np.float32)


class _EightBitGraph(_Graph):
    """Every map is in 8 bits from 0, with a step and a zero of its own; weights have a step for each channel.

    B. Jacob et al., "Quantization and training of neural networks for efficient integer-arithmetic-only inference",
    CVPR 2018, equations 1 to 5.
    """

    def __init__(self, weights: Weights) -> None:
        super().__init__(weights)
        self._steps: dict[str, float] = {}

    def start(self, pixels: str) -> str:
        """The pixels as they were before they were scaled, which loses nothing."""
        return self._in_eight_bits(pixels, "pixels.bytes", _PIXEL_SCALE, _PIXEL_ZERO)

    def as_floats(self, name: str) -> str:
        """The name of the same numbers as floats."""
        from onnx import helper

        found = f"{name}.{len(self.nodes)}.floats"
        self.nodes.append(helper.make_node("DequantizeLinear", [name, *self._step_of(name)], [found]))
        return found

    def add(self, layer: _Layer, given: str) -> str:
        """The name of what the layer gives."""
        from onnx import helper, numpy_helper

        if layer.start:
            self._block_input = given
        kernel, bias = self._folded(layer)
        name = layer.convolution
        made = f"{name}.relu6" if layer.activation else name
        depthwise = kernel.shape[1] == 1 and kernel.shape[0] > 1
        steps = _weight_steps(kernel, bias, self._steps[given])
        small = np.rint(kernel / steps[:, np.newaxis, np.newaxis, np.newaxis])
        in_sums = np.rint(bias.astype(np.float64) / (steps.astype(np.float64) * self._steps[given]))
        self._set_step(made, *_step_and_zero(*(_RELU6 if layer.activation else RANGES[made])))
        self.tensors += [
            numpy_helper.from_array(small.astype(np.int8), f"{name}.kernel"),
            numpy_helper.from_array(steps, f"{name}.kernel.step"),
            numpy_helper.from_array(np.zeros(len(small), dtype=np.int8), f"{name}.kernel.zero"),
            numpy_helper.from_array(in_sums.astype(np.int32), f"{name}.bias"),
        ]
        weights = [f"{name}.kernel", f"{name}.kernel.step", f"{name}.kernel.zero"]
        self.nodes.append(
            helper.make_node(
                "QLinearConv",
                [given, *self._step_of(given), *weights, *self._step_of(made), f"{name}.bias"],
                [made],
                kernel_shape=kernel.shape[2:],
                strides=[layer.stride, layer.stride],
                auto_pad=PADDING,
                group=kernel.shape[0] if depthwise else 1,
            )
        )
        if not layer.end:
            return made
        both = [self.as_floats(made), self.as_floats(self._block_input)]
        self.nodes.append(helper.make_node("Add", both, [f"{name}.sum.floats"]))
        return self._in_eight_bits(
            f"{name}.sum.floats", f"{name}.sum", *_step_and_zero(*RANGES[f"{name}.sum"])
        )

    def _in_eight_bits(self, floats: str, name: str, step: float, zero: int) -> str:
        from onnx import helper

        self._set_step(name, step, zero)
        self.nodes.append(helper.make_node("QuantizeLinear", [floats, *self._step_of(name)], [name]))
        return name

    def _set_step(self, name: str, step: float, zero: int) -> None:
        from onnx import numpy_helper

        self._steps[name] = float(np.float32(step))
        self.tensors += [
            numpy_helper.from_array(np.array(step, dtype=np.float32), f"{name}.step"),
            numpy_helper.from_array(np.array(zero, dtype=np.uint8), f"{name}.zero"),
        ]

    def _step_of(self, name: str) -> list[str]:
        return [f"{name}.step", f"{name}.zero"]


def _step_and_zero(low: float, high: float) -> tuple[float, int]:
    """The difference of two neighbours of the 256 numbers from ``low`` to ``high``, and which of them is 0."""
    step = (high - low) / 255.0
    return step, round(-low / step)


def _weight_steps(
    kernel: npt.NDArray[np.float32], bias: npt.NDArray[np.float32], step: float
) -> npt.NDArray[np.float32]:
    """(out,) the step between two weights of each channel, which is given numbers in steps of ``step``."""
    rows = kernel.reshape(len(kernel), -1).astype(np.float64)
    steps = np.abs(rows).max(axis=1) / _LARGEST_WEIGHT
    if kernel.shape[1] > 1:
        # Of 1 x 1 the neighbours are known; the others may be stored in another order, so any two may be.
        signs = [np.maximum(rows, 0.0), np.maximum(-rows, 0.0)]
        if kernel.shape[2:] != (1, 1):
            signs = [np.sort(one, axis=1)[:, -2:] for one in signs]
        pairs = np.max([(one[:, 1:] + one[:, :-1]).max(axis=1) for one in signs], axis=0)
        # Rounding adds up to a half to each of the two.
        steps = np.maximum(steps, pairs / (_LARGEST_PAIR - 1))
    # A channel that hardly sees its input has a bias that would need more than 32 bits.
    least = np.maximum(np.abs(bias.astype(np.float64)) / (step * 2.0**30), 1e-12)
    found: npt.NDArray[np.float32] = np.maximum(steps, least).astype(np.float32)
    return found
