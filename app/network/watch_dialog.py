"""The dialog *Watch for new images*: those that come into a folder or to a DICOM listener go into the open library.

It is off when Semblance starts, and runs until it is stopped or Semblance ends.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from semblance.app.network.server_dialog import CertificateField
from semblance.app.shell import library_operations
from semblance.app.shell.context import Context
from semblance.app.shell.file_dialogs import choose_folder
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.state import Change
from semblance.app.widgets.dialog import (
    Dialog,
    accept_button,
    add_action_rows,
    dialog_button,
    dialog_layout,
    form,
    help_button,
    resize_dialog,
)
from semblance.app.widgets.fields import NoWheelComboBox, line_edit, spin_box
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import line_with_buttons
from semblance.app.widgets.message_lines import ErrorLine
from semblance.app.widgets.tab_order import enable_widgets
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, tr_n, translate
from semblance.core.library.location import LibraryLocation, library_name
from semblance.core.network.connection_limits import is_loopback
from semblance.core.network.listener import check_listening
from semblance.core.network.servers import LISTEN_PORT, LOOPBACK, OWN_AE_TITLE, check_ae_title
from semblance.core.workflows.network import watch_incoming as workflow
from semblance.core.workflows.network.watch_incoming import ReceivedCounts

_SIZE = (620, 480)
FOLDER, LISTENER = "folder", "listener"


class WatchDialog(Dialog):
    """``taken(library)``: cases were added to it · ``help_requested``."""

    taken = Signal(object)
    help_requested = Signal()

    def __init__(self, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._job: Job | None = None
        self._library: LibraryLocation | None = None
        self._numbers: ReceivedCounts | None = None
        self.setWindowTitle(tr("Watch for new images"))
        resize_dialog(self, *_SIZE)
        self.source: QComboBox = NoWheelComboBox()
        self.source.setAccessibleName(tr("Source"))
        self.source.addItem(tr("DICOM files put into a folder"), FOLDER)
        self.source.addItem(tr("Images sent to this computer (C-STORE)"), LISTENER)
        self.folder = line_edit(tr("Folder"))
        self.choose_button = dialog_button(tr("Choose…"), self._choose_folder)
        self.host, self.port = line_edit(tr("Listen on"), LOOPBACK), spin_box(1, 65535, LISTEN_PORT)
        self.port.setAccessibleName(tr("Port"))
        self.ae_title = line_edit(tr("AE title of this computer"), OWN_AE_TITLE)
        self.allowed = line_edit(tr("Accepted AE titles"))
        self.allowed.setPlaceholderText(tr("All; or some with commas between"))
        optional = tr("Optional")
        self.certificate = CertificateField(tr("Own certificate"), placeholder=optional)
        self.key = CertificateField(tr("Key of the certificate"), placeholder=optional)
        self.authority = CertificateField(tr("Trusted certificates"), placeholder=optional)
        self.certificate.setToolTip(tr("With a certificate senders must use TLS."))
        self.authority.setToolTip(tr("Only senders may connect whose certificate one of these signed."))
        self.quiet = spin_box(1, 3600, round(workflow.QUIET_S), tr(" s without new images"))
        self.quiet.setAccessibleName(tr("Import after"))
        self.identified = QCheckBox(tr("Keep patient IDs and dates"))
        self.warning = WrappedLabel(role="second")
        self.status = WrappedLabel(selectable=True)
        self.status.setAccessibleName(tr("State"))
        self.error = ErrorLine()
        self.switch_button = accept_button(tr("Start watching"))
        self.switch_button.clicked.connect(lambda _=False: self.switch())
        self._make_layout()
        self.source.currentIndexChanged.connect(lambda _: self._update())
        for line in (self.folder, self.host, self.allowed, self.certificate.line, self.authority.line):
            line.textChanged.connect(lambda _: self._update())
        context.state.on_change(Change.LIBRARY, self, self._update)
        self._update()

    def _make_layout(self) -> None:
        self._form = form()
        self._folder_row = line_with_buttons(self.folder, self.choose_button)
        self._form.addRow(tr("Source"), self.source)
        self._form.addRow(tr("Folder"), self._folder_row)
        self._listener_fields: tuple[QWidget, ...] = (
            *(self.host, self.port, self.ae_title, self.allowed),
            *(self.certificate, self.key, self.authority),
        )
        for field in self._listener_fields:
            self._form.addRow(field.accessibleName(), field)
        self._form.addRow(self.quiet.accessibleName(), self.quiet)
        self._form.addRow("", self.identified)
        self._form.addRow("", self.warning)
        layout = dialog_layout(self)
        layout.addLayout(self._form)
        layout.addStretch(1)
        layout.addWidget(self.status)
        layout.addWidget(self.error)
        add_action_rows(layout, self, self.switch_button, help_button(self, self.help_requested.emit))

    @property
    def is_running(self) -> bool:
        """Whether it watches."""
        return self._job is not None

    def switch(self) -> None:
        """Start, or stop."""
        if self._job is not None:
            self._job.cancel()
        else:
            self._start()

    def _start(self) -> None:
        library = self._context.state.location
        if library is None:
            return
        listens = self.source.currentData() == LISTENER
        allowed = self._allowed_titles()
        self.error.set_error(None)
        try:
            if listens:
                for title in (self.ae_title.text().strip(), *allowed):
                    check_ae_title(title)
                check_listening(
                    self.host.text().strip(),
                    is_encrypted=self.certificate.path is not None,
                    has_known_senders=self._has_known_senders(),
                )
        except SemblanceError as error:
            error.message, error.hint = translate(error.message), translate(error.hint)
            self.error.set_error(error)
            return
        self._library, self._numbers = library, None
        job = self._context.jobs.run(
            self._title(library),
            workflow.watch,
            library,
            folder=None if listens else Path(self.folder.text().strip()).expanduser(),
            listen=(self.host.text().strip(), self.port.value()) if listens else None,
            ae_title=self.ae_title.text().strip(),
            allowed=allowed,
            quiet_seconds=float(self.quiet.value()),
            identified=self.identified.isChecked(),
            certificate=self.certificate.path if listens else None,
            key=self.key.path if listens else None,
            authority=self.authority.path if listens else None,
            pool=WorkerPool.WATCH,
            channel="pacs watch",
        )
        self._job = job
        job.partial.connect(self._show_numbers)
        job.failed.connect(self.error.set_error)
        job.ended.connect(self._end)
        self._update()

    def _allowed_titles(self) -> list[str]:
        return [title.strip() for title in self.allowed.text().split(",") if title.strip()]

    def _has_known_senders(self) -> bool:
        return bool(self._allowed_titles()) or self.authority.path is not None

    def _title(self, library: LibraryLocation) -> str:
        if self.source.currentData() == LISTENER:
            where = f"{self.host.text().strip()}:{self.port.value()}"
            return tr("Listening on {where} for {library}", where=where, library=library_name(library))
        return tr("Watching a folder for {library}", library=library_name(library))

    def _show_numbers(self, numbers: ReceivedCounts) -> None:
        before, self._numbers = self._numbers, numbers
        if self._library is not None and numbers.studies > (0 if before is None else before.studies):
            if self._context.state.location == self._library:
                library_operations.renew(self._context)
            self.taken.emit(self._library)
        self._update()

    def _end(self) -> None:
        self._job = None
        self._update()

    def _choose_folder(self) -> None:
        if folder := choose_folder(self, tr("Folder to watch"), begin=self.folder.text()):
            self.folder.setText(str(folder))

    def _update(self) -> None:
        running, listens = self.is_running, self.source.currentData() == LISTENER
        self._form.setRowVisible(self._folder_row, not listens)
        for field in self._listener_fields:
            self._form.setRowVisible(field, listens)
        is_local = is_loopback(self.host.text().strip())
        open_text = tr("Other computers of the network can send images to this one while it runs.")
        local_text = tr("Only programs on this computer can send.")
        is_encrypted, safety = self.certificate.path is not None, ""
        if not is_local and not (is_encrypted and self._has_known_senders()):
            safety = tr("That needs a certificate, and accepted AE titles or trusted certificates.")
        elif is_encrypted:
            safety = tr("What they send is encrypted with TLS.")
        where = local_text if is_local else open_text
        self.warning.setText(f"{where} {safety}".strip() if listens else "")
        self._form.setRowVisible(self.warning, listens)
        self.switch_button.setText(tr("Stop watching") if running else tr("Start watching"))
        self.status.setText(self._status())
        snapshot = self._context.state.library
        writable = self._context.state.can_edit
        complete = bool(self.host.text().strip() if listens else self.folder.text().strip())
        fields = (self.source, self._folder_row, *self._listener_fields, self.quiet, self.identified)
        able = dict.fromkeys(fields, not running)
        enable_widgets(able | {self.switch_button: running or (writable and complete)})
        reason = tr("Open a library first") if snapshot is None else self._context.state.why_not_edited
        missing = "" if complete else tr("Enter the folder or address first")
        self.switch_button.setToolTip("" if running else missing if writable else reason)

    def _status(self) -> str:
        numbers = self._numbers
        if self.is_running and numbers is None:
            return tr("Starting…")
        lines = []
        if self.is_running and self._job is not None:
            lines.append(tr("On. {what}.", what=self._job.title))
        else:
            lines.append(tr("Off. Semblance does not listen and watches no folder."))
        if numbers is not None:
            taken = tr_n("{n} image was taken", "{n} images were taken", numbers.taken)
            studies = tr_n("{n} import into the library", "{n} imports into the library", numbers.studies)
            lines.append(f"{taken}, {studies}.")
            reasons = [*numbers.refused.values(), *numbers.failed.values()]
            if reasons:
                lines.append(
                    tr_n(
                        "{n} could not be taken: {reason}",
                        "{n} could not be taken. The last: {reason}",
                        len(reasons),
                        reason=translate(reasons[-1]),
                    )
                )
            changes = list(numbers.changed.values())
            if changes:
                lines.append(
                    tr_n(
                        "{n} image was here already: {change}",
                        "{n} images were here already. The last: {change}",
                        len(changes),
                        change=translate(changes[-1]),
                    )
                )
        return "\n".join(lines)
