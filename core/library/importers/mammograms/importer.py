"""The importer of mammograms: recognises the collection and reads its cases."""

from __future__ import annotations

from collections.abc import Iterator

from semblance.core.errors import BadInput
from semblance.core.language import join_texts, tr_lazy
from semblance.core.library.importers.image_files import ignored_files
from semblance.core.library.importers.importer import FoundCase, Importer, Recognition, RejectedFile
from semblance.core.library.importers.mammograms.cbis_ddsm import CBISDDSM
from semblance.core.library.importers.mammograms.collection import Collection
from semblance.core.library.importers.mammograms.inbreast import INbreast
from semblance.core.library.importers.mammograms.mias import MIAS
from semblance.core.library.importers.source import Source
from semblance.core.tasks import Reporter

_COLLECTIONS: tuple[type[Collection], ...] = (MIAS, CBISDDSM, INbreast)


class MammogramsImporter(Importer):
    """mini-MIAS, CBIS-DDSM or INbreast, in a folder or zip as each was given out.

    A case is one abnormality with its region, or a normal image; the findings are normal, benign and
    malignant; both breasts and all views of a woman are one patient.
    """

    kind = "mammograms"
    title = "Mammograms"
    summary = "mini-MIAS, CBIS-DDSM or INbreast: images with regions, findings and patients."

    def recognise(self, source: Source) -> Recognition | None:
        """The recognition by the collection that fits best."""
        found = _best_collection(source)
        if found is None:
            return None
        collection, fit = found
        return Recognition(fit.confidence, join_texts([collection.title, fit.explanation], ": "))

    def scan(self, source: Source, reporter: Reporter) -> Iterator[FoundCase | RejectedFile]:
        """The cases of the collection that fits best."""
        found = _best_collection(source)
        if found is None:
            raise BadInput(
                tr_lazy(
                    "'{source}' is not one of {those}.",
                    source=source.path,
                    those=", ".join(c.title for c in _COLLECTIONS),
                ),
                "MIAS needs Info.txt beside mdb001.pgm, CBIS-DDSM its mass_case_description_*.csv, INbreast "
                "its file names. Import anything else as folder.",
            )
        yield from ignored_files(source)
        yield from found[0].scan(source, reporter)


def _best_collection(source: Source) -> tuple[Collection, Recognition] | None:
    for kind in _COLLECTIONS:
        collection = kind()
        fit = collection.recognise(source)
        if fit is not None:
            return collection, fit
    return None
