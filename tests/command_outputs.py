"""``python -m tests.command_outputs FOLDER``: record what every command prints, for changes that must keep it.

Five libraries are made from the real data (``SEMBLANCE_DATA``): generated images, ultrasound images, a table,
mammograms and radiographs. DICOM files are only shown: the ids of their cases come from a key of the library. Every
command that reads, and those that change without a file from outside, runs on each library with ``--json``. Each
answer becomes one file of FOLDER, without what differs between two runs (times, dates, paths, random identifiers,
versions). ``--against OTHER`` lists the differences between FOLDER, recorded before, and OTHER: numbers may differ
by a relative 1e-6. Exit status 1 if there are any.

The JSON reports, cards and exports that commands write are recorded too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

#: What each library is made from, below the folder of the data, and a learner that its findings allow.
LIBRARIES: dict[str, tuple[str | None, list[str]]] = {
    "demo": (None, ["--learner", "bdm_v"]),
    "ultrasound": ("images/busi_masks_a.zip", ["--learner", "bdm"]),
    "table": ("tables/wine.csv", ["--learner", "lmnn"]),
    "mammograms": ("images/mias_a.zip", ["--learner", "euclidean"]),
    "radiographs": ("images/medical_mnist_a.zip", ["--learner", "lda", "--max-cases", "120"]),
}
#: Commands without a library.
GENERAL = {
    "learners": ["learners"], "extractors": ["extractors"], "kinds": ["kinds"], "protocols": ["protocols"],
    "evaluate_table": ["evaluate", "--table", "{data}/tables/iris.csv", "--learner", "euclidean,bdm,metricboost",
                       "--protocol", "bdm", "--repeats", "2"],
    **{f"show_{Path(name).name}": ["show", f"{{data}}/dicom/{name}.dcm", "--at", "3,4"] for name in (
        "series_chest_ct/1-081", "compression/US1_RLE", "compression/RG3_JPLY", "broken/half_file")},
}  # fmt: skip
#: Commands on a library, in their order: later ones see what earlier ones changed.
ON_LIBRARY = {
    "info": ["info", "{lib}"],
    "cases": ["cases", "{lib}"],
    "features": ["features", "{lib}", "--name", "again"],
    "train": ["train", "{lib}", "--name", "trained", "--features", "{features}", "{learner}"],
    "card": ["card", "{lib}", "--metric", "{metric}"],
    "card_file": ["card", "{lib}", "--metric", "{metric}", "--out", "{out}/card.json"],
    "search": ["search", "{lib}", "--metric", "{metric}", "--case", "{case}"],
    "search_marks": ["search", "{lib}", "--case", "{case}", "--like", "{like}", "--unlike", "{unlike}"],
    "search_image": ["search", "{lib}", "--image", "{image}", "-k", "5"],
    "search_region": ["search", "{lib}", "--image", "{image}", "--region", "10,10,40,40", "-k", "5"],
    "report_json": ["report", "{lib}", "--case", "{case}", "--out", "{out}/report.json"],
    "report_csv": ["report", "{lib}", "--case", "{case}", "--out", "{out}/report.csv", "--identified"],
    "report_html": ["report", "{lib}", "--case", "{case}", "--out", "{out}/report.html"],
    "report_held_out": ["report", "{lib}", "--cases", "{case_list}", "--kind", "csv", "--out", "{out}/many"],
    "evaluate": ["evaluate", "{lib}", "--features", "{features}", "--learner", "euclidean,lda", "--protocol", "ccml",
                 "--repeats", "1"],
    "check_data": ["check-data", "{lib}", "--features", "{features}"],
    "lesions": ["lesions", "{lib}"],
    "agreement": ["agreement", "{lib}"],
    "prevalence": ["prevalence", "{lib}"],
    "findings": ["findings", "list", "{lib}"],
    "label": ["label", "{lib}", "--cases", "{like}", "--finding", "other"],
    "info_after_label": ["info", "{lib}"],
    "history": ["history", "{lib}"],
    "undo": ["undo", "{lib}"],
    "redo": ["redo", "{lib}"],
    "metric_rename": ["metric", "rename", "{lib}", "trained", "renamed"],
    "feature_set_duplicate": ["feature-set", "duplicate", "{lib}", "again", "copy"],
    "vault_seal": ["vault", "seal", "{lib}", "--share", "0.2"],
    "vault_status": ["vault", "status", "{lib}"],
    "outcome_list": ["outcome", "list", "{lib}"],
    "reader_study_list": ["reader-study", "list", "{lib}"],
    "audit_log": ["audit-log", "{lib}"],
    "audit_verify": ["audit-log", "{lib}", "--verify"],
    "doctor": ["doctor", "{lib}"],
    "backup": ["backup", "{lib}", "{out}/backup.zip"],
    "restore": ["restore", "{out}/backup.zip", "{out}/restored.semblance"],
    "info_of_restored": ["info", "{out}/restored.semblance"],
}  # fmt: skip
#: Keys whose values differ from run to run.
VOLATILE = re.compile(
    r"seconds|_s$|time|date|created|changed_at|^at$|^when$|hash|digest|version|commit|uuid|^uid$|_uid$|host|user|bytes|size_mb",
    re.IGNORECASE,
)
VOLATILE_TEXT = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "DATE"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "HASH"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UUID"),
    (re.compile(r"\b\d+(\.\d+)? (seconds|s|ms|MB|KB|bytes)\b"), "AMOUNT"),
)


class Recorder:
    """Runs commands of one checkout and writes their answers."""

    def __init__(self, data: Path, work: Path, folder: Path) -> None:
        self._data, self._work, self._folder = data, work, folder

    def run(self, arguments: Sequence[str], *, document: bool = True) -> tuple[int, str, str]:
        """Exit status, standard output and standard error of one command."""
        command = [sys.executable, "-m", "semblance.app", *arguments, *(["--json"] if document else [])]
        environment = {
            **os.environ,
            "XDG_CONFIG_HOME": str(self._work / "config"),
            "QT_QPA_PLATFORM": "offscreen",
        }
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stdout, done.stderr

    def record(self, name: str, arguments: Sequence[str]) -> Any:
        """Run one command and write its answer to ``name``.json. Returns the document, None if there was none."""
        status, out, err = self.run(arguments)
        if status == 2 and "No such option" in err and "--json" in err:
            status, out, err = self.run(arguments, document=False)
        try:
            document = json.loads(out)
        except ValueError:
            document = None
        answer = {"status": status, "document": self._clean(document if document is not None else out)}
        if status:
            answer["message"] = self._clean(err.strip().splitlines()[-1:] or [""])
        (self._folder / f"{name}.json").write_text(
            json.dumps(answer, indent=1, sort_keys=True, ensure_ascii=False)
        )
        return document

    def record_file(self, name: str, path: Path) -> None:
        """Write what a command wrote: JSON as such, other texts by their lines."""
        if not path.is_file():
            return
        text = path.read_text(encoding="utf-8", errors="replace")
        content = (
            json.loads(text)
            if path.suffix == ".json"
            else re.sub(r"base64,[\w+/=]+", "BASE64", text).splitlines()
        )
        (self._folder / f"{name}.json").write_text(
            json.dumps(self._clean(content), indent=1, ensure_ascii=False)
        )

    def library(self, name: str) -> None:
        """Make one library and run all commands on it."""
        source, learner = LIBRARIES[name]
        lib, out = self._work / name / "library.semblance", self._work / name / "out"
        out.mkdir(parents=True)
        if source is None:
            self.record(f"{name}.demo", ["demo", "--headless", "--library", str(lib)])
        else:
            self.record(
                f"{name}.import", ["import", str(self._data / source), "--library", str(lib), "--prepare"]
            )
        info = json.loads(self.run(["info", str(lib)])[1])
        cases = info["case_ids"]
        files = [p for p in (lib / "images").rglob("*") if p.is_file()] if (lib / "images").is_dir() else []
        listed = out / "cases.txt"
        listed.write_text("\n".join(cases[:3]))
        values = {
            "data": str(self._data), "lib": str(lib), "out": str(out), "case": cases[0],
            "like": cases[min(5, len(cases) - 1)], "unlike": cases[-1], "case_list": str(listed),
            "features": _name(info["feature_sets"]), "metric": _name(info["metrics"]),
            "image": str(min(files)) if files else str(self._data / "dicom/series_chest_ct/1-090.dcm"),
        }  # fmt: skip
        for command, words in ON_LIBRARY.items():
            arguments = [a for w in words for a in (learner if w == "{learner}" else [w.format(**values)])]
            self.record(f"{name}.{command}", arguments)
        for path in sorted(out.rglob("*")):
            if path.suffix in {".json", ".csv", ".html", ".md"} and "restored.semblance" not in path.parts:
                self.record_file(f"{name}.file.{'.'.join(path.relative_to(out).parts)}", path)

    def _clean(self, value: Any, key: str = "") -> Any:
        if VOLATILE.search(key):
            return "VOLATILE"
        if isinstance(value, dict):
            return {k: self._clean(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self._clean(v, key) for v in value]
        if isinstance(value, str):
            value = value.replace(str(self._work), "WORK").replace(str(self._data), "DATA")
            for pattern, word in VOLATILE_TEXT:
                value = pattern.sub(word, value)
        return value


def _name(items: list[Any]) -> str:
    """The name of the first of the feature sets or metrics that ``info`` lists, "" without any."""
    if not items:
        return ""
    return str(items[0]["name"]) if isinstance(items[0], dict) else str(items[0])


def record(data: Path, folder: Path, libraries: Sequence[str]) -> None:
    """Record all commands into ``folder``, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        recorder = Recorder(data, Path(place), folder)
        for name, words in GENERAL.items():
            recorder.record(f"general.{name}", [w.format(data=data) for w in words])
        for name in libraries:
            print(name, file=sys.stderr)
            recorder.library(name)


def differences(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Lines that name each place where two documents differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *(k for k in after if k not in before)]:
            if key not in after or key not in before:
                yield f"{where}.{key}: {'taken away' if key not in after else 'new'}"
            else:
                yield from differences(before[key], after[key], f"{where}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from differences(one, other, f"{where}[{number}]")
    elif isinstance(before, float) and isinstance(after, int | float):
        if not math.isclose(before, after, rel_tol=1e-6, abs_tol=1e-9):
            yield f"{where}: {before} -> {after}"
    elif before != after:
        yield f"{where}: {str(before)[:120]!r} -> {str(after)[:120]!r}"


def compare(before: Path, after: Path) -> int:
    """Print the differences between two recordings. Returns 1 if there are any, else 0."""
    names = sorted({p.name for folder in (before, after) for p in folder.glob("*.json")})
    found = 0
    for name in names:
        if not (before / name).is_file() or not (after / name).is_file():
            lines = ["only before" if (before / name).is_file() else "only after"]
        else:
            documents = [json.loads((folder / name).read_text()) for folder in (before, after)]
            lines = list(differences(*documents))
        found += bool(lines)
        print(
            *(f"{name}{line if line[0] in '.[' else ': ' + line}" for line in lines),
            sep="\n",
            end="\n" if lines else "",
        )
    print(f"{len(names)} answers compared, {found} differ.")
    return int(found > 0)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--against", type=Path, help="compare with this recording instead of making one")
    parser.add_argument("--only", default=",".join(LIBRARIES), help="names of libraries, with commas")
    options = parser.parse_args()
    if options.against:
        return compare(options.folder, options.against)
    if "SEMBLANCE_DATA" not in os.environ:
        parser.error("SEMBLANCE_DATA is not set: a folder with the real data")
    record(
        Path(os.environ["SEMBLANCE_DATA"]).resolve(),
        options.folder,
        [n for n in options.only.split(",") if n],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
