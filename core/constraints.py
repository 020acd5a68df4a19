"""Findings, visual neighbours and judgements as constraints for learners: pairs and triplets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.tasks import SILENT, Reporter

Matrix = npt.NDArray[np.float64]
#: (n, n) int8, symmetric: +1 similar, -1 dissimilar, 0 unknown and on the diagonal.
Signs = npt.NDArray[np.int8]
Rows = npt.NDArray[np.int64]

_BLOCK = 1 << 21
#: Number of disliked cases with which each liked case of a query forms triplets.
PARTNERS = 10


def finding_codes(y: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Findings (n,) as numbers into their sorted names; -1 where a case has none (``None``, "", NaN).

    Raises:
        BadInput: not one finding a case.
    """
    values = np.asarray(y)
    if values.ndim != 1:
        raise BadInput("The findings are not one value a case.", "Give one finding for every row.")
    missing = [v is None or v == "" or v != v for v in values.tolist()]  # noqa: PLR0124  NaN
    texts = np.array(["" if lacks else str(v) for v, lacks in zip(values.tolist(), missing, strict=True)])
    names, codes = np.unique(texts, return_inverse=True)
    codes = codes.astype(np.int64)
    if len(names) and names[0] == "":
        names, codes = names[1:], codes - 1
    return codes, tuple(names.tolist())


@dataclass(frozen=True, eq=False)
class Similarity:
    """Which of n cases are similar: by their findings, with exceptions for single pairs.

    ``codes`` (n,) findings as numbers, -1 for none: cases of one finding are similar, cases of two dissimilar, and
    pairs with a case without a finding unknown. ``changed`` (p, 3): rows i < j, ascending, and +1 similar or -1
    dissimilar, in place of their findings.
    """

    codes: Rows
    changed: Rows

    def __len__(self) -> int:
        return len(self.codes)

    def by_findings(self, i: Rows, j: Rows) -> Rows:
        """+1, -1 or 0 for each of the pairs of rows ``i`` and ``j`` (p,), pairs changed or not."""
        first, second = self.codes[i], self.codes[j]
        signs: Rows = np.where(first == second, 1, -1)
        signs[(first < 0) | (second < 0)] = 0
        return signs

    def with_pairs(self, pairs: npt.ArrayLike) -> Similarity:
        """A copy in which ``pairs`` (p, 3) of rows i, j and +1 or -1 replace earlier values.

        Raises:
            BadInput: as :func:`checked_pairs`.
        """
        n = len(self)
        given = checked_pairs(pairs, n)
        key = np.concatenate(
            [
                self.changed[:, 0] * n + self.changed[:, 1],
                given[:, :2].min(axis=1) * n + given[:, :2].max(axis=1),
            ]
        )[::-1]
        sign = np.concatenate([self.changed[:, 2], given[:, 2]])[::-1]
        # The first of equal keys is the last judgement.
        key, place = np.unique(key, return_index=True)
        i, j, sign = key // n, key % n, sign[place]
        different = sign != self.by_findings(i, j)
        return Similarity(self.codes, np.stack([i, j, sign], axis=1)[different])

    def with_similar(self, pairs: Rows) -> Similarity:
        """A copy in which ``pairs`` (p, 2) are similar."""
        return self.with_pairs(np.insert(pairs, 2, 1, axis=1))

    def dense(self) -> Signs:
        """(n, n), for few cases."""
        signs = np.where(self.codes[:, np.newaxis] == self.codes, 1, -1).astype(np.int8)
        signs[self.codes < 0] = 0
        signs[:, self.codes < 0] = 0
        np.fill_diagonal(signs, 0)
        i, j, sign = self.changed.T
        signs[i, j] = signs[j, i] = sign
        return signs


def from_findings(y: npt.ArrayLike) -> Similarity:
    """Similar for cases of one finding, dissimilar for cases of two.

    Raises:
        BadInput: not one finding a case.
    """
    codes, _ = finding_codes(y)
    return Similarity(codes, np.empty((0, 3), dtype=np.int64))


def no_findings(n: int) -> Similarity:
    """The similarity of ``n`` cases without findings."""
    return Similarity(np.full(n, -1, dtype=np.int64), np.empty((0, 3), dtype=np.int64))


def checked_pairs(pairs: npt.ArrayLike, n: int) -> Rows:
    """``pairs`` (p, 3) of rows i, j and +1 similar or -1 dissimilar among ``n`` cases, as int64.

    Raises:
        BadInput: a row that does not exist, a case paired with itself, another value than +1 or -1, or
            one pair called both similar and dissimilar.
    """
    table = np.asarray(pairs)
    if table.size == 0:
        return np.empty((0, 3), dtype=np.int64)
    if table.ndim != 2 or table.shape[1] != 3 or table.dtype.kind not in "iu":
        raise BadInput("Pairs are not a table of row, row and +1 or -1.", "Give three whole numbers a pair.")
    table = table.astype(np.int64)
    i, j, value = table.T
    if table[:, :2].min() < 0 or table[:, :2].max() >= n:
        raise BadInput(tr_lazy("A pair names a row outside 0 to {n}.", n=n - 1), "Rows count from 0.")
    if not np.isin(value, (-1, 1)).all():
        raise BadInput("A pair is neither +1 (similar) nor -1 (dissimilar).", "Leave unknown pairs out.")
    if (i == j).any():
        raise BadInput(tr_lazy("Case {i} is paired with itself.", i=i[i == j][0]), "Pair different cases.")
    key = np.minimum(i, j) * n + np.maximum(i, j)
    both = np.intersect1d(key[value == 1], key[value == -1])
    if len(both):
        raise BadInput(
            tr_lazy(
                "The pair of rows {both} and {both2} is called similar and dissimilar.",
                both=both[0] // n,
                both2=both[0] % n,
            ),
            "Keep one of the two.",
        )
    return table


def visual_neighbour_pairs(X: Matrix, k: int, reporter: Reporter = SILENT) -> Rows:
    """(p, 2) rows i < j of which at least one is among the ``k`` nearest Euclidean neighbours of the other.

    Yang et al. 2010, 3.5. ``X`` (n, d) after the steps. Of equally near cases the earlier row counts. ``reporter``
    receives the progress over several blocks.
    """
    n = len(X)
    k = min(k, n - 1)
    if k < 1:
        return np.empty((0, 2), dtype=np.int64)
    neighbours = _nearest(X, k, reporter)
    i = np.repeat(np.arange(n, dtype=np.int64), k)
    j = neighbours.ravel()
    return np.unique(np.stack([np.minimum(i, j), np.maximum(i, j)], axis=1), axis=0)


@dataclass(frozen=True, eq=False)
class JudgedConstraints:
    """``pairs`` (p, 3) rows and +1 or -1; ``triplets`` (t, 3), the first row closer to the second;
    ``left_out``: number of judgements with a case that is not among the rows."""

    pairs: Rows
    triplets: Rows
    left_out: int


def from_judgements(
    judgements: Iterable[tuple[str, str, str, str | None]], row_of: Mapping[str, int]
) -> JudgedConstraints:
    """Judgements, oldest first, as constraints on the rows that ``row_of`` gives for cases.

    Each judgement is ("alike" or "not alike", query, case, ``None``) or ("closer", query, case, farther case). Of
    several judgements on one pair the last counts. The cases marked alike and not alike to one query give triplets
    too, with the first PARTNERS cases marked not alike for each case marked alike.

    Raises:
        ValueError: another kind.
    """
    signs: dict[tuple[int, int], int] = {}
    closer: dict[tuple[int, int, int], None] = {}
    of_query: dict[int, dict[int, int]] = {}
    left_out = 0
    for kind, query, case, other in judgements:
        rows = [row_of.get(one, -1) for one in (query, case, *([] if other is None else [other]))]
        if min(rows) < 0:
            left_out += 1
        elif kind == "closer":
            closer[rows[0], rows[1], rows[2]] = None
        elif kind in ("alike", "not alike"):
            sign = 1 if kind == "alike" else -1
            signs[min(rows), max(rows)] = sign
            of_query.setdefault(rows[0], {})[rows[1]] = sign
        else:
            raise ValueError(kind)
    for row, cases in of_query.items():
        unlike = [case for case, sign in cases.items() if sign < 0][:PARTNERS]
        likes = [case for case, sign in cases.items() if sign > 0]
        closer |= dict.fromkeys((row, like, far) for like in likes for far in unlike)
    pairs = np.array([(i, j, sign) for (i, j), sign in signs.items()], dtype=np.int64).reshape(-1, 3)
    return JudgedConstraints(pairs, np.array(list(closer), dtype=np.int64).reshape(-1, 3), left_out)


def check_usable(similarity: Similarity, findings: tuple[str, ...] | None = None) -> None:
    """Check that there are similar and dissimilar pairs.

    ``findings`` names those of the training cases, for the message.

    Raises:
        BadInput: no similar pair or no dissimilar pair.
    """
    if findings is not None and len(findings) == 1:
        raise BadInput(
            tr_lazy("All training cases have the finding '{findings}'.", findings=findings[0]),
            "Add cases of another finding.",
        )
    counts = count_pairs(similarity)
    if not counts["dissimilar"]:
        raise BadInput(
            "No two training cases are called dissimilar.",
            "Add cases of another finding or dissimilar pairs, or ask for fewer visual neighbours.",
        )
    if not counts["similar"]:
        raise BadInput(
            "No two training cases are called similar.", "Add cases of the same finding or similar pairs."
        )


def count_pairs(similarity: Similarity) -> dict[str, int]:
    """Unordered pairs of each kind: ``similar`` and ``dissimilar``."""
    sizes = np.bincount(similarity.codes[similarity.codes >= 0]).astype(np.int64)
    known = int(sizes.sum())
    total, similar = known * (known - 1) // 2, int((sizes * (sizes - 1) // 2).sum())
    i, j, now = similarity.changed.T
    replaced = similarity.by_findings(i, j)
    return {
        "similar": similar + int((now == 1).sum()) - int((replaced == 1).sum()),
        "dissimilar": total - similar + int((now == -1).sum()) - int((replaced == -1).sum()),
    }


def sample_pairs(y: npt.ArrayLike, count: int, seed: int) -> Rows:
    """(p, 3) rows i < j and +1 or -1 from findings: ``count`` different pairs drawn at random, or all.

    At least one in fifty is similar and one in fifty dissimilar, where there are so many.

    Raises:
        BadInput: findings without a similar or without a dissimilar pair.
    """
    codes, names = finding_codes(y)
    known = np.flatnonzero(codes >= 0)
    sizes = np.bincount(codes[known], minlength=len(names))
    n, similar = len(known), int((sizes * (sizes - 1) // 2).sum())
    total = n * (n - 1) // 2
    check_findings(sizes, names)
    rng = np.random.default_rng(seed)
    drawn = rng.choice(total, min(count, total), replace=False)
    i, j = _pairs_of_ranks(drawn, n)
    codes = codes[known]
    least = -(-len(drawn) // 50)
    lack = [
        (kind, min(least, available) - int(((codes[i] == codes[j]) == kind).sum()))
        for kind, available in ((True, similar), (False, total - similar))
    ]
    taken_ranks = set(drawn.tolist())
    for kind, missing in lack:
        for _ in range(missing):
            pair = _one_more(codes, kind, taken_ranks, rng)
            replaced = int(rng.choice(np.flatnonzero((codes[i] == codes[j]) != kind)))
            i[replaced], j[replaced] = pair
            taken_ranks.add(_pair_rank(*pair, n))
    value = np.where(codes[i] == codes[j], 1, -1)
    return np.stack([known[i], known[j], value], axis=1)


def check_findings(sizes: npt.NDArray[np.integer], names: tuple[str, ...]) -> None:
    """Refuse findings, ``sizes`` cases each, without a similar or without a dissimilar pair.

    Raises:
        BadInput: fewer than two findings have cases, or none has two cases.
    """
    if int((sizes > 0).sum()) < 2:
        only = (
            tr_lazy("have the finding '{names}'", names=names[0]) if len(names) else tr_lazy("lack a finding")
        )
        raise BadInput(tr_lazy("All training cases {only}.", only=only), "Add cases of another finding.")
    if int(sizes.max()) < 2:
        raise BadInput("No two training cases have the same finding.", "Add cases of the same finding.")


def _one_more(
    codes: npt.NDArray[np.int64], similar: bool, taken_ranks: set[int], rng: np.random.Generator
) -> tuple[int, int]:
    """A pair i < j of the kind that is not among ``taken``; there must be one."""
    n = len(codes)
    sizes = np.bincount(codes)
    able = np.flatnonzero(sizes[codes] > 1) if similar else np.arange(n)
    for _ in range(1000):
        i = int(rng.choice(able))
        j = int(rng.choice(np.flatnonzero((codes == codes[i]) == similar)))
        if i != j and _pair_rank(min(i, j), max(i, j), n) not in taken_ranks:
            return min(i, j), max(i, j)
    for i in range(n):
        for j in np.flatnonzero((codes[i + 1 :] == codes[i]) == similar).tolist():
            if _pair_rank(i, i + 1 + j, n) not in taken_ranks:
                return i, i + 1 + j
    raise AssertionError("there is no such pair")


def _pair_rank(i: int, j: int, n: int) -> int:
    """The place of the pair i < j among all pairs of ``n`` rows, in order."""
    return i * (2 * n - i - 1) // 2 + j - i - 1


def _pairs_of_ranks(
    ranks: npt.NDArray[np.int64], n: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The pairs i < j at these places."""
    starts = np.arange(n, dtype=np.int64)
    starts = starts * (2 * n - starts - 1) // 2
    i = np.searchsorted(starts, ranks, side="right") - 1
    return i, ranks - starts[i] + i + 1


def sample_triplets(y: npt.ArrayLike, count: int, seed: int) -> Rows:
    """(count, 3) rows i, j, k drawn with replacement: j of i's finding, k of another.

    Raises:
        BadInput: no case has both another case of its finding and one of a different finding.
    """
    codes, _ = finding_codes(y)
    known = np.flatnonzero(codes >= 0)
    sizes = np.bincount(codes[known]) if len(known) else np.zeros(0, dtype=np.int64)
    anchors = known[(sizes[codes[known]] > 1) & (sizes[codes[known]] < len(known))]
    if not len(anchors):
        raise BadInput(
            "No case has both a similar and a dissimilar one.",
            "At least two findings are needed, one of them with two cases.",
        )
    rng = np.random.default_rng(seed)
    i = rng.choice(anchors, size=count)
    members = {code: known[codes[known] == code] for code in np.unique(codes[known]).tolist()}
    others = {code: known[codes[known] != code] for code in members}
    triplets = np.empty((count, 3), dtype=np.int64)
    for row, anchor in enumerate(i.tolist()):
        same, other = members[codes[anchor]], others[codes[anchor]]
        # A draw among the others of its finding: the last one stands in for the anchor itself.
        j = same[rng.integers(len(same) - 1)]
        triplets[row] = anchor, same[-1] if j == anchor else j, other[rng.integers(len(other))]
    return triplets


def _nearest(X: Matrix, k: int, reporter: Reporter) -> Rows:
    """(n, k) nearest other rows, by distance and then by row.

    The expansion |x|^2 - 2xq + |q|^2 picks candidates; they are measured again by direct difference.
    """
    n, d = X.shape
    centred = X - X.mean(axis=0)
    norms: Any = np.einsum("ij,ij->i", centred, centred)
    slack = 8.0 * np.finfo(np.float64).eps * (d + 4) * 2.0 * float(norms.max(initial=0.0))
    nearest = np.empty((n, k), dtype=np.int64)
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        reporter.check_cancelled()
        if n > step:
            reporter.progress(start, n, "Visual neighbours")
        block = centred[start : start + step]
        rough = block @ centred.T
        rough *= -2.0
        rough += norms
        rough += norms[start : start + step, np.newaxis]
        rough[np.arange(len(block)), np.arange(start, start + len(block))] = np.inf
        reach = np.partition(rough, k - 1, axis=1)[:, k - 1] + 2.0 * slack
        for row, q in enumerate(block):
            candidates = np.flatnonzero(rough[row] <= reach[row])
            difference = centred[candidates] - q
            exact = np.einsum("ij,ij->i", difference, difference)
            nearest[start + row] = candidates[np.argsort(exact, kind="stable")[:k]]
    return nearest
