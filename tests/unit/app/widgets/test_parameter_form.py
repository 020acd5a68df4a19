from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit, QPushButton

from semblance.app.shell.theme import set_theme
from semblance.app.widgets.parameter_form import ParameterForm
from semblance.core.errors import BadArguments
from semblance.core.parameters import Parameter

PARAMETERS = (
    Parameter("rounds", 200, "How often.", minimum=1, maximum=500, paper=120),
    Parameter("share", 0.3, "How many of the pairs look alike.", minimum=0, maximum=1),
    Parameter("search", "exact", "How the step is found.", choices=("exact", "grid"), paper="grid"),
    Parameter("balanced", False, "Same weight for all."),
    Parameter("seed", None, "Empty: another one every time."),
    Parameter("note", "abc", "Any word."),
)


@pytest.fixture
def form(qtbot) -> ParameterForm:
    made = ParameterForm(PARAMETERS, title="BDM+V")
    qtbot.addWidget(made)
    made.show()
    return made


def field(form: ParameterForm, name: str) -> QLineEdit:
    editor = form.editor(name)
    assert isinstance(editor, QLineEdit)
    return editor


def test_begins_with_the_defaults(form: ParameterForm) -> None:
    assert form.values() == {
        "rounds": 200,
        "share": 0.3,
        "search": "exact",
        "balanced": False,
        "seed": None,
        "note": "abc",
    }
    assert form.is_valid()


def test_typing_changes_a_value_and_says_so(qtbot, form: ParameterForm) -> None:
    rounds = field(form, "rounds")
    rounds.selectAll()
    with qtbot.waitSignal(form.valuesChanged):
        qtbot.keyClicks(rounds, "9")
    assert form.values()["rounds"] == 9
    seed = field(form, "seed")
    qtbot.keyClicks(seed, "7")
    assert form.values()["seed"] == 7


def test_a_refused_value_says_why_and_stays(qtbot, form: ParameterForm) -> None:
    rounds = field(form, "rounds")
    rounds.clear()
    qtbot.keyClicks(rounds, "0")
    assert rounds.property("error") is True
    assert form.problems() == {"rounds": "It must be at least 1."}
    shown = [label.text() for label in form.findChildren(QLabel) if label.isVisible()]
    assert "It must be at least 1." in shown
    with pytest.raises(BadArguments):
        form.values()
    qtbot.keyClick(rounds, Qt.Key.Key_Backspace)
    assert form.problems()["rounds"] == "It must be a number."
    qtbot.keyClicks(rounds, "3")
    assert rounds.property("error") is False
    assert form.is_valid()


@pytest.mark.parametrize(
    ("name", "start", "key", "expected"),
    [
        ("rounds", 200, Qt.Key.Key_Up, 201),
        ("rounds", 200, Qt.Key.Key_PageDown, 190),
        ("rounds", 500, Qt.Key.Key_Up, 500),
        ("rounds", 1, Qt.Key.Key_PageDown, 1),
        ("share", 0.3, Qt.Key.Key_Up, 0.35),
        ("share", 0.0, Qt.Key.Key_Down, 0.0),
    ],
)
def test_arrow_keys_step_within_the_range(qtbot, form: ParameterForm, name, start, key, expected) -> None:
    form.set_values({name: start})
    qtbot.keyClick(form.editor(name), key)
    assert form.values()[name] == expected


def test_choices_and_ticks(qtbot, form: ParameterForm) -> None:
    combo, box = form.editor("search"), form.editor("balanced")
    assert isinstance(combo, QComboBox)
    assert isinstance(box, QCheckBox)
    qtbot.keyClick(combo, Qt.Key.Key_Down)
    with qtbot.waitSignal(form.valuesChanged):
        qtbot.keyClick(box, Qt.Key.Key_Space)
    assert form.values()["search"] == "grid"
    assert form.values()["balanced"] is True


def test_papers_defaults_are_one_click_away(qtbot, form: ParameterForm) -> None:
    link = next(button for button in form.findChildren(QPushButton) if "paper" in button.text())
    assert link.isEnabled()
    with qtbot.waitSignal(form.valuesChanged):
        qtbot.mouseClick(link, Qt.MouseButton.LeftButton)
    assert form.values()["rounds"] == 120
    assert form.values()["search"] == "grid"
    assert form.values()["share"] == 0.3
    assert not link.isEnabled()


def test_many_changed_values_emit_one_signal(qtbot, form: ParameterForm) -> None:
    emitted = []
    form.valuesChanged.connect(lambda: emitted.append(1))
    form.set_values({"rounds": 3, "search": "grid", "balanced": True, "unknown": 1})
    assert emitted == [1]


def test_the_meaning_follows_the_focus(qtbot, form: ParameterForm) -> None:
    form.activateWindow()
    form.editor("share").setFocus()
    assert any(label.text() == "How many of the pairs look alike." for label in form.findChildren(QLabel))
    assert form.editor("share").toolTip() == "How many of the pairs look alike."
    assert form.editor("share").statusTip() == "How many of the pairs look alike."


def test_other_parameters_take_their_place(qtbot, form: ParameterForm) -> None:
    form.set_parameters((Parameter("k", 5, "Neighbours."),), title="k-NN")
    assert form.values() == {"k": 5}
    with pytest.raises(KeyError):
        form.editor("rounds")
    form.set_parameters(())
    assert form.values() == {}


def test_fields_grow_with_the_text(form: ParameterForm, qtbot, qapp) -> None:
    wide = field(form, "rounds").minimumWidth(), field(form, "note").minimumWidth()
    set_theme(qapp, "dark", 1.5)
    try:
        assert field(form, "rounds").minimumWidth() == round(1.5 * wide[0])
        assert field(form, "note").minimumWidth() == round(1.5 * wide[1])
    finally:
        set_theme(qapp, "dark")
