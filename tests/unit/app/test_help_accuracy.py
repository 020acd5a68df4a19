"""What README and help pages say of commands, options and parameters is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer

from semblance import resources
from semblance.app.cli.main import cli
from semblance.core.metrics.registry import declared_learner

ROOT = Path(__file__).resolve().parents[3]
HELP = Path(resources.path("help"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(HELP.rglob("*.md"))]
#: In learners' pages, besides their parameters: an extra and an extractor.
OTHERS = {"deep", "pixels"}


def commands() -> dict[str, set[str]]:
    """Options of every command, those of a group's commands as "experiment run"."""
    found: dict[str, set[str]] = {}

    def add(group: object, before: str) -> None:
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                add(command, f"{before}{name} ")
            else:
                found[before + name] = {
                    option for one in command.params for option in (*one.opts, *one.secondary_opts)
                } | {"--help"}

    add(typer.main.get_command(cli), "")
    return found


def command_lines(page: Path) -> list[list[str]]:
    """Command lines on a page, in words: those in code that begin with the program."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    blocks = re.findall(r"```\n(.*?)```", text, re.DOTALL)
    spans = re.findall(
        r"(?<!`)`([^`\n]+(?:\n[^`\n]+)?)`(?!`)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    )
    lines = [line for block in blocks for line in block.splitlines()] + spans
    return [
        words[1:]
        for line in lines
        if (words := line.split()) and words[0] in ("semblance", ".venv/bin/semblance")
    ]


def problem_of(words: list[str], known: dict[str, set[str]]) -> str | None:
    """What is wrong with a command line."""
    # Without a word it is the program itself, with a folder, a server's address or an option the window.
    if not words or words[0].startswith(("-", "LIB", "…", '"postgresql:')):
        return None
    # A group may be in another, as "library project create".
    begins = [" ".join(words[:n]) for n in (3, 2, 1)]
    name = next((begin for begin in begins if begin in known), None)
    if name is None:
        group = next((b for b in begins if any(one.startswith(f"{b} ") for one in known)), None)
        if group is None:
            return "no such command"
        # Named as a whole.
        more = words[len(group.split()) :]
        return "no such command" if more and not more[0].startswith("-") and group != "experiment" else None
    options = {
        re.split(r"[=\]\[|]", word.strip("[]().,;"))[0] for word in words if re.match(r"\[?--?[a-z]", word)
    }
    return f"no options {options - known[name]}" if options - known[name] else None


def test_commands_and_options_are_there():
    known = commands()
    lines = [(page, words) for page in PAGES for words in command_lines(page)]
    assert len(lines) > 200
    problems = {f"{page.name}: {' '.join(words)}": problem_of(words, known) for page, words in lines}
    assert {line: problem for line, problem in problems.items() if problem} == {}


@pytest.mark.parametrize("page", sorted((HELP / "learners").glob("*.md")), ids=lambda page: page.stem)
def test_parameters_of_learners_are_there(page):
    named = set(re.findall(r"`([^`]+)`", page.read_text(encoding="utf-8")))
    assert named - OTHERS <= {one.name for one in declared_learner(page.stem).parameters}


def test_every_command_but_the_demo_prints_json():
    assert {name for name, options in commands().items() if "--json" not in options} == {"demo"}
