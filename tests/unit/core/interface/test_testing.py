"""The checks for plug-ins pass what is right, and say what is wrong in words."""

from __future__ import annotations

import numpy as np
import pytest

from semblance.core.features.extractor import FeatureName
from semblance.core.features.pixels import Pixels
from semblance.core.library.importers.folder import FolderImporter
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.reports.write_report import WRITERS
from semblance.testing import check_extractor, check_importer, check_learner, check_protocol, check_report


def test_our_own_pass():
    check_learner("lda")
    check_learner("rca")
    check_extractor("pixels")
    check_protocol("boostmetric")
    check_report(WRITERS[".csv"])


class _Learner(LinearLearner):
    name, title, summary = "wrong", "Wrong", "Wrong."

    def _learn(self, data):
        return LearntMap(np.eye(data.X.shape[1]))


def _learner(**methods):
    return type("Wrong", (_Learner,), methods)


def _prints(self, data):
    print("learning")
    return LearntMap(np.eye(data.X.shape[1]))


def _random(self, data):
    return LearntMap(np.diag(np.random.default_rng().normal(size=data.X.shape[1])))


def _raises(self, data):
    raise KeyError("x")


def test_a_wrong_learner_is_told_what_is_wrong():
    check_learner(_Learner)
    for methods, problem in (
        ({"_learn": _prints}, r"prints\. Report by data\.reporter"),
        ({"_learn": _random}, "gives another metric at a second fit"),
        ({"_learn": _raises}, "raises KeyError: 'x'. Raise BadInput"),
        ({"title": ""}, "has no title"),
        ({"name": "Wrong One"}, "has the name 'Wrong One'"),
        ({"accepts": frozenset({"magic"})}, "Name what it learns from"),
        ({"parameters": ("x",)}, "has the parameter 'x'"),
    ):
        with pytest.raises(AssertionError, match=problem):
            check_learner(_learner(**methods))
    with pytest.raises(AssertionError, match="cannot be made"):
        check_learner(type("Abstract", (LinearLearner,), {}))


def test_a_wrong_extractor_is_told_what_is_wrong():
    state = np.random.default_rng()

    def replaced(extract):
        return type("Wrong", (Pixels,), {"extract": extract})

    def names(self):
        return (FeatureName("a", "g"), FeatureName("a", "g"))

    for wrong, problem in (
        (replaced(lambda self, image, region=None: np.zeros(3, np.float32)), "gives an array of the shape"),
        (replaced(lambda self, image, region=None: [1.0]), "gives list, and names 784 numbers"),
        (
            replaced(lambda self, image, region=None: state.random(784).astype(np.float32)),
            "gives other numbers for the same image",
        ),
        (type("Wrong", (Pixels,), {"feature_names": property(names)}), "does not name each number once"),
        (replaced(lambda self, image, region=None: 1 / 0), "Wrong raises ZeroDivisionError"),
        (type("Wrong", (Pixels,), {"feature_names": ("a", "b")}), "feature_names that are no FeatureName"),
        (type("Wrong", (Pixels,), {"version": "1"}), "has the version '1'"),
    ):
        with pytest.raises(AssertionError, match=problem):
            check_extractor(wrong)


def test_a_wrong_importer_is_told_what_is_wrong(tmp_path):
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "b.txt").write_text("text")
    check_importer("folder", tmp_path)

    class Forgets(FolderImporter):
        kind = "forgets"

        def scan(self, source, reporter):
            return iter([one for one in super().scan(source, reporter) if one.path != "b.txt"])

    class Unsure(FolderImporter):
        kind = "unsure"

        def recognise(self, source):
            return None

    with pytest.raises(AssertionError, match=r"reports a file never, or as a case and as rejected: b\.txt"):
        check_importer(Forgets, tmp_path)
    with pytest.raises(AssertionError, match="does not recognise"):
        check_importer(Unsure, tmp_path)
