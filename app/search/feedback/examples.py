"""Positive and negative examples of the search: cases and images."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.state import State
from semblance.core.language import tr
from semblance.core.searches.query import Query

#: With more examples the query would move to the centre of all cases.
MAX_EXAMPLES = 40


def examples(state: State) -> tuple[tuple[Query, bool], ...]:
    """The examples of the current search, each with whether it is positive; positive ones first."""
    search = state.search
    if search is None:
        return ()
    return (*((one, True) for one in search.like), *((one, False) for one in search.unlike))


def add(context: Context, queries: Sequence[Query], *, like: bool) -> None:
    """Add ``queries`` as positive or negative examples. Existing examples change to that side."""
    state = context.state
    if state.search is None or state.query is None:
        context.messages.info(tr("Search with a case or an image first. Examples are added to the query."))
        return
    new = [one for one in dict.fromkeys(queries) if one != state.query]
    if not new:
        if queries:
            context.messages.info(tr("This is the query itself. Choose another case as an example."))
        return
    remaining = [(one, side) for one, side in examples(state) if one not in new]
    if len(remaining) + len(new) > MAX_EXAMPLES:
        context.messages.info(
            tr("A search has at most {most} examples. Remove some first.", most=MAX_EXAMPLES)
        )
        return
    _set_examples(context, [*remaining, *((one, like) for one in new)])


def add_cases(context: Context, case_rows: npt.ArrayLike, *, like: bool) -> None:
    """Add cases of the library by their catalogue rows."""
    # One more than can be added, beside the query itself, is enough to refuse them.
    rows = np.asarray(case_rows, dtype=np.int64)[: MAX_EXAMPLES + 2]
    add(context, [Query(case=case) for case in context.state.columns.ids_of_rows(rows)], like=like)


def add_file(context: Context, path: Path, *, like: bool) -> None:
    """Add an image that is not in the library."""
    add(context, [Query(image=path)], like=like)


def switch_side(context: Context, example: Query) -> None:
    """Make a positive example negative, or a negative one positive."""
    _set_examples(context, [(one, side != (one == example)) for one, side in examples(context.state)])


def remove(context: Context, example: Query) -> None:
    """Remove an example and rank again."""
    _set_examples(context, [(one, side) for one, side in examples(context.state) if one != example])


def clear(context: Context) -> None:
    """Remove all examples and rank again."""
    _set_examples(context, [])


def _set_examples(context: Context, queries: Sequence[tuple[Query, bool]]) -> None:
    sides = [tuple(one for one, side in queries if side == like) for like in (True, False)]
    before = context.state.search
    context.state.change_search(like=sides[0], unlike=sides[1])
    if context.state.search != before:
        search_operations.rank(context)
