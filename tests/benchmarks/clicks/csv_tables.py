"""The goals of the benchmark, and its tables for the help page *Benchmarks*."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.evaluation.intervals import over_repeats, t_quantile
from tests.benchmarks.clicks.arms import ARMS, CLICK_COUNTS
from tests.benchmarks.clicks.run_table import OUR_ARM, RANDOM_ANSWERS, WRONG
from tests.benchmarks.clicks.tables import SETTINGS_TABLES
from tests.benchmarks.csv_files import Table

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
    """The tables of which something that the tables need is not known, or of other users."""
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


def csv_tables(results: Results) -> dict[str, Table]:
    """The tables of the help page *Benchmarks* about clicks, by the name of their file."""
    goals = [[goal, measured, "yes" if reached else "no"] for goal, measured, reached in verdicts(results)]
    return {
        "clicks_goals": (("goal", "measured", "reached"), goals),
        "clicks_tables": (_TABLES_HEAD, [_table_row(name, table) for name, table in results.items()]),
        "clicks": (
            _CLICKS_HEAD,
            [row for name, table in results.items() for row in _click_rows(name, table)],
        ),
    }


_TABLES_HEAD = (
    "table",
    "settings chosen here",
    "start",
    "best learner",
    "gain of all findings",
    "beyond chance",
    "gain after 20 answers",
    "gain after 80 answers",
)
_CLICKS_HEAD = ("table", "clicks by", "wrong answers", "clicks", "gain", "half width of the 95 % interval")


def _table_row(name: str, table: Results) -> list[str]:
    learner, gain = best_batch(table)
    return [
        name,
        "yes" if name in SETTINGS_TABLES else "no",
        f"{float(np.mean(table['start'])):.3f}",
        learner,
        f"{gain:.3f}",
        "yes" if has_headroom(table) else "no",
        *(f"{_at(table, OURS, 0.0, mark):.3f}" for mark in (20, 80)),
    ]


def _click_rows(name: str, table: Results) -> list[list[str]]:
    rows = []
    for arm in ARMS:
        for wrong in (*WRONG, *([RANDOM_ANSWERS] if arm == OURS else [])):
            gained = gains(table, arm, wrong)
            for place, clicks in enumerate(CLICK_COUNTS[1:], start=1):
                rows.append([name, arm, f"{wrong:.0%}", str(clicks), *_cells(gained[:, place])])
    ours = gains(table, OURS, 0.0)
    for arm in ARMS:
        if arm != OURS:
            rest = ours - gains(table, arm, 0.0)
            for place, clicks in enumerate(CLICK_COUNTS[1:], start=1):
                rows.append([name, f"{OURS} minus {arm}", "0%", str(clicks), *_cells(rest[:, place])])
    return rows


def _cells(differences: npt.NDArray[np.float64]) -> tuple[str, str]:
    """Mean and the half width of its 95 % interval over users."""
    found = over_repeats(differences.tolist())
    if not found.std:
        return f"{found.mean:.3f}", ""
    half = t_quantile(0.975, len(differences) - 1) * found.std / len(differences) ** 0.5
    return f"{found.mean:.3f}", f"{half:.3f}"
