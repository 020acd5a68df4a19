"""The folder of an experiment: its description, and every finished cell in a file of its own."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.files import write_file
from semblance.core.language import tr_lazy
from semblance.core.research.spec import ExperimentSpec

SPEC, CELLS, CASES = "experiment.json", "cells", "cases.json"
_WORK = ".work-"
FORMAT = 1
MAX_BYTES = 256 << 20


class ExperimentStore:
    """Cells appear here whole or not at all, so that a run that was killed goes on where it was.

    ``damaged`` counts files of cells that could not be read; those cells are measured again. ``made``: the
    folder was not there before.
    """

    def __init__(self, folder: Path, *, made: bool = False) -> None:
        self.folder = folder
        self.damaged = 0
        self._made = made

    @classmethod
    def create(cls, folder: Path, spec: ExperimentSpec) -> ExperimentStore:
        """The folder for ``spec``; one that has an experiment already keeps the cells both have.

        Raises:
            SemblanceError: the folder holds something else, or cannot be written.
        """
        if folder.exists() and not folder.is_dir():
            raise SemblanceError(
                tr_lazy("{folder} is a file.", folder=folder), "Name a folder for the experiment."
            )
        if folder.is_dir() and any(folder.iterdir()) and not (folder / SPEC).is_file():
            raise SemblanceError(
                tr_lazy("{folder} holds other files and no experiment.", folder=folder),
                "Name a new folder, or an experiment's.",
            )
        made = not folder.exists()
        try:
            (folder / CELLS).mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise SemblanceError(
                tr_lazy(
                    "{folder} cannot be made: {reason}.", folder=folder, reason=problem.strerror or problem
                ),
                "Choose another folder.",
            ) from problem
        _put(folder / SPEC, {"format": FORMAT, "spec": spec.to_json()})
        return cls(folder, made=made)

    @classmethod
    def open(cls, folder: Path) -> ExperimentStore:
        """
        Raises:
            BadInput: no experiment lies in the folder.
        """
        if not (folder / SPEC).is_file():
            raise BadInput(
                tr_lazy("{folder} holds no experiment.", folder=folder),
                "Name the folder `semblance experiment run` wrote into.",
            )
        return cls(folder)

    @property
    def spec(self) -> ExperimentSpec:
        """
        Raises:
            BadInput: the description cannot be read.
        """
        return ExperimentSpec.from_json(self._document(SPEC).get("spec"))

    def withdraw(self) -> None:
        """Remove the folder if it was made for an experiment that then could not begin."""
        if self._made and not (self.folder / CASES).is_file():
            shutil.rmtree(self.folder, ignore_errors=True)

    def save_cases(self, cases: list[dict[str, Any]]) -> None:
        """What is known of the cases, in the order of the experiment: fingerprint, facts, problem."""
        _put(self.folder / CASES, {"format": FORMAT, "cases": cases})

    def cases(self) -> list[dict[str, Any]]:
        """As kept last; none before the first run has read them."""
        return list(self._document(CASES)["cases"]) if (self.folder / CASES).is_file() else []

    def save_cell(self, cell: str, answer: dict[str, Any]) -> None:
        """Keep a finished cell.

        Raises:
            SemblanceError: the disk is full, or the folder is gone.
        """
        text = _dumps(answer)
        write_file(self._file(cell), f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n".encode())

    def read_cell(self, cell: str) -> dict[str, Any] | None:
        """A finished cell; ``None`` where there is none, or only a damaged one."""
        try:
            digest, _, text = _text(self._file(cell)).partition("\n")
            text = text.rstrip("\n")
            if hashlib.sha256(text.encode()).hexdigest() != digest:
                raise ValueError("damaged")
            answer = json.loads(text)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError):
            self.damaged += 1
            return None
        return dict(answer)

    @contextlib.contextmanager
    def work(self) -> Any:
        """A folder for the time of a run; those of runs that were killed are removed."""
        for left in self.folder.glob(f"{_WORK}*"):
            if not _alive(left.name.removeprefix(_WORK)):
                shutil.rmtree(left, ignore_errors=True)
        folder = self.folder / f"{_WORK}{os.getpid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _file(self, cell: str) -> Path:
        return self.folder / CELLS / f"{cell}.json"

    def _document(self, name: str) -> dict[str, Any]:
        try:
            document = json.loads(_text(self.folder / name))
            if document["format"] > FORMAT:
                raise BadInput(
                    tr_lazy("{folder} was made by a newer version of Semblance.", folder=self.folder),
                    "Use that version, or a newer one.",
                )
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
            raise BadInput(
                tr_lazy("{folder} cannot be read.", folder=self.folder / name),
                "Restore it, or run the experiment into a new folder.",
            ) from problem
        return dict(document)


def _alive(process: str) -> bool:
    if not process.isdigit():
        return False
    if os.name == "nt":
        return True
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _put(path: Path, document: dict[str, Any]) -> None:
    write_file(path, (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())


def _dumps(answer: dict[str, Any]) -> str:
    return json.dumps(answer, allow_nan=False, separators=(",", ":"))


def _text(file: Path) -> str:
    """The text of a file, which no experiment makes larger than :data:`MAX_BYTES`."""
    if file.stat().st_size > MAX_BYTES:
        raise ValueError("too large")
    return file.read_text("utf-8")
