"""An experiment as files to publish from: tables, plots, a checklist, and a script that repeats it to equal numbers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from semblance.core.errors import SemblanceError
from semblance.core.files import make_folder, write_file
from semblance.core.language import tr_lazy
from semblance.core.reports.experiment_figures import Interval, critical_difference_figure, scores_figure
from semblance.core.reports.plot import Format, PlotLayout
from semblance.core.research import tables
from semblance.core.research.claim import claim_csv, claim_json
from semblance.core.research.result_titles import (
    cases_title,
    learner_title,
    protocol_title,
    rank_plot_data,
    score_title,
)
from semblance.core.research.results import document
from semblance.core.research.run_cells import ExperimentState
from semblance.core.research.spec import ExperimentSpec
from semblance.core.tasks import SILENT, Reporter

SPEC, SCRIPT = "experiment-spec.json", "repeat.sh"
#: A plot of scores with more lines than these is drawn for each table or library by itself.
_MOST_LINES = 150
#: The formats of figures, and the pixels of a PNG for each of the layout.
_RATIO: dict[Format, float] = {"svg": 1.0, "pdf": 1.0, "png": 3.0}
#: The files by which a repeated run is compared.
COMPARED = ("scores.csv", "values.csv", "comparisons.csv", "ranks.csv", "pairs.csv")


def export_results(
    state: ExperimentState,
    folder: Path,
    *,
    identified: bool = False,
    plots: bool = True,
    reporter: Reporter = SILENT,
) -> list[Path]:
    """Write all results into ``folder``, which is created if needed, and return the files.

    Without ``plots`` there are numbers only. Without ``identified`` no file contains the name of a case, a row of the
    catalogue or a folder of this computer.

    Raises:
        SemblanceError: no cell is finished, or the folder cannot be written.
        Cancelled: the reporter was cancelled; files already written stay.
    """
    if not state.answers:
        raise SemblanceError("No cell of the experiment is finished.", "Run it first.")
    results = document(state)
    public = deidentified_document(results, state.spec) if not identified else results
    texts = {
        "scores.csv": tables.scores_csv(results),
        "values.csv": tables.values_csv(results),
        "comparisons.csv": tables.comparisons_csv(results),
        "ranks.csv": tables.ranks_csv(results),
        "pairs.csv": tables.pairs_csv(results),
        "worst_findings.csv": tables.findings_csv(results),
        "worst_queries.csv": tables.queries_csv(results, identified=identified),
        "results.json": json.dumps(public, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        "table.tex": tables.latex(results),
        "claim.csv": claim_csv(public),
        "claim.json": claim_json(public),
        SPEC: json.dumps(repeatable(state), indent=1, ensure_ascii=False) + "\n",
        SCRIPT: repeat_script(state),
    }
    make_folder(folder, private=False)
    written = []
    for name, text in texts.items():
        reporter.check_cancelled()
        write_file(folder / name, text.encode(), private=False)
        written.append(folder / name)
    script = folder / SCRIPT
    # Whoever may read it may run it.
    script.chmod(script.stat().st_mode | (script.stat().st_mode & 0o444) >> 2)
    drawn = figures(results) if plots else []
    for place, figure in enumerate(drawn):
        for suffix in _RATIO:
            reporter.check_cancelled()
            reporter.progress(place, len(drawn), "Drawing plots")
            path = folder / f"{figure.name}.{suffix}"
            write_file(path, figure.image(suffix), private=False)
            written.append(path)
    reporter.progress(len(drawn), len(drawn), "Drawing plots")
    return written


@dataclass(frozen=True)
class ExportedFigure:
    """A figure of a document, drawn when it is written.

    ``name``: of its file, without suffix; ``arguments``: what ``draw`` takes before its layout.
    """

    name: str
    draw: Callable[..., bytes]
    arguments: tuple[Any, ...]
    width: int
    title: str
    note: str

    def image(self, format: Format) -> bytes:
        """The figure as a file of that format."""
        layout = PlotLayout(
            "print", (self.width, 0), _RATIO[format], format, title=self.title, note=self.note
        )
        return self.draw(*self.arguments, layout)


def figures(results: Mapping[str, Any]) -> list[ExportedFigure]:
    """The plots of a document: average ranks over its tables, and the scores of every protocol."""
    found = [
        ExportedFigure(
            _file_name(f"ranks {test['protocol']} {test['score']}"),
            critical_difference_figure,
            rank_plot_data(test),
            640,
            tr_lazy("Average ranks, {test}", test=score_title(test["score"])),
            tr_lazy(
                "{test} tables, Friedman p {test2:.2g}, {made}",
                test=test["tables"],
                test2=test["p_value"],
                made=_badge(results),
            ),
        )
        for test in results["over_tables"]
    ]
    several = len({row["steps"] for row in results["results"]}) > 1
    for protocol in dict.fromkeys(row["protocol"] for row in results["results"]):
        rows = [row for row in results["results"] if row["protocol"] == protocol]
        for score in rows[0]["compared"]:
            intervals = [
                Interval(
                    cases_title(row["cases"]),
                    learner_title(f"{row['learner']}, {row['steps']}" if several else row["learner"]),
                    row["scores"][score]["mean"],
                    *(row["scores"][score]["ci95"] or (None, None)),
                )
                for row in rows
                if score in row["scores"]
            ]
            groups = {"": intervals} if len(intervals) <= _MOST_LINES else _by_cases(intervals)
            for cases, lines in groups.items():
                if not lines:
                    continue
                case_names = list(dict.fromkeys(one.cases for one in lines))
                # With several tables their names are above the lines.
                title = ", ".join([protocol_title(protocol), *(case_names if len(case_names) == 1 else [])])
                found.append(
                    ExportedFigure(
                        _file_name(f"scores {protocol} {score} {cases}"),
                        scores_figure,
                        (score_title(score), lines),
                        720,
                        title,
                        _badge(results),
                    )
                )
    return found


def _by_cases(intervals: Sequence[Interval]) -> dict[str, list[Interval]]:
    found: dict[str, list[Interval]] = {}
    for one in intervals:
        found.setdefault(one.cases, []).append(one)
    return found


def _badge(results: Mapping[str, Any]) -> str:
    known = {row["patients"] for row in results["results"]}
    return tr_lazy("held-out patients") if known == {"known"} else tr_lazy("held-out cases, unknown patients")


def _file_name(text: str) -> str:
    return "-".join("".join(c if c.isalnum() or c in ".=" else " " for c in text).split()).lower()


def deidentified_document(results: Mapping[str, Any], spec: ExperimentSpec) -> dict[str, Any]:
    """The document without names of cases and folders of this computer."""
    names_of_files = relative_files(spec)
    queries = [{**one, "queries": _without_names(one["queries"])} for one in results["worst_queries"]]
    findings = [
        {
            **one,
            "findings": [{**line, "queries": _without_names(line["queries"])} for line in one["findings"]],
        }
        for one in results["worst_findings"]
    ]
    cases = [
        {**one, "source": {**one["source"], "path": one["name"]} if one["source"] else None}
        for one in results["cases"]
    ]
    for one in cases:
        one["notes"], one["problem"] = (
            [_without(text, names_of_files) for text in one["notes"]],
            _without(one["problem"], names_of_files),
        )
    rows = [
        {**row, "failed": _without(row["failed"], names_of_files) if row["failed"] else None}
        for row in results["results"]
    ]
    anonymous = {"spec": _relative(spec).to_json(), "cases": cases, "results": rows}
    return {**results, **anonymous, "worst_queries": queries, "worst_findings": findings}


def _without_names(queries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in query.items() if key not in ("case_id", "case_row")}
        for query in queries
    ]


def _without(text: str, names_of_files: Mapping[str, str]) -> str:
    for path, name in names_of_files.items():
        text = text.replace(path, name)
    return text


def relative_files(spec: ExperimentSpec) -> dict[str, str]:
    """The name of every file of the experiment, with only as many folders as make it unique.

    Names of other folders may contain names of patients.
    """
    files = sorted({file for one in spec.cases for file in one.files()})
    found = {}
    for file in files:
        parts = Path(file).parts
        for length in range(1, len(parts) + 1):
            name = parts[-length:]
            if sum(Path(other).parts[-length:] == name for other in files) == 1:
                found[file] = "/".join(name)
                break
        else:
            found[file] = Path(file).as_posix()
    return found


def _relative(spec: ExperimentSpec) -> ExperimentSpec:
    names_of_files = relative_files(spec)
    return replace(spec, cases=tuple(one.with_files(names_of_files) for one in spec.cases))


def repeatable(state: ExperimentState) -> dict[str, Any]:
    """The experiment with names of files instead of paths, and the fingerprints of its cases."""
    fingerprints = [one["fingerprint"] for one in state.cases]
    return {**_relative(state.spec).to_json(), "fingerprints": fingerprints}


def repeat_script(state: ExperimentState) -> str:
    """A shell script that runs the experiment again and compares the numbers."""
    files = relative_files(state.spec)
    data = ""
    option = ""
    if files:
        # A name with a line break would continue as a command.
        file_list = "\n".join(f"#   {name if name.isprintable() else ascii(name)}" for name in files.values())
        data = (
            f"# DATA is the folder that holds, itself or in folders of its own,\n{file_list}\n"
            ': "${DATA:?Set DATA to the folder that holds the files named in this script.}"\n'
        )
        option = ' --data "$DATA"'
    compared = "\n".join(
        f'cmp "$here"/{shlex.quote(name)} "$out"/export/{shlex.quote(name)}' for name in COMPARED
    )
    return f"""#!/bin/sh
# Repeats an experiment of Semblance and compares its numbers with those beside this script.
# Usage: [DATA=FOLDER] [WORKERS=N] [SEMBLANCE=PROGRAM] sh {SCRIPT} [OUT]
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
out=${{1:-"$here/repeated"}}
semblance=${{SEMBLANCE:-semblance}}
{data}"$semblance" experiment run "$here/{SPEC}"{option} --out "$out" --workers "${{WORKERS:-1}}"
"$semblance" experiment export "$out" --to "$out/export"
{compared}
echo "The numbers are the same."
"""
