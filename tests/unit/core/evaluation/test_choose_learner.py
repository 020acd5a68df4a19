from __future__ import annotations

import numpy as np
import pytest

from semblance.core.evaluation import choose_learner
from semblance.core.evaluation.choose_learner import (
    SHORT_LIST,
    Candidate,
    LearnerValidation,
    inner_splits,
    validate_learners,
)
from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.data_sources import table_data
from semblance.core.features.encoder.efficientnet import LEVEL_WIDTH
from semblance.core.features.registry import make_extractor
from semblance.core.imaging.formats import has_image_name
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.library.importers.source import Source
from semblance.core.library.importers.table import read_table
from semblance.core.metrics.steps import parse_steps
from semblance.core.metrics.steps.levels import columns_of
from semblance.core.metrics.training_data.training_sample import stratified_sample
from semblance.core.tasks import SILENT


def test_many_findings_make_another_learner_win_than_two(data):
    """Recommending BDM+V by its name would be wrong: it wins on ionosphere, not on 26 letters."""
    chosen = {}
    for name, cases in (("ionosphere", 351), ("letter", 4000)):
        table = table_data(read_table(data / "tables" / f"{name}.csv"), name)
        if table.n_cases > cases:
            table = table.rows(stratified_sample(table.y, cases, 0))
        chosen[name] = validate_learners(table, "raw")
    assert chosen["ionosphere"].best.key in ("bdm_v", "boostmetric")
    assert chosen["letter"].best.key in ("boostmetric", "ccml")
    assert {*chosen["letter"].accuracy, *chosen["letter"].failed} == set(SHORT_LIST)


def rare_and_common(seed):
    """165 cases of four small clouds among 636: LDA sees only that their mean lies elsewhere in one column."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(801, 5))
    for column in (0, 1):
        rows[:165, column] = 0.5 * rng.choice([-1, 1], size=165) + 0.2 * rng.normal(size=165)
    rows[:165, 2] += 0.8
    return EvaluationData(rows, np.array(["rare"] * 165 + ["common"] * 636))


def accuracies(cases, learner):
    """The plain accuracy of ``learner`` inside the validation parts, and that of each finding by name."""
    found = choose_learner._measured(
        choose_learner._parts(cases, parse_steps("standardise"), 0), learner, 0, SILENT
    )
    names = np.unique(cases.y).tolist()
    of_finding = {name: found.accuracy[found.findings == code].mean() for code, name in enumerate(names)}
    return found.accuracy.mean(), of_finding


def test_a_learner_that_lifts_the_plain_accuracy_and_finds_the_rare_finding_less_often_is_refused():
    cases = rare_and_common(1)
    (before, of_plain), (after, of_lda) = (accuracies(cases, name) for name in ("euclidean", "lda"))
    assert after > before
    assert of_lda["rare"] < of_plain["rare"]
    found = validate_learners(cases, "raw", learners=("euclidean", "lda"))
    assert found.best.key == "euclidean"
    assert "LDA finds fewer cases of" in found.failed["lda"]
    assert "LDA separates the findings worse" in found.failed["lda"]


def test_copies_of_an_image_and_cases_of_a_patient_are_on_one_side():
    rng = np.random.default_rng(0)
    units = np.array([f"patient {row // 3}" for row in range(120)])
    data = EvaluationData(rng.normal(size=(120, 4)), np.array(["a", "b"] * 60), units=units)
    for split in inner_splits(data, 0):
        assert not set(units[split.train]) & set(units[split.test])
        assert len(split.train) + len(split.test) == 120


def test_of_equal_learners_the_plainest_is_chosen():
    assert LearnerValidation({"euclidean": 0.5, "bdm_v": 0.5, "lda": 0.4}).best.key == "euclidean"


def test_bdm_v_wins_on_ultrasound_by_the_encoder(data):
    archive = data / "images" / "busi_256.zip"
    extractor = make_extractor("encoder")
    with Source.open(archive) as source, ImageReader() as reader:
        paths = [entry.path for entry in source.entries() if has_image_name(entry.path)]
        rows = extractor.extract_many([reader.open(source.address(path)) for path in paths])
    findings = np.array(["malignant" if "malignant" in path else "benign" for path in paths])
    found = validate_learners(EvaluationData(rows.astype(np.float64), findings), "encoder")
    assert found.best.key == "bdm_v"
    assert found.accuracy["bdm_v"] > found.accuracy["euclidean"] + 0.05


@pytest.mark.parametrize(("telling", "description"), [("head", ""), ("blocks", "blocks")])
def test_the_description_that_tells_the_findings_apart_is_chosen(telling, description):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 160)
    rows = rng.normal(size=(160, LEVEL_WIDTH))
    rows[:, columns_of(telling)[:100]] += 0.6 * y[:, np.newaxis]
    data = EvaluationData(rows, y.astype(str), made_by={"part": "levels"})
    found = validate_learners(data, "encoder", learners=("euclidean", "lda"))
    assert found.best.description == description
    assert Candidate.of_key(found.best.key) == found.best
    # Every description is compared by one learner, all learners only on the best.
    assert {"lda", "lda on generalised", "lda on blocks"} <= {*found.accuracy, *found.failed}
    assert "euclidean on generalised" not in found.accuracy


@pytest.mark.parametrize("candidate", [Candidate("lda"), Candidate("ccml", "blocks", 128)])
def test_a_candidate_is_found_again_by_its_key(candidate):
    assert Candidate.of_key(candidate.key) == candidate


def test_a_small_validation_part_still_tells_learners_apart():
    """Among hardly more than ten cases the ten nearest of every learner are nearly the same."""
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"] * 20)
    rows = rng.normal(size=(40, 3))
    rows[:, 0] = (y == "a") + 0.1 * rng.normal(size=40)
    found = validate_learners(EvaluationData(rows, y), "pixels", learners=("euclidean", "lda"))
    assert found.accuracy["lda"] > found.accuracy["euclidean"] + 0.2
