from __future__ import annotations

import numpy as np
import pytest

from semblance.core.errors import BadInput
from semblance.core.imaging import open_image
from semblance.core.workflows.searches.pasted_image import save_pasted_image


@pytest.mark.parametrize("shape", [(30, 40), (30, 40, 3)])
def test_the_saved_image_has_the_pixels_of_the_clipboard(tmp_path, shape):
    pixels = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    path = save_pasted_image(tmp_path, pixels)
    assert path.is_relative_to(tmp_path)
    np.testing.assert_array_equal(np.squeeze(open_image(path).pixels), pixels)
    assert save_pasted_image(tmp_path, pixels) == path
    assert save_pasted_image(tmp_path, 255 - pixels) != path


def test_an_empty_image_is_refused(tmp_path):
    with pytest.raises(BadInput, match="0 x 5"):
        save_pasted_image(tmp_path, np.zeros((5, 0), np.uint8))
    assert not list(tmp_path.iterdir())
