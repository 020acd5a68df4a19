"""The conditions of commands that the state meets, and why it does not meet others."""

from __future__ import annotations

from semblance.app.shell.state import State
from semblance.core.language import tr
from semblance.core.library.location import ServerAddress

#: Conditions of commands that change cases, features or metrics, and of those that save judgements and searches.
_OF_EDITS = (
    "editable",
    "editable on a server",
    "features",
    "can score",
    "edits",
    "undone edits",
    "can save metric",
)
_OF_MARKS = ("writable", "can judge", "can save search", "can add concepts", "concepts")


def available(state: State) -> set[str]:
    """The conditions of commands that are met now."""
    out: set[str] = set()
    if state.library is not None:
        out.add("library")
        if len(state.library.metrics) > 1:
            out.add("two metrics")
        if state.can_write:
            out.add("writable")
        if state.can_edit:
            out.add("editable")
            if state.library.feature_sets:
                out.add("features")
    if state.metric is not None:
        out.add("metric")
        if "editable" in out:
            out.add("can score")
        if state.metric.scores:
            out.add("scores")
    if state.query is not None:
        out.add("query")
        if "writable" in out:
            out.add("can save search")
    if state.ranking is not None:
        out.add("ranking")
    out |= _judgement_conditions(state) | _edit_conditions(state)
    if state.training is not None and state.training.running:
        out.add("training")
    return out


def refused(state: State) -> dict[str, str]:
    """Condition of commands -> why it is not met, where rights are the reason."""
    of_edits, of_marks = state.why_not_edited, state.why_not_written
    found = dict.fromkeys(_OF_EDITS, of_edits) if of_edits else {}
    if state.library is not None and not isinstance(state.library.path, ServerAddress):
        found["editable on a server"] = tr(
            "In a library in a folder all cases are compared, without an index."
        )
    return found | (dict.fromkeys(_OF_MARKS, of_marks) if of_marks else {})


def _edit_conditions(state: State) -> set[str]:
    out: set[str] = set()
    if state.library is None or not state.can_edit:
        return out
    if isinstance(state.library.path, ServerAddress):
        out.add("editable on a server")
    if state.last_edit is not None:
        out.add("edits")
    if state.last_undone_edit is not None:
        out.add("undone edits")
    return out


def _judgement_conditions(state: State) -> set[str]:
    out = {"can judge"} if state.can_judge else set()
    if state.metric is not None and state.can_write:
        out.add("can add concepts")
    if state.judgement_count:
        out.add("judgements")
        if state.can_edit:
            out.add("can save metric")
    if state.own_judgement_count:
        out.add("own judgements")
    if state.ranked_search is not None and state.judgement_count < len(state.ranked_search.entries):
        out.add("undone judgements")
    return out
