"""The uncertainty of the probability of one query given its votes, which are few draws.

The neighbours of a query vote with a chance pi of their own, Beta(a, b) over queries; v of n votes are
binomial, and the query's probability is g(pi), logistic in the log-odds of pi. All four numbers are fitted to
votes and findings of held-out queries together (an empirical Bayes model, as in Robbins 1956, with errors in
the votes). The spread of g(pi) given v of n is then that of a Beta distribution of so many *effective* cases.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]

_ODDS = np.linspace(-7.0, 7.0, 141)
_GRID = 1.0 / (1.0 + np.exp(-_ODDS))
_EDGES = np.concatenate([[0.0], 1.0 / (1.0 + np.exp(-(_ODDS[1:] + _ODDS[:-1]) / 2.0)), [1.0]])


class VoteSpread:
    """``effective_cases(votes, voters)``: the information about one query as a number of cases."""

    def __init__(self, votes: Vector, voters: Vector, positive: Vector, total: Vector) -> None:
        """``votes`` of ``voters`` (n,) and the held-out cases with them: ``positive`` of ``total`` (n,)."""
        from scipy.optimize import minimize

        odds = _binomial(votes, voters)
        share = (float((votes * total).sum()) + 1.0) / (float((voters * total).sum()) + 2.0)
        start = np.array([np.log(share / (1.0 - share)), 0.7, 0.0, 0.0])

        def loss(parameters: Vector) -> float:
            g = _link(parameters)
            with_finding = (odds * (_prior(parameters) * g)).sum(axis=1)
            without = (odds * (_prior(parameters) * (1.0 - g))).sum(axis=1)
            fit = positive @ np.log(with_finding + 1e-300) + (total - positive) @ np.log(without + 1e-300)
            # Weak priors, because a few dozen cases do not determine the four numbers.
            prior_penalty = (
                ((parameters[1] - 1.0) / 1.5) ** 2 + parameters[2] ** 2 + (parameters[3] / 0.5) ** 2
            )
            return float(0.5 * prior_penalty - fit)

        found = minimize(loss, start, method="L-BFGS-B", bounds=[(-6, 6), (-3, 6), (-4, 4), (-2, 2)])
        self._parameters: Vector = np.asarray(found.x, dtype=np.float64)

    def effective_cases(self, votes: Vector, voters: Vector) -> Vector:
        """(n,) effective cases: mean (1 - mean) / variance - 1 of the probability given these votes."""
        weights = _binomial(votes, voters) * _prior(self._parameters)
        weights /= weights.sum(axis=1, keepdims=True)
        g = _link(self._parameters)
        mean = weights @ g
        variance = np.maximum(weights @ g**2 - mean**2, 1e-12)
        cases: Vector = np.maximum(mean * (1.0 - mean) / variance - 1.0, 1e-2)
        return cases


def _binomial(votes: Vector, voters: Vector) -> Vector:
    """(n, grid) likelihood of the votes, the largest of each row 1."""
    v, other_votes = votes[:, None], (voters - votes)[:, None]
    logs = v * np.log(_GRID) + other_votes * np.log1p(-_GRID)
    out: Vector = np.exp(logs - logs.max(axis=1, keepdims=True))
    return out


def _prior(parameters: Vector) -> Vector:
    from scipy.special import betainc

    mean, size = 1.0 / (1.0 + np.exp(-parameters[0])), float(np.exp(parameters[1]))
    share: Vector = np.maximum(np.diff(betainc(mean * size, (1.0 - mean) * size, _EDGES)), 1e-300)
    return share


def _link(parameters: Vector) -> Vector:
    g: Vector = 1.0 / (1.0 + np.exp(-np.clip(parameters[2] + np.exp(parameters[3]) * _ODDS, -35.0, 35.0)))
    return g
