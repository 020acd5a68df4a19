"""All users on one table: what each arm gained, and what all findings together would give."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from semblance.core.metrics.registry import make_learner
from tests.benchmarks.clicks.arms import ARMS
from tests.benchmarks.clicks.tables import SplitTable, read, split_table

WRONG = (0.0, 0.1, 0.2)
#: Answers that are wrong as often as right tell nothing: what the arm named gains by the cases alone.
NOTHING, ASKED = 0.5, "ask me next"
BATCH = ("bdm", "boostmetric", "ccml", "lda", "lmnn", "metricboost")
#: Batch learners are fitted on the splits of so many users; each takes seconds.
BATCH_USERS = 6


def run_table(
    folder: Path,
    name: str,
    users: int,
    news: Callable[[str], None],
    *,
    arms: Sequence[str] = (),
    kept: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """``start`` (u,), ``arms``: name -> share of wrong answers -> (u, marks), ``batch``: learner -> (b,).

    With ``arms`` only these are renewed and the rest is ``kept``, if it is of the same users.
    """
    data = read(folder, name)
    split_tables = [split_table(*data, seed) for seed in range(users)]
    out: dict[str, Any] = {"arms": {}, "batch": {}, "users": users}
    out["start"] = [one.start() for one in split_tables]
    renewed = {arm: scores for arm, scores in ARMS.items() if not arms or arm in arms}
    if arms and kept and kept["start"] == out["start"]:
        out["batch"], out["arms"] = kept["batch"], dict(kept["arms"])
    else:
        renewed = ARMS
        out["batch"] = {learner: batch(learner, split_tables[:BATCH_USERS]) for learner in BATCH}
    for arm, scores in renewed.items():
        begin = time.monotonic()
        out["arms"][arm] = {
            str(wrong): [scores(one, wrong, seed) for seed, one in enumerate(split_tables)]
            for wrong in (*WRONG, *([NOTHING] if arm == ASKED else []))
        }
        news(f"{name}: {arm} ({time.monotonic() - begin:.0f} s)")
    return out


def batch(learner: str, split_tables: Sequence[SplitTable]) -> list[float]:
    """Held-out accuracy@10 of a learner that is told every finding of the training part."""
    out = []
    for one in split_tables:
        metric = make_learner(learner, random_state=0).fit(one.train.X, one.train.y).metric()
        if metric.distance.embeds:
            out.append(one.test.accuracy(metric.embed(one.test.X)))
        else:
            out.append(one.test.accuracy_at(metric.distances(one.test.X, one.test.X)))
    return out
