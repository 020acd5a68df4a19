"""The options of a report."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

from semblance.core.errors import BadArguments, BadInput
from semblance.core.language import tr_lazy

PAGES = ("A4", "letter")
#: What a reader's assessment is as a DICOM object.
ASSESSMENT = "assessment"
#: What a report is as a DICOM object: an encapsulated PDF, a structured report, key objects, segmentations, all of
#: them as one set, or a reader's assessment with the structured report that it is about.
DICOM_OBJECTS = ("pdf", "sr", "kos", "seg", "all", ASSESSMENT)
#: What a reader can say of an estimate; "" for nothing.
ACCEPTED, REJECTED = "accepted", "rejected"
#: Limits of the logo of a letterhead.
MAX_LOGO_BYTES, MAX_LOGO_SIDE = 4 << 20, 4000
#: Characters of the comment, at most.
MAX_COMMENT = 20_000


@dataclass(frozen=True)
class ReportOptions:
    """``page`` of a PDF; ``clinic`` and ``logo`` (PNG or JPEG bytes) of the letterhead; ``comment``: free text of
    the author; ``identified`` keeps patient ids and paths; ``free_text`` keeps free text about the query's case
    (comments, the body part), which may name the patient; ``dicom``: which of :data:`DICOM_OBJECTS` a .dcm file is;
    ``clean_pixels``: text burnt into the images is blacked out. For an assessment ``estimate`` is what the reader says
    of the estimate, and ``reader`` who that is, the account where empty; the name is in identified objects only.

    Raises:
        BadArguments: an unknown page, object or word on the estimate, or one without an assessment.
        BadInput: a comment longer than :data:`MAX_COMMENT` characters.
    """

    page: str = "A4"
    clinic: str = ""
    logo: bytes | None = None
    comment: str = ""
    identified: bool = False
    free_text: bool = False
    dicom: str = "pdf"
    clean_pixels: bool = False
    estimate: str = ""
    reader: str = ""

    def __post_init__(self) -> None:
        if self.page not in PAGES:
            raise BadArguments(
                tr_lazy("There is no page size '{page}'.", page=self.page),
                tr_lazy("Use {pages}.", pages=" or ".join(PAGES)),
            )
        if self.dicom not in DICOM_OBJECTS:
            raise BadArguments(
                tr_lazy("There is no DICOM report of the kind '{kind}'.", kind=self.dicom),
                tr_lazy("Kinds: {value}.", value=", ".join(DICOM_OBJECTS)),
            )
        if self.estimate not in ("", ACCEPTED, REJECTED):
            raise BadArguments(
                tr_lazy("An estimate cannot be '{word}'.", word=self.estimate),
                tr_lazy("It can be {words}.", words=f"{ACCEPTED}, {REJECTED}"),
            )
        if self.estimate and self.dicom != ASSESSMENT:
            raise BadArguments(
                "Only an assessment says that an estimate was accepted or rejected.",
                tr_lazy("Write it with --as {kind} into a .dcm file.", kind=ASSESSMENT),
            )
        if len(self.comment) > MAX_COMMENT:
            raise BadInput(
                tr_lazy(
                    "The text is {n:,} characters long; a report takes {max_comment:,}.",
                    n=len(self.comment),
                    max_comment=MAX_COMMENT,
                ),
                "Shorten it, or store it separately from the report.",
            )


def read_logo(path: Path) -> bytes:
    """The image at ``path`` as PNG bytes without the metadata of its file.

    Raises:
        BadInput: no such file, no image, or too large for a letterhead.
    """
    from PIL import Image

    if not path.is_file():
        raise BadInput(tr_lazy("There is no logo at {path}.", path=path), "Choose another file.")
    if path.stat().st_size > MAX_LOGO_BYTES:
        raise BadInput(
            tr_lazy(
                "The logo {path} is larger than {max_logo_bytes} MB.",
                path=path.name,
                max_logo_bytes=MAX_LOGO_BYTES >> 20,
            ),
            "Make it smaller first.",
        )
    try:
        with Image.open(path, formats=("PNG", "JPEG")) as image:
            if max(image.size) > MAX_LOGO_SIDE:
                raise BadInput(
                    tr_lazy(
                        "The logo {path} is {width} x {height} pixels.",
                        path=path.name,
                        width=image.width,
                        height=image.height,
                    ),
                    tr_lazy("Make it at most {max_logo_side} pixels on a side.", max_logo_side=MAX_LOGO_SIDE),
                )
            rgba = image.convert("RGBA")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise BadInput(
            tr_lazy("{path} is not a PNG or JPEG image.", path=path.name), "Choose another file."
        ) from None
    rgba.thumbnail((600, 200))
    out = io.BytesIO()
    rgba.info = {}
    rgba.save(out, "PNG")
    return out.getvalue()
