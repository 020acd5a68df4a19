"""The values of a settings file, read once and written in the background."""

from __future__ import annotations

import atexit
import contextlib
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from PySide6.QtCore import QCoreApplication, QObject, QSettings, QThread, Slot

from semblance.app.shell.jobs import delete_in_thread
from semblance.core.files import create_folder, make_private


class StoredValues(QObject):
    """The values of one settings file, shared by all users in the main thread.

    QSettings writes in its own thread and waits for the disk, half a second on a busy one, which would block
    the window. So each writing is done in another thread.
    """

    def __init__(self, store: QSettings) -> None:
        super().__init__()
        self._file, self._format = store.fileName(), store.format()
        # Before Qt makes it with the permissions of the umask. Where nothing can be written, nothing is stored.
        with contextlib.suppress(OSError):
            create_folder(Path(self._file).parent)
        self._values: dict[str, Any] = _read(store)
        self._unwritten: dict[str, Any] = {}
        self._thread: QThread | None = None

    def get(self, key: str, default: Any = None) -> Any:
        return self._values.get(key, default)

    def put(self, key: str, value: Any) -> None:
        self._values[key] = self._unwritten[key] = value
        if self._thread is None:
            self._start_writing()

    def wait(self) -> None:
        """Wait until everything is written."""
        while self._thread is not None:
            self._thread.wait()
            self._writing_ended()

    def make_private(self) -> None:
        """After Qt made the file in the private folder, have it private too."""
        make_private(Path(self._file))

    def _start_writing(self) -> None:
        store = QSettings(self._file, self._format)
        for key, value in self._unwritten.items():
            store.setValue(key, value)
        self._unwritten = {}
        if QCoreApplication.instance() is None:
            # Without an application no window would be blocked.
            store.sync()
            self.make_private()
            return
        _writing.add(self)
        self._thread = delete_in_thread(store, self._writing_ended)

    @Slot()
    def _writing_ended(self) -> None:
        if self._thread is None or not self._thread.isFinished():
            return
        self._thread = None
        self.make_private()
        # Another process of the program may have written meanwhile.
        written = _read(QSettings(self._file, self._format))
        self._values |= {key: value for key, value in written.items() if key not in self._unwritten}
        if self._unwritten:
            self._start_writing()
        else:
            _writing.discard(self)


def shared_values(store: QSettings) -> StoredValues:
    """The values of the file of ``store``, the same object as long as it is in use."""
    name = store.fileName()
    found = _open.get(name)
    if found is None:
        found = _open[name] = StoredValues(store)
    return found


def _read(store: QSettings) -> dict[str, Any]:
    return {key: store.value(key) for key in store.allKeys()}


_open: WeakValueDictionary[str, StoredValues] = WeakValueDictionary()
#: Objects whose thread is still writing must not be deleted.
_writing: set[StoredValues] = set()
#: The longest wait for the disk at the end of the program.
_LONGEST_MS = 5000


@atexit.register
def _finish() -> None:
    for values in list(_writing):
        if values._thread is not None:
            values._thread.wait(_LONGEST_MS)
            values.make_private()
