"""axe-core finds nothing in an HTML report, and its texts have enough contrast."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from semblance.core.reports.document import FINDING_COLOURS, ReportedQuery
from semblance.core.reports.write_report import report_html
from tests.helpers.reports import HOSTILE, png, report, row
from tests.helpers.reports import vote as make_vote

SCRIPT = Path(__file__).resolve().parents[3] / "helpers" / "axe.js"
REPORTS = {
    "usual": {},
    "identified": {
        "identified": True,
        "clinic": "Clinic",
        "logo": png(),
        "comment": "Left breast.\nSee prior.",
    },
    "no findings": {"vote": make_vote({}), "ranking": tuple(row(n, finding=None) for n in (1, 2, 3))},
    "no cases": {"ranking": (), "plots": (), "card": (), "judgements": ()},
    "table": {
        "ranking": tuple(row(n, thumbnail=None) for n in range(1, 12)),
        "query": ReportedQuery("query"),
    },
    "hostile": {
        "title": HOSTILE,
        "library": "مكتبة",
        "notes": (HOSTILE,),
        "ranking": (row(1, case_id=HOSTILE),),
    },
}


def _modules() -> str:
    """Where axe-core and jsdom are; "" where they are not installed."""
    if not shutil.which("node") or not shutil.which("npm"):
        return ""
    root = subprocess.run(
        ["npm", "root", "--global"], capture_output=True, text=True, check=False
    ).stdout.strip()
    places = [*os.environ.get("NODE_PATH", "").split(os.pathsep), root]
    found = (
        place for place in places if all((Path(place) / name).is_dir() for name in ("axe-core", "jsdom"))
    )
    return next(found, "")


def test_axe_finds_no_accessibility_violation(tmp_path: Path) -> None:
    modules = _modules()
    if not modules:
        pytest.skip("axe-core and jsdom are not installed: npm install --global axe-core jsdom")
    files = []
    for name, changes in REPORTS.items():
        files.append(tmp_path / f"{name}.html")
        files[-1].write_text(report_html(report(**changes)), encoding="utf-8")
    environment = os.environ | {"NODE_PATH": modules}
    done = subprocess.run(
        ["node", SCRIPT, *files], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [one for one in json.loads(done.stdout) if one["violations"]] == []


def _contrast(one: str, other: str) -> float:
    """The contrast of two colours after WCAG 2.2."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_texts_have_enough_contrast() -> None:
    html = report_html(report())
    colours = dict(re.findall(r"--(\w+): (#\w{6})", html))
    pairs = [(colours[name], colours["panel"]) for name in ("text", "second", "third")]
    pairs.append((re.findall(r"\.missing \{ color: (#\w{6})", html)[0], colours["well"]))
    findings = tuple(f"finding {number}" for number in range(len(FINDING_COLOURS)))
    marks = report(findings=findings).marks()
    pairs += [(mark.colour, mark.ink) for mark in marks.values()]
    assert min(_contrast(*pair) for pair in pairs) >= 4.5
