"""What is known of the query: its facts, and what to know before its ranking is trusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from semblance.app.widgets.empty_state import EmptyState
from semblance.app.widgets.finding_chips import FindingChip
from semblance.app.widgets.tables import FactList
from semblance.core.errors import SemblanceError
from semblance.core.imaging.display import DisplayImage
from semblance.core.imaging.outline import Ellipse, Polygon
from semblance.core.imaging.region import Region
from semblance.core.language import localise_number, tr, tr_n, translate
from semblance.core.library.case_columns import CaseColumns
from semblance.core.workflows.library.library_snapshot import LesionFacts

FINDING, PATIENT, LESION, SIZE, REGION, SPACING = (
    tr("Finding"),
    tr("Patient"),
    tr("Same lesion"),
    tr("Size"),
    tr("Region"),
    tr("Spacing"),
)
#: Cases of a same-lesion group that the tooltip names.
_LISTED = 20


class QueryFacts(FactList):
    """Finding, patient, same-lesion group, size, region and spacing.

    An unknown fact has no row, or says that it is unknown.
    """

    def __init__(self) -> None:
        super().__init__((FINDING, PATIENT, LESION, SIZE, REGION, SPACING))

    def show_case(self, columns: CaseColumns, case: str | None, *, has_query: bool) -> None:
        """Finding and patient of a case of the library; an image from outside has neither."""
        index = columns.index_of_id(case)
        finding = columns.finding_name(index) if index >= 0 else None
        if finding is None:
            self.set_fact(FINDING, tr("not given") if has_query else None)
        else:
            code = int(columns.finding[index])
            chip = self.widget(FINDING)
            if not isinstance(chip, FindingChip):
                chip = FindingChip(code, columns.letters[finding], finding)
                self.set_widget(FINDING, chip)
            chip.set_finding(code, columns.letters[finding], finding)
            self.show_fact(FINDING, True)
        patient = columns.patient_name(index) if index >= 0 else None
        self.set_fact(PATIENT, (patient or tr("not known")) if index >= 0 else None)

    def show_lesion(self, columns: CaseColumns, case: str | None, lesions: Mapping[int, LesionFacts]) -> None:
        """The other cases of the same-lesion group of a case of the library; nothing where it is alone."""
        row = columns.row_of_id(case)
        facts = lesions.get(row)
        if facts is None:
            self.set_fact(LESION, None)
            return
        places = [columns.index_of_row(one) for one in facts.rows if one != row]
        names = [columns.name(place) for place in places if place >= 0]
        text = (
            tr_n("{n} other case, set by hand", "{n} other cases, set by hand", len(names))
            if facts.by_hand
            else tr_n("{n} other case, detected", "{n} other cases, detected", len(names))
        )
        self.set_fact(LESION, text, "\n".join(names[:_LISTED] + (["…"] if len(names) > _LISTED else [])))

    def show_image(self, image: DisplayImage | None) -> None:
        """Size, and spacing if the file contains it."""
        if image is None:
            self.set_fact(SIZE, None)
            self.set_fact(SPACING, None)
            return
        size = localise_number(f"{image.width:,} × {image.height:,}") + " px"
        if image.reduced > 1:
            size = tr("{size}, shown at 1/{part}", size=size, part=image.reduced)
        self.set_fact(SIZE, size)
        if image.spacing_mm is None:
            self.set_fact(SPACING, None)
        else:
            down, across = image.spacing_mm
            each = localise_number(f"{across:.4g}" if across == down else f"{across:.4g} × {down:.4g}")
            self.set_fact(SPACING, tr("{length} mm, from the file", length=each))

    def show_region(
        self, drawn: Region | None, case_region: Region | None, *, in_use: bool, has_query: bool
    ) -> None:
        """The region ``drawn`` on the image, or the ``case_region`` of the library; nothing without ``has_query``."""
        self.set_fact(REGION, region_text(drawn, case_region, in_use=in_use) if has_query else None)


def region_text(drawn: Region | None, case_region: Region | None, *, in_use: bool) -> str:
    """The text for the region ``drawn`` on an image, or for the ``case_region`` of the library."""
    if drawn is not None:
        region = f"{_shape(drawn)}, {region_size(drawn)}"
        return region if in_use else tr("{region}, not used", region=region)
    return tr("none") if case_region is None else tr("the case’s own, {size} px", size=_size(case_region))


def _shape(region: Region) -> str:
    outline = region.outline
    if outline is None:
        return tr("rectangle")
    if isinstance(outline, Polygon):
        return tr("polygon")
    return tr("ellipse") if isinstance(outline, Ellipse) else tr("drawn freely")


def region_size(region: Region) -> str:
    """Width and height with their unit."""
    return f"{_size(region)} px"


def _size(region: Region) -> str:
    return localise_number(f"{region.width:,} × {region.height:,}")


class QueryNotice(EmptyState):
    """Says why there is no image and what to do."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("query-notice")
        self.setAccessibleName(tr("Query"))

    def show_no_query(self, choose: Callable[[], None]) -> None:
        self.set_icon("image")
        self.show_message(
            tr("No query yet"),
            tr("Click a case in the library, or drop an image here."),
            tr("Choose an image…"),
            choose,
        )

    def show_loading(self) -> None:
        self.set_icon("hourglass")
        self.show_message("", tr("Loading the image…"))

    def show_table_row(self) -> None:
        self.set_icon("table")
        self.show_message(tr("No image"), tr("The case is a row of a table: it has numbers only."))

    def show_image_error(self, error: SemblanceError, retry: Callable[[], None]) -> None:
        self.set_icon("warning")
        self.show_message(breakable(error.message), breakable(error.hint), tr("Try again"), retry)
        self.copy_details.set_error(error)


def breakable(text: str, longest: int = 14) -> str:
    """``text`` with zero-width spaces where a narrow label may break paths and other long words."""
    breakable_text = re.sub(r"([/\\_.-])(?=\S)", "\\1\u200b", translate(text))
    return re.sub(rf"([^\s\u200b]{{{longest}}})(?=[^\s\u200b])", "\\1\u200b", breakable_text)
