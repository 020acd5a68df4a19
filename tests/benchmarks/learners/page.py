"""Writes ``resources/help/benchmarks.md`` from the stored results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.benchmarks.learners import targets
from tests.benchmarks.learners.reasons import SLOW_REASONS
from tests.benchmarks.learners.references import EuclideanClaim, Reference
from tests.benchmarks.learners.timing import ROUNDS
from tests.benchmarks.learners.variants import (
    LMNN,
    MEAN_TIMES_LMNN,
    NCA,
    TIMES_LMNN,
    TIMES_NCA,
    Variant,
)

NCA_TABLES = ("satellite", "letter")
_SCORES = {
    "knn_error": "k-NN error, %",
    "retrieval_accuracy": "Retrieval accuracy @ 10, %",
    "triplet_accuracy": "Triplet accuracy, %",
}
_SCORE_NAMES = {
    "triplet_accuracy": "triplets, %",
    "knn_accuracy@1": "1-NN, %",
    "retrieval_accuracy@10": "retrieval accuracy @ 10, %",
    "knn_error@3": "3-NN error, %",
    "balanced_error": "balanced k-NN error, %",
    "knn_error": "k-NN error, %",
    "ccknn_error": "class-wise k-NN error, %",
}


def page(
    results: dict[str, Any],
    variants: Sequence[Variant],
    references: Sequence[Reference],
    claims: Sequence[EuclideanClaim],
) -> str:
    """The whole page; parts that were not measured are left out."""
    parts = [_INTRODUCTION]
    speed, accuracy, euclidean = (results.get(name, {}) for name in ("speed", "accuracy", "euclidean"))
    measured = [entry for entry in variants if any(entry.title in table["rows"] for table in speed.values())]
    known = [entry for entry in references if entry.key in accuracy]
    parts.append(_summary(speed, measured, accuracy, known, euclidean))
    if speed:
        parts += [
            _seconds(speed, measured),
            _against_lmnn(speed, measured),
            _against_nca(speed, measured),
        ]
    if known:
        parts.append(_accuracy(accuracy, known))
    if euclidean:
        parts.append(_against_euclidean(euclidean, claims))
    if speed:
        parts += [_held_out(speed, measured), _memory(speed, measured)]
    parts.append(_method(results.get("machine", {}), speed))
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """The first ``words`` columns to the left, the others to the right."""
    lines = [head, [*["---"] * words, *["---:"] * (len(head) - words)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_INTRODUCTION = """# Benchmarks

This page shows the speed of every learner, its accuracy on held-out cases, and the targets that are not reached. The
command `make bench-learners` measures all values and writes this page. No choice (k, C, rounds) was made on the
held-out cases.

[Glossary](glossary.md) · [Clicks to learn](benchmarks_clicks.md) shows how much a metric learns from clicks."""


def _summary(
    speed: dict[str, Any],
    variants: Sequence[Variant],
    accuracy: dict[str, Any],
    references: Sequence[Reference],
    euclidean: dict[str, Any],
) -> str:
    lines = ["## In short"]
    papers = [entry for entry in variants if entry.paper]
    if speed and any(LMNN in table["rows"] for table in speed.values()):
        everywhere = [entry for entry in papers if not targets.slow_against_lmnn(speed, entry)]
        on_average = [entry for entry in papers if targets.fast_on_average(speed, entry)]
        lines.append(
            f"- At least {TIMES_LMNN:g} times faster than {LMNN} on every table: **{len(everywhere)} of "
            f"{len(papers)}** forms of the papers' learners; {MEAN_TIMES_LMNN:g} times in geometric mean: "
            f"**{len(on_average)} of {len(papers)}**."
        )
    tables = [table for table in NCA_TABLES if table in speed]
    beating = [entry for entry in papers if entry.faster_than_nca]
    if tables and beating:
        fast = [entry for entry in beating if not targets.slow_against_nca(speed, entry, tables)]
        lines.append(
            f"- At least {TIMES_NCA:g} times faster than {NCA} at 2,000 rows (BDM, BoostMetric, CCML, "
            f"passive-aggressive with psd = end): **{len(fast)} of {len(beating)}** forms."
        )
    if speed:
        lines.append("- RCA and LDA are closed formulas and stay faster than all of the papers' learners.")
    if references:
        reached = [entry.shortfall == 0.0 for _, _, entry in _verdicts(accuracy, references)]
        lines.append(
            f"- Reference values, within one standard error: **{sum(reached)} of {len(reached)}** reached."
        )
    claimed = [entry for entry in euclidean.values() if "failed" not in entry]
    if claimed:
        no_worse = [entry["difference"] >= -entry["error"] for entry in claimed]
        lines.append(
            "- Not below Euclidean by more than one standard error (MetricBoost on triplets, BDM+V on "
            f"retrieval): **{sum(no_worse)} of {len(no_worse)}** tables."
        )
    return "\n".join([lines[0], "", *lines[1:]])


def _by_table(
    speed: dict[str, Any],
    variants: Sequence[Variant],
    head: str,
    cell: Callable[[str, Variant], str],
    last: tuple[str, Callable[[Variant], str]] | None = None,
) -> str:
    columns = [head, *(name.split("_")[0] for name in speed)]
    rows = [[entry.title, *(cell(name, entry) for name in speed)] for entry in variants]
    if last is not None:
        columns.append(last[0])
        for row, entry in zip(rows, variants, strict=True):
            row.append(last[1](entry))
    return markdown_table(columns, rows)


def _seconds(speed: dict[str, Any], variants: Sequence[Variant]) -> str:
    def cell(table: str, entry: Variant) -> str:
        result = speed[table]["rows"].get(entry.title, {})
        if "seconds" not in result or "failed" in result:
            return _missing_cell(result)
        few = "" if len(result["fits"]) >= ROUNDS else f" ({len(result['fits'])})"
        return f"{result['seconds']:.2g}{few}" if result["seconds"] < 10 else f"{result['seconds']:.0f}{few}"

    sizes = "Training rows × features: " + ", ".join(
        f"{name} {entry['size']}" for name, entry in speed.items()
    )
    return "\n".join(
        [
            "## Fit, seconds",
            "",
            f"Processor time, medians of five fits in turn, or of as many as stand in brackets. {sizes}.",
            "",
            _by_table(speed, variants, "learner", cell),
            "",
            _failures(speed),
        ]
    ).rstrip()


def _failures(speed: dict[str, Any]) -> str:
    """Why a cell holds a dash."""
    result = [
        f"- {title} on {name}: {row['failed']}"
        for name, table in speed.items()
        for title, row in table["rows"].items()
        if "failed" in row and not row["failed"].startswith(">")
    ]
    return "\n".join(["No result:", "", *result]) if result else ""


def _missing_cell(result: dict[str, Any]) -> str:
    failed = str(result.get("failed", ""))
    return failed if failed.startswith(">") else "–"


def _against_lmnn(speed: dict[str, Any], variants: Sequence[Variant]) -> str:
    if not any(LMNN in table["rows"] for table in speed.values()):
        return ""

    def ratio(table: str, entry: Variant) -> str:
        return _times(
            targets.times_faster(speed, table, entry.title, LMNN), TIMES_LMNN if entry.paper else 0.0
        )

    def mean(entry: Variant) -> str:
        ratios = [targets.times_faster(speed, table, entry.title, LMNN) for table in speed]
        return _times(targets.geometric_mean(ratios), MEAN_TIMES_LMNN if entry.paper else 0.0)

    others = [entry for entry in variants if entry.title != LMNN]
    slow = {entry.title: targets.slow_against_lmnn(speed, entry) for entry in variants if entry.paper}
    lines = [
        f"- {title}: {', '.join(tables)}. {_slow_reason(title)}".rstrip()
        for title, tables in slow.items()
        if tables
    ]
    missed = ["", f"Not {TIMES_LMNN:g} times as fast everywhere:", "", *lines] if lines else []
    return "\n".join(
        [
            f"## Times faster than {LMNN}",
            "",
            f"For the papers' learners the targets are {TIMES_LMNN:g} on each table and {MEAN_TIMES_LMNN:g} "
            "in geometric mean; *what misses them stands in italics*.",
            "",
            _by_table(speed, others, "learner", ratio, ("geometric mean", mean)),
            *missed,
        ]
    )


def _against_nca(speed: dict[str, Any], variants: Sequence[Variant]) -> str:
    tables = {name: speed[name] for name in NCA_TABLES if name in speed}
    beating = [entry for entry in variants if entry.faster_than_nca]
    if not tables or not beating:
        return ""

    def ratio(table: str, entry: Variant) -> str:
        return _times(targets.times_faster(speed, table, entry.title, NCA), TIMES_NCA)

    return "\n".join(
        [
            f"## Times faster than {NCA}",
            "",
            f"At 2,000 training rows; the target is {TIMES_NCA:g}.",
            "",
            _by_table(tables, beating, "learner", ratio),
        ]
    )


def _slow_reason(title: str) -> str:
    known = [start for start in SLOW_REASONS if title.startswith(start)]
    return SLOW_REASONS[max(known, key=len)] if known else ""


def _times(ratio: float | None, target: float) -> str:
    if ratio is None:
        return "–"
    text = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
    return text if ratio >= target else f"*{text}*"


def _verdicts(
    accuracy: dict[str, Any], references: Sequence[Reference]
) -> list[tuple[Reference, str, targets.Verdict]]:
    found = []
    for reference in references:
        result = accuracy[reference.key]
        if "failed" in result:
            failed = targets.Verdict(result["failed"], math.inf)
            found += [(reference, known.score, failed) for known in reference.known]
            continue
        for known in reference.known:
            score = result["scores"][known.score]
            found.append((reference, known.score, targets.verdict(known, score["mean"], score["error"])))
    return found


def _accuracy(accuracy: dict[str, Any], references: Sequence[Reference]) -> str:
    rows, missed = [], []
    for reference, score, verdict in _verdicts(accuracy, references):
        known = next(entry for entry in reference.known if entry.score == score)
        low, high = (f"{100.0 * value:.3g}" for value in (known.low, known.high))
        result = accuracy[reference.key].get("scores", {}).get(score)
        ours = "–" if result is None else f"{100.0 * result['mean']:.2f} ± {100.0 * result['error']:.2f}"
        rows.append(
            [
                reference.title,
                reference.protocol,
                _table_name(reference),
                _SCORE_NAMES[score],
                low if low == high else f"{low}–{high}",
                ours,
                verdict.text,
                (result or {}).get("printed") or "–",
            ]
        )
        if verdict.shortfall:
            missed.append(
                f"- {reference.title} on {_table_name(reference)}, {_SCORE_NAMES[score]}: {verdict.text}. "
                f"{reference.note}".rstrip()
            )
    why = ["", "Not reached, and what is known of why:", "", *missed] if missed else []
    head = ["learner", "protocol", "table", "score", "reference", "here", "verdict", "as printed"]
    return "\n".join([_ACCURACY, "", markdown_table(head, rows, words=4), *why])


_ACCURACY = """## Reference values

Each learner by the protocol of its own paper (`semblance evaluate --protocol NAME`), standardised features,
all of the table unless a number of cases is given. *Reference* is what two independent prototypes of the
method gave, *here* the mean with its standard error over the rounds of splits. *Within their range*: at
least the weaker prototype, one standard error (s.e.) allowed. *As printed* is the paper's own value: on other
splits, at times on other features or at the k that was best on the test part; it is no target. PAII is the
variant pa2, PAI pa1; minus is psd = end, plus is psd = always."""


def _table_name(reference: Reference) -> str:
    name = reference.table.replace("builtin:breast_cancer", "breast cancer (diagnostic)")
    return f"{name}, {reference.cases:,} cases" if reference.cases else name


def _against_euclidean(euclidean: dict[str, Any], claims: Sequence[EuclideanClaim]) -> str:
    rows = []
    for claim in claims:
        for table in claim.tables:
            result = euclidean.get(f"{claim.learner}, {table}")
            if result is None:
                continue
            name = table.replace("builtin:breast_cancer", "breast cancer (diagnostic)")
            if "failed" in result:
                rows.append([claim.title, name, _SCORE_NAMES[claim.score], "–", "–", "–", result["failed"]])
                continue
            rows.append(
                [
                    claim.title,
                    name,
                    _SCORE_NAMES[claim.score],
                    f"{100.0 * result['euclidean']:.2f}",
                    f"{100.0 * result['mean']:.2f}",
                    f"{100.0 * result['difference']:+.2f} ± {100.0 * result['error']:.2f}",
                    "kept" if result["difference"] >= -result["error"] else "BELOW",
                ]
            )
    head = ["learner", "table", "score", "Euclidean", "learnt", "difference", "not below"]
    result = "At the defaults, by the same protocols; the standard error is that of the paired difference."
    return "\n".join(["## Against Euclidean", "", result, "", markdown_table(head, rows, words=3)])


def _held_out(speed: dict[str, Any], variants: Sequence[Variant]) -> str:
    parts = [_HELD_OUT]
    for score, title in _SCORES.items():

        def cell(table: str, entry: Variant, score: str = score) -> str:
            result = speed[table]["rows"].get(entry.title, {})
            return f"{100.0 * result['scores'][score]:.1f}" if "scores" in result else _missing_cell(result)

        parts += [f"### {title}", _by_table(speed, variants, "learner", cell)]
    return "\n\n".join(parts)


_HELD_OUT = """## Held-out scores of these fits

One split, so no standard errors: differences of a few points on the small tables mean nothing. k is chosen
by leave-one-out on the training part; triplets are a fixed draw of held-out cases, and a tie counts as an
error, which costs the learners of bits and votes."""


def _memory(speed: dict[str, Any], variants: Sequence[Variant]) -> str:
    def cell(table: str, entry: Variant) -> str:
        result = speed[table]["rows"].get(entry.title, {})
        return f"{result['mib']:.0f}" if "mib" in result else _missing_cell(result)

    return "\n".join(
        [
            "## Peak memory of a fit, MiB",
            "",
            "How far a process of its own rose above what it held when the fit began. Some 3 to 7 MiB of "
            "each are the interpreter's: pages it shares with its parent until it touches them.",
            "",
            _by_table(speed, variants, "learner", cell),
        ]
    )


def _method(machine: dict[str, str], speed: dict[str, Any]) -> str:
    lines = [f"- {name}: {value}" for name, value in machine.items()]
    return "\n".join([_HOW, "", *lines]) if lines else _HOW


_HOW = """## How it was measured

- Training parts: 70 % of wine, ionosphere, sonar and breast_cancer_original; the first 2,000 training rows
  of satellite (held out: the last 2,000 rows without the 461 of finding 1, which the training rows do not have)
  and letter (held out: the last 4,000). Features are scaled by the training part.
- All implementations are fitted in the same kind of process on one thread. A fit lasts from the call to the finished
  metric. Seconds are processor time, which depends less on other work of the machine than the clock. The
  implementations take turns, so that a slow moment affects all of them. Ratios compare medians of one run. They are
  more reliable than seconds: other work on the machine can double or triple these, because it takes the caches.
- A learner without a target is fitted once if a fit takes longer than 5 s. A fit is stopped after 60 s (without a
  target after 30 s), except metric-learn's LMNN and scikit-learn's NCA.
- The methods of metric-learn and scikit-learn's NCA run with their defaults (RCA_Supervised with at most 100 chunks,
  its default). NCA uses the library versions of this project. metric-learn needs older versions and runs in a separate
  environment.
- ConvCCML learns from images and is not included."""
