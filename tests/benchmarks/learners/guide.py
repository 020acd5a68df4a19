"""Renews the measured table of the help page *Which learner for what* from the page of benchmarks.

``python -m tests.benchmarks.learners.guide``; ``make bench-learners`` does it at its end.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

HELP = Path(__file__).resolve().parents[3] / "resources" / "help"
#: Column titles of the table by the folder of the page.
_TITLES = {
    "": ("learner", "retrieval accuracy @ 10, %", "mean rank", "k-NN error, %", "fit, seconds"),
    "de": ("Verfahren", "Suchgenauigkeit @ 10, %", "mittlerer Rang", "k-NN-Fehler, %", "Training, Sekunden"),
}
_START, _END = "<!-- measured -->", "<!-- end -->"


def section_table(text: str, title: str) -> dict[str, list[float]]:
    """The rows of the first table below the heading ``title``, by learner; NaN where there is no number."""
    lines = text[text.index(f" {title}\n") :].splitlines()[1:]
    first = next(place for place, line in enumerate(lines) if line.startswith("| "))
    found = {}
    for line in lines[first + 2 :]:
        if not line.startswith("| "):
            break
        name, *cells = (cell.strip() for cell in line.strip("| ").split("|"))
        found[name] = [_number(cell) for cell in cells]
    return found


def measured_table(benchmarks: str, titles: tuple[str, ...]) -> str:
    """Markdown: of each learner of Semblance that was fitted on all tables the means over them, the best rank first."""
    accuracy = section_table(benchmarks, "Retrieval accuracy @ 10, %")
    errors = section_table(benchmarks, "k-NN error, %")
    seconds = section_table(benchmarks, "Fit, seconds")
    names = [
        name
        for name, values in accuracy.items()
        if not name.startswith(("metric-learn", "scikit-learn")) and np.isfinite(values).all()
    ]
    values = np.array([accuracy[name] for name in names])
    ranks = 1 + (values[None] > values[:, None]).sum(1) + ((values[None] == values[:, None]).sum(1) - 1) / 2
    rows = [f"| {' | '.join(titles)} |", "| --- |" + " ---: |" * (len(titles) - 1)]
    for place in np.argsort(ranks.mean(1), kind="stable").tolist():
        name = names[place]
        rows.append(
            f"| {name} | {values[place].mean():.1f} | {ranks[place].mean():.1f} | {np.mean(errors[name]):.1f} | "
            f"{np.median(seconds[name]):.2g} |"
        )
    return "\n".join(rows)


def renew(folder: Path = HELP) -> None:
    """Write the table into the pages of all languages."""
    benchmarks = (folder / "benchmarks.md").read_text(encoding="utf-8")
    for language, titles in _TITLES.items():
        page = folder / language / "which_learner.md"
        before, _, rest = page.read_text(encoding="utf-8").partition(_START)
        after = rest.partition(_END)[2]
        table = measured_table(benchmarks, titles)
        page.write_text(f"{before}{_START}\n\n{table}\n\n{_END}{after}", encoding="utf-8")


def _number(cell: str) -> float:
    try:
        return float(cell.strip("*").partition(" (")[0].replace(",", ""))
    except ValueError:
        return np.nan


if __name__ == "__main__":
    renew()
