"""Results in words have their unit and say how they are known."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.imaging.image import Calibration, Image, ValueScale
from semblance.core.imaging.measurements import Figure, measure
from semblance.core.imaging.region import Region
from semblance.core.reports.measurement_text import label_lines, results_of, source_text

PIXELS = np.array([[0, 1, 2, 3]] * 4, np.int16)
REGION, LINE = Figure.of_region(Region(0, 0, 4, 4)), Figure("line", ((0, 0), (3, 4)))


def image(source="", colour=False):
    if colour:
        return Image(np.full((4, 4, 3), 128, np.uint8), 255.0)
    known = (Calibration(0.5, 0.5, source),) if source else ()
    return Image(PIXELS, 4095.0, calibrations=known, values=ValueScale(2.0, -20.0, "HU"))


@pytest.mark.parametrize(
    ("shown", "figure", "expected"),
    [
        (image("patient"), LINE, ("2.5 mm",)),
        (image("detector"), LINE, ("2.5 mm at the detector",)),
        (image("film"), LINE, ("2.5 mm on the film",)),
        (image("aspect"), LINE, ("5.0 px",)),
        (image(), Figure("probe", ((0.5, 0.5),)), ("−20 HU",)),
        (image(), Figure("angle", ((0, 3), (0, 0), (3, 0))), ("90.0°",)),
        (image("ultrasound"), REGION, ("Mean −17 HU  SD 2.24", "Min −20  Max −14", "4 mm²")),
        (image(colour=True), REGION, ("Luminance 128  SD 0", "Min 128  Max 128", "16 px²")),
    ],
)
def test_lines_beside_a_figure(shown, figure, expected):
    assert label_lines(figure, measure(shown, figure)) == expected


def test_results_have_keys_for_files_and_padding_alone_has_none():
    found = {one.key: (one.value, one.unit) for one in results_of(measure(image("magnification"), REGION))}
    assert found["mean"] == (-17, "HU")
    assert found["area"] == (4, "mm²")
    assert str(source_text(measure(image("magnification"), REGION))) == "corrected for magnification"
    padded = Image(PIXELS, 3.0, values=ValueScale(padding=(0.0, 3.0)))
    assert label_lines(REGION, measure(padded, REGION)) == ("Only padding",)
