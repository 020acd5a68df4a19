"""Figures are kept with their case, beside what others did meanwhile, and other annotations stay; so are notes."""

from __future__ import annotations

import pytest

from semblance.core.imaging.measurements import Figure
from semblance.core.imaging.outline import Ellipse
from semblance.core.imaging.region import Region
from semblance.core.library.annotations import KEY_IMAGE, Annotation
from semblance.core.workflows.imaging.case_annotations import (
    figures_of_case,
    keep_note,
    read_note,
    save_figures,
)
from semblance.core.workflows.imaging.library_cache import cached_library, close_libraries
from semblance.core.workflows.library.find_cases import find_cases, text_hits
from tests.helpers.libraries import make_library

LINE = Figure("line", ((1.5, 2.0), (30.0, 40.25)), slice=4)
ELLIPSE = Figure.of_region(Region(2, 3, 10, 12, Ellipse.filling(10, 12)))
PROBE = Figure("probe", ((5.5, 6.5),))


@pytest.fixture
def case(tmp_path):
    location = make_library(tmp_path / "l")
    library = cached_library(location)
    yield location, library, library.catalogue.row_of("s/0.png")
    close_libraries(location)


def test_figures_come_back_and_only_what_changed_is_written(case):
    location, library, row = case
    table = library.annotations
    table.replace("s/0.png", [Annotation(KEY_IMAGE, {}, 7), Annotation("line", {"points": "damaged"})])
    assert save_figures(location, row, (), (LINE, ELLIPSE)) == (LINE, ELLIPSE)
    assert figures_of_case(library, "s/0.png") == (LINE, ELLIPSE)
    ids = {one.kind: one.id for one in table.of_case("s/0.png")[2:]}
    # Another person measured a point meanwhile.
    table.replace("s/0.png", [*table.of_case("s/0.png"), Annotation("probe", PROBE.to_json())])
    moved = Figure("line", ((0.0, 0.0), (3.0, 4.0)), slice=4)
    assert set(save_figures(location, row, (LINE, ELLIPSE), (moved, ELLIPSE))) == {moved, ELLIPSE, PROBE}
    kept = table.of_case("s/0.png")
    assert [one.kind for one in kept[:2]] == [KEY_IMAGE, "line"]
    assert next(one.id for one in kept if one.kind == "ellipse") == ids["ellipse"]
    assert save_figures(location, row, (moved, ELLIPSE, PROBE), ()) == ()
    assert len(table.of_case("s/0.png")) == 2


def test_a_note_is_kept_found_and_removed(tmp_path):
    path = make_library(tmp_path / "l")
    assert read_note(path, "s/0.png") is None
    assert keep_note(path, "s/0.png", "Spiculated margin").text == "Spiculated margin"
    assert [case["case_id"] for case in find_cases(path, "spicul margin").cases] == ["s/0.png"]
    hits = text_hits(path, [1, 2], "margin")
    assert {row: (hit.name, hit.text) for row, hit in hits.items()} == {1: ("notes", "Spiculated margin")}
    assert keep_note(path, "s/0.png", " ") is None
    assert find_cases(path, "spicul").cases == []
