# %% [markdown]
# # A first search
#
# You make a library from a folder of images, search it with an image and with a region, and read what comes back. The
# images are drawn by Semblance and show no patient, so that you can run every line at once.

# %%
from pathlib import Path

import semblance as sb
from semblance.core.demo import generate

images = generate(Path("images"), patients=4, per_category=8)
sorted(folder.name for folder in images.radiographs.iterdir() if folder.is_dir())

# %% [markdown]
# ## Make a library
#
# A library is a folder of its own. The images stay where they are. Each sub-folder of `radiographs` has the name of a
# finding, here a part of the body. The shipped encoder measures every image: 1,280 numbers each. Run the same line
# again after adding files, and only the new ones are measured.

# %%
lib = sb.create_library("radiographs.semblance", source=images.radiographs)
lib

# %% [markdown]
# `lib.cases` is a data frame. In your own libraries patients stand in it as codes, unless you import with
# `identified=True`.

# %%
lib.cases

# %% [markdown]
# ## Search
#
# The query is a case of the library, an image file or an array. Cases of the same patient are never among the results:
# they would be too easy to find.

# %%
query = lib.cases["case_id"][0]
found = lib.search(query, k=6)
found

# %% [markdown]
# Each card shows the rank, the finding and the distance. The distance is squared and has no unit: it orders cases of
# one library under one metric, and says nothing more. A ranking is also a sequence and a data frame.

# %%
found[0].finding, found[0].distance

# %%
found.to_frame()

# %% [markdown]
# ## Search with a region
#
# A region is left, top, width and height in pixels of the query. Semblance then looks for what is inside it anywhere in
# the other images. The frames show where it was found.

# %%
by_place = lib.search(query, k=6, region=(150, 150, 200, 200))
by_place

# %% [markdown]
# ## See the whole library
#
# Similar cases lie near each other on the map. It is a figure of Matplotlib: `lib.map().savefig("map.pdf")` saves it.

# %%
lib.map()

# %% [markdown]
# Everything you made is also in the window (`semblance`, then open `radiographs.semblance`) and on the command line
# (`semblance info radiographs.semblance`). Next: your own embeddings.
