from __future__ import annotations

import io

import pytest
from PIL import Image

from semblance.core.reports.pdf_parts import ThumbnailBox


def encoded(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("L", (width, height), 90).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(("size", "taken"), [((384, 256), (120, 80)), ((256, 384), (80, 120))])
def test_a_fitted_image_takes_only_its_own_size(size, taken):
    assert ThumbnailBox(encoded(*size), 120, 120, fit_image=True).wrap(500, 500) == pytest.approx(taken)
    assert ThumbnailBox(encoded(*size), 120, 120).wrap(500, 500) == (120, 120)


def test_a_missing_image_keeps_its_place():
    assert ThumbnailBox(None, 120, 120, fit_image=True).wrap(500, 500) == (120, 120)
