"""Run one benchmark in this process and write its result: ``child NAME DATA ANSWER``."""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from dataclasses import asdict
from pathlib import Path

from tests.benchmarks.harness import Row, SkippedBenchmark


def main(name: str, data: str, answer: str) -> None:
    try:
        module = importlib.import_module(f"tests.benchmarks.bench_{name}")
        rows = [Row(benchmark=name, **row) for row in module.run(Path(data) if data else None)]
        # Measurements are often numpy scalars.
        text = json.dumps({"rows": [asdict(row) for row in rows]}, default=lambda value: value.item())
    except SkippedBenchmark as skipped:
        text = json.dumps({"skipped": str(skipped)})
    except Exception as failure:  # noqa: BLE001 - reported as failed, the others go on
        traceback.print_exc()
        text = json.dumps({"failed": f"{type(failure).__name__}: {failure}"})
    Path(answer).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
