"""Writes ``resources/help/benchmarks.md`` from the results as they are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.benchmarks.learners import judging
from tests.benchmarks.learners.contenders import (
    LMNN,
    MEAN_TIMES_LMNN,
    NCA,
    TIMES_LMNN,
    TIMES_NCA,
    Contender,
)
from tests.benchmarks.learners.notes import SLOW
from tests.benchmarks.learners.race import ROUNDS
from tests.benchmarks.learners.references import AgainstEuclidean, Reference

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
    contenders: Sequence[Contender],
    references: Sequence[Reference],
    claims: Sequence[AgainstEuclidean],
) -> str:
    """The whole page; parts that were not measured are left out."""
    parts = [_INTRODUCTION]
    speed, accuracy, euclidean = (results.get(name, {}) for name in ("speed", "accuracy", "euclidean"))
    measured = [one for one in contenders if any(one.title in table["rows"] for table in speed.values())]
    known = [one for one in references if one.key in accuracy]
    parts.append(_in_short(speed, measured, accuracy, known, euclidean))
    if speed:
        parts += [_seconds(speed, measured), _against_lmnn(speed, measured), _against_nca(speed, measured)]
    if known:
        parts.append(_accuracy(accuracy, known))
    if euclidean:
        parts.append(_against_euclidean(euclidean, claims))
    if speed:
        parts += [_held_out(speed, measured), _memory(speed, measured)]
    parts.append(_how(results.get("machine", {}), speed))
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> str:
    """The first ``words`` columns to the left, the others to the right."""
    lines = [head, [*["---"] * words, *["---:"] * (len(head) - words)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_INTRODUCTION = """# Benchmarks

How fast every learner is, how well it does on cases it never saw, and what is not reached. The command
`make bench-learners` measures and writes this page as a whole. No choice (k, C, rounds) was made on the
part it is scored on.

[Glossary](glossary.md) · How much simulated users teach by clicks is measured by `make bench-clicks`:
[Clicks to learn](benchmarks_clicks.md)."""


def _in_short(
    speed: dict[str, Any],
    contenders: Sequence[Contender],
    accuracy: dict[str, Any],
    references: Sequence[Reference],
    euclidean: dict[str, Any],
) -> str:
    lines = ["## In short"]
    papers = [one for one in contenders if one.paper]
    if speed and any(LMNN in table["rows"] for table in speed.values()):
        everywhere = [one for one in papers if not judging.slow_against_lmnn(speed, one)]
        on_average = [one for one in papers if judging.fast_on_average(speed, one)]
        lines.append(
            f"- At least {TIMES_LMNN:g} times faster than {LMNN} on every table: **{len(everywhere)} of "
            f"{len(papers)}** forms of the papers' learners; {MEAN_TIMES_LMNN:g} times in geometric mean: "
            f"**{len(on_average)} of {len(papers)}**."
        )
    tables = [table for table in NCA_TABLES if table in speed]
    beating = [one for one in papers if one.beats_nca]
    if tables and beating:
        fast = [one for one in beating if not judging.slow_against_nca(speed, one, tables)]
        lines.append(
            f"- At least {TIMES_NCA:g} times faster than {NCA} at 2,000 rows (BDM, BoostMetric, CCML, "
            f"passive-aggressive with psd = end): **{len(fast)} of {len(beating)}** forms."
        )
    if speed:
        lines.append("- RCA and LDA are closed formulas and stay faster than all of the papers' learners.")
    if references:
        judged = [one.short == 0.0 for _, _, one in _verdicts(accuracy, references)]
        lines.append(
            f"- Reference values, within one standard error: **{sum(judged)} of {len(judged)}** reached."
        )
    claimed = [one for one in euclidean.values() if "failed" not in one]
    if claimed:
        kept = [one["difference"] >= -one["error"] for one in claimed]
        lines.append(
            "- Not below Euclidean by more than one standard error (MetricBoost on triplets, BDM+V on "
            f"retrieval): **{sum(kept)} of {len(kept)}** tables."
        )
    return "\n".join([lines[0], "", *lines[1:]])


def _by_table(
    speed: dict[str, Any],
    contenders: Sequence[Contender],
    head: str,
    cell: Callable[[str, Contender], str],
    last: tuple[str, Callable[[Contender], str]] | None = None,
) -> str:
    columns = [head, *(name.split("_")[0] for name in speed)]
    rows = [[one.title, *(cell(name, one) for name in speed)] for one in contenders]
    if last is not None:
        columns.append(last[0])
        for row, one in zip(rows, contenders, strict=True):
            row.append(last[1](one))
    return markdown_table(columns, rows)


def _seconds(speed: dict[str, Any], contenders: Sequence[Contender]) -> str:
    def cell(table: str, one: Contender) -> str:
        told = speed[table]["rows"].get(one.title, {})
        if "seconds" not in told or "failed" in told:
            return _not_there(told)
        few = "" if len(told["fits"]) >= ROUNDS else f" ({len(told['fits'])})"
        return f"{told['seconds']:.2g}{few}" if told["seconds"] < 10 else f"{told['seconds']:.0f}{few}"

    sizes = "Training rows × features: " + ", ".join(f"{name} {one['size']}" for name, one in speed.items())
    return "\n".join(
        [
            "## Fit, seconds",
            "",
            f"Processor time, medians of five fits in turn, or of as many as stand in brackets. {sizes}.",
            "",
            _by_table(speed, contenders, "learner", cell),
            "",
            _refused(speed),
        ]
    ).rstrip()


def _refused(speed: dict[str, Any]) -> str:
    """Why a cell holds a dash."""
    told = [
        f"- {title} on {name}: {row['failed']}"
        for name, table in speed.items()
        for title, row in table["rows"].items()
        if "failed" in row and not row["failed"].startswith(">")
    ]
    return "\n".join(["No result:", "", *told]) if told else ""


def _not_there(told: dict[str, Any]) -> str:
    failed = str(told.get("failed", ""))
    return failed if failed.startswith(">") else "–"


def _against_lmnn(speed: dict[str, Any], contenders: Sequence[Contender]) -> str:
    if not any(LMNN in table["rows"] for table in speed.values()):
        return ""

    def ratio(table: str, one: Contender) -> str:
        return _times(judging.times_faster(speed, table, one.title, LMNN), TIMES_LMNN if one.paper else 0.0)

    def mean(one: Contender) -> str:
        ratios = [judging.times_faster(speed, table, one.title, LMNN) for table in speed]
        return _times(judging.geometric_mean(ratios), MEAN_TIMES_LMNN if one.paper else 0.0)

    others = [one for one in contenders if one.title != LMNN]
    slow = {one.title: judging.slow_against_lmnn(speed, one) for one in contenders if one.paper}
    lines = [
        f"- {title}: {', '.join(tables)}. {_why(title)}".rstrip() for title, tables in slow.items() if tables
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


def _against_nca(speed: dict[str, Any], contenders: Sequence[Contender]) -> str:
    tables = {name: speed[name] for name in NCA_TABLES if name in speed}
    beating = [one for one in contenders if one.beats_nca]
    if not tables or not beating:
        return ""

    def ratio(table: str, one: Contender) -> str:
        return _times(judging.times_faster(speed, table, one.title, NCA), TIMES_NCA)

    return "\n".join(
        [
            f"## Times faster than {NCA}",
            "",
            f"At 2,000 training rows; the target is {TIMES_NCA:g}.",
            "",
            _by_table(tables, beating, "learner", ratio),
        ]
    )


def _why(title: str) -> str:
    known = [start for start in SLOW if title.startswith(start)]
    return SLOW[max(known, key=len)] if known else ""


def _times(ratio: float | None, target: float) -> str:
    if ratio is None:
        return "–"
    text = f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
    return text if ratio >= target else f"*{text}*"


def _verdicts(
    accuracy: dict[str, Any], references: Sequence[Reference]
) -> list[tuple[Reference, str, judging.Verdict]]:
    found = []
    for reference in references:
        told = accuracy[reference.key]
        if "failed" in told:
            failed = judging.Verdict(told["failed"], math.inf)
            found += [(reference, known.score, failed) for known in reference.known]
            continue
        for known in reference.known:
            score = told["scores"][known.score]
            found.append((reference, known.score, judging.verdict(known, score["mean"], score["error"])))
    return found


def _accuracy(accuracy: dict[str, Any], references: Sequence[Reference]) -> str:
    rows, missed = [], []
    for reference, score, verdict in _verdicts(accuracy, references):
        known = next(one for one in reference.known if one.score == score)
        low, high = (f"{100.0 * value:.3g}" for value in (known.low, known.high))
        told = accuracy[reference.key].get("scores", {}).get(score)
        ours = "–" if told is None else f"{100.0 * told['mean']:.2f} ± {100.0 * told['error']:.2f}"
        rows.append(
            [
                reference.title,
                reference.protocol,
                _table_name(reference),
                _SCORE_NAMES[score],
                low if low == high else f"{low}–{high}",
                ours,
                verdict.text,
                (told or {}).get("printed") or "–",
            ]
        )
        if verdict.short:
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


def _against_euclidean(euclidean: dict[str, Any], claims: Sequence[AgainstEuclidean]) -> str:
    rows = []
    for claim in claims:
        for table in claim.tables:
            told = euclidean.get(f"{claim.learner}, {table}")
            if told is None:
                continue
            name = table.replace("builtin:breast_cancer", "breast cancer (diagnostic)")
            if "failed" in told:
                rows.append([claim.title, name, _SCORE_NAMES[claim.score], "–", "–", "–", told["failed"]])
                continue
            rows.append(
                [
                    claim.title,
                    name,
                    _SCORE_NAMES[claim.score],
                    f"{100.0 * told['euclidean']:.2f}",
                    f"{100.0 * told['mean']:.2f}",
                    f"{100.0 * told['difference']:+.2f} ± {100.0 * told['error']:.2f}",
                    "kept" if told["difference"] >= -told["error"] else "BELOW",
                ]
            )
    head = ["learner", "table", "score", "Euclidean", "learnt", "difference", "not below"]
    told = "At the defaults, by the same protocols; the standard error is that of the paired difference."
    return "\n".join(["## Against Euclidean", "", told, "", markdown_table(head, rows, words=3)])


def _held_out(speed: dict[str, Any], contenders: Sequence[Contender]) -> str:
    parts = [_HELD_OUT]
    for score, title in _SCORES.items():

        def cell(table: str, one: Contender, score: str = score) -> str:
            told = speed[table]["rows"].get(one.title, {})
            return f"{100.0 * told['scores'][score]:.1f}" if "scores" in told else _not_there(told)

        parts += [f"### {title}", _by_table(speed, contenders, "learner", cell)]
    return "\n\n".join(parts)


_HELD_OUT = """## Held-out scores of these fits

One split, so no standard errors: differences of a few points on the small tables mean nothing. k is chosen
by leave-one-out on the training part; triplets are a fixed draw of held-out cases, and a tie counts as an
error, which costs the learners of bits and votes."""


def _memory(speed: dict[str, Any], contenders: Sequence[Contender]) -> str:
    def cell(table: str, one: Contender) -> str:
        told = speed[table]["rows"].get(one.title, {})
        return f"{told['mib']:.0f}" if "mib" in told else _not_there(told)

    return "\n".join(
        [
            "## Peak memory of a fit, MiB",
            "",
            "How far a process of its own rose above what it held when the fit began. Some 3 to 7 MiB of "
            "each are the interpreter's: pages it shares with its parent until it touches them.",
            "",
            _by_table(speed, contenders, "learner", cell),
        ]
    )


def _how(machine: dict[str, str], speed: dict[str, Any]) -> str:
    facts = [f"- {name}: {value}" for name, value in machine.items()]
    return "\n".join([_HOW, "", *facts]) if facts else _HOW


_HOW = """## How it was measured

- Training parts: 70 % of wine, ionosphere, sonar and breast_cancer_original; the first 2,000 training rows
  of satellite (held out: the last 2,000 rows, less the 461 of finding 1, which those do not have) and letter
  (held out: the last 4,000). Features are scaled by the training part.
- Both sides are fitted in processes that are driven alike, on one thread; a fit runs from the call to the
  finished metric. Seconds are of processor time, which other work on the machine does not stretch as it does
  the clock's. All contenders of a table take turns, round after round, so that a slow moment hits them all.
  Ratios are of medians within one run; those are to be trusted more than seconds.
- A contender without a target is fitted once where a fit takes longer than 5 s. A fit is given up after 60 s
  (without a target 30 s), those of metric-learn's LMNN and scikit-learn's NCA are not.
- metric-learn's methods run at their defaults (RCA_Supervised with as many chunks as the table gives, up to
  its default of 100), scikit-learn's NCA too, which in the project runs on the project's versions. metric-
  learn needs older ones: it has an environment of its own.
- ConvCCML learns from images, not from tables, and is not here."""
