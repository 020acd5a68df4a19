"""The help page of the benchmark, written from its results as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.intervals import over_repeats, t_quantile
from tests.benchmarks.clicks.arms import ARMS, CLICK_COUNTS
from tests.benchmarks.clicks.development_tables import DIGIT_TABLES, GENERATED, STORED_TABLES
from tests.benchmarks.clicks.run_table import BATCH, BATCH_USERS, OUR_ARM, RANDOM_ANSWERS, WRONG
from tests.benchmarks.clicks.tables import SETTINGS_TABLES

Results = dict[str, Any]
#: Share of the gain of all findings to reach after 20 and 80 clicks, by the share of wrong answers.
GOALS = {0.0: {20: 0.35, 80: 0.65}, 0.2: {20: 0.20, 80: 0.40}}
OURS = OUR_ARM
RIVALS = ("random questions", "smallest margin", "Rocchio")


def gains(table: Results, arm: str, wrong: float) -> npt.NDArray[np.float64]:
    """(u, marks) of each user above where the same user's held-out cases started."""
    scores = np.array(table["arms"][arm][str(wrong)])
    out: npt.NDArray[np.float64] = scores - scores[:, :1]
    return out


def best_batch(table: Results) -> tuple[str, float]:
    """The learner with the highest mean gain over all its users, and that gain."""
    means = {
        learner: float(np.mean(np.array(scores) - np.array(table["start"])[: len(scores)]))
        for learner, scores in table["batch"].items()
    }
    learner = max(means, key=lambda name: means[name])
    return learner, means[learner]


def has_headroom(table: Results) -> bool:
    """Whether findings teach the best batch learner anything: the 95 % interval of its gain is above 0."""
    scores = np.array(table["batch"][best_batch(table)[0]])
    found = over_repeats((scores - np.array(table["start"])[: len(scores)]).tolist())
    half = t_quantile(0.975, len(scores) - 1) * (found.std or 0.0) / len(scores) ** 0.5
    return bool(found.mean - half > 0.0)


def missing_tables(results: Results, names: Sequence[str]) -> list[str]:
    """The tables of which something that stands on the page is not known, or of other users."""
    users = {table["users"] for table in results.values()}
    return [
        name
        for name in names
        if name not in results
        or results[name]["users"] != max(users)
        or any(
            str(wrong) not in results[name]["arms"].get(arm, {})
            for arm in ARMS
            for wrong in (*WRONG, *([RANDOM_ANSWERS] if arm == OURS else []))
        )
    ]


def verdicts(results: Results) -> list[tuple[str, str, bool]]:
    """Each goal, what was measured, and whether it was reached."""
    out = []
    able = {name: table for name, table in results.items() if has_headroom(table)}
    for wrong, marks in GOALS.items():
        for mark, goal in marks.items():
            shares = {
                name: float(gains(table, OURS, wrong)[:, CLICK_COUNTS.index(mark)].mean())
                / best_batch(table)[1]
                for name, table in results.items()
            }
            what = f"share of the gain of all findings after {mark} clicks, {wrong:.0%} wrong: {goal:.0%}"
            mean = float(np.mean([shares[name] for name in able]))
            among = float(np.mean(list(shares.values())))
            each = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
            out.append((what, f"{mean:.0%}; of all tables {among:.0%} ({each})", among >= goal))
    below = []
    for name, table in results.items():
        for wrong in WRONG:
            gain = gains(table, OURS, wrong)[:, 1:]
            error = gain.std(axis=0, ddof=1) / len(gain) ** 0.5
            below += [
                f"{name} after {mark} ({wrong:.0%} wrong)"
                for mark, mean, se in zip(CLICK_COUNTS[1:], gain.mean(axis=0), error, strict=True)
                if mean < -se
            ]
    out.append(
        ("never below the start by more than a standard error", ", ".join(below) or "never below", not below)
    )
    for mark in (20, 80):
        not_ahead = [
            f"{rival} on {name} ({wrong:.0%} wrong)"
            for name, table in results.items()
            for wrong in WRONG
            for rival in RIVALS
            if _at(table, OURS, wrong, mark) <= _at(table, rival, wrong, mark)
        ]
        text = f"not ahead of {', '.join(not_ahead)}" if not_ahead else "everywhere"
        out.append((f"ahead of random, smallest margin and Rocchio at {mark}", text, not not_ahead))
    return out


def _at(table: Results, arm: str, wrong: float, mark: int) -> float:
    return float(gains(table, arm, wrong)[:, CLICK_COUNTS.index(mark)].mean())


def page(results: Results) -> str:
    parts = [_HEAD.format(users=_users(results), dev=" and ".join(SETTINGS_TABLES)), "## Goals", ""]
    parts += ["| goal | measured | |", "| --- | --- | --- |"]
    parts += [
        f"| {goal} | {measured} | {'reached' if reached else '**not reached**'} |"
        for goal, measured, reached in verdicts(results)
    ]
    for name, table in results.items():
        parts += ["", f"## {name}{' (settings selected here)' if name in SETTINGS_TABLES else ''}", ""]
        learner, gain = best_batch(table)
        start = float(np.mean(table["start"]))
        none = (
            "" if has_headroom(table) else " This may be chance, so the table is left out of the means above."
        )
        parts.append(f"Start: {start:.3f}. With all findings {learner} gains {gain:+.3f}.{none}")
        parts += ["", "| clicks by | wrong | " + " | ".join(str(mark) for mark in CLICK_COUNTS[1:]) + " |"]
        parts.append("| --- | --- |" + " ---: |" * len(CLICK_COUNTS[1:]))
        for arm in ARMS:
            for wrong in (*WRONG, *([RANDOM_ANSWERS] if arm == OURS else [])):
                cells = " | ".join(
                    _cell(gains(table, arm, wrong)[:, place]) for place in range(1, len(CLICK_COUNTS))
                )
                parts.append(f"| {arm} | {wrong:.0%} | {cells} |")
        parts += ["", f"{OURS} minus the others, without wrong answers:", ""]
        parts += ["| minus | " + " | ".join(str(mark) for mark in CLICK_COUNTS[1:]) + " |"]
        parts.append("| --- |" + " ---: |" * len(CLICK_COUNTS[1:]))
        ours = gains(table, OURS, 0.0)
        for arm in ARMS:
            if arm != OURS:
                rest = ours - gains(table, arm, 0.0)
                cells = " | ".join(_cell(rest[:, place]) for place in range(1, len(CLICK_COUNTS)))
                parts.append(f"| {arm} | {cells} |")
    return "\n".join(parts) + "\n\n" + _HOW


def _users(results: Results) -> str:
    numbers = sorted({table["users"] for table in results.values()})
    return " or ".join(str(number) for number in numbers)


def _cell(differences: npt.NDArray[np.float64]) -> str:
    """Mean and the half width of its 95 % interval over users."""
    found = over_repeats(differences.tolist())
    if not found.std:
        return f"{found.mean:+.3f}"
    half = t_quantile(0.975, len(differences) - 1) * found.std / len(differences) ** 0.5
    return f"{found.mean:+.3f} ± {half:.3f}"


_HEAD = """# Clicks to learn

This page shows how much a metric learns from the answers of {users} simulated users on each table. Each user has an
own split. Questions are about training cases. The score is the retrieval accuracy @10 among the held-out cases. The
tables show the gain over the start of the same user (the Euclidean metric) with half the width of its 95 % interval
over users. The settings were chosen on {dev} and on other tables, see the end of this page. Means are over the tables
on which all findings together give a gain beyond chance, and over all tables.
"""

_HOW = f"""## How it was measured

- A click is one answer. *Ask me next*, *random questions* and *smallest margin* show a query and two cases. The user
  chooses the first, the second, both or neither. With *feedback in the top 20* the user marks one of the first 20
  cases as similar to the query or not. All four learn from their answers in the same way.
- *Rocchio* moves the query instead: .75 towards the mean of the positive examples and .15 away from the negative
  ones. A held-out query is moved like the nearest judged one.
- Users answer by the findings. A wrong answer reverses both halves of a question.
- With *50%* wrong answers, the answers contain no information. The remaining gain comes from the structure of the
  training cases (mutual neighbours). All methods but Rocchio use it increasingly with each click, half of it after 20
  clicks, if they start from a metric that was not trained.
- No method uses a finding. The batch learners use every finding of the training part. The gain of all findings is that
  of the best of {", ".join(BATCH)} by its held-out mean over the first {BATCH_USERS} users. This favours it over the
  clicks.
- Cases are split, in MIAS patients. The other tables name no patients. LIDC compares ratings up to 2 with ratings
  from 4. Of larger tables 1,400 cases are drawn for each user. The splits of the users share cases, so the intervals
  are slightly too narrow.
- Images: 200 of BUSI (benign, malignant) and 500 of Corel (ten categories) with colour, edges and texture. The 61
  masses of MIAS (benign, malignant) have mass features.
- The settings for several and many findings were also chosen on {", ".join(STORED_TABLES)} and on the generated
  tables {", ".join((*GENERATED, *DIGIT_TABLES))}. The other tables were measured five times in all while settings were
  chosen, so none of them is an entirely unseen test.

## What to expect

- Five clicks rarely give a visible gain. The more answers are wrong, the more clicks are needed.
- With many findings, few cases are similar to a query. Then 80 answers give information about few of the findings.
- Clusters that are unrelated to the findings, such as scanners, mislead the first clicks. On a generated table of ten
  digits beside four columns, of which two make the finding, 10, 20 and 80 right answers gained -.020, +.101 and +.206.
  Without the structure of the training cases they gained +.018, +.156 and +.230 (4 users).
"""
