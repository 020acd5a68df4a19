"""The program states one purpose, in one wording, wherever it states any."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from semblance.core.purpose import NOT_FOR_PATIENTS, PURPOSE, USES

TOP = Path(__file__).resolve().parents[3]
PAGE = "resources/help/intended_purpose.md"
#: Words of another purpose: what regulators read as a medical one, or as its denial.
OTHER_PURPOSES = (
    r"medical device",
    r"(?:not|no|nor|gives? no) (?:a |any )?diagnos[ei]s\b",
    r"support,? not",
    r"\bsupports? (?:only|a decision|your reading|the reading|a diagnosis|diagnosis|clinical|clinicians)",
    r"decision[- ]support",
    r"(?:aids?|assists?|helps?|support) (?:in|with|for) (?:the )?(?:diagnos|reading|treatment|clinical)",
    r"computer-aided diagnosis",
    r"second (?:opinion|reader)",
    r"(?:for|in) (?:clinical|diagnostic|medical) (?:use|practice|routine|purposes?)",
    r"for (?:diagnosis|diagnosing|treating|treatment)\b",
    r"intended (?:use|for)\b",
)
#: Where the wording itself has to stand.
PLACES = (PAGE, "README.md", "packaging/bundle/debian.py", "core/purpose.py")


def texts() -> dict[str, str]:
    """The text of every file of the program that people read, or that holds what they read, by path."""
    roots = ("app", "core", "packaging", "resources/help", "resources/deidentification")
    files = [file for root in roots for file in sorted((TOP / root).rglob("*"))]
    files += [TOP / name for name in ("README.md", "SECURITY.md", "pyproject.toml", "setup.py")]
    kinds = (".py", ".md", ".html", ".toml", ".desktop", ".sh", ".service", ".json")
    return {
        file.relative_to(TOP).as_posix(): " ".join(file.read_text(encoding="utf-8").split())
        for file in files
        if file.suffix in kinds and file.is_file() and "help/de/" not in file.as_posix()
    }


@pytest.mark.parametrize("phrase", OTHER_PURPOSES)
def test_no_place_states_another_purpose(phrase):
    found = [
        f"{path}: …{text[max(0, match.start() - 40) : match.end() + 40]}…"
        for path, text in texts().items()
        if path != PAGE
        for match in re.finditer(phrase, text, re.IGNORECASE)
    ]
    assert found == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Semblance supports a decision.",
        "It gives no diagnosis and is not a medical device.",
        "Support, not a diagnosis",
        "They support your reading and are not a diagnosis.",
        "Clinical decision support for radiologists.",
        "It helps in the diagnosis of masses.",
        "For clinical use.",
    ],
)
def test_another_purpose_would_be_found(sentence):
    assert any(re.search(phrase, sentence, re.IGNORECASE) for phrase in OTHER_PURPOSES)


def test_the_wording_is_the_same_wherever_it_stands():
    known = texts()
    for path in PLACES:
        assert str(USES) in known[path], path
        assert str(NOT_FOR_PATIENTS) in known[path], path
    assert str(PURPOSE) == f"{USES} {NOT_FOR_PATIENTS}"
    assert known[PAGE].startswith(f"# Intended purpose {PURPOSE}")
    # Code has the constants, not copies of them.
    copies = [path for path, text in known.items() if path.endswith(".py") and str(USES)[:40] in text]
    assert copies == ["core/purpose.py", "packaging/bundle/debian.py"]


def test_the_page_says_that_a_lawyer_has_to_read_it():
    page = texts()[PAGE]
    for words in (
        "A lawyer has not read it yet",
        "MDR Article 5(5)",
        "MDCG 2019-11",
        "Clinical Decision Support",
    ):
        assert words in page, words
