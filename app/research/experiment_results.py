"""The results of an experiment: scores, ranks, differences, worst queries and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import (
    QByteArray,
    QEvent,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QPainter, QPaintEvent, QPixmap, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QLabel,
    QSizePolicy,
    QSplitter,
    QTabWidget,
    QWidget,
)

from semblance.app.research.result_page import (
    BADGES,
    ResultTable,
    difference_text,
    interval_text,
    p_value_text,
)
from semblance.app.shell.context import Context
from semblance.app.shell.event_loop import one_shot
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.theme import colour, plain_tip, theme, theme_signals
from semblance.app.widgets.labels import ElidedLabel, WrappedLabel
from semblance.app.widgets.layouts import fill, vbox
from semblance.app.widgets.plots.figure_view import screen_layout
from semblance.app.widgets.thumbnail_loader import ThumbnailSource
from semblance.core.evaluation.chance import is_chance, names_beside_chance
from semblance.core.evaluation.friedman import smaller_is_better
from semblance.core.language import format_number, tr, tr_name
from semblance.core.library.location import library_location
from semblance.core.research.result_titles import (
    cases_title,
    learner_title,
    protocol_title,
    rank_plot_data,
    score_title,
)
from semblance.core.workflows.research import experiments

Document = Mapping[str, Any]
#: Side of the image of a query, px at text scale 1.
PREVIEW_SIDE = 200
NO_CASE = -1


class ExperimentResults(QWidget):
    """``case_requested(library, row)``: show the image of a case. The owner lays out ``protocol``."""

    case_requested = Signal(str, int)

    def __init__(self, context: Context, thumbnails: ThumbnailSource | None = None) -> None:
        super().__init__()
        self._context = context
        self.document: Mapping[str, Any] = {}
        self._drawn_ranks: tuple[Any, ...] = ()
        self._redraw = one_shot(self, self._draw_ranks, 120)
        self._make_widgets(thumbnails)
        vbox(self).addWidget(self.tabs)
        self.protocol.currentIndexChanged.connect(lambda _index: self._show_protocol())
        for box in (self.test, self.score, self.row):
            box.currentIndexChanged.connect(lambda _index: self._show_tab())
        self.findings.entered.connect(self._show_finding)
        self.findings.cellClicked.connect(lambda row, _column: self._show_finding(row))
        self.queries.entered.connect(self._enter_query)
        self.queries.currentCellChanged.connect(lambda row, *_rest: self._show_preview(row))
        self.tabs.currentChanged.connect(lambda _index: self._show_tab())
        theme_signals.changed.connect(self._restyle)

    def _make_widgets(self, thumbnails: ThumbnailSource | None) -> None:
        self.protocol = QComboBox()
        self.protocol.setAccessibleName(tr("Protocol shown"))
        self.protocol.setMinimumContentsLength(10)
        self.protocol.hide()
        self.scores = ResultTable(tr("Scores of every learner"))
        self.score = QComboBox()
        self.score.hide()
        self.score.setAccessibleName(tr("Score that is compared"))
        self.differences = ResultTable(tr("Every two learners compared"))
        self.test = QComboBox()
        self.test.hide()
        self.test.setAccessibleName(tr("Score that is ranked"))
        self.ranks = QLabel()
        self.ranks.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        # Otherwise the image would widen the window with every drawing.
        self.ranks.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.ranks_note = WrappedLabel(role="second")
        self.row = QComboBox()
        self.row.hide()
        self.row.setAccessibleName(tr("Learner whose worst queries are shown"))
        self.queries = ResultTable(tr("Worst queries. Press Enter to view the case"))
        self.findings = ResultTable(tr("Worst findings"))
        self.worst_note = ElidedLabel(role="second")
        self.notes = WrappedLabel()
        self.notes.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.notes.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.notes.setContentsMargins(12, 8, 12, 8)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.scores, tr("Scores"))
        self.tabs.addTab(self._page(self.test, self.ranks_note, self.ranks), tr("Ranks"))
        self._differences_note = ElidedLabel(role="second")
        self.tabs.addTab(self._page(self.score, self._differences_note, self.differences), tr("Differences"))
        worst_splitter = self._worst_splitter = QSplitter(Qt.Orientation.Horizontal)
        worst_splitter.setChildrenCollapsible(False)
        worst_splitter.addWidget(self.queries)
        self.preview = QueryPreview(thumbnails)
        side_column = QWidget()
        fill(vbox(side_column, spacing=8), (self.findings, 1), self.preview)
        worst_splitter.addWidget(side_column)
        worst_splitter.setStretchFactor(0, 2)
        worst_splitter.setStretchFactor(1, 1)
        self.tabs.addTab(self._page(self.row, self.worst_note, worst_splitter), tr("Worst queries"))
        self.tabs.addTab(self.notes, tr("Notes"))

    def _page(self, box: QComboBox, note: QWidget, content: QWidget) -> QWidget:
        page = QWidget()
        column = vbox(page, spacing=8, margins=(12, 8, 12, 8))
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(24)
        box.setMaximumWidth(theme().px(420))
        fill(column, box, note, (content, 1))
        return page

    def _restyle(self) -> None:
        self._drawn_ranks = ()
        self._redraw.start()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._redraw.start()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.DevicePixelRatioChange:
            self._redraw.start()
        return super().event(event)

    def show_document(self, document: Mapping[str, Any]) -> None:
        """Show a partial or complete document."""
        self.document = document
        names = list(dict.fromkeys(row["protocol"] for row in document["results"]))
        _set_choices(self.protocol, {name: protocol_title(name) for name in names})
        self.protocol.setVisible(len(names) > 1)
        is_first = self.row.count() == 0
        _set_choices(
            self.test,
            {
                f"{entry['score']} {entry['protocol']}": f"{score_title(entry['score'])}, "
                f"{protocol_title(entry['protocol'])}"
                for entry in document.get("over_tables", ())
            },
        )
        _set_choices(
            self.row,
            {
                f"{entry['cases']} {entry['learner']} {entry['protocol']}": f"{cases_title(entry['cases'])}: "
                f"{learner_title(entry['learner'])}, {protocol_title(entry['protocol'])}"
                for entry in document.get("worst_queries", ())
            },
        )
        if is_first:
            self._select_open_library()
        self._drawn_ranks = ()
        self._show_protocol()
        notes = [tr_name(note) for note in document["notes"]]
        for cases in document["cases"]:
            notes += [
                f"{cases_title(cases['name'])}: {tr_name(text)}"
                for text in (*cases["notes"], cases["problem"])
                if text
            ]
        notes += [
            f"{cases_title(result['cases'])}, {learner_title(result['learner'])}: {tr_name(result['failed'])}"
            for result in document["results"]
            if result["failed"]
        ]
        self.notes.setText("\n\n".join(notes) or tr("Nothing failed and nothing was omitted."))
        self.tabs.setTabText(4, tr("Notes ({n})", n=len(notes)) if notes else tr("Notes"))

    def _select_open_library(self) -> None:
        """Select the worst queries of the open library first, because tables have no images."""
        open_library = str(self._context.state.location or "")
        blocked = self.row.blockSignals(True)
        for index in range(self.row.count()):
            self.row.setCurrentIndex(index)
            if open_library and self._library() == open_library:
                break
        else:
            self.row.setCurrentIndex(0 if self.row.count() else -1)
        self.row.blockSignals(blocked)

    def _show_protocol(self) -> None:
        scores = compared_scores(self.document, self._protocol)
        _set_choices(self.score, {name: score_title(name) for name in scores})
        self._show_tab()

    @property
    def _protocol(self) -> str:
        """The name of the selected protocol in the document."""
        return self.protocol.currentData() or ""

    def _show_tab(self) -> None:
        """Fill the visible tab only, because filling all tables of a large experiment takes too long."""
        protocol, tab = self._protocol, self.tabs.currentIndex()
        if not self.document or not protocol:
            return
        if tab == 0:
            show_scores(self.scores, self.document, protocol)
        elif tab == 1:
            self._draw_ranks()
        elif tab == 2:
            show_differences(self.differences, self.document, protocol, self.score.currentData() or "")
            has_scores = self.score.count() > 0
            self._differences_note.setText(
                tr(
                    "Difference, with an interval and p (t) that allow for the training cases that splits share. "
                    "p (Wilcoxon) does not."
                )
                if has_scores
                else tr("Shown when the experiment ends, if two learners have two repeats.")
            )
            self.differences.setVisible(has_scores)
        elif tab == 3:
            self._show_worst_queries()

    def _show_worst_queries(self) -> None:
        show_worst(self.queries, self.findings, self.document, self.row.currentIndex())
        worst_queries = self.document.get("worst_queries", ())
        index = self.row.currentIndex()
        score = score_title(worst_queries[index]["score"]) if 0 <= index < len(worst_queries) else ""
        text = (
            tr("Lowest {score} first. Press Enter or double-click to view a case full size.", score=score)
            if score
            else tr("Shown when the experiment ends or is cancelled.")
        )
        self.worst_note.setText(text)
        self._worst_splitter.setVisible(bool(score))

    def _show_finding(self, row: int) -> None:
        """Show the worst queries of the finding in ``row``."""
        worst_findings = self.document.get("worst_findings", ())
        if 0 <= self.row.currentIndex() < len(worst_findings):
            finding = worst_findings[self.row.currentIndex()]["findings"][row]
            show_queries(self.queries, finding["queries"], worst_findings[self.row.currentIndex()]["score"])
            self.worst_note.setText(tr("Worst queries of the finding {finding}.", finding=finding["finding"]))

    def _show_preview(self, row: int) -> None:
        """Show the image of a query if its library is open."""
        case, item = self.queries.case(row), self.queries.item(row, 0)
        library, open_library = self._library(), self._context.state.location
        is_open = case is not None and open_library is not None and library == str(open_library)
        self.preview.show_case(case if is_open else None, item.text() if item is not None else "")
        if item is not None and not is_open:
            self.worst_note.setText(
                tr("A row of a table has no image.")
                if case is None
                else tr("Open {name} to see its images.", name=library_location(library).name)
            )

    def _enter_query(self, row: int) -> None:
        case, library = self.queries.case(row), self._library()
        if case is None:
            self.worst_note.setText(tr("A row of a table has no image."))
        elif library:
            self.case_requested.emit(library, case)

    def _library(self) -> str:
        """The path of the library whose worst queries are shown, or an empty text for a table."""
        worst_queries, index = self.document.get("worst_queries", ()), self.row.currentIndex()
        if not 0 <= index < len(worst_queries):
            return ""
        cases = next(
            (entry for entry in self.document["cases"] if entry["name"] == worst_queries[index]["cases"]),
            None,
        )
        return str(cases["source"]["path"]).rpartition(" → ")[2] if cases and cases["source"] else ""

    def _draw_ranks(self) -> None:
        tests = self.document.get("over_tables", ())
        index = self.test.currentIndex()
        if not 0 <= index < len(tests):
            self.ranks.clear()
            self.ranks_note.setText(
                tr("Ranks need two learners, measured on two tables or feature sets.")
                if "over_tables" in self.document
                else tr("Shown when the experiment ends or is cancelled.")
            )
            return
        test = tests[index]
        self.ranks_note.setText(
            tr(
                "Friedman's test over {tables} tables: chi-squared {statistic:.2f}, p {p:.3g}. Learners "
                "joined by a bar do not differ (Nemenyi, 0.05).",
                tables=test["tables"],
                statistic=test["statistic"],
                p=test["p_value"],
            )
        )
        layout = screen_layout(self, max(360, self.tabs.width() - 24))
        drawn = (index, test["score"], test["protocol"], layout)
        if drawn != self._drawn_ranks and self.tabs.currentIndex() == 1 and self.isVisible():
            self._drawn_ranks = drawn
            job = self._context.jobs.run(
                tr("Drawing ranks"),
                experiments.draw_ranks,
                test,
                layout,
                pool=WorkerPool.DRAW,
                channel="experiment ranks",
                quiet=True,
            )
            self._context.follow(job, self._show_ranks)
        names = sorted(rank_plot_data(test)[0].items(), key=lambda pair: pair[1])
        self.ranks.setAccessibleName(
            tr("Average ranks: {ranks}", ranks=", ".join(f"{n} {rank:.2f}" for n, rank in names))
        )

    def _show_ranks(self, content: bytes) -> None:
        image = QPixmap()
        image.loadFromData(QByteArray(content))
        image.setDevicePixelRatio(self.devicePixelRatioF())
        self.ranks.setPixmap(image)


def _set_choices(box: QComboBox, texts: Mapping[str, str]) -> None:
    """Set the choices (key: text) of ``box`` without a signal. The current choice stays if it is still offered."""
    keys = list(texts)
    if keys == [box.itemData(index) for index in range(box.count())]:
        return
    current = box.currentData()
    blocked = box.blockSignals(True)
    box.clear()
    for key, text in texts.items():
        box.addItem(text, key)
    box.setCurrentIndex(keys.index(current) if current in keys else 0 if keys else -1)
    box.blockSignals(blocked)
    box.setVisible(bool(keys))


class QueryPreview(QWidget):
    """Shows the image of a case. Hidden without a case."""

    def __init__(self, thumbnails: ThumbnailSource | None) -> None:
        super().__init__()
        self._thumbnails = thumbnails
        self._row = NO_CASE
        if thumbnails is not None:
            thumbnails.ready.connect(lambda rows: self.update() if self._row in rows else None)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setToolTip(tr("Press Enter or double-click to view full size"))
        self.hide()

    @property
    def row(self) -> int | None:
        """The catalogue row of the case that is shown."""
        return None if self._row == NO_CASE else self._row

    def show_case(self, row: int | None, name: str = "") -> None:
        """Show the case ``name`` at ``row`` of the open library, or nothing for ``None``."""
        self._row = NO_CASE if row is None else row
        self.setAccessibleName(tr("Image of {name}", name=name) if name else "")
        self.setVisible(self._row != NO_CASE and self._thumbnails is not None)
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(theme().px(PREVIEW_SIDE), theme().px(PREVIEW_SIDE))

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), colour(theme().image_well))
        image = self._thumbnails.get(self._row) if self._thumbnails is not None and self._row >= 0 else None
        if image is not None:
            size = image.size().scaled(self.size(), Qt.AspectRatioMode.KeepAspectRatio)
            left, top = (self.width() - size.width()) / 2, (self.height() - size.height()) / 2
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            painter.drawImage(QRectF(left, top, size.width(), size.height()), image)
        painter.end()


def show_scores(table: ResultTable, document: Document, protocol: str) -> None:
    """Show the scores of every learner with one protocol. The best mean on the same cases is bold."""
    results = [result for result in document["results"] if result["protocol"] == protocol]
    has_several_steps = len({result["steps"] for result in document["results"]}) > 1
    known = {name for result in results for name in (*result["compared"], *result["scores"])}
    names = names_beside_chance(results[0]["compared"], known) if results else []
    titles = [tr("cases"), tr("learner"), *([tr("steps")] if has_several_steps else []), tr("repeats")]
    titles += [score_title(name) for name in names]
    rows, bold = [], []
    for result in results:
        repeats = result["repeats"]
        texts = [cases_title(result["cases"]), learner_title(result["learner"])]
        texts += [result["steps"]] if has_several_steps else []
        progress = (
            tr("failed") if result["failed"] else tr("{done} of {of}", done=repeats["done"], of=repeats["of"])
        )
        rows.append([*texts, progress, *(interval_text(result["scores"].get(name)) for name in names)])
        first = len(texts) + 1
        bold.append(
            frozenset(
                first + index for index, name in enumerate(names) if _is_best_mean(result, name, results)
            )
        )
    tips = {
        column: tr("{name}: mean and 95 % interval over repeats", name=titles[column])
        for column in range(len(titles) - len(names), len(titles))
    }
    table.set_rows(
        titles,
        rows,
        text_columns=3 if has_several_steps else 2,
        badges=[BADGES[result["patients"]] for result in results],
        tips=tips,
        bold=bold,
    )
    for row, result in enumerate(results):
        if result["failed"]:
            for column in range(len(titles)):
                item = table.item(row, column)
                if item is not None:
                    item.setToolTip(plain_tip(result["failed"]))


def _is_best_mean(row: Mapping[str, Any], name: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    means = [
        other["scores"][name]["mean"]
        for other in rows
        if other["cases"] == row["cases"] and name in other["scores"]
    ]
    if name not in row["scores"] or len(means) < 2 or is_chance(name):
        return False
    best = min(means) if smaller_is_better(name) else max(means)
    return bool(abs(row["scores"][name]["mean"] - best) < 5e-4)


def compared_scores(document: Document, protocol: str) -> list[str]:
    """Names of the scores in which learners are compared with one protocol."""
    scores = [entry["score"] for entry in document.get("comparisons", ()) if entry["protocol"] == protocol]
    return list(dict.fromkeys(scores))


def show_differences(table: ResultTable, document: Document, protocol: str, score: str) -> None:
    """Show the comparisons of every two learners on the same splits in one score."""
    comparisons = [
        entry
        for entry in document.get("comparisons", ())
        if entry["protocol"] == protocol and entry["score"] == score
    ]
    table.set_rows(
        [tr("cases"), tr("learner"), tr("compared with"), tr("difference"), "p (t)", "p (Wilcoxon)"],
        [
            [
                cases_title(entry["cases"]),
                learner_title(entry["a"]),
                learner_title(entry["b"]),
                difference_text(entry["difference"], *entry["ci95"]),
                p_value_text(entry["p_corrected_t"]),
                p_value_text(entry["p_wilcoxon"]),
            ]
            for entry in comparisons
        ],
        text_columns=3,
        tips={
            4: tr("Corrected resampled t test: splits share cases"),
            5: tr("Wilcoxon's signed ranks over repeats, which share training cases: p is too small"),
        },
    )


def show_worst(queries: ResultTable, findings: ResultTable, document: Document, index: int) -> None:
    """Show the worst queries and findings of the entry at ``index``, or empty tables without one."""
    all_queries = document.get("worst_queries", ())
    if 0 <= index < len(all_queries):
        show_queries(queries, all_queries[index]["queries"], all_queries[index]["score"])
        entries = document["worst_findings"][index]["findings"]
    else:
        show_queries(queries, (), "")
        entries = ()
    findings.set_rows(
        [tr("finding"), tr("mean"), tr("cases")],
        [
            [entry["finding"], format_number(entry["mean"], ".3f"), format_number(entry["cases"], ",")]
            for entry in entries
        ],
    )


def show_queries(table: ResultTable, queries: Sequence[Mapping[str, Any]], score: str) -> None:
    """Show a row for every query, the worst first. Queries of a library have a case."""
    table.set_rows(
        [tr("case"), tr("finding"), tr("mean"), tr("queries")],
        [
            [
                entry["case_id"] or tr("case {number}", number=entry["place"] + 1),
                entry["finding"],
                format_number(entry["mean"], ".3f"),
                f"{entry['asked']}",
            ]
            for entry in queries
        ],
        text_columns=2,
        cases=[entry["case_row"] if (entry["case_row"] or -1) >= 0 else None for entry in queries],
        tips={2: score_title(score), 3: tr("In how many splits it was tested")},
    )
