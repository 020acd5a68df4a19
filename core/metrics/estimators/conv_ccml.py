"""ConvCCML: the objective of CCML, climbed by a network of convolutions.

Im, Taylor: Learning a metric for class-conditional KNN. IJCNN 2016, Section IV. Equation numbers are theirs.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from semblance.core.metrics.class_conditional.objective import expected_accuracy_of
from semblance.core.metrics.deep.image_learner import LAYERS, TRAINED, ImageLearner
from semblance.core.metrics.deep.network_training import Codes, Hyperparameters, Objective
from semblance.core.metrics.training_data.labelled_rows import LabelledRows
from semblance.core.parameters import Parameter


class ConvCCML(ImageLearner):
    """Maximises the expected accuracy of class-conditional k-NN (Eq. 11) after convolutions (Eqs. 16, 17).

    10 maps of 5 x 5, the largest of 2 x 2, then (``layers`` = 2) 10 of 3 x 3 and pooling again, and a linear map;
    neighbours are searched within the batch. Chosen parameters are on the card.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> from semblance.core.metrics import make_learner
        >>> X, y = load_digits(return_X_y=True)
        >>> learner = make_learner("conv_ccml", layers=1, rounds=12, random_state=0).fit(X[:300], y[:300])
        >>> learner.metric().distances(X[:2], X[:300]).shape
        (2, 300)
    """

    name: ClassVar[str] = "conv_ccml"
    title: ClassVar[str] = "ConvCCML"
    paper: ClassVar[str] = "Im & Taylor 2016, Learning a metric for class-conditional KNN"
    summary: ClassVar[str] = (
        "CCML that looks at the image itself: for many labelled images, with the features 'pixels'."
    )
    parameters: ClassVar[tuple[Parameter, ...]] = (
        LAYERS,
        Parameter(
            "locality",
            "local",
            "Whom a case is held against: the nearest of each other finding (classwise), or of all others "
            "together (local).",
            choices=("classwise", "local"),
        ),
        Parameter(
            "k",
            0,
            "Nearest cases of each finding that count; 0: chosen on cases set aside.",
            minimum=0,
            maximum=50,
        ),
        *TRAINED,
    )

    def __init__(
        self,
        layers: int = 2,
        locality: str = "local",
        k: int = 0,
        rate: float = 0.0,
        decay: float = -1.0,
        components: int = 32,
        batch: int = 0,
        rounds: int = 0,
        random_state: int | None = None,
    ) -> None:
        self.layers = layers
        self.locality = locality
        self.k = k
        self.rate = rate
        self.decay = decay
        self.components = components
        self.batch = batch
        self.rounds = rounds
        self.random_state = random_state

    def _hyperparameters(self) -> tuple[Hyperparameters, ...]:
        usual = (
            Hyperparameters(3, 0.003, 1e-4, 0),
            Hyperparameters(1, 0.003, 1e-3, 0),
            Hyperparameters(5, 0.01, 1e-4, 0),
            Hyperparameters(3, 0.001, 1e-3, 0),
        )
        return tuple(choice._replace(k=self.k or choice.k) for choice in usual)

    def _objective(self, torch: Any, rows: LabelledRows, choice: Hyperparameters, seed: int) -> Objective:
        return _ExpectedAccuracy(torch, choice.k, self.locality == "local")


class _ExpectedAccuracy(Objective):
    def __init__(self, torch: Any, k: int, local: bool) -> None:
        self._torch, self._k, self._local = torch, k, local

    def loss(self, Z: Any, codes: Codes) -> tuple[float, Any]:
        finding = np.zeros(len(codes), dtype=np.intp)
        np.cumsum(codes[1:] != codes[:-1], out=finding[1:])
        output = Z.detach().numpy().astype(np.float64)
        value, slope = expected_accuracy_of(output, finding, self._k, self._local)
        # Its gradient by Z is the slope of the objective, and torch carries it on to the weights.
        return value, -(Z * self._torch.from_numpy(slope.astype(np.float32))).sum()
