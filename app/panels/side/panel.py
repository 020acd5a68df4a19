"""The panels at the right, one tab each: Why, Train, Refine."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from app.context import Context
from app.models.thumbnails import ThumbnailSource
from app.operations.concepts import Concepts
from app.panels.side.concepts import ConceptsSection
from app.panels.side.refine import RefinePanel
from app.panels.side.train import TrainPanel
from app.panels.side.why import WhyPanel
from app.widgets.panel_header import TabHeader
from core.language import tr

#: Names of the panels and their help pages, in the order of the tabs.
NAMES = ("why", "train", "refine")


class SidePanel(QWidget):
    """Three panels, of which one is seen; ``help_wanted(name)``."""

    help_wanted = Signal(str)

    def __init__(self, context: Context, thumbnails: ThumbnailSource, concepts: Concepts) -> None:
        super().__init__()
        self.why = WhyPanel(context)
        self.train = TrainPanel(context)
        self.refine = RefinePanel(context, thumbnails)
        self.refine.train_wanted.connect(lambda: self.show_tab("train"))
        self.concepts = ConceptsSection(context, concepts)
        self.concepts.help_wanted.connect(lambda: self.help_wanted.emit("concepts"))
        self.refine.add_section(self.concepts)
        self.header = TabHeader((tr("Why"), tr("Train"), tr("Refine")))
        self.header.changed.connect(self._show)
        self.header.help_wanted.connect(lambda: self.help_wanted.emit(self.current))
        self._pages = QStackedWidget()
        for page in (self.why, self.train, self.refine):
            # A tab nobody looks at asks for no room.
            page.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
            self._pages.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._pages)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.show_tab("train")

    @property
    def current(self) -> str:
        """The name of the panel that is seen."""
        return NAMES[self._pages.currentIndex()]

    def show_tab(self, name: str) -> None:
        """Bring a panel to the front: one of :data:`NAMES`."""
        self.header.tabs.setCurrentIndex(NAMES.index(name))
        self._show(NAMES.index(name))

    def _show(self, index: int) -> None:
        self._pages.setCurrentIndex(index)
