"""Features that another program computed: the library holds their numbers, and nothing here can measure an image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.language import tr_lazy
from semblance.core.parameters import Parameter

#: Settings of an imported feature set: the name of the file, the SHA-256 of what was read, the day, and what the user
#: says it is.
FILE, DIGEST, DATE, ORIGIN, FORM = "file", "sha256", "date", "origin", "form"
#: An embedding is compared by its direction, columns with names of their own each on its scale.
EMBEDDING, COLUMNS = "embedding", "columns"


class Imported(Extractor):
    """Numbers that were read from a file or an array."""

    name = "imported"
    title = "Imported features"
    summary = "Numbers that another program computed. `semblance import-features` reads them from a file."
    version = 1
    needs_image: ClassVar[bool] = False
    can_measure: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter(FILE, "", "The name of the file that they came from."),
        Parameter(DIGEST, "", "The SHA-256 of what was imported.", label="SHA-256"),
        Parameter(DATE, "", "The day of the import."),
        Parameter(ORIGIN, "", "What made them, in the words of who imported them."),
        Parameter(FORM, EMBEDDING, "What the default steps suit.", choices=(EMBEDDING, COLUMNS)),
    )

    @classmethod
    def stored_type(cls) -> str:
        """Single precision, as embeddings are."""
        return "float32"

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """Empty: the file names its columns."""
        return ()

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """Never gives numbers.

        Raises:
            BadInput: always.
        """
        raise cannot_measure(str(self.settings[FILE]) or self.title)


def cannot_measure(feature_set: str) -> BadInput:
    """The error where an image or region would have to be measured for an imported ``feature_set``."""
    return BadInput(
        tr_lazy(
            "The features '{feature_set}' were imported, so an image or a region cannot be measured for them here.",
            feature_set=feature_set,
        ),
        "Give its vector too: --vector FILE (.npy, .json or .csv). Or add the encoder that made them as an ONNX file: "
        "semblance features LIB --extractor onnx --set model=FILE.onnx --set settings=FILE.json.",
    )


def origin_text(settings: Mapping[str, Any]) -> str:
    """Where imported features came from, for lists and cards."""
    file, date, origin = (str(settings.get(name, "")) for name in (FILE, DATE, ORIGIN))
    return tr_lazy(
        "{origin} (imported on {date})",
        origin=", ".join(one for one in (origin, file) if one) or tr_lazy("origin not stated"),
        date=date,
    )
