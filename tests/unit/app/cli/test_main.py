from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from semblance.app.cli.libraries import MAX_IDS
from semblance.app.cli.main import cli, run
from semblance.app.cli.metrics import REGISTRIES
from semblance.core.tasks import Cancelled
from semblance.core.workflows.features.extract_features import extract_features
from tests.helpers.bad_images import encoded, pattern
from tests.helpers.images import striped_folder
from tests.helpers.tables import table_library, write_table

#: What scripts call.
COMMANDS = {
    "audit-log", "backup", "card", "check-data", "compare-encoders", "deidentify", "demo", "doctor", "evaluate",
    "experiment", "export-metric", "extractors", "features", "import", "import-metric", "info", "kinds", "learners",
    "prevalence", "feature-set", "findings", "history", "import-labels", "label", "metric", "protocols", "redo",
    "relink", "remove", "report", "restore", "search", "serve", "show", "train", "undo",
}  # fmt: skip


def test_commands_keep_their_names():
    assert set(typer.main.get_command(cli).commands) >= COMMANDS


def test_a_help_and_the_lists_of_learners_load_no_numerical_library():
    lines = "\n".join(
        f"status = run({arguments!r}); assert status == 0 and 'numpy' not in sys.modules"
        for arguments in (["--help"], ["search", "--help"], ["train", "--help"], ["learners"])
    )
    code = f"import sys\nfrom semblance.app.cli.main import run\n{lines}"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


# The commands


@pytest.mark.slow
def test_from_a_table_to_a_ranking(document, tmp_path):
    library = tmp_path / "lib"
    table = write_table(tmp_path / "t.csv")
    assert document("import", table, "--library", library)["added"] == 60
    assert document("import", table, "--library", library)["unchanged"] == 60
    assert document("features", library, "--name", "own")["extracted"] == 60
    trained = document(
        "train", library, "--learner", "bdm_v", "--name", "mine", "--set", "rounds=9", "--set",
        "visual_neighbours=3", "--seed", "4", "--max-cases", "50", "--steps", "standardise,pca:3",
        "--features", "own", "--findings", "kind 0=low",
    )  # fmt: skip
    assert trained["metric"] == "mine"
    parameters = {"rounds": 9, "visual_neighbours": 3, "step": "paper"}
    assert trained["card"]["parameters"].items() >= parameters.items()
    assert trained["card"]["split"]["seed"] == 4
    assert set(trained["card"]["findings"]) == {"low", "kind 1"}
    found = document("search", library, "--metric", "mine", "--case", "t/c0", "-k", "7")
    assert len(found["results"]) == 7
    for line in found["results"]:
        assert sum(part["amount"] for part in line["parts"]) == pytest.approx(line["distance"], abs=1e-9)
        assert line["reason"].endswith(".")
    arguments = ("search", library, "--metric", "mine", "--case", "t/c0")
    checks = [document(*arguments, "--no-match-rate", rate)["match"] for rate in ("0", "0.01", "0.5")]
    assert checks[0] is None
    # The learnt metric knows few distances.
    assert checks[1]["limit"] >= checks[2]["limit"]
    orders = [
        [line["case_id"] for line in document(*arguments, "--diverse", share)["results"]]
        for share in ("0", "0.6")
    ]
    assert orders[0][0] == orders[1][0]
    assert orders[0] != orders[1]
    found = document(*arguments, "-k", "60", "--without", "f1", "--without", "f2")
    names = {part["name"] for line in found["results"] for part in line["parts"]}
    assert names
    assert names <= {"f0", "f3", "f4"}
    info = document("info", library)
    assert (info["feature_sets"], info["metrics"], info["cases"]) == (["own"], ["mine"], 60)
    scored = document(
        "evaluate", library, "--learner", "euclidean,bdm", "--protocol", "bdm", "--set", "bdm.rounds=4",
        "--repeats", "2", "--seed", "3",
    )  # fmt: skip
    assert [result["learner"] for result in scored["results"]] == ["euclidean", "bdm"]
    assert (scored["repeats"], scored["seed"]) == (2, 3)
    by_table = document(
        "evaluate", "--table", table, "--learner", "euclidean", "--protocol", "bdm", "--repeats", "2"
    )
    assert by_table["source"]["path"] == str(table)


def test_preparing_a_single_image_is_no_error(document, tmp_path):
    image = tmp_path / "only.png"
    image.write_bytes(encoded(pattern()))
    prepared = document("import", tmp_path, "--library", tmp_path / "lib", "--prepare")["prepared"]
    assert (prepared["extracted"], prepared["metrics"], prepared["current"]) == (1, [], None)
    assert prepared["message"].startswith("lib has one case: there is nothing to compare it with.")


def test_an_import_that_prepares_needs_no_other_command_before_a_search(document, run_command, tmp_path):
    library, table = tmp_path / "lib", write_table(tmp_path / "t.csv", n=80)
    prepared = document("import", table, "--library", library, "--prepare")["prepared"]
    assert prepared["feature_set"] == "raw"
    assert prepared["metrics"][0]["learner"] == "euclidean"
    assert set(prepared["metrics"][0]["retrieval_accuracy@10"]) == {"mean", "ci95"}
    assert prepared["current"] in [metric["name"] for metric in prepared["metrics"]]
    assert document("search", library, "--case", "t/c0")["metric"] == prepared["current"]
    status, output, _ = run_command("import", table, "--library", library, "--prepare")
    assert status == 0
    assert f"current metric: {prepared['current']}" in output


def test_marked_cases_order_a_search_and_unknown_ones_are_named(document, run_command, tmp_path):
    library, table = tmp_path / "lib", write_table(tmp_path / "t.csv", n=60)
    document("import", table, "--library", library)
    document("features", library)
    document("train", library, "--learner", "euclidean", "--name", "plain")
    search = ("search", library, "--metric", "plain", "--case", "t/c0", "-k", 60)
    found = document(*search, "--like", "t/c20, t/c9", "--unlike", "t/c6")
    assert found["feedback"] == {"liked": ["t/c20", "t/c9"], "disliked": ["t/c6"]}
    assert found["results"][-1]["case_id"] == "t/c6"
    assert {line["near_disliked"] for line in found["results"][:-1]} == {"t/c6"}
    assert found["results"] != document(*search)["results"]
    assert found["vote"] == document(*search)["vote"]
    status, _, output = run_command(*search, "--like", "t/c20,t/x", "--unlike", "t/y")
    assert status == 1
    assert "t/x, t/y" in output


def test_a_search_in_a_library_without_a_metric_says_how_to_get_one(run_command, document, tmp_path):
    document("import", write_table(tmp_path / "t.csv"), "--library", tmp_path / "lib")
    status, _, output = run_command("search", tmp_path / "lib", "--case", "t/c0")
    assert status == 1
    assert "--prepare" in output


def test_images(document, run_command, tmp_path):
    images = striped_folder(tmp_path / "images", n=12)
    library = tmp_path / "lib"
    assert document("import", images, "--library", library, "--kind", "folder")["added"] == 12
    assert document("features", library, "--extractor", "colour_edge_texture")["extracted"] == 12
    document("train", library, "--learner", "euclidean", "--name", "plain")
    image = shutil.copy(images / "level" / "p000.png", tmp_path / "asked.png")
    found = document("search", library, "--metric", "plain", "--image", image)
    answers = {line["case_id"] for line in found["results"]}
    assert len(answers) == 10
    assert not answers & {"images/level/p000.png", "images/level/p001.png"}
    assert found["hidden"] == {"same_patient": 2, "near_duplicates": 0}
    assert found["query"]["image"] == str(image)
    part = document("search", library, "--metric", "plain", "--image", image, "--region", "1,2,30,20")
    assert part["query"]["region"]["width"] == 30
    images.rename(tmp_path / "moved")
    moved = document("relink", library, tmp_path / "moved")
    assert moved == {"moved": {"images": str(tmp_path / "moved")}, "found": 12, "still_missing": 0}
    (tmp_path / "moved").rename(tmp_path / "hidden")
    (tmp_path / "empty").mkdir()
    status, out, err = run_command("relink", library, tmp_path / "empty", "--json")
    assert (status, json.loads(out)["still_missing"]) == (1, 12)
    assert err.startswith(f"None of the 12 missing files of {library} was found under {tmp_path / 'empty'}.")


@pytest.mark.parametrize("what", REGISTRIES)
def test_list_commands_print_what_info_lists(document, run_command, what):
    listed = document(what)
    assert listed
    assert document("info", what) == listed
    status, out, err = run_command(what)
    assert (status, err) == (0, "")
    assert all(item["name"] in out for item in listed)


def test_results_for_people(run_command, library, tmp_path):
    (tmp_path / "u.csv").write_text("a,label\n1,x\nwords,y\n2,y\n")
    status, out, err = run_command("import", tmp_path / "u.csv", "--library", tmp_path / "lib2")
    assert (status, err) == (0, "")
    assert "2 added, 0 unchanged, 1 failed, 0 ignored (table)" in out
    assert "2 cases; x 1, y 1" in out
    assert "failed: u.csv:3: Line 3:" in out
    (tmp_path / "u.csv").write_text("a,label\n1,x\n")
    assert "removed: u/row3" in run_command("import", tmp_path / "u.csv", "--library", tmp_path / "lib2")[1]
    status, out, err = run_command("search", library, "--metric", "plain", "--case", "t/c0", "-k", "3")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["rank", "case", "finding", "distance"]
    assert [line.split()[0] for line in lines[1:4]] == ["1", "2", "3"]
    assert "of the 10 nearest: " in out
    status, out, err = run_command("info", library)
    assert "cases: 60" in out
    assert out.count("t/c") == MAX_IDS
    assert "--json lists them" in out
    status, out, err = run_command(
        "evaluate", library, "--learner", "euclidean", "--protocol", "bdm", "--repeats", "2"
    )
    assert (status, err) == (0, "")
    assert "Retrieval accuracy @10" in out
    assert "measured on held-out cases, patients known" in out
    assert run_command("features", library, "--extractor", "raw")[1].splitlines()[1] == "features: raw"
    assert "metric: again" in run_command("train", library, "--learner", "euclidean", "--name", "again")[1]


def test_several_tables_are_compared(run_command, document, tmp_path):
    tables = [write_table(tmp_path / f"t{seed}.csv", seed=seed) for seed in range(3)]
    arguments = ["evaluate", "--learner", "euclidean,l1", "--protocol", "metricboost"]
    arguments += ["--set", "protocol.train_on=one"]
    for table in tables:
        arguments += ["--table", table]
    found = document(*arguments)
    assert [one["source"]["path"] for one in found["tables"]] == [str(table) for table in tables]
    assert {one["split"]["n_train"] for one in found["tables"]} == {12.0}
    assert found["friedman"]["triplet_accuracy"]["tables"] == 3
    assert {(pair["score"], pair["a"], pair["b"]) for pair in found["holm"]} == {
        ("triplet_accuracy", "euclidean", "l1"),
        ("knn_accuracy@1", "euclidean", "l1"),
    }
    status, out, err = run_command(*arguments)
    assert (status, err) == (0, "")
    assert f"{tables[2]}:" in out
    assert "Triplet accuracy, 3 tables: Friedman chi-squared" in out
    assert set(document(*arguments[:-4])) >= {"protocol", "results", "comparisons"}


@pytest.mark.slow
def test_features_of_several_sets_and_encoders_side_by_side(run_command, document, tmp_path):
    library = tmp_path / "lib"
    document("import", striped_folder(tmp_path / "images", n=40), "--library", library)
    assert document("features", library, "--name", "own")["extractor"] == "encoder"
    document("features", library, "--extractor", "colour_edge_texture")
    arguments = ["train", library, "--learner", "euclidean", "--name", "both"]
    trained = document(*arguments, "--features", "own,colour_edge_texture")
    assert trained["card"]["feature_set"] == "own,colour_edge_texture"
    status, out, err = run_command(
        "compare-encoders", library, "--learner", "euclidean", "--repeats", 2, "--max-cases", 30
    )
    assert (status, err) == (0, "")
    for name in (
        "encoder, random weights",
        "gabor",
        "pixels 28 x 28",
        "Retrieval accuracy @10",
        "Mean AUC over findings",
        "difference to encoder",
        "30 cases; measured on held-out cases",
    ):
        assert name in out
    status, _, err = run_command("compare-encoders", library, "--own", "net.onnx")
    assert status == 2
    assert "MODEL.onnx,SETTINGS.json" in err


def test_version_and_help(run_command):
    status, out, err = run_command("--version")
    assert (status, err) == (0, "")
    assert out.startswith("semblance ")
    for arguments in (["--help"], ["search", "--help"]):
        status, out, err = run_command(*arguments)
        assert (status, err) == (0, "")
        assert "Usage: semblance" in out
    assert "LIB <path>" in out


# Wrong arguments: 2, with what there is


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["magic"], "No such command 'magic'"),
        (["T"], "is not a library. `semblance import"),
        (["--magic"], "No such option: --magic"),
        (["import"], "Missing argument 'SOURCE'"),
        (["import", "x"], "Missing option '--library'"),
        (["import", "T", "--library", "L2", "--kind", "magic"], "There is no kind of source called 'magic'"),
        (["features", "LIB", "--extractor", "magic"], "Known extractors: encoder, gabor"),
        (
            ["features", "LIB", "--extractor", "gabor", "--set", "size=3"],
            "'size=3' is not a setting of gabor",
        ),
        (["train", "LIB", "--learner", "bdm", "--name", " "], "A metric needs a name"),
        (["train", "LIB", "--learner", "bdm", "--name", "a\nb"], "cannot be called 'a\\nb'"),
        (["train", "LIB", "--learner", "bdm_v", "--slider", "--name", ""], "A slider needs a name"),
        (["features", "LIB", "--extractor", "raw", "--name", ""], "A feature set needs a name"),
        (["import-metric", "LIB", "x", "--name", ""], "A metric needs a name"),
        (
            ["report", "LIB", "--metric", "plain", "--case", "t/c0", "--region", "a", "--out", "r.pdf"],
            "x,y,w,h",
        ),
        (["train", "LIB", "--learner", "magic", "--name", "x"], "Learners: euclidean"),
        (["train", "LIB", "--learner", "bdm", "--name", "x", "--set", "rounds=x"], "It must be a number"),
        (["train", "LIB", "--learner", "bdm", "--name", "x", "--set", "rounds"], "Write key=value"),
        (["train", "LIB", "--learner", "bdm", "--name", "x", "--features", "magic"], "There are: raw"),
        (["train", "LIB", "--learner", "bdm", "--name", "x", "--max-cases", "1"], "--max-cases"),
        (["train", "LIB", "--learner", "bdm", "--name", "x", "--seed", "x"], "--seed"),
        (["search", "LIB", "--metric", "magic", "--case", "t/c0"], "There are: plain"),
        (["search", "LIB", "--metric", "plain"], "Give either --case or --image"),
        (["search", "LIB", "--metric", "plain", "--case", "t/c0", "--image", "x"], "Give either"),
        (["search", "LIB", "--metric", "plain", "--case", "t/c0", "-k", "0"], "-k"),
        (["search", "LIB", "--metric", "plain", "--image", "x", "--region", "1,2"], "Write it like 20,30"),
        (["search", "LIB", "--metric", "plain", "--image", "x", "--region", ""], "is not x,y,w,h"),
        (["search", "LIB", "--metric", "plain", "--image", "x", "--region", "1,2,0,4"], "is empty"),
        (["evaluate", "LIB", "--learner", "euclidean", "--protocol", "magic"], "bdm"),
        (["evaluate", "--learner", "euclidean", "--protocol", "bdm"], "Give either a library or --table"),
        (["evaluate", "LIB", "--learner", " , ", "--protocol", "bdm"], "No learner is named"),
        (["evaluate", "--table", "T", "--table", "T", "--learner", "l1", "--protocol", "bdm"], "named twice"),
        (
            ["evaluate", "LIB", "--table", "T", "--table", "x", "--learner", "l1", "--protocol", "bdm"],
            "Give either a library or --table",
        ),
        (["evaluate", "--table", "builtin:magic", "--learner", "euclidean", "--protocol", "bdm"], "iris"),
    ],
)
def test_wrong_arguments(run_command, library, tmp_path, arguments, says):
    names = {"LIB": library, "T": tmp_path / "t.csv", "L2": tmp_path / "other"}
    status, out, err = run_command(*(names.get(argument, argument) for argument in arguments))
    assert (status, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
    assert not (tmp_path / "other").exists()


def test_several_feature_sets_need_a_name(run_command, library):
    extract_features(library, "raw", name="second")
    for command in (
        ["train", library, "--learner", "euclidean", "--name", "x"],
        ["evaluate", library, "--learner", "euclidean", "--protocol", "bdm"],
    ):
        status, out, err = run_command(*command)
        assert (status, out) == (2, "")
        assert err == "The library has several feature sets. Choose one with --features: raw, second.\n"


# Could not: 1, one line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["import", "gone", "--library", "L2"], "does not exist. Check the name"),
        (["import", "EMPTY", "--library", "L2"], "is empty. Choose a folder or zip of images"),
        (["info", "gone"], "does not exist. It may have been moved, renamed or removed"),
        (["info", "EMPTY"], "is not a library"),
        (["features", "gone", "--extractor", "gabor"], "does not exist"),
        (["features", "LIB", "--extractor", "gabor"], "holds no images for 'gabor'"),
        (["train", "gone", "--learner", "bdm", "--name", "x"], "does not exist"),
        (["search", "LIB", "--metric", "plain", "--case", "t/c99"], "There is no case 't/c99'"),
        (["search", "LIB", "--metric", "plain", "--image", "gone.png"], "Search with --case"),
        (["evaluate", "--table", "gone.csv", "--learner", "euclidean", "--protocol", "bdm"], "gone.csv"),
        (["relink", "LIB", "gone"], "does not exist. Choose the folder or zip"),
    ],
)
def test_what_could_not_be_done(run_command, library, tmp_path, arguments, says):
    (tmp_path / "empty").mkdir()
    names = {
        "LIB": library, "EMPTY": tmp_path / "empty", "L2": tmp_path / "other", "gone": tmp_path / "gone",
        "gone.csv": tmp_path / "gone.csv", "gone.png": tmp_path / "gone.png",
    }  # fmt: skip
    status, out, err = run_command(*(names.get(argument, argument) for argument in arguments))
    assert (status, out) == (1, "")
    assert says in err
    assert err.count("\n") == 1
    assert not (tmp_path / "other").exists()


def test_an_encoder_of_ones_own_is_named_by_its_files(run_command, tmp_path):
    status, out, err = run_command(
        "features", tmp_path / "lib", "--extractor", "onnx", "--set", "layout=NCHW"
    )
    assert (status, out) == (2, "")
    assert "its parameters: model, settings" in err


def test_a_source_without_one_usable_file_is_reported_after_its_list(run_command, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.png").write_bytes(b"")
    (tmp_path / "bad" / "b.png").write_bytes(b"x" * 99)
    status, out, err = run_command("import", tmp_path / "bad", "--library", tmp_path / "lib", "--json")
    assert status == 1
    assert [item["path"] for item in json.loads(out)["failed"]] == ["a.png", "b.png"]
    assert err.startswith(f"Nothing in {tmp_path / 'bad'} could be used: 2 failed, 0 ignored.")
    assert run_command("info", tmp_path / "lib")[0] == 0


def test_an_extraction_without_any_result_is_reported(run_command, tmp_path):
    images = striped_folder(tmp_path / "images", n=4)
    assert run_command("import", images, "--library", tmp_path / "lib")[0] == 0
    shutil.rmtree(images)
    status, out, err = run_command(
        "features", tmp_path / "lib", "--extractor", "colour_edge_texture", "--json"
    )
    assert (status, len(json.loads(out)["failed"])) == (1, 4)
    assert err.startswith("No case of ")
    assert err.count("\n") == 1


def test_an_evaluation_without_any_score_is_reported_after_its_list(run_command, tmp_path):
    (tmp_path / "equal.csv").write_text("a,b,label\n" + "1,2,x\n1,2,y\n" * 20)
    arguments = ("--table", tmp_path / "equal.csv", "--learner", "euclidean,pca", "--protocol", "bdm")
    status, out, err = run_command("evaluate", *arguments, "--repeats", "1", "--json")
    assert (status, len(json.loads(out)["failed"])) == (1, 2)
    assert err.startswith("No learner could be measured. The first reason: ")


def test_a_folder_of_another_user_is_no_defect(run_command, library, monkeypatch):
    def refuse(*args: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(library / "catalogue.sqlite"))

    monkeypatch.setattr("semblance.core.workflows.library.describe_library.describe_library", refuse)
    assert run_command("info", library) == (
        1,
        "",
        f"You may not use {library / 'catalogue.sqlite'}. Ask its owner for the right to read and write it.\n",
    )


def test_a_defect_shows_no_traceback_by_default(run_command, library, monkeypatch):
    def fail(*args: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("semblance.core.workflows.library.describe_library.describe_library", fail)
    status, out, err = run_command("info", library)
    assert (status, out) == (1, "")
    assert err == (
        "A defect in Semblance (ZeroDivisionError: a defect). Run it again with --debug for details.\n"
    )
    status, out, err = run_command("--debug", "info", library)
    assert status == 1
    assert "Traceback" in err
    assert run_command("info", library)[2].count("\n") == 1


@pytest.mark.parametrize(
    ("module", "extra"), [("sqlalchemy", "app"), ("PySide6", "app"), ("distributed", "dask")]
)
def test_a_missing_package_is_named_with_the_line_that_installs_it(
    run_command, library, monkeypatch, module, extra
):
    def fail(*args: object) -> None:
        raise ModuleNotFoundError(f"No module named '{module}.x'", name=f"{module}.x")

    monkeypatch.setattr("semblance.core.workflows.library.describe_library.describe_library", fail)
    status, out, err = run_command("info", library)
    assert (status, out) == (1, "")
    assert err == (
        f"The package {module} is not installed. Install what this command needs: "
        f"python -m pip install 'semblance-retrieval[{extra}]'\n"
    )


def test_values_that_json_cannot_represent_print_no_partial_output(run_command, library, monkeypatch):
    monkeypatch.setattr(
        "semblance.core.workflows.library.describe_library.describe_library",
        lambda path: {"a": 1, "b": float("nan")},
    )
    status, out, err = run_command("info", library, "--json")
    assert (status, out) == (1, "")
    assert "A defect" in err


def test_output_in_a_narrow_alphabet(run_command, library, monkeypatch, tmp_path):
    class Narrow:
        encoding = "ascii"

        def __init__(self) -> None:
            self.text = ""

        def write(self, text: str) -> None:
            self.text += text.encode("ascii").decode()

        def flush(self) -> None:
            return

    narrow = Narrow()
    with monkeypatch.context() as patched:
        patched.setattr("sys.stdout", narrow)
        assert run(["evaluate", "--table", str(write_table(tmp_path / "表.csv")), "--learner", "euclidean",
                    "--protocol", "bdm", "--repeats", "2", "--json"]) == 0  # fmt: skip
    assert json.loads(narrow.text)["source"]["path"].endswith("表.csv")


def test_cancelled_work_says_so(run_command, library, monkeypatch):
    def cancel(*args: object, **more: object) -> None:
        raise Cancelled

    monkeypatch.setattr("semblance.core.workflows.library.describe_library.describe_library", cancel)
    assert run_command("info", library) == (130, "", "Cancelled; what was finished is kept.\n")

    def interrupt(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("semblance.core.workflows.library.describe_library.describe_library", interrupt)
    assert run_command("info", library) == (130, "", "Cancelled; what was finished is kept.\n")


def test_a_library_that_cannot_be_written(run_command, document, library, tmp_path, monkeypatch):
    import os

    usual = os.access
    monkeypatch.setattr(os, "access", lambda p, mode, **more: usual(p, mode, **more) and not (mode & os.W_OK))
    assert document("info", library)["cases"] == 60
    assert len(document("search", library, "--metric", "plain", "--case", "t/c0")["results"]) == 20
    for command in (
        ["import", tmp_path / "t.csv", "--library", library],
        ["features", library, "--extractor", "raw"],
        ["train", library, "--learner", "euclidean", "--name", "x"],
        ["relink", library, tmp_path],
    ):
        status, out, err = run_command(*command)
        assert (status, out) == (1, "")
        assert err == (
            f"The library {library} cannot be written to. Copy it to a folder you may write to, or change "
            "its permissions.\n"
        )


def test_an_argument_that_is_a_path_and_a_name(run_command, tmp_path, monkeypatch):
    """A library that is called like a list is a library."""
    table_library(tmp_path).rename(tmp_path / "kinds")
    monkeypatch.chdir(tmp_path)
    assert "cases: 60" in run_command("info", Path("kinds"))[1]


def test_commands_that_write_a_file_print_json_too(document, library, tmp_path):
    report, card, file = tmp_path / "r.json", tmp_path / "c.md", tmp_path / "m.semblance-metric"
    arguments = ("report", library, "--metric", "plain", "--case", "t/c0", "--out", report)
    assert document(*arguments) == {"report": str(report), "files": [str(report)]}
    assert document("card", library, "--metric", "plain", "--out", card) == {"card": str(card)}
    assert document("export-metric", library, "--metric", "plain", "--out", file) == {"file": str(file)}
    assert document("import-metric", library, file, "--name", "back") == {"metric": "back"}
    assert report.is_file() and card.is_file()
