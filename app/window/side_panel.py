"""The side panel with the tabs Why, Case, Notes, Train and Refine, of which a part may be shown."""

from __future__ import annotations

from collections.abc import Collection

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QWidget

from semblance.app.metrics.train_panel import TrainPanel
from semblance.app.search.case_panel import CasePanel, NotesPanel
from semblance.app.search.feedback.concepts_section import Concepts, ConceptsSection
from semblance.app.search.feedback.questions import QuestionSection
from semblance.app.search.feedback.refine_panel import RefinePanel
from semblance.app.search.why.why_panel import WhyPanel
from semblance.app.shell.context import Context
from semblance.app.shell.lazy_part import lazy_part
from semblance.app.widgets.layouts import vbox
from semblance.app.widgets.panel import TabHeader
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr

#: Names of the panels and their help pages, in the order of the tabs.
NAMES = ("why", "case", "notes", "train", "refine")


class SidePanel(QWidget):
    """Panels in tabs, each built when it is first shown.

    ``help_requested(name)`` · ``save_requested``: name the refined metric · ``case_requested(case_row)``: show a
    judged case in the ranking · ``slider_requested``: prepare the steps between visual and diagnostic similarity ·
    ``questions_requested``: ask in full size · ``query_marked(marks)``: the places of the reason, for the query.
    """

    help_requested = Signal(str)
    save_requested = Signal()
    case_requested = Signal(int)
    slider_requested = Signal()
    questions_requested = Signal()
    query_marked = Signal(object)

    def __init__(self, context: Context, thumbnails: ThumbnailSource, concepts: Concepts) -> None:
        super().__init__()
        self._context, self._thumbnails, self._concepts = context, thumbnails, concepts
        #: The case that is current in the ranking.
        self._case = -1
        self._is_plain = self._is_query_shown = False
        self.header = TabHeader((tr("Why"), tr("Case"), tr("Notes"), tr("Train"), tr("Refine")))
        self.header.changed.connect(self._show)
        self.header.help_requested.connect(lambda: self.help_requested.emit(self.current))
        self._pages = QStackedWidget()
        vbox(self).addWidget(self._pages)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.show_tab("why")

    @lazy_part
    def why(self) -> WhyPanel:
        panel = WhyPanel(self._context)
        panel.images.query_marked.connect(self.query_marked)
        panel.set_plain(self._is_plain)
        panel.images.set_query_shown(self._is_query_shown)
        panel.follow(self._case)
        self._add(panel)
        return panel

    @lazy_part
    def case(self) -> CasePanel:
        panel = CasePanel(self._context)
        panel.follow(self._case)
        self._add(panel)
        return panel

    @lazy_part
    def notes(self) -> NotesPanel:
        panel = NotesPanel(self._context)
        panel.follow(self._case)
        self._add(panel)
        return panel

    @lazy_part
    def train(self) -> TrainPanel:
        panel = TrainPanel(self._context, self._pages)
        panel.slider_requested.connect(self.slider_requested)
        self._add(panel)
        return panel

    @property
    def refine(self) -> RefinePanel:
        return self._refine_parts[0]

    @property
    def question(self) -> QuestionSection:
        return self._refine_parts[1]

    @property
    def concepts(self) -> ConceptsSection:
        return self._refine_parts[2]

    @lazy_part
    def _refine_parts(self) -> tuple[RefinePanel, QuestionSection, ConceptsSection]:
        """The Refine panel with its two sections."""
        panel = RefinePanel(self._context, self._thumbnails)
        panel.train_requested.connect(lambda: self.show_tab("train"))
        panel.save_requested.connect(self.save_requested)
        panel.case_requested.connect(self.case_requested)
        self._add(panel)
        question = QuestionSection(self._context, self._thumbnails)
        question.full_size_requested.connect(self.questions_requested)
        panel.set_questions(question)
        concepts = ConceptsSection(self._context, self._concepts)
        concepts.help_requested.connect(lambda: self.help_requested.emit("concepts"))
        panel.add_section(concepts)
        return panel, question, concepts

    def is_question(self, widget: QWidget) -> bool:
        """Whether ``widget`` is the question."""
        built = SidePanel._refine_parts.built(self)
        return built is not None and widget is built[1]

    def follow(self, case_row: int) -> None:
        """Show this case of the ranking: why it is near, its header, its notes."""
        self._case = case_row
        built = (SidePanel.why.built(self), SidePanel.case.built(self), SidePanel.notes.built(self))
        for panel in built:
            if panel is not None:
                panel.follow(case_row)

    @property
    def title(self) -> str:
        """The name of the panel shown, as on its tab."""
        return self.header.tabs.tabText(self.header.tabs.currentIndex())

    @property
    def current(self) -> str:
        """The name of the panel shown."""
        return NAMES[self.header.tabs.currentIndex()]

    def set_query_shown(self, shown: bool) -> None:
        """Whether the image of the query is visible in its own panel."""
        self._is_query_shown = shown
        why = SidePanel.why.built(self)
        if why is not None:
            why.images.set_query_shown(shown)

    def mark_query(self) -> None:
        """Another image of the query is shown: say again what is marked on it."""
        why = SidePanel.why.built(self)
        if why is not None:
            why.images.mark_query()

    def point_at_query(self, at: tuple[float, float] | None) -> None:
        """The pointer is at a pixel of the query's image: say what the place there matches."""
        why = SidePanel.why.built(self)
        if why is not None and self._is_plain and why.isVisible():
            why.images.point(0, at)

    def set_plain(self, plain: bool) -> None:
        """Whether Why is shown without the metric, and the header without help."""
        self._is_plain = plain
        self.header.show_help_button(not plain)
        why = SidePanel.why.built(self)
        if why is not None:
            why.set_plain(plain)

    def set_tabs(self, names: Collection[str]) -> None:
        """Show only the tabs ``names``."""
        if self.current not in names:
            self.show_tab(next(name for name in NAMES if name in names))
        self.header.set_shown([NAMES.index(name) for name in names])

    def show_tab(self, name: str) -> None:
        """Bring a panel to the front: one of :data:`NAMES`."""
        self.header.tabs.setCurrentIndex(NAMES.index(name))
        self._show(NAMES.index(name))

    def _show(self, index: int) -> None:
        page: QWidget = getattr(self, NAMES[index])
        self._pages.setCurrentWidget(page)

    def _add(self, page: QWidget) -> None:
        # Hidden tabs must not influence the size.
        page.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self._pages.addWidget(page)
