from __future__ import annotations

import json

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from semblance.app.library.patient_view import PatientView
from semblance.app.widgets.thumbnail_loader import ThumbnailLoader
from semblance.core.library.case_columns import case_columns
from semblance.core.library.case_headers import READ, HeaderColumns, case_headers
from semblance.core.library.patient_tree import PatientTree, TreeLevel, patient_tree

LEFT = Qt.MouseButton.LeftButton
#: Case -> its patient.
PATIENTS = {"a1": "A", "a2": "A", "b1": "B", "c1": None}


def make_tree(patients: dict[str, str | None] = PATIENTS) -> PatientTree:
    n = len(patients)
    return patient_tree(
        case_columns(range(10, 10 + n), [*patients], [None] * n, [*patients.values()], [3] * n)
    )


@pytest.fixture
def view(qtbot) -> PatientView:
    made = PatientView(ThumbnailLoader(lambda _rows, done: done([])))
    qtbot.addWidget(made)
    made.resize(240, 400)
    made.show()
    made.set_tree(make_tree(), np.arange(4))
    return made


def levels(view: PatientView) -> list[int]:
    assert view._tree is not None
    return view._tree.level[view._nodes].tolist()


def titles(view: PatientView) -> list[str]:
    assert view._tree is not None
    return [view._tree.title(int(node)) for node in view._nodes]


def test_keys_expand_collapse_and_go_to_rows(qtbot, view):
    assert titles(view) == ["A", "B", "Patient unknown"]
    view.setFocus()
    QTest.keyClick(view, Qt.Key.Key_Home)
    QTest.keyClick(view, Qt.Key.Key_Right)
    assert titles(view) == ["A", "a1", "a2", "B", "Patient unknown"]
    assert "expanded" in view.accessibleDescription()
    QTest.keyClick(view, Qt.Key.Key_Down)
    QTest.keyClick(view, Qt.Key.Key_Down)
    assert view.current() == 11
    with qtbot.waitSignal(view.activated) as activated:
        QTest.keyClick(view, Qt.Key.Key_Return)
    assert activated.args == [11]
    QTest.keyClick(view, Qt.Key.Key_Left)
    assert view.accessibleDescription().startswith("A, 2 images")
    QTest.keyClick(view, Qt.Key.Key_Left)
    assert titles(view) == ["A", "B", "Patient unknown"]


def test_the_only_study_of_a_patient_is_expanded_with_the_patient(view):
    # Two studies of one patient, and two series of one study.
    groups = {"study": ["1", "2", "3", "3"], "series": [*"abcd"], "date": ["2019-03-14"] * 4}
    said = HeaderColumns(
        np.arange(4), [None] * 4, [json.dumps([{"modality": "CT"}.get(name) for name in READ])] * 4, groups
    )
    headers = case_headers(said, np.arange(4))
    tree = patient_tree(
        case_columns(range(20, 24), [*"abcd"], [None] * 4, [*"AABB"], [3] * 4, headers=headers)
    )
    view.set_tree(tree, np.arange(4))
    view.setFocus()
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right):
        QTest.keyClick(view, key)
    assert levels(view) == [TreeLevel.PATIENT, TreeLevel.STUDY, TreeLevel.STUDY, TreeLevel.PATIENT]
    for key in (Qt.Key.Key_End, Qt.Key.Key_Right):
        QTest.keyClick(view, key)
    assert levels(view)[3:] == [TreeLevel.PATIENT, TreeLevel.STUDY, TreeLevel.CASE, TreeLevel.CASE]


def test_a_double_click_searches_with_a_case_but_expands_a_patient(qtbot, view):
    def click_twice(place: int) -> None:
        point = view._row_rect(place).center() + QPoint(20, 0)
        QTest.mouseDClick(view.viewport(), LEFT, pos=point)

    seen: list[int] = []
    view.activated.connect(seen.append)
    click_twice(0)
    assert (titles(view), seen) == (["A", "a1", "a2", "B", "Patient unknown"], [])
    click_twice(2)
    assert seen == [11]


def test_another_list_of_the_same_cases_keeps_what_is_expanded_and_current(view):
    view.set_current(11)
    assert titles(view) == ["A", "a1", "a2", "B", "Patient unknown"]
    view.set_tree(make_tree(PATIENTS | {"a0": "A"}), np.arange(5))
    assert titles(view) == ["A", "a0", "a1", "a2", "B", "Patient unknown"]
    assert view.current() == 11


def test_few_cases_that_a_filter_left_are_all_seen(view):
    view.choose(np.array([1]), filtered=True)
    assert titles(view) == ["A", "a2"]
    view.choose(np.arange(4))
    assert titles(view) == ["A", "a1", "a2", "B", "Patient unknown"]
