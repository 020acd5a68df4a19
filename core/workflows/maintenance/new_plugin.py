"""Write a package with a plug-in that works, to be changed."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass
from pathlib import Path
from string import Template

from semblance import resources
from semblance.core.errors import BadArguments, BadInput
from semblance.core.files import create_folder, write_file
from semblance.core.json_document import JsonDocument
from semblance.core.language import tr_lazy
from semblance.core.plugins import GROUPS
from semblance.core.version import DISTRIBUTION

#: Of the package, before the name of the plug-in.
PREFIX = "semblance-"
_NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_LONGEST = 60
#: Kind -> what to try first.
_USE = {
    "learner": "semblance evaluate --table builtin:wine --learner euclidean,$name --protocol bdm",
    "extractor": "semblance features LIB --extractor $name",
    "importer": "semblance import FOLDER --library LIB --kind $name",
    "protocol": "semblance evaluate --table builtin:wine --learner euclidean,bdm_v --protocol $name",
    "report": "semblance report LIB --case ID --out FILE.$name",
}


@dataclass(frozen=True)
class NewPlugin(JsonDocument):
    """What was written: the ``folder``, its ``files``, and the ``package`` with the plug-in ``name`` of ``kind``."""

    folder: Path
    kind: str
    name: str
    package: str
    files: tuple[str, ...]
    #: Commands that install, test and use it.
    next_steps: tuple[str, ...]


def new_plugin(name: str, kind: str, parent: Path) -> NewPlugin:
    """Write the package of a plug-in into the new folder ``parent/name``.

    The package is called ``semblance-NAME``, its module ``semblance_NAME``, and the plug-in ``NAME`` with ``_`` for
    ``-``; a prefix that NAME has already is not repeated.

    Raises:
        BadArguments: another kind, a name that cannot be one, or one that this program has.
        BadInput: the folder exists.
        SemblanceError: it cannot be written.
    """
    if kind not in GROUPS:
        raise BadArguments(
            tr_lazy("There is no plug-in of the kind '{kind}'.", kind=kind),
            tr_lazy("Kinds: {kinds}.", kinds=", ".join(GROUPS)),
        )
    called = name.removeprefix(PREFIX).replace("-", "_")
    if not _NAME.fullmatch(name) or keyword.iskeyword(called) or len(name) > _LONGEST or name == "semblance":
        raise BadArguments(
            tr_lazy("'{name}' cannot be the name of a plug-in.", name=name),
            "Use small letters, digits and single - or _, and begin with a letter: whitening, grey-histogram.",
        )
    if called in _own_names(kind):
        raise BadArguments(
            tr_lazy("This program has '{name}' itself.", name=called), "Choose another name for the plug-in."
        )
    folder = parent / name
    if folder.exists() or folder.is_symlink():
        raise BadInput(
            tr_lazy("'{folder}' exists already.", folder=folder),
            "Choose another name, or remove it first. Nothing was written.",
        )
    package = PREFIX + name.removeprefix(PREFIX).replace("_", "-")
    module = package.replace("-", "_")
    class_name = "".join(part.capitalize() for part in called.split("_"))
    values = {
        "kind": kind,
        "group": GROUPS[kind],
        "name": called,
        "package": package,
        "distribution": DISTRIBUTION,
        "module": module,
        "title": called.replace("_", " ").capitalize(),
        "class_name": class_name,
        "function_name": f"write_{called}",
        "object_name": f"write_{called}" if kind == "report" else class_name,
    }
    values["use"] = Template(_USE[kind]).substitute(values)
    templates = {
        f"{module}.py": f"{kind}.py",
        f"test_{module}.py": "importer_test.py" if kind == "importer" else "test.py",
        "pyproject.toml": "pyproject.toml",
        "README.md": "README.md",
    }
    create_folder(folder, private=False)
    for file, template in templates.items():
        text = (Path(resources.__file__).parent / "plugins" / f"{template}.txt").read_text(encoding="utf-8")
        write_file(folder / file, Template(text).substitute(values).encode(), private=False)
    steps = (f"pip install -e {folder}", f"python {folder / f'test_{module}.py'}", values["use"])
    return NewPlugin(folder, kind, called, package, tuple(templates), steps)


def _own_names(kind: str) -> tuple[str, ...]:
    """What this program and installed plug-ins have of a kind."""
    if kind == "learner":
        from semblance.core.metrics.registry import learner_names

        return learner_names()
    if kind == "extractor":
        from semblance.core.features.registry import extractor_names

        return extractor_names()
    if kind == "importer":
        from semblance.core.library.importers.registry import kind_names

        return kind_names()
    if kind == "protocol":
        from semblance.core.evaluation.protocols.registry import protocol_names

        return protocol_names()
    from semblance.core.reports.write_report import report_endings

    return tuple(ending.removeprefix(".") for ending in report_endings())
