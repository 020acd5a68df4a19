"""What makes a ranking doubtful, plainly, between the strip and the cards."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy

from semblance.app.shell.theme import set_look
from semblance.app.widgets.icon_label import IconLabel
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.wrapped_label import WrappedLabel
from semblance.core.language import tr, translate
from semblance.core.reports.formatting import distance_text
from semblance.core.searches.search import UNUSUAL
from semblance.core.workflows.searches.search_result import SearchResult


class NoMatchNotice(QFrame):
    """Takes no room while there is nothing to say. ``change``: opens what the rate is chosen in."""

    def __init__(self, change: Callable[[], None]) -> None:
        super().__init__()
        set_look(self, message="warning")
        self.title, self.words = WrappedLabel(role="title"), WrappedLabel(role="second")
        self.change = QPushButton(tr("Change…"))
        self.change.setToolTip(tr("Choose how far a query must be to have no close match"))
        set_look(self.change, link=True)
        self.change.clicked.connect(change)
        told = vbox(spacing=2)
        told.addWidget(self.title)
        told.addWidget(self.words)
        row = hbox(self, spacing=8, margins=(10, 6, 8, 6))
        row.addWidget(IconLabel("warning"), 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(told, 1)
        row.addWidget(self.change, 0, Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_ranking(self, ranking: SearchResult | None, unusual: float = UNUSUAL) -> None:
        """What is to be said of ``ranking``, made with the rate ``unusual``."""
        said = [] if ranking is None else [translate(warning) for warning in ranking.warnings]
        far = ranking is not None and ranking.no_good_match
        if ranking is not None and far and ranking.ranked and ranking.usual_distance is not None:
            nearest = min(case.distance for case in ranking.ranked)
            said.insert(
                0,
                tr(
                    "The nearest case, at {nearest}, is farther than {share:g} % of this library's cases are "
                    "from their nearest ({usual}). The cases below may not be similar.",
                    nearest=distance_text(nearest),
                    share=100 * (1 - unusual),
                    usual=distance_text(ranking.usual_distance),
                ),
            )
        self.title.setText(tr("No close match in this library") if far else tr("Check the query"))
        self.words.setText("\n".join(said))
        self.setAccessibleName(f"{self.title.text()}: {self.words.text()}" if said else "")
        self.change.setVisible(far)
        self.setVisible(bool(said))
