"""Print the table of core/features/encoder/activation_ranges.py: ``python -m tests.encoder_ranges``.

What the last convolution of each block and its sum with the input give, least and most, for the photographs, slides,
retinas and textures that come with scikit-image and scikit-learn and for generated images: noise, smooth shades and
the images the encoder is checked with. None of them is an image that Semblance is measured on. Each is shown whole,
in quarters, and in grey.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import skimage.data
import sklearn.datasets
from PIL import Image as PILImage
from scipy.ndimage import gaussian_filter

from semblance.core.features.encoder import model_file
from semblance.core.features.encoder.efficientnet import SIDE, onnx_model
from semblance.core.features.encoder.model_file import Bytes, colours, disc, ramp

BATCH = 4
#: The share of a batch's numbers that may lie below the range, and above: the range is finer without single peaks.
LEFT_OUT = 1e-4


def main() -> None:
    """Print the table."""
    import onnx
    import onnxruntime

    model = onnx.load_from_string(onnx_model(model_file.read_state_dict(model_file.installed_weights())))
    wanted = [
        node.output[0]
        for node in model.graph.node
        if node.output[0].endswith(("._project_conv", "._project_conv.sum"))
    ]
    del model.graph.output[:]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in wanted)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    low, high = np.full(len(wanted), np.inf), np.full(len(wanted), -np.inf)
    images = list(shown())
    for start in range(0, len(images), BATCH):
        pixels = model_file._network_input(images[start : start + BATCH]).transpose(0, 3, 1, 2)
        maps = session.run(wanted, {"pixels": np.ascontiguousarray(pixels)})
        found = np.array([np.quantile(one, (LEFT_OUT, 1.0 - LEFT_OUT), method="nearest") for one in maps])
        low, high = np.minimum(low, found[:, 0]), np.maximum(high, found[:, 1])
    print(f"# {len(images)} images")
    for name, least, most in zip(wanted, low, high, strict=True):
        print(f'    "{name}": ({least:.3f}, {most:.3f}),')


def shown() -> Iterator[Bytes]:
    """All images, (224, 224, 3)."""
    for pixels in (*photographs(), *generated()):
        whole = PILImage.fromarray(pixels).convert("RGB")
        width, height = whole.size
        for left in (0, width // 2):
            for top in (0, height // 2):
                yield small(whole.crop((left, top, left + width // 2, top + height // 2)))
        yield small(whole)
        yield small(whole.convert("L").convert("RGB"))


def small(image: PILImage.Image) -> Bytes:
    """As the encoder is shown it."""
    return np.asarray(image.resize((SIDE, SIDE), PILImage.Resampling.BICUBIC))


def photographs() -> Iterator[Bytes]:
    """The pictures in the folders of the two packages."""
    folders = (Path(skimage.data.__file__).parent, Path(sklearn.datasets.__file__).parent / "images")
    for file in sorted(path for folder in folders for path in folder.iterdir()):
        if file.suffix in (".png", ".jpg"):
            yield np.asarray(PILImage.open(file).convert("RGB"))


def generated() -> Iterator[Bytes]:
    """Noise, shades of several sizes in grey and colour, and the known images."""
    rng = np.random.default_rng(0)
    yield from (ramp(), disc(), colours())
    for channels in (1, 3):
        noise = rng.normal(size=(SIDE, SIDE, channels))
        for size in (0, 1, 2, 4, 8, 16, 32):
            shades = np.stack(
                [
                    gaussian_filter(noise[..., one], size) if size else noise[..., one]
                    for one in range(channels)
                ]
            )
            shades = np.clip(127.5 + 64.0 * shades / shades.std(), 0, 255).astype(np.uint8)
            yield np.repeat(shades, 3 // channels, axis=0).transpose(1, 2, 0)


if __name__ == "__main__":
    main()
