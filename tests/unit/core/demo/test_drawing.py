from __future__ import annotations

import numpy as np
import pytest

from semblance.core.demo.drawing import Noise, Strokes, blur, path, random_curve, smooth, tube
from semblance.core.demo.mammogram import SIZE, Lesion, breast, breast_of, image, mass, mass_of


def test_noise_power_falls_with_the_given_exponent() -> None:
    field, other = Noise(np.random.default_rng(1), (256, 256)).cloudy(power=3.0, coarsest=1e6)
    assert field.std() == pytest.approx(1.0, abs=1e-3)
    assert abs(np.corrcoef(field.ravel(), other.ravel())[0, 1]) < 0.6
    window = np.hanning(256)
    power = np.abs(np.fft.fft2(field * window[:, None] * window[None, :])) ** 2
    radius = np.hypot(*np.meshgrid(np.fft.fftfreq(256), np.fft.fftfreq(256)))
    rings = [(0.02, 0.04), (0.04, 0.08), (0.08, 0.16), (0.16, 0.32)]
    means = [power[(radius >= low) & (radius < high)].mean() for low, high in rings]
    slope = np.polyfit(np.log(np.mean(rings, axis=1)), np.log(means), 1)[0]
    assert slope == pytest.approx(-3.0, abs=0.4)


def test_a_straight_stroke_has_the_given_height_and_stays_in_place() -> None:
    strokes = Strokes((64, 64))
    strokes.add(np.array([[8.0, 31.0], [56.0, 31.0]]), 1.1, 0.5)
    drawn = strokes.drawn()
    assert drawn[31, 32] == pytest.approx(0.5, rel=0.1)
    assert drawn[31, 32] > drawn[29, 32] > drawn[25, 32]
    assert drawn[40:].max() < 1e-3


def test_a_dark_stroke_is_negative() -> None:
    strokes = Strokes((32, 32))
    strokes.add(np.array([[4.0, 16.0], [28.0, 16.0]]), 1.0, -1.0)
    assert strokes.drawn().min() == pytest.approx(-1.0, rel=0.15)


def test_strokes_off_the_image_are_harmless() -> None:
    strokes = Strokes((16, 16))
    strokes.add(np.array([[-50.0, -50.0], [-20.0, 400.0]]), 2.0, 1.0)
    strokes.dots(np.array([[99.0, 99.0]]), 1.0, 1.0)
    strokes.add(np.array([[3.0, 3.0], [3.1, 3.0]]), 1.0, 1.0)
    assert strokes.drawn().max() == 0.0


def test_random_curves_have_the_requested_length() -> None:
    points = random_curve(np.random.default_rng(2), (1.0, 2.0), 0.3, 40.0, 0.5)
    assert points[0].tolist() == [1.0, 2.0]
    assert np.hypot(*np.diff(points, axis=0).T).sum() == pytest.approx(40.0)


def test_outlines_pass_through_their_corners() -> None:
    corners = [(0.0, 0.0), (1.0, 0.2), (1.2, 1.0), (0.1, 0.8)]
    assert np.allclose(smooth(corners, n=6)[::6], corners)
    assert np.allclose(smooth(corners[:2], corners[2:], n=6), smooth(corners, n=6))
    assert np.allclose(path(corners, n=6)[::6], corners)
    around = tube(path([(0.0, 0.0), (0.0, 1.0)]), [0.1, 0.2])
    assert np.abs(around[:, 0]).max() == pytest.approx(0.2, abs=0.01)


def test_softened_keeps_the_mean() -> None:
    field = np.random.default_rng(3).random((50, 67)).astype(np.float32)
    assert blur(field, 10).mean() == pytest.approx(field.mean(), abs=0.01)
    assert blur(field, 10).shape == field.shape


def test_views_of_one_mass_share_it_and_differ() -> None:
    lesion = Lesion(4, 1, left=True, malignant=True)
    assert mass_of(7, lesion) == mass_of(7, lesion)
    views = [
        image(np.random.default_rng(n), breast_of(7, 4), mass_of(7, lesion), view=view, left=True)
        for n, view in enumerate(("CC", "MLO"))
    ]
    assert views[0].shape == views[1].shape == (SIZE, SIZE)
    assert not np.array_equal(*views)


def test_the_findings_differ_but_overlap() -> None:
    rng = np.random.default_rng(5)
    benign = [mass(rng, malignant=False) for _ in range(200)]
    malignant = [mass(rng, malignant=True) for _ in range(200)]
    assert np.median([m.spicules for m in malignant]) > 3 * np.median([m.spicules for m in benign]) + 5
    assert max(m.spicules for m in benign) > min(m.spicules for m in malignant)
    assert max(m.irregularity for m in benign) > min(m.irregularity for m in malignant)


def test_breasts_vary_in_density() -> None:
    rng = np.random.default_rng(6)
    densities = [breast(rng).density for _ in range(100)]
    assert min(densities) < 0.2
    assert max(densities) > 0.7
