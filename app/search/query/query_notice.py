"""The notice that is shown if there is no image."""

from __future__ import annotations

import re
from collections.abc import Callable

from semblance.app.widgets.empty_state import EmptyState
from semblance.core.errors import SemblanceError
from semblance.core.language import tr


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
            tr("Double-click a case in the library, or drop an image here."),
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
    breakable_text = re.sub(r"([/\\_.-])(?=\S)", "\\1\u200b", text)
    return re.sub(rf"([^\s\u200b]{{{longest}}})(?=[^\s\u200b])", "\\1\u200b", breakable_text)
