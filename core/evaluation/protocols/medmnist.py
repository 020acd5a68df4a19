"""The official parts of MedMNIST and of sets like it: the training part is searched with the test part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadArguments, BadInput
from semblance.core.evaluation.data import EvaluationData, prepare
from semblance.core.evaluation.intervals import over_queries
from semblance.core.evaluation.protocols.protocol import (
    EvaluationPlan,
    MetricTrial,
    SplitProtocol,
    repeat_seed,
)
from semblance.core.evaluation.query_records import TRAINING, QueryRecords
from semblance.core.evaluation.result import MeasuredScores, QueryScores
from semblance.core.evaluation.scores import Matrix, Rows
from semblance.core.evaluation.search_rankings import Gallery, SearchRankings, search_rankings
from semblance.core.evaluation.split_file import OFFICIAL_ATTRIBUTES, PART_WORDS
from semblance.core.evaluation.splits import HoldOut, patient_codes
from semblance.core.language import tr_lazy

#: Attribute of a case whose file gives each image several labels at once.
SEVERAL_LABELS = "labels_at_once"
_PARTS = ("train", "validation", "test")
#: The nearest cases that are counted by Mahbod et al., and that vote by Doerrich et al.
NEAREST, VOTERS = 5, 11
_SCORES = ("acc@1", f"mmv@{NEAREST}", f"map@{NEAREST}", f"knn_accuracy@{VOTERS}")


class MedMNISTProtocol(SplitProtocol):
    """Queries are the official test part, the gallery is the official training part, on which learners are fitted.

    ``acc@1``: the nearest case has the query's finding. ``mmv@5``: the most frequent finding of the five nearest is
    the query's. ``map@5``: the mean over queries of the sum of the precision at each hit among the five nearest,
    divided by the number of hits; 0 without a hit. ``knn_accuracy@11``: as ``mmv@5`` of the eleven nearest. Of equally
    frequent findings that whose first case is nearer counts. Intervals are 95 % by bootstrap over queries, of whole
    patients where they are known. The test part is measured once; ``--learner auto`` chooses by the mean of the four
    scores with the validation part as queries.
    """

    name: ClassVar[str] = "medmnist"
    title: ClassVar[str] = "Official parts (MedMNIST)"
    paper: ClassVar[str] = (
        "A. Mahbod et al., Evaluating pre-trained convolutional neural networks and foundation models as feature "
        "extractors for content-based medical image retrieval, Engineering Applications of Artificial Intelligence "
        "150, 2025; S. Doerrich et al., Rethinking model prototyping through the MedMNIST+ dataset collection, "
        "Scientific Reports 15, 2025 (11-NN)"
    )
    summary: ClassVar[str] = (
        "The official test part searches the official training part: the nearest case, the majority of five, average "
        "precision among five, 11-NN; with intervals over the queries."
    )
    repeats: ClassVar[int] = 1
    compared: ClassVar[tuple[str, ...]] = _SCORES
    attributes: ClassVar[tuple[str, ...]] = (*OFFICIAL_ATTRIBUTES, SEVERAL_LABELS)
    chosen_by: ClassVar[tuple[str, ...]] = _SCORES

    def checked_repeats(self, repeats: int | None) -> int:
        """One, because the parts are given.

        Raises:
            BadArguments: another number.
        """
        if repeats not in (None, 1):
            raise BadArguments("The official parts give one repeat.", "Leave --repeats out.")
        return 1

    def splits(self, data: EvaluationData, repeats: int, seed: int) -> tuple[str, list[HoldOut]]:
        """The official parts.

        Raises:
            BadInput: the cases have none, or several labels at once.
        """
        several = data.attributes.get(SEVERAL_LABELS)
        if several is not None and (several != "").any():
            raise BadInput(
                tr_lazy("{data} has images with several labels at once.", data=data.name),
                "The protocol 'medmnist' measures one finding for each image. Choose a set with one label.",
            )
        train, validation, test = _parts(data)
        units = patient_codes(data.units, data.n_cases)
        rule = tr_lazy(
            "official parts: {train:,} to search in, {validation:,} to choose by, {test:,} tested",
            train=len(train),
            validation=len(validation),
            test=len(test),
        )
        copies = 0 if units is None else int(np.isin(units[test], units[train]).sum())
        if copies:
            rule = tr_lazy("{rule}; {n:,} of these have a copy among the first", rule=rule, n=copies)
        return rule, [HoldOut(train, test, data.by_patient, seed, validation)]

    def plan(
        self, data: EvaluationData, repeats: int | None, seed: int, learners: Sequence[str] = ()
    ) -> EvaluationPlan:
        """As :meth:`SplitProtocol.plan`; parts may have copies of an image, which are counted, but no patient."""
        data = prepare(data)
        parted = self.parted(data, repeats, seed)
        return EvaluationPlan(
            replace(data, units=data.groups),
            data,
            parted.rule,
            parted.splits,
            self.measure,
            parted.per_repeat,
            **self.plan_options(parted),
        )

    def given_seed(self, seed: int, repeat: int) -> int:
        """The seed itself, as of the official parts, and others for further repeats."""
        return repeat_seed(seed, repeat) if repeat else seed

    def measure(self, trial: MetricTrial) -> MeasuredScores:
        """The four scores of searches in the training part."""
        data, split = trial.data, trial.split
        rows = np.concatenate([split.train, split.test])
        # Tested cases must not answer each other, so they are of one patient.
        groups = np.where(np.arange(len(rows)) < len(split.train), "", "tested")
        gallery = Gallery.of(
            trial.metric, replace(data.rows(rows), groups=groups, units=groups, lesions=None)
        )
        queries = np.arange(len(split.train), len(rows))
        rankings = search_rankings(gallery, queries, VOTERS, reporter=trial.reporter)
        voted = rankings.voted() == rankings.findings[:, np.newaxis]
        hits = rankings.nearest_findings == rankings.findings[:, np.newaxis]
        depth = hits.shape[1]
        values = np.stack(
            [
                hits[:, 0],
                voted[:, min(NEAREST, depth) - 1],
                average_precision(hits[:, :NEAREST]),
                voted[:, min(VOTERS, depth) - 1],
            ],
            axis=1,
        ).astype(np.float64)
        patients = patient_codes(data.groups, data.n_cases)
        mean, low, high = over_queries(
            values, seed=split.seed, groups=None if patients is None else patients[split.test]
        )
        ends = zip(_SCORES, low.tolist(), high.tolist(), strict=True)
        return MeasuredScores(
            dict(zip(_SCORES, mean.tolist(), strict=True)),
            intervals={name: {"bootstrap": (least, most)} for name, least, most in ends},
            queries=QueryScores(_SCORES[0], split.test, values[:, 0]),
            records=_records(trial, rankings, rows, patients) if trial.keeps_queries else None,
        )


def _records(trial: MetricTrial, rankings: SearchRankings, rows: Rows, patients: Rows | None) -> QueryRecords:
    """What the queries of ``rankings`` found in the training part; ``rows`` are those of its gallery in the data."""
    ks = [k for k in (*range(1, NEAREST + 1), VOTERS) if k <= rankings.nearest.shape[1]]
    at = [k - 1 for k in ks]
    # A finding that no searched or tested case has is none of the gallery.
    names = np.unique(trial.data.y).tolist()
    number = np.array([names.index(name) for name in rankings.gallery.names], dtype=np.intp)
    votes = np.zeros((len(rankings.queries), len(ks), len(names)))
    for place, k in enumerate(ks):
        votes[:, place, number] = np.nan_to_num(rankings.shares(k))
    voted = rankings.voted()[:, at]
    hits = np.cumsum(rankings.nearest_findings == rankings.findings[:, np.newaxis], axis=1)
    return QueryRecords(
        TRAINING,
        trial.split.test,
        tuple(ks),
        hits[:, at].astype(np.float64),
        np.cumsum((rankings.nearest >= 0).astype(np.intp), axis=1)[:, at],
        np.where(rankings.nearest >= 0, rows[rankings.nearest], -1)[:, : ks[-1]],
        trial.split.test if patients is None else patients[trial.split.test],
        votes,
        np.where(voted >= 0, number[voted], -1),
    )


def average_precision(hits: npt.NDArray[np.bool_]) -> Matrix:
    """(q,) of ``hits`` (q, k) in the order of the ranking: the mean of the precision at each hit; 0 without a hit."""
    precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    count = hits.sum(axis=1)
    mean: Matrix = (precision * hits).sum(axis=1) / np.maximum(count, 1)
    return mean


def _parts(data: EvaluationData) -> list[npt.NDArray[np.intp]]:
    """The rows of the training, the validation and the test part.

    Raises:
        BadInput: a case is in none, or no case is in the training or the test part.
    """
    named = (data.attributes[name] for name in OFFICIAL_ATTRIBUTES if name in data.attributes)
    written = next((one for one in named if (one != "").any()), None)
    if written is None:
        raise BadInput(
            tr_lazy("{data} does not say which part (train, val, test) a case is of.", data=data.name),
            "Import an .npz file of MedMNIST, or give the cases of a table a column 'part'.",
        )
    words = np.char.lower(np.char.strip(written))
    found = [np.flatnonzero(np.isin(words, PART_WORDS[part])) for part in _PARTS]
    left = np.setdiff1d(np.arange(data.n_cases), np.concatenate(found))
    if len(left):
        raise BadInput(
            tr_lazy(
                "{n:,} cases of {data} are of no known part, the first of '{part}'.",
                n=len(left),
                data=data.name,
                part=str(written[left[0]]),
            ),
            "Name the parts train, val and test.",
        )
    for name, rows in zip(_PARTS, found, strict=True):
        if not len(rows) and name != "validation":
            raise BadInput(
                tr_lazy("{data} has no case of the part '{part}'.", data=data.name, part=name),
                "The training part is searched with the test part, so both are needed.",
            )
    return found
