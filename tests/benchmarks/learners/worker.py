"""Fits learners in a process of its own. Requests are lines of JSON: ``python worker.py semblance|metric-learn``.

The same file runs in the project's environment and in that of the peers, so that both are timed alike; it
imports neither before a request to fit. A request is one of

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


def make_estimator(library: str, learner: str, parameters: dict[str, Any], y: Any) -> Any:
    """Make the estimator."""
    if library == "semblance":
        from semblance.core.metrics import make_learner

        return make_learner(learner, random_state=0, **parameters)
    if library == "scikit-learn":
        from sklearn.neighbors import NeighborhoodComponentsAnalysis

        return NeighborhoodComponentsAnalysis(random_state=0, **parameters)
    import metric_learn

    estimator_class = getattr(metric_learn, learner)
    if "random_state" in estimator_class.__init__.__code__.co_varnames:
        parameters = {"random_state": 0, **parameters}
    if learner == "RCA_Supervised":
        # Its default, 100 chunks of two, is more than a small table can give.
        import numpy as np

        possible = int((np.unique(y, return_counts=True)[1] // 2).sum())
        parameters = {**parameters, "n_chunks": min(100, possible)}
    return estimator_class(**parameters)


def fit(request: dict[str, Any], X: Any, y: Any) -> tuple[float, Any]:
    """Fit and return the processor seconds and the metric or map."""
    estimator = make_estimator(request["library"], request["learner"], request["parameters"], y)
    gc.collect()
    start = time.process_time()
    estimator.fit(X, y)
    fitted = estimator.metric() if request["library"] == "semblance" else estimator.components_
    return time.process_time() - start, fitted


def save_fitted(fitted: Any, file: Path) -> None:
    import numpy as np

    if isinstance(fitted, np.ndarray):
        np.save(file, fitted)
    else:
        from semblance.core.metrics.storage import save_metric

        save_metric(fitted, file)


def memory_mib(kind: str) -> float:
    """MiB of memory this process holds (``VmRSS``) or held at most (``VmHWM``)."""
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return float(next(line for line in lines if line.startswith(kind)).split()[1]) / 1024.0


def fit_alone(request: dict[str, Any], X: Any, y: Any) -> dict[str, Any]:
    """Fit in a forked process and return the response."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        os.write(write_end, json.dumps(_fit_in_child(request, X, y)).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, encoding="utf-8") as pipe:
        text = pipe.read()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return {"failed": f"> {request['limit']:g} s"}
    return dict(json.loads(text)) if text else {"failed": f"its process ended with status {status}"}


def _fit_in_child(request: dict[str, Any], X: Any, y: Any) -> dict[str, Any]:
    try:
        gc.collect()
        RESET.write_text("5", encoding="ascii")
        end = int(time.process_time() + request["limit"]) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
        memory_before = memory_mib("VmRSS")
        seconds, fitted = fit(request, X, y)
        mib = memory_mib("VmHWM") - memory_before
        if request.get("save"):
            save_fitted(fitted, Path(request["save"]))
    except Exception as problem:  # noqa: BLE001 - reported in the table
        return {"failed": f"{type(problem).__name__}: {problem}"[:500]}
    return {"seconds": seconds, "mib": max(0.0, mib)}


def warm_up(request: dict[str, Any]) -> None:
    """Fit a tiny problem first, so that imports are not timed."""
    import numpy as np

    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 12)
    fit(request, rng.normal(size=(36, 4)) + y[:, None], y)


def handle_request(request: dict[str, Any], X: Any, y: Any) -> dict[str, Any]:
    try:
        if request["alone"]:
            warm_up(request)
            return fit_alone(request, X, y)
        return {"seconds": fit(request, X, y)[0]}
    except Exception as problem:  # noqa: BLE001 - reported in the table
        return {"failed": f"{type(problem).__name__}: {problem}"[:500]}


def main() -> None:
    import numpy as np

    warnings.simplefilter("ignore")
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    X = y = None
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "load":
            with np.load(request["rows"]) as rows:
                X, y = rows["X"], rows["y"]
            response: dict[str, Any] = {}
        else:
            response = handle_request(request, X, y)
        answers.write(json.dumps(response) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
