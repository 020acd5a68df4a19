"""Ask whether a pinned dependency has a known hole: ``make audit``.

Ends with 0 only when every pinned version was looked up and none has a known hole, with 1 where one has, and
with :data:`NOT_CHECKED` where the lists of known holes were out of reach: that is never a pass.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parent.parent
VENV = TOP / ".venv-audit"
PINNED = (TOP / "packaging" / "constraints.txt", TOP / "packaging" / "audit-constraints.txt")
#: Exit status: the network refused, nothing is known.
NOT_CHECKED = 75
#: Where known holes are listed; both are asked.
SERVICES = ("pypi", "osv")


def main() -> int:
    python = make_environment()
    if python is None:
        print("NOT CHECKED: pip-audit could not be installed; pip's message above says why.")
        return NOT_CHECKED
    answers = {service: ask(python, service) for service in SERVICES}
    code, lines = judge(answers, pinned())
    print("\n".join(lines))
    return code


def make_environment() -> Path | None:
    """The Python that has pip-audit; ``None`` where it cannot be installed."""
    python = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    stamp = VENV / "audit.stamp"
    wanted = PINNED[1].read_text(encoding="utf-8")
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    venv.create(VENV, with_pip=True, clear=True)
    install = [python, "-m", "pip", "install", "--quiet", "--no-input", "--requirement", PINNED[1]]
    if subprocess.run(install, stdout=sys.stderr, check=False).returncode:
        return None
    stamp.write_text(wanted, encoding="utf-8")
    return python


def pinned() -> dict[str, str]:
    """Name -> version of everything the program is installed with, without what is local to a machine."""
    found = {}
    for line in PINNED[0].read_text(encoding="utf-8").splitlines():
        requirement = line.partition("#")[0].partition(";")[0].strip()
        name, _, version = requirement.partition("==")
        if version:
            found[name.lower().replace("_", "-")] = version.partition("+")[0]
    return found


def ask(python: Path, service: str) -> dict[str, Any] | None:
    """What ``service`` knows of the pinned versions, as pip-audit tells it; ``None`` without an answer."""
    wanted = VENV / "pinned.txt"
    wanted.write_text("".join(f"{name}=={version}\n" for name, version in pinned().items()), encoding="utf-8")
    command = [python, "-m", "pip_audit", "--requirement", wanted, "--no-deps", "--disable-pip"]
    command += ["--vulnerability-service", service, "--format", "json", "--progress-spinner", "off"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answer: dict[str, Any] = json.loads(told.stdout)
    except ValueError:
        last = told.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        print(f"{service} did not answer: {last[0][:300]}", file=sys.stderr)
        return None
    return answer


def judge(answers: dict[str, dict[str, Any] | None], wanted: dict[str, str]) -> tuple[int, list[str]]:
    """Exit status, and what to say of it."""
    holes: dict[tuple[str, str], set[str]] = {}
    checked: set[str] = set()
    for answer in answers.values():
        for one in (answer or {}).get("dependencies", ()):
            name = str(one["name"]).lower().replace("_", "-")
            if "skip_reason" in one:
                continue
            checked.add(name)
            for hole in one.get("vulns", ()):
                holes.setdefault((name, str(one["version"])), set()).add(str(hole["id"]))
    lines = [f"{name} {version}: {', '.join(sorted(ids))}" for (name, version), ids in sorted(holes.items())]
    if lines:
        return 1, [*lines, f"{len(lines)} of {len(wanted)} pinned versions have known holes: renew them."]
    missing = sorted(set(wanted) - checked)
    if missing:
        told = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        return NOT_CHECKED, [f"NOT CHECKED: {len(missing)} of {len(wanted)} pinned versions ({told})."]
    return 0, [f"{len(wanted)} pinned versions, no known hole."]


if __name__ == "__main__":
    sys.exit(main())
