from __future__ import annotations

import numpy as np

from semblance.core.evaluation.data import EvaluationData
from semblance.core.evaluation.data_sources import table_data
from semblance.core.features.registry import make_extractor
from semblance.core.imaging.formats import has_image_name
from semblance.core.imaging.image_reader import ImageReader
from semblance.core.library.importers.read_table import read_table
from semblance.core.library.importers.source import Source
from semblance.core.metrics.training_data.training_sample import stratified_sample
from semblance.core.workflows.metrics.choose_learner import (
    SHORT_LIST,
    LearnerValidation,
    inner_splits,
    validate_learners,
)


def test_many_findings_make_another_learner_win_than_two(data):
    """Recommending BDM+V by its name would be wrong: it wins on ionosphere, not on 26 letters."""
    chosen = {}
    for name, cases in (("ionosphere", 351), ("letter", 4000)):
        table = table_data(read_table(data / "tables" / f"{name}.csv"), name)
        if table.n_cases > cases:
            table = table.rows(stratified_sample(table.y, cases, 0))
        chosen[name] = validate_learners(table, "raw")
    assert chosen["ionosphere"].best == "bdm_v"
    assert chosen["letter"].best in ("boostmetric", "ccml")
    assert list(chosen["letter"].accuracy) == list(SHORT_LIST)


def test_copies_of_an_image_and_cases_of_a_patient_are_on_one_side():
    rng = np.random.default_rng(0)
    units = np.array([f"patient {row // 3}" for row in range(120)])
    data = EvaluationData(rng.normal(size=(120, 4)), np.array(["a", "b"] * 60), units=units)
    for split in inner_splits(data, 0):
        assert not set(units[split.train]) & set(units[split.test])
        assert len(split.train) + len(split.test) == 120


def test_of_equal_learners_the_plainest_is_chosen():
    assert LearnerValidation({"euclidean": 0.5, "bdm_v": 0.5, "lda": 0.4}).best == "euclidean"


def test_bdm_v_wins_on_ultrasound_by_the_encoder(data):
    archive = data / "images" / "busi_256.zip"
    extractor = make_extractor("encoder")
    with Source.open(archive) as source, ImageReader() as reader:
        paths = [entry.path for entry in source.entries() if has_image_name(entry.path)]
        rows = extractor.extract_many([reader.open(source.address(path)) for path in paths])
    findings = np.array(["malignant" if "malignant" in path else "benign" for path in paths])
    found = validate_learners(EvaluationData(rows.astype(np.float64), findings), "encoder")
    assert found.best == "bdm_v"
    assert found.accuracy["bdm_v"] > found.accuracy["euclidean"] + 0.05
