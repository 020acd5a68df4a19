"""The pages of a PDF as images, for a preview on the screen."""

from __future__ import annotations

import io


def rendered_pages(pdf: bytes, width: int, most: int) -> tuple[tuple[bytes, ...], int]:
    """The first ``most`` pages of ``pdf`` as PNG images ``width`` pixels wide, and the number of all pages."""
    import pypdfium2

    document = pypdfium2.PdfDocument(pdf)
    try:
        images = []
        for page in list(document)[:most]:
            image = page.render(scale=width / page.get_width()).to_pil()
            out = io.BytesIO()
            image.save(out, "PNG", compress_level=1)
            images.append(out.getvalue())
        return tuple(images), len(document)
    finally:
        document.close()
