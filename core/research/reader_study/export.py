"""A reader study as files: the answers with their codebook, the results, and a summary for a publication.

The summary follows the items of CLAIM that a reader study can fill: Mongan, Moy, Kahn: Checklist for Artificial
Intelligence in Medical Imaging (CLAIM). Radiology: Artificial Intelligence 2 (2020) e200029.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from semblance.core.csv_cells import csv_text
from semblance.core.language import tr_lazy
from semblance.core.metrics.score_titles import score_title
from semblance.core.research.reader_study.analysis import LOG_SECONDS, EstimatedValue, StudyAnalysis
from semblance.core.research.reader_study.design import (
    CONFIDENCE_LEVELS,
    METRIC,
    RANDOM,
    ReaderAnswer,
    StudyDesign,
)

_ANSWER_COLUMNS = (
    ("reader", "Code of the reader"),
    ("number", "Place in the reader's order, from 1, over all sessions"),
    ("session", "Session of the reader, from 1; each case once in a session"),
    ("case", "Number of the case in this study, from 1"),
    ("patient", "Number of the patient or of the group of images of one lesion, from 1"),
    ("arm", "What was shown beside the case"),
    ("reference_finding", "Finding of the case in the library: the reference standard"),
    ("answer", "Finding chosen by the reader"),
    ("confidence", f"1 (guess) to {CONFIDENCE_LEVELS} (certain)"),
    ("correct", "yes if the answer is the reference finding"),
    ("seconds", "Time the case was shown, pauses left out [s]"),
    ("time", "When the answer was given, ISO 8601, UTC"),
)


def study_score_title(score: str, positive: str) -> str:
    """A score of :func:`result_rows` in words; ``positive``: the finding that the ROC is of."""
    return {
        "accuracy": tr_lazy("Accuracy"),
        "sensitivity": tr_lazy("Sensitivity"),
        "specificity": tr_lazy("Specificity"),
        "auc": score_title(f"auc:{positive}"),
        LOG_SECONDS: tr_lazy("Time per case, geometric mean [s]"),
        "agreement": tr_lazy("Agreement of the readers, Fleiss' kappa"),
    }[score]


def study_files(
    name: str,
    created: str,
    design: StudyDesign,
    answers: Sequence[ReaderAnswer],
    analysis: StudyAnalysis | None,
) -> dict[str, str]:
    """File name -> text. Without ``analysis`` (no reader has finished) there are no results."""
    files = {
        "answers.csv": _answers_csv(design, answers),
        "codebook.csv": csv_text(("column", "meaning"), _ANSWER_COLUMNS),
        "summary.md": _summary(name, created, design, answers, analysis),
    }
    if analysis is not None:
        files["results.csv"] = csv_text(
            ("score", "compared", "mean", "low", "high", "p_value"), result_rows(design, analysis)
        )
        files["readers.csv"] = csv_text(("score", "arm", "reader", "value"), _reader_rows(design, analysis))
    return files


def _answers_csv(design: StudyDesign, answers: Sequence[ReaderAnswer]) -> str:
    number_of_case = {case.case_id: place for place, case in enumerate(design.cases, start=1)}
    number_of_unit: dict[int, int] = {}
    for case in design.cases:
        number_of_unit.setdefault(case.unit, len(number_of_unit) + 1)
    readings = {reader: design.readings(reader) for reader in design.readers}
    rows = []
    for answer in sorted(answers, key=lambda one: (design.readers.index(one.reader), one.number)):
        reading = readings[answer.reader][answer.number]
        case = reading.case
        rows.append(
            (
                answer.reader,
                answer.number + 1,
                reading.session + 1,
                number_of_case[case.case_id],
                number_of_unit[case.unit],
                reading.arm.name,
                case.finding,
                answer.finding,
                answer.confidence,
                answer.finding == case.finding,
                answer.seconds,
                answer.time,
            )
        )
    return csv_text([column for column, _ in _ANSWER_COLUMNS], rows)


def result_rows(design: StudyDesign, analysis: StudyAnalysis) -> list[tuple[object, ...]]:
    """(score, arm or pair of arms, mean, low, high, p) of every arm and every pair of arms.

    Times are geometric means in seconds, and their differences are ratios.
    """
    names = [arm.name for arm in design.arms]
    rows: list[tuple[object, ...]] = []
    for score, found in analysis.scores.items():
        for name, value in zip(names, found.arms, strict=True):
            rows.append((score, name, *_numbers(score, value), None))
        for (one, other), value in found.differences.items():
            sign = "/" if score == LOG_SECONDS else "-"
            rows.append(
                (score, f"{names[other]} {sign} {names[one]}", *_numbers(score, value), value.p_value)
            )
    for name, value in zip(names, analysis.agreement or (), strict=False):
        rows.append(("agreement", name, value.mean, value.low, value.high, None))
    return rows


def _numbers(score: str, value: EstimatedValue) -> tuple[float, float, float]:
    numbers = value.mean, value.low, value.high
    return tuple(math.exp(one) for one in numbers) if score == LOG_SECONDS else numbers  # type: ignore[return-value]


def _reader_rows(design: StudyDesign, analysis: StudyAnalysis) -> list[tuple[object, ...]]:
    return [
        (score, arm.name, reader, math.exp(value) if score == LOG_SECONDS else value)
        for score, found in analysis.scores.items()
        for arm, values in zip(design.arms, found.values.tolist(), strict=True)
        for reader, value in zip(analysis.readers, values, strict=True)
    ]


def _summary(
    name: str,
    created: str,
    design: StudyDesign,
    answers: Sequence[ReaderAnswer],
    analysis: StudyAnalysis | None,
) -> str:
    counts = ", ".join(f"{n} {finding}" for finding, n in Counter(c.finding for c in design.cases).items())
    units = len({case.unit for case in design.cases})
    arms = "\n".join(f"- {arm.name}: {_arm_text(arm.kind, arm.metric)}" for arm in design.arms)
    lines = [
        f"# Reader study: {name}",
        "",
        "## Methods",
        "",
        f"**Design.** Fully crossed: {len(design.readers)} readers read {len(design.cases)} cases in each of "
        f"{len(design.arms)} arms. Each reader had {len(design.arms)} sessions with {design.washout_days} days or more "
        "between them, and read each case once in a session. The arm of a case was assigned by a Latin square over "
        "blocks of cases, sessions and readers; the order in a session was random "
        f"(seed {design.seed}). Created {created}.",
        "",
        "**Arms.**",
        "",
        arms,
        "",
        f"**Cases.** {counts}; {units} patients or groups of images of one lesion. No metric of the study was trained "
        "on them or on other cases of their patients. The similar cases shown were never cases of the study.",
        "",
        "**Reference standard.** The findings stored in the library.",
        "",
        "**Blinding.** Readers saw neither the arm, the patient nor the finding of a case.",
        "",
        f"**Readers.** {len(design.readers)}, named by code. The authors state their experience.",
        "",
        f"**Answers.** One of {', '.join(design.findings)}, and a confidence of 1 to {CONFIDENCE_LEVELS}. Sensitivity, "
        f"specificity and the ROC are of {design.positive} against the rest. Pauses do not count as reading time.",
        "",
        "**Statistics.** Obuchowski and Rockette (1995) with the degrees of freedom of Hillis (2007); covariances "
        "by the jackknife over patients. Both readers and cases are random. Intervals are at 95 %. P values are not "
        "corrected for the number of comparisons.",
        "",
        "## Results",
        "",
    ]
    if analysis is None:
        lines += [f"{len(answers)} answers so far. No reader has finished all sessions.", ""]
        return "\n".join(lines)
    left_out = [reader for reader in design.readers if reader not in analysis.readers]
    lines.append(f"{len(analysis.readers)} readers finished all sessions.")
    if left_out:
        lines.append(f"Not counted, because they have not finished: {', '.join(left_out)}.")
    if len(analysis.readers) == 1:
        lines.append(
            "With one reader the intervals are over cases alone and say nothing about other readers."
        )
    lines += ["", "| score | compared | mean (95 % interval) | p |", "| --- | --- | --- | --- |"]
    for score, compared, mean, low, high, p_value in result_rows(design, analysis):
        p_text = "" if p_value is None else "<0.001" if float(str(p_value)) < 0.001 else f"{p_value:.3f}"
        digits = 1 if score == LOG_SECONDS and "/" not in str(compared) else 3
        title = study_score_title(str(score), design.positive)
        value = f"{mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"
        lines.append(f"| {title} | {compared} | {value} | {p_text} |")
    lines += [
        "",
        "## Limitations",
        "",
        "To be stated by the authors, at least: how the cases were selected, how their mix of findings differs from "
        "practice, and how the findings of the library were verified.",
        "",
    ]
    return "\n".join(lines)


def _arm_text(kind: str, metric: str) -> str:
    if kind == METRIC:
        return f"the similar cases by the metric {metric} with their findings"
    if kind == RANDOM:
        return "cases drawn at random with their findings, as a control"
    return "the case alone"
