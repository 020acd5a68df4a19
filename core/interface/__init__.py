"""What ``import semblance`` offers: libraries, metrics, rankings and scores in Python.

``import semblance as sb``, then :func:`open_library` or :func:`create_library`. The same workflows run as behind the
window and the command line. Nothing is loaded before its first use, because every module of the program imports this
package first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semblance.core.errors import BadArguments, BadInput, SemblanceError
    from semblance.features import Features
    from semblance.library import Library, create_library, open_library
    from semblance.metric import Metric
    from semblance.ranking import RankedResult, Ranking
    from semblance.scores import Scores

#: Name -> the module that has it.
_MODULES = {
    "BadArguments": "core.errors",
    "BadInput": "core.errors",
    "Features": "features",
    "Library": "library",
    "create_library": "library",
    "open_library": "library",
    "Metric": "metric",
    "Ranking": "ranking",
    "RankedResult": "ranking",
    "Scores": "scores",
    "SemblanceError": "core.errors",
}
__all__ = [
    "BadArguments",
    "BadInput",
    "Features",
    "Library",
    "Metric",
    "RankedResult",
    "Ranking",
    "Scores",
    "SemblanceError",
    "create_library",
    "open_library",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "__version__":
        from semblance.core.version import version_with_commit

        return version_with_commit()
    if name not in _MODULES:
        raise AttributeError(f"module 'semblance' has no attribute {name!r}")
    return getattr(import_module(f"semblance.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
