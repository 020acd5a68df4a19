"""Known reasons for missed targets. The tables give them beside the target."""

from __future__ import annotations

#: Slower than required, by the beginning of a contender's title.
SLOW_REASONS: dict[str, str] = {
    "BDM": (
        "It learns 200 bits; 100 rank worse where there are many findings. Where findings overlap, nearly every case "
        "has its own cell, and a round costs as much as comparing all pairs of cases in all features. On small "
        "tables the largest eigenvector of all features takes much of a round."
    ),
    "BoostMetric, logistic, total": "Every round fits the weights of all directions again.",
    "BoostMetric, exponential, total": "Every round fits the weights of all directions again.",
    "BoostMetric, logistic, passes 3": "Three fits, one after another.",
    "BDM+V": ("As BDM; visual neighbours that replace findings make each of its 200 rounds more expensive."),
    "Kernel BDM": ("Every round multiplies all pairs with the kernel values of 200 landmarks."),
    "BoostMetric, hinge": "Every round solves a linear programme over all triplets.",
    "MetricBoost, votes": "The exact scan of all cuts sorts every pair of cases in each of the rounds.",
    "MetricBoost": (
        "Works on all triplets, not on the nearest few as LMNN does; anchors = 1000 takes a share."
    ),
    "Passive-aggressive, pa2, always": "An eigenvalue problem after every update.",
    "Passive-aggressive, pa, always": "An eigenvalue problem after every update.",
    "Passive-aggressive, pa1, always": "An eigenvalue problem after every update.",
    "Passive-aggressive, pals, always": "An eigenvalue problem after every update.",
    "CCML": "Most of the time goes into trying four settings on cases set aside.",
}

#: Below the reference value, by the beginning of a reference's key.
SHORTFALL_REASONS: dict[str, str] = {
    "bdm, builtin:breast_cancer": (
        "The reference does not say which breast table; its Euclidean value, 92.3, fits the diagnostic "
        "one (here 91.6; breast_cancer_original 95.1). The gain over Euclidean is 4.0 here and 3.7 there."
    ),
    "metricboost, ionosphere": (
        "One round of five folds alone varies by 0.6, and over how many the prototypes averaged is "
        "not known; the paper's own value is exceeded."
    ),
    "boostmetric, letter": (
        "One split varies by 0.35. It stops by itself before round 100: more rounds change nothing."
    ),
    "boostmetric, balance_scale": (
        "A test part has 94 cases, and one split varies by 2.6; the paper's own value is exceeded."
    ),
    "online, breast_cancer_original": (
        "Over 60 halves it is 3.3 ± 0.15 (Euclidean 3.7 ± 0.13) with k chosen on the training half, "
        "and 2.6 ± 0.1 at the k that is best on the tested half, which is what the paper prints and "
        "the reference agrees with. No C from 1e-4 to 10 and no number of passes gets below 2.9 with "
        "k chosen on training cases."
    ),
    "online, satellite": (
        "At the k that is best on the tested half, which is what the paper prints, it is 12.5."
    ),
    "ccml, wine": (
        "The settings that are tried were found on other tables. Those of an earlier list that had "
        "been looked for on this very table gave 2.6."
    ),
    "ccml, optdigits": (
        "The reference is of tuned settings; prototypes without tuning gave 2.0–2.8. On two other "
        "draws the best of 144 settings, picked on the tested part itself, gave 1.5 and 2.1, so "
        "0.9–1.6 is not to be had by choosing on training cases. Raw pixels, as in the paper, give 1.9 and 1.7."
    ),
}
