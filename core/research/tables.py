"""The numbers of an experiment as CSV and as a LaTeX table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from semblance.core.evaluation.chance import is_chance, names_beside_chance
from semblance.core.evaluation.friedman import smaller_is_better
from semblance.core.reports.csv_table import csv_text
from semblance.core.research.result_titles import cases_title, learner_title, protocol_title, score_title

Document = Mapping[str, Any]

_ROW = ("protocol", "cases", "steps", "learner")
#: The keys of these columns in a document's rows, with the steps that were used for these cases.
_KEYS = ("protocol", "cases", "steps_used", "learner")


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
