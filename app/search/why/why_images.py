"""Query and ranked case side by side, with the regions that agree."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from semblance.app.search.why import explain_distance
from semblance.app.search.why.annotated_image import AnnotatedImage, AnnotatedImageView
from semblance.app.shell.context import Context
from semblance.app.widgets.copy_details_button import CopyDetailsButton
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.finding_chip import FindingChip
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.panel_header import header_button
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, visible
from semblance.core.workflows.searches.compare_cases import ComparedImage, ImageComparison
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.search_result import RankedCase


class WhyImages(QWidget):
    """Shows the pair of :meth:`show_pair`. The last images stay until the new ones are ready."""

    def __init__(self, context: Context) -> None:
        super().__init__()
        self._context = context
        self.query, self.case = AnnotatedImageView(tr("Query")), AnnotatedImageView(tr("Ranked case"))
        self._title = ElidedLabel(role="title")
        self._chip = FindingChip(-1, "?")
        self.note = WrappedLabel(role="small")
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(0, 1)
        grid.setColumnStretch(1, 1)
        header_row = QGridLayout()
        header_row.setContentsMargins(0, 0, 0, 0)
        header_row.setHorizontalSpacing(6)
        header_row.setColumnStretch(0, 1)
        header_row.addWidget(self._title, 0, 0)
        header_row.addWidget(self._chip, 0, 1)
        grid.addWidget(ElidedLabel(tr("Query"), role="second"), 0, 0)
        grid.addLayout(header_row, 0, 1)
        grid.addWidget(self.query, 1, 0)
        grid.addWidget(self.case, 1, 1)
        self.marks = header_button("eye", tr("Show the regions that agree on both images"))
        self.marks.setCheckable(True)
        self.marks.setAccessibleName(tr("Show the regions that agree"))
        self.marks.setChecked(context.settings.flag("why_places", default=True))
        self.marks.toggled.connect(self._set_marks)
        self._set_marks(self.marks.isChecked())
        self.copy_details = CopyDetailsButton()
        footer = hbox(spacing=8)
        footer.addWidget(self.note, 1)
        footer.addWidget(self.copy_details, 0, Qt.AlignmentFlag.AlignTop)
        footer.addWidget(self.marks, 0, Qt.AlignmentFlag.AlignTop)
        column = vbox(self, spacing=4)
        column.addLayout(grid)
        column.addLayout(footer)
        self._update_switch()

    def show_pair(self, ranked_search: RankedSearch, ranked_case: RankedCase) -> None:
        """Request the images of the query and of a ranked case."""
        columns = self._context.state.columns
        finding = ranked_case.finding or ""
        codes = {name: code for code, name in enumerate(columns.findings)}
        index = columns.index_of_row(ranked_case.row)
        name = columns.name(index) if index >= 0 else ranked_case.case_id
        self._title.setText(f"{tr('Rank {rank}', rank=ranked_case.rank)}  {name}")
        self._title.set_tip(visible(ranked_case.case_id))
        self._chip.set_finding(codes.get(finding, -1), columns.letters.get(finding, "?"))
        self._chip.setToolTip(visible(finding) or tr("finding not given"))
        explain_distance.compare_images(
            self._context, ranked_search, ranked_case.case_id, self._show, self._fail
        )

    def clear(self) -> None:
        """Remove the images and drop the job that prepares new ones."""
        self._context.jobs.cancel_channel(explain_distance.IMAGES_CHANNEL)
        for image in (self.query, self.case):
            image.show_image(AnnotatedImage())
        self.note.setText("")
        self.copy_details.set_error(None)
        self._update_switch()

    def _set_marks(self, on: bool) -> None:
        self._context.settings.set_flag("why_places", on)
        for image in (self.query, self.case):
            image.set_marks(on)

    def _update_switch(self) -> None:
        """Show the switch if there are marks."""
        shown = (self.query.shown, self.case.shown)
        self.marks.setVisible(any(one.rings or one.outline for one in shown))

    def _show(self, found: ImageComparison) -> None:
        self.copy_details.set_error(None)
        for image, side in ((self.query, found.query), (self.case, found.case)):
            image.show_image(_annotated(side))
        self.note.setText(found.note)
        self.note.setVisible(bool(found.note))
        shown = any(side.pixels is not None or side.problem for side in (found.query, found.case))
        for image in (self.query, self.case):
            image.setVisible(shown)
        self._update_switch()

    def _fail(self, error: SemblanceError) -> None:
        self.copy_details.set_error(error)
        for image in (self.query, self.case):
            image.show_image(AnnotatedImage(problem=error.message))
        self.note.setText("")
        self._update_switch()


def _annotated(side: ComparedImage) -> AnnotatedImage:
    return AnnotatedImage(side.pixels, side.rings, side.outline, side.problem)
