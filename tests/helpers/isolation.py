"""Private user folders, so that no test reads or writes the settings of the user."""

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
    for variable, folder in FOLDERS.items():
        monkeypatch.setenv(variable, str(home / folder))
    # Qt warns about a runtime folder that others may read.
    (home / "run").mkdir(mode=0o700, parents=True, exist_ok=True)
    # Qt looks at XDG_CONFIG_HOME once per process only.
    for kind in (QSettings.Format.NativeFormat, QSettings.Format.IniFormat):
        QSettings.setPath(kind, QSettings.Scope.UserScope, str(home / ".config"))


def link_cached_encoder(cache: Path) -> None:
    """Link the converted encoder of ``cache`` into the private home, because converting takes seconds."""
    for file in cache.glob("*.onnx"):
        folder = _encoder_folder()
        folder.mkdir(parents=True, exist_ok=True)
        os.link(file, folder / file.name)


def cache_encoder(cache: Path) -> None:
    """Copy the encoder that a test converted into ``cache`` for later tests."""
    for file in _encoder_folder().glob("*.onnx"):
        if not (cache / file.name).exists():
            temporary = cache / f"{file.name}.{os.getpid()}"
            shutil.copy(file, temporary)
            temporary.replace(cache / file.name)


def _encoder_folder() -> Path:
    return Path(platformdirs.user_cache_dir("semblance", appauthor=False)) / "encoder"
