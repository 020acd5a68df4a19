"""The rows an evaluation works on: features, findings, patients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.region_queries import CasePlaces
from semblance.core.evaluation.splits import patients_known
from semblance.core.language import tr_lazy
from semblance.core.metrics.training_data.training_sample import stratified_sample
from semblance.core.normal_text import normal_text

DROPPED = "-"
_HINT = tr_lazy("Write it like 1,2=low;4,5=high;3=- (merge 1 and 2, merge 4 and 5, leave 3 out).")


def parse_findings_map(text: str) -> dict[str, str]:
    """From each finding named in ``text`` to its new name, or to ``-`` where its cases are left out.

    Raises:
        BadArguments: not of the form ``OLD[,OLD...]=NEW[;...]``, or a finding named twice.
    """
    renamed: dict[str, str] = {}
    for rule in text.split(";"):
        if not rule.strip():
            continue
        olds, equals, new = rule.rpartition("=")
        names = [normal_text(old) for old in olds.split(",")]
        if not equals or not new.strip() or not all(names):
            raise BadArguments(
                tr_lazy("'{rule}' does not say which findings become which.", rule=rule.strip()), _HINT
            )
        for name in names:
            if name in renamed:
                raise BadArguments(
                    tr_lazy("The finding '{name}' is named twice in '{value}'.", name=name, value=text), _HINT
                )
            renamed[name] = normal_text(new)
    if not renamed:
        raise BadArguments("The map of findings is empty.", _HINT)
    return renamed


def check_findings_map(renamed: Mapping[str, str], present: Iterable[str]) -> None:
    """Refuse a map that names findings no case has.

    Raises:
        BadArguments: naming the unknown findings and the known ones.
    """
    known = sorted(set(present))
    unknown = [name for name in renamed if name not in known]
    if unknown:
        raise BadArguments(
            tr_lazy("No case has the finding {those}.", those=", ".join(repr(name) for name in unknown)),
            tr_lazy("The findings are: {known}.", known=", ".join(known)),
        )


@dataclass(frozen=True, eq=False)
class EvaluationData:
    """``X`` (n, d), NaN where a value is missing; ``y`` (n,) findings, "" where a case has none.

    ``X`` is float64, or float32 as feature sets are stored: half the memory, and exact. ``groups`` (n,) are patients,
    "" where unknown; ``None``: none is known. ``units`` (n,) are the groups that stay on one side of a split and
    never retrieve each other: patients, and cases of the same lesion or image. The default is the patients.
    ``lesions`` (n,) are equal numbers for cases of one lesion, which count once where they are retrieved; ``None``:
    every case is a lesion of its own. ``feature_names`` (d,) and ``feature_groups`` (d,) name the columns. ``source``
    is the path or name shown with the scores. ``masses``: a library of masses, for which the paper uses 300 + 300
    training cases. ``case_rows`` (n,) are the catalogue's ids of the cases, for data from a library; ``case_ids``
    (n,) names of the cases, ``None`` if they have none. ``attributes`` by name, (n,) each, "" where unknown.
    ``made_by``: version and settings of the extractor of a feature set. ``notes``: what a person should know of how a
    table was read. ``places``: of the cases' whole images, where they were read too.

    Raises:
        BadInput: lengths that do not fit together, or infinite values.
    """

    X: npt.NDArray[Any]
    y: npt.NDArray[np.str_]
    groups: npt.NDArray[np.str_] | None = None
    feature_names: tuple[str, ...] = ()
    feature_groups: tuple[str, ...] = ()
    source: str = ""
    masses: bool = False
    case_rows: npt.NDArray[np.int64] | None = None
    case_ids: npt.NDArray[np.str_] | None = None
    attributes: Mapping[str, npt.NDArray[np.str_]] = field(default_factory=dict)
    units: npt.NDArray[np.str_] | None = None
    lesions: npt.NDArray[np.int64] | None = None
    made_by: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    places: CasePlaces | None = None

    def __post_init__(self) -> None:
        X = np.asarray(self.X)
        if X.dtype != np.float32:
            X = np.asarray(X, dtype=np.float64)
        columns = [self.groups, self.units, self.lesions, *self.attributes.values()]
        if (
            X.ndim != 2
            or len(X) != len(self.y)
            or any(one is not None and len(one) != len(X) for one in columns)
        ):
            raise BadInput(
                tr_lazy("The features, findings and patients of {name} differ in number.", name=self.name),
                "Give one row of features and one finding for every case.",
            )
        if np.isinf(X).any():
            raise BadInput(
                tr_lazy("{name} holds infinite values.", name=self.name),
                "Replace them, or leave the cells empty (missing).",
            )
        names = self.feature_names or tuple(
            tr_lazy("feature {column}", column=column + 1) for column in range(X.shape[1])
        )
        groups = self.feature_groups or names
        if len(names) != X.shape[1] or len(groups) != X.shape[1]:
            raise BadInput(
                tr_lazy(
                    "{name} has {shape} feature columns but {n} names for them.",
                    name=self.name,
                    shape=X.shape[1],
                    n=len(names),
                )
            )
        texts = None if self.groups is None else ["" if g is None else str(g) for g in self.groups]
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "y", np.array(["" if v is None else str(v) for v in self.y], dtype=np.str_))
        object.__setattr__(self, "groups", None if texts is None else np.array(texts, dtype=np.str_))
        if self.units is None:
            object.__setattr__(self, "units", self.groups)
        if self.lesions is not None and len(np.unique(self.lesions)) == len(self.lesions):
            object.__setattr__(self, "lesions", None)
        object.__setattr__(self, "feature_names", names)
        object.__setattr__(self, "feature_groups", groups)

    @property
    def name(self) -> str:
        """The source in quotation marks, for messages."""
        return f"'{self.source}'" if self.source else tr_lazy("The data")

    @property
    def n_cases(self) -> int:
        """Number of cases, those without a finding too."""
        return len(self.y)

    @property
    def findings(self) -> dict[str, int]:
        """Number of cases of every finding, in order of name."""
        names, counts = np.unique(self.y, return_counts=True)
        return dict(zip(names.tolist(), counts.tolist(), strict=True))

    @property
    def patients(self) -> str:
        """``known`` when every case has a patient, else ``unknown``."""
        return "known" if patients_known(self.groups) else "unknown"

    @property
    def by_patient(self) -> bool:
        """True when some patient is known, so that splits keep patients apart."""
        return self.groups is not None and bool((self.groups != "").any())

    @property
    def n_patients(self) -> int | None:
        """Number of patients that are known; ``None`` where none is."""
        return len(set(self.groups.tolist()) - {""}) if self.groups is not None and self.by_patient else None

    def lesions_of(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp] | None:
        """:attr:`lesions` of the rows (k,); ``None`` where every case is a lesion of its own."""
        return None if self.lesions is None else self.lesions[rows].astype(np.intp)

    def rows(self, rows: npt.NDArray[np.intp]) -> EvaluationData:
        """The data of these rows (k,) in this order; itself if that changes nothing."""
        if len(rows) == self.n_cases and (rows == np.arange(self.n_cases)).all():
            return self
        groups = None if self.groups is None else self.groups[rows]
        units = None if self.units is None else self.units[rows]
        lesions = None if self.lesions is None else self.lesions[rows]
        ids = None if self.case_rows is None else self.case_rows[rows]
        names = None if self.case_ids is None else self.case_ids[rows]
        attributes = {name: values[rows] for name, values in self.attributes.items()}
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            groups=groups,
            case_rows=ids,
            case_ids=names,
            attributes=attributes,
            units=units,
            lesions=lesions,
            places=None if self.places is None else self.places.rows(rows),
        )

    def source_json(self) -> dict[str, Any]:
        """The ``source`` part of an evaluation's JSON."""
        return {
            "path": self.source,
            "n_cases": self.n_cases,
            "n_features": int(self.X.shape[1]),
            "findings": self.findings,
            "patients": self.patients,
            "n_patients": self.n_patients,
        }


def prepare(
    data: EvaluationData,
    *,
    findings: Mapping[str, str] | None = None,
    max_cases: int | None = None,
    seed: int = 0,
) -> EvaluationData:
    """The cases to evaluate: those with a finding, findings renamed or dropped, at most ``max_cases``.

    ``findings`` comes from :func:`semblance.core.evaluation.data.parse_findings_map`.

    Raises:
        BadArguments: a finding no case has; ``max_cases`` below the number of findings.
        BadInput: fewer than two findings are left.
    """
    data = data.rows(np.flatnonzero(data.y != ""))
    if findings:
        check_findings_map(findings, data.findings)
        y = np.array([findings.get(name, name) for name in data.y.tolist()], dtype=np.str_)
        data = replace(data, y=y).rows(np.flatnonzero(y != DROPPED))
    if len(data.findings) < 2:
        findings_text = (
            tr_lazy("only the finding '{findings}'", findings=next(iter(data.findings)))
            if data.findings
            else tr_lazy("no findings")
        )
        raise BadInput(
            tr_lazy("{data} has {has}.", data=data.name, has=findings_text),
            "Cases of at least two findings are needed to compare.",
        )
    if max_cases is not None and max_cases < data.n_cases:
        data = data.rows(stratified_sample(data.y, max_cases, seed))
    return data
