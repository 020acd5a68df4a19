"""Run the benchmark and write the tables of the help page *Benchmarks*: ``python -m tests.benchmarks.clicks``.

Results are stored in ``build/bench-clicks.json``: ``--only TABLE`` renews some of it, ``--arm ARM`` some arms
of each table, where a change reaches no other, ``--tables-only`` nothing. The CSV files are written by a run of all
tables, or by ``--tables-only`` from the stored results of all of them; a part alone never takes their place. The
tables on which settings were chosen can be named too; their results are printed and stored but stand in no CSV
file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from semblance.core.engine import limit_threads


def main(arguments: list[str] | None = None) -> int:
    limit_threads()
    # After the limit: the libraries below load numpy.
    from tests.benchmarks.clicks.arms import ARMS
    from tests.benchmarks.clicks.csv_tables import csv_tables, gains, missing_tables, verdicts
    from tests.benchmarks.clicks.development_tables import DEVELOPMENT_TABLES
    from tests.benchmarks.clicks.run_table import run_table
    from tests.benchmarks.clicks.tables import NAMES
    from tests.benchmarks.csv_files import FOLDER, write_tables
    from tests.helpers import data as real_data

    root = Path(__file__).resolve().parents[3]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.clicks")
    all_tables = (*NAMES, *DEVELOPMENT_TABLES)
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument(
        "--only", action="append", choices=all_tables, metavar="TABLE", help=", ".join(all_tables)
    )
    parser.add_argument("--arm", action="append", choices=ARMS, metavar="ARM", help=", ".join(ARMS))
    parser.add_argument("--results", type=Path, default=root / "build" / "bench-clicks.json")
    parser.add_argument("--out", type=Path, default=FOLDER, help="the folder that the tables go to")
    parser.add_argument("--tables-only", action="store_true", help="write the tables from the stored results")
    options = parser.parse_args(arguments)
    folder = real_data.folder()
    if folder is None:
        print(real_data.REASON, file=sys.stderr)
        return 1
    stored = json.loads(options.results.read_text(encoding="utf-8")) if options.results.exists() else {}
    for name in [] if options.tables_only else options.only or NAMES:
        stored[name] = run_table(
            folder,
            name,
            options.users,
            lambda text: print(text, file=sys.stderr, flush=True),
            arms=options.arm or (),
            stored=stored.get(name),
        )
        options.results.parent.mkdir(exist_ok=True)
        options.results.write_text(json.dumps(stored), encoding="utf-8")
        for arm in options.arm or ARMS:
            mean = gains(stored[name], arm, 0.0).mean(axis=0)
            print(f"{name}, {arm}: {' '.join(f'{gain:+.3f}' for gain in mean[1:])}")
    results = {name: stored[name] for name in NAMES if name in stored}
    incomplete = missing_tables(results, NAMES)
    if options.only or incomplete:
        why = f"of {', '.join(incomplete)} results are missing" if incomplete else "only some tables were run"
        print(
            f"The tables are not written: {why}. Write them with --tables-only when all tables are measured."
        )
        return 1 if options.tables_only else 0
    write_tables(options.out, csv_tables(results))
    for goal, measured, reached in verdicts(results):
        print(f"{'reached' if reached else 'NOT reached':12} {goal}: {measured}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
