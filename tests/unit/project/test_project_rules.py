"""Rules of the project that no other tool checks."""

from __future__ import annotations

from pathlib import Path

import grimp
import numpy as np
import pytest
import scipy.sparse.csgraph

TOP = Path(__file__).resolve().parents[3]
ROOTS = ("core", "app", "resources", "tests")
#: Scripts that are run, not imported: the tests, and the notebooks, which the wheel has as files of the help.
SCRIPTS = (TOP / "tests", TOP / "resources" / "help" / "notebooks")


def folders_with_code() -> list[Path]:
    files = (file for root in ROOTS for file in (TOP / root).rglob("*.py"))
    return sorted({file.parent for file in files})


def test_every_folder_with_code_of_the_program_is_a_package():
    """Import contracts, types and the wheel pass over folders without ``__init__.py`` in silence."""
    program = [folder for folder in folders_with_code() if not any(map(folder.is_relative_to, SCRIPTS))]
    assert [str(folder) for folder in program if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("root", ["core", "app"])
def test_every_package_says_in_a_sentence_what_belongs_there(root):
    silent = [
        str(file.relative_to(TOP))
        for file in sorted((TOP / root).rglob("__init__.py"))
        if not file.read_text(encoding="utf-8").startswith('"""')
    ]
    assert silent == []


def test_no_modules_import_each_other_in_a_cycle():
    """Imports inside functions and for annotations count too."""
    graph = grimp.build_graph("semblance", cache_dir=None)
    modules = sorted(graph.modules)
    place = {module: number for number, module in enumerate(modules)}
    arrows = [
        (place[module], place[other])
        for module in modules
        for other in graph.find_modules_directly_imported_by(module)
    ]
    table = scipy.sparse.coo_array((np.ones(len(arrows)), np.transpose(arrows)), shape=(len(modules),) * 2)
    _, parts = scipy.sparse.csgraph.connected_components(table, connection="strong")
    cycles = [
        {modules[number].removeprefix("semblance.") for number in np.flatnonzero(parts == part)}
        for part in np.flatnonzero(np.bincount(parts) > 1)
    ]
    assert cycles == []
