"""The values of a settings file: read once, and written while nobody waits for the disk."""

from __future__ import annotations

import threading
from typing import Any
from weakref import WeakValueDictionary

from PySide6.QtCore import QSettings


class KeptValues:
    """The values of one settings file, for all who have it open in this program.

    QSettings writes in the thread it belongs to and waits until the disk has it, half a second on a busy one:
    the window stood still. Here a thread of its own does, for as long as there is something to write.
    """

    def __init__(self, store: QSettings) -> None:
        self._file, self._format = store.fileName(), store.format()
        self._values: dict[str, Any] = {key: store.value(key) for key in store.allKeys()}
        self._unwritten: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._writer: threading.Thread | None = None

    def get(self, key: str, default: Any = None) -> Any:
        with self._lock:
            return self._values.get(key, default)

    def put(self, key: str, value: Any) -> None:
        with self._lock:
            self._values[key] = self._unwritten[key] = value
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, name="settings")
                self._writer.start()

    def wait(self) -> None:
        """Until all is written."""
        while (writer := self._writer) is not None:
            writer.join()

    def _write(self) -> None:
        while True:
            with self._lock:
                if not self._unwritten:
                    self._writer = None
                    return
                values, self._unwritten = self._unwritten, {}
            store = QSettings(self._file, self._format)
            for key, value in values.items():
                store.setValue(key, value)
            store.sync()
            # Another window, a program of its own, may have written meanwhile.
            there = {key: store.value(key) for key in store.allKeys()}
            with self._lock:
                self._values |= {key: value for key, value in there.items() if key not in self._unwritten}


_open: WeakValueDictionary[str, KeptValues] = WeakValueDictionary()


def kept_values(store: QSettings) -> KeptValues:
    """Those of the file of ``store``, the same for all who ask while anybody has them."""
    name = store.fileName()
    found = _open.get(name)
    if found is None:
        found = _open[name] = KeptValues(store)
    return found
