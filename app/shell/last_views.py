"""The last view of each image, its slice and window, which is also used where it is shown elsewhere."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semblance.core.imaging.slab import Slab

#: Maximum number of images; the least recently shown one is removed.
MOST = 500


@dataclass(frozen=True)
class LastView:
    """``place``: the slice, 0 for an image. ``window``: its ends in the image's unit, ``None`` for colour. ``slabs``:
    (axis, slab) of the planes of a volume that are shown as one."""

    place: int = 0
    window: tuple[float, float] | None = None
    inverted: bool = False
    slabs: tuple[tuple[int, Slab], ...] = ()


class LastViews:
    """The views of a window's images. The key is what identifies an image, such as its library and row."""

    def __init__(self) -> None:
        self._views: OrderedDict[Hashable, LastView] = OrderedDict()

    def get(self, key: Hashable) -> LastView | None:
        """The last view stored under ``key``, or ``None``."""
        return self._views.get(key)

    def store(self, key: Hashable, view: LastView) -> None:
        """Store ``view`` under ``key``."""
        self._views[key] = view
        self._views.move_to_end(key)
        while len(self._views) > MOST:
            self._views.popitem(last=False)

    def clear(self) -> None:
        """Forget all, as for another library."""
        self._views.clear()
