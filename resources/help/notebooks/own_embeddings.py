# %% [markdown]
# # Your own embeddings
#
# You bring numbers that another program computed, from a foundation model for example, into a library: search with
# them, learn a metric on them, and compare them with others on held-out patients.

# %%
from pathlib import Path

import numpy as np
from skimage.feature import hog
from skimage.io import imread
from skimage.transform import resize

import semblance as sb
from semblance.core.demo import generate

images = generate(Path("images"), patients=40, per_category=1)
lib = sb.create_library("masses.semblance", source=images.masses, extract=False)
lib

# %% [markdown]
# ## Compute embeddings elsewhere
#
# Here a histogram of oriented gradients (Dalal and Triggs, 2005) from scikit-image stands for your model. All that
# counts is the shape: one row of numbers for each image, and an id for each row.

# %%
cases = lib.cases


def embed(path: str) -> np.ndarray:
    small = resize(imread(path, as_gray=True), (128, 96), anti_aliasing=True)
    return hog(small, orientations=8, pixels_per_cell=(16, 16), cells_per_block=(1, 1))


def shades(path: str) -> np.ndarray:
    return np.histogram(imread(path), bins=32, range=(0, 256), density=True)[0]


gradients = np.array([embed(path) for path in cases["path"]])
gradients.shape

# %% [markdown]
# ## Add them
#
# The ids must be those of cases in the library. Ids that are not are an error with their list, and no case is made of
# them. `semblance import-features` does the same with files: `.npy`, `.npz`, Parquet and CSV.

# %%
lib.add_features("gradients", gradients, case_ids=cases["case_id"])
lib.add_features("shades", np.array([shades(path) for path in cases["path"]]), case_ids=cases["case_id"])
lib.feature_sets

# %% [markdown]
# ## Learn a metric, and read its card
#
# `train` holds out 30 % of the patients, learns on the others, and scores the metric with the patients held out. The
# card says on what and how well. It also says what chance would be: read that first.

# %%
metric = lib.train("lda", features="gradients", name="gradients + LDA")
metric

# %%
lib.search(cases["case_id"][0], k=5)

# %% [markdown]
# A new image is searched with by its vector, from the same model as the others.

# %%
lib.search(gradients[3], k=5)

# %% [markdown]
# ## Which embeddings are better?
#
# `evaluate` splits the patients several times and fits anew on each training part. The interval shows how far the mean
# moves between splits of these cases. A difference between learners is worth a sentence in a paper only if the paired
# test finds it: it then stands below the table. Between two evaluations, as here, look for intervals that are far
# apart.

# %%
scores = {
    name: lib.evaluate(["euclidean", "lda"], features=name, repeats=5) for name in ("gradients", "shades")
}
scores["gradients"]

# %%
scores["shades"]

# %%
scores["gradients"].plot()

# %% [markdown]
# ## Take them out again
#
# The exported file has the ids beside the numbers, for scikit-learn, FiftyOne or a notebook of somebody else.

# %%
for file in lib.export("out", features=["gradients"]):
    print(file.name)
stored = np.load("out/gradients.npz", allow_pickle=False)
{name: stored[name].shape for name in stored.files}
