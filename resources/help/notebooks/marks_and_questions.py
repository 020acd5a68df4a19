# %% [markdown]
# # Marks and questions
#
# You tell a search which results are what you meant, let Semblance ask the questions whose answers help most, and
# measure whether marks help on your data.

# %%
from pathlib import Path

import semblance as sb
from semblance.core.demo import generate

images = generate(Path("images"), patients=30, per_category=1)
lib = sb.create_library("masses.semblance", source=images.masses)
finding = dict(zip(lib.cases["case_id"], lib.cases["finding"], strict=True))
lib.findings

# %% [markdown]
# ## Mark results
#
# The plain metric compares how images look. Say we search for malignant masses: take a query whose results are mixed.

# %%
malignant = [case for case, name in finding.items() if name == "malignant"]
rankings = [lib.search(case, k=10) for case in malignant]
hits = [sum(one.finding == "malignant" for one in found) for found in rankings]
mixed = rankings[hits.index(min(hits))]
mixed

# %% [markdown]
# `mark` takes results of the ranking, or case ids. It gives a new ranking: the old one stays as it is, and nothing is
# written to the library. Marked cases keep their distances. Only the order changes.

# %%
wanted = [one for one in mixed if one.finding == "malignant"][:3]
others = [one for one in mixed if one.finding != "malignant"][:3]
better = mixed.mark(like=wanted, unlike=others)
better

# %% [markdown]
# ## Be asked
#
# A question shows two cases: which of them is like the query? Semblance chooses the pair whose answer it can predict
# least and that changes most. The cards hide the findings, so that they do not influence the answer.

# %%
question = mixed.question()
question

# %% [markdown]
# A person would look. Here the finding answers, as in a simulation.

# %%
asked = mixed
for number in range(1, 6):
    question = asked.question()
    if question is None:
        break
    pair = (question.first, question.second)
    asked = asked.mark(
        like=[case for case in pair if finding[case] == "malignant"],
        unlike=[case for case in pair if finding[case] != "malignant"],
    )
    marked = {*asked.search.like, *asked.search.unlike}
    new = [one for one in asked if one.case_id not in marked]
    print(
        f"{number} answers: {sum(one.finding == 'malignant' for one in new)} of {len(new)} results are malignant"
    )

# %% [markdown]
# ## Do marks help on your data?
#
# The protocol `feedback` simulates a person who marks the first results of each query by their findings, and counts
# what is right among the cases that were *not* marked, the residual collection. The more cases are marked, the fewer
# right ones are left to find. So compare `residual_precision@20:5`, after 5 marks, not with `residual_precision@20:0`
# but with `residual_precision@20:5:no_feedback`: the same cases in the order without marks. `gain@20:5` is the
# difference.
#
# By default the finding of a query needs 45 cases. This small library makes do with 20.

# %%
scores = lib.evaluate("euclidean", protocol="feedback", repeats=2, settings={"protocol": {"cases": 20}})
scores

# %%
{name: round(value, 3) for name, value in scores["euclidean"].items() if value is not None}
