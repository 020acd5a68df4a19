"""The tools of the left mouse button on an image."""

from __future__ import annotations

from dataclasses import dataclass

from semblance.core.language import tr

SELECT, RECTANGLE, ELLIPSE, POLYGON = "select", "rectangle", "ellipse", "polygon"
FREEHAND, SEGMENT, BRUSH, RULER = "freehand", "segment", "brush", "ruler"


@dataclass(frozen=True)
class Tool:
    """``name``, its ``key``, and what it does in a line."""

    name: str
    key: str
    tip: str


ALL = (
    Tool(SELECT, "V", tr("Window / level: drag on the image")),
    Tool(RECTANGLE, "R", tr("Draw a rectangle to search with")),
    Tool(ELLIPSE, "E", tr("Draw an ellipse to search with")),
    Tool(POLYGON, "P", tr("Draw a polygon: click its corners, the first one again to close it")),
    Tool(FREEHAND, "L", tr("Lasso: draw around the region in one stroke")),
    Tool(SEGMENT, "S", tr("Click on a mass to outline it")),
    Tool(BRUSH, "B", tr("Paint the region. Alt removes pixels. [ and ] change the size")),
    Tool(RULER, "M", tr("Measure: drag a line")),
)

#: Those that draw a box from corner to corner.
BOXES = frozenset((RECTANGLE, ELLIPSE))
PATHS = frozenset((POLYGON, FREEHAND))
NAMES = frozenset(tool.name for tool in ALL)
