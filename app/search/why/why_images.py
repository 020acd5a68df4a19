"""Query and ranked case side by side, with the places where they agree."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from semblance.app.search.why import explain_distance
from semblance.app.search.why.paired_images import AnnotatedImage, AnnotatedImageView
from semblance.app.shell.context import Context
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.finding_chip import FindingChip
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.panel_header import header_button
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.errors import SemblanceError
from semblance.core.language import tr
from semblance.core.workflows.searches.compare_images import ComparedImage, ImageComparison
from semblance.core.workflows.searches.rank_cases import RankedSearch
from semblance.core.workflows.searches.search_result import RankedCase


class WhyImages(QWidget):
    """Follows what :meth:`show_pair` says; until the images come the last ones stay."""

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
        head = QGridLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.setHorizontalSpacing(6)
        head.setColumnStretch(0, 1)
        head.addWidget(self._title, 0, 0)
        head.addWidget(self._chip, 0, 1)
        grid.addWidget(ElidedLabel(tr("Query"), role="second"), 0, 0)
        grid.addLayout(head, 0, 1)
        grid.addWidget(self.query, 1, 0)
        grid.addWidget(self.case, 1, 1)
        self.marks = header_button("eye", tr("Show the regions that agree on both images"))
        self.marks.setCheckable(True)
        self.marks.setAccessibleName(tr("Show the regions that agree"))
        self.marks.setChecked(context.settings.flag("why_places", default=True))
        self.marks.toggled.connect(self._set_marks)
        self._set_marks(self.marks.isChecked())
        foot = hbox(spacing=8)
        foot.addWidget(self.note, 1)
        foot.addWidget(self.marks, 0, Qt.AlignmentFlag.AlignTop)
        column = vbox(self, spacing=4)
        column.addLayout(grid)
        column.addLayout(foot)
        self._offer_marks()

    def show_pair(self, asked: RankedSearch, line: RankedCase) -> None:
        """Send for the images of the query and of a ranked case."""
        columns = self._context.state.columns
        finding = line.finding or ""
        codes = {name: code for code, name in enumerate(columns.findings)}
        self._title.setText(f"{tr('Rank {rank}', rank=line.rank)}  {line.case_id.rpartition('/')[2]}")
        self._title.set_tip(line.case_id)
        self._chip.set_finding(codes.get(finding, -1), columns.letters.get(finding, "?"))
        self._chip.setToolTip(finding or tr("finding not given"))
        explain_distance.agree(self._context, asked, line.case_id, self._show, self._fail)

    def forget(self) -> None:
        """Nothing is compared any more, and what is under way comes too late."""
        self._context.jobs.cancel_channel(explain_distance.IMAGES)
        for image in (self.query, self.case):
            image.show_image(AnnotatedImage())
        self.note.setText("")
        self._offer_marks()

    def _set_marks(self, on: bool) -> None:
        self._context.settings.set_flag("why_places", on)
        for image in (self.query, self.case):
            image.set_marks(on)

    def _offer_marks(self) -> None:
        """The switch is there where there is something to hide."""
        shown = (self.query.shown, self.case.shown)
        self.marks.setVisible(any(one.rings or one.outline for one in shown))

    def _show(self, found: ImageComparison) -> None:
        for image, side in ((self.query, found.query), (self.case, found.case)):
            image.show_image(_marked(side))
        self.note.setText(found.note)
        self.note.setVisible(bool(found.note))
        shown = any(side.pixels is not None or side.problem for side in (found.query, found.case))
        for image in (self.query, self.case):
            image.setVisible(shown)
        self._offer_marks()

    def _fail(self, error: SemblanceError) -> None:
        for image in (self.query, self.case):
            image.show_image(AnnotatedImage(problem=error.message))
        self.note.setText("")
        self._offer_marks()


def _marked(side: ComparedImage) -> AnnotatedImage:
    return AnnotatedImage(side.pixels, side.rings, side.outline, side.problem)
