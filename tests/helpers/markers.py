"""Marks tests by what they use: a window, processes, a server, a PACS."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator

import pytest

#: Folder of tests -> marker.
FOLDERS = {"deep": "deep", "e2e": "slow"}
#: Fixture -> marker.
FIXTURES = {"postgres": "server", "database": "server", "features_in_processes": "process"}
#: Module, or name in it, whose use marks a test.
USES = {
    "subprocess": "process",
    "multiprocessing": "process",
    "distributed": "process",
    "semblance.core.engine.Engine": "process",
    "semblance.core.engine.cluster.Cluster": "process",
    "semblance.app.shell.jobs.Jobs": "process",
    "semblance.app.window.main_window.MainWindow": "window",
    "pynetdicom": "pacs",
    "tests.helpers.orthanc": "pacs",
    "tests.helpers.pacs_scp": "pacs",
    "tests.helpers.postgres_server": "server",
}


def mark(item: pytest.Function) -> None:
    """Mark a test by its folder and by what it and its fixtures use. In a long run, those that have a long form."""
    found = {marker for folder, marker in FOLDERS.items() if folder in item.nodeid.split("/")}
    found |= {marker for fixture, marker in FIXTURES.items() if fixture in item.fixturenames}
    # See tests/helpers/long_run.py.
    if getattr(item.module, "LONG", None) is True:
        found.add("long")
    functions = [item.function]
    for definitions in item._fixtureinfo.name2fixturedefs.values():
        # Those of the whole run are used by every test.
        functions += [one.func for one in definitions if one.baseid not in ("", "tests")]
    for function in functions:
        found |= markers_of(function)
    for marker in found:
        item.add_marker(marker)


def _plain(function: object) -> object:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return getattr(function, "__func__", function)


@functools.cache
def markers_of(function: object) -> frozenset[str]:
    """What a function uses, and what the functions of the tests that it calls use."""
    found: set[str] = set()
    seen: set[object] = set()
    waiting = [_plain(function)]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        for used in _uses(one):
            path = f"{getattr(used, '__module__', '')}.{getattr(used, '__qualname__', '')}".strip(".")
            name = used.__name__ if isinstance(used, types.ModuleType) else path
            found |= {marker for key, marker in USES.items() if f"{name}.".startswith(f"{key}.")}
            if name.startswith("tests.") and isinstance(used, types.FunctionType | type):
                waiting.append(used)
    return frozenset(found)


def _uses(function: object) -> Iterator[object]:
    """Everything global that a function, or a method of a class, names."""
    if isinstance(function, type):
        for value in vars(function).values():
            yield from _uses(getattr(value, "__func__", value))
        return
    if not isinstance(function, types.FunctionType):
        return
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
        for name in code.co_names:
            used = function.__globals__.get(name)
            if used is not None:
                yield _plain(used)
            # Modules that are imported in the function.
            elif name in USES:
                yield types.ModuleType(name)
