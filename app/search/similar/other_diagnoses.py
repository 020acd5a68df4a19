"""The nearest cases with a different diagnosis, below the similar cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QFrame

from semblance.app.search.similar.case_strip import CaseStrip, StripCase
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.delayed_call import one_shot
from semblance.app.widgets.elided_label import ElidedLabel
from semblance.app.widgets.finding_chip import FindingChip
from semblance.app.widgets.layouts import hbox, vbox
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.language import tr, translate
from semblance.core.library.case_columns import CaseColumns, ImageState
from semblance.core.reports.formatting import digits_for, distance_text
from semblance.core.retrieval.explanation.sentence import spoken
from semblance.core.workflows.searches.search_result import RankedCase, SearchResult

#: A mark made within this time needs no differences of the ranking before it.
FIND_AFTER_MS = 50


class OtherDiagnoses(QFrame):
    """Hidden if there are none. ``chosen(row)``, ``activated(row)`` and ``menu_requested`` as in :class:`CaseStrip`."""

    chosen = Signal(int)
    activated = Signal(int)
    menu_requested = Signal(int, QPoint)

    def __init__(self, context: Context, thumbnails: ThumbnailSource) -> None:
        super().__init__()
        self._context = context
        self.setObjectName("others")
        self._title = ElidedLabel(tr("Different diagnosis nearby"), role="title")
        self._chip = FindingChip(-1, "?")
        self._finding_label = ElidedLabel(role="second")
        self.strip = CaseStrip(tr("Nearest cases with a different diagnosis"))
        self.strip.set_source(thumbnails)
        self.strip.chosen.connect(self.chosen)
        self.strip.activated.connect(self.activated)
        self.strip.menu_requested.connect(self.menu_requested)
        header_row = hbox(spacing=8)
        header_row.addWidget(self._title)
        header_row.addWidget(self._chip)
        header_row.addWidget(self._finding_label, 1)
        column = vbox(self, spacing=4, margins=(12, 6, 12, 4))
        column.addLayout(header_row)
        column.addWidget(self.strip)
        #: Catalogue rows and ids of the cases shown.
        self._sought: list[tuple[int, str]] = []
        # The ranking is painted first.
        self._find_timer = one_shot(self, self._find_differences, FIND_AFTER_MS)
        self.hide()

    def show_ranking(self, ranking: SearchResult | None, columns: CaseColumns) -> None:
        cases = [] if ranking is None else [c for c in ranking.others if columns.index_of_row(c.row) >= 0]
        self.setVisible(bool(cases))
        if ranking is None or not cases:
            self.strip.set_cases(())
            self._find_timer.stop()
            return
        findings = {case.finding for case in cases}
        single = next(iter(findings)) if len(columns.findings) == 2 else None
        self._chip.setVisible(single is not None)
        self._title.setText(_title(ranking, cases, has_two_findings=single is not None))
        if single is not None:
            self._chip.set_finding(columns.findings.index(single), columns.letters[single])
        self._finding_label.setText(single or "")
        digits = digits_for([case.distance for case in cases])
        self.strip.set_cases([_strip_case(case, columns, digits, with_chip=single is None) for case in cases])
        self._sought = [(case.row, case.case_id) for case in cases]
        self._find_timer.start()

    def _find_differences(self) -> None:
        rows, ids = zip(*self._sought, strict=True)

        def show(groups: list[str]) -> None:
            self._show_differences(dict(zip(rows, groups, strict=True)))

        search_operations.find_differences(self._context, ids, show)

    def set_single_line(self, single_line: bool) -> None:
        """Show each case in a single line, where there is little space."""
        self.strip.set_single_line(single_line)

    def _show_differences(self, groups: dict[int, str]) -> None:
        """The feature group each case differs in most, by catalogue row."""
        cases = []
        for case in self.strip.cases:
            group = groups.get(case.row)
            note = tr("differs in {group}", group=_inside_sentence(group)) if group else case.note
            text = f"{case.text}, {note}" if group else case.text
            cases.append(replace(case, note=note, text=text))
        self.strip.set_cases(cases)


def _title(ranking: SearchResult, cases: Sequence[RankedCase], *, has_two_findings: bool) -> str:
    """Different from the diagnosis that most of the nearest have, and nearby: only where both are so."""
    finding, n = next(iter(ranking.counts.items()))
    if has_two_findings and 2 * n > sum(ranking.counts.values()) and cases[0].rank:
        return tr("Different diagnosis nearby")
    return tr("Nearest cases that are not {finding}", finding=finding)


def _strip_case(case: RankedCase, columns: CaseColumns, digits: int, *, with_chip: bool) -> StripCase:
    rank = tr("rank {rank}", rank=case.rank) if case.rank else tr("beyond the list")
    distance = distance_text(case.distance, digits)
    text = tr(
        "{rank}, {case}, {finding}, distance {distance}",
        rank=rank,
        case=case.case_id,
        finding=case.finding,
        distance=distance,
    )
    finding = str(case.finding)
    chip = (columns.findings.index(finding), columns.letters[finding]) if with_chip else None
    has_image = bool(columns.state[columns.index_of_row(case.row)] != ImageState.NO_IMAGE)
    if not case.rank:
        return StripCase(case.row, "", distance, rank, text, chip, has_image)
    return StripCase(case.row, rank, "", tr("distance {distance}", distance=distance), text, chip, has_image)


def _inside_sentence(name: str) -> str:
    """A name as it is written inside a sentence: "Grey inside" as "grey inside", "AUC" unchanged."""
    text = spoken(name)
    if text != name:
        return translate(text)
    return name[:1].lower() + name[1:] if name[1:].islower() else name
