"""Learners, extractors, importers, protocols and reports that other installed packages add, by Python's entry points.

A package declares ``[project.entry-points."semblance.learners"]`` with ``NAME = "module:Class"``, where NAME is that
of the class. Names are listed without importing anything. A plug-in is imported when it is asked for by its name, or
when all of its group are; it may use what this program has. What a library or a file names is looked up among these
names, so that no file can have a module imported.

One that cannot be imported or used is switched off, and :func:`broken_plugins` names it. All others work.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Generic, TypeVar

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.json_document import JsonDocument, JsonKeys
from semblance.core.language import tr, tr_lazy
from semblance.core.log import PublicText, describe_failure, logger
from semblance.core.tasks import Cancelled

#: Environment variable: names of packages whose plug-ins are switched off, separated by commas; ``all`` for every one.
#: Worker processes inherit it.
OFF_VARIABLE = "SEMBLANCE_NO_PLUGINS"
ALL = "all"
_PREFIX = "semblance."
#: Kind -> the group of entry points, without the prefix.
GROUPS = {
    "learner": "learners",
    "extractor": "extractors",
    "importer": "importers",
    "protocol": "protocols",
    "report": "reports",
}
#: Names are typed on the command line, where commas and blanks separate them, and are parts of names of help pages.
_NAME = re.compile(r"[a-z][a-z0-9_]*")
#: Names of packages (PEP 508).
_PACKAGE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")

_T = TypeVar("_T")


@dataclass(frozen=True)
class Plugin(JsonDocument):
    """An entry point: its ``kind`` (a key of :data:`GROUPS`) and ``name``, and the ``package`` that has it, with its
    ``version``. ``target`` is the module and the class."""

    JSON_KEYS: ClassVar[JsonKeys] = ("kind", "name", "package", "version")

    kind: str
    name: str
    package: str
    version: str
    target: str

    @property
    def origin(self) -> dict[str, str]:
        """What a card keeps of it: package and version."""
        return {"package": self.package, "version": self.version}


@dataclass(frozen=True)
class BrokenPlugin:
    """A plug-in that is switched off, and why, in a sentence that names its package."""

    plugin: Plugin
    message: str


class PluginFailed(BadInput):
    """What a plug-in raised that is no error of this program; it says so."""


class PluginGroup(Generic[_T]):
    """The plug-ins of one ``kind``, beside those of this program.

    ``own_names``: the names that this program has; no plug-in may take one. ``checked`` gets the plug-in and what its
    entry point names, and returns what is registered. It raises ``BadInput`` with a sentence if that has the wrong
    shape.
    """

    def __init__(
        self, kind: str, own_names: Callable[[], Iterable[str]], checked: Callable[[Plugin, Any], _T]
    ) -> None:
        self._kind, self._own_names, self._checked = kind, own_names, checked
        self._loaded: dict[Plugin, _T | None] = {}
        # The window loads them in a thread while another may ask for one; a plug-in may ask for another on import.
        self._lock = threading.RLock()
        self._loading: set[Plugin] = set()
        _REGISTERED.append(self)

    def names(self) -> tuple[str, ...]:
        """The names on offer, without importing anything."""
        return tuple(plugin.name for plugin, _ in self._offered())

    def all(self) -> tuple[_T, ...]:
        """All that can be used, by package and name. Imports them."""
        found = (self._load(plugin, entry) for plugin, entry in self._offered())
        return tuple(one for one in found if one is not None)

    def get(self, name: str) -> _T | None:
        """The one so named; ``None`` if there is none, or it is switched off. Imports it alone."""
        for plugin, entry in self._offered():
            if plugin.name == name:
                return self._load(plugin, entry)
        return None

    def _offered(self) -> Iterator[tuple[Plugin, EntryPoint]]:
        taken = dict.fromkeys(self._own_names(), "")
        for plugin, entry in _found(self._kind):
            if plugin in _broken:
                continue
            if not _NAME.fullmatch(plugin.name):
                _switch_off(
                    plugin,
                    tr_lazy("its name may have small letters, digits and _ only, and begins with a letter"),
                )
            elif plugin.name in taken:
                other = taken[plugin.name]
                _switch_off(
                    plugin,
                    tr_lazy("the package {other} has that name too", other=other)
                    if other
                    else tr_lazy("this program has that name itself"),
                )
            else:
                taken[plugin.name] = plugin.package
                yield plugin, entry

    def _load(self, plugin: Plugin, entry: EntryPoint) -> _T | None:
        with self._lock:
            if plugin in self._loading:
                return None
            if plugin not in self._loaded:
                self._loading.add(plugin)
                try:
                    self._loaded[plugin] = self._checked(plugin, entry.load())
                except BadInput as error:
                    self._loaded[plugin] = None
                    _switch_off(plugin, error.message.rstrip(".") if error.hint == "" else str(error))
                except (Exception, SystemExit) as error:  # noqa: BLE001 - a plug-in may raise anything
                    self._loaded[plugin] = None
                    _switch_off(plugin, tr_lazy("importing it failed with {error}", error=_error_text(error)))
                finally:
                    self._loading.discard(plugin)
            return self._loaded[plugin]

    def forget(self) -> None:
        """Forget what was loaded."""
        self._loaded.clear()


_REGISTERED: list[PluginGroup[Any]] = []
_broken: dict[Plugin, BrokenPlugin] = {}


def find_plugin(kind: str, name: str) -> Plugin | None:
    """The plug-in of ``kind`` that is called ``name`` and not switched off so far. Imports nothing."""
    for plugin, _ in _found(kind):
        if plugin.name == name and plugin not in _broken:
            return plugin
    return None


def used_plugins(names: Iterable[tuple[str, str]]) -> tuple[Plugin, ...]:
    """The plug-ins among the things named by kind and name, each once."""
    found = (find_plugin(kind, name) for kind, name in dict.fromkeys(names))
    return tuple(one for one in found if one is not None)


def origin_text(kind: str, name: str) -> str:
    """Where a plug-in comes from, in the language of the user; empty for what this program has itself."""
    plugin = find_plugin(kind, name)
    if plugin is None:
        return ""
    return tr("Plug-in of the package {package} {version}", package=plugin.package, version=plugin.version)


def installed_plugins() -> tuple[Plugin, ...]:
    """All plug-ins that are installed and not switched off by :data:`OFF_VARIABLE`, also those that do not work."""
    return tuple(plugin for kind in GROUPS for plugin, _ in _found(kind))


def broken_plugins(kind: str = "") -> tuple[BrokenPlugin, ...]:
    """Those that were found broken so far, of one ``kind`` or of all."""
    return tuple(one for plugin, one in _broken.items() if kind in ("", plugin.kind))


def missing_hint(kind: str, name: str, package: str = "") -> str:
    """What to do where ``name`` is not known here; ``package`` had it when it was used. Empty if nothing tells."""
    for broken in broken_plugins(kind):
        if broken.plugin.name == name:
            return broken.message
    off = switched_off()
    if off and (not package or {ALL, _normal(package)} & off):
        return tr_lazy(
            "Plug-ins are switched off: start without --no-plugins and without the variable {name}.",
            name=OFF_VARIABLE,
        )
    # A name from a file must not become a command of its own.
    if not _PACKAGE.fullmatch(package):
        return ""
    return tr_lazy(
        "It comes with the package {package}. If you trust that: pip install {package}", package=package
    )


def switched_off() -> frozenset[str]:
    """The packages named by :data:`OFF_VARIABLE`."""
    names = os.environ.get(OFF_VARIABLE, "").split(",")
    return frozenset(_normal(name) for name in names if name.strip())


def guarded(plugin: Plugin, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of a plug-in, whose unexpected errors say whose they are.

    Raises:
        PluginFailed: instead of any error that is not this program's own.
    """

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        try:
            return function(*args, **named)
        except (Exception, SystemExit) as error:
            raise plugin_error(plugin, error) from error

    @functools.wraps(function)
    def generate(*args: Any, **named: Any) -> Any:
        try:
            yield from function(*args, **named)
        except (Exception, SystemExit) as error:
            raise plugin_error(plugin, error) from error

    return generate if inspect.isgeneratorfunction(function) else call


def guard_methods(plugin: Plugin, made: type[Any], names: Iterable[str]) -> None:
    """:func:`guarded` for those methods that the class ``made`` has itself, once."""
    for name in names:
        method = vars(made).get(name)
        if inspect.isfunction(method) and not hasattr(method, "of_plugin"):
            safe = guarded(plugin, method)
            safe.of_plugin = plugin  # type: ignore[attr-defined]
            setattr(made, name, safe)


def plugin_error(plugin: Plugin, error: BaseException) -> BaseException:
    """``error``, or in its place one that names the plug-in if it is none of this program's."""
    if isinstance(error, SemblanceError | Cancelled):
        return error
    logger.error("a plug-in failed: %s", PublicText(describe_failure(error)))
    return PluginFailed(
        tr_lazy(
            "The {kind} '{name}' of the package {package} {version} failed: {error}.",
            kind=plugin.kind,
            name=plugin.name,
            package=plugin.package,
            version=plugin.version,
            error=_error_text(error).rstrip("."),
        ),
        tr_lazy("Tell those who made the package, or update it."),
    )


def check_class(
    plugin: Plugin, found: Any, base: type[Any], texts: Mapping[str, type], *, name: str = "name"
) -> Any:
    """``found`` if it is a class derived from ``base`` that can be made, is called as the entry point is, and has the
    attributes ``texts`` of these types.

    Raises:
        BadInput: what is wrong, as the rest of a sentence.
    """
    if not (isinstance(found, type) and issubclass(found, base)):
        raise BadInput(
            tr_lazy(
                "{target} is not a class derived from {base}",
                target=plugin.target,
                base=f"{base.__module__}.{base.__name__}",
            )
        )
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        raise BadInput(
            tr_lazy(
                "{target} does not have what it must: {names}", target=plugin.target, names=", ".join(missing)
            )
        )
    for attribute, kind in ({name: str} | dict(texts)).items():
        value = getattr(found, attribute, None)
        if not isinstance(value, kind) or (attribute in (name, "title") and not value):
            raise BadInput(
                tr_lazy(
                    "{target} has no usable '{attribute}', which must be {kind}",
                    target=plugin.target,
                    attribute=attribute,
                    kind=kind.__name__,
                )
            )
    if getattr(found, name) != plugin.name:
        raise BadInput(
            tr_lazy(
                "{target} is called '{name}', and its entry point '{entry}'",
                target=plugin.target,
                name=getattr(found, name),
                entry=plugin.name,
            )
        )
    return found


def forget_plugins() -> None:
    """Look for installed packages again, as a new process does."""
    _found.cache_clear()
    _broken.clear()
    for group in _REGISTERED:
        group.forget()


@functools.cache
def _found(kind: str) -> tuple[tuple[Plugin, EntryPoint], ...]:
    """What is installed, by package and name. Reading the lists of all packages takes some 20 ms, once."""
    off = switched_off()
    if ALL in off:
        return ()
    found = []
    for entry in entry_points(group=_PREFIX + GROUPS[kind]):
        package, version = ("", "") if entry.dist is None else (entry.dist.name, entry.dist.version)
        if _normal(package) not in off:
            found.append((Plugin(kind, entry.name, package, version or "", entry.value), entry))
    return tuple(sorted(found, key=lambda pair: (_normal(pair[0].package), pair[0].name)))


def _switch_off(plugin: Plugin, problem: str) -> None:
    message = tr_lazy(
        "The {kind} '{name}' of the package {package} {version} is switched off: {problem}. Update the package or "
        "remove it (pip uninstall {package}).",
        kind=plugin.kind,
        name=plugin.name,
        package=plugin.package,
        version=plugin.version,
        problem=problem,
    )
    logger.warning("the %s of a package is switched off", PublicText(plugin.kind))
    _broken.setdefault(plugin, BrokenPlugin(plugin, message))


def _error_text(error: BaseException) -> str:
    """The kind and the first line of an error."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _normal(package: str) -> str:
    """The name of a package as PEP 503 compares names."""
    return re.sub(r"[-_.]+", "-", package.strip()).lower()
