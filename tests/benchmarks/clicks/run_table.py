"""Measures all arms and batch learners on one table."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from semblance.core.metrics.registry import make_learner
from tests.benchmarks.clicks.arms import ARMS
from tests.benchmarks.clicks.tables import SplitTable, read_click_table, split_table

WRONG = (0.0, 0.1, 0.2)
#: Share of wrong answers that carry no information, and the arm that is also measured with it.
RANDOM_ANSWERS, OUR_ARM = 0.5, "ask me next"
BATCH = ("bdm", "boostmetric", "ccml", "lda", "lmnn", "metricboost")
#: Number of users whose splits the batch learners are fitted on.
BATCH_USERS = 6


def run_table(
    folder: Path,
    name: str,
    users: int,
    report: Callable[[str], None],
    *,
    arms: Sequence[str] = (),
    stored: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """``start`` (u,), ``arms``: name -> share of wrong answers -> (u, marks), ``batch``: learner -> (b,).

    With ``arms`` only these are measured. The rest is taken from ``stored`` if it is of the same users.
    """
    data = read_click_table(folder, name)
    split_tables = [split_table(*data, seed) for seed in range(users)]
    out: dict[str, Any] = {"arms": {}, "batch": {}, "users": users}
    out["start"] = [split.start() for split in split_tables]
    renewed = {arm: scores for arm, scores in ARMS.items() if not arms or arm in arms}
    if arms and stored and stored["start"] == out["start"]:
        out["batch"], out["arms"] = stored["batch"], dict(stored["arms"])
    else:
        renewed = ARMS
        out["batch"] = {learner: batch_accuracy(learner, split_tables[:BATCH_USERS]) for learner in BATCH}
    for arm, scores in renewed.items():
        begin = time.monotonic()
        out["arms"][arm] = {
            str(wrong): [scores(split, wrong, seed) for seed, split in enumerate(split_tables)]
            for wrong in (*WRONG, *([RANDOM_ANSWERS] if arm == OUR_ARM else []))
        }
        report(f"{name}: {arm} ({time.monotonic() - begin:.0f} s)")
    return out


def batch_accuracy(learner: str, split_tables: Sequence[SplitTable]) -> list[float]:
    """Held-out accuracy@10 of a learner trained on all findings of the training part."""
    out = []
    for split in split_tables:
        metric = make_learner(learner, random_state=0).fit(split.train.X, split.train.y).metric()
        if metric.distance.embeds:
            out.append(split.test.accuracy(metric.embed(split.test.X)))
        else:
            out.append(split.test.accuracy_at(metric.distances(split.test.X, split.test.X)))
    return out
