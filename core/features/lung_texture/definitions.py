"""The 43 numbers of a lung region: name, group, unit, and what each is."""

from __future__ import annotations

from semblance.core.features.definition import FeatureDefinition

FIRST_ORDER, LOW, PAIRS = "First order", "Low attenuation", "Co-occurrence"
RUNS, DIFFERENCES = "Run length", "Grey-level difference"


_FIRST_ORDER = (
    ("mean", "HU", "mean density"),
    ("deviation", "HU", "standard deviation"),
    ("skewness", "", "third standardised moment"),
    ("kurtosis", "", "fourth standardised moment minus 3"),
    ("energy", "", "sum p(i)^2 over 32 grey levels"),
    ("entropy", "bits", "-sum p(i) log2 p(i)"),
    ("5th percentile", "HU", ""),
    ("25th percentile", "HU", ""),
    ("median", "HU", ""),
    ("75th percentile", "HU", ""),
    ("95th percentile", "HU", ""),
    ("mean absolute deviation", "HU", "mean |x - mean|"),
)
_LOW = (
    ("share below -950 HU", "", "emphysema (Gevenois et al. 1996)"),
    ("share below -910 HU", "", "emphysema in thick slices (Müller et al. 1988)"),
    ("share below -856 HU", "", "trapped air (in expiration)"),
    ("clusters below -910 HU", "", "connected areas (8 neighbours) over pixels below -910 HU"),
    ("largest cluster below -910 HU", "", "pixels of the largest area over pixels below -910 HU"),
)
#: p(i, j) of pairs one pixel apart in four directions and both ways, of 32 levels (Haralick et al. 1973).
_PAIRS = (
    ("contrast", "", "sum p (i - j)^2"),
    ("dissimilarity", "", "sum p |i - j|"),
    ("homogeneity", "", "sum p / (1 + (i - j)^2)"),
    ("angular second moment", "", "sum p^2"),
    ("entropy", "bits", "-sum p log2 p"),
    ("correlation", "", "sum p (i - m)(j - m) / s^2; 1 where all is one level"),
    ("variance", "", "s^2 = sum p (i - m)^2"),
    ("cluster shade", "", "cube root of sum p (i + j - 2 m)^3"),
    ("cluster prominence", "", "fourth root of sum p (i + j - 2 m)^4"),
    ("largest probability", "", "max p"),
    ("contrast, 3 pixels apart", "", "as above, of pairs 3 pixels apart"),
    ("correlation, 3 pixels apart", "", "as above, of pairs 3 pixels apart"),
)
#: r(i, l) runs of level i (1..16) and length l in four directions (Galloway 1975, Chu 1990), N in all.
_RUNS = (
    ("short runs", "", "sum r / l^2 / N"),
    ("long runs", "", "sum r l^2 / N"),
    ("grey-level non-uniformity", "", "sum over i of (sum over l of r)^2 / N^2"),
    ("run-length non-uniformity", "", "sum over l of (sum over i of r)^2 / N^2"),
    ("run percentage", "", "N / (4 pixels)"),
    ("runs of low density", "", "sum r / i^2 / N"),
    ("runs of high density", "", "sum r i^2 / N"),
    ("run entropy", "bits", "-sum (r / N) log2 (r / N)"),
)
#: d(k) share of pairs one pixel apart in four directions that differ by k of 32 levels (Weszka et al. 1976).
_DIFFERENCES = (
    ("mean", "", "sum k d"),
    ("variance", "", "sum (k - mean)^2 d"),
    ("contrast", "", "sum k^2 d"),
    ("angular second moment", "", "sum d^2"),
    ("entropy", "bits", "-sum d log2 d"),
    ("inverse difference moment", "", "sum d / (1 + k^2)"),
)

DEFINITIONS: tuple[FeatureDefinition, ...] = tuple(
    FeatureDefinition(name, group, unit, formula)
    for group, rows in (
        (FIRST_ORDER, _FIRST_ORDER),
        (LOW, _LOW),
        (PAIRS, _PAIRS),
        (RUNS, _RUNS),
        (DIFFERENCES, _DIFFERENCES),
    )
    for name, unit, formula in rows
)
