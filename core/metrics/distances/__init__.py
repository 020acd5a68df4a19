"""The forms a frozen distance can take, found again by their kind."""

from __future__ import annotations

from core.metrics.distance import Distance
from core.metrics.distances.bits import BitDistance
from core.metrics.distances.city_block import CityBlockDistance
from core.metrics.distances.clicked import ClickedDistance
from core.metrics.distances.convolution import ConvolutionDistance
from core.metrics.distances.kernel_bits import KernelBitDistance
from core.metrics.distances.linear import LinearDistance
from core.metrics.distances.mapped import MappedDistance
from core.metrics.distances.mixtures import MixtureDistance
from core.metrics.distances.signed import SignedDistance
from core.metrics.distances.votes import VoteDistance

DISTANCES: tuple[type[Distance], ...] = (
    LinearDistance,
    BitDistance,
    MappedDistance,
    VoteDistance,
    SignedDistance,
    CityBlockDistance,
    ConvolutionDistance,
    MixtureDistance,
    KernelBitDistance,
    ClickedDistance,
)

__all__ = [
    "DISTANCES",
    "BitDistance",
    "CityBlockDistance",
    "ClickedDistance",
    "ConvolutionDistance",
    "KernelBitDistance",
    "LinearDistance",
    "MappedDistance",
    "MixtureDistance",
    "SignedDistance",
    "VoteDistance",
]
