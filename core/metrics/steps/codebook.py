"""Local descriptors counted as words: bags of visual words and of textons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from semblance.core.constraints import finding_codes
from semblance.core.errors import BadInput
from semblance.core.language import tr_lazy
from semblance.core.local_descriptors import DescriptorPacking
from semblance.core.metrics.distance import Matrix
from semblance.core.metrics.numerics.k_means import k_means, nearest_centres
from semblance.core.metrics.steps.step import Step

Places = npt.NDArray[np.int64]

Floats = npt.NDArray[np.float32]

#: Descriptors of the training part that words are found from: so many a word, but not more than ``MOST``.
A_WORD, MOST = 200, 100_000
#: Descriptors counted by finding before words are merged.
COUNTED = 400_000
SEED = 0


def merge_words(counts: Matrix, k: int) -> Places:
    """(w,) to which of ``k`` groups each word goes, from ``counts`` (w, c), the frequency of each by finding.

    Two by two those are merged that lose least of the mutual information between words and findings
    (Slonim & Tishby: Agglomerative information bottleneck. NIPS 1999): merging words i and j of shares p_i
    and p_j with findings distributed as q_i and q_j loses (p_i + p_j) JS(q_i, q_j). Groups are numbered by
    their first word. O(w^2 c) time at first, O(w c) a merge.
    """
    shares = counts / counts.sum()
    w = len(shares)
    member = np.arange(w)
    alive = np.ones(w, dtype=bool)
    inner = _entropy_sum(shares)
    loss = np.full((w, w), np.inf)
    for word in range(w - 1):
        loss[word, word + 1 :] = _losses(shares, inner, word, slice(word + 1, w))
    nearest = loss.argmin(axis=1)
    least = loss[np.arange(w), nearest]
    for _ in range(w - k):
        first = int(least.argmin())
        second = int(nearest[first])
        member[member == second] = first
        shares[first] += shares[second]
        inner[first] = _entropy_sum(shares[first : first + 1])[0]
        alive[second] = False
        loss[second, :] = loss[:, second] = np.inf
        least[second] = np.inf
        again = _losses(shares, inner, first, slice(0, w))
        again[~alive] = np.inf
        loss[:first, first], loss[first, first + 1 :] = again[:first], again[first + 1 :]
        # Rows whose nearest was one of the two look again; the others only whether the new one is nearer.
        stale = alive & ((nearest == first) | (nearest == second))
        stale[first] = True
        rows = np.flatnonzero(stale)
        nearest[rows] = loss[rows].argmin(axis=1)
        least[rows] = loss[rows, nearest[rows]]
        closer = np.flatnonzero(loss[:, first] < least)
        nearest[closer], least[closer] = first, loss[closer, first]
    return np.unique(member, return_inverse=True)[1].astype(np.int64)


def _entropy_sum(shares: Matrix) -> Matrix:
    """(n,) p log p - sum_c p_c log p_c of (n, c), p = sum_c p_c: p times the entropy of the findings."""
    found: Matrix = _xlogx(shares.sum(axis=1)) - _xlogx(shares).sum(axis=1)
    return found


def _losses(shares: Matrix, inner: Matrix, word: int, others: slice) -> Matrix:
    """(n,) the information lost by merging ``word`` with each of ``others``: never below 0."""
    lost: Matrix = np.maximum(_entropy_sum(shares[others] + shares[word]) - inner[others] - inner[word], 0.0)
    return lost


def _xlogx(values: Matrix) -> Matrix:
    safe = np.where(values > 0.0, values, 1.0)
    out: Matrix = values * np.log(safe)
    return out


class Codebook(Step):
    """The frequency of each of ``n_words`` words in an image, as a share of its descriptors.

    Words are k-means centres of descriptors of training images, evenly many of each, seeded (boostmetric.txt 4.3: 100
    or 200 of SIFT). With ``n_merged`` they are merged to so many: Winn, Criminisi, Minka 2005 (4.3.2: 2,000 textons
    to 300) do so greedily under Gaussian models of each finding's histograms; here two words at a time, those with
    the same information on the findings, see :func:`semblance.core.metrics.steps.codebook.merge_words`.
    Descriptors of whitened forms are whitened by the covariance of the sample (k-means with a Mahalanobis distance).
    An image without any descriptor has shares of 0.
    """

    kind: ClassVar[str] = "codebook"
    of_descriptors: ClassVar[bool] = True

    def __init__(
        self, n_words: int, n_merged: int | None = None, form: DescriptorPacking | None = None
    ) -> None:
        self.n_words, self.n_merged, self.form = n_words, n_merged, form
        #: (w, v) centres, of whitened values where the form says so.
        self.words_: Floats = np.empty((0, 0), dtype=np.float32)
        #: (v, v): whitened values are ``values @ whitening_``.
        self.whitening_: Floats | None = None
        #: (w,) the word each centre counts for.
        self.merged_: npt.NDArray[np.int64] | None = None
        self._n_features = self._n_descriptors = 0

    @property
    def text(self) -> str:
        """``codebook:N``, or ``codebook:N:M`` where words are merged."""
        merged = "" if self.n_merged is None else f":{self.n_merged}"
        return f"codebook:{self.n_words}{merged}"

    @property
    def uses_findings(self) -> bool:
        """Words are merged by findings."""
        return self.merged_ is not None

    @property
    def n_features(self) -> int:
        """Columns of the rows it was fitted on."""
        return self._n_features

    @property
    def n_columns(self) -> int:
        """Words that are counted."""
        return len(self.words_) if self.merged_ is None else int(self.merged_.max()) + 1

    def fit(self, X: npt.NDArray[np.floating], y: npt.NDArray[Any] | None = None) -> Self:
        """``X`` (n, d) rows of an extractor with local descriptors, float32 or float64.

        Raises:
            BadInput: rows of another extractor, no descriptor in them, or, to merge, fewer than two findings.
        """
        form = self._known_form()
        if X.shape[1] % form.columns:
            raise _other_rows()
        codes = None
        if self.n_merged is not None:
            codes = _findings(y)
        rng = np.random.default_rng(SEED)
        sample, _ = _sample(form, X, min(MOST, A_WORD * self.n_words), rng)
        if not len(sample):
            raise BadInput(
                "No training image has anything to describe.", "Extract other features, for example 'gabor'."
            )
        self._n_features, self._n_descriptors = X.shape[1], len(sample)
        self.whitening_ = _whitening(sample) if form.whitened else None
        self.words_ = k_means(self._whitened(sample), self.n_words, rng)
        if self.n_merged is not None and codes is not None and len(self.words_) > self.n_merged:
            known = np.flatnonzero(codes >= 0)
            counted, rows = _sample(form, X, COUNTED, rng, known)
            assigned = nearest_centres(self._whitened(counted), self.words_)[0]
            counts = np.zeros((len(self.words_), int(codes.max()) + 1))
            np.add.at(counts, (assigned, codes[rows]), 1.0)
            self.merged_ = merge_words(counts, self.n_merged)
        return self

    def transform(self, X: Matrix) -> Matrix:
        """(n, d) -> (n, words) shares.

        Raises:
            BadInput: the rows are not those of its extractor.
        """
        _check(self._known_form(), X)
        out = np.zeros((len(X), self.n_columns))
        # One image at a time, because its result must not depend on the other images of a batch.
        for place, row in enumerate(X):
            words = self.words_of(row)
            if len(words):
                out[place] = np.bincount(words, minlength=self.n_columns) / len(words)
        return out

    def words_of(self, row: npt.NDArray[np.floating]) -> npt.NDArray[np.intp]:
        """(d,) -> (p,) the word of each descriptor of an image, in their order."""
        descriptors = self._known_form().unpack(row)
        if not len(descriptors):
            return np.empty(0, dtype=np.intp)
        assigned = nearest_centres(self._whitened(descriptors), self.words_)[0]
        return assigned if self.merged_ is None else self.merged_[assigned]

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """``word 1`` and so on, one a word that is counted."""
        return tuple(tr_lazy("word {number}", number=number) for number in range(1, self.n_columns + 1))

    def describe(self) -> str:
        """How many words, merged to how many, from how many descriptors."""
        merged = "" if self.merged_ is None else tr_lazy(" merged to {n_columns}", n_columns=self.n_columns)
        return tr_lazy(
            "codebook: {n:,} words{merged} from {n_descriptors:,} descriptors",
            n=len(self.words_),
            merged=merged,
            n_descriptors=self._n_descriptors,
        )

    def settings(self) -> dict[str, Any]:
        """Its sizes, and how descriptors are packed."""
        form = self._known_form()
        return {
            "n_words": self.n_words,
            "n_merged": self.n_merged,
            "n_features": self._n_features,
            "n_descriptors": self._n_descriptors,
            "bits": form.bits,
            "whitened": form.whitened,
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Centres and the range of values; whitening and merged words where there are some."""
        form = self._known_form()
        arrays: dict[str, npt.NDArray[Any]] = {
            "words": self.words_,
            "low": np.array(form.low),
            "high": np.array(form.high),
        }
        if self.whitening_ is not None:
            arrays["whitening"] = self.whitening_
        if self.merged_ is not None:
            arrays["merged"] = self.merged_
        return arrays

    @classmethod
    def restore(cls, settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Self:
        """The inverse of :meth:`settings` and :meth:`arrays`.

        Raises:
            BadInput: something missing, or words, range and whitening that do not fit together.
        """
        step = cls(_whole(settings, "n_words"), _whole(settings, "n_merged", optional=True))
        step._n_features = _whole(settings, "n_features")
        step._n_descriptors = _whole(settings, "n_descriptors")
        step.form = _stored_form(settings, arrays)
        if step._n_features % step.form.columns:
            raise BadInput("A stored codebook does not fit its columns.")
        words, v = arrays.get("words"), step.form.values
        if words is None or words.dtype != np.float32 or words.ndim != 2 or words.shape[1] != v:
            raise BadInput("A stored codebook lacks its words.")
        step.words_ = words
        whitening, merged = arrays.get("whitening"), arrays.get("merged")
        if step.form.whitened != (whitening is not None):
            raise BadInput("A stored codebook lacks its whitening.")
        if whitening is not None and (whitening.dtype != np.float32 or whitening.shape != (v, v)):
            raise BadInput("The whitening of a stored codebook has the wrong form.")
        step.whitening_ = whitening
        if merged is not None:
            if merged.dtype != np.int64 or merged.shape != (len(words),):
                raise BadInput("The merged words of a stored codebook have the wrong form.")
            if not np.array_equal(np.unique(merged), np.arange(merged.max() + 1)):
                raise BadInput("The merged words of a stored codebook are not numbered in a row.")
        step.merged_ = merged
        return step

    def _known_form(self) -> DescriptorPacking:
        if self.form is None:
            raise BadInput(
                "The step 'codebook' needs local descriptors.", "Use it on visual_words or textons."
            )
        return self.form

    def _whitened(self, values: Floats) -> Floats:
        return values if self.whitening_ is None else values @ self.whitening_


def _findings(y: npt.NDArray[Any] | None) -> npt.NDArray[np.intp]:
    codes, names = (np.empty(0, dtype=np.intp), ()) if y is None else finding_codes(y)
    if len(names) < 2:
        raise BadInput(
            "Merging words needs at least two findings.", "Leave the second number of 'codebook' out."
        )
    return codes


def _sample(
    form: DescriptorPacking,
    X: npt.NDArray[np.floating],
    count: int,
    rng: np.random.Generator,
    rows: npt.NDArray[np.intp] | None = None,
) -> tuple[Floats, npt.NDArray[np.intp]]:
    """(m, v) about ``count`` descriptors of ``rows`` (all), evenly many of each; (m,) their rows."""
    chosen = np.arange(len(X)) if rows is None else rows
    if len(chosen) > count:
        chosen = np.sort(rng.choice(chosen, count, replace=False))
    each = -(-count // max(1, len(chosen)))
    found: list[Floats] = [np.empty((0, form.values), dtype=np.float32)]
    whose: list[npt.NDArray[np.intp]] = [np.empty(0, dtype=np.intp)]
    for row, numbers in _rows(form, X, chosen):
        there = np.flatnonzero(form.places(numbers[None])[0])
        if len(there) > each:
            there = np.sort(rng.choice(there, each, replace=False))
        found.append(form.unpack(numbers, there))
        whose.append(np.full(len(there), row))
    return np.concatenate(found), np.concatenate(whose)


def _rows(
    form: DescriptorPacking, X: npt.NDArray[np.floating], chosen: npt.NDArray[np.intp]
) -> Iterator[tuple[int, npt.NDArray[np.floating]]]:
    for row in chosen.tolist():
        _check(form, X[row][None])
        yield row, X[row]


def _check(form: DescriptorPacking, X: npt.NDArray[np.floating]) -> None:
    """
    Raises:
        BadInput: rows (n, d) that cannot come from an extractor with descriptors of ``form``.
    """
    there = X[~np.isnan(X)]
    if there.size and (there.min() < -1 or there.max() > form.largest or (there != np.rint(there)).any()):
        raise _other_rows()


def _other_rows() -> BadInput:
    return BadInput(
        "These features are no local descriptors of the kind this codebook counts.",
        "Use the feature set it was made for.",
    )


def _whitening(sample: Floats) -> Floats:
    """(v, v) symmetric W with W W = the inverse covariance; directions without variance are left out."""
    centred = sample.astype(np.float64) - sample.mean(axis=0, dtype=np.float64)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(sample))
    real = values > 1e-9 * max(float(values[-1]), 1e-300)
    inverse = np.where(real, 1.0 / np.sqrt(np.where(real, values, 1.0)), 0.0)
    return np.asarray((vectors * inverse) @ vectors.T, dtype=np.float32)


def _stored_form(settings: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> DescriptorPacking:
    low, high = arrays.get("low"), arrays.get("high")
    bits, whitened = _whole(settings, "bits"), settings.get("whitened")
    if low is None or high is None or low.ndim != 1 or low.shape != high.shape or not len(low):
        raise BadInput("A stored codebook lacks the range of its descriptors.")
    if not 1 <= bits <= 24 or not isinstance(whitened, bool) or not (low < high).all():
        raise BadInput("A stored codebook has descriptors of an impossible form.")
    return DescriptorPacking(tuple(low.tolist()), tuple(high.tolist()), bits, whitened)


def _whole(settings: dict[str, Any], name: str, *, optional: bool = False) -> Any:
    value = settings.get(name)
    if value is None and optional:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise BadInput(tr_lazy("A stored codebook has no usable '{name}'.", name=name))
    return value
