# %% [markdown]
# # Your own learner
#
# You write a metric learner as a class, test that it keeps the rules, compare it with others by scikit-learn, and
# search a library with it.

# %%
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GroupKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from semblance.core.metrics import make_learner

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
# Rows of one patient share a number. Here each row is a patient of its own.
patients = np.arange(len(y))

# %% [markdown]
# ## Write it
#
# A learner of a linear map derives from `LinearLearner` and returns the matrix (m, d) of the map: the distance of two
# cases is the squared Euclidean distance of their mapped rows. This one divides each feature by its spread inside the
# findings, so that features count by how well they separate them.

# %%
