"""Layouts of mammograms: in which order the views hang, and whether prior studies are shown."""

from __future__ import annotations

import json
from dataclasses import dataclass

from semblance.app.shell.settings import Settings
from semblance.core.language import tr
from semblance.core.library.hanging import MAMMOGRAM, ORDERS, ViewOrder

#: A user keeps at most so many layouts.
MAX_LAYOUTS = 20
_SAVED, _ORDER, _PRIORS = "hanging_layouts", "hanging_order", "hanging_priors"
_TEXTS = {
    "cc_first": tr("CC, then MLO"),
    "mlo_first": tr("MLO, then CC"),
    "by_side": tr("Right side, then left side"),
}


@dataclass(frozen=True)
class HangingLayout:
    """``name`` is empty for one that is not saved. ``order``: the four views from left to right, row by row."""

    name: str
    order: ViewOrder
    priors: bool = True


def usual_layouts() -> list[tuple[str, ViewOrder]]:
    """Text and order of the views of the layouts that every user has."""
    return [(_TEXTS[name], order) for name, order in ORDERS.items()]


def saved_layouts(settings: Settings) -> list[HangingLayout]:
    """The user's layouts in the order they were saved, without damaged ones."""
    try:
        entries = [
            (str(name), _order(text), bool(priors))
            for name, text, priors in json.loads(settings.text(_SAVED, "[]"))
        ]
    except (ValueError, TypeError):
        return []
    return [
        HangingLayout(name, order, priors) for name, order, priors in entries[:MAX_LAYOUTS] if name and order
    ]


def save_layout(settings: Settings, layout: HangingLayout) -> None:
    """Keep ``layout`` and replace one of its name."""
    others = [one for one in saved_layouts(settings) if one.name != layout.name]
    _write(settings, [*others[-(MAX_LAYOUTS - 1) :], layout])


def delete_layout(settings: Settings, name: str) -> None:
    _write(settings, [one for one in saved_layouts(settings) if one.name != name])


def last_layout(settings: Settings) -> HangingLayout:
    """The layout in use, also of the next patient and start."""
    text = settings.text(_ORDER)
    order = ORDERS.get(text) or _order(text) or MAMMOGRAM
    return HangingLayout("", order, settings.text(_PRIORS, "yes") == "yes")


def set_last_layout(settings: Settings, layout: HangingLayout) -> None:
    settings.set_text(_ORDER, _text(layout.order))
    settings.set_text(_PRIORS, "yes" if layout.priors else "no")


def _write(settings: Settings, layouts: list[HangingLayout]) -> None:
    settings.set_text(_SAVED, json.dumps([(one.name, _text(one.order), one.priors) for one in layouts]))


def _text(order: ViewOrder) -> str:
    return " ".join(side + view for side, view in order)


def _order(text: str) -> ViewOrder:
    """The order in ``R CC``-like ``text``; empty if it has not each of the four views once."""
    order = tuple((word[:1], word[1:]) for word in str(text).split())
    return order if sorted(order) == sorted(MAMMOGRAM) else ()
