"""A click in a mass becomes its outline, unless something else is shown by then."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from semblance.app.search.query.outline_mass import outline_mass
from semblance.app.viewer.image_view import ImageView
from semblance.app.viewer.tools import BRUSH
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.imaging.region import Region
from semblance.core.workflows.imaging.view_images import view_file


@pytest.fixture
def disc(tmp_path):
    y, x = np.mgrid[:120, :150]
    pixels = np.where((x - 90) ** 2 + (y - 50) ** 2 < 20**2, 190, 60)
    path = tmp_path / "disc.png"
    noisy = pixels + np.random.default_rng(3).normal(0, 6, pixels.shape)
    Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path)
    return path


@pytest.fixture
def view(qtbot, disc):
    widget = ImageView()
    qtbot.addWidget(widget)
    widget.show_image(view_file(disc).image)
    return widget


@pytest.mark.parametrize(
    ("where", "overlap"), [((92, 48), 0.85), (Region(62, 24, 56, 54), 0.93)], ids=["click", "rectangle"]
)
def test_the_mass_becomes_the_region_and_can_be_undone(context, view, disc, where, overlap):
    job = outline_mass(context, view, None, ImageAddress(disc), None, where)
    assert job.running
    context.jobs.run_pending()
    mask = view.region.region.mask(120, 150)
    truth = np.hypot(*(np.mgrid[:120, :150] - np.array([50, 90])[:, None, None])) < 20
    assert 2 * (mask & truth).sum() / (mask.sum() + truth.sum()) > overlap
    view.region.undo()
    assert view.region.region is None


def test_outline_of_an_earlier_image_is_dropped(context, view, disc):
    outline_mass(context, view, None, ImageAddress(disc), None, (92, 48))
    view.show_image(view_file(disc).image)
    context.jobs.run_pending()
    assert view.region.region is None


def test_missing_image_shows_an_error(context, view, disc):
    disc.unlink()
    outline_mass(context, view, None, ImageAddress(disc), None, (92, 48))
    context.jobs.run_pending()
    assert view.region.region is None
    assert [message.level for message in context.messages.history] == ["error"]


@pytest.mark.parametrize("what", ["flat", "noise", "slope"])
def test_where_nothing_has_an_outline_a_message_says_so_and_offers_the_brush(context, view, disc, what):
    noise = np.random.default_rng(1).integers(0, 256, (120, 150))
    slope = np.linspace(20, 200, 150)[None, :].repeat(120, axis=0)
    pixels = {"flat": np.full((120, 150), 60), "noise": noise, "slope": slope}[what]
    Image.fromarray(pixels.astype(np.uint8)).save(disc)
    outline_mass(context, view, None, ImageAddress(disc), None, (92, 48))
    context.jobs.run_pending()
    assert view.region.region is None
    (message,) = context.messages.history
    assert message.level == "warning"
    assert message.what.startswith("No outline was found")
    ((text, use),) = message.actions
    assert text == "Use the brush"
    use()
    assert view.pointer.tool == BRUSH
