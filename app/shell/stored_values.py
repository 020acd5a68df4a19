"""The values of a settings file: read once, and written in the background."""

from __future__ import annotations

import atexit
from typing import Any
from weakref import WeakValueDictionary

from PySide6.QtCore import QCoreApplication, QObject, QSettings, QThread, Slot

from semblance.app.shell.jobs import delete_in_thread


class StoredValues(QObject):
    """The values of one settings file, for all who have it open in the window's thread.

    QSettings writes in the thread it belongs to and waits until the disk has it, half a second on a busy one:
    the window stood still. Each writing is done in a thread of its own.
    """

    def __init__(self, store: QSettings) -> None:
        super().__init__()
        self._file, self._format = store.fileName(), store.format()
        self._values: dict[str, Any] = _read(store)
        self._unwritten: dict[str, Any] = {}
        self._thread: QThread | None = None

    def get(self, key: str, default: Any = None) -> Any:
        return self._values.get(key, default)

    def put(self, key: str, value: Any) -> None:
        self._values[key] = self._unwritten[key] = value
        if self._thread is None:
            self._begin()

    def wait(self) -> None:
        """Until all is written."""
        while self._thread is not None:
            self._thread.wait()
            self._ended()

    def _begin(self) -> None:
        store = QSettings(self._file, self._format)
        for key, value in self._unwritten.items():
            store.setValue(key, value)
        self._unwritten = {}
        if QCoreApplication.instance() is None:
            # Threads have nothing to do then, and no window waits.
            store.sync()
            return
        _writing.add(self)
        self._thread = delete_in_thread(store, self._ended)

    @Slot()
    def _ended(self) -> None:
        if self._thread is None or not self._thread.isFinished():
            return
        self._thread = None
        # Another window, a program of its own, may have written meanwhile.
        there = _read(QSettings(self._file, self._format))
        self._values |= {key: value for key, value in there.items() if key not in self._unwritten}
        if self._unwritten:
            self._begin()
        else:
            _writing.discard(self)


def stored_values(store: QSettings) -> StoredValues:
    """Those of the file of ``store``, the same for all who ask while anybody has them."""
    name = store.fileName()
    found = _open.get(name)
    if found is None:
        found = _open[name] = StoredValues(store)
    return found


def _read(store: QSettings) -> dict[str, Any]:
    return {key: store.value(key) for key in store.allKeys()}


_open: WeakValueDictionary[str, StoredValues] = WeakValueDictionary()
#: A thread must not go before it is done.
_writing: set[StoredValues] = set()
#: A program that ends does not wait longer for a disk.
_LONGEST_MS = 5000


@atexit.register
def _finish() -> None:
    for kept in list(_writing):
        if kept._thread is not None:
            kept._thread.wait(_LONGEST_MS)
