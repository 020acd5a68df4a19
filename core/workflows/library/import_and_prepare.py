"""Import a source and prepare its library at the same time: the first cases are ranked while others are read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from semblance.core.errors import SemblanceError
from semblance.core.library.location import LibraryLocation
from semblance.core.tasks import SILENT, Cancelled, PartReporter, Reporter
from semblance.core.workflows.library.import_source import ImportResult, import_source
from semblance.core.workflows.library.prepare_library import LibraryPreparation, Preparation
from semblance.core.workflows.metrics.vault import seal_share


@dataclass(frozen=True)
class PreparedImport:
    """An import, and the preparation of its library: ``None`` if the source has no case, or if ``error`` says why the
    library could not be prepared."""

    imported: ImportResult
    prepared: Preparation | None = None
    error: SemblanceError | None = None


def import_and_prepare(
    source: Path,
    library: LibraryLocation,
    *,
    kind: str = "auto",
    settings: Sequence[str] = (),
    identified: bool = False,
    must_exist: bool = False,
    metric_in_use: str = "",
    seed: int = 0,
    seal: float | None = None,
    workers: int | None = None,
    trained: bool = True,
    reporter: Reporter = SILENT,
) -> PreparedImport:
    """:func:`semblance.core.workflows.library.import_source.import_source` and
    :func:`semblance.core.workflows.library.prepare_library.prepare_library`, which begins to measure when the first
    cases are imported.

    The reporter's partial results are :class:`semblance.core.workflows.library.prepare_library.Preparation`; its
    ``imported`` grows first, then ``extracted``, then a provisional metric is ``current``. One of them is the
    :class:`semblance.core.workflows.library.import_source.ImportResult`, at the end of the import. Progress is that
    of the import until it ends. The metric is chosen after all cases are measured. Cancelling keeps what was imported
    and measured; the same call continues there. ``seal``: the share of the patients to seal in the test vault before
    a metric is chosen. Without ``trained`` the plain distance becomes current, and no learner is compared with it.

    Raises:
        BadInput, BadArguments, SemblanceError, Cancelled: as the import. An error of the preparation is in the
            result, because the import is complete by then.
    """
    preparation = LibraryPreparation(library, seed, workers, reporter, metric_in_use)
    reading = _ImportReporter(reporter, preparation)
    with ThreadPoolExecutor(1, "import") as executor:
        future = executor.submit(
            import_source,
            source,
            library,
            kind=kind,
            settings=settings,
            identified=identified,
            must_exist=must_exist,
            reporter=reading,
        )
        future.add_done_callback(reading.end)
        try:
            reading.first_cases.wait()
            _measure_meanwhile(preparation, future)
            imported = future.result()
        except BaseException:
            reading.stopped.set()
            raise
    if not imported.cases:
        return PreparedImport(imported)
    try:
        if seal is not None:
            seal_share(library, seal, seed=seed)
        preparation.extract()
        preparation.choose_metric(trained=trained)
        return PreparedImport(imported, preparation.describe_slices())
    except SemblanceError as error:
        return PreparedImport(imported, error=error)


def _measure_meanwhile(preparation: LibraryPreparation, importing: Future[ImportResult]) -> None:
    if importing.done():
        return
    try:
        preparation.extract(growing=lambda: not importing.done())
    except SemblanceError:
        # An error with the first cases may not concern the others. The import continues, and the preparation is tried
        # again with all cases.
        return


class _ImportReporter(PartReporter):
    """Reports the import: ``first_cases`` is set when there are some, ``stopped`` ends the import."""

    def __init__(self, whole: Reporter, preparation: LibraryPreparation) -> None:
        super().__init__(whole)
        self._preparation = preparation
        self.first_cases, self.stopped = threading.Event(), threading.Event()

    def progress(self, done: int, total: int | None, what: str) -> None:
        """Pass it on."""
        self._whole.progress(done, total, what)

    def partial(self, result: object) -> None:
        """Count the cases that were read."""
        assert isinstance(result, int)
        self._preparation.update(imported=result)
        self.first_cases.set()

    def end(self, importing: Future[ImportResult]) -> None:
        """Report the imported cases at once, while they are still being measured."""
        if importing.exception() is None:
            self._whole.partial(importing.result())
        self.first_cases.set()

    def check_cancelled(self) -> None:
        """Raises Cancelled if everything was cancelled, or measuring failed."""
        super().check_cancelled()
        if self.stopped.is_set():
            raise Cancelled
