"""`make audit` passes only when everything was looked up."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[3]
EXPECTED = {"numpy": "2.4.6", "pillow": "13.0.0"}


@pytest.fixture
def audit():
    spec = importlib.util.spec_from_file_location("audit", TOP / "packaging" / "audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answer(*names, holes=(), skipped=()):
    return {
        "dependencies": [
            *(
                {"name": name, "version": EXPECTED[name], "vulns": [{"id": i} for i in holes]}
                for name in names
            ),
            *({"name": name, "skip_reason": "not found"} for name in skipped),
        ]
    }


def test_all_looked_up_without_a_hole_passes(audit):
    assert audit.evaluate_answers({"pypi": answer("numpy", "pillow"), "osv": None}, EXPECTED)[0] == 0


@pytest.mark.parametrize(
    "answers",
    [
        {"pypi": None, "osv": None},
        {"pypi": answer("numpy"), "osv": None},
        {"pypi": answer("numpy", skipped=("pillow",)), "osv": answer("numpy", skipped=("pillow",))},
    ],
    ids=["no answer", "half an answer", "skipped"],
)
def test_what_was_not_looked_up_never_passes(audit, answers):
    code, lines = audit.evaluate_answers(answers, EXPECTED)
    assert code == audit.NOT_CHECKED
    assert lines[0].startswith("NOT CHECKED")


def test_a_hole_that_one_list_knows_is_a_hole(audit):
    code, lines = audit.evaluate_answers(
        {"pypi": answer("numpy", "pillow"), "osv": answer("pillow", holes=("PYSEC-1", "GHSA-2"))}, EXPECTED
    )
    assert code == 1
    assert lines[0] == "pillow 13.0.0: GHSA-2, PYSEC-1"


def test_every_pin_is_looked_up(audit):
    text = (TOP / "packaging" / "constraints.txt").read_text(encoding="utf-8")
    pins = {line.partition("==")[0].lower().replace("_", "-") for line in text.splitlines() if "==" in line}
    assert set(audit.pinned_versions()) == pins
    assert audit.pinned_versions()["torch"] == "2.13.0"


def test_no_answer_is_distinguished_from_an_answer(audit, monkeypatch, tmp_path):
    class Refusal:
        stdout, stderr = "", "Connection refused"

    monkeypatch.setattr(audit, "VENV", tmp_path)
    monkeypatch.setattr(audit.subprocess, "run", lambda *_, **__: Refusal)
    assert audit.query_service(Path("python"), "pypi") is None
