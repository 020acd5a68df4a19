"""Every number of an export, computed again from its files with NumPy alone: nothing of the program is imported."""

# ruff: noqa: PLW0108 (each score is computed when it is asked for)
import csv
import json
from collections import defaultdict

import numpy as np

#: Scores of the fit itself, which no query has.
NOT_OF_QUERIES = ("predictive_loss", "updates", "effective_dimension")


def read_csv(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def numbers(texts):
    return np.array([float(text) if text else np.nan for text in texts])


class Queries:
    """The queries of one learner on one split: arrays (q,) by k and column."""

    def __init__(self, rows, names):
        self._names = names
        self._at = defaultdict(list)
        for row in rows:
            self._at[int(row["k"])].append(row)
        first = self._at[min(self._at)]
        self.finding = np.array([row["finding"] for row in first])
        self.unit = np.array([int(row["unit"]) for row in first])

    def column(self, name, k=None):
        return numbers([row[name] for row in self._at[min(self._at) if k is None else k]])

    def estimate(self, k):
        return np.array([row["estimate"] for row in self._at[k]])

    def votes(self, k):
        return np.array([[float(one) for one in row["votes"].split(";")] for row in self._at[k]])

    def weighted(self):
        columns = [f"weighted_votes{place + 1}" for place in range(len(self._names))]
        return np.stack([self.column(name) for name in columns], axis=1)

    def accuracy(self, k):
        answers = self.column("answers", k)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(answers > 0, self.column("hits", k) / answers, np.nan)

    def credit(self, k):
        votes = self.votes(k)
        most = votes >= votes.max(axis=1, keepdims=True) - 1e-9
        own = np.array([self._names.index(one) for one in self.finding])
        right = most[np.arange(len(own)), own] & (votes.max(axis=1) > 0)
        return right / most.sum(axis=1)

    def even(self, values):
        return np.array([np.nanmean(values[self.finding == one]) for one in sorted(set(self.finding))])


def area(shares, positive):
    higher = (shares[positive][:, None] > shares[~positive]).mean()
    return higher + (shares[positive][:, None] == shares[~positive]).mean() / 2


def areas(queries, votes, names):
    found = {}
    for place, name in enumerate(names):
        positive = queries.finding == name
        if positive.any() and not positive.all():
            found[name] = area(votes[:, place], positive)
    return found


def sensitivity(shares, positive, specificity):
    negative = np.sort(shares[~positive])
    alarms = int(np.floor((1 - specificity) * len(negative) + 1e-9))
    return (
        shares[positive] > (negative[len(negative) - alarms - 1] if alarms < len(negative) else -np.inf)
    ).mean()


def calibration_error(likeliest, right, bins=10):
    place = np.minimum((likeliest * bins).astype(int), bins - 1)
    return sum(
        abs(likeliest[place == one].mean() - right[place == one].mean()) * (place == one).mean()
        for one in set(place.tolist())
    )


def precision_at_hits(queries):
    hits = np.stack([queries.column("hits", k) for k in range(1, 6)], axis=1)
    new = np.diff(hits, axis=1, prepend=0)
    return (hits / np.arange(1, 6) * new).sum(axis=1) / np.maximum(hits[:, -1], 1)


def value(score, test, validation, chosen, config):
    """The value of a score on one split; NaN where a split has none."""
    name, _, rest = score.partition("@")
    stem, _, finding = rest.partition(":") if "@" in score else score.partition(":")
    k = int(stem) if stem.isdigit() else None
    names = config["findings"]
    if config["protocol"]["name"] == "medmnist":
        return {
            "acc@1": lambda: test.column("hits", 1).mean(),
            "mmv@5": lambda: (test.estimate(5) == test.finding).mean(),
            "knn_accuracy@11": lambda: (test.estimate(11) == test.finding).mean(),
            "map@5": lambda: precision_at_hits(test).mean(),
        }[score]()
    if score == "map@r":
        return np.nanmean(test.column("average_precision"))
    if name == "sensitivity":
        of = {
            one: sensitivity(test.votes(10)[:, place], test.finding == one, float(stem))
            for place, one in enumerate(names)
            if 0 < (test.finding == one).sum() < len(test.finding)
        }
        return of[finding] if finding else np.mean(list(of.values()))
    if score.partition(":")[0] in ("auc", "auc_weighted"):
        weighted = score.startswith("auc_weighted")
        of = areas(test, test.weighted() if weighted else test.votes(10), names)
        return of[finding] if finding else np.mean(list(of.values()))
    if name == "chosen_k":
        return chosen["knn_error"]
    if name.endswith("_best_on_test"):
        ks = range(1, 26)
        errors = [1 - test.credit(one) for one in ks]
        return min((test.even(one).mean() if name.startswith("balanced") else one.mean()) for one in errors)
    if k is None and name in chosen:
        k = int(chosen[name])
    return {
        "retrieval_accuracy": lambda: np.nanmean(test.accuracy(k)),
        "macro_retrieval_accuracy": lambda: test.even(test.accuracy(k)).mean(),
        "worst_finding": lambda: test.even(test.accuracy(k)).min(),
        "chance": lambda: np.nanmean(test.column("chance")),
        "macro_chance": lambda: test.even(test.column("chance")).mean(),
        "precision": lambda: (test.column("hits", k) / k).mean(),
        "recall": lambda: np.nanmean(test.column("recall", k)),
        "ndcg": lambda: np.nanmean(test.column("ndcg", k)),
        "hit_rate": lambda: np.nanmean(test.column("hit_rate", k)),
        "knn_accuracy": lambda: test.credit(k).mean(),
        "knn_error": lambda: (1 - test.credit(k)).mean(),
        "validation_knn_error": lambda: (1 - validation.credit(k)).mean(),
        "balanced_knn_error": lambda: test.even(1 - test.credit(k)).mean(),
        "balanced_error": lambda: test.even(1 - test.credit(k)).mean(),
        "ccknn_error": lambda: test.column("ccknn_error", k).mean(),
        "balanced_ccknn_error": lambda: test.even(test.column("ccknn_error", k)).mean(),
        "ccknn_likelihood_error": lambda: test.column("ccknn_likelihood_error", k).mean(),
        "triplet_accuracy": lambda: (
            np.nansum(test.column("triplets_right")) / np.nansum(test.column("triplets"))
        ),
        "residual_precision": lambda: test.column(score).mean(),
        "gain": lambda: (
            test.column(f"residual_precision@{rest}") - test.column(f"residual_precision@{rest}:no_feedback")
        ).mean(),
        "calibration_error": lambda: calibration_error(test.votes(10).max(axis=1), test.credit(10)),
    }[name]()


def bootstrap(values, unit, seed, draws=1000):
    """The 95 % interval of the mean of ``values``, whole units drawn."""
    codes = np.unique(unit, return_inverse=True)[1]
    n = codes.max() + 1
    totals, counts = np.bincount(codes, values, minlength=n), np.bincount(codes, minlength=n)
    times = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=draws).astype(float)
    return np.percentile((times @ totals) / (times @ counts), [2.5, 97.5])


def recomputed(folder):
    """learner, score -> values of the splits, mean, standard deviation, low and high end of the interval."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    rows = defaultdict(list)
    for row in read_csv(folder / "per_query.csv"):
        rows[row["learner"], row["repeat"], row["fold"], row["part"]].append(row)
    labels = list(dict.fromkeys((row["repeat"], row["fold"]) for row in read_csv(folder / "splits.csv")))
    chosen = {(one["learner"], one["repeat"], one["fold"]): one for one in config["chosen"]}
    found = {}
    for score in read_csv(folder / "scores.csv"):
        learner, name = score["learner"], score["score"]
        if name in NOT_OF_QUERIES:
            continue
        values = []
        for label in labels:
            test = Queries(rows[learner, *label, "test"], config["findings"])
            part = rows.get((learner, *label, "validation"))
            validation = Queries(part, config["findings"]) if part else None
            values.append(value(name, test, validation, chosen.get((learner, *label), {}), config))
        values = np.array(values)
        mean, n = values.mean(), len(values)
        std = values.std(ddof=1) if n > 1 else np.nan
        low = high = np.nan
        if n > 1:
            half = config["t_quantile"][str(n - 1)] * std / n**0.5
            low, high = mean - half, mean + half
            if values.min() >= 0 and values.max() <= 1:
                low, high = max(0, low), min(1, high)
        found[learner, name] = (values, mean, std, low, high)
    return found
