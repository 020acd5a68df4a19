"""Compare every learner with its peers and write the tables of the help page: ``python -m tests.benchmarks.learners``.

``--only speed | speed:TABLE | accuracy | accuracy:PROTOCOL | euclidean | tables`` measures a part anew (may be
repeated); the other results are those stored before. Without it all is measured, the scores in a process
beside the races: these are timed by their own processor time, and need only one core. ``--quick`` shows in
seconds that all of it runs: one small table that comes with scikit-learn, no peers, into ``build`` only.
Needs Linux, which tells memory.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from semblance.core.engine import limit_threads

TOP = Path(__file__).resolve().parents[3]
RESULTS = TOP / "build" / "bench-learners.json"
PARTS = ("speed", "accuracy", "euclidean", "tables")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.learners", description="Compare the learners and write the tables."
    )
    parser.add_argument("--only", action="append", metavar="PART", help=f"{', '.join(PARTS)}; speed:wine")
    parser.add_argument(
        "--quick", action="store_true", help="one small table, no peers, no tables of the program"
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="fits of each variant and table; 5")
    parser.add_argument("--out", type=Path, help="the folder that the tables go to")
    parser.add_argument("--keep", type=Path, help="where the results are stored")
    options = parser.parse_args(arguments)
    only = options.only or list(PARTS)
    unknown = [part for part in only if part.split(":")[0] not in PARTS]
    if unknown:
        parser.error(f"there is no part '{unknown[0]}'; parts: {', '.join(PARTS)}")
    # Before numpy is loaded, which reads it once.
    limit_threads()
    from tests.benchmarks.csv_files import FOLDER, write_tables
    from tests.benchmarks.learners.benchmark_run import (
        BenchmarkRun,
        MissingRequirement,
        full_plan,
        quick_plan,
    )

    out = options.out or (RESULTS.parent / "benchmarks-quick" if options.quick else FOLDER)
    results_file = options.keep or (RESULTS.with_stem("bench-learners-quick") if options.quick else RESULTS)
    try:
        plan = quick_plan() if options.quick else full_plan()
        if options.rounds:
            plan = replace(plan, timing_rounds=options.rounds)
        benchmark_run = BenchmarkRun(plan, _stored_results(results_file))
        with _scores_process(options, results_file) as scores:
            for _ in benchmark_run.run(only if options.only else ["speed"]):
                _write(results_file, json.dumps(benchmark_run.results, indent=1) + "\n")
        benchmark_run.results.update(scores)
        _write(results_file, json.dumps(benchmark_run.results, indent=1) + "\n")
    except MissingRequirement as missing:
        print(missing, file=sys.stderr)
        return 1
    write_tables(out, benchmark_run.csv_tables())
    return 0


@contextmanager
def _scores_process(options: argparse.Namespace, results_file: Path) -> Iterator[dict[str, Any]]:
    """Where all is measured, the scores of a process of their own, there when the block has ended."""
    scores: dict[str, Any] = {}
    if options.only:
        yield scores
        return
    scores_file, tables = results_file.with_suffix(".scores.json"), results_file.with_suffix(".scores")
    scores_file.unlink(missing_ok=True)
    command = [
        sys.executable,
        "-m",
        "tests.benchmarks.learners",
        "--keep",
        str(scores_file),
        "--out",
        str(tables),
    ]
    command += ["--quick"] * options.quick
    parts = ("accuracy", "euclidean")
    process = subprocess.Popen(
        [*command, *(option for part in parts for option in ("--only", part))], cwd=TOP
    )
    try:
        yield scores
        if process.wait() != 0:
            raise SystemExit("The scores could not be measured; the message above says why.")
    finally:
        process.kill()
        process.wait()
    scores.update({part: result for part, result in _stored_results(scores_file).items() if part in parts})
    scores_file.unlink()
    shutil.rmtree(tables)


def _stored_results(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text(encoding="utf-8"))) if file.exists() else {}


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(file.name + ".new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(file)


if __name__ == "__main__":
    sys.exit(main())
