"""Read the cases that an experiment names."""

from __future__ import annotations

from collections.abc import Sequence

from semblance.core.evaluation.data import prepare
from semblance.core.evaluation.data_sources import Source, read_source
from semblance.core.evaluation.findings_map import parse_findings_map
from semblance.core.language import tr_lazy
from semblance.core.library.location import library_location
from semblance.core.research.cases import ExperimentCases
from semblance.core.research.count_near_duplicates import count_near_duplicates
from semblance.core.research.spec import CasesSpec
from semblance.core.research.transfer import joined_sides


def read_cases(spec: CasesSpec, attributes: Sequence[str], seed: int) -> ExperimentCases:
    """The cases that ``spec`` names, with findings renamed, and at most the number requested.

    Raises:
        BadArguments: an unknown feature set, built-in table or finding.
        BadInput: data that cannot be read, or two sides that overlap or do not fit together.
    """
    cases = _one_source(spec, attributes, seed)
    if spec.test is None:
        return cases
    return joined_sides(spec, spec.test, cases, _one_source(spec.test, attributes, seed))


def _one_source(spec: CasesSpec, attributes: Sequence[str], seed: int) -> ExperimentCases:
    library = None if spec.library is None else library_location(spec.library)
    data, extractor, left_out = read_source(Source(library, spec.table, spec.features), attributes)
    renamed = parse_findings_map(spec.findings) if spec.findings else None
    data = prepare(data, findings=renamed, max_cases=spec.max_cases, seed=seed)
    notes: tuple[str, ...] = ()
    if left_out:
        notes += (tr_lazy("{n} rows of {data} could not be used.", n=len(left_out), data=data.name),)
    n_duplicates = (
        count_near_duplicates(library, data) if library is not None and data.patients != "known" else 0
    )
    if n_duplicates:
        notes += (
            tr_lazy(
                "{n} cases of {data} are near-duplicates of cases that may be of the same patient. Patients are "
                "unknown, so scores may be too high.",
                n=n_duplicates,
                data=data.name,
            ),
        )
    return ExperimentCases(data, extractor, notes=notes)
