from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QFileDialog, QLabel, QLineEdit

from semblance.app.metrics.extract_dialog import ExtractDialog
from semblance.app.widgets.parameter_form import FileField
from semblance.core.features.registry import extractors
from semblance.core.library.case_columns import ImageAvailability, case_columns
from semblance.core.workflows.features.suitable_extractors import ExtractorSuitability
from semblance.core.workflows.library.library_snapshot import FeatureSetFacts
from tests.helpers.scored_snapshots import CASES, FITS, snapshot


def library(states, *sets, fits=FITS):
    n = len(states)
    columns = case_columns(range(n), [f"c{i}" for i in range(n)], ["benign"] * n, [None] * n, states)
    return replace(snapshot(), columns=columns, feature_sets=sets, extractors=fits if n else ())


@pytest.fixture
def open_dialog(qtbot):
    def make(library):
        dialog = ExtractDialog(library)
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return make


def offered(dialog) -> list[str]:
    combo = dialog.findChild(QComboBox)
    return [combo.itemText(place) for place in range(combo.count())]


def texts(dialog) -> str:
    return " ".join(label.text() for label in dialog.findChildren(QLabel))


def test_unsuitable_extractors_are_not_offered_and_listed_with_the_reason(open_dialog):
    fits = (
        ExtractorSuitability("mass"),
        ExtractorSuitability("gabor"),
        ExtractorSuitability("polyp", "no case is a volume"),
        ExtractorSuitability("raw", "no case comes from a table"),
    )
    dialog = open_dialog(library([ImageAvailability.OK], fits=fits))
    titles = {extractor.name: extractor.title for extractor in extractors()}
    assert offered(dialog) == [titles["mass"], titles["gabor"]]
    assert dialog.extract_button.isEnabled()
    others = f"{titles['polyp']} (no case is a volume); {titles['raw']} (no case comes from a table)"
    assert f"Not offered: {others}." in texts(dialog)


def test_without_unsuitable_extractors_none_is_listed(open_dialog):
    dialog = open_dialog(library([ImageAvailability.OK], fits=(ExtractorSuitability("gabor"),)))
    assert offered(dialog) == ["Gabor texture"]
    assert "Not offered" not in texts(dialog)


@pytest.mark.parametrize("n", [0, 2])
def test_without_a_suitable_extractor_the_button_is_disabled(open_dialog, n):
    fits = tuple(ExtractorSuitability(e.name, "no case") for e in extractors())
    dialog = open_dialog(library([ImageAvailability.OK] * n, fits=fits))
    assert offered(dialog) == []
    assert not dialog.extract_button.isEnabled()
    assert "No extractor fits" in texts(dialog)


def test_files_of_parameters_must_exist(qtbot, open_dialog, tmp_path, monkeypatch):
    dialog = open_dialog(library([ImageAvailability.OK], fits=(ExtractorSuitability("onnx"),)))
    assert not dialog.extract_button.isEnabled()
    questions = []
    names = {"Model": tmp_path / "net.onnx", "Settings": tmp_path / "net.json"}

    def choose(parent, title, folder, pattern):
        questions.append((title, pattern.split(";;")[0]))
        return str(names[title]), pattern

    monkeypatch.setattr(QFileDialog, "getOpenFileName", choose)
    fields = dialog.findChildren(FileField)
    for path in names.values():
        path.touch()
    for field in fields:
        qtbot.mouseClick(field.button, Qt.MouseButton.LeftButton)
    assert questions == [("Model", "Model (*.onnx)"), ("Settings", "Settings (*.json)")]
    assert dialog.extract_button.isEnabled()
    assert dialog.settings() == {
        "model": str(names["Model"]),
        "settings": str(names["Settings"]),
        "burnt_in_marks": "hide",
    }
    qtbot.keyClicks(fields[0].line, "x")
    assert not dialog.extract_button.isEnabled()
    assert "Choose a file (*.onnx)." in texts(dialog)


def test_the_extractor_is_summarised_and_names_the_feature_set(qtbot, open_dialog):
    dialog = open_dialog(library([ImageAvailability.OK]))
    first, second = [e for e in extractors() if e.needs_image][:2]
    defaults = {parameter.name: parameter.default for parameter in first.parameters}
    assert (dialog.extractor(), dialog.name(), dict(dialog.settings())) == (first.name, first.name, defaults)
    assert first.summary in texts(dialog)
    qtbot.keyClick(dialog.findChild(QComboBox), Qt.Key.Key_Down)
    assert (dialog.extractor(), dialog.name()) == (second.name, second.name)
    assert second.summary in texts(dialog)


def test_a_complete_feature_set_is_not_extracted_again(qtbot, open_dialog):
    dialog = open_dialog(replace(snapshot(), extractors=(ExtractorSuitability("gabor"),)))
    assert not dialog.extract_button.isEnabled()
    assert "All cases have these features already." in texts(dialog)
    field = dialog.findChild(QLineEdit)
    field.selectAll()
    qtbot.keyClicks(field, "again")
    assert dialog.name() == "again"
    assert dialog.extract_button.isEnabled()
    field.clear()
    assert dialog.name() == "gabor"
    assert not dialog.extract_button.isEnabled()


def test_an_interrupted_extraction_is_selected(open_dialog):
    complete = FeatureSetFacts("gabor", "gabor", 2560, CASES - 2, 2)
    unfinished = FeatureSetFacts("mine", "pixels", 1024, 30, 0)
    dialog = open_dialog(replace(snapshot(), feature_sets=(complete, unfinished)))
    assert (dialog.extractor(), dialog.name()) == ("pixels", "mine")
    assert dialog.extract_button.isEnabled()
    assert f"30 of {CASES} cases have these features. Extraction continues with the others." in texts(dialog)


def test_without_cases_the_button_stays_disabled(qtbot, open_dialog):
    dialog = open_dialog(library([]))
    qtbot.keyClicks(dialog.findChild(QLineEdit), "name")
    assert not dialog.extract_button.isEnabled()


def test_enter_extracts(qtbot, open_dialog):
    dialog = open_dialog(library([ImageAvailability.OK]))
    qtbot.keyClick(dialog, Qt.Key.Key_Return)
    assert dialog.result() == 1
