from __future__ import annotations

import pytest

from app.viewer.picture_view import PictureView
from tests.helpers.picture_views import grey


@pytest.fixture
def view(qtbot):
    widget = PictureView()
    qtbot.addWidget(widget)
    widget.resize(320, 330)
    widget.show()
    widget.show_picture(grey())
    return widget
