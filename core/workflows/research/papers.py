"""Repeat the measurements of the papers on the available tables, and write a page for each paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data_sources import PREFIX
from semblance.core.language import tr_lazy
from semblance.core.research.papers import (
    PAPERS,
    ComparedValue,
    Paper,
    PaperTable,
    compared_values,
    paper_figures,
    paper_page,
    papers_csv,
    write_pages,
)
from semblance.core.research.spec import ExperimentSpec
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.research.experiments import run_experiment

#: Name of the subfolder with an experiment for each paper.
EXPERIMENTS = "experiments"
#: Repeats of large tables.
_LARGE_REPEATS = 2


@dataclass(frozen=True)
class PapersRequest:
    """``data``: the folder with the tables (CSV), itself or in folders of its own. ``papers`` are names of protocols,
    empty for all; ``tables`` names of tables, empty for all. ``repeats``: in place of the papers' own numbers."""

    data: Path
    out: Path
    papers: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    repeats: int | None = None
    seed: int = 0


def run_papers(
    request: PapersRequest, *, workers: int | None = None, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """Measure the unfinished experiments in ``out``, and write its pages, images and ``papers.csv``.

    All measurements are on public tables; no library is used.

    Raises:
        BadArguments: an unknown paper or table.
        BadInput: no table of a paper is in ``data``.
        SemblanceError: the folder cannot be written.
        Cancelled: the reporter was cancelled; finished parts stay.
    """
    chosen = _chosen(request)
    values: dict[str, list[ComparedValue]] = {}
    files: list[Path] = []
    for paper in chosen:
        tables, missing = _tables(paper, request)
        if not tables:
            raise BadInput(
                tr_lazy(
                    "{folder} has none of the tables of the paper '{name}'.",
                    folder=request.data,
                    name=paper.protocol,
                ),
                tr_lazy("It uses {names}.", names=", ".join(one.name for one in paper.cases)),
            )
        document = _measured(paper, tables, request, workers, reporter)
        values[paper.protocol] = compared_values(paper, document)
        figures = paper_figures(paper, document, values[paper.protocol], "svg")
        images = {name: label for name, (label, _) in figures.items()}
        contents = {name: image for name, (_, image) in figures.items()}
        for name, (_, image) in paper_figures(paper, document, values[paper.protocol], "png").items():
            contents[name] = image
        page = paper_page(paper, document, values[paper.protocol], images, missing)
        contents[f"{paper.protocol}.html"] = page.encode()
        files += write_pages(request.out, contents)
    files += write_pages(request.out, {"papers.csv": papers_csv(values).encode()})
    return {
        "papers": [
            {
                "paper": name,
                "values": len(found),
                "printed": sum(one.printed is not None for one in found),
                "inside": sum(one.verdict == "inside" for one in found),
            }
            for name, found in values.items()
        ],
        "files": [str(file) for file in files],
    }


def _chosen(request: PapersRequest) -> list[Paper]:
    known = {paper.protocol: paper for paper in PAPERS}
    tables = {table.name for paper in PAPERS for table in paper.cases}
    for name, names, what in (
        *((one, list(known), tr_lazy("paper")) for one in request.papers),
        *((one, sorted(tables), tr_lazy("table")) for one in request.tables),
    ):
        if name not in names:
            raise BadArguments(
                tr_lazy("There is no {what} '{name}' here.", what=what, name=name),
                tr_lazy("Known: {names}.", names=", ".join(names)),
            )
    chosen = [known[name] for name in request.papers] if request.papers else list(PAPERS)
    if request.tables:
        chosen = [paper for paper in chosen if any(table.name in request.tables for table in paper.cases)]
    return chosen


def _tables(paper: Paper, request: PapersRequest) -> tuple[list[tuple[PaperTable, str]], list[str]]:
    """The tables with their paths, and a sentence for each missing one."""
    found, missing = [], []
    for table in paper.cases:
        if request.tables and table.name not in request.tables:
            continue
        if table.name.startswith(PREFIX):
            found.append((table, table.name))
            continue
        files = sorted(request.data.rglob(f"{table.name}.csv"))
        if files:
            found.append((table, str(files[0].absolute())))
        else:
            missing.append(
                tr_lazy("The table {name} is not in the folder of the data.", name=f"{table.name}.csv")
            )
    return found, missing


def _measured(
    paper: Paper,
    tables: Sequence[tuple[PaperTable, str]],
    request: PapersRequest,
    workers: int | None,
    reporter: Reporter,
) -> dict[str, Any]:
    """The document of small and large tables together, which differ in the number of repeats."""
    documents = []
    for large in (False, True):
        part = [(table, path) for table, path in tables if table.large == large]
        if not part:
            continue
        repeats = request.repeats or (_LARGE_REPEATS if large else paper.repeats)
        spec = ExperimentSpec.from_json(
            {
                "name": paper.protocol,
                "cases": [{"table": path, "findings": table.findings} for table, path in part],
                "steps": ["standardise"],
                "learners": [{"learner": name, "params": dict(params)} for name, params in paper.learners],
                "protocols": [{"protocol": paper.protocol, "repeats": repeats}],
                "seed": request.seed,
            }
        )
        name = f"{paper.protocol}-large" if large else paper.protocol
        documents.append(
            run_experiment(spec, request.out / EXPERIMENTS / name, workers=workers, reporter=reporter)
        )
    first, *rest = documents
    for other in rest:
        first["cases"] += other["cases"]
        first["results"] += other["results"]
        first["cells"] = {key: value + other["cells"][key] for key, value in first["cells"].items()}
    return first
