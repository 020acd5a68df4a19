"""Look-alikes with the other finding, below the ranking: what else a case that looks so turned out to be."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QFrame

from semblance.app.search.similar.case_strip import CaseStrip, StripCase
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.finding_chip import FindingChip
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr, translate
from semblance.core.library.case_columns import CaseColumns
from semblance.core.reports.formatting import digits_for, distance_text
from semblance.core.retrieval.explanation.sentence import spoken
from semblance.core.workflows.searches.search_result import RankedCase, SearchResult


class OtherDiagnoses(QFrame):
    """Hidden where there is none. ``chosen(row)``, ``activated(row)`` and ``menu_requested`` as of a strip."""

    chosen = Signal(int)
    activated = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__()
        self._context = context
        self.setObjectName("others")
        self._title = ElidedLabel(tr("Different diagnosis nearby"), role="title")
        self._chip = FindingChip(-1, "?")
        self._word = ElidedLabel(role="second")
        self.strip = CaseStrip(tr("Nearest cases with a different diagnosis"))
        self.strip.set_source(thumbnails)
        self.strip.chosen.connect(self.chosen)
        self.strip.activated.connect(self.activated)
        self.strip.menu_requested.connect(self.menu_requested)
        head = hbox(spacing=8)
        head.addWidget(self._title)
        head.addWidget(self._chip)
        head.addWidget(self._word, 1)
        column = vbox(self, spacing=4, margins=(12, 6, 12, 4))
        column.addLayout(head)
        column.addWidget(self.strip)
        self.hide()

    def show_ranking(self, ranking: SearchResult | None, columns: CaseColumns) -> None:
        cases = [] if ranking is None else [c for c in ranking.others if columns.index_of_row(c.row) >= 0]
        self.setVisible(bool(cases))
        if ranking is None or not cases:
            self.strip.set_cases(())
            return
        findings = {case.finding for case in cases}
        one = next(iter(findings)) if len(columns.findings) == 2 else None
        self._chip.setVisible(one is not None)
        self._title.setText(
            tr("Different diagnosis nearby")
            if one is not None
            else tr("Nearest cases that are not {finding}", finding=next(iter(ranking.counts), ""))
        )
        if one is not None:
            self._chip.set_finding(columns.findings.index(one), columns.letters[one])
        self._word.setText(one or "")
        digits = digits_for([case.distance for case in cases])
        self.strip.set_cases([_told(case, columns, digits, several=one is None) for case in cases])
        rows = [case.row for case in cases]

        def tell(groups: list[str]) -> None:
            self._tell_differences(dict(zip(rows, groups, strict=True)))

        search_operations.find_differences(self._context, [case.case_id for case in cases], tell)

    def set_low(self, low: bool) -> None:
        """With little room: one line."""
        self.strip.set_low(low)

    def _tell_differences(self, differs: dict[int, str]) -> None:
        """The feature group each case differs in most, by catalogue row."""
        cases = []
        for case in self.strip.cases:
            group = differs.get(case.row)
            note = tr("differs in {group}", group=_within(group)) if group else case.note
            words = f"{case.words}, {note}" if group else case.words
            cases.append(replace(case, note=note, words=words))
        self.strip.set_cases(cases)


def _told(case: RankedCase, columns: CaseColumns, digits: int, *, several: bool) -> StripCase:
    rank = tr("rank {rank}", rank=case.rank) if case.rank else tr("beyond the list")
    distance = distance_text(case.distance, digits)
    words = tr(
        "{rank}, {case}, {finding}, distance {distance}",
        rank=rank,
        case=case.case_id,
        finding=case.finding,
        distance=distance,
    )
    finding = str(case.finding)
    chip = (columns.findings.index(finding), columns.letters[finding]) if several else None
    return StripCase(case.row, str(case.rank) if case.rank else "", distance, "", words, chip)


def _within(name: str) -> str:
    """A name inside a sentence: "Grey inside" as "grey inside", "AUC" as it is."""
    words = spoken(name)
    if words != name:
        return translate(words)
    return name[:1].lower() + name[1:] if name[1:2].islower() else name
