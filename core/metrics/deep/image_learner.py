"""The base class of learners that train a network on images."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import finding_codes
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.metrics.card import MetricCard
from semblance.core.metrics.class_conditional.optimiser import best_hyperparameters
from semblance.core.metrics.deep.network import as_images
from semblance.core.metrics.deep.network_training import Hyperparameters, NetworkTraining, Objective
from semblance.core.metrics.deep.torch_import import import_torch, one_thread
from semblance.core.metrics.distances.convolution import ConvolutionDistance
from semblance.core.metrics.learner import Learner
from semblance.core.metrics.training import TrainingPoint, begin_card
from semblance.core.metrics.training_data.labelled_rows import LabelledRows, labelled_rows
from semblance.core.metrics.training_data.training_input import TrainingInput
from semblance.core.tasks import Reporter

_BATCH, _PASSES = 128, 12
_FEWEST_ROUNDS = 200
_POINTS = 40


class ImageLearner(Learner):
    """Trains a network of convolutions on square images. Fitted: ``distance_``."""

    layers: int
    rate: float
    decay: float
    components: int
    batch: int
    rounds: int

    def _fit(self, data: TrainingInput) -> None:
        """Train the network on ``data``, whose rows are square images.

        Raises:
            BadInput: PyTorch is not installed, rows that are not square images, fewer than two findings, or a
                training that did not converge.
            Cancelled: as :meth:`fit`.
        """
        torch = import_torch(self.title)
        found = labelled_rows(self.title, data.X, data.y)
        images = as_images(self.title, found.X, self.layers)
        patients = None
        if data.groups is not None and data.y is not None:
            patients = np.asarray(data.groups)[finding_codes(data.y)[0] >= 0]
        with one_thread(torch):
            trained, notes = self._train(torch, images, found, patients, data.reporter)
            distance = trained.network.frozen()
        if not all(np.isfinite(array).all() for array in distance.arrays().values()):
            raise BadInput("The training did not converge.", "Try a smaller rate, or leave it at 0.")
        self.distance_: ConvolutionDistance = distance
        card = begin_card(self, data, notes=notes, rounds=trained.round)
        versions = {**card.versions, "torch": str(torch.__version__)}
        self._card: MetricCard = dataclasses.replace(card, versions=versions)

    @abc.abstractmethod
    def _hyperparameters(self) -> tuple[Hyperparameters, ...]:
        """The candidates, the most usual first."""

    @abc.abstractmethod
    def _objective(self, torch: Any, rows: LabelledRows, choice: Hyperparameters, seed: int) -> Objective:
        """The objective of the network on ``rows``."""

    def _train(
        self, torch: Any, images: Any, rows: LabelledRows, groups: npt.ArrayLike | None, reporter: Reporter
    ) -> tuple[NetworkTraining, tuple[str, ...]]:
        seed, n = self.random_state or 0, len(rows.X)
        batch = self.batch or _BATCH
        rounds = self.rounds or max(_FEWEST_ROUNDS, -(-_PASSES * n // batch))
        candidates = self._candidates()
        # A quarter of the rounds each, another quarter of two, and all at the end.
        total = rounds if len(candidates) == 1 else round(rounds * (len(candidates) / 4 + 2 / 4 + 1))
        ticks = 0

        def tick() -> None:
            nonlocal ticks
            ticks += 1
            reporter.check_cancelled()
            reporter.progress(min(ticks, total), total, self.title)

        def begin(part: LabelledRows, choice: Hyperparameters) -> NetworkTraining:
            objective = self._objective(torch, part, choice, seed)
            return NetworkTraining(
                torch,
                images,
                part,
                choice,
                objective,
                layers=self.layers,
                batch=batch,
                rounds=rounds,
                seed=seed,
            )

        chosen = best_hyperparameters(rows, candidates, begin, groups=groups, seed=seed, tick=tick)
        training = begin(rows, chosen)
        notes = [_described(chosen, len(candidates) > 1)]
        while training.round < rounds:
            tick()
            training.step()
            if training.round * _POINTS // rounds > (training.round - 1) * _POINTS // rounds:
                frozen = training.network.frozen()
                reporter.partial(_point(training.round, 1.0 - training.accuracy, frozen))
            if reporter.stop_requested:
                notes.append(
                    tr_lazy(
                        "Stopped on request after {round} of {rounds} rounds.",
                        round=training.round,
                        rounds=rounds,
                    )
                )
                break
        else:
            notes.append(tr_lazy("All {rounds} rounds.", rounds=rounds))
        return training, tuple(notes)

    def _candidates(self) -> tuple[Hyperparameters, ...]:
        tried = [
            choice._replace(
                rate=self.rate or choice.rate,
                decay=choice.decay if self.decay < 0.0 else self.decay,
                components=self.components,
            )
            for choice in self._hyperparameters()
        ]
        return tuple(dict.fromkeys(tried))


def _point(number: int, objective: float, distance: ConvolutionDistance) -> TrainingPoint:
    return TrainingPoint(number, objective, lambda: distance)


def _described(choice: Hyperparameters, chosen: bool) -> str:
    neighbours = f"k = {choice.k}, " if choice.k else ""
    how = tr_lazy(", chosen on cases set aside") if chosen else ""
    return tr_lazy(
        "{neighbours}rate {rate:g}, decay {decay:g}{how}.",
        neighbours=neighbours,
        rate=choice.rate,
        decay=choice.decay,
        how=how,
    )
