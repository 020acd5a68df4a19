"""All importers, and which of them fits a source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy
from semblance.core.library.importers.boxes import BoxesImporter
from semblance.core.library.importers.corel import CorelImporter
from semblance.core.library.importers.dicom import DicomImporter
from semblance.core.library.importers.folder import FolderImporter
from semblance.core.library.importers.imageclef import ImageCLEFImporter
from semblance.core.library.importers.importer import AUTO, Importer, Recognition
from semblance.core.library.importers.lung import LungImporter
from semblance.core.library.importers.mammograms.importer import MammogramsImporter
from semblance.core.library.importers.medmnist import MedMNISTImporter
from semblance.core.library.importers.polyps import PolypsImporter
from semblance.core.library.importers.source import Source
from semblance.core.library.importers.table import TableImporter
from semblance.core.library.importers.ultrasound import UltrasoundImporter
from semblance.core.library.importers.volumes import VolumesImporter
from semblance.core.parameters import parse_settings
from semblance.core.plugins import Plugin, PluginFailed, PluginGroup, check_class, guard_methods, missing_hint

#: A new importer is one line here.
_ALL: tuple[type[Importer], ...] = (
    FolderImporter,
    TableImporter,
    CorelImporter,
    MedMNISTImporter,
    DicomImporter,
    MammogramsImporter,
    UltrasoundImporter,
    VolumesImporter,
    BoxesImporter,
    ImageCLEFImporter,
    PolypsImporter,
    LungImporter,
)


def _checked_plugin(plugin: Plugin, found: Any) -> type[Importer]:
    check_class(plugin, found, Importer, {"title": str, "summary": str, "parameters": tuple}, name="kind")
    importer: type[Importer] = found
    guard_methods(plugin, importer, ("recognise", "scan", "with_settings"))
    return importer


_WHAT_IS_IMPORTED = (
    "Choose a folder or zip of images (DICOM, PNG, JPEG, TIFF, PGM) or volumes (NIfTI, NRRD, MetaImage), a table "
    "(CSV, Parquet) or MedMNIST arrays."
)
_PLUGINS: PluginGroup[type[Importer]] = PluginGroup(
    "importer", lambda: (*(importer.kind for importer in _ALL), AUTO), _checked_plugin
)


def importers() -> list[Importer]:
    """One of each kind, in the order they are listed to the user, last those of plug-ins, which it imports."""
    return [importer() for importer in (*_ALL, *_PLUGINS.all())]


def get_importer(kind: str) -> Importer:
    """
    Raises:
        BadArguments: no such kind; the hint lists those there are.
    """
    if found := known_importer(kind):
        return found
    raise BadArguments(
        tr_lazy("There is no kind of source called '{kind}'.", kind=kind),
        missing_hint("importer", kind)
        or tr_lazy("Choose one of auto, {value}.", value=", ".join(kind_names())),
    )


def known_importer(kind: str) -> Importer | None:
    """The importer of ``kind``; ``None`` if this program has none, as where its plug-in is missing."""
    for importer in _ALL:
        if importer.kind == kind:
            return importer()
    found = _PLUGINS.get(kind)
    return None if found is None else found()


def kind_names() -> tuple[str, ...]:
    """All kinds. Imports none of a plug-in."""
    return *(importer.kind for importer in _ALL), *_PLUGINS.names()


def with_settings(importer: Importer, settings: Sequence[str]) -> Importer:
    """``importer`` with the ``key=value`` texts of the command line.

    Raises:
        BadArguments: a setting that its kind does not have, or a value that is not allowed.
    """
    if not settings:
        return importer
    owner = f"the kind {importer.kind}"
    return importer.with_settings(parse_settings(owner, importer.parameters, list(settings)))


def recognise(source: Source) -> list[tuple[Importer, Recognition]]:
    """The importers that fit, the likeliest first.

    Raises:
        BadInput: none fits; the hint says what would.
    """
    fitting, failed = [], ""
    for importer in importers():
        try:
            fit = importer.recognise(source)
        except PluginFailed as error:
            # One that fails here keeps no other from importing.
            failed = str(error)
            continue
        if fit is not None:
            fitting.append((importer, fit))
    if fitting:
        return sorted(fitting, key=lambda pair: -pair[1].confidence)
    count = len(source.entries())
    holds = (
        tr_lazy("'{source}' is empty", source=source.path)
        if count == 0 and source.kind != "file"
        else tr_lazy("'{source}' contains nothing that can be imported", source=source.path)
    )
    refused = source.refused
    why = (
        tr_lazy(
            " ({n} refused; '{path}': {reason})", n=len(refused), path=refused[0][0], reason=refused[0][1]
        )
        if refused
        else ""
    )
    raise BadInput(tr_lazy("{holds}{why}.", holds=holds, why=why), failed or _WHAT_IS_IMPORTED)
