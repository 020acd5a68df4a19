"""The dialog that opens a library on a server: its address, the user, and the password."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QPushButton, QWidget

from semblance.app.shell.context import Context
from semblance.app.shell.jobs import Job, WorkerPool
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import (
    Dialog,
    accept_button,
    cancel_button,
    dialog_layout,
    form,
    help_button,
)
from semblance.app.widgets.fields import line_edit
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import STRETCH, fill, hbox
from semblance.app.widgets.message_lines import ErrorLine
from semblance.app.widgets.progress_line import ProgressLine
from semblance.app.widgets.tab_order import enable_widgets
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, translate
from semblance.core.library.location import ServerAddress, server_address
from semblance.core.library.records import OfferedProject
from semblance.core.workflows.library.connect_to_server import connect_to_server, find_projects

_EXAMPLE = "postgresql://HOST/DATABASE?sslmode=verify-full"
_PACKAGES = ("psycopg",)
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


class OpenServerDialog(Dialog):
    """Checks the address in a job. ``connected(address)`` is called when the library can be opened: its password is
    then known to this process, and to the keyring if that was chosen."""

    def __init__(
        self,
        context: Context,
        connected: Callable[[ServerAddress], object],
        show_help: Callable[[], object],
        address: ServerAddress | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._context, self._connected = context, connected
        self._job: Job | None = None
        self.setWindowTitle(tr("Open a library on a server"))
        self.setMinimumWidth(theme().px(620))
        self.address = line_edit(tr("Address"), "" if address is None else str(_plain(address)))
        self.address.setPlaceholderText(_EXAMPLE)
        self.user = line_edit(tr("User"), "" if address is None else address.user)
        self.password = line_edit(tr("Password"), "")
        self.password.setEchoMode(QLineEdit.EchoMode.Password)
        self.password.setPlaceholderText(tr("Empty: the one that was kept"))
        self.project = QComboBox()
        self.project.setEditable(True)
        self.project.setAccessibleName(tr("Project"))
        line = QLineEdit()
        line.setPlaceholderText(tr("Empty: the whole library"))
        self.project.setLineEdit(line)
        self.project.setEditText("" if address is None else address.project)
        self.list_button = QPushButton(tr("List projects"))
        self.list_button.setToolTip(tr("Ask the server which projects you may open"))
        self.list_button.clicked.connect(lambda _=False: self.list_projects())
        self.keep = QCheckBox(tr("Keep the password in the keyring of the system"))
        self.keep.setChecked(True)
        self.note = WrappedLabel(role="second")
        self.progress = ProgressLine()
        self.progress.cancel_requested.connect(self.cancel)
        self.error = ErrorLine()
        self.open_button = accept_button(tr("Open library"))
        self.open_button.clicked.connect(lambda _=False: self.connect_to_server())
        self.help_button = help_button(self, show_help)
        self._make_layout()
        self.address.editingFinished.connect(self._divide)
        for field in (self.address, self.user, self.password):
            field.textChanged.connect(lambda _: self._update())
        self._update()
        (self.address if address is None else self.user if not address.user else self.password).setFocus()

    def _make_layout(self) -> None:
        fields = form()
        for field in (self.address, self.user, self.password):
            fields.addRow(field.accessibleName(), field)
        projects = fill(hbox(spacing=8), (self.project, 1), self.list_button)
        fields.addRow(self.project.accessibleName(), projects)
        fields.addRow("", self.keep)
        fields.addRow("", self.note)
        layout = dialog_layout(self)
        layout.addLayout(fields)
        layout.addStretch(1)
        layout.addWidget(self.error)
        layout.addWidget(self.progress)
        row = fill(hbox(spacing=8), self.help_button, STRETCH, cancel_button(self), self.open_button)
        layout.addLayout(row)

    def _divide(self) -> None:
        """Move user, password and project out of the address into their fields, where the password is hidden."""
        text = self.address.text().strip()
        try:
            found = server_address(text)
        except SemblanceError:
            return
        if found is None:
            return
        if found.password:
            self.password.setText(found.password)
        if found.user:
            self.user.setText(found.user)
        if found.project:
            self.project.setEditText(found.project)
        self.address.setText(str(_plain(found)))

    def _update(self) -> None:
        installed = all(find_spec(package) is not None for package in _PACKAGES)
        running = self._job is not None
        fields = (self.address, self.user, self.password, self.project, self.keep)
        may_ask = installed and not running and bool(self.address.text().strip())
        enable_widgets(
            dict.fromkeys(fields, not running) | {self.open_button: may_ask, self.list_button: may_ask}
        )
        self.progress.setVisible(running)
        if not installed:
            self.note.setText(
                tr(
                    "Packages for this are not installed: {command}",
                    command='pip install "semblance-retrieval[app,server]"',
                )
            )
            return
        self.note.setText(self._warning())

    def _warning(self) -> str:
        """What the address means for the password and the images on their way, empty where both are safe."""
        try:
            found = server_address(self.address.text().strip())
        except SemblanceError:
            return ""
        if found is None or found.host.startswith(_LOCAL) or "sslmode=verify" in str(found):
            return ""
        return tr(
            "Without sslmode=verify-full in the address nobody checks that this is the right server, and the connection"
            " may not be encrypted."
        )

    def _address(self) -> ServerAddress | None:
        """The address of the library that was entered, without a project; ``None`` after saying what is wrong."""
        self._divide()
        try:
            address = server_address(self.address.text().strip())
        except SemblanceError as error:
            self._show_error(error)
            return None
        if address is None:
            self._show_error(
                SemblanceError(
                    tr("This is not the address of a server."),
                    tr("Write one such as {example}.", example=_EXAMPLE),
                )
            )
            return None
        user = self.user.text().strip()
        return address.with_user(user) if user else address

    def list_projects(self) -> None:
        """Ask the server for the projects that this account may open."""
        address = self._address()
        if address is None:
            return
        self.error.set_error(None)
        job = self._run(address, find_projects, address, self.password.text())

        def done(found: list[OfferedProject]) -> None:
            self._end()
            chosen = self.project.currentText()
            self.project.clear()
            self.project.addItem("")
            for one in found:
                self.project.addItem(one.name)
                place = self.project.count() - 1
                about = tr("{purpose} (until {until})", purpose=one.purpose, until=one.until)
                self.project.setItemData(place, about, Qt.ItemDataRole.ToolTipRole)
            self.project.setEditText(chosen or (found[0].name if len(found) == 1 else ""))
            self.note.setText(
                tr("Projects that you may open: {names}", names=", ".join(one.name for one in found))
                if found
                else tr("There is no project that you may open.")
            )

        job.done.connect(done)

    def connect_to_server(self) -> None:
        """Check the address and the password, and open the library or its project."""
        address = self._address()
        if address is None:
            return
        password = self.password.text()
        address = address.with_project(self.project.currentText().strip()).with_password(password)
        self.error.set_error(None)
        job = self._run(address, partial(connect_to_server, keep=self.keep.isChecked()), address, password)

        def done(not_kept: SemblanceError | None) -> None:
            self._context.jobs.servers.remember(address)
            self._job = None
            if not_kept is not None:
                self._context.messages.info(translate(not_kept.message), translate(not_kept.hint))
            self.accept()
            self._connected(address)

        job.done.connect(done)

    def _run(
        self, address: ServerAddress, task: Callable[..., object], *arguments: object, **more: object
    ) -> Job:
        """Ask the server in a job, and show its progress and errors here."""
        job = self._job = self._context.jobs.run(
            tr("Connecting to {host}", host=address.host),
            task,
            *arguments,
            pool=WorkerPool.NETWORK,
            channel="connect",
            quiet=True,
        )
        job.changed.connect(lambda: self.progress.set_progress(job.fraction, job.seconds_left))
        job.failed.connect(self._fail)
        job.cancelled.connect(self._end)
        self.progress.set_title(job.title)
        self._update()
        return job

    def cancel(self) -> None:
        """End the attempt."""
        if self._job is not None:
            self._job.cancel()

    def reject(self) -> None:
        self.cancel()
        super().reject()

    def _fail(self, error: SemblanceError) -> None:
        self._end()
        self._show_error(error)
        self.password.setFocus()

    def _end(self) -> None:
        self._job = None
        self._update()

    def _show_error(self, error: SemblanceError) -> None:
        error.message, error.hint = translate(error.message), translate(error.hint)
        self.error.set_error(error)


def _plain(address: ServerAddress) -> ServerAddress:
    """The address without what has a field of its own."""
    return address.with_project("").with_user("")
