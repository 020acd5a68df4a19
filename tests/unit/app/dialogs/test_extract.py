from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit

from app.dialogs.extract import ExtractDialog
from core.features.registry import extractors
from core.library.columns import PictureState, case_columns
from core.workflows.opening import FeatureSetFacts
from tests.helpers.scored import CASES, snapshot

PICTURES = {e.title for e in extractors() if e.needs_picture}
NUMBERS = {e.title for e in extractors() if not e.needs_picture}


def library(states, *sets):
    n = len(states)
    columns = case_columns(range(n), [f"c{i}" for i in range(n)], ["benign"] * n, [None] * n, states)
    return replace(snapshot(), columns=columns, feature_sets=sets)


@pytest.fixture
def open_dialog(qtbot):
    def make(library):
        dialog = ExtractDialog(library)
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return make


def offered(dialog) -> set[str]:
    combo = dialog.findChild(QComboBox)
    return {combo.itemText(place) for place in range(combo.count())}


def said(dialog) -> str:
    return " ".join(label.text() for label in dialog.findChildren(QLabel))


@pytest.mark.parametrize(
    ("states", "fitting"),
    [
        ([PictureState.OK, PictureState.MISSING], PICTURES),
        ([PictureState.NO_PICTURE] * 2, NUMBERS),
        ([PictureState.OK, PictureState.NO_PICTURE], PICTURES | NUMBERS),
        ([], set()),
    ],
)
def test_only_extractors_that_fit_are_offered(open_dialog, states, fitting):
    dialog = open_dialog(library(states))
    assert offered(dialog) == fitting
    assert dialog.go.isEnabled() is bool(fitting)
    assert ("No extractor fits" in said(dialog)) is not fitting or not fitting


def test_the_choice_is_explained_and_named(qtbot, open_dialog):
    dialog = open_dialog(library([PictureState.OK]))
    first, second = [e for e in extractors() if e.needs_picture][:2]
    assert (dialog.extractor(), dialog.name(), dict(dialog.settings())) == (first.name, first.name, {})
    assert first.summary in said(dialog)
    qtbot.keyClick(dialog.findChild(QComboBox), Qt.Key.Key_Down)
    assert (dialog.extractor(), dialog.name()) == (second.name, second.name)
    assert second.summary in said(dialog)


def test_what_is_done_need_not_be_done_again(qtbot, open_dialog):
    dialog = open_dialog(snapshot())
    assert not dialog.go.isEnabled()
    assert "All cases have these features already." in said(dialog)
    field = dialog.findChild(QLineEdit)
    field.selectAll()
    qtbot.keyClicks(field, "again")
    assert dialog.name() == "again"
    assert dialog.go.isEnabled()
    field.clear()
    assert dialog.name() == "gabor"
    assert not dialog.go.isEnabled()


def test_what_was_broken_off_goes_on(open_dialog):
    part = (FeatureSetFacts("gabor", "gabor", 2560, 30, 0),)
    dialog = open_dialog(replace(snapshot(), feature_sets=part))
    assert dialog.go.isEnabled()
    assert f"30 of {CASES} cases have them; extracting goes on from there." in said(dialog)


def test_a_library_without_cases_stays_disabled_whatever_is_typed(qtbot, open_dialog):
    dialog = open_dialog(library([]))
    qtbot.keyClicks(dialog.findChild(QLineEdit), "name")
    assert not dialog.go.isEnabled()


def test_enter_extracts(qtbot, open_dialog):
    dialog = open_dialog(library([PictureState.OK]))
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.result() == 1
