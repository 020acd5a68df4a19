from __future__ import annotations

import pytest

from semblance.core.errors import BadInput
from semblance.core.workflows.reports.embedded_search import _content


def test_an_image_that_is_gone_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"gone\.png' does not exist"):
        _content(tmp_path / "gone.png")
    (tmp_path / "one.png").write_bytes(b"abc")
    assert _content(tmp_path / "one.png").startswith("3-ba7816bf")
