# %% [markdown]
# # Your own split, and the table of a paper
#
# You evaluate learners on a split that you fix yourself, make the table of a paper from it, and recompute a number of
# the table from the exported list of queries.

# %%
import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

import semblance as sb

data = load_breast_cancer()
names = [name.replace(" ", "_") for name in data.feature_names]
ids = [f"w{number:03d}" for number in range(len(data.target))]
with Path("wdbc.csv").open("w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["case_id", *names, "label"])
    for case_id, row, target in zip(ids, data.data, data.target, strict=True):
        table.writerow([case_id, *row, data.target_names[target]])

lib = sb.create_library("wdbc.semblance", source="wdbc.csv")
lib

# %% [markdown]
# ## The split
#
# A table with the columns `case_id`, `part` and, for several splits, `fold`. Parts are `train`, `validation` and
# `test`. Cases of one patient on both sides are an error. Here each case is a patient of its own.

# %%
folds = StratifiedKFold(5, shuffle=True, random_state=0).split(data.data, data.target)
with Path("splits.csv").open("w", newline="") as file:
    table = csv.writer(file)
    table.writerow(["case_id", "part", "fold"])
    for fold, (train, test) in enumerate(folds):
        table.writerows([ids[row], "train", fold] for row in train)
        table.writerows([ids[row], "test", fold] for row in test)

# %% [markdown]
# ## Evaluate
#
# Every learner, and every step before it, is fitted on `train` of each fold. `test` never reaches a fit.

# %%
scores = lib.evaluate(["euclidean", "lda", "bdm_v", "itml"], splits="splits.csv")
scores

# %% [markdown]
# ## The table of the paper
#
# `to_frame` has every score with its standard deviation and interval.

# %%
found = scores.to_frame()
rows = {
    (learner, score): (mean, std)
    for learner, score, mean, std in zip(
        found["learner"], found["score"], found["mean"], found["std"], strict=True
    )
}
columns = ("retrieval_accuracy@10", "macro_retrieval_accuracy@10", "auc")
print(r"learner & " + " & ".join(columns).replace("_", r"\_") + r" \\")
for learner in scores.learners:
    values = [f"{mean:.3f} $\\pm$ {std:.3f}" for mean, std in (rows[learner, score] for score in columns)]
    print(f"{learner.replace('_', chr(92) + '_')} & {' & '.join(values)} \\\\")

# %%
scores.plot()

# %%
roc = scores.roc("malignant", "lda")
roc

# %% [markdown]
# `roc.fpr` and `roc.tpr` are arrays, to draw the curve in your own style.
#
# ## Check a number
#
# `save` writes what was measured, so that a reviewer can recompute every number without Semblance: each query with its
# finding, its nearest cases and its hits, the split, the scores, and the versions of everything used.

# %%
for file in scores.save("paper"):
    print(file.name)
with Path("paper/per_query.csv").open(newline="") as file:
    queries = [row for row in csv.DictReader(file) if row["learner"] == "lda" and row["k"] == "10"]
by_fold: dict[str, list[float]] = {}
for row in queries:
    by_fold.setdefault(row["fold"], []).append(int(row["hits"]) / 10)
recomputed = float(np.mean([np.mean(hits) for hits in by_fold.values()]))
print(f"{recomputed:.6f} recomputed, {scores['lda']['retrieval_accuracy@10']:.6f} in the table")

# %% [markdown]
# `methods.txt` is a draft of the paragraph that a journal asks for, from `config.json`.

# %%
print(Path("paper/methods.txt").read_text())
