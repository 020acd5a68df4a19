"""What is known of a case beside its image: numeric and categorical columns of tables and DICOM headers."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments
from semblance.core.features.extractor import Extractor, FeatureName
from semblance.core.imaging.image import Image
from semblance.core.imaging.region import Region
from semblance.core.normal_text import is_missing
from semblance.core.parameters import Parameter, Value

#: DICOM's ages, and how many of each unit are a year.
_AGE = re.compile(r"(\d{1,3})([DWMY])", re.ASCII)
_IN_A_YEAR = {"D": 365.25, "W": 52.18, "M": 12.0, "Y": 1.0}


@dataclass(frozen=True)
class ClinicalColumn:
    """A column by ``name``; its ``categories``, none for a column of numbers."""

    name: str
    categories: tuple[str, ...] = ()


def clinical_settings(columns: Iterable[ClinicalColumn]) -> dict[str, Value]:
    """The settings of a :class:`Clinical` of ``columns``."""
    return {"columns": json.dumps([[one.name, list(one.categories)] for one in columns])}


def as_number(text: str) -> float | None:
    """The finite number in ``text``, with a decimal point or comma; a DICOM age (``047Y``) in years."""
    age = _AGE.fullmatch(text.strip().upper())
    if age is not None:
        return int(age[1]) / _IN_A_YEAR[age[2]]
    try:
        number = math.nan if "_" in text else float(text.replace(",", ".", 1))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


class Clinical(Extractor):
    """Columns chosen in the library (:mod:`semblance.core.workflows.features.clinical_features`); unknown is NaN."""

    name = "clinical"
    title = "Clinical columns"
    summary = "Age, sex and other columns of the cases' tables and DICOM headers, to be used beside features of images."
    version = 1
    needs_image: ClassVar[bool] = False
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("columns", "", "Names of columns, separated by commas. Empty: all that can be used."),
    )

    def __init__(self, **settings: Value) -> None:
        super().__init__(**settings)
        text = str(self.settings["columns"])
        #: The chosen columns; none where ``columns`` only names some.
        self.columns = _stored_columns(text) if text.startswith("[") else ()

    @property
    def requested(self) -> tuple[str, ...]:
        """The names in ``columns``; none for all columns that can be used."""
        if self.columns:
            return tuple(one.name for one in self.columns)
        return tuple(name.strip() for name in str(self.settings["columns"]).split(",") if name.strip())

    @property
    def feature_names(self) -> tuple[FeatureName, ...]:
        """One per number, and one per category; a column is a group."""
        return tuple(
            FeatureName(f"{one.name}: {category}" if category else one.name, one.name)
            for one in self.columns
            for category in one.categories or ("",)
        )

    def extract(self, image: Image, region: Region | None = None) -> npt.NDArray[np.float32]:
        """(d,) NaN: the values are not in the pixels. :meth:`with_attributes` fills them in."""
        return np.full(len(self.feature_names), np.nan, dtype=np.float32)

    def with_attributes(
        self, numbers: npt.NDArray[Any], attributes: Mapping[str, str]
    ) -> npt.NDArray[np.float64]:
        """(d,) the numbers, and 1 for the case's category and 0 for the others; NaN where unknown."""
        out: list[float] = []
        for one in self.columns:
            text = attributes.get(one.name, "")
            if not one.categories:
                number = None if is_missing(text) else as_number(text)
                out.append(math.nan if number is None else number)
            elif not is_missing(text):
                key = text.strip().casefold()
                out += [float(category.casefold() == key) for category in one.categories]
            else:
                out += [math.nan] * len(one.categories)
        return np.array(out)


def _stored_columns(text: str) -> tuple[ClinicalColumn, ...]:
    try:
        columns = tuple(ClinicalColumn(str(name), tuple(map(str, found))) for name, found in json.loads(text))
    except (TypeError, ValueError):
        columns = ()
    if not columns:
        raise BadArguments(
            "'columns' of the extractor 'clinical' cannot be read.", "Name columns: --set columns=age,sex."
        )
    return columns
