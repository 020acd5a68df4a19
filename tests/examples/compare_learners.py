"""Compare four learners on a table by patient, plot the result, and save a metric for a library of Semblance.

Run ``python compare_learners.py TABLE.csv OUT``. The table has one row for each case: a column ``label`` with the
finding, optionally ``case_id`` and ``patient_id``, and columns of numbers. It needs
``pip install semblance-retrieval pandas matplotlib``.
"""

# %% Read the table
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from semblance.core.metrics import fit_metric, load_metric, make_learner
from semblance.core.metrics.steps import parse_steps

matplotlib.use("Agg")
from matplotlib import pyplot as plt

file, out = Path(sys.argv[1]), Path(sys.argv[2])
table = pd.read_csv(file)
findings = table.pop("label").to_numpy()
# Without patients every row counts as a patient of its own, and the scores are too high if that is not true.
patients = table.get("patient_id", pd.Series(range(len(table)))).to_numpy()
features = table.select_dtypes("number").drop(columns=["patient_id", "case_id"], errors="ignore")

# %% Cross-validate four learners: no patient is on both sides of a split
LEARNERS = {"euclidean": {}, "lda": {}, "bdm_v": {"rounds": 50}, "boostmetric": {}}
accuracy = {}
for name, parameters in LEARNERS.items():
    pipeline = make_pipeline(
        SimpleImputer(strategy="median"),
        StandardScaler(),
        make_learner(name, random_state=0, **parameters),
        KNeighborsClassifier(5),
    )
    folds = GroupKFold(5, shuffle=True, random_state=0)
    accuracy[name] = cross_validate(pipeline, features, findings, groups=patients, cv=folds)["test_score"]
    print(f"{name:12} {accuracy[name].mean():.3f} ± {accuracy[name].std(ddof=1):.3f} over folds")

# %% Plot the folds
figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
axes.boxplot(list(accuracy.values()), tick_labels=list(accuracy))
axes.set_ylabel("accuracy of 5 nearest neighbours")
figure.savefig(out / "accuracy.png", dpi=150)

# %% Fit the best one on all cases and save it: JSON and arrays in a zip, nothing is pickled
best = max(accuracy, key=lambda name: accuracy[name].mean())
metric = fit_metric(
    make_learner(best, random_state=0, **LEARNERS[best]),
    features,
    findings,
    steps=parse_steps("impute,standardise"),
    groups=patients,
)
metric.save(out / "best.semblance-metric")

# %% It comes back with the same distances, here and in a library
again = load_metric(out / "best.semblance-metric")
np.testing.assert_array_equal(
    again.distances(features[:3], features), metric.distances(features[:3], features)
)
print(f"""The best is {best}. To open it in the window:
  semblance import {file} --library cases.semblance
  semblance features cases.semblance --extractor raw
  semblance import-metric cases.semblance {out / "best.semblance-metric"}
  semblance""")
