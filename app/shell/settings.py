"""The settings that the program remembers between starts, read once and written in the background."""

from __future__ import annotations

import atexit
import contextlib
import math
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from PySide6.QtCore import QByteArray, QCoreApplication, QObject, QSettings, QThread, Slot

from semblance.app.shell.jobs import delete_in_thread
from semblance.core.errors import SemblanceError
from semblance.core.files import create_folder, make_private
from semblance.core.language import ENGLISH, LANGUAGES
from semblance.core.library.location import DEFAULT_COPY_BYTES, LibraryLocation, library_location
from semblance.core.searches.search import NO_MATCH_RATE

#: Keys of the folders that a file was read from and written to last.
READ_FOLDER, WRITE_FOLDER = "last_folder", "last_target_folder"
#: Key of the user's name; empty for the name of the system account.
AUTHOR = "author"
_LAST_QUERIES, _RECENT_FACTS = "last_queries", "recent_facts"
#: Keys of the page size, the clinic and the logo of reports.
REPORT_PAGE, REPORT_CLINIC, REPORT_LOGO = "report_page", "report_clinic", "report_logo"
#: Libraries listed on the start page.
MAX_RECENT = 8
#: Numbers of similar cases to list, and that at the first start.
SIMILAR_CASES = (10, 20, 50, 100, 200, 500)
DEFAULT_SIMILAR_CASES = 200
#: Text sizes to choose from; 1 is the size at the first start.
TEXT_SCALES = (0.8, 0.9, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0)


@dataclass(frozen=True)
class RecentLibrary:
    """A library that was opened: its number of ``cases`` and their ``kind`` as they were shown, and the day it was
    ``opened`` (ISO 8601); each "" where it is not known."""

    location: LibraryLocation
    cases: str
    kind: str
    opened: str


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


class Settings:
    """Values in the user's settings file, each with its default."""

    def __init__(self, store: QSettings | None = None) -> None:
        self._values = shared_values(
            store
            or QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, "Semblance", "Semblance")
        )

    @property
    def theme(self) -> str:
        return "light" if self._values.get("theme", "dark") == "light" else "dark"

    @theme.setter
    def theme(self, name: str) -> None:
        self._values.put("theme", name)

    @property
    def language(self) -> str:
        """The code of the language, used from the next start on."""
        code = self.text("language", ENGLISH)
        return code if code in LANGUAGES else ENGLISH

    @language.setter
    def language(self, code: str) -> None:
        self.set_text("language", code)

    @property
    def text_scale(self) -> float:
        try:
            return min(2.0, max(0.8, float(str(self._values.get("text_scale", 1.0)))))
        except ValueError:
            return 1.0

    @text_scale.setter
    def text_scale(self, scale: float) -> None:
        self._values.put("text_scale", scale)

    @property
    def recent(self) -> list[LibraryLocation]:
        """Recently opened libraries, the last one first: those on servers, and folders that still exist."""
        return [one for one in self._all_recent() if not isinstance(one, Path) or one.exists()]

    @property
    def recent_facts(self) -> list[RecentLibrary]:
        """What is known of the recently opened libraries, also of those that no longer exist."""
        facts = {texts[0]: texts[1:] for texts in self._rows(_RECENT_FACTS, 4)}
        return [RecentLibrary(one, *facts.get(str(one), ("", "", ""))) for one in self._all_recent()]

    def _all_recent(self) -> list[LibraryLocation]:
        value: Any = self._values.get("recent", [])
        texts = [value] if isinstance(value, str) else list(value or [])
        return [_stored_library(text) for text in texts]

    def _rows(self, key: str, length: int) -> list[tuple[str, ...]]:
        """Rows of ``length`` texts, which are stored one after another."""
        value: Any = self._values.get(key, [])
        texts = [str(text) for text in value] if isinstance(value, list) else []
        return list(zip(*(texts[at::length] for at in range(length)), strict=False))

    def add_recent(self, library: LibraryLocation, cases: str = "", kind: str = "") -> None:
        """Put ``library`` first in :attr:`recent`, if libraries are remembered; ``cases`` and ``kind``: what it has."""
        if not self.remembers_libraries:
            return
        others = [path for path in self._all_recent() if path != library]
        self._values.put("recent", [str(path) for path in [library, *others][:MAX_RECENT]])
        facts = [row for row in self._rows(_RECENT_FACTS, 4) if row[0] != str(library)]
        rows = [(str(library), cases, kind, date.today().isoformat()), *facts][:MAX_RECENT]
        self._values.put(_RECENT_FACTS, [text for row in rows for text in row])

    def forget_recent(self, library: LibraryLocation) -> None:
        """Remove ``library`` from :attr:`recent`; the library itself stays."""
        self._values.put("recent", [str(path) for path in self._all_recent() if path != library])
        for key, length in ((_RECENT_FACTS, 4), (_LAST_QUERIES, 2)):
            rows = [row for row in self._rows(key, length) if row[0] != str(library)]
            self._values.put(key, [text for row in rows for text in row])

    @property
    def last_library(self) -> LibraryLocation | None:
        """The library that was open when the program ended."""
        text = str(self._values.get("last_library", "") or "")
        return _stored_library(text) if text else None

    @last_library.setter
    def last_library(self, library: LibraryLocation | None) -> None:
        remembered = library if self.remembers_libraries else None
        self._values.put("last_library", "" if remembered is None else str(remembered))

    @property
    def remembers_libraries(self) -> bool:
        """Whether :attr:`recent` and :attr:`last_library` are stored. Their names may say something of patients."""
        return self.flag("remember_libraries", default=True)

    @remembers_libraries.setter
    def remembers_libraries(self, remember: bool) -> None:
        self.set_flag("remember_libraries", remember)

    def last_query(self, library: LibraryLocation) -> str:
        """What :meth:`remember_query` stored for ``library``; "" for nothing."""
        return next((what for place, what in self._rows(_LAST_QUERIES, 2) if place == str(library)), "")

    def remember_query(self, library: LibraryLocation, what: str) -> None:
        """Store the last query of a library in which nothing can be saved, the number of a case or a file, if
        libraries are remembered."""
        if self.remembers_libraries and what:
            others = [row for row in self._rows(_LAST_QUERIES, 2) if row[0] != str(library)]
            rows = [(str(library), what), *others][:MAX_RECENT]
            self._values.put(_LAST_QUERIES, [text for row in rows for text in row])

    def forget_libraries(self) -> None:
        """Forget which libraries and folders were opened, and what was searched with."""
        for key in ("recent", _RECENT_FACTS, _LAST_QUERIES):
            self._values.put(key, [])
        for key in ("last_library", READ_FOLDER, WRITE_FOLDER):
            self.set_text(key, "")

    def remember_folder(self, key: str, folder: str) -> None:
        """Store ``folder`` as that of :data:`READ_FOLDER` or :data:`WRITE_FOLDER`, if libraries are remembered."""
        if self.remembers_libraries:
            self.set_text(key, folder)

    @property
    def blacks_out_text(self) -> bool:
        """Whether text burnt into images is blacked out where they leave Semblance."""
        return self.flag("blacks_out_text", default=False)

    @blacks_out_text.setter
    def blacks_out_text(self, hide: bool) -> None:
        self.set_flag("blacks_out_text", hide)

    @property
    def similar_cases(self) -> int:
        """The number of similar cases that a search lists."""
        stored = self.number("similar_cases")
        if stored is None:
            return DEFAULT_SIMILAR_CASES
        return int(min(SIMILAR_CASES[-1], max(SIMILAR_CASES[0], stored)))

    @similar_cases.setter
    def similar_cases(self, number: int) -> None:
        self.set_text("similar_cases", str(number))

    @property
    def search_options(self) -> dict[str, Any]:
        """The options of a search at the start: fields of :class:`semblance.core.searches.search.Search`."""
        rate = self.number("no_match_rate")
        return {
            "hide_same_patient": self.flag("hide_same_patient", default=True),
            "group_duplicates": self.flag("group_duplicates", default=True),
            "no_match_rate": NO_MATCH_RATE if rate is None else min(1.0, max(0.0, rate)),
        }

    @search_options.setter
    def search_options(self, options: dict[str, Any]) -> None:
        for key, value in options.items():
            self._values.put(key, value)

    @property
    def copy_bytes(self) -> int:
        """Bytes that the copies of libraries on servers may take on this computer; 0: none is made."""
        stored = self.number("copy_gb")
        return DEFAULT_COPY_BYTES if stored is None else round(max(0.0, stored) * 2**30)

    @copy_bytes.setter
    def copy_bytes(self, size: int) -> None:
        self.set_text("copy_gb", f"{size / 2**30:g}")

    def number(self, key: str) -> float | None:
        """A number; ``None`` if there is none."""
        try:
            found = float(self.text(key))
        except ValueError:
            return None
        return found if math.isfinite(found) else None

    def bytes(self, key: str) -> QByteArray | None:
        """A window's geometry or layout as Qt saved it."""
        value = self._values.get(key)
        return value if isinstance(value, QByteArray) and not value.isEmpty() else None

    def set_bytes(self, key: str, value: QByteArray) -> None:
        self._values.put(key, value)

    def text(self, key: str, default: str = "") -> str:
        return str(self._values.get(key, default))

    def set_text(self, key: str, value: str) -> None:
        self._values.put(key, value)

    def flag(self, key: str, *, default: bool) -> bool:
        return str(self._values.get(key, default)).lower() == "true"

    def set_flag(self, key: str, value: bool) -> None:
        self._values.put(key, value)

    def save(self) -> None:
        """Wait until everything is written to disk."""
        self._values.wait()


def _stored_library(text: str) -> LibraryLocation:
    """The folder or the address of a server that was stored."""
    try:
        return library_location(text)
    except SemblanceError:
        # Written by hand or by another version: a path that does not exist.
        return Path(text)
