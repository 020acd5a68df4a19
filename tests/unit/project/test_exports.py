"""Whatever writes a file for the user also notes it in the library's log of exports."""

from __future__ import annotations

from pathlib import Path

CORE = Path(__file__).resolve().parents[3] / "core"
#: Files that write into the library itself, and one that writes a plug-in's first files, with nothing of a library.
INTERNAL = {"measuring_order.py", "new_plugin.py", "query_features.py"}
WRITES = ("write_file(", "write_report(", "write_backup(")


def silent_writers(folder: Path) -> list[str]:
    """Files of workflows that write for the user and note nothing."""
    found = []
    for file in sorted(folder.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if any(call in text for call in WRITES) and "log_export(" not in text and file.name not in INTERNAL:
            found.append(file.name)
    return found


def test_every_workflow_that_writes_a_file_notes_it():
    assert silent_writers(CORE / "workflows") == []


def test_one_that_does_not_is_found(tmp_path):
    (tmp_path / "leaking.py").write_text("write_file(path, text)\n")
    (tmp_path / "noting.py").write_text("write_file(path, text)\nlog_export(library, 'x', 'csv')\n")
    assert silent_writers(tmp_path) == ["leaking.py"]
