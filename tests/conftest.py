"""Rules of the whole test run: no display, private user folders, nothing left behind, no silent skip."""

from __future__ import annotations

import gc
import os
import runpy
import shutil
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import hypothesis
import pytest

from semblance.core.engine import cluster, limit_threads
from semblance.core.workflows.library.close_library import close_library
from tests.helpers import data as real_data
from tests.helpers.engine_here import open_engine_here
from tests.helpers.isolation import cache_encoder, link_cached_encoder, redirect_user_folders
from tests.helpers.leaks import Snapshot, find_leaks
from tests.helpers.markers import mark
from tests.helpers.patient_qtbot import PatientQtBot
from tests.helpers.postgres_server import database, postgres  # noqa: F401 - fixtures
from tests.helpers.use_language import use_language

# A slow machine must not fail a test.
hypothesis.settings.register_profile(
    "project", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("project")

# At once: the conftest of a folder that is named in the call may load numpy before pytest is configured.
limit_threads()
#: Imported later, because they load numpy.
_FEATURES = "semblance.core.workflows.features"

_failed = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--headed", action="store_true", help="show the windows on the real display")
    parser.addoption("--long", action="store_true", help="tests that have a long form run in it")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--long"):
        os.environ["SEMBLANCE_LONG"] = "1"
    if not config.getoption("--headed"):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    # Matplotlib's list of fonts takes seconds to make and would be made again for every private home.
    if cache := getattr(config, "cache", None):
        os.environ["MPLCONFIGDIR"] = str(cache.mkdir("matplotlib"))
    folder = real_data.folder()
    if folder is not None and not folder.is_dir():
        raise pytest.UsageError(f"{real_data.VARIABLE} names {folder}, which is not a folder.")
    if not hasattr(config, "workerinput"):
        runpy.run_path(
            str(Path(__file__).parent.parent / "packaging" / "build_resources.py"), run_name="__main__"
        )


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Imports and tests stay in memory until the end. Searching them for garbage takes a third of the collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if isinstance(item, pytest.Function):
            mark(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_failed] = True
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = terminalreporter.stats.get("skipped", [])
    lacking = sum(real_data.VARIABLE in str(report.longrepr) for report in skipped)
    terminalreporter.section("real data")
    terminalreporter.line(f"{lacking} tests skipped for lack of {real_data.VARIABLE}.")


@pytest.fixture(autouse=True)
def private_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The user's home during the test: an empty folder, Qt's settings included."""
    # `mktemp` would number it, and look for the last number among thousands of folders.
    home = Path(tempfile.mkdtemp(prefix="home-", dir=tmp_path_factory.getbasetemp()))
    redirect_user_folders(monkeypatch, home)
    cache: pytest.Cache | None = getattr(request.config, "cache", None)
    model_folder = None if cache is None else cache.mkdir("encoder")
    if model_folder is not None:
        link_cached_encoder(model_folder)
    yield home
    if model_folder is not None:
        cache_encoder(model_folder)
    if not request.node.stash.get(_failed, False):
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def features_here() -> Iterator[None]:
    """Features are extracted without starting processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(f"{_FEATURES}.extract_features.open_engine", open_engine_here)
        patch.setattr(f"{_FEATURES}.describe_slices.open_engine", open_engine_here)
        yield


@pytest.fixture
def features_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features are extracted in processes, as in the program."""
    monkeypatch.setattr(f"{_FEATURES}.extract_features.open_engine", cluster.open_engine)
    monkeypatch.setattr(f"{_FEATURES}.describe_slices.open_engine", cluster.open_engine)


@pytest.fixture
def german() -> Iterator[None]:
    """The program in German."""
    with use_language("de"):
        yield


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest, private_home: Path) -> Iterator[None]:
    """Threads, child processes and windows that outlive their test fail it."""
    before = Snapshot.take()
    yield
    # A failed test's traceback keeps its objects alive; one failure at a time.
    if request.node.stash.get(_failed, False):
        return
    found = find_leaks(before)
    if found:
        pytest.fail("left over after the test: " + ", ".join(found), pytrace=False)


@pytest.fixture(autouse=True)
def libraries_closed(nothing_left: None) -> Iterator[None]:
    """Libraries that workflows keep open from call to call are closed, where a test opened any."""
    yield
    close_library()


@pytest.fixture
def qtbot(qapp: object, request: pytest.FixtureRequest) -> PatientQtBot:
    """pytest-qt's, with a longer time limit."""
    return PatientQtBot(request)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the real data; the test is skipped where there is none."""
    folder = real_data.folder()
    if folder is None:
        pytest.skip(real_data.REASON)
    return folder
