"""The man page and the shell completions, written from the commands themselves."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import typer
from typer.completion import get_completion_script

from semblance.app.cli.main import cli
from semblance.core.purpose import PURPOSE

#: Where each shell looks for completions, below a prefix such as /usr/share.
COMPLETIONS = {
    "bash": "bash-completion/completions/semblance",
    "zsh": "zsh/vendor-completions/_semblance",
    "fish": "fish/vendor_completions.d/semblance.fish",
}


def man_page(version: str, day: str) -> str:
    """The manual in roff: every command with its arguments and options."""
    group: Any = typer.main.get_command(cli)
    lines = [
        f'.TH SEMBLANCE 1 "{day}" "Semblance {version}" "User commands"',
        ".SH NAME",
        "semblance \\- find the cases that look similar and have the same meaning",
        ".SH SYNOPSIS",
        ".B semblance",
        "[\\fILIB\\fR | \\fICOMMAND\\fR ...]",
        ".SH DESCRIPTION",
        "Without arguments the window opens; with the folder of a library it opens on that library; with",
        "a command that runs without a window. Images stay where they are, and no network is used.",
        ".SH INTENDED PURPOSE",
        _plain(PURPOSE),
        ".SH COMMANDS",
    ]
    for name, command in _commands(group):
        lines += [".SS " + _plain(name)]
        if command.help:
            lines += [_plain(" ".join(command.help.split()))]
        for parameter in command.params:
            if getattr(parameter, "hidden", False) or parameter.name == "help":
                continue
            is_option = parameter.param_type_name == "option"
            full_name = (
                ", ".join(parameter.opts) if is_option else (parameter.metavar or parameter.name.upper())
            )
            lines += [".TP", f"\\fB{_plain(full_name)}\\fR", _plain(getattr(parameter, "help", None) or "")]
    lines += [
        ".SH EXIT STATUS",
        "0 done; 1 could not; 2 wrong arguments; 130 cancelled.",
        ".SH ENVIRONMENT",
        "QT_QPA_PLATFORM=offscreen runs without a display.",
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _commands(group: Any, prefix: str = "") -> list[tuple[str, Any]]:
    commands = []
    for name, command in group.commands.items():
        full_name = f"{prefix} {name}".strip()
        if getattr(command, "commands", None):
            commands += _commands(command, full_name)
        elif not command.hidden:
            commands.append((full_name, command))
    return commands


def _plain(text: str) -> str:
    """``text`` for roff: hyphens that are hyphens, no line that reads as a command."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + safe if safe.startswith((".", "'")) else safe


def write(share: Path, version: str) -> list[Path]:
    """Write the page and the completions below ``share``; returns the files."""
    page = share / "man/man1/semblance.1"
    # The same source gives the same page on every day.
    day = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    files = {page: man_page(version, time.strftime("%Y-%m-%d", day))}
    for shell, path in COMPLETIONS.items():
        script = get_completion_script(prog_name="semblance", complete_var="_SEMBLANCE_COMPLETE", shell=shell)
        files[share / path] = script + "\n"
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return list(files)


if __name__ == "__main__":
    for made in write(Path(sys.argv[1]), sys.argv[2]):
        print(made)
