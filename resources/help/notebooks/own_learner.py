# %% [markdown]
# # Your own learner
#
# You write a metric learner as a class, test that it keeps the rules, compare it with others by scikit-learn, and
# search a library with it.

# %%
import csv
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import semblance as sb
from semblance.core.metrics import fit_metric, make_learner
from semblance.core.metrics.declarations import LearnerDeclaration, declared, parameter
from semblance.core.metrics.linear_learner import LearntMap, LinearLearner
from semblance.core.metrics.steps import parse_steps
from semblance.core.workflows.metrics.metric_exchange import import_metric

data = load_breast_cancer()
with Path("cases.csv").open("w", newline="") as file:
    table = csv.writer(file)
    table.writerow([*(name.replace(" ", "_") for name in data.feature_names), "label"])
    table.writerows(
        [*row, data.target_names[target]] for row, target in zip(data.data, data.target, strict=True)
    )
lib = sb.create_library("cases.semblance", source="cases.csv")

features = lib.features()
findings = dict(zip(lib.cases["case_id"], lib.cases["finding"], strict=True))
X, y = features.array, np.array([findings[case] for case in features.case_ids])
# Rows of one patient share a number. Here each row is a patient of its own.
patients = np.arange(len(y))
X.shape

# %% [markdown]
# ## Write it
#
# A learner of a linear map derives from `LinearLearner` and returns the matrix (m, d) of the map: the distance of two
# cases is the squared Euclidean distance of their mapped rows. This one divides each feature by its spread inside the
# findings, so that features count by how well they separate them.


# %%
@declared
class WithinSpreadDeclaration(LearnerDeclaration):
    name = "within_spread"
    title = "Within-finding spread"
    summary = "Each feature divided by its spread inside the findings."
    accepts = frozenset({"findings"})

    floor: float = parameter(0.01, "Least spread, as a share of that of all cases.", minimum=0.0, maximum=1.0)


class WithinSpread(WithinSpreadDeclaration, LinearLearner):
    """Divides each feature by its standard deviation inside the findings."""

    def _learn(self, data: Any) -> LearntMap:
        findings = np.asarray(data.y)
        deviations = data.X.copy()
        for finding in np.unique(findings):
            rows = findings == finding
            deviations[rows] -= data.X[rows].mean(axis=0)
        least = np.maximum(self.floor * data.X.std(axis=0), 1e-12)
        spread = np.maximum(deviations.std(axis=0), least)
        return LearntMap(np.diag(1.0 / spread), (f"{len(spread)} features weighted.",))


WithinSpread().fit(X, y).transform(X).shape

# %% [markdown]
# ## Test it
#
# `check_learner` is for learners what `check_estimator` is in scikit-learn: it fits the learner on many kinds of input
# and says which rule it breaks. Rules are, for example, that equal input gives equal results, and that errors are the
# expected ones.

# %%
from semblance.testing import check_learner

check_learner(WithinSpread)

# %% [markdown]
# ## Compare it
#
# Learners are transformers of scikit-learn, so they go into pipelines, `GridSearchCV` and cross-validation. No patient
# is on both sides of a split.

# %%
learners = {
    "euclidean": make_learner("euclidean"),
    "within_spread": WithinSpread(),
    "lda": make_learner("lda"),
    "bdm_v": make_learner("bdm_v", rounds=50, random_state=0),
}
folds = GroupKFold(5, shuffle=True, random_state=0)
accuracy = {}
for name, learner in learners.items():
    pipeline = make_pipeline(StandardScaler(), learner, KNeighborsClassifier(5))
    accuracy[name] = cross_val_score(pipeline, X, y, groups=patients, cv=folds)
    print(f"{name:14} {accuracy[name].mean():.3f} ± {accuracy[name].std(ddof=1):.3f} over folds")

# %% [markdown]
# ## Search with it
#
# `fit_metric` fits steps and learner together and gives a metric. It is stored as JSON and arrays, never as code. The
# names of the features let a library with the same features take it. The library knows its distance, not its learner,
# and says so on the card.

# %%
metric = fit_metric(
    WithinSpread(), X, y, steps=parse_steps("standardise"), groups=patients, feature_names=features.names
)
metric.save("within_spread.semblance-metric")
import_metric(lib.location, Path("within_spread.semblance-metric"))
lib.search(lib.cases["case_id"][0], k=5, metric="within_spread")

# %% [markdown]
# ## Make it a package
#
# `semblance new-plugin within-spread --kind learner` writes the few files of a package. Put the class there and install
# it: the learner is then in `lib.train("within_spread")`, on the command line and in the window, and its metrics carry
# the version of your package.
