"""Pages of a PDF are drawn as images of the asked width, the first ones only."""

from __future__ import annotations

import io

from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from semblance.core.reports.pdf_pages import rendered_pages


def test_the_first_pages_are_drawn_and_all_counted():
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(200, 100))
    for _ in range(3):
        canvas.rect(0, 0, 100, 100, fill=1)
        canvas.showPage()
    canvas.save()
    pages, count = rendered_pages(out.getvalue(), 400, 2)
    assert (len(pages), count) == (2, 3)
    with Image.open(io.BytesIO(pages[0])) as image:
        assert image.size == (400, 200)
        assert (image.getpixel((100, 100)), image.getpixel((300, 100))) == ((0, 0, 0), (255, 255, 255))
