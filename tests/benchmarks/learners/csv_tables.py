"""The tables of the help page *Benchmarks* about learners, from the stored results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.benchmarks.csv_files import Table
from tests.benchmarks.learners import targets
from tests.benchmarks.learners.reasons import SLOW_REASONS
from tests.benchmarks.learners.references import EuclideanClaim, Reference
from tests.benchmarks.learners.variants import LMNN, MEAN_TIMES_LMNN, NCA, TIMES_LMNN, TIMES_NCA, Variant

NCA_TABLES = ("satellite", "letter")
_SCORES = ("knn_error", "retrieval_accuracy", "triplet_accuracy")
_SCORE_NAMES = {
    "triplet_accuracy": "triplets, %",
    "knn_accuracy@1": "1-NN, %",
    "retrieval_accuracy@10": "retrieval accuracy @ 10, %",
    "knn_error@3": "3-NN error, %",
    "balanced_error": "balanced k-NN error, %",
    "knn_error": "k-NN error, %",
    "ccknn_error": "class-wise k-NN error, %",
}
_LEARNERS_HEAD = (
    "table",
    "training rows × features",
    "learner",
    "fit, seconds",
    "fits",
    "times faster than LMNN",
    "times faster than NCA",
    "k-NN error, %",
    "retrieval accuracy@10, %",
    "triplet accuracy, %",
    "peak memory, MiB",
    "not measured",
)
_MEANS_HEAD = ("learner", "retrieval accuracy@10, %", "mean rank", "k-NN error, %", "fit, seconds")
_SLOW_HEAD = ("learner", "times faster than LMNN, geometric mean", "tables below 10 times", "reason")
_REFERENCES_HEAD = (
    "learner",
    "protocol",
    "table",
    "score",
    "reference",
    "here",
    "standard error",
    "verdict",
    "as printed",
    "note",
)
_EUCLIDEAN_HEAD = (
    "learner",
    "table",
    "score",
    "Euclidean",
    "learned",
    "difference",
    "standard error",
    "not below Euclidean",
)


def csv_tables(
    results: dict[str, Any],
    variants: Sequence[Variant],
    references: Sequence[Reference],
    claims: Sequence[EuclideanClaim],
) -> dict[str, Table]:
    """The tables by the name of their file; those of parts that were not measured are left out."""
    speed, accuracy, euclidean = (results.get(name, {}) for name in ("speed", "accuracy", "euclidean"))
    measured = [entry for entry in variants if any(entry.title in table["rows"] for table in speed.values())]
    known = [entry for entry in references if entry.key in accuracy]
    verdicts = _verdicts(accuracy, known)
    found: dict[str, Table] = {}
    if speed:
        found["learners"] = (_LEARNERS_HEAD, _learners(speed, measured))
        found["learner_means"] = (_MEANS_HEAD, _means(speed, measured))
        found["learners_slow"] = (_SLOW_HEAD, _slow(speed, measured))
    if known:
        found["references"] = (_REFERENCES_HEAD, _references(accuracy, verdicts))
    if euclidean:
        found["euclidean"] = (_EUCLIDEAN_HEAD, _against_euclidean(euclidean, claims))
    found["learners_targets"] = (
        ("target", "reached", "of"),
        _targets(speed, measured, [verdict for *_, verdict in verdicts], euclidean),
    )
    found["learners_machine"] = (("what", "value"), list(results.get("machine", {}).items()))
    return {name: table for name, table in found.items() if table[1]}


def _targets(
    speed: dict[str, Any],
    variants: Sequence[Variant],
    verdicts: Sequence[targets.Verdict],
    euclidean: dict[str, Any],
) -> list[list[str]]:
    rows: list[tuple[str, list[bool]]] = []
    papers = [entry for entry in variants if entry.paper]
    if any(LMNN in table["rows"] for table in speed.values()):
        rows += [
            (
                f"at least {TIMES_LMNN:g} times faster than {LMNN} on every table",
                [not targets.slow_against_lmnn(speed, entry) for entry in papers],
            ),
            (
                f"at least {MEAN_TIMES_LMNN:g} times faster than {LMNN} in geometric mean",
                [targets.fast_on_average(speed, entry) for entry in papers],
            ),
        ]
    tables = [table for table in NCA_TABLES if table in speed]
    beating = [entry for entry in papers if entry.faster_than_nca]
    if tables and beating:
        rows.append(
            (
                f"at least {TIMES_NCA:g} times faster than {NCA} at 2,000 rows (BDM, BoostMetric, CCML, "
                "passive-aggressive with psd = end)",
                [not targets.slow_against_nca(speed, entry, tables) for entry in beating],
            )
        )
    rows.append(
        ("reference value, within one standard error", [entry.shortfall == 0.0 for entry in verdicts])
    )
    claimed = [entry for entry in euclidean.values() if "failed" not in entry]
    rows.append(
        (
            "not below Euclidean by more than one standard error (MetricBoost on triplets, BDM+V on retrieval)",
            [entry["difference"] >= -entry["error"] for entry in claimed],
        )
    )
    return [[title, str(sum(reached)), str(len(reached))] for title, reached in rows if reached]


def _learners(speed: dict[str, Any], variants: Sequence[Variant]) -> list[list[str]]:
    rows = []
    for name, table in speed.items():
        for entry in variants:
            result = table["rows"].get(entry.title, {})
            failed = str(result.get("failed", "" if "seconds" in result else "not tried"))
            cells = [name, table["size"], entry.title]
            if failed:
                rows.append([*cells, *[""] * 8, failed])
                continue
            against_nca = entry.faster_than_nca and name in NCA_TABLES
            rows.append(
                [
                    *cells,
                    f"{result['seconds']:.2g}" if result["seconds"] < 10 else f"{result['seconds']:.0f}",
                    str(len(result["fits"])),
                    "" if entry.title == LMNN else _times(_ratio(speed, name, entry, LMNN)),
                    _times(_ratio(speed, name, entry, NCA)) if against_nca else "",
                    *(f"{100.0 * result['scores'][score]:.1f}" for score in _SCORES),
                    f"{result['mib']:.0f}" if "mib" in result else "",
                    "",
                ]
            )
    return rows


def _means(speed: dict[str, Any], variants: Sequence[Variant]) -> list[list[str]]:
    """Of each learner of Semblance that was fitted on all tables the means over them, the best rank first."""
    found = {
        entry.title: [table["rows"].get(entry.title, {}) for table in speed.values()]
        for entry in variants
        if entry.library == "semblance"
    }
    fitted = {title: rows for title, rows in found.items() if all("scores" in row for row in rows)}
    if not fitted:
        return []
    accuracies, errors = (
        np.array([[100.0 * row["scores"][score] for row in rows] for rows in fitted.values()])
        for score in ("retrieval_accuracy", "knn_error")
    )
    seconds = np.array([[row["seconds"] for row in rows] for rows in fitted.values()])
    shown = accuracies.round(1)
    ranks = 1 + (shown[None] > shown[:, None]).sum(1) + ((shown[None] == shown[:, None]).sum(1) - 1) / 2
    names = list(fitted)
    return [
        [
            names[place],
            f"{accuracies[place].mean():.1f}",
            f"{ranks[place].mean():.1f}",
            f"{errors[place].mean():.1f}",
            f"{np.median(seconds[place]):.2g}",
        ]
        for place in np.argsort(ranks.mean(1), kind="stable").tolist()
    ]


def _slow(speed: dict[str, Any], variants: Sequence[Variant]) -> list[list[str]]:
    rows = []
    for entry in variants:
        tables = targets.slow_against_lmnn(speed, entry) if entry.paper else []
        if tables:
            mean = targets.geometric_mean([_ratio(speed, table, entry, LMNN) for table in speed])
            rows.append([entry.title, _times(mean), ", ".join(tables), _slow_reason(entry.title)])
    return rows if any(LMNN in table["rows"] for table in speed.values()) else []


def _slow_reason(title: str) -> str:
    known = [start for start in SLOW_REASONS if title.startswith(start)]
    return SLOW_REASONS[max(known, key=len)] if known else ""


def _ratio(speed: dict[str, Any], table: str, entry: Variant, other: str) -> float | None:
    return targets.times_faster(speed, table, entry.title, other)


def _times(ratio: float | None) -> str:
    if ratio is None:
        return ""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"


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


def _references(
    accuracy: dict[str, Any], verdicts: Sequence[tuple[Reference, str, targets.Verdict]]
) -> list[list[str]]:
    rows = []
    for reference, score, verdict in verdicts:
        known = next(entry for entry in reference.known if entry.score == score)
        low, high = (f"{100.0 * value:.3g}" for value in (known.low, known.high))
        result = accuracy[reference.key].get("scores", {}).get(score)
        rows.append(
            [
                reference.title,
                reference.protocol,
                _table_name(reference),
                _SCORE_NAMES[score],
                low if low == high else f"{low}–{high}",
                "" if result is None else f"{100.0 * result['mean']:.2f}",
                "" if result is None else f"{100.0 * result['error']:.2f}",
                verdict.text,
                (result or {}).get("printed") or "",
                reference.note if verdict.shortfall else "",
            ]
        )
    return rows


def _table_name(reference: Reference) -> str:
    name = reference.table.replace("builtin:breast_cancer", "breast cancer (diagnostic)")
    return f"{name}, {reference.cases:,} cases" if reference.cases else name


def _against_euclidean(euclidean: dict[str, Any], claims: Sequence[EuclideanClaim]) -> list[list[str]]:
    rows = []
    for claim in claims:
        for table in claim.tables:
            result = euclidean.get(f"{claim.learner}, {table}")
            if result is None:
                continue
            name = table.replace("builtin:breast_cancer", "breast cancer (diagnostic)")
            cells = [claim.title, name, _SCORE_NAMES[claim.score]]
            if "failed" in result:
                rows.append([*cells, *[""] * 4, result["failed"]])
                continue
            numbers = ("euclidean", "mean", "difference", "error")
            rows.append(
                [
                    *cells,
                    *(f"{100.0 * result[number]:.2f}" for number in numbers),
                    "yes" if result["difference"] >= -result["error"] else "no",
                ]
            )
    return rows
