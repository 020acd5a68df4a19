"""The localizer: a scout of the study, else the plane across the slices."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.localizer import LocalizerView
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.slice_plane import SlicePlane
from semblance.core.workflows.imaging.find_localizer import Localizer
from semblance.core.workflows.imaging.view_images import view_file
from tests.helpers.dicom_files import ct_series
from tests.helpers.widgets import show_widget

pytestmark = pytest.mark.usefixtures("forget_volumes")


@pytest.fixture
def series(qtbot, jobs, tmp_path):
    """A pane with six slices, 2 mm from each other, and its localizer."""
    # Wider than the smallest level of an image, and that of a slice.
    paths = ct_series(tmp_path / "series", size=(24, 600), FrameOfReferenceUID="1.2.3")
    slices = ImageAddress(paths[0], slices=tuple(ImageAddress(path) for path in paths))
    pane = show_widget(qtbot, ImagePane(jobs), 300, 300)
    localizer = show_widget(qtbot, LocalizerView(jobs, pane), 92, 100)
    localizer.slice_requested.connect(pane.slices.go_to_slice)
    pane.show_viewed(view_file(slices), None, slices, None)
    localizer.begin()
    jobs.run_pending()
    return pane, localizer


def press(localizer, x, y):
    left, top = localizer._view.to_widget(x, y)
    QTest.mousePress(
        localizer,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
        QPoint(round(left) + 4, round(top) + 4),
    )


def test_the_plane_across_the_slices_grows_with_them_and_leads_to_a_slice(series):
    pane, localizer = series
    assert localizer.isVisible()
    assert np.isfinite(localizer._rows).all()
    upwards = pane.slices.facts.directions[0] == "S"
    for place in (0, 4):
        pane.slices.go_to_slice(place)
        height = 5.5 - place if upwards else place + 0.5
        assert [y for _, y in localizer.line()] == [height, height]
    press(localizer, 10, 1.5)
    assert pane.slices.place == (4 if upwards else 1)
    localizer.grab()


def test_a_scout_of_the_study_shows_the_line_of_the_slice(series):
    pane, localizer = series
    scout = SlicePlane((-20, -200, 15), (1, 0, 0), (0, 0, -1), (1, 1), "1.2.3", is_projection=True)
    localizer._job = job = object()
    localizer._receive(job, Localizer(pane.view.image, scout, 7))
    assert localizer.is_of_study
    pane.slices.go_to_slice(2)
    height = pane.slices.facts.location.height_of(2)
    assert [y for _, y in localizer.line()] == pytest.approx([15 - height + 0.5] * 2)
    localizer.grab()
