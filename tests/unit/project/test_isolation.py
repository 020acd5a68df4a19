from __future__ import annotations

from pathlib import Path

import numpy as np
import platformdirs
import threadpoolctl
from PySide6.QtCore import QSettings, QStandardPaths


def test_every_way_to_the_user_folders_leads_into_the_private_home(private_home):
    settings = QSettings("Semblance", "Semblance")
    settings.setValue("number", 1)
    settings.sync()
    ways = {
        "home": Path.home(),
        "settings": Path(settings.fileName()),
        "platformdirs": platformdirs.user_data_path("semblance"),
        "qt": Path(QStandardPaths.writableLocation(QStandardPaths.StandardLocation.AppDataLocation)),
    }
    outside = {name: path for name, path in ways.items() if not path.is_relative_to(private_home)}
    assert not outside
    assert Path(settings.fileName()).exists()


def test_settings_of_another_test_are_not_visible(private_home):
    assert QSettings("Semblance", "Semblance").value("number") is None


def test_blas_has_one_thread():
    assert np.ones(3) @ np.ones(3) == 3
    assert {pool["num_threads"] for pool in threadpoolctl.threadpool_info()} == {1}
