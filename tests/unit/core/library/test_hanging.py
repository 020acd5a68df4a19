from __future__ import annotations

import json

import numpy as np
import pytest

from semblance.core.library.case_columns import case_columns
from semblance.core.library.case_headers import DATE, GROUPS, READ, HeaderColumns, case_headers, no_headers
from semblance.core.library.hanging import ORDERS, hanging

NEW, OLD = "2020-01-01", "2018-01-01"


def columns(*cases: tuple[str, str, dict[str, str]]):
    """The cases, each with its patient, the date of its study, and more of its header."""
    n = len(cases)
    given = [
        ({"modality": "MG", "study": date, DATE: date} if date else {}) | more for _, date, more in cases
    ]
    said = HeaderColumns(
        np.arange(n),
        [None] * n,
        [json.dumps([header.get(name) for name in READ]) for header in given],
        {name: [header.get(name) for header in given] for name in (*GROUPS, DATE)},
    )
    headers = case_headers(said, np.arange(n))
    patients = [patient for patient, _, _ in cases]
    return case_columns(range(n), [f"c{i}" for i in range(n)], [None] * n, patients, [0] * n, headers=headers)


def view(side: str, name: str) -> dict[str, str]:
    return {"laterality": side, "view": name}


@pytest.fixture
def mammograms():
    four = [view("L", "MLO"), view("R", "MLO"), view("L", "CC"), view("R", "CC")]
    new, old = [("A", NEW, one) for one in four], [("A", OLD, one) for one in four[1:]]
    return columns(*old, *new, ("B", NEW, view("R", "CC")))


def test_the_four_views_of_a_mammogram_hang_with_those_of_the_prior_study_below(mammograms):
    assert hanging(mammograms, 4) == ((6, 5, 4, 3), (2, 1, 0, None))
    assert hanging(mammograms, 0, priors=False) == ((6, 5), (4, 3))


def test_views_that_a_list_names_hang_as_those_of_headers_do():
    listed = columns(
        ("A", "", {"breast": "left", "view": "MLO"}),
        ("A", "", {"breast": "right", "view": "MLO"}),
        ("A", "", view("L", "CC")),
        ("A", "", view("R", "CC")),
    )
    assert hanging(listed, 0) == ((3, 2), (1, 0))
    assert not listed.headers.is_named(0) and listed.headers.kind(0) == no_headers(1).kind(0)


def test_the_views_hang_in_the_chosen_order(mammograms):
    assert hanging(mammograms, 4, order=ORDERS["mlo_first"]) == ((4, 3, 6, 5), (0, None, 2, 1))
    assert hanging(mammograms, 4, priors=False, order=ORDERS["by_side"]) == ((6, 4), (5, 3))


def test_without_a_prior_study_the_views_hang_in_two_rows(mammograms):
    assert hanging(mammograms, 7) == ((7, None), (None, None))


def test_the_same_kind_of_an_earlier_study_hangs_beside_the_newest():
    chest, lung = {"modality": "CT", "body_part": "CHEST"}, {"series_description": "lung"}
    library = columns(
        ("A", OLD, chest),
        ("A", OLD, chest | lung),
        ("A", NEW, {"modality": "CT", "body_part": "HEAD"}),
        ("A", NEW, chest | lung),
        ("A", NEW, chest),
    )
    assert hanging(library, 1) == ((3, 1),)
    assert hanging(library, 3) == ((3, 1),)
    assert hanging(library, 3, priors=False) == ((3, 4),)
    assert hanging(library, 2) == ((2,),)


def test_a_case_without_a_patient_hangs_alone():
    assert hanging(columns((None, NEW, {}), (None, NEW, {})), 1) == ((1,),)
