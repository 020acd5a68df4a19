"""Score learners by a protocol on a library or a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from semblance.core.engine.cluster import Cluster
from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.choose_learner import DESCRIPTIONS, HEAD, Candidate
from semblance.core.evaluation.data import EvaluationData, parse_findings_map, prepare
from semblance.core.evaluation.data_sources import CaseSource, cases_not_evaluated, read_source
from semblance.core.evaluation.friedman import friedman_over, holm
from semblance.core.evaluation.protocols.protocol import AUTO, EvaluationProtocol, LearnerSpec
from semblance.core.evaluation.protocols.registry import protocol_class
from semblance.core.evaluation.result import EvaluationResult
from semblance.core.evaluation.split_file import attributes_of, split_table
from semblance.core.features.places import LEVELS
from semblance.core.language import as_lazy, count_label, join_texts, tr_lazy
from semblance.core.library.column_checks import WRITTEN_DOWN, telling_columns, telling_notes
from semblance.core.library.importers.table_file import PARAMETERS, TableFormat
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.metrics.registry import declared_learner
from semblance.core.metrics.steps.sequence import chosen_steps
from semblance.core.parameters import parse_settings
from semblance.core.research.printed_values import printed_values
from semblance.core.tasks import SILENT, PartReporter, Reporter
from semblance.core.workflows.features.fuse_features import fused_features
from semblance.core.workflows.features.region_cases import with_places

#: Settings of the protocol itself are written ``protocol.key=value``.
PROTOCOL = "protocol"


@dataclass(frozen=True)
class EvaluateRequest:
    """What to score, as on the command line; exactly one of ``library`` and ``table``. Without ``learners`` those of
    the protocol are scored, if it has some.

    ``settings`` are texts ``LEARNER.key=value``, ``protocol.key=value`` for the measuring itself, or ``key=value`` for
    how the table is written.
    """

    learners: tuple[str, ...]
    protocol: str
    library: LibraryLocation | None = None
    table: str | None = None
    features: str | None = None
    steps: str = ""
    findings: str = ""
    max_cases: int | None = None
    settings: tuple[str, ...] = ()
    repeats: int | None = None
    seed: int = 0
    #: The address of a Dask scheduler on whose workers each learner and split is measured.
    cluster: str = ""
    #: What :func:`semblance.core.evaluation.split_file.split_table` takes in place of the protocol's own splits.
    splits: Any = None
    #: Keep what single queries found.
    keeps_queries: bool = False


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was asked and measured: the ``result`` on the ``data``, made by ``extractor``.

    ``learners`` with all parameters that were set; ``left_out``: the rows of the table that could not be used;
    ``notes``: what a person should know of the data.
    """

    request: EvaluateRequest
    protocol: EvaluationProtocol
    learners: tuple[LearnerSpec, ...]
    data: EvaluationData
    extractor: str
    result: EvaluationResult
    left_out: tuple[dict[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """The JSON of CONTRACT.md, "evaluate"."""
        return _document(self.result, list(self.left_out), list(self.notes))


def evaluate(request: EvaluateRequest, *, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Run the protocol; the result has the shape of CONTRACT.md, "evaluate".

    Raises:
        BadArguments: unknown names, or not exactly one of library and table.
        BadInput: data the protocol cannot use.
    """
    return measure(request, reporter=reporter).document()


def measure(request: EvaluateRequest, *, reporter: Reporter = SILENT) -> Evaluation:
    """As :func:`evaluate`, with the splits and, where the request keeps them, what single queries found.

    Raises:
        BadArguments, BadInput: as :func:`evaluate`; or splits that name unknown cases, name one twice, miss one, or
            put a patient into two parts. The cases are listed.
    """
    protocol, specs = _parsed(request)
    return _evaluated(request, protocol, specs, reporter)


def evaluate_tables(
    request: EvaluateRequest, tables: Sequence[str], *, reporter: Reporter = SILENT
) -> dict[str, Any]:
    """Run the protocol on each of ``tables`` and compare the learners over all of them.

    ``{"tables": [what :func:`evaluate` gives, ...], "failed_tables": [{"path", "reason"}], "friedman":
    {score: {"tables", "ranks", "statistic", "p_value"}}, "holm": [{"score", "a", "b", "z", "p_value",
    "p_adjusted"}]}``: Friedman's test of the learners' ranks in each compared score, and Holm's of every two.
    A table that cannot be used is listed in ``failed_tables``, the others go on.

    Raises:
        BadArguments: unknown names, a library besides the tables, or a table named twice.
        BadInput: no table can be used.
    """
    twice = next((table for table in tables if tables.count(table) > 1), None)
    if twice is not None:
        raise BadArguments(
            tr_lazy("The table '{twice}' is named twice.", twice=twice), "Name each table once."
        )
    if request.splits is not None and not attributes_of(request.splits):
        raise BadArguments(
            "A file of splits is of one table.",
            "Name one table, or the splits by a column: --splits column:NAME.",
        )
    requests = [replace(request, table=table) for table in tables]
    read = [_parsed(one) for one in requests]
    results, documents, failed = [], [], []
    for one, (protocol, specs) in zip(requests, read, strict=True):
        try:
            found = _evaluated(one, protocol, specs, _TableReporter(reporter, str(one.table)))
        except BadInput as problem:
            failed.append({"path": one.table, "reason": str(problem)})
            continue
        results.append(found.result)
        documents.append(found.document())
    if not results:
        raise BadInput(
            "None of the tables can be used.",
            tr_lazy("The first reason: {failed}", failed=failed[0]["reason"]),
        )
    tests = friedman_over(results, results[0].compared)
    return {
        "tables": documents,
        "failed_tables": failed,
        "friedman": {
            test.score: {key: value for key, value in test.to_json().items() if key != "score"}
            for test in tests
        },
        "holm": [pair.to_json() for test in tests for pair in holm(test)],
    }


class _TableReporter(PartReporter):
    """Progress with the name of the table it is made on."""

    def __init__(self, whole: Reporter, table: str) -> None:
        super().__init__(whole)
        self._table = Path(table).name

    def progress(self, done: int, total: int | None, what: str) -> None:
        self._whole.progress(done, total, join_texts([self._table, as_lazy(what)], ": "))

    def partial(self, result: object) -> None:
        self._whole.partial(result)


def _parsed(request: EvaluateRequest) -> tuple[EvaluationProtocol, list[LearnerSpec]]:
    """The requested protocol and learners, made before any data is read."""
    if (request.library is None) == (request.table is None):
        raise BadArguments("Specify what to evaluate.", "Give either a library or --table.")
    chosen = protocol_class(request.protocol)
    _table_format(request)
    request = replace(request, learners=request.learners or chosen.default_learners)
    settings = _settings(request)
    protocol = chosen(**parse_settings(PROTOCOL, chosen.parameters, settings.pop(PROTOCOL)))
    if request.splits is not None:
        protocol.check_splits()
    return protocol, [
        LearnerSpec(
            name,
            parse_settings(
                name, () if name in (*chosen.baselines, AUTO) else declared_learner(name).parameters, texts
            ),
        )
        for name, texts in settings.items()
    ]


def _evaluated(
    request: EvaluateRequest, protocol: EvaluationProtocol, specs: Sequence[LearnerSpec], reporter: Reporter
) -> Evaluation:
    reporter.progress(0, None, "Reading")
    features = request.features
    if request.library is not None:
        features = fused_features(request.library, features, reporter)
    chooses = any(spec.name == AUTO for spec in specs)
    if chooses and request.steps:
        raise BadArguments("'auto' chooses the steps too.", "Leave --steps out, or name the learners.")
    levels = levels_of(request.library, features) if request.library is not None and chooses else ""
    source = CaseSource(request.library, request.table, levels or features, _table_format(request))
    attributes = (*protocol.attributes, *attributes_of(request.splits))
    read, extractor, left_out = read_source(source, tuple(dict.fromkeys(attributes)))
    data = read
    if protocol.needs_places:
        if request.library is None:
            raise BadArguments("A table has no images to search in.", "Name a library instead of --table.")
        data = with_places(request.library, features, data, whole=True, reporter=reporter)
    specs = [replace(spec, extractor=extractor) if spec.name == AUTO else spec for spec in specs]
    renamed = parse_findings_map(request.findings) if request.findings else None
    data = prepare(data, findings=renamed, max_cases=request.max_cases, seed=request.seed)
    notes = list(data.notes)
    protocol.keeps_queries = request.keeps_queries
    if request.splits is not None:
        known = None if request.library is None else cases_not_evaluated(request.library)
        given = split_table(request.splits, data, read, known)
        protocol.take_splits(given)
        notes += given.notes
    if extractor in WRITTEN_DOWN:
        notes += telling_notes(data.feature_names, telling_columns(data.X, data.y.tolist()), data.source)
    # Beside the choice among descriptions the other learners get the features that were named.
    steps = chosen_steps(DESCRIPTIONS[HEAD] if levels else request.steps, extractor, data.made_by)
    with Cluster(request.cluster) if request.cluster else nullcontext() as cluster:
        result = protocol.run(
            data,
            specs,
            steps=steps,
            repeats=request.repeats,
            seed=request.seed,
            reporter=reporter,
            cluster=cluster,
        )
    if request.splits is not None:
        notes.append(tr_lazy("Split: {rule}.", rule=result.split.rule))
    learners = tuple(protocol.as_in_the_paper(spec) for spec in specs)
    return Evaluation(request, protocol, learners, data, extractor, result, tuple(left_out), tuple(notes))


def levels_of(library: LibraryLocation, features: str | None) -> str:
    """The name of the encoder's levels that were measured with a feature set, of all its cases; "" if there are none.

    Raises:
        BadArguments, BadInput: there is no such set.
    """
    with open_library(library) as opened:
        feature_set = opened.features.get(features)
        levels = opened.features.part(feature_set, LEVELS)
        if levels is None:
            return ""
        whole = np.array_equal(opened.features.cases_of(feature_set), opened.features.cases_of(levels))
        return levels.name if whole else ""


def _document(result: EvaluationResult, left_out: list[dict[str, str]], notes: list[str]) -> dict[str, Any]:
    """The result as JSON, each learner with what the protocol's paper prints of it on the same data."""
    document = result.to_json()
    source = document["source"]
    shape = source["n_cases"], source["n_features"]
    for one in document["results"]:
        values = printed_values(
            document["protocol"], shape, source["findings"], one["learner"], one["params"]
        )
        one["printed"] = [value.to_json() for value in values]
    if left_out:
        document["source"]["left_out"] = left_out
    notes = [*notes, *_choices(document)]
    if notes:
        document["notes"] = notes
    return document


def _choices(document: Mapping[str, Any]) -> list[str]:
    """What ``auto`` chose, most often first."""
    chosen = Counter(
        Candidate(one["learner"], one["description"]).title
        for result in document["results"]
        if result["learner"] == AUTO
        for one in result["params"]["chosen"]
    )
    if not chosen:
        return []
    counts = join_texts(count_label(n, title) for title, n in chosen.most_common())
    return [tr_lazy("Chosen by validation: {choices}.", choices=counts)]


def _settings(request: EvaluateRequest) -> dict[str, list[str]]:
    """``key=value`` texts by learner, and of the protocol."""
    if not request.learners:
        raise BadArguments("No learner is named.", "Use --learner euclidean,bdm_v, for example.")
    learner_settings = [text for text in request.settings if not _is_of_table(text)]
    return settings_by_name(request.learners, learner_settings)


def _is_of_table(text: str) -> bool:
    """Whether a setting describes the format of a table."""
    return text.partition("=")[0] in {parameter.name for parameter in PARAMETERS}


def _table_format(request: EvaluateRequest) -> TableFormat | None:
    """
    Raises:
        BadArguments: a value that is not allowed, or no table.
    """
    texts = [text for text in request.settings if _is_of_table(text)]
    if texts and request.table is None:
        raise BadArguments(
            tr_lazy("'{value}' is a setting of a table.", value=texts[0]), "Leave it out, or name a --table."
        )
    return TableFormat.of(parse_settings("a table", PARAMETERS, texts)) if texts else None


def settings_by_name(learners: Sequence[str], settings: Sequence[str]) -> dict[str, list[str]]:
    """``NAME.key=value`` texts apart by name: of each learner, and of the protocol.

    Raises:
        BadArguments: a text that names neither.
    """
    own: dict[str, list[str]] = {name: [] for name in (*learners, PROTOCOL)}
    for text in settings:
        name, dot, rest = text.partition(".")
        if not dot or name not in own:
            raise BadArguments(
                tr_lazy("'{value}' does not name one of the learners.", value=text),
                "Write NAME.key=value with a learner evaluated, or protocol.key=value.",
            )
        own[name].append(rest)
    return own
