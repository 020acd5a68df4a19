"""Fits learners in a process of its own, asked in lines of JSON: ``python worker.py semblance|metric-learn``.

The same file runs in the project's environment and in that of the peers, so that both are timed alike; it
imports neither before it is asked to fit. A request is one of

- ``{"do": "load", "rows": FILE}``: an ``.npz`` with ``X`` (n, d) and ``y`` (n,)
- ``{"do": "fit", "library", "learner", "parameters", "alone", "limit", "save"}``

and an answer ``{"seconds", "mib"}`` or ``{"failed": TEXT}``. Seconds are of processor time: with one thread
those of the clock on an idle machine, and other work does not stretch them. ``alone``: the fit has a process
of its own, forked from here, ended after ``limit`` such seconds; only then are memory (the peak of the
process above what it held when the fit began) and the result (``save``) there.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def make(library: str, learner: str, parameters: dict[str, Any], y: Any) -> Any:
    """The unfitted estimator."""
    if library == "semblance":
        from semblance.core.metrics import make_learner

        return make_learner(learner, random_state=0, **parameters)
    if library == "scikit-learn":
        from sklearn.neighbors import NeighborhoodComponentsAnalysis

        return NeighborhoodComponentsAnalysis(random_state=0, **parameters)
    import metric_learn

    made = getattr(metric_learn, learner)
    if "random_state" in made.__init__.__code__.co_varnames:
        parameters = {"random_state": 0, **parameters}
    if learner == "RCA_Supervised":
        # Its default, 100 chunks of two, is more than a small table can give.
        import numpy as np

        possible = int((np.unique(y, return_counts=True)[1] // 2).sum())
        parameters = {**parameters, "n_chunks": min(100, possible)}
    return made(**parameters)


def fit(asked: dict[str, Any], X: Any, y: Any) -> tuple[float, Any]:
    """Seconds, and what was fitted."""
    estimator = make(asked["library"], asked["learner"], asked["parameters"], y)
    gc.collect()
    begin = time.process_time()
    estimator.fit(X, y)
    fitted = estimator.metric() if asked["library"] == "semblance" else estimator.components_
    return time.process_time() - begin, fitted


def save(fitted: Any, file: Path) -> None:
    import numpy as np

    if isinstance(fitted, np.ndarray):
        np.save(file, fitted)
    else:
        from semblance.core.metrics.storage import save_metric

        save_metric(fitted, file)


def held(kind: str) -> float:
    """MiB of memory this process holds (``VmRSS``) or held at most (``VmHWM``)."""
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return float(next(line for line in lines if line.startswith(kind)).split()[1]) / 1024.0


def fit_alone(asked: dict[str, Any], X: Any, y: Any) -> dict[str, Any]:
    """The answer of a fit in a forked process."""
    get, give = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(get)
        os.write(give, json.dumps(_in_child(asked, X, y)).encode())
        os._exit(0)
    os.close(give)
    with os.fdopen(get, encoding="utf-8") as told:
        text = told.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return {"failed": f"> {asked['limit']:g} s"}
    return dict(json.loads(text)) if text else {"failed": f"its process ended with status {status}"}


def _in_child(asked: dict[str, Any], X: Any, y: Any) -> dict[str, Any]:
    try:
        gc.collect()
        RESET.write_text("5", encoding="ascii")
        end = int(time.process_time() + asked["limit"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
        before = held("VmRSS")
        seconds, fitted = fit(asked, X, y)
        mib = held("VmHWM") - before
        if asked.get("save"):
            save(fitted, Path(asked["save"]))
    except Exception as problem:  # noqa: BLE001 - told in the table
        return {"failed": f"{type(problem).__name__}: {problem}"[:500]}
    return {"seconds": seconds, "mib": max(0.0, mib)}


def warm(asked: dict[str, Any]) -> None:
    """A fit of next to nothing, so that no import is timed."""
    import numpy as np

    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 12)
    fit(asked, rng.normal(size=(36, 4)) + y[:, None], y)


def answer(asked: dict[str, Any], X: Any, y: Any) -> dict[str, Any]:
    try:
        if asked["alone"]:
            warm(asked)
            return fit_alone(asked, X, y)
        return {"seconds": fit(asked, X, y)[0]}
    except Exception as problem:  # noqa: BLE001 - told in the table
        return {"failed": f"{type(problem).__name__}: {problem}"[:500]}


def main() -> None:
    import numpy as np

    warnings.simplefilter("ignore")
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    X = y = None
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "load":
            with np.load(asked["rows"]) as rows:
                X, y = rows["X"], rows["y"]
            told: dict[str, Any] = {}
        else:
            told = answer(asked, X, y)
        answers.write(json.dumps(told) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
