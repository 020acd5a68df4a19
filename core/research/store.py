"""The folder of an experiment: its specification, and a file for every finished cell."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.files import create_folder, make_folder, write_file
from semblance.core.language import tr_lazy
from semblance.core.research.spec import ExperimentSpec

SPEC, CELLS, CASES, QUERIES = "experiment.json", "cells", "cases.json", "queries"
_WORK = ".work-"
FORMAT = 1
MAX_BYTES = 256 << 20


class ExperimentStore:
    """Saves cells atomically, so that a killed run can be continued.

    ``damaged`` counts the files of cells that could not be read; those cells are measured again. ``created``: the
    folder did not exist before.
    """

    def __init__(self, folder: Path, *, created: bool = False) -> None:
        self.folder = folder
        self.damaged = 0
        self._created = created

    @classmethod
    def create(cls, folder: Path, spec: ExperimentSpec) -> ExperimentStore:
        """Create or update the folder for ``spec``. Finished cells that the new ``spec`` contains too stay valid.

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
        created = not folder.exists()
        try:
            create_folder(folder / CELLS)
        except OSError as problem:
            raise SemblanceError(
                tr_lazy(
                    "{folder} cannot be made: {reason}.", folder=folder, reason=problem.strerror or problem
                ),
                "Choose another folder.",
            ) from problem
        _write_json(folder / SPEC, {"format": FORMAT, "spec": spec.to_json()})
        return cls(folder, created=created)

    @classmethod
    def open(cls, folder: Path) -> ExperimentStore:
        """Open the folder of an experiment.

        Raises:
            BadInput: the folder contains no experiment.
        """
        if not (folder / SPEC).is_file():
            raise BadInput(
                tr_lazy("{folder} holds no experiment.", folder=folder),
                "Name the folder `semblance experiment run` wrote into.",
            )
        return cls(folder)

    @property
    def spec(self) -> ExperimentSpec:
        """The specification of the experiment.

        Raises:
            BadInput: it cannot be read.
        """
        return ExperimentSpec.from_json(self._document(SPEC).get("spec"))

    def remove_if_new(self) -> None:
        """Remove the folder if it was created for an experiment that could not start."""
        if self._created and not (self.folder / CASES).is_file():
            shutil.rmtree(self.folder, ignore_errors=True)

    def save_cases(self, cases: list[dict[str, Any]]) -> None:
        """Save the facts of the cases, in the order of the experiment: fingerprint, source, problem."""
        _write_json(self.folder / CASES, {"format": FORMAT, "cases": cases})

    def cases(self) -> list[dict[str, Any]]:
        """The facts of the cases; empty before the first run."""
        return list(self._document(CASES)["cases"]) if (self.folder / CASES).is_file() else []

    def save_cell(self, cell: str, answer: dict[str, Any]) -> None:
        """Save a finished cell.

        Raises:
            SemblanceError: the disk is full, or the folder does not exist.
        """
        text = _compact_json(answer)
        write_file(self._file(cell), f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n".encode())

    def save_kept(self, cell: str, content: bytes | None) -> None:
        """Save the splits and queries of a cell, before the cell itself; ``None`` removes those of an earlier run.

        Raises:
            SemblanceError: as :meth:`save_cell`.
        """
        if content is None:
            self._kept_file(cell).unlink(missing_ok=True)
        else:
            make_folder(self.folder / QUERIES)
            write_file(self._kept_file(cell), content, durable=False)

    def has_kept(self, cell: str) -> bool:
        """Whether splits and queries of a cell are kept."""
        return self._kept_file(cell).is_file()

    def read_kept(self, cell: str) -> bytes | None:
        """The splits and queries of a cell; ``None`` where none are kept."""
        try:
            return self._kept_file(cell).read_bytes()
        except OSError:
            return None

    def _kept_file(self, cell: str) -> Path:
        return self.folder / QUERIES / f"{cell}.npz"

    def read_cell(self, cell: str) -> dict[str, Any] | None:
        """The answer of a finished cell; ``None`` if there is none, or if it is damaged."""
        try:
            digest, _, text = _read_text(self._file(cell)).partition("\n")
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
        """A temporary folder for a run. Folders of killed runs are removed."""
        for old_folder in self.folder.glob(f"{_WORK}*"):
            if not _is_running(old_folder.name.removeprefix(_WORK)):
                shutil.rmtree(old_folder, ignore_errors=True)
        folder = self.folder / f"{_WORK}{os.getpid()}"
        create_folder(folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _file(self, cell: str) -> Path:
        return self.folder / CELLS / f"{cell}.json"

    def _document(self, name: str) -> dict[str, Any]:
        try:
            document = json.loads(_read_text(self.folder / name))
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


def _is_running(process: str) -> bool:
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


def _write_json(path: Path, document: dict[str, Any]) -> None:
    write_file(path, (json.dumps(document, indent=1, allow_nan=False) + "\n").encode())


def _compact_json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, allow_nan=False, separators=(",", ":"))


def _read_text(file: Path) -> str:
    """The text of a file of at most :data:`MAX_BYTES`.

    Raises:
        ValueError: a larger file.
    """
    if file.stat().st_size > MAX_BYTES:
        raise ValueError("too large")
    return file.read_text("utf-8")
