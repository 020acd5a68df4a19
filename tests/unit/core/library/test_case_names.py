from __future__ import annotations

from semblance.core.library.case_names import case_name, date_name, kind_name, series_name


def test_an_image_is_called_what_it_is_of():
    for header, kind in [
        (("CT", "CHEST", "", ""), "Chest CT"),
        (("MG", "BREAST", "R", "CC"), "Mammogram R CC"),
        (("NM", "WHOLE BODY", "", ""), "Whole body scintigram"),
        (("XYZ", "LEFT_BIG_TOE", "", ""), "Left big toe XYZ"),
        (("", "", "", ""), ""),
    ]:
        assert kind_name(*header) == kind, header


def test_a_series_is_named_by_its_description_unless_that_repeats_the_study():
    assert series_name("Chest CT", "2.0 lung", "2", "B70f") == "2.0 lung"
    assert series_name("Chest CT", "CT CHEST", "2", "B70f") == ""
    assert series_name("Chest CT", "", "1.25", "STANDARD") == "1.25 mm STANDARD"


def test_a_case_is_named_by_its_known_attributes():
    assert case_name("Chest CT", "2.0 lung", "", "2019-03-14") == "Chest CT, 2.0 lung, 14 Mar 2019"
    assert case_name("Segment", "Liver", "Liver", "") == "Segment, Liver"
    assert date_name("long ago") == "long ago"
    assert case_name("Chest CT", "", "", "2021-02-14~") == "Chest CT, Feb 2021, date shifted"


def test_characters_that_turn_the_writing_direction_are_spelled_out():
    assert case_name("CT", "a\u202eb", "", "") == "CT, a\\u202eb"
