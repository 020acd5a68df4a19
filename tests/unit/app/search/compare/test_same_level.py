"""Two volumes scroll together by content, by position, by hand, or alone, and the button says which."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtWidgets import QPushButton

from semblance.app.search.compare import same_level
from semblance.app.search.compare.same_level import SameLevel, VolumePair
from semblance.app.viewer.image_pane import ImagePane
from semblance.app.viewer.linked_panes import LinkedPanes
from semblance.app.viewer.linking import LevelLink
from semblance.core.errors import BadInput
from semblance.core.imaging.image_address import ImageAddress
from semblance.core.retrieval.slice_alignment import Alignment, no_alignment
from semblance.core.workflows.imaging.view_images import view_file
from tests.helpers.widgets import show_widget


def _levels(first, last, shift, confidence=0.8):
    slices = np.arange(first, last)
    return Alignment(slices, slices + float(shift), 20, 20, False, 0.9, confidence)


@pytest.fixture
def level(qtbot, jobs, context, tmp_path, monkeypatch, forget_volumes):
    """Two volumes of 20 slices in ``panes``; ``answers`` is what aligning them gives, a level or an error."""
    panes, addresses = [], []
    for number in range(2):
        file = tmp_path / f"{number}.npz"
        np.savez(file, ct=np.random.default_rng(number).integers(0, 255, (20, 8, 9)).astype(np.uint8))
        addresses.append(ImageAddress(file, "ct"))
        panes.append(show_widget(qtbot, ImagePane(jobs), 200, 200))
        panes[-1].show_viewed(view_file(addresses[-1]), None, addresses[-1], None)
    switch = QPushButton()
    qtbot.addWidget(switch)
    switch.setCheckable(True)
    switch.setChecked(True)
    found = SameLevel(context, tuple(panes), LinkedPanes(panes, switch), panes[0])
    qtbot.addWidget(found.button)
    found.panes, found.answers, found.switch = panes, [], switch

    def align(*_args, **_more):
        answer = found.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(same_level.align_volumes, "align_volumes", align)
    found.pair = VolumePair(None, *addresses)

    def find(answer):
        found.answers.append(answer)
        found.begin(found.pair)
        found.choose(LevelLink.CONTENT)
        jobs.run_pending()

    found.find = find
    return found


def _scroll(level, side, place, jobs):
    level.panes[side].slices.go_to_slice(place)
    jobs.run_pending()
    return level.panes[1 - side].slices.place


def test_volumes_follow_each_other_by_content_in_both_directions(level, jobs):
    level.find(_levels(2, 15, 3))
    assert level.button.text().startswith("Same level: by content, confidence 80")
    # The second went to the level of the first, which shows its middle slice.
    assert [pane.slices.place for pane in level.panes] == [10, 13]
    assert _scroll(level, 0, 4, jobs) == 7
    assert _scroll(level, 1, 16, jobs) == 13
    assert _scroll(level, 0, 19, jobs) == 17
    assert "no counterpart" in level.button.text()
    level.switch.setChecked(False)
    assert _scroll(level, 0, 5, jobs) == 17


def test_volumes_that_do_not_overlap_say_so_and_are_linked_by_hand(level, jobs):
    level.find(no_alignment(20, 20))
    assert level.button.text() == "Same level: the volumes do not overlap"
    assert "press L" in level.button.toolTip()
    level.choose(LevelLink.OFF)
    assert _scroll(level, 0, 5, jobs) == 10
    level.link_shown_slices()
    assert (level.link, level.button.text()) == (LevelLink.HAND, "Same level: by hand")
    # Without known distances, as far into the volume.
    assert _scroll(level, 0, 19, jobs) == 19
    level.choose(LevelLink.OFF)
    assert level.button.text() == "Same level: off"
    # Off stays for the next pair.
    level.begin(None)
    assert level.button.isHidden()
    level.begin(level.pair)
    assert level.link is LevelLink.OFF


def test_a_slice_that_cannot_be_read_is_said_and_the_volumes_stay_linked(level):
    level.find(BadInput("'1.dcm' cannot be read.", "Copy it again."))
    assert level.link is LevelLink.HAND
    assert "'1.dcm' cannot be read." in level.button.toolTip()


def test_a_pair_is_aligned_once(level, jobs):
    level.find(_levels(0, 20, 0))
    level.begin(None)
    level.answers[0] = BadInput("again")
    level.begin(level.pair)
    jobs.run_pending()
    assert level.link is LevelLink.CONTENT
