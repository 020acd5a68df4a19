"""The results of an experiment as tables, figures and text, exported into a folder."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from semblance.core.csv_cells import csv_text
from semblance.core.errors import SemblanceError
from semblance.core.evaluation.chance import is_chance, names_beside_chance
from semblance.core.evaluation.evaluation_files import CONFIG, METHODS, write_parts
from semblance.core.evaluation.friedman import smaller_is_better
from semblance.core.files import make_folder, write_file
from semblance.core.language import tr_lazy
from semblance.core.reports.experiment_figures import ScoreInterval, critical_difference_figure, scores_figure
from semblance.core.reports.plot import Format, PlotLayout
from semblance.core.research.claim_checklist import checklist_csv, checklist_json
from semblance.core.research.export_queries import description, experiment_methods, query_files
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

Document = Mapping[str, Any]

_ROW = ("protocol", "cases", "steps", "learner")
#: The keys of these columns in a document's rows, with the steps that were used for these cases.
_KEYS = ("protocol", "cases", "steps_used", "learner")

SPEC, SCRIPT = "experiment-spec.json", "repeat.sh"
#: A plot of scores with more lines than these is drawn for each table or library by itself.
_MOST_LINES = 150
#: The formats of figures, and the pixels of a PNG for each of the layout.
_RATIO: dict[Format, float] = {"svg": 1.0, "pdf": 1.0, "png": 3.0}
#: The files by which a repeated run is compared.
COMPARED = ("scores.csv", "values.csv", "comparisons.csv", "ranks.csv", "pairs.csv")


def scores_csv(document: Document) -> str:
    """A line for every score of every learner: mean, its interval over repeats, those over tested cases."""
    header = (
        *_ROW, "score", "mean", "std", "ci95_low", "ci95_high", "delong_low", "delong_high",
        "bootstrap_low", "bootstrap_high", "repeats", "patients", "measured_on",
    )  # fmt: skip
    return csv_text(header, _score_lines(document))


def _score_lines(document: Document) -> Iterator[tuple[Any, ...]]:
    for row in document["results"]:
        for name, score in row["scores"].items():
            within = score.get("within_repeat", {})
            yield (
                *(row[key] for key in _KEYS),
                name,
                score["mean"],
                score["std"],
                *(score["ci95"] or (None, None)),
                *within.get("delong", (None, None)),
                *within.get("bootstrap", (None, None)),
                row["repeats"]["done"],
                row["patients"],
                document["measured_on"],
            )


def values_csv(document: Document) -> str:
    """A line for every score of every single split, with the parameters chosen there."""
    lines = []
    for row in document["results"]:
        chosen = row.get("chosen", [])
        for name, score in row["scores"].items():
            for place, value in enumerate(score["values"]):
                params = chosen[place] if place < len(chosen) else {}
                text = ";".join(f"{key}={one}" for key, one in params.items())
                lines.append((*(row[key] for key in _KEYS), name, place + 1, value, text))
    return csv_text((*_ROW, "score", "split", "value", "chosen"), lines)


def comparisons_csv(document: Document) -> str:
    """Every two learners on the same splits."""
    header = (
        "protocol", "cases", "a", "b", "score", "difference", "ci95_low", "ci95_high", "p_corrected_t",
        "p_wilcoxon",
    )  # fmt: skip
    return csv_text(
        header,
        (
            (
                one["protocol"], one["cases"], one["a"], one["b"], one["score"], one["difference"],
                *one["ci95"], one["p_corrected_t"], one["p_wilcoxon"],
            )
            for one in document["comparisons"]
        ),
    )  # fmt: skip


def ranks_csv(document: Document) -> str:
    """Average ranks over all cases, with Friedman's p and Nemenyi's distance."""
    return csv_text(
        ("protocol", "score", "learner", "average_rank", "tables", "friedman_p", "critical_difference"),
        (
            (
                test["protocol"], test["score"], name, rank, test["tables"], test["p_value"],
                test["nemenyi"]["critical_difference"],
            )
            for test in document["over_tables"]
            for name, rank in test["ranks"].items()
        ),
    )  # fmt: skip


def pairs_csv(document: Document) -> str:
    """Every two learners over all cases: the test of their ranks, its p after Holm, and Wilcoxon's."""
    return csv_text(
        ("protocol", "score", "a", "b", "tables", "z", "p_value", "p_holm", "p_wilcoxon"),
        (
            (
                test["protocol"], test["score"], pair["a"], pair["b"], test["tables"], pair["z"],
                pair["p_value"], pair["p_adjusted"], pair["p_wilcoxon"],
            )
            for test in document["over_tables"]
            for pair in test["pairs"]
        ),
    )  # fmt: skip


def findings_csv(document: Document) -> str:
    """The findings with the lowest scores, for every learner."""
    return csv_text(
        ("protocol", "cases", "learner", "score", "finding", "mean", "tested_cases"),
        (
            (
                one["protocol"],
                one["cases"],
                one["learner"],
                one["score"],
                line["finding"],
                line["mean"],
                line["cases"],
            )
            for one in document["worst_findings"]
            for line in one["findings"]
        ),
    )


def queries_csv(document: Document, *, identified: bool) -> str:
    """The worst queries; without ``identified`` cases are counted in the order they were read, not named."""
    return csv_text(
        ("protocol", "cases", "learner", "score", "case", "finding", "mean", "asked"),
        (
            (
                one["protocol"],
                one["cases"],
                one["learner"],
                one["score"],
                query["case_id"] if identified and query["case_id"] is not None else query["place"] + 1,
                query["finding"],
                query["mean"],
                query["asked"],
            )
            for one in document["worst_queries"]
            for query in one["queries"]
        ),
    )


def latex(document: Document, digits: int = 3) -> str:
    """A table for every protocol: a line for cases and learner, mean and 95 % interval.

    The best mean of each score on each cases is bold; needs the packages ``booktabs`` and ``graphicx``.
    """
    parts = [r"% \usepackage{booktabs,graphicx}"]
    for protocol in dict.fromkeys(row["protocol"] for row in document["results"]):
        rows = [row for row in document["results"] if row["protocol"] == protocol and row["scores"]]
        if rows:
            parts.append(_latex_table(protocol, rows, document, digits))
    return "\n\n".join(parts) + "\n"


def _latex_table(protocol: str, rows: Sequence[Mapping[str, Any]], document: Document, digits: int) -> str:
    names = names_beside_chance(rows[0]["compared"], {name for row in rows for name in row["scores"]})
    several = len({row["steps"] for row in rows}) > 1
    titles = [
        "cases",
        "learner",
        *(["steps"] if several else []),
        *(score_title(name, str) for name in names),
    ]
    lines = [
        r"\begin{table}",
        r"\centering",
        r"\resizebox{\textwidth}{!}{%",
        rf"\begin{{tabular}}{{{'l' * (3 if several else 2)}{'r' * len(names)}}}",
        r"\toprule",
        " & ".join(map(_escaped, titles)) + r" \\",
    ]
    previous_cases = None
    for row in rows:
        if row["cases"] != previous_cases:
            lines.append(r"\midrule")
            rows_of_cases = [other for other in rows if other["cases"] == row["cases"]]
        first = cases_title(row["cases"]) if row["cases"] != previous_cases else ""
        previous_cases = row["cases"]
        texts = [first, learner_title(row["learner"], str), *([row["steps"]] if several else [])]
        cells = [_cell(row, name, rows_of_cases, digits) for name in names]
        lines.append(" & ".join([*map(_escaped, texts), *cells]) + r" \\")
    # Folds are splits too, and rows of an unfinished experiment have fewer.
    splits = sorted({len(score["values"]) for row in rows for score in row["scores"].values()})
    n_splits = str(splits[0]) if len(splits) == 1 else f"{splits[0]} to {splits[-1]}"
    statistic = "mean and 95 % interval" if any(_intervals(row) for row in rows) else "mean"
    unfinished = "" if all(row["repeats"]["done"] == row["repeats"]["of"] for row in rows) else ", unfinished"
    known = {row["patients"] for row in rows}
    patients_text = f"patients {known.pop()}" if len(known) == 1 else "patients known of some"
    caption = (
        f"{protocol_title(protocol, str)}: {statistic} over {n_splits} splits{unfinished}, seed "
        f"{document['seed']}, on held-out cases, {patients_text}; the best of each score in bold."
    )
    lines += [r"\bottomrule", r"\end{tabular}}", rf"\caption{{{_escaped(caption)}}}", r"\end{table}"]
    return "\n".join(lines)


def _intervals(row: Mapping[str, Any]) -> bool:
    return any(score["ci95"] for score in row["scores"].values())


def _cell(row: Mapping[str, Any], name: str, rows_of_cases: Sequence[Mapping[str, Any]], digits: int) -> str:
    score = row["scores"].get(name)
    if score is None:
        return "--"
    means = [other["scores"][name]["mean"] for other in rows_of_cases if name in other["scores"]]
    best = min(means) if smaller_is_better(name) else max(means)
    text = f"{score['mean']:.{digits}f}"
    if round(score["mean"], digits) == round(best, digits) and not is_chance(name):
        text = rf"\textbf{{{text}}}"
    if score["ci95"]:
        # Not the half width, because an interval that ends at 0 or 1 is not symmetric.
        low, high = score["ci95"]
        text += f" ({low:.{digits}f}--{high:.{digits}f})"
    return text


_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "→": r"$\rightarrow$", "–": "--",
}  # fmt: skip


def _escaped(text: str) -> str:
    """``text`` escaped for TeX, without line breaks."""
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))


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
        "scores.csv": scores_csv(results),
        "values.csv": values_csv(results),
        "comparisons.csv": comparisons_csv(results),
        "ranks.csv": ranks_csv(results),
        "pairs.csv": pairs_csv(results),
        "worst_findings.csv": findings_csv(results),
        "worst_queries.csv": queries_csv(results, identified=identified),
        "results.json": json.dumps(public, indent=1, ensure_ascii=False, allow_nan=False) + "\n",
        "table.tex": latex(results),
        "claim.csv": checklist_csv(public),
        "claim.json": checklist_json(public),
        SPEC: json.dumps(repeatable(state), indent=1, ensure_ascii=False) + "\n",
        SCRIPT: repeat_script(state),
        METHODS: experiment_methods(state, public),
        CONFIG: description(state, public, repeatable(state), identified=identified),
    }
    make_folder(folder, private=False)
    written = []
    for name, parts in query_files(state, identified=identified).items():
        reporter.progress(0, None, "Writing queries")
        write_parts(folder / name, parts, reporter.check_cancelled)
        written.append(folder / name)
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
                ScoreInterval(
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


def _by_cases(intervals: Sequence[ScoreInterval]) -> dict[str, list[ScoreInterval]]:
    found: dict[str, list[ScoreInterval]] = {}
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
