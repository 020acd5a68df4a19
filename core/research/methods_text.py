"""The paragraph of methods of an evaluation or an experiment: what a journal asks, in English, with the references.

It says what was done and nothing of what was found. Nothing in it is a guess: what is not known is not said, or said to
be unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from semblance.core.errors import BadArguments
from semblance.core.evaluation.protocols.protocol import AUTO
from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.metrics.citations import Citation, citations, program_citation
from semblance.core.metrics.declarations import LearnerDeclaration
from semblance.core.metrics.registry import declared_learner
from semblance.core.metrics.score_titles import score_title
from semblance.core.plugins import used_plugins

#: What each score is, by the start of its name; the longest start counts.
_DEFINITIONS = {
    "retrieval_accuracy": "the share of the k nearest cases that have the finding of the query, mean over queries",
    "macro_retrieval_accuracy": "retrieval accuracy as the mean over findings of the means over their queries",
    "worst_finding": "the lowest of these means over findings",
    "auc": "the area under the receiver operating characteristic of one finding against the rest, by the share of the "
    "finding among the 10 nearest training cases, mean over findings",
    "knn_accuracy": "the share of tested cases whose finding is the majority of the k nearest training cases; findings "
    "that tie share the credit",
    "knn_error": "1 less the share of tested cases whose finding is the majority of the k nearest training cases, k "
    "chosen on the training part where none is named; findings that tie share the credit",
    "balanced_error": "the k-NN error as the mean over findings",
    "balanced_knn_error": "the k-NN error as the mean over findings",
    "validation_knn_error": "the k-NN error of the validation part",
    "ccknn_error": "the error of the finding whose own k nearest training cases are nearest in mean",
    "triplet_accuracy": "the share of all triplets (i, j, k) of tested cases, j with the finding of i and k with "
    "another, in which j is nearer to i than k is; a tie is an error",
    "ndcg": "normalised discounted cumulative gain of the k nearest cases, a case of the query's finding gains 1",
    "map@r": "the mean over the first R ranks of the precision at ranks with the query's finding, R the number of such "
    "cases",
    "acc@1": "the share of queries whose nearest case has their finding",
    "mmv@5": "the share of queries whose finding is the most frequent of the five nearest",
    "map@5": "the mean of the precision at each hit among the five nearest, 0 without a hit",
    "knn_accuracy@11": "the share of queries whose finding is the most frequent of the eleven nearest",
    "residual_precision": "the share of the query's finding among the 20 best cases that were not marked, after the "
    "first N of the ranking were marked by their findings",
    "auc_distance": "the area under the ROC curve of telling pairs of one finding from pairs of two by their distance",
    "auc_marginal": "the same by the votes of the nearest training cases of both",
    "pair_accuracy": "the share of pairs told apart at the threshold that is best on pairs of the training part",
    "hit_rate": "the share of queries with a match among the first k",
}


@dataclass(frozen=True)
class MeasuredCases:
    """Cases as a text of methods names them; ``source`` as an evaluation's JSON has it. ``rule``: how they were split,
    with the mean numbers ``n_train`` and ``n_test``."""

    name: str
    source: Mapping[str, Any]
    features: str = ""
    rule: str = ""
    by_patient: bool = False
    n_train: float = 0.0
    n_test: float = 0.0
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class MeasuredLearner:
    """A learner, its parameters, the steps before it, and the ``grid`` that parameters were chosen from."""

    learner: str
    params: Mapping[str, Any] = field(default_factory=dict)
    steps: str = ""
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class MeasuredProtocol:
    """A protocol, its settings and the number of repeats, 0 where the splits are given."""

    protocol: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    repeats: int = 0


@dataclass(frozen=True)
class Methods:
    """All that a text of methods says; ``chosen_by``: how values of grids were chosen; ``over_tables``: learners are
    compared over several tables too."""

    cases: Sequence[MeasuredCases]
    learners: Sequence[MeasuredLearner]
    protocols: Sequence[MeasuredProtocol]
    seed: int
    versions: Mapping[str, Any]
    chosen_by: str = ""
    compared: bool = False
    over_tables: bool = False


def methods_text(methods: Methods) -> str:
    """The paragraphs, the references, and their BibTeX."""
    cited = _cited(methods)
    paragraphs = [
        f"Data. {' '.join(_data(one) for one in methods.cases)}",
        f"Splits. {_splits(methods)}",
        f"Learners. {' '.join(_learner(one) for one in methods.learners)}{_choice(methods)}",
        f"Scores. {' '.join(_protocol(one) for one in methods.protocols)}",
        f"Statistics. {_statistics(methods)}",
        f"Software. {_software(methods)}",
    ]
    references = [f"{place}. {one.reference}" for place, one in enumerate(cited, 1)]
    bibtex = "\n\n".join(one.text for one in cited)
    return "\n\n".join([*paragraphs, "References", "\n".join(references), "BibTeX", bibtex]) + "\n"


def _cited(methods: Methods) -> tuple[Citation, ...]:
    declared = dict.fromkeys(
        one for learner in methods.learners if (one := _declaration(learner.learner)) is not None
    )
    return (*citations(declared), program_citation())


def _declaration(name: str) -> type[LearnerDeclaration] | None:
    """``None`` for baselines and choices, which are no learners."""
    try:
        return declared_learner(name)
    except BadArguments:
        return None


def _data(one: MeasuredCases) -> str:
    source = one.source
    findings = ", ".join(f"{name} ({n:,})" for name, n in source["findings"].items())
    patients = source.get("n_patients")
    if source["patients"] == "known" and patients:
        who = f" of {patients:,} patients"
    elif patients:
        who = f", of some of which the patient is known ({patients:,} patients)"
    else:
        who = " (patients unknown: each case counts as a patient of its own)"
    features = f"{source['n_features']:,} features{f' ({one.features})' if one.features else ''}"
    notes = f" {' '.join(str(note) for note in one.notes)}" if one.notes else ""
    return f"{one.name}: {source['n_cases']:,} cases{who}, with {features}; findings: {findings}.{notes}"


def _splits(methods: Methods) -> str:
    found = []
    for one in methods.cases:
        if not one.rule:
            continue
        where = f"{one.name}: " if len(methods.cases) > 1 else ""
        side = (
            "No patient is in two parts of a split."
            if one.by_patient
            else "Cases are split, because their patients are not known."
        )
        found.append(
            f"{where}{_capital(one.rule) if not where else one.rule}; {one.n_train:,.5g} cases to train on and "
            f"{one.n_test:,.5g} tested, on average. {side}"
        )
    repeats = [f"{one.protocol}: {one.repeats}" for one in methods.protocols if one.repeats]
    several = len(methods.protocols) > 1
    if repeats:
        found.append(f"Repeats: {', '.join(repeats) if several else repeats[0].partition(': ')[2]}.")
    found.append(
        "Steps and learners are fitted on the training part of each split only; a validation part, where there is one, "
        "serves choices only, and the tested part is used for scores only."
    )
    return " ".join(found)


def _learner(one: MeasuredLearner) -> str:
    declaration = _declaration(one.learner)
    if one.learner == AUTO:
        return (
            "The learner and the description of the cases are chosen in each split by validation inside its training "
            "part, or on its validation part."
        )
    title = one.learner if declaration is None else f"{declaration.title} ({one.learner})"
    paper = f", {declaration.paper}" if declaration is not None and declaration.paper else ""
    values = ", ".join(f"{name} = {value}" for name, value in one.params.items() if name not in one.grid)
    grid = "; ".join(f"{name} from {', '.join(map(str, values))}" for name, values in one.grid.items())
    parts = [
        f"parameters: {values}" if values else "no parameters",
        *([f"chosen: {grid}"] if grid else []),
        *([f"after the steps {one.steps}"] if one.steps else []),
    ]
    return f"{title}{paper}: {'; '.join(parts)}."


def _choice(methods: Methods) -> str:
    if not any(one.grid for one in methods.learners):
        return " The program chose none of the parameters by the scores that are reported."
    return f" Parameters of a grid are chosen inside each training part by {methods.chosen_by}."


def _protocol(one: MeasuredProtocol) -> str:
    chosen = protocol_class(one.protocol)
    settings = ", ".join(f"{name} = {value}" for name, value in one.settings.items())
    names = dict.fromkeys(name.partition("@")[0] if "@" in name else name for name in chosen.compared)
    definitions = []
    for name in names:
        full = next(score for score in chosen.compared if score.startswith(name))
        key = max((key for key in _DEFINITIONS if full.startswith(key)), key=len, default="")
        if key:
            definitions.append(f"{str(score_title(full)).partition(' @')[0]}: {_DEFINITIONS[key]}")
    after = f", after {chosen.paper}" if chosen.paper else ""
    text = f"Protocol '{one.protocol}'{f' ({settings})' if settings else ''}{after}."
    return f"{text} {_capital('; '.join(definitions))}." if definitions else text


def _statistics(methods: Methods) -> str:
    found = [
        "Scores are means over splits with 95 % intervals of Student's t; of a single split the interval, where one is "
        "given, is the percentile bootstrap over queries, drawing whole patients where they are known (1,000 draws)."
    ]
    if methods.compared:
        found.append(
            "Learners are compared on the same splits by the corrected resampled t-test (Nadeau and Bengio 2003), "
            "two-sided, without a correction for several comparisons."
        )
    if methods.over_tables:
        found.append(
            "Over tables learners are compared by Friedman's test of their ranks, and every two by Holm's procedure "
            "(Demsar 2006)."
        )
    return " ".join(found)


def _software(methods: Methods) -> str:
    program = program_citation().fields["version"]
    versions = ", ".join(
        f"{name} {version}" for name, version in methods.versions.items() if name != "semblance"
    )
    used = used_plugins(
        [
            *(("protocol", one.protocol) for one in methods.protocols),
            *(("learner", one.learner) for one in methods.learners),
        ]
    )
    plugins = "".join(
        f" The {one.kind} '{one.name}' is a plug-in of the package {one.package} {one.version}."
        for one in used
    )
    return (
        f"Semblance {methods.versions.get('semblance', program)}, with {versions}.{plugins} Seed {methods.seed}: the "
        "same program and seed give the same numbers."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
