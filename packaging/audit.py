"""Check the pinned versions for known vulnerabilities: ``make audit``.

The exit status is 0 only if every pinned version was checked and has no known vulnerability, 1 if one has, and
:data:`NOT_CHECKED` if the databases could not be reached.
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
#: Exit status: the network failed and nothing was checked.
NOT_CHECKED = 75
#: Databases of known vulnerabilities. Both are queried.
SERVICES = ("pypi", "osv")


def main() -> int:
    python = make_environment()
    if python is None:
        print("NOT CHECKED: pip-audit could not be installed; pip's message above says why.")
        return NOT_CHECKED
    answers = {service: query_service(python, service) for service in SERVICES}
    code, lines = evaluate_answers(answers, pinned_versions())
    print("\n".join(lines))
    return code


def make_environment() -> Path | None:
    """The Python with pip-audit, or ``None`` if it cannot be installed."""
    python = VENV / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    stamp = VENV / "audit.stamp"
    expected = PINNED[1].read_text(encoding="utf-8")
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == expected:
        return python
    venv.create(VENV, with_pip=True, clear=True)
    install = [python, "-m", "pip", "install", "--quiet", "--no-input", "--requirement", PINNED[1]]
    if subprocess.run(install, stdout=sys.stderr, check=False).returncode:
        return None
    stamp.write_text(expected, encoding="utf-8")
    return python


def pinned_versions() -> dict[str, str]:
    """Name -> version of all pinned packages, without local version labels."""
    versions = {}
    for line in PINNED[0].read_text(encoding="utf-8").splitlines():
        requirement = line.partition("#")[0].partition(";")[0].strip()
        name, _, version = requirement.partition("==")
        if version:
            versions[name.lower().replace("_", "-")] = version.partition("+")[0]
    return versions


def query_service(python: Path, service: str) -> dict[str, Any] | None:
    """The answer of pip-audit from ``service`` about the pinned versions, or ``None`` without an answer."""
    requirements = VENV / "pinned.txt"
    requirements.write_text(
        "".join(f"{name}=={version}\n" for name, version in pinned_versions().items()), encoding="utf-8"
    )
    command = [python, "-m", "pip_audit", "--requirement", requirements, "--no-deps", "--disable-pip"]
    command += ["--vulnerability-service", service, "--format", "json", "--progress-spinner", "off"]
    output = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        answer: dict[str, Any] = json.loads(output.stdout)
    except ValueError:
        last_line = output.stderr.strip().splitlines()[-1:] or ["no message"]
        print(f"{service} did not answer: {last_line[0][:300]}", file=sys.stderr)
        return None
    return answer


def evaluate_answers(
    answers: dict[str, dict[str, Any] | None], versions: dict[str, str]
) -> tuple[int, list[str]]:
    """The exit status and the lines to print."""
    vulnerabilities: dict[tuple[str, str], set[str]] = {}
    checked: set[str] = set()
    for answer in answers.values():
        for dependency in (answer or {}).get("dependencies", ()):
            name = str(dependency["name"]).lower().replace("_", "-")
            if "skip_reason" in dependency:
                continue
            checked.add(name)
            for vulnerability in dependency.get("vulns", ()):
                vulnerabilities.setdefault((name, str(dependency["version"])), set()).add(
                    str(vulnerability["id"])
                )
    lines = [
        f"{name} {version}: {', '.join(sorted(ids))}"
        for (name, version), ids in sorted(vulnerabilities.items())
    ]
    if lines:
        return 1, [*lines, f"{len(lines)} of {len(versions)} pinned versions have known holes: renew them."]
    missing = sorted(set(versions) - checked)
    if missing:
        names = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        return NOT_CHECKED, [f"NOT CHECKED: {len(missing)} of {len(versions)} pinned versions ({names})."]
    return 0, [f"{len(versions)} pinned versions, no known hole."]


if __name__ == "__main__":
    sys.exit(main())
