"""Draw plots away from the window, and write them to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from semblance.core.errors import BadArguments
from semblance.core.files import write_file
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation
from semblance.core.reports.curves import KINDS, Curve, curves_csv
from semblance.core.reports.figures import MAP, MapDrawing, figure_file, map_csv
from semblance.core.reports.plot import Format, PlotLayout, ThemeName
from semblance.core.tasks import SILENT, Reporter

#: The formats that plots can be saved in.
FORMATS: dict[str, Format | None] = {".png": "png", ".svg": "svg", ".pdf": "pdf", ".csv": None}
#: Size in logical pixels of a saved plot, and pixels of a saved PNG for each.
SAVED_SIZE, SAVED_RATIO = (720, 400), 3.0
MAP_SIZE = (760, 600)
#: Names of the plots in file names.
FILE_NAMES = dict(zip(KINDS, ("accuracy", "roc", "training", "calibration"), strict=True))


def draw(kind: str, curves: Sequence[Curve], layout: PlotLayout, *, reporter: Reporter = SILENT) -> bytes:
    """The plot ``kind`` (one of ``core.reports.curves.KINDS``) as a file; see :mod:`semblance.core.reports.figures`.

    Raises:
        BadArguments: an unknown kind, format or theme, or a size that is too large.
        Cancelled: the reporter was cancelled before the drawing began.
    """
    reporter.check_cancelled()
    if kind not in KINDS:
        raise BadArguments(
            tr_lazy("There is no plot '{kind}'.", kind=kind),
            tr_lazy("Use one of {figures}.", figures=", ".join(KINDS)),
        )
    try:
        return figure_file(kind, curves, layout)
    except (KeyError, ValueError) as problem:
        raise BadArguments(tr_lazy("The plot cannot be drawn so: {problem}.", problem=problem)) from problem


def export_plots(
    path: Path,
    plots: Mapping[str, Sequence[Curve]],
    *,
    theme: ThemeName = "print",
    titles: Mapping[str, str] | None = None,
    note: str = "",
    whole_axis: bool = False,
    library: LibraryLocation | None = None,
    reporter: Reporter = SILENT,
) -> list[Path]:
    """Write plots as PNG, SVG, PDF or CSV, as the suffix of ``path`` says; returns the files written.

    ``plots``: curves by kind; ``titles``: their titles by kind; ``note``: what they were measured on; ``whole_axis``:
    accuracy from 0 to 1. The export is logged in ``library``. One plot is written to ``path``, replacing what is there.
    Several plots are written beside it under names of their own (``NAME-roc.png``) and replace nothing. Files are
    written atomically.

    Raises:
        BadArguments: another suffix, or nothing to write.
        SemblanceError: a file cannot be written.
        Cancelled: the reporter was cancelled; files written before stay.
    """
    path = Path(path)
    format = _format(path)
    if not plots:
        raise BadArguments("There is no plot to save.", "Train a metric first; it is scored when it is done.")
    written = []
    for place, (kind, curves) in enumerate(plots.items()):
        reporter.progress(place, len(plots), "Saving plots")
        title = (titles or {}).get(kind, "")
        if format is None:
            content = curves_csv(kind, curves, measured_on=note).encode("utf-8-sig")
        else:
            layout = PlotLayout(
                theme, SAVED_SIZE, SAVED_RATIO, format, title=title, note=note, whole_axis=whole_axis
            )
            content = draw(kind, curves, layout, reporter=reporter)
        target = path if len(plots) == 1 else _free(path, FILE_NAMES[kind])
        write_file(target, content, private=False)
        written.append(target)
    reporter.progress(len(plots), len(plots), "Saving plots")
    log_export(library, "plots", path.suffix.lower(), files=len(written))
    return written


def export_map(
    path: Path,
    drawing: MapDrawing,
    *,
    theme: ThemeName = "print",
    library: LibraryLocation | None = None,
    reporter: Reporter = SILENT,
) -> list[Path]:
    """Write a map as PNG, SVG, PDF or CSV, as the suffix of ``path`` says; no case is named in it. The export is
    logged in ``library``.

    Raises:
        BadArguments: another suffix.
        SemblanceError: the file cannot be written.
    """
    path = Path(path)
    format = _format(path)
    reporter.progress(0, None, "Saving the map")
    if format is None:
        content = map_csv(drawing).encode("utf-8-sig")
    else:
        layout = PlotLayout(theme, MAP_SIZE, SAVED_RATIO, format, title=drawing.title, note=drawing.note)
        content = figure_file(MAP, drawing, layout)
    reporter.check_cancelled()
    write_file(path, content, private=False)
    log_export(library, "plots", path.suffix.lower(), files=1)
    return [path]


def export_scores(
    path: Path,
    text: str,
    *,
    library: LibraryLocation | None = None,
    what: str = "scores",
    identified: bool = False,
    reporter: Reporter = SILENT,
) -> list[Path]:
    """Write a table of scores, or another list named ``what``, as CSV text to ``path``; the export is logged in
    ``library``.

    Raises:
        SemblanceError: the file cannot be written.
    """
    write_file(path, text.encode("utf-8-sig"), private=False)
    log_export(library, what, path.suffix, identified=identified)
    return [path]


def _format(path: Path) -> Format | None:
    """The format of a plot by the suffix of its file; ``None`` for its numbers as CSV."""
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise BadArguments(
            tr_lazy("Plots cannot be saved as '{path}'.", path=path.name),
            "End the name in .png, .svg, .pdf or .csv.",
        )
    return FORMATS[suffix]


def _free(path: Path, name: str) -> Path:
    """An unused path beside ``path``."""
    target = path.with_name(f"{path.stem}-{name}{path.suffix}")
    number = 2
    while target.exists():
        target = path.with_name(f"{path.stem}-{name}-{number}{path.suffix}")
        number += 1
    return target
