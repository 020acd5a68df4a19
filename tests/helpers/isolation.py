"""Private user folders: no test reads or writes the settings of the person who runs it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import platformdirs
import pytest
from PySide6.QtCore import QSettings

#: Variable -> folder under the private home. Linux, macOS (HOME alone counts) and Windows.
FOLDERS = {
    "HOME": "",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
    "XDG_RUNTIME_DIR": "run",
    "USERPROFILE": "",
    "APPDATA": "AppData/Roaming",
    "LOCALAPPDATA": "AppData/Local",
}


def redirect_user_folders(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Make ``home`` the user's home for this process and those it starts."""
    for variable, part in FOLDERS.items():
        monkeypatch.setenv(variable, str(home / part))
    # Qt warns about a runtime folder that others may read.
    (home / "run").mkdir(mode=0o700, parents=True, exist_ok=True)
    # Qt looks at XDG_CONFIG_HOME once per process only.
    for kind in (QSettings.Format.NativeFormat, QSettings.Format.IniFormat):
        QSettings.setPath(kind, QSettings.Scope.UserScope, str(home / ".config"))


def lend_encoder(kept: Path) -> None:
    """Give the private home the converted encoder from ``kept``, if it is there: converting takes seconds."""
    for file in kept.glob("*.onnx"):
        folder = _encoder_folder()
        folder.mkdir(parents=True)
        os.link(file, folder / file.name)


def keep_encoder(kept: Path) -> None:
    """Copy the encoder that a test converted to ``kept``, for the tests after it."""
    for file in _encoder_folder().glob("*.onnx"):
        if not (kept / file.name).exists():
            half = kept / f"{file.name}.{os.getpid()}"
            shutil.copy(file, half)
            half.replace(kept / file.name)


def _encoder_folder() -> Path:
    return Path(platformdirs.user_cache_dir("semblance", appauthor=False)) / "encoder"
