"""``python -m tests.mutations``: make the faults of ``mutations.tsv`` one by one and see if a test fails.

Each fault is made in a copy of the project, where the tests of the module's own test file run. What comes after
``--`` is passed to pytest: ``python -m tests.mutations -- -m "not slow"`` asks whether the fast tests alone find
it. ``--choose 100`` writes a new list. Exit status 1 if a fault was not found.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

TOP = Path(__file__).resolve().parent.parent
LIST = Path(__file__).with_suffix(".tsv")
#: A fault may be a loop that never ends.
PATIENCE_S = 600
#: Time stamps of the changed files: Python knows compiled files by the whole second and the length.
FIRST_STAMP = 1_000_000_000
OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: (" is ", " is not "), ast.IsNot: (" is not ", " is "),
    ast.In: (" in ", " not in "), ast.NotIn: (" not in ", " in "), ast.And: (" and ", " or "),
    ast.Or: (" or ", " and "), ast.Add: (" + ", " - "), ast.Sub: (" - ", " + "), ast.Mult: (" * ", " / "),
    ast.Div: (" / ", " * "),
}  # fmt: skip


class Fault(NamedTuple):
    """A line of a module and what stands there instead, both without indentation."""

    module: str
    line: int
    before: str
    after: str

    def tests(self) -> str:
        """The module's own test file."""
        return str(Path("tests", "unit", self.module).with_name(f"test_{Path(self.module).name}"))

    def places(self, top: Path) -> list[int]:
        """Numbers of the lines that it may be made in: the module may have changed since it was chosen."""
        path = top / self.module
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return [number for number, line in enumerate(lines) if line.strip() == self.before]

    def make(self, top: Path, stamp: int) -> str:
        """Write it into the module below ``top``. Returns the text that stood there."""
        path = top / self.module
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines(keepends=True)
        place = min(self.places(top), key=lambda number: abs(number + 1 - self.line))
        lines[place] = lines[place].replace(self.before, self.after)
        write(path, "".join(lines), stamp)
        return text


def write(path: Path, text: str, stamp: int) -> None:
    path.write_text(text, encoding="utf-8")
    os.utime(path, (stamp, stamp))


def faults_of(module: Path) -> Iterator[Fault]:
    """All faults that can be made in a module within one line."""
    lines = module.read_text(encoding="utf-8").splitlines()
    name = module.relative_to(TOP).as_posix()
    tree = ast.parse("\n".join(lines))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    nodes = {node for function in functions for part in function.body for node in ast.walk(part)}
    # Python 3.11 does not know the places within an f-string.
    texts = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    for node in nodes - texts:
        number = getattr(node, "lineno", 0)
        if not number or node.end_lineno != number or not lines[number - 1].isascii():  # type: ignore[attr-defined]
            continue
        before = lines[number - 1]
        first, last = node.col_offset, node.end_col_offset  # type: ignore[attr-defined]
        for changed in changes(node, before[first:last]):
            yield Fault(name, number, before.strip(), (before[:first] + changed + before[last:]).strip())


def changes(node: ast.AST, text: str) -> Iterator[str]:
    """What may stand for ``node`` instead of its ``text``."""
    operators: Sequence[ast.AST] = ()
    if isinstance(node, ast.Compare):
        operators = node.ops
    elif isinstance(node, ast.BoolOp | ast.BinOp):
        operators = (node.op,)
    for operator in operators:
        old, new = OPERATORS.get(type(operator), ("", ""))
        if old and text.count(old) == 1:
            yield text.replace(old, new)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield str(not node.value)
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield f"({text} + 1)"
    if isinstance(node, ast.Return) and node.value is not None and text != "return None":
        yield "return None"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "pass"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield text.removeprefix("not ")


def choose(count: int, seed: int) -> list[Fault]:
    """One fault in each of ``count`` modules that have a test file of their own."""
    modules = [path for folder in ("app", "core") for path in sorted((TOP / folder).rglob("*.py"))]
    rng = random.Random(seed)
    rng.shuffle(modules)
    chosen = []
    for module in modules:
        faults = sorted(set(faults_of(module)))
        if faults and (TOP / faults[0].tests()).is_file():
            chosen.append(rng.choice(faults))
        if len(chosen) == count:
            break
    return sorted(chosen)


def read_list() -> list[Fault]:
    rows = [line.split("\t") for line in LIST.read_text(encoding="utf-8").splitlines()]
    return [Fault(module, int(line), before, after) for module, line, before, after in rows]


@contextlib.contextmanager
def copy_of_project() -> Iterator[Path]:
    """A copy whose tests import the copied modules."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=True,
    )
    with tempfile.TemporaryDirectory(prefix="semblance mutations ") as folder:
        top = Path(folder)
        for name in filter(None, listed.stdout.split("\0")):
            if (TOP / name).is_file():
                (top / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(TOP / name, top / name)
        (top / "semblance").mkdir()
        for name in ("app", "core", "resources"):
            (top / "semblance" / name).symlink_to(top / name)
        yield top


def run_tests(top: Path, *arguments: str) -> tuple[int, str]:
    """The exit status of pytest and what it printed."""
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-r", "f", *arguments],
        cwd=top,
        env=os.environ | {"PYTHONPATH": str(top)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, _ = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
    return process.returncode, out


def reason(output: str) -> str:
    """The first test that failed."""
    failed = [line.split(" ")[1] for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return failed[0] if failed else "the run ended"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__)
    parser.add_argument("--choose", type=int, metavar="COUNT", help="write a new list of so many faults")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="faults of the modules whose path has this text"
    )
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    options, for_pytest = parser.parse_args(arguments[:split]), arguments[split + 1 :]
    if options.choose:
        rows = ["\t".join(map(str, fault)) for fault in choose(options.choose, options.seed)]
        LIST.write_text("\n".join(rows) + "\n", encoding="utf-8")
        return
    faults = []
    for fault in read_list():
        if not fault.places(TOP):
            print(f"{fault.module} has no line any more: {fault.before}")
        elif options.only in fault.module:
            faults.append(fault)
    sys.exit(1 if try_all(faults, options.workers, for_pytest) else 0)


def try_all(faults: Sequence[Fault], workers: int, for_pytest: Sequence[str]) -> int:
    """Make each fault, and print and count those that no test found."""
    with contextlib.ExitStack() as copies:
        free: Queue[Path] = Queue()
        for _ in range(workers):
            free.put(copies.enter_context(copy_of_project()))

        def is_found(number: int) -> bool:
            fault, top = faults[number], free.get()
            try:
                text = fault.make(top, FIRST_STAMP + 4 * number)
                status, output = run_tests(top, "-x", "-n", "0", fault.tests(), *for_pytest)
                write(top / fault.module, text, FIRST_STAMP + 4 * number + 2)
            finally:
                free.put(top)
            # 5: the selection holds no test of this module.
            found = status not in (0, 5)
            what = f"found by {reason(output)}" if found else "NOT FOUND"
            print(f"{fault.module}:{fault.line}: {fault.before}  ->  {fault.after}\n    {what}", flush=True)
            return found

        top = free.get()
        status, output = run_tests(
            top, "-n", str(workers), *sorted({fault.tests() for fault in faults}), *for_pytest
        )
        free.put(top)
        if status not in (0, 5):
            sys.exit(f"{output}\nThese tests fail without a fault.")
        with ThreadPoolExecutor(workers) as pool:
            missed = len(faults) - sum(pool.map(is_found, range(len(faults))))
    print(f"{len(faults)} faults, {len(faults) - missed} found")
    return missed


if __name__ == "__main__":
    main()
