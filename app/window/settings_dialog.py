"""The dialog of the program's settings. A change is saved and takes effect at once, unless its label says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QLabel, QLineEdit, QPushButton, QWidget
from shiboken6 import isValid

from semblance.app.search.similar.ranking_options import RATES, rate_text
from semblance.app.search.similar.ranking_panel import ANIMATE_REORDERING
from semblance.app.shell import search_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.jobs import WorkerPool
from semblance.app.shell.settings import (
    AUTHOR,
    REPORT_CLINIC,
    REPORT_LOGO,
    REPORT_PAGE,
    SIMILAR_CASES,
    TEXT_SCALES,
)
from semblance.app.shell.theme import set_look
from semblance.app.viewer.image_menu import delete_preset
from semblance.app.viewer.view_settings import DRAG_SPEED, DRAG_SPEEDS, WHEEL_REVERSED, ViewSettings
from semblance.app.widgets.dialog import (
    Dialog,
    closing_row,
    dialog_button,
    dialog_layout,
    form,
    help_button,
    resize_dialog,
)
from semblance.app.widgets.fields import NoWheelComboBox, NumberField
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import STRETCH, PanelScrollArea, fill, hbox, line_with_buttons, vbox
from semblance.app.widgets.section_header import SectionHeader
from semblance.app.window.keyboard_settings import KeyboardSettings
from semblance.core.engine import MAX_WORKERS, default_workers
from semblance.core.imaging.text_detector import is_text_detector_installed
from semblance.core.language import LANGUAGES, format_number, tr
from semblance.core.library.records import account
from semblance.core.limits import DEFAULT_MEMORY_MB
from semblance.core.parameters import Parameter
from semblance.core.reports.options import PAGES
from semblance.core.workflows.library import local_copies

#: Sizes of the copies of libraries on servers to choose from.
_COPY_GB = (1, 4, 16, 64)
#: The key of the setting is the name.
_NUMBERS = (
    (
        Parameter("workers", default_workers(), "Worker processes.", minimum=1, maximum=MAX_WORKERS),
        tr("Processes for heavy work"),
    ),
    (
        Parameter("memory_mb", DEFAULT_MEMORY_MB, "Memory for one file.", minimum=100, maximum=1_000_000),
        tr("Memory to read one file, MB"),
    ),
)


class SettingsDialog(Dialog):
    """``appearance_changed``: the theme or text size is another one · ``help_requested(page)``."""

    appearance_changed = Signal()
    help_requested = Signal(str)

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context, self._settings = context, context.settings
        self.setWindowTitle(tr("Settings"))
        inner = QWidget()
        column = vbox(inner, margins=(0, 0, 12, 0))
        self._fields = form()
        # Longer texts of other languages must not be cut off.
        self._fields.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        column.addLayout(self._fields)
        column.addStretch(1)
        self._add_appearance()
        self._add_searching()
        self._add_images()
        self._add_keyboard()
        self._add_reports()
        self._add_privacy()
        self._add_copies()
        self._add_servers()
        self._add_resources()
        layout = dialog_layout(self)
        layout.addWidget(PanelScrollArea(inner, tr("Settings")), 1)
        layout.addLayout(closing_row(self, help_button(self, partial(self.help_requested.emit, "settings"))))
        resize_dialog(self, 560, 720)

    def _add_section(self, title: str) -> QFormLayout:
        header = SectionHeader(title)
        header.setContentsMargins(0, 12 if self._fields.rowCount() else 0, 0, 0)
        self._fields.addRow(header)
        return self._fields

    def _add_appearance(self) -> None:
        settings, fields = self._settings, self._add_section(tr("Appearance"))
        self.theme = _choice(((tr("Dark"), "dark"), (tr("Light"), "light")), settings.theme)
        self.theme.currentIndexChanged.connect(self._set_appearance)
        fields.addRow(tr("Theme"), self.theme)
        self.text_size = _choice(
            ((format_number(scale, ".0%"), scale) for scale in TEXT_SCALES), settings.text_scale
        )
        self.text_size.currentIndexChanged.connect(self._set_appearance)
        fields.addRow(tr("Text size"), self.text_size)
        self.language = _choice(((name, code) for code, name in LANGUAGES.items()), settings.language)
        self.language.currentIndexChanged.connect(self._set_language)
        fields.addRow(tr("Language, from the next start on"), self.language)
        action = self._context.actions["animate_reordering"]
        self.animate_reordering = QCheckBox(action.text())
        self.animate_reordering.setChecked(settings.flag(ANIMATE_REORDERING, default=True))
        self.animate_reordering.toggled.connect(action.setChecked)
        fields.addRow(self.animate_reordering)

    def _add_searching(self) -> None:
        options, fields = (
            self._settings.search_options,
            self._add_section(tr("Similar cases, at every start")),
        )
        self.similar_cases = _choice(
            ((format_number(n), n) for n in SIMILAR_CASES), self._settings.similar_cases
        )
        self.similar_cases.setToolTip(
            tr("Counts and the estimate are always of the ten nearest, because they were tested that way.")
        )
        self.similar_cases.currentIndexChanged.connect(self._set_similar_cases)
        fields.addRow(tr("Similar cases to list"), self.similar_cases)
        self.same_patient = QCheckBox(tr("Hide other cases of the query's patient"))
        self.same_patient.setChecked(options["hide_same_patient"])
        self.near_duplicates = QCheckBox(tr("Group the same lesion and copies"))
        self.near_duplicates.setChecked(options["group_duplicates"])
        self.match_rate = _choice(((rate_text(rate), rate) for rate in RATES), options["no_match_rate"])
        for box in (self.same_patient, self.near_duplicates):
            box.toggled.connect(self._set_options)
            fields.addRow(box)
        self.match_rate.currentIndexChanged.connect(self._set_options)
        fields.addRow(tr("Show that there is no close match"), self.match_rate)
        self.author = QLineEdit(self._settings.text(AUTHOR))
        self.author.setPlaceholderText(account())
        self.author.editingFinished.connect(self._set_author)
        fields.addRow(tr("Your name in marks"), self.author)

    def _add_images(self) -> None:
        fields = self._add_section(tr("Images and mouse"))
        speeds = ((tr("{n} ×", n=format_number(speed, "g")), speed) for speed in DRAG_SPEEDS)
        self.drag_speed = _choice(speeds, ViewSettings(self._settings).drag_speed)
        self.drag_speed.setToolTip(
            tr("At 1 × each pixel moves the window by 1/500 of its width. Shift moves it a fifth of that.")
        )
        self.drag_speed.currentIndexChanged.connect(self._set_drag_speed)
        fields.addRow(tr("Window and level by dragging"), self.drag_speed)
        self.wheel = QCheckBox(tr("Turning the wheel forwards shows later slices"))
        self.wheel.setChecked(self._settings.flag(WHEEL_REVERSED, default=False))
        self.wheel.toggled.connect(partial(self._settings.set_flag, WHEEL_REVERSED))
        fields.addRow(self.wheel)
        self.presets = NoWheelComboBox()
        self.remove_preset = QPushButton(tr("Delete"))
        self.remove_preset.clicked.connect(self._delete_preset)
        row = fill(hbox(spacing=8), (self.presets, 1), self.remove_preset)
        fields.addRow(tr("Own window presets"), row)
        note = tr(
            "The menu of an image saves its window as a preset. The keys 8, 9 and 2 use the first three."
        )
        fields.addRow(WrappedLabel(note, role="third"))
        self._show_presets()

    def _add_keyboard(self) -> None:
        fields = self._add_section(tr("Keyboard"))
        self.keyboard = KeyboardSettings(self._context.actions)
        fields.addRow(self.keyboard)
        keys = QPushButton(tr("All keys and the mouse…"))
        keys.clicked.connect(partial(self.help_requested.emit, "keyboard"))
        row = fill(hbox(), keys, STRETCH)
        fields.addRow(row)

    def _add_reports(self) -> None:
        fields = self._add_section(tr("Reports"))
        settings = self._settings
        self.report_page = _choice(((page, page) for page in PAGES), settings.text(REPORT_PAGE, PAGES[0]))
        self.report_page.currentIndexChanged.connect(
            lambda _place: settings.set_text(REPORT_PAGE, str(self.report_page.currentData()))
        )
        fields.addRow(tr("Page"), self.report_page)
        self.clinic = QLineEdit(settings.text(REPORT_CLINIC))
        self.clinic.setPlaceholderText(tr("printed at the top (optional)"))
        self.clinic.editingFinished.connect(
            lambda: settings.set_text(REPORT_CLINIC, self.clinic.text().strip())
        )
        fields.addRow(tr("Name of the clinic"), self.clinic)
        self.logo = QLineEdit(settings.text(REPORT_LOGO))
        self.logo.setPlaceholderText(tr("PNG or JPEG file (optional)"))
        self.logo.setAccessibleName(tr("File of the logo"))
        self.logo.editingFinished.connect(lambda: settings.set_text(REPORT_LOGO, self.logo.text().strip()))
        fields.addRow(
            tr("Logo"), line_with_buttons(self.logo, dialog_button(tr("Choose…"), self._choose_logo))
        )

    def _choose_logo(self) -> None:
        if file := choose_file(self, tr("Logo"), f"{tr('Images')} (*.png *.jpg *.jpeg)"):
            self.logo.setText(str(file))
            self._settings.set_text(REPORT_LOGO, str(file))

    def _add_privacy(self) -> None:
        fields = self._add_section(tr("Privacy"))
        self.remember = QCheckBox(tr("Remember which libraries were opened"))
        self.remember.setToolTip(
            tr("For the list of recent libraries, and to open the last one at the next start.")
        )
        self.remember.setChecked(self._settings.remembers_libraries)
        self.remember.toggled.connect(self._set_remember)
        forget = self.forget = QPushButton(tr("Forget them"))
        forget.clicked.connect(self._forget_libraries)
        stored = QPushButton(tr("What is stored…"))
        stored.clicked.connect(partial(self.help_requested.emit, "privacy"))
        fields.addRow(self.remember)
        self._add_text_in_images(fields)
        row = hbox(spacing=8)
        for button in (forget, stored, self._button_of("exports")):
            row.addWidget(button)
        row.addStretch(1)
        fields.addRow(row)
        self._update_forget()

    def _add_text_in_images(self, fields: QFormLayout) -> None:
        self.hide_text = QCheckBox(tr("Black out text in images that leave Semblance"))
        self.hide_text.setChecked(self._settings.blacks_out_text)
        self.hide_text.toggled.connect(self._set_hide_text)
        fields.addRow(self.hide_text)
        note = tr(
            "In images that you copy, save or drag into another program, and in reports. It takes about a second for "
            "each image. Small or faint text may be missed."
        )
        if not is_text_detector_installed():
            # Who had chosen it can give it up. Until then nothing leaves uncleaned.
            self.hide_text.setEnabled(self.hide_text.isChecked())
            note = tr("What finds text is not installed. The help page Installation says how it is.")
        fields.addRow(WrappedLabel(note, role="third"))

    def _set_hide_text(self, hide: bool) -> None:
        self._settings.blacks_out_text = hide
        self.hide_text.setEnabled(hide or is_text_detector_installed())

    def _add_copies(self) -> None:
        fields = self._add_section(tr("Libraries on servers"))
        sizes = [(tr("at most {n} GB", n=n), n << 30) for n in _COPY_GB]
        self.copies = _choice([*sizes, (tr("none"), 0)], self._settings.copy_bytes)
        self.copies.currentIndexChanged.connect(self._set_copies)
        fields.addRow(tr("Copies on this computer"), self.copies)
        note = tr("A copy is read while the server does not answer. It holds what your account may see.")
        fields.addRow(WrappedLabel(note, role="third"))
        self.remove_copies = QPushButton(tr("Remove the copies"))
        self.remove_copies.clicked.connect(self._remove_copies)
        self.copied = QLabel()
        set_look(self.copied, role="small")
        row = fill(hbox(spacing=8), self.remove_copies, (self.copied, 1))
        fields.addRow(row)
        self._run_on_copies(local_copies.size_of_copies)

    def _set_copies(self) -> None:
        self._settings.copy_bytes = int(self.copies.currentData())
        if not self._settings.copy_bytes:
            self._remove_copies()

    def _remove_copies(self) -> None:
        self._run_on_copies(local_copies.remove_copies)

    def _run_on_copies(self, workflow: Callable[..., int]) -> None:
        """Run ``workflow`` and show the bytes of the copies that it returns."""
        job = self._context.jobs.run("", workflow, pool=WorkerPool.READ, channel="copies", quiet=True)

        def show(size: int) -> None:
            if isValid(self):
                self.copied.setText(tr("{n} MB now", n=format_number(round(size / 2**20), ",")))

        self._context.follow(job, show)

    def _add_servers(self) -> None:
        fields = self._add_section(tr("PACS servers"))
        fields.addRow(
            WrappedLabel(tr("No connection is opened before you request one."), role="third"),
        )
        row = hbox()
        self.servers = self._button_of("pacs", tr("Servers…"))
        row.addWidget(self.servers)
        row.addStretch(1)
        fields.addRow(row)

    def _button_of(self, command: str, text: str = "") -> QPushButton:
        """A button that runs a command of the menus."""
        action = self._context.actions[command]
        button = QPushButton(text or action.text())
        button.setEnabled(action.isEnabled())
        button.setToolTip("" if action.isEnabled() else tr("Open a library first."))
        button.clicked.connect(action.trigger)
        return button

    def _add_resources(self) -> None:
        fields = self._add_section(tr("Computer, from the next start on"))
        self.numbers: dict[str, NumberField] = {}
        for parameter, title in _NUMBERS:
            field = NumberField(parameter)
            stored = self._settings.number(parameter.name)
            if stored is not None:
                field.set_value(stored)
            field.edited.connect(partial(self._set_number, parameter.name, field))
            fields.addRow(title, field)
            self.numbers[parameter.name] = field
        self.problem = WrappedLabel(role="second")
        fields.addRow(self.problem)
        self.problem.hide()
        self.detailed_log = QCheckBox(tr("Detailed log"))
        self.detailed_log.setToolTip(tr("The log contains no patient data."))
        self.detailed_log.setChecked(self._settings.flag("detailed_log", default=False))
        self.detailed_log.toggled.connect(partial(self._settings.set_flag, "detailed_log"))
        folder = QPushButton(tr("Open log folder"))
        folder.clicked.connect(self._context.actions["log_folder"].trigger)
        row = fill(hbox(), self.detailed_log, STRETCH, folder)
        fields.addRow(row)

    def _set_appearance(self) -> None:
        self._settings.theme = str(self.theme.currentData())
        self._settings.text_scale = float(self.text_size.currentData())
        self.appearance_changed.emit()

    def _set_language(self) -> None:
        self._settings.language = str(self.language.currentData())

    def _set_options(self) -> None:
        """Save the options and use them for the present search too."""
        self._settings.search_options = {
            "hide_same_patient": self.same_patient.isChecked(),
            "group_duplicates": self.near_duplicates.isChecked(),
            "no_match_rate": float(self.match_rate.currentData()),
        }
        search_operations.set_options(self._context, **self._settings.search_options)

    def _set_similar_cases(self) -> None:
        self._settings.similar_cases = int(self.similar_cases.currentData())
        search_operations.rank(self._context)

    def _set_drag_speed(self) -> None:
        self._settings.set_text(DRAG_SPEED, str(self.drag_speed.currentData()))

    def _set_remember(self, remember: bool) -> None:
        self._settings.remembers_libraries = remember
        path = self._context.state.location
        if not remember:
            self._settings.forget_libraries()
        elif path is not None:
            self._settings.add_recent(path)
        self._update_forget()

    def _forget_libraries(self) -> None:
        self._settings.forget_libraries()
        self._update_forget()

    def _update_forget(self) -> None:
        known = bool(self._settings.recent)
        self.forget.setEnabled(known)
        self.forget.setToolTip("" if known else tr("No library is remembered."))

    def _set_author(self) -> None:
        name = self.author.text().strip()
        self._settings.set_text(AUTHOR, "" if name == account() else name)

    def _set_number(self, key: str, field: NumberField) -> None:
        problem = field.problem()
        if not problem:
            self._settings.set_text(key, str(field.value()))
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))

    def _show_presets(self) -> None:
        self.presets.clear()
        self.presets.addItems([preset.name for preset in ViewSettings(self._settings).presets])
        known = self.presets.count() > 0
        if not known:
            self.presets.addItem(tr("none"))
        self.presets.setEnabled(known)
        self.remove_preset.setEnabled(known)
        self.remove_preset.setToolTip("" if known else tr("There are no presets of your own."))

    def _delete_preset(self) -> None:
        delete_preset(self._settings, self.presets.currentText())
        self._show_presets()


def _choice(entries: Iterable[tuple[str, Any]], current: object) -> QComboBox:
    box = NoWheelComboBox()
    for text, data in entries:
        box.addItem(text, data)
    box.setCurrentIndex(max(0, box.findData(current)))
    return box
