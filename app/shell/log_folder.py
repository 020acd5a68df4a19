"""The folder of the log, and the installed versions, for reports of problems."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from semblance.core import log
from semblance.core.files import create_folder
from semblance.core.version import version_with_commit

#: Packages whose versions help most to explain a failure.
_PACKAGES = (
    "PySide6_Essentials",
    "numpy",
    "scipy",
    "scikit-learn",
    "pydicom",
    "zarr",
    "SQLAlchemy",
)


def open_log_folder() -> bool:
    """Show the folder of the log in the system's file manager; ``False`` where there is none."""
    folder = log.log_folder()
    create_folder(folder)
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))


def versions_text() -> str:
    """``semblance 0.1.0, ..., Python 3.11.9, Linux``."""
    parts = [f"semblance {version_with_commit()}"]
    for package in _PACKAGES:
        try:
            parts.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join([*parts, f"Python {platform.python_version()}", platform.system()])
