from __future__ import annotations

import pytest

from semblance.app.viewer.picture_view import PictureView
from tests.helpers.picture_views import grey
from tests.helpers.showing import on_screen


@pytest.fixture
def view(qtbot):
    widget = on_screen(qtbot, PictureView(), 320, 330)
    widget.show_picture(grey())
    return widget
