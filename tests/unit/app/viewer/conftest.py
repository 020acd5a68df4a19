from __future__ import annotations

import pytest

from semblance.app.viewer.image_view import ImageView
from tests.helpers.image_views import grey
from tests.helpers.showing import on_screen


@pytest.fixture
def view(qtbot):
    widget = on_screen(qtbot, ImageView(), 320, 330)
    widget.show_image(grey())
    return widget
