from __future__ import annotations

import threading

import pytest

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.library.library import Library
from semblance.core.searches.query import Query
from semblance.core.tasks import Cancelled
from semblance.core.workflows.features import measuring_order
from semblance.core.workflows.library import import_source as importing
from semblance.core.workflows.library import prepare_library as preparing
from semblance.core.workflows.library.import_and_prepare import import_and_prepare
from semblance.core.workflows.library.import_source import ImportResult
from semblance.core.workflows.library.prepare_library import Preparation
from semblance.core.workflows.searches.rank_cases import nearest_cases
from tests.helpers.images import striped_folder
from tests.helpers.recording_reporter import RecordingReporter
from tests.helpers.tables import write_table


@pytest.fixture
def small(monkeypatch):
    """Small parts and a quick extractor."""
    monkeypatch.setattr(measuring_order, "STEP", 4)
    monkeypatch.setattr(importing, "FIRST_BATCH", 8)
    monkeypatch.setattr(importing, "BATCH", 8)
    monkeypatch.setattr(preparing, "suitable_extractors", lambda library: ["pixels"])
    monkeypatch.setattr(preparing, "SHORT_LIST", ("euclidean", "lda"))


class _Waiting(RecordingReporter):
    """Lets the import read on only after a ranking of the first cases was possible."""

    def __init__(self, library):
        super().__init__()
        self.library, self.ranked = library, threading.Event()
        self.first = None

    def progress(self, done, total, what):
        super().progress(done, total, what)
        if what == "Importing" and done >= 16:
            assert self.ranked.wait(60)

    def partial(self, result):
        super().partial(result)
        if isinstance(result, Preparation) and result.provisional and self.first is None:
            with Library.open(self.library) as opened:
                case = opened.catalogue.all_cases()[0].case_id
            self.first = nearest_cases(self.library, result.current, Query(case=case))
            self.ranked.set()


@pytest.mark.usefixtures("features_in_processes")
def test_the_first_cases_are_ranked_while_others_are_imported(tmp_path, small):
    library = tmp_path / "lib.semblance"
    waiting = _Waiting(library)
    done = import_and_prepare(striped_folder(tmp_path / "i", n=48), library, workers=1, reporter=waiting)
    assert waiting.first.ranked
    assert waiting.first.cases < 48
    assert (done.imported.added, done.prepared.extracted, done.prepared.imported) == (48, 48, 48)
    assert done.prepared.current in [metric.name for metric in done.prepared.metrics]
    assert done.error is None


class _WaitingForTheImport(RecordingReporter):
    """Lets extraction continue only after the result of the import was reported."""

    def __init__(self, n):
        super().__init__()
        self.n, self.imported = n, threading.Event()

    def partial(self, result):
        super().partial(result)
        if isinstance(result, ImportResult):
            self.imported.set()
        elif result.provisional and result.imported == self.n:
            assert self.imported.wait(60)


@pytest.mark.usefixtures("features_in_processes")
def test_imported_cases_are_reported_before_all_are_extracted(tmp_path, small):
    waiting = _WaitingForTheImport(48)
    import_and_prepare(
        striped_folder(tmp_path / "i", n=48), tmp_path / "lib.semblance", workers=1, reporter=waiting
    )
    assert waiting.imported.is_set()


@pytest.mark.usefixtures("features_in_processes")
def test_of_a_table_features_are_copied_when_all_of_it_is_read(tmp_path):
    done = import_and_prepare(write_table(tmp_path / "t.csv"), tmp_path / "lib.semblance")
    assert done.prepared.extracted == done.imported.cases == 60


@pytest.mark.usefixtures("features_in_processes")
def test_an_import_that_fails_ends_the_preparation_with_its_reason(tmp_path, small, monkeypatch):
    put = importing._ImportRun._import

    def failing(run, *arguments):
        if len(run.case_ids) >= 16:
            raise SemblanceError("The disk is full.")
        put(run, *arguments)

    monkeypatch.setattr(importing._ImportRun, "_import", failing)
    with pytest.raises(SemblanceError, match="The disk is full"):
        import_and_prepare(striped_folder(tmp_path / "i", n=48), tmp_path / "lib.semblance", workers=1)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="empty"):
        import_and_prepare(tmp_path / "empty", tmp_path / "other.semblance")


@pytest.mark.usefixtures("features_in_processes")
def test_what_was_imported_stays_when_it_cannot_be_measured(tmp_path, small, monkeypatch):
    def broken(*arguments, **options):
        raise BadInput("The encoder is damaged.")

    monkeypatch.setattr(preparing, "extract_features", broken)
    done = import_and_prepare(striped_folder(tmp_path / "i", n=24), tmp_path / "lib.semblance")
    assert done.imported.added == 24
    assert done.prepared is None
    assert "The encoder is damaged." in str(done.error)


@pytest.mark.usefixtures("features_in_processes")
def test_a_cancelled_import_keeps_finished_cases_and_can_be_continued(tmp_path, small):
    library, images = tmp_path / "lib.semblance", striped_folder(tmp_path / "i", n=48)

    class Ending(RecordingReporter):
        def check_cancelled(self):
            if any(isinstance(news, Preparation) and news.extracted for news in self.partials):
                raise Cancelled

    threads = threading.active_count()
    with pytest.raises(Cancelled):
        import_and_prepare(images, library, workers=1, reporter=Ending())
    assert threading.active_count() == threads
    with Library.open(library) as opened:
        measured = len(opened.features.cases_of(opened.features.get("pixels")))
    assert measured > 0
    again = import_and_prepare(images, library)
    assert again.imported.unchanged > 0
    assert again.imported.cases == again.prepared.extracted == 48
