"""Small copies of collections of mammograms."""

from __future__ import annotations

import numpy as np

from tests.helpers.bad_images import encoded, pattern

PNG = encoded(pattern(60, 50))


HEADER = (
    "patient_id,breast_density,left or right breast,image view,abnormality id,abnormality type,mass shape,"
    "mass margins,assessment,pathology,subtlety,image file path,cropped image file path,ROI mask file path"
)


def roi(*box):
    pixels = np.zeros((60, 50), np.uint8)
    x, y, width, height = box
    pixels[y : y + height, x : x + width] = 255
    return encoded(pixels)


def cbis_line(patient, number, pathology, *, swapped=False, view="CC"):
    name = f"Mass-Training_{patient}_LEFT_{view}"
    series = f"{name}_{number}/1.2/{patient}.4.{number}"
    crop, mask = f"{series}/000000.dcm", f"{series}/000001.dcm\n"
    if swapped:
        crop, mask = mask, crop
    image = f"{name}/1.2/{patient}.3/000000.dcm"
    cells = (patient, 3, "LEFT", view, number, "mass", "OVAL", "SPICULATED", 4, pathology, 4)
    return ",".join(map(str, cells)) + f',{image},"{crop}","{mask}"'


def cbis_files(patient, number, box, view="CC"):
    name = f"Mass-Training_{patient}_LEFT_{view}"
    return {
        f"jpeg/{name}/1.2/{patient}.3/000000.png": PNG,
        f"jpeg/{name}_{number}/1.2/{patient}.4.{number}/000000.png": encoded(pattern(8, 8)),
        f"jpeg/{name}_{number}/1.2/{patient}.4.{number}/000001.png": roi(*box),
    }


def breast(height=200, width=140, seed=0):
    """(height, width) float32 of 0 to 1: a left breast, its chest wall at the left side."""
    y, x = np.mgrid[:height, :width]
    inside = ((y - height / 2) / (0.45 * height)) ** 2 + (x / (0.7 * width)) ** 2 < 1
    noise = np.random.default_rng(seed).normal(0, 0.03, (height, width))
    return np.clip(inside * (0.6 + noise), 0, 1).astype(np.float32)
