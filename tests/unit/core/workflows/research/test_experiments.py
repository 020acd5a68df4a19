from __future__ import annotations

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.research.spec import ExperimentSpec
from semblance.core.research.store import ExperimentStore
from semblance.core.workflows.research.experiments import run_experiment
from tests.helpers.tables import table_library


def spec(library, features):
    return ExperimentSpec.from_json(
        {
            "cases": [{"library": str(library), "features": features}],
            "learners": ["euclidean"],
            "protocols": [{"protocol": "bdm", "repeats": 1}],
        }
    )


def test_what_could_not_begin_leaves_no_folder_behind(tmp_path):
    library = table_library(tmp_path / "l", n=40)
    wrong = spec(library, "gabor")
    with pytest.raises(SemblanceError, match="gabor"):
        run_experiment(wrong, tmp_path / "new", workers=1)
    assert not (tmp_path / "new").exists()


def test_an_experiment_that_was_there_stays(tmp_path):
    library = table_library(tmp_path / "l", n=40)
    before = ExperimentStore.create(tmp_path / "old", spec(library, "raw"))
    with pytest.raises(SemblanceError):
        run_experiment(spec(library, "gabor"), before.folder, workers=1)
    assert before.spec.cases
