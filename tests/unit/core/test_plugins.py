"""Plug-ins of other packages: listed without import, used, named where they are broken, and switched off."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from semblance.core import plugins
from semblance.core.errors import BadArguments, SemblanceError
from semblance.core.evaluation.evaluation_files import program_json
from semblance.core.metrics import registry
from semblance.core.metrics.metric import load_metric
from semblance.core.plugins import OFF_VARIABLE, broken_plugins, installed_plugins, missing_hint
from semblance.core.research.methods_text import MeasuredLearner, Methods, methods_text
from tests.helpers.plugin_packages import install, no_plugins_left  # noqa: F401

pytestmark = pytest.mark.usefixtures("no_plugins_left")

LEARNER = """
import numpy as np
from semblance.core.metrics.declarations import declared, parameter
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics import make_learner

make_learner("lda")  # one of ours on import

@declared
class Whiten(LinearLearner):
    name = "whiten"
    title = "Whitening"
    summary = "Divides each feature by its spread."
    floor: float = parameter(0.01, "Least spread.", minimum=0.0, maximum=1.0)

    def _learn(self, data):
        if self.floor == 0.5:
            raise RuntimeError("no floor")
        return LearntMap(np.diag(1.0 / np.maximum(data.X.std(axis=0), self.floor)))
"""


@pytest.fixture
def whiten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    return install(
        tmp_path, monkeypatch, "semblance-whiten", {"learner": "whiten = {module}:Whiten"}, LEARNER
    )


def test_an_evaluation_names_the_packages_that_it_used(whiten: str) -> None:
    used = program_json([("learner", "bdm"), ("learner", "whiten"), ("learner", "whiten")])["plugins"]
    assert used == [{"kind": "learner", "name": "whiten", "package": "semblance-whiten", "version": "1.2"}]
    text = methods_text(Methods([], [MeasuredLearner("whiten")], [], 0, {}))
    assert "The learner 'whiten' is a plug-in of the package semblance-whiten 1.2." in text


def test_a_learner_is_listed_without_import_and_fits_a_metric_that_opens_without_it(
    whiten: str, tmp_path: Path
) -> None:
    assert "whiten" in registry.learner_names() and whiten not in sys.modules
    assert registry.known_learner("bdm") is not None and whiten not in sys.modules
    assert registry.learner_title("whiten") == "Whitening"
    assert [learner.name for learner in registry.plugin_learners()] == ["whiten"]
    assert registry.learners()[-1].parameters[0].meaning == "Least spread."

    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.repeat(["a", "b"], 10)
    metric = registry.make_learner("whiten", floor=0.2).fit(X, y).metric()
    assert metric.card.plugin == {"package": "semblance-whiten", "version": "1.2"}
    assert metric.card.parameters == {"floor": 0.2}
    assert registry.make_learner("lda").fit(X, y).metric().card.plugin == {}
    metric.save(tmp_path / "m.metric")
    sys.path.remove(str(tmp_path))
    plugins.forget_plugins()
    opened = load_metric(tmp_path / "m.metric")
    np.testing.assert_array_equal(opened.distances(X, X), metric.distances(X, X))
    assert registry.learner_title("whiten") == "whiten (learner unknown)"
    with pytest.raises(BadArguments, match="If you trust that: pip install semblance-whiten"):
        registry.declared_learner("whiten", opened.card.plugin["package"])


def test_what_a_plugin_raises_is_said_to_be_its_own(whiten: str) -> None:
    with pytest.raises(
        SemblanceError, match=r"'whiten' of the package semblance-whiten 1.2 failed: RuntimeErr"
    ):
        registry.make_learner("whiten", floor=0.5).fit(np.eye(4))


@pytest.mark.parametrize(
    ("learnt", "says"),
    [
        (
            "LearntMap(np.full((2, 3), np.nan))",
            "ValueError: _learn gave a matrix with values that are not finite",
        ),
        ("LearntMap(np.eye(2))", r"ValueError: _learn gave a matrix \(2, 2\) of float64 and not \(m, 3\)"),
        ("LearntMap(np.zeros(3))", r"ValueError: _learn gave a matrix \(3,\) of float64"),
        ("(np.eye(3),)", "TypeError: _learn gave tuple and not LearntMap"),
        ("exit(3)", "SystemExit: 3"),
    ],
)
def test_what_a_plugin_gives_that_is_no_map_is_said_to_be_its_own(
    tmp_path, monkeypatch, learnt, says
) -> None:
    source = LEARNER.replace("if self.floor == 0.5:", f"if self.floor == 0.5: return {learnt}")
    source = source.replace('            raise RuntimeError("no floor")\n', "")
    install(tmp_path, monkeypatch, "semblance-whiten", {"learner": "whiten = {module}:Whiten"}, source)
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.repeat(["a", "b"], 10)
    with pytest.raises(SemblanceError, match=f"'whiten' of the package semblance-whiten 1.2 failed: {says}"):
        registry.make_learner("whiten", floor=0.5).fit(X, y)
    assert registry.make_learner("whiten", floor=0.2).fit(X, y).metric().card.parameters == {"floor": 0.2}


BROKEN = {
    "raises": (
        "raise OSError('no licence')",
        "{module} = {module}:X",
        "importing it failed with OSError: no licence",
    ),
    "exits": ("raise SystemExit(3)", "{module} = {module}:X", "importing it failed with SystemExit: 3"),
    "no-module": ("", "{module} = nowhere_at_all:X", "importing it failed with ModuleNotFoundError"),
    "no-class": ("", "{module} = {module}:X", "importing it failed with AttributeError"),
    "not-a-class": (
        "X = 3",
        "{module} = {module}:X",
        "is not a class derived from semblance.core.metrics.learner.Lear",
    ),
    "abstract": (
        "from semblance.core.metrics.linear_learner import LinearLearner\nclass X(LinearLearner): name = 'abstract'",
        "{module} = {module}:X",
        "does not have what it must: _learn",
    ),
    "other-name": (
        LEARNER,
        "{module} = {module}:Whiten",
        "is called 'whiten', and its entry point 'other_name'",
    ),
    "undeclared": (
        LEARNER.replace("@declared", "").replace('"whiten"', '"undeclared"'),
        "{module} = {module}:Whiten",
        "no decorator @declared",
    ),
    "ours": (LEARNER, "bdm = {module}:Whiten", "this program has that name itself"),
    "name": (LEARNER, "Big Name = {module}:Whiten", "its name may have small letters"),
}


def test_a_broken_plugin_is_named_and_every_other_thing_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whiten: str
) -> None:
    for package, (code, entry, _) in BROKEN.items():
        install(tmp_path, monkeypatch, package, {"learner": entry}, code)
    names = [learner.name for learner in registry.learners()]
    found = {broken.plugin.package.replace("-", "_"): str(broken.message) for broken in broken_plugins()}
    assert names.count("whiten") == 1 and names.count("bdm") == 1 and not set(names) & set(found)
    for package, (_, _, problem) in BROKEN.items():
        assert problem in found[package.replace("-", "_")], package
        assert f"pip uninstall {package}" in found[package.replace("-", "_")]
    with pytest.raises(BadArguments, match="importing it failed"):
        registry.declared_learner("raises")


def test_of_two_packages_with_one_name_the_second_is_switched_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whiten: str
) -> None:
    install(tmp_path, monkeypatch, "semblance-zz", {"learner": "whiten = {module}:Whiten"}, LEARNER)
    assert [learner.__module__ for learner in registry.plugin_learners()] == ["semblance_whiten"]
    assert "the package semblance-whiten has that name too" in str(broken_plugins("learner")[0].message)


def test_packages_are_switched_off_by_the_variable(whiten: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for value, left in (("other, Semblance_Whiten", 0), ("all", 0), ("other", 1)):
        monkeypatch.setenv(OFF_VARIABLE, value)
        plugins.forget_plugins()
        assert len(registry.plugin_learners()) == len(installed_plugins()) == left, value
    monkeypatch.setenv(OFF_VARIABLE, "all")
    plugins.forget_plugins()
    with pytest.raises(BadArguments, match="start without --no-plugins"):
        registry.declared_learner("whiten")


def test_a_name_of_a_file_is_never_a_command_or_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "evil_module.py").write_text("raise SystemExit('imported')")
    for name in ("evil_module:X", "evil_module"):
        assert registry.known_learner(name) is None
        assert missing_hint("learner", name, "x; rm -rf ~") == ""
    assert "evil_module" not in sys.modules
