"""Random fields with a given spectrum: the grain of tissue, bone and detectors."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

Field = npt.NDArray[np.float32]

#: Fields are made larger by this factor and cropped, because a Fourier field wraps at its borders.
_MARGIN = 1.2


@functools.lru_cache(maxsize=8)
def _frequencies(height: int, width: int) -> tuple[Field, Field]:
    rows = np.fft.fftfreq(height).astype(np.float32)[:, None]
    columns = np.fft.fftfreq(width).astype(np.float32)[None, :]
    return rows, columns


def _unit(field: npt.NDArray[np.float32]) -> Field:
    centred = field - field.mean()
    return np.asarray(centred / (centred.std() + 1e-12), dtype=np.float32)


class Noise:
    """Fields of one image of ``shape``, every one with zero mean and unit variance.

    White noise is drawn once and shifted for each field, because drawing it for each would cost more than everything
    else.
    """

    def __init__(self, rng: np.random.Generator, shape: tuple[int, int]) -> None:
        from scipy.fft import next_fast_len

        self.shape = shape
        self._rng = rng
        self._padded = tuple(int(next_fast_len(int(side * _MARGIN))) for side in shape)
        white = rng.standard_normal((*self._padded, 2), dtype=np.float32)
        self._white = white.view(np.complex64)[..., 0]

    def cloudy(
        self,
        *,
        power: float = 3.0,
        stretch: float = 1.0,
        angle: float = 0.0,
        coarsest: float = 200.0,
        finest: float = 0.0,
    ) -> tuple[Field, Field]:
        """Two fields whose power falls as 1/f**power, as that of breast tissue does with power 3.

        ``stretch`` > 1 draws the grain out along ``angle`` (radians from the x axis). ``coarsest`` and
        ``finest`` are wavelengths in pixels beyond which the spectrum is flat, or cut off.

        Source: Burgess, Jacobson, Judy, "Human observer detection experiments with mammograms and
        power-law noise", Medical Physics 28 (2001), p. 419.
        """
        squared = self._squared(stretch, angle)
        amplitude = (squared + np.float32(1.0 / coarsest) ** 2) ** np.float32(-power / 4)
        if finest > 0:
            amplitude *= np.exp(np.float32(-0.5 * finest**2) * squared)
        return self._fields(amplitude)

    def grain(
        self, *, wavelength: float, octaves: float = 0.6, stretch: float = 1.0, angle: float = 0.0
    ) -> tuple[Field, Field]:
        """Two fields of one scale: a ring of ``octaves`` half-width about ``wavelength`` pixels."""
        squared = self._squared(stretch, angle) + np.float32(1e-12)
        tune = np.float32(0.5) * np.log2(squared * np.float32(wavelength**2))
        return self._fields(np.exp(np.float32(-0.5 / octaves**2) * tune**2))

    def _squared(self, stretch: float, angle: float) -> Field:
        rows, columns = _frequencies(*self._padded)
        cosine, sine = np.float32(np.cos(angle)), np.float32(np.sin(angle))
        along = (columns * cosine + rows * sine) * np.float32(stretch)
        across = rows * cosine - columns * sine
        return np.asarray(along * along + across * across, dtype=np.float32)

    def _fields(self, amplitude: Field) -> tuple[Field, Field]:
        from scipy.fft import ifft2

        amplitude[0, 0] = 0
        shift = (int(self._rng.integers(self._padded[0])), int(self._rng.integers(self._padded[1])))
        shaped = np.roll(self._white, shift, axis=(0, 1))
        shaped *= amplitude
        made = ifft2(shaped, overwrite_x=True)[: self.shape[0], : self.shape[1]]
        return _unit(made.real), _unit(made.imag)


def ridges(field: Field, width: float) -> Field:
    """Thin lines where ``field`` crosses zero, 1 on the line: sheets of tissue seen edge on."""
    return np.asarray(np.exp(-np.abs(field) / np.float32(width)), dtype=np.float32)


def blur(field: Field, sigma: float) -> Field:
    """``field`` blurred by a wide Gaussian, worked out on every fourth pixel."""
    from PIL import Image
    from scipy.ndimage import gaussian_filter

    height, width = field.shape
    small = Image.fromarray(field).resize((-(-width // 4), -(-height // 4)), Image.Resampling.BOX)
    blurred = gaussian_filter(np.asarray(small), sigma / 4, mode="nearest", truncate=3.0)
    return np.asarray(Image.fromarray(blurred).resize((width, height), Image.Resampling.BILINEAR))
