from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

from semblance.app.cli.console import ConsoleReporter
from semblance.app.cli.main import run
from semblance.core.tasks import Cancelled
from tests.helpers.images import striped_folder
from tests.helpers.tables import table_library, write_table

# Could not: 1, one line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["import", "gone", "--library", "L2"], "is not there. Check the name"),
        (["import", "EMPTY", "--library", "L2"], "is empty. Choose a folder or zip of images"),
        (["info", "gone"], "does not exist. Was it moved, renamed or removed"),
        (["info", "EMPTY"], "is not a library"),
        (["features", "gone", "--extractor", "gabor"], "does not exist"),
        (["features", "LIB", "--extractor", "gabor"], "holds no images for 'gabor'"),
        (["train", "gone", "--learner", "bdm", "--name", "x"], "does not exist"),
        (["search", "LIB", "--metric", "plain", "--case", "t/c99"], "There is no case 't/c99'"),
        (["search", "LIB", "--metric", "plain", "--image", "gone.png"], "Ask with --case"),
        (["evaluate", "--table", "gone.csv", "--learner", "euclidean", "--protocol", "bdm"], "gone.csv"),
        (["relink", "LIB", "gone"], "does not exist. Choose the folder or zip"),
    ],
)
def test_what_could_not_be_done(told, library, tmp_path, arguments, says):
    (tmp_path / "empty").mkdir()
    names = {
        "LIB": library, "EMPTY": tmp_path / "empty", "L2": tmp_path / "other", "gone": tmp_path / "gone",
        "gone.csv": tmp_path / "gone.csv", "gone.png": tmp_path / "gone.png",
    }  # fmt: skip
    status, out, err = told(*(names.get(argument, argument) for argument in arguments))
    assert (status, out) == (1, "")
    assert says in err
    assert err.count("\n") == 1
    assert not (tmp_path / "other").exists()


def test_an_encoder_of_ones_own_is_named_by_its_files(told, tmp_path):
    status, out, err = told("features", tmp_path / "lib", "--extractor", "onnx", "--set", "layout=NCHW")
    assert (status, out) == (2, "")
    assert "its parameters: model, settings" in err


def test_a_source_without_one_usable_file_is_told_after_its_list(told, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.png").write_bytes(b"")
    (tmp_path / "bad" / "b.png").write_bytes(b"x" * 99)
    status, out, err = told("import", tmp_path / "bad", "--library", tmp_path / "lib", "--json")
    assert status == 1
    assert [item["path"] for item in json.loads(out)["failed"]] == ["a.png", "b.png"]
    assert err.startswith(f"Nothing in {tmp_path / 'bad'} could be used: 2 failed, 0 ignored.")
    assert told("info", tmp_path / "lib")[0] == 0


def test_features_nothing_gave_are_told(told, tmp_path):
    images = striped_folder(tmp_path / "images", n=4)
    assert told("import", images, "--library", tmp_path / "lib")[0] == 0
    shutil.rmtree(images)
    status, out, err = told("features", tmp_path / "lib", "--extractor", "colour_edge_texture", "--json")
    assert (status, len(json.loads(out)["failed"])) == (1, 4)
    assert err.startswith("No case of ")
    assert err.count("\n") == 1


def test_a_defect_shows_no_traceback_unless_asked(told, library, monkeypatch):
    def fail(*args: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("semblance.core.workflows.library.descriptions.describe_library", fail)
    status, out, err = told("info", library)
    assert (status, out) == (1, "")
    assert err == (
        "A defect in Semblance (ZeroDivisionError: a defect). Run it again with --debug for details.\n"
    )
    status, out, err = told("--debug", "info", library)
    assert status == 1
    assert "Traceback" in err
    assert told("info", library)[2].count("\n") == 1


def test_numbers_json_does_not_know_print_nothing_half(told, library, monkeypatch):
    monkeypatch.setattr(
        "semblance.core.workflows.library.descriptions.describe_library",
        lambda path: {"a": 1, "b": float("nan")},
    )
    status, out, err = told("info", library, "--json")
    assert (status, out) == (1, "")
    assert "A defect" in err


def test_output_in_a_narrow_alphabet(told, library, monkeypatch, tmp_path):
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


# Cancelled: 130


def test_cancelled_work_says_so(told, library, monkeypatch):
    def cancel(*args: object, **more: object) -> None:
        raise Cancelled

    monkeypatch.setattr("semblance.core.workflows.library.descriptions.describe_library", cancel)
    assert told("info", library) == (130, "", "Cancelled; what was finished is kept.\n")

    def interrupt(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("semblance.core.workflows.library.descriptions.describe_library", interrupt)
    assert told("info", library) == (130, "", "Cancelled; what was finished is kept.\n")


def test_the_first_ctrl_c_asks_and_the_second_ends():
    before = signal.getsignal(signal.SIGINT)
    with ConsoleReporter() as reporter:
        reporter.progress(1, 2, "work")
        reporter.check_cancelled()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(Cancelled):
            reporter.check_cancelled()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_progress_goes_to_stderr_only_where_someone_looks(capfd):
    with ConsoleReporter() as reporter:
        for done in range(3):
            reporter.progress(done, None, "reading")
            reporter.progress(done, 2, "work")
    assert capfd.readouterr() == ("", "")


def test_a_library_that_cannot_be_written(told, document, library, tmp_path, monkeypatch):
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
        status, out, err = told(*command)
        assert (status, out) == (1, "")
        assert err == (
            f"The library {library} cannot be written to. Copy it to a folder you may write to, or change "
            "its permissions.\n"
        )


def test_names_that_are_paths_and_words_at_once(told, tmp_path, monkeypatch):
    """A library that is called like a list is a library."""
    table_library(tmp_path).rename(tmp_path / "kinds")
    monkeypatch.chdir(tmp_path)
    assert "cases: 60" in told("info", Path("kinds"))[1]


def test_commands_that_write_a_file_print_json_too(document, library, tmp_path):
    report, card, file = tmp_path / "r.json", tmp_path / "c.md", tmp_path / "m.semblance-metric"
    asked = ("report", library, "--metric", "plain", "--case", "t/c0", "--out", report)
    assert document(*asked) == {"report": str(report)}
    assert document("card", library, "--metric", "plain", "--out", card) == {"card": str(card)}
    assert document("export-metric", library, "--metric", "plain", "--out", file) == {"file": str(file)}
    assert document("import-metric", library, file, "--name", "back") == {"metric": "back"}
    assert report.is_file() and card.is_file()
