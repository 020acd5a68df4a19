from __future__ import annotations

from urllib.parse import quote

import pytest

from semblance.core.errors import SemblanceError
from semblance.core.library.location import library_location
from semblance.core.library.open_library import open_library
from semblance.core.research.spec import ExperimentSpec
from semblance.core.research.store import ExperimentStore
from semblance.core.workflows.maintenance.move_library import move_library
from semblance.core.workflows.research.experiments import export_experiment, run_experiment
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


def test_an_experiment_on_a_server_gets_its_password_and_stores_none(tmp_path, database):
    library = library_location(database)
    move_library(table_library(tmp_path / "l", n=40), library)
    described, folder = spec(library, "raw"), tmp_path / "new"
    with pytest.raises(SemblanceError, match="password"):
        run_experiment(described, folder, workers=1)
    document = run_experiment(described, folder, workers=1, known=library)
    assert document["cells"]["failed"] == 0
    export_experiment(folder, tmp_path / "out", plots=False, known=library)
    with open_library(library) as opened:
        assert len(opened.exports()) == 1
    assert not any(
        word in file.read_bytes()
        for file in (*folder.rglob("*"), *(tmp_path / "out").rglob("*"))
        if file.is_file()
        for word in (library.password.encode(), quote(library.password, safe="").encode())
    )
