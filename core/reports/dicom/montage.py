"""The similar cases of a search in one image, for the record of another patient: their images, ranks and findings."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from semblance.core.purpose import NOT_FOR_PATIENTS, USES

if TYPE_CHECKING:
    from semblance.core.reports.document import RankedRow

#: Cells of a row, and pixels of a cell's image, of its text and between cells.
_ACROSS, _SIDE, _TEXT, _GAP = 5, 256, 44, 12
_HEAD = 80
_TITLE = ("Similar cases of other patients, de-identified.", *map(str, (USES, NOT_FOR_PATIENTS)))
_BLACK, _WHITE, _GREY = (0, 0, 0), (255, 255, 255), (150, 150, 150)


def montage(ranking: Sequence[RankedRow], without_image: Collection[int] = ()) -> bytes | None:
    """A PNG with a cell for each case of a de-identified ``ranking``; ``None`` where none has an image.

    Cases whose ranks are in ``without_image`` are named only.
    """
    from matplotlib import get_data_path
    from PIL import Image, ImageDraw, ImageFont

    images = {row.rank: row.image or row.thumbnail for row in ranking if row.rank not in without_image}
    if not any(images.values()):
        return None
    font = ImageFont.truetype(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf", 16)
    across = min(_ACROSS, max(3, len(ranking)))
    down = -(-len(ranking) // across)
    size = (across * (_SIDE + _GAP) + _GAP, _HEAD + down * (_SIDE + _TEXT + _GAP))
    sheet = Image.new("RGB", size, _BLACK)
    draw = ImageDraw.Draw(sheet)
    for line, text in enumerate(_TITLE):
        draw.text((_GAP, _GAP + 20 * line), _shortened(text, font, size[0] - 2 * _GAP), _WHITE, font)
    for place, row in enumerate(ranking):
        x, y = _GAP + place % across * (_SIDE + _GAP), _HEAD + place // across * (_SIDE + _TEXT + _GAP)
        image = images.get(row.rank)
        if image is None:
            draw.rectangle((x, y, x + _SIDE - 1, y + _SIDE - 1), outline=_GREY)
            draw.text((x + _SIDE // 2, y + _SIDE // 2), "not shown", _GREY, font, anchor="mm")
        else:
            with Image.open(io.BytesIO(image)) as opened:
                shown = opened.convert("RGB")
            scale = _SIDE / max(shown.size)
            shown = shown.resize((max(1, round(shown.width * scale)), max(1, round(shown.height * scale))))
            sheet.paste(shown, (x + (_SIDE - shown.width) // 2, y + (_SIDE - shown.height) // 2))
        for line, text in enumerate((f"{row.rank}  {row.case_id}", row.finding or "")):
            draw.text((x, y + _SIDE + 2 + 20 * line), _shortened(text, font), _WHITE, font)
    out = io.BytesIO()
    sheet.save(out, "PNG")
    return out.getvalue()


def _shortened(text: str, font: Any, width: int = _SIDE) -> str:
    shown = text
    while shown and font.getlength(shown) > width:
        shown = shown[:-2].rstrip("…") + "…"
    return shown
