"""The tree of what a PACS answered: patients, their studies, and the series of a study."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTreeWidget, QTreeWidgetItem

from semblance.app.shell.theme import theme
from semblance.core.language import format_number, tr, visible
from semblance.core.network.studies import Series, Study

_COLUMNS = (tr("Patient, study, series"), tr("Date"), tr("Modality"), tr("Series"), tr("Images"))
_WHAT, _DATE, _MODALITY, _SERIES, _IMAGES = range(len(_COLUMNS))
_DATA = Qt.ItemDataRole.UserRole
_WIDTHS = (0, 90, 90, 60, 70)


class StudyTree(QTreeWidget):
    """Patients, studies and series with their numbers of images.

    ``series_needed(study UID)``: a study was expanded whose series are not known yet.
    """

    series_needed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        #: Study UID -> its row.
        self._studies: dict[str, QTreeWidgetItem] = {}
        self.setAccessibleName(tr("Patients, studies and series in the PACS"))
        self.setHeaderLabels(list(_COLUMNS))
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setUniformRowHeights(True)
        _align(self.headerItem())
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(_WHAT, QHeaderView.ResizeMode.Stretch)
        for column, width in enumerate(_WIDTHS):
            if width:
                self.setColumnWidth(column, theme().px(width))
        self.itemExpanded.connect(self._expand)

    def show_studies(self, studies: Sequence[Study]) -> None:
        """Show ``studies``, which come in their order, under their patients."""
        self.clear()
        self._studies.clear()
        patients: dict[tuple[str, str], list[Study]] = {}
        for study in studies:
            # An id may be given in several spellings of the name, and a name without an id is another patient.
            key = (study.patient_id, "" if study.patient_id else study.patient_name)
            patients.setdefault(key, []).append(study)
        for of_patient in patients.values():
            title = ", ".join(filter(None, (of_patient[0].patient_name, of_patient[0].patient_id)))
            patient = QTreeWidgetItem(self, [visible(title) or tr("Unknown patient")])
            patient.setData(_WHAT, _DATA, [(study.study_instance_uid, "") for study in of_patient])
            for study in of_patient:
                item = QTreeWidgetItem(patient, _study_cells(study))
                item.setData(_WHAT, _DATA, [(study.study_instance_uid, "")])
                item.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.ShowIndicator)
                _align(item)
                self._studies[study.study_instance_uid] = item
            patient.setExpanded(True)
        for item in list(self._studies.values())[:1]:
            self.setCurrentItem(item)

    def show_series(self, study: str, series: Sequence[Series]) -> None:
        """Show the ``series`` of the study with this UID."""
        item = self._studies.get(study)
        if item is None:
            return
        item.takeChildren()
        for one in series:
            child = QTreeWidgetItem(item, _series_cells(one))
            child.setData(_WHAT, _DATA, [(study, one.series_instance_uid)])
            _align(child)
        if not series:
            item.setChildIndicatorPolicy(QTreeWidgetItem.ChildIndicatorPolicy.DontShowIndicator)

    def collapse_study(self, study: str) -> None:
        """Collapse the study with this UID, so that its series can be requested again."""
        if study in self._studies:
            self._studies[study].setExpanded(False)

    def chosen(self) -> list[tuple[str, list[str]]]:
        """The UID of each selected study with the UIDs of its selected series; none means the whole study."""
        found: dict[str, list[str]] = {}
        whole: set[str] = set()
        for item in self.selectedItems():
            for study, series in item.data(_WHAT, _DATA):
                of_study = found.setdefault(study, [])
                if series:
                    of_study.append(series)
                else:
                    whole.add(study)
        return [(study, [] if study in whole else series) for study, series in found.items()]

    def _expand(self, item: QTreeWidgetItem) -> None:
        for study, shown in self._studies.items():
            if shown is item and not item.childCount():
                self.series_needed.emit(study)


def _study_cells(study: Study) -> list[str]:
    return [
        visible(study.description) or tr("Study without a description"),
        _date(study.date),
        visible(", ".join(study.modalities)),
        _number(study.series),
        _number(study.instances),
    ]


def _series_cells(series: Series) -> list[str]:
    number = "" if series.number is None else f"{series.number}: "
    title = series.description or series.body_part or tr("Series without a description")
    return [visible(number + title), "", visible(series.modality), "", _number(series.instances)]


def _date(text: str) -> str:
    return f"{text[:4]}-{text[4:6]}-{text[6:]}" if len(text) == 8 and text.isdigit() else visible(text)


def _number(value: int | None) -> str:
    return "" if value is None else format_number(value, ",")


def _align(item: QTreeWidgetItem) -> None:
    for column in (_SERIES, _IMAGES):
        item.setTextAlignment(column, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
