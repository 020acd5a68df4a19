"""The log of the program: what ran, how long it took and what failed, in a file that holds no patient data.

A record is a constant sentence of the program with values in it. Numbers are written as they are, every text (a path,
a case id, the name of a finding) as a short hash that stays the same on this machine, so that two records of the same
file can be matched, but the file cannot be identified. Errors keep the constant parts of their sentences; tracebacks
name modules, lines and functions, never values. :class:`PublicText` marks a text that is known to name nobody.

A separate thread writes the file, so that no caller waits for the disk. Worker processes send their records to the
process that started them.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import hashlib
import logging
import os
import queue
import re
import secrets
import string
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from semblance.core.files import create_folder, move, open_private
from semblance.core.language import LazyText, visible_lines

#: Level of the log: debug, info, warning, error or off.
VARIABLE = "SEMBLANCE_LOG"
#: ``LEVEL:FOLDER`` while a log is written, for worker processes.
_ACTIVE_VARIABLE = "SEMBLANCE_LOG_ACTIVE"
FILE, _KEY_FILE = "semblance.log", "hash.key"
#: Maximum size of one file, and number of older files.
MAX_BYTES, OLDER_FILES = 1 << 20, 4
#: Records of one sentence within so many seconds; of more only the number is written.
MAX_SAME, SAME_S = 100, 60.0
#: Characters of one record, and records that wait for the disk.
_LONGEST, _MAX_WAITING = 20_000, 10_000
#: A longer phase of a job is also logged without ``--verbose``.
SLOW_PHASE_S = 5.0
#: Shorter constants of the program may occur in a name by chance.
_MIN_LITERAL = 6
_MAX_FRAMES = 60
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

logger = logging.getLogger("semblance")
# Without a log nothing is printed.
logger.addHandler(logging.NullHandler())
_handlers: list[logging.Handler] = []
#: Numbers and hashes in a redacted sentence.
_VALUES = re.compile(r"#[0-9a-f]{8}|[0-9]+")


class PublicText(str):
    """A text without patient data: of the program itself, or already redacted."""

    __slots__ = ()


def log_folder() -> Path:
    """The folder of the log, where the system keeps such files; it need not exist yet."""
    import platformdirs

    return Path(platformdirs.user_log_dir("semblance", appauthor=False))


def start_log(*, verbose: bool = False, folder: Path | None = None) -> None:
    """Write the log into ``folder`` (:func:`log_folder`) from now on; ``verbose``: details too, and a copy to stderr.

    The environment variable :data:`VARIABLE` sets another level, or ``off``. A second call does nothing.
    """
    chosen = os.environ.get(VARIABLE, "").strip().lower()
    if _handlers or chosen == "off":
        return
    level = _LEVELS.get(chosen, logging.DEBUG if verbose else logging.INFO)
    os.environ[_ACTIVE_VARIABLE] = f"{level}:{folder or ''}"
    logger.setLevel(level)
    logger.addFilter(_limit)
    _add(_LogFile(folder))
    if verbose:
        _add(logging.StreamHandler(sys.stderr))
    atexit.register(stop_log)


def stop_log() -> None:
    """Write the remaining records, and end the log."""
    os.environ.pop(_ACTIVE_VARIABLE, None)
    logger.removeFilter(_limit)
    while _handlers:
        handler = _handlers.pop()
        logger.removeHandler(handler)
        handler.close()


def send_records(send: Callable[[int, str], None]) -> None:
    """In a worker process: give ``send`` the level and the redacted text of each record, if a log is written."""
    level, _, _ = os.environ.get(_ACTIVE_VARIABLE, "").partition(":")
    if level:
        logger.setLevel(int(level))
        logger.addFilter(_limit)
        _add(_RecordSender(send))


def receive_record(level: int, text: str) -> None:
    """Write a record that a worker process sent."""
    logger.log(level, "%s", PublicText(text))


def short_hash(text: str) -> str:
    """``#`` and eight hexadecimal digits, the same for equal texts on this machine (keyed BLAKE2b, RFC 7693)."""
    _, _, folder = os.environ.get(_ACTIVE_VARIABLE, "").partition(":")
    key = _hash_key(Path(folder) if folder else log_folder())
    return "#" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4, key=key).hexdigest()


def redact(value: object, literals: Collection[str] = ()) -> str:
    """``value`` without patient data: numbers and names of types stay, and texts become hashes except for constant
    parts of the program: translatable texts with values, and texts in ``literals``."""
    if value is None or isinstance(value, (bool, int, float, PublicText)):
        return str(value)
    if isinstance(value, BaseException):
        return describe_error(value)
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, LazyText) and value.values:
        values = {name: _Value(one, literals) for name, one in value.values.items()}
        template = value.plural if value.plural and value.n != 1 else value.msgid
        return string.Formatter().vformat(template, (), values)
    text = str(value)
    return text if isinstance(value, LazyText) and text in literals else short_hash(text)


def describe_error(error: BaseException) -> str:
    """The kind of ``error`` and its message, redacted."""
    if isinstance(known := getattr(error, "safe_description", None), PublicText):
        return known
    kind, literals = type(error).__name__, _literals(error)
    message = getattr(error, "message", None)
    if isinstance(message, LazyText):
        parts = [redact(part, literals) for part in (message, getattr(error, "hint", "")) if part]
        return f"{kind}: {' '.join(parts)}"
    if isinstance(error, OSError) and error.errno is not None:
        return f"{kind}: {errno.errorcode.get(error.errno, error.errno)}"
    text = str(error)
    return f"{kind}: {_with_literals(text, literals)}" if text else kind


def describe_failure(error: BaseException) -> str:
    """:func:`describe_error` with the traceback, and the errors it came from: modules, lines and functions."""
    if isinstance(known := getattr(error, "safe_traceback", None), PublicText):
        return known
    lines, visited = [], set[int]()
    current: BaseException | None = error
    while current is not None and id(current) not in visited:
        visited.add(id(current))
        lines += [describe_error(current), *_frames(current)]
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
        if current is not None:
            lines.append("from")
    return "\n".join(lines)


def store_description(error: BaseException, *, of: BaseException | None = None) -> None:
    """Store the result of :func:`describe_failure` of ``error``, or of its original error ``of``, at ``error``.

    Another process does not get the traceback, and a translated message is not a constant.
    """
    with contextlib.suppress(AttributeError):
        description, failure = describe_error(of or error), describe_failure(of or error)
        error.safe_description, error.safe_traceback = PublicText(description), PublicText(failure)  # type: ignore[attr-defined]


class PhaseLog:
    """Logs the duration of each phase of long work; a phase is the text that progress reports."""

    def __init__(self) -> None:
        self._what: str | None = None
        self._started_at = 0.0

    def enter(self, what: str) -> None:
        """The phase ``what`` has begun or continues."""
        if what != self._what:
            self.end()
            self._what, self._started_at = what, time.monotonic()

    def end(self) -> None:
        """The last phase has ended."""
        if self._what is not None:
            seconds = time.monotonic() - self._started_at
            level = logging.INFO if seconds > SLOW_PHASE_S else logging.DEBUG
            logger.log(level, "phase %s took %.2f s", self._what, seconds)
            self._what = None


class _SameSentences(logging.Filter):
    """Leaves out records of a sentence that comes again and again, such as one that a client causes: they would push
    all others out of the file."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        #: Sentence -> when it came first, and how often since then.
        self._counts: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        sentence = str(record.msg)
        if sentence == "%s" and isinstance(record.args, tuple):
            # Of a worker process: a sentence with its values.
            sentence = _VALUES.sub("", str(record.args[0]))
        now = time.monotonic()
        with self._lock:
            if len(self._counts) > _MAX_WAITING:
                self._counts.clear()
            start, count = self._counts.get(sentence, (now, 0))
            left_out = 0
            if now - start >= SAME_S:
                left_out, start, count = max(0, count - MAX_SAME), now, 0
            self._counts[sentence] = (start, count + 1)
        if count >= MAX_SAME:
            return False
        notes = [f"{left_out:,} like it were left out before"] if left_out else []
        if count + 1 == MAX_SAME:
            notes.append(f"more like it are left out for {SAME_S:.0f} s")
        if notes:
            record.msg = f"{record.msg} ({', '.join(notes)})"
        return True


class _Redactor(logging.Formatter):
    """Writes a record as one line, a traceback below it, with every argument redacted."""

    def __init__(self, *, bare: bool = False) -> None:
        super().__init__()
        self._bare = bare

    def format(self, record: logging.LogRecord) -> str:
        arguments = record.args if isinstance(record.args, tuple) else (record.args,) if record.args else ()
        safe = tuple(one if isinstance(one, (int, float)) else redact(one) for one in arguments)
        text = str(record.msg) % safe if safe else str(record.msg)
        if record.exc_info and record.exc_info[1] is not None:
            text += "\n" + describe_failure(record.exc_info[1])
        # No text can begin a line or steer a terminal.
        text = visible_lines(text[:_LONGEST])
        if self._bare:
            return text
        moment = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        return f"{moment}.{int(record.msecs):03d} {record.levelname:<7} {os.getpid()} {text}".replace(
            "\n", "\n    "
        )


class _RecordSender(logging.Handler):
    """Sends records to the process that started this one."""

    def __init__(self, send: Callable[[int, str], None]) -> None:
        super().__init__()
        self._send = send
        self.setFormatter(_Redactor(bare=True))

    def emit(self, record: logging.LogRecord) -> None:
        # The parent process has ended and reads no log.
        with contextlib.suppress(OSError, ValueError):
            self._send(record.levelno, self.format(record))


class _LogFile(logging.Handler):
    """Appends lines to the file in a thread of its own, and begins a new file when it becomes too large.

    Several programs may write at once: each opens the file for every write.
    """

    def __init__(self, folder: Path | None) -> None:
        super().__init__()
        self._folder = folder
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self._lines.qsize() < _MAX_WAITING:
            self._lines.put(self.format(record))
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_all, name="semblance-log", daemon=True)
            self._thread.start()

    def close(self) -> None:
        if self._thread is not None:
            self._lines.put(None)
            self._thread.join(2.0)
            self._thread = None
        super().close()

    def _write_all(self) -> None:
        folder = self._folder or log_folder()
        while (line := self._lines.get()) is not None:
            # A full disk or a read-only home must not end the program.
            with contextlib.suppress(OSError):
                create_folder(folder)
                _rotate(folder / FILE)
                with open_private(folder / FILE, "ab") as file:
                    file.write(f"{line}\n".encode("utf-8", "backslashreplace"))


_limit = _SameSentences()


def _rotate(file: Path) -> None:
    if not file.exists() or file.stat().st_size < MAX_BYTES:
        return
    for number in range(OLDER_FILES, 0, -1):
        older = file.with_name(f"{FILE}.{number}")
        newer = file if number == 1 else file.with_name(f"{FILE}.{number - 1}")
        if newer.exists():
            move(newer, older)


def _add(handler: logging.Handler) -> None:
    if handler.formatter is None:
        handler.setFormatter(_Redactor())
    logger.addHandler(handler)
    _handlers.append(handler)


@lru_cache(maxsize=4)
def _hash_key(folder: Path) -> bytes:
    """The key of the hashes of this machine; it is stored beside the log and never in it."""
    file = folder / _KEY_FILE
    made = secrets.token_hex(16)
    with contextlib.suppress(OSError):
        create_folder(folder)
        with contextlib.suppress(FileExistsError), open_private(file) as new:
            new.write(made.encode())
        made = file.read_text(encoding="ascii", errors="replace").strip() or made
    return made.encode()[:64]


class _Value:
    """A value of a translatable text, formatted without patient data."""

    def __init__(self, value: object, literals: Collection[str]) -> None:
        self._value, self._literals = value, literals

    def __format__(self, form: str) -> str:
        if isinstance(self._value, (int, float)):
            return format(self._value, form)
        return redact(self._value, self._literals)


def _with_literals(text: str, literals: Collection[str]) -> str:
    """``text`` with its longest constants, and the rest hashed."""
    found = max((one for one in literals if one in text), key=len, default="")
    if not found:
        return short_hash(text) if any(map(str.isalnum, text)) else text
    before, _, after = text.partition(found)
    return _with_literals(before, literals) + found + _with_literals(after, literals)


def _literals(error: BaseException) -> set[str]:
    """Constant texts of the functions in the traceback of ``error``; they contain no patient data."""
    found: set[str] = set()
    trace = error.__traceback__
    while trace is not None:
        found |= set(_constants(trace.tb_frame.f_code))
        trace = trace.tb_next
    return found


def _constants(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str) and len(constant) >= _MIN_LITERAL:
            yield constant


def _frames(error: BaseException) -> list[str]:
    lines: list[str] = []
    trace: Any = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        module = frame.f_globals.get("__name__", "?")
        lines.append(f"  {module}:{trace.tb_lineno} {frame.f_code.co_name}")
        trace = trace.tb_next
    return lines[-_MAX_FRAMES:]
