"""Run the benchmarks and print one table: ``python -m tests.benchmarks [--only NAME] [--json FILE]``.

Every module ``bench_NAME.py`` here has ``run(data) -> list[dict]``, where ``data`` is the folder of the
real data or ``None``. A row has "what", "value", "unit", "target" (a number, or ``None`` where there is none)
and "reached" (``True``, ``False``, or ``None`` without a target). ``harness.require_data(data)`` skips a
benchmark that needs real data. Each runs in its own process, so that memory, loaded modules and crashes do not
affect the others.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from semblance.core.engine import limit_threads
from tests.benchmarks.harness import Row, table
from tests.helpers import data as real_data

HERE = Path(__file__).resolve().parent


def names() -> list[str]:
    return sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def run_one(name: str, data: Path | None) -> dict[str, Any]:
    """The result of the benchmark: "rows", or "skipped" or "failed" with the reason."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        command = [sys.executable, "-m", "tests.benchmarks.child", name, str(data or ""), str(answer)]
        done = subprocess.run(command, cwd=HERE.parent.parent, check=False)
        if not answer.exists():
            return {"name": name, "failed": f"its process ended with status {done.returncode}"}
        return {"name": name, **json.loads(answer.read_text(encoding="utf-8"))}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks", description="Measure speed and memory."
    )
    parser.add_argument("--only", action="append", choices=names(), metavar="NAME", help=", ".join(names()))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results there too")
    options = parser.parse_args(arguments)
    limit_threads()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

    data = real_data.folder()
    results = []
    for name in options.only or names():
        print(f"{name} ...", file=sys.stderr, flush=True)
        results.append(run_one(name, data))

    rows = [Row(**row) for result in results for row in result.get("rows", [])]
    print(table(rows))
    for kind in ("skipped", "failed"):
        for result in results:
            if kind in result:
                print(f"{result['name']} {kind}: {result[kind]}")
    judged = [row for row in rows if row.reached is not None]
    print(f"{sum(bool(row.reached) for row in judged)} of {len(judged)} targets reached")
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 1 if any("failed" in result for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
