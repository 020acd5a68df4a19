"""Measure every learner on every kind of features over a folder of image sets."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semblance.core.errors import BadArguments, BadInput
from semblance.core.files import make_folder, write_file
from semblance.core.language import tr_lazy
from semblance.core.library.export_log import log_export
from semblance.core.library.location import LibraryLocation
from semblance.core.library.open_library import open_library
from semblance.core.metrics.registry import declared_learner, learners
from semblance.core.research.learner_ranks import (
    rank_table,
    rank_table_csv,
    rank_table_figures,
    rank_table_markdown,
    with_rows,
)
from semblance.core.research.spec import ExperimentSpec
from semblance.core.tasks import SILENT, Reporter
from semblance.core.workflows.features.extract_features import extract_features
from semblance.core.workflows.library.import_source import import_source
from semblance.core.workflows.research.experiments import export_experiment, run_experiment

#: Subfolders of the yardstick.
LIBRARIES, EXPERIMENT, EXPORT = "libraries", "experiment", "export"
GABOR, CLASSICAL, ENCODER = "gabor", "classical", "encoder"
#: Without outlines and with them.
_CLASSICAL_EXTRACTORS = ("colour_edge_texture", "mass")
#: Normal mammograms have no region, and the scale of their crops would distinguish them from those with a finding.
_MAMMOGRAMS = "normal=-"
_SUFFIXES = (".zip", ".npz")
_BLOCK = 1 << 20


@dataclass(frozen=True)
class RankLearnersRequest:
    """``images``: a folder of image sets (zip, npz or folders). ``max_cases`` of each set are drawn, by ``seed``.

    ``learners`` empty: all that need no extra.
    """

    images: Path
    out: Path
    learners: tuple[str, ...] = ()
    repeats: int = 5
    max_cases: int = 500
    seed: int = 0


def rank_learners(
    request: RankLearnersRequest,
    *,
    add: Sequence[Path] = (),
    workers: int | None = None,
    reporter: Reporter = SILENT,
) -> dict[str, Any]:
    """Prepare a library for each image set in ``out``, measure the unfinished cells, and write the results.

    ``add``: files ``rank_table.json`` of other runs on the same images, whose rows join the table. A call with an
    existing ``out`` continues it. Whole patients and same-lesion groups are on one side of a split where they are
    known.

    Raises:
        BadArguments: an unknown learner.
        BadInput: no image set can be used, or a file to add was measured with other settings.
        SemblanceError: a folder cannot be written.
        Cancelled: the reporter was cancelled; finished parts stay.
    """
    names = request.learners or tuple(one.name for one in learners() if not one.needs)
    for name in names:
        declared_learner(name)
    make_folder(request.out, private=False)
    make_folder(request.out / LIBRARIES)
    image_sets, cases, skipped = _prepared(request, workers, reporter)
    if not cases:
        raise BadInput(
            tr_lazy("No image set in {folder} can be used.", folder=request.images),
            tr_lazy(
                "The first reason: {reason}",
                reason=next(iter(skipped.values()), tr_lazy("the folder is empty")),
            ),
        )
    protocol = {"protocol": "full", "settings": {"draws": 0}, "repeats": request.repeats}
    spec = ExperimentSpec.from_json(
        {
            "name": "yardstick",
            "cases": cases,
            "learners": list(names),
            "protocols": [protocol],
            "seed": request.seed,
        }
    )
    document = run_experiment(spec, request.out / EXPERIMENT, workers=workers, reporter=reporter)
    found = rank_table(
        document, image_sets, {**protocol, "seed": request.seed, "max_cases": request.max_cases}
    )
    for file in add:
        found = with_rows(found, _read(file), file.name)
    found["skipped"] = skipped
    export_experiment(request.out / EXPERIMENT, request.out / EXPORT, plots=False, reporter=reporter)
    files = {
        "yardstick.json": (json.dumps(found, indent=1, ensure_ascii=False) + "\n").encode(),
        "yardstick.csv": rank_table_csv(found).encode(),
        "yardstick.md": rank_table_markdown(found).encode(),
        **{
            name: content
            for form in ("svg", "pdf", "png")
            for name, content in rank_table_figures(found, form).items()
        },
    }
    for name, content in files.items():
        write_file(request.out / name, content, private=False)
    for image_set in image_sets:
        log_export(_library(request, image_set), "yardstick", "tables and plots", files=len(files))
    return {**found, "cells": document["cells"], "files": [str(request.out / name) for name in files]}


def _library(request: RankLearnersRequest, image_set: str) -> Path:
    return request.out / LIBRARIES / f"{image_set}.semblance"


def _prepared(
    request: RankLearnersRequest, workers: int | None, reporter: Reporter
) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]], dict[str, str]]:
    """The image sets by name with their facts, the cases of the experiment, and the reason of each set left out."""
    image_sets: dict[str, dict[str, Any]] = {}
    cases: list[dict[str, Any]] = []
    skipped: dict[str, str] = {}
    for source in _sources(request.images):
        name = source.stem
        library = _library(request, name)
        try:
            import_source(source, library, reporter=reporter)
            facts = _facts(library, source)
            for features, extractor in (
                (GABOR, "gabor"),
                (CLASSICAL, _CLASSICAL_EXTRACTORS[facts["outlined"]]),
                (ENCODER, "encoder"),
            ):
                extract_features(library, extractor, name=features, workers=workers, reporter=reporter)
        except (BadInput, BadArguments) as problem:
            skipped[source.name] = str(problem)
            continue
        image_sets[name] = facts
        common = {"library": str(library.absolute()), "max_cases": request.max_cases}
        findings = {"findings": _MAMMOGRAMS} if facts["mammograms"] else {}
        cases += [{**common, **findings, "features": features} for features in (GABOR, CLASSICAL, ENCODER)]
    return image_sets, cases, skipped


def _sources(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as problem:
        raise BadInput(
            tr_lazy("{folder} cannot be read: {reason}.", folder=folder, reason=problem.strerror or problem),
            "Give a folder of image sets: zip or npz files, or folders of images.",
        ) from problem
    return [
        entry
        for entry in entries
        if not entry.name.startswith(".") and (entry.is_dir() or entry.suffix.lower() in _SUFFIXES)
    ]


def _facts(library: LibraryLocation, source: Path) -> dict[str, Any]:
    """The identity of an image set and the facts of its cases.

    Raises:
        BadInput: fewer than two findings.
    """
    with open_library(library) as opened:
        rows = opened.catalogue.all_cases()
        kinds = {one.kind for one in opened.catalogue.sources()}
        details = opened.catalogue.details([row.id for row in rows])
    mammograms = "mammograms" in kinds
    findings = sorted(
        {row.finding for row in rows if row.finding and not (mammograms and row.finding == "normal")}
    )
    if len(findings) < 2:
        raise BadInput(
            tr_lazy("{source} has fewer than two findings.", source=source.name), "Give images with findings."
        )
    known = any(row.patient for row in rows)
    patients = tr_lazy("held-out patients") if known else tr_lazy("held-out cases, unknown patients")
    return {
        "sha256": _digest(source),
        "cases": len(rows),
        "findings": findings,
        "mammograms": mammograms,
        "outlined": any(one.region is not None for one in details.values()),
        "note": tr_lazy(
            "{n} cases, {findings} findings, {patients}",
            n=len(rows),
            findings=len(findings),
            patients=patients,
        ),
    }


def _digest(source: Path) -> str:
    """The SHA-256 of a file, or of the names and contents of the files in a folder."""
    digest = hashlib.sha256()
    files = [source] if source.is_file() else sorted(one for one in source.rglob("*") if one.is_file())
    for file in files:
        if file != source:
            digest.update(file.relative_to(source).as_posix().encode())
        with file.open("rb") as opened:
            while block := opened.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()


def _read(file: Path) -> Mapping[str, Any]:
    try:
        values = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise BadInput(
            tr_lazy("{file} is no result of a yardstick.", file=file), "Give a file yardstick.json."
        ) from problem
    if not isinstance(values, dict):
        raise BadInput(
            tr_lazy("{file} is no result of a yardstick.", file=file), "Give a file yardstick.json."
        )
    return values
