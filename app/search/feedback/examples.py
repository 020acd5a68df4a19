"""Examples beside the query: cases and images that are, and are not, what is meant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.state import State
from semblance.core.language import tr
from semblance.core.searches.query import Query

#: More would move the query to the middle of everything.
MOST = 40


def examples(state: State) -> tuple[tuple[Query, bool], ...]:
    """The examples of the present search, each with whether it is a positive one; positive ones first."""
    search = state.search
    if search is None:
        return ()
    return (*((one, True) for one in search.like), *((one, False) for one in search.unlike))


def add(context: Context, wanted: Sequence[Query], *, like: bool) -> None:
    """``wanted`` become examples, positive or not; those that are examples already change sides."""
    state = context.state
    if state.search is None or state.query is None:
        context.messages.info(tr("Search with a case or an image first. Examples are added to the query."))
        return
    fresh = [one for one in dict.fromkeys(wanted) if one != state.query]
    if not fresh:
        if wanted:
            context.messages.info(tr("This is the query itself. Choose another case as an example."))
        return
    kept = [(one, side) for one, side in examples(state) if one not in fresh]
    if len(kept) + len(fresh) > MOST:
        context.messages.info(tr("A search has at most {most} examples. Remove some first.", most=MOST))
        return
    _set(context, [*kept, *((one, like) for one in fresh)])


def add_cases(context: Context, case_rows: Sequence[int], *, like: bool) -> None:
    """Cases of the library by their catalogue rows."""
    columns = context.state.columns
    found = [index for row in case_rows if (index := columns.index_of_row(row)) >= 0]
    add(context, [Query(case=columns.ids[index]) for index in found], like=like)


def add_file(context: Context, path: Path, *, like: bool) -> None:
    """An image from outside the library."""
    add(context, [Query(image=path)], like=like)


def turn(context: Context, example: Query) -> None:
    """The other side: a positive example becomes a negative one, and back."""
    _set(context, [(one, side != (one == example)) for one, side in examples(context.state)])


def remove(context: Context, example: Query) -> None:
    """Ask without this example again."""
    _set(context, [(one, side) for one, side in examples(context.state) if one != example])


def clear(context: Context) -> None:
    """Ask without any example again."""
    _set(context, [])


def _set(context: Context, wanted: Sequence[tuple[Query, bool]]) -> None:
    sides = [tuple(one for one, side in wanted if side == like) for like in (True, False)]
    before = context.state.search
    context.state.change_search(like=sides[0], unlike=sides[1])
    if context.state.search != before:
        search_operations.rank(context)
