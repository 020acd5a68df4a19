from __future__ import annotations

import pytest

from semblance.app.viewer.image_view import ImageView
from tests.helpers.image_views import random_image
from tests.helpers.widgets import show_widget


@pytest.fixture
def view(qtbot):
    widget = show_widget(qtbot, ImageView(), 320, 330)
    widget.show_image(random_image())
    return widget
