"""The command line as scripts use it: one JSON document on stdout, exit statuses, from any folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.images import striped_folder
from tests.helpers.program import TOP, run_program, start_program


def parsed(*arguments: object, **options: object) -> dict:
    status, out, err = run_program(*arguments, "--json", **options)
    assert (status, err) == (0, "")
    return json.loads(out)


def test_from_a_folder_of_images_to_scores(tmp_path):
    """Each step a program of its own, in another folder, with names that have spaces and no Latin letters."""
    here = tmp_path / "my work 研究"
    here.mkdir()
    striped_folder(here / "my images", n=40)
    first = parsed("import", "my images", "--library", "my lib", cwd=here)
    assert (first["added"], first["findings"]) == (40, {"level": 20, "upright": 20})
    again = parsed("import", "my images", "--library", "my lib", cwd=here)
    assert (again["added"], again["unchanged"]) == (0, 40)
    assert parsed("features", "my lib", "--extractor", "gabor", cwd=here)["extracted"] == 40
    trained = parsed("train", "my lib", "--learner", "bdm_v", "--name", "mine", cwd=here)
    assert trained["card"]["measured_on"] == "held-out patients"
    found = parsed("search", "my lib", "--metric", "mine", "--image", "my images/level/p000.png", cwd=here)
    # The case with the same pixels is the query itself.
    assert "my images/level/p000.png" not in [case["case_id"] for case in found["results"]]
    assert found["hidden"]["same_patient"] >= 1
    scored = parsed(
        "evaluate", "my lib", "--learner", "euclidean,bdm_v", "--protocol", "bdm", "--repeats", "3", cwd=here
    )
    assert [result["learner"] for result in scored["results"]] == ["euclidean", "bdm_v"]
    info = parsed("info", "my lib", cwd=here)
    assert (info["cases"], info["metrics"], info["patients"]) == (40, ["mine"], 20)


@pytest.mark.parametrize(("arguments", "status"), [(["--version"], 0), (["info", "gone"], 1), (["magic"], 2)])
def test_exit_statuses(tmp_path, arguments, status):
    found, out, err = run_program(*arguments, cwd=tmp_path)
    assert found == status
    assert "Traceback" not in err
    if status:
        assert (out, err.count("\n")) == ("", 1)


def test_no_window_is_loaded_for_a_command(tmp_path):
    code = (
        "import sys\nfrom semblance.app.__main__ import main\nstatus = main(['learners', '--json'])\n"
        "qt = ('PySide6', 'pyqtgraph', 'matplotlib')\n"
        "assert not [name for name in sys.modules if name.startswith(qt)]\n"
        "sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=TOP, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a Unix pipe")
def test_a_reader_that_goes_away_is_no_error(tmp_path):
    with start_program("learners") as program:
        program.stdout.close()
        assert program.stderr.read() == ""
        assert program.wait() == 1


def test_output_where_the_locale_knows_no_unicode(tmp_path):
    (tmp_path / "表.csv").write_text("a,label\n1,良性\n2,ä\n", encoding="utf-8")
    bare = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    document = parsed("import", "表.csv", "--library", "lib", cwd=tmp_path, environment=bare)
    assert document["findings"] == {"ä": 1, "良性": 1}
    status, out, err = run_program("info", "lib", cwd=tmp_path, environment=bare)
    assert (status, err) == (0, "")
    assert "cases: 2" in out


def test_a_library_copied_elsewhere_is_whole(tmp_path):
    (tmp_path / "t.csv").write_text("a,label\n1,x\n2,y\n")
    parsed("import", tmp_path / "t.csv", "--library", tmp_path / "lib")
    (tmp_path / "lib").rename(tmp_path / "moved")
    assert parsed("info", tmp_path / "moved")["library"] == str(Path(tmp_path / "moved"))


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="such names exist on Linux only")
def test_paths_that_are_no_text(tmp_path):
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")
    striped_folder(Path(odd), n=4)
    status, out, err = run_program("import", odd, "--library", tmp_path / "lib")
    assert (status, out) == (1, "")
    assert "is not valid text. Rename it" in err
    parsed("import", striped_folder(tmp_path / "fine", n=4), "--library", Path(odd) / "lib")
    assert parsed("info", Path(odd) / "lib")["cases"] == 4
