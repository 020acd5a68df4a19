from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from PIL import Image

from semblance.core.workflows.reports.build_report_document import IMAGE_SIDE, _large_image


@pytest.mark.parametrize(
    ("burnt_in", "identified", "is_large"),
    [("", False, True), ("possible", False, False), ("yes", False, False), ("yes", True, True)],
)
def test_images_that_may_show_a_name_are_enlarged_only_in_identified_reports(
    tmp_path, burnt_in, identified, is_large
):
    path = tmp_path / "image.png"
    Image.new("L", (600, 600), 90).save(path)
    case = SimpleNamespace(
        address=path, region=None, attributes={"burnt_in_text": burnt_in} if burnt_in else {}
    )
    image = _large_image(case, identified=identified)
    assert (image is not None) == is_large
    if image is not None:
        assert Image.open(io.BytesIO(image)).size == (IMAGE_SIDE, IMAGE_SIDE)
