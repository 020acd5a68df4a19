"""Run, resume and show experiments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from semblance.core.engine.cluster import open_engine
from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation, library_location
from semblance.core.reports.experiment_figures import critical_difference_figure
from semblance.core.reports.plot import PlotLayout
from semblance.core.research.export import export_results
from semblance.core.research.result_titles import rank_plot_data
from semblance.core.research.results import document, live_table
from semblance.core.research.run_cells import ExperimentState, read_state, run_cells
from semblance.core.research.spec import ExperimentSpec
from semblance.core.research.store import ExperimentStore
from semblance.core.tasks import SILENT, Reporter

#: A larger file is not read as a description.
_LARGEST_SPEC = 10_000_000


def read_spec(path: Path, data: Path | None = None) -> tuple[ExperimentSpec, list[str]]:
    """The experiment described in a JSON file, and the fingerprints its cases must have (often none).

    Relative paths are relative to ``data``, or to the folder of the description.

    Raises:
        BadArguments: an unknown key, name or value.
        BadInput: the file cannot be read.
    """
    try:
        if path.stat().st_size > _LARGEST_SPEC:
            raise ValueError("too large")
        values = json.loads(path.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as problem:
        raise BadInput(
            tr_lazy("{path} is no description of an experiment.", path=path),
            "It is a JSON file; the help page shows one.",
        ) from problem
    expected = values.pop("fingerprints", []) if isinstance(values, dict) else []
    if not isinstance(expected, list) or not all(isinstance(one, str) for one in expected):
        raise BadArguments("'fingerprints' is no list of texts.", "Leave it out of the description.")
    return ExperimentSpec.from_json(values).located((data or path.parent).absolute()), expected


def run_experiment(
    spec: ExperimentSpec,
    folder: Path,
    *,
    workers: int | None = None,
    scheduler: str = "",
    expected: Sequence[str] = (),
    again: bool = False,
    known: LibraryLocation | None = None,
    reporter: Reporter = SILENT,
) -> dict[str, Any]:
    """Measure the unfinished cells in ``folder``, and return the results of all.

    The reporter's partial results are the table so far. ``scheduler``: the address of a Dask scheduler, in place of
    ``workers`` processes of this machine. ``again``: failed cells are tried again. ``known``: a library whose
    password the caller has; experiments store none.

    Raises:
        BadArguments: unknown names or settings.
        BadInput: no cases can be used, or they differ from those ``expected``.
        SemblanceError: the folder cannot be written, or the scheduler cannot be reached.
        Cancelled: the reporter was cancelled; finished cells stay.
    """
    store = ExperimentStore.create(folder, spec)
    try:
        with open_engine(workers, scheduler) as place:
            state = run_cells(
                store,
                place,
                expected=expected,
                again=again,
                known=known,
                on_results=lambda so_far: reporter.partial(live_table(so_far)),
                reporter=reporter,
            )
    except SemblanceError:
        # Checked first, so that a wrong name leaves no empty folder.
        store.remove_if_new()
        raise
    return experiment_document(state)


def resume_experiment(
    folder: Path,
    *,
    workers: int | None = None,
    scheduler: str = "",
    again: bool = False,
    known: LibraryLocation | None = None,
    reporter: Reporter = SILENT,
) -> dict[str, Any]:
    """Resume the experiment in ``folder``; arguments and errors as in :func:`run_experiment`."""
    spec = ExperimentStore.open(folder).spec
    return run_experiment(
        spec, folder, workers=workers, scheduler=scheduler, again=again, known=known, reporter=reporter
    )


def show_experiment(folder: Path, *, reporter: Reporter = SILENT) -> dict[str, Any]:
    """The results of the finished cells in ``folder``, also while others are being measured.

    Raises:
        BadInput: no experiment, or one that cannot be read.
    """
    return experiment_document(read_state(ExperimentStore.open(folder)))


def experiment_document(state: ExperimentState) -> dict[str, Any]:
    """The document of the finished cells, with the numbers of new and of earlier cells."""
    made = document(state)
    made["cells"] |= {"measured_now": state.ran, "found_finished": state.found}
    return made


def export_experiment(
    folder: Path,
    to: Path,
    *,
    identified: bool = False,
    plots: bool = True,
    known: LibraryLocation | None = None,
    reporter: Reporter = SILENT,
) -> list[Path]:
    """Write tables, plots and a script that repeats the experiment into the folder ``to``; returns the files.
    ``known`` as in :func:`run_experiment`.

    Raises:
        BadInput: no experiment, or one that cannot be read.
        SemblanceError: nothing is measured yet, or ``to`` cannot be written.
    """
    state = read_state(ExperimentStore.open(folder))
    files = export_results(state, to, identified=identified, plots=plots, reporter=reporter)
    for library in {one.library for side in state.spec.cases for one in (side, side.test) if one}:
        if library is not None:
            log_export(
                library_location(library, known),
                "experiment",
                "tables and plots",
                identified=identified,
                files=len(files),
            )
    return files


def draw_ranks(test: Mapping[str, Any], layout: PlotLayout, *, reporter: Reporter = SILENT) -> bytes:
    """The average ranks of one of a document's ``over_tables``, with the critical difference.

    Raises:
        Cancelled: the reporter was cancelled before the drawing began.
    """
    reporter.check_cancelled()
    return critical_difference_figure(*rank_plot_data(test), layout)
