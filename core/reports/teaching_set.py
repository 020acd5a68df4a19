"""A teaching collection for others: slides as a PDF, and a page on which findings are covered until one answers."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field

from semblance.core.csv_cells import csv_text
from semblance.core.language import tr, translate
from semblance.core.purpose import PURPOSE
from semblance.core.reports.formatting import time_text
from semblance.core.reports.write_report import html_page


@dataclass(frozen=True)
class TeachingCase:
    """A case of a collection, de-identified where it has to be: its ``name`` ("Case 3"), ``finding``, ``facts`` by
    their titles, ``notes``, and the ``image`` as PNG or JPEG bytes, ``None`` where the case or its file is gone."""

    name: str
    finding: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""
    image: bytes | None = None
    is_gone: bool = False


@dataclass(frozen=True)
class TeachingSet:
    """A collection as it is exported; ``created``: ISO 8601, UTC."""

    title: str
    notes: str
    cases: tuple[TeachingCase, ...]
    identified: bool
    created: str

    @property
    def findings(self) -> tuple[str, ...]:
        """The findings to choose from, by name."""
        return tuple(sorted({case.finding for case in self.cases if case.finding}))


def slides_pdf(teaching: TeachingSet) -> bytes:
    """A page of 16:9 for the title and for each case: the image, its name, finding, facts and notes.

    Long notes are cut where the page ends. The same set gives the same bytes.
    """
    from reportlab.lib.units import mm
    from reportlab.pdfgen.canvas import Canvas
    from reportlab.platypus import Frame, Spacer

    from semblance.core.reports.pdf_parts import SECOND, THIRD, ThumbnailBox, paragraph, style, write
    from semblance.core.reports.pdf_text import REGULAR, register

    register()
    width, height, edge = 320 * mm, 180 * mm, 12 * mm
    out = io.BytesIO()
    canvas = Canvas(out, pagesize=(width, height), invariant=1, initialFontName=REGULAR)
    canvas.setTitle(teaching.title)
    large, head, body = (
        style("slide-title", 30, 38, bold=True),
        style("slide-head", 20, 26, bold=True),
        style("slide-body", 13, 18),
    )
    privacy = tr("Identified.") if teaching.identified else tr("De-identified.")

    def finish(number: int) -> None:
        foot = f"{number} / {len(teaching.cases)}   " if number else ""
        write(canvas, edge, 7 * mm, f"{foot}{privacy} {translate(PURPOSE)}", 8, THIRD)
        canvas.showPage()

    def put(parts: list[object], x: float, across: float) -> None:
        frame = Frame(x, 14 * mm, across, height - 14 * mm - edge, 0, 0, 0, 0)
        for part in parts:
            if not frame.add(part, canvas):
                split = frame.split(part, canvas)
                if split:
                    frame.add(split[0], canvas)
                break

    notes = [paragraph(line, body, None) for line in teaching.notes.splitlines() if line.strip()]
    made = paragraph(time_text(teaching.created), style("slide-date", 10, 14, SECOND))
    put([Spacer(1, 45 * mm), paragraph(teaching.title, large), *notes, made], edge, width - 2 * edge)
    finish(0)
    for number, case in enumerate(teaching.cases, start=1):
        side, text_width = width * 0.6, width * 0.4 - 3 * edge
        image = ThumbnailBox(case.image, side - edge, height - 26 * mm, fit_image=True)
        across, down = image.wrap(0, 0)
        image.drawOn(canvas, edge + (side - edge - across) / 2, 14 * mm + (height - 26 * mm - down) / 2)
        parts = [paragraph(case.name, head)]
        if case.is_gone:
            parts.append(paragraph(tr("This case is no longer in the library."), body))
        if case.finding:
            parts += [paragraph(case.finding, head), Spacer(1, 3 * mm)]
        parts += [paragraph(f"{translate(name)}: {value}", body) for name, value in case.facts.items()]
        parts += [paragraph(line, body, None) for line in case.notes.splitlines() if line.strip()]
        put(parts, edge + side + edge, text_width)
        finish(number)
    canvas.save()
    return out.getvalue()


def set_files(teaching: TeachingSet) -> dict[str, bytes]:
    """Name -> content of the files of a teaching set: ``index.html``, on which findings are covered, the images beside
    it, and ``key.csv``."""
    names = [
        "" if case.image is None else f"images/case-{number:03}.{_ending(case.image)}"
        for number, case in enumerate(teaching.cases, start=1)
    ]
    images = {
        name: case.image for name, case in zip(names, teaching.cases, strict=True) if case.image is not None
    }
    rows = [
        (number, translate(case.name), case.finding, case.notes)
        for number, case in enumerate(teaching.cases, start=1)
    ]
    key = csv_text(("number", "name", "finding", "notes"), rows)
    return {"index.html": _page(teaching, names).encode(), "key.csv": key.encode("utf-8-sig"), **images}


def _ending(image: bytes) -> str:
    return "png" if image.startswith(b"\x89PNG") else "jpg"


def _page(teaching: TeachingSet, images: list[str]) -> str:
    return html_page(
        "teaching_set.html",
        teaching=teaching,
        images=images,
        purpose=PURPOSE,
        created=time_text(teaching.created),
    )
