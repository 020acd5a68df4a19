"""The dialog that adds or changes a PACS server: its kind, its address, and how it knows this computer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QPushButton, QWidget

from semblance.app.shell.file_dialogs import choose_file
from semblance.app.shell.settings import Settings
from semblance.app.shell.theme import theme
from semblance.app.widgets.dialog import Dialog, accept_button, action_row, dialog_layout, form
from semblance.app.widgets.fields import NoWheelComboBox, spin_box
from semblance.app.widgets.labels import WrappedLabel
from semblance.app.widgets.layouts import line_with_buttons
from semblance.app.widgets.message_lines import ErrorLine
from semblance.core.errors import SemblanceError
from semblance.core.language import tr, translate
from semblance.core.network.servers import DICOMWEB, DIMSE, Server, check_server, read_servers

_PORT = 104


class ServerDialog(Dialog):
    """``save_requested(server, password)``: its fields are right; an empty password leaves the stored one."""

    save_requested = Signal(object, str)

    def __init__(self, server: Server | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        shown = server or Server("", DIMSE, port=_PORT)
        self.setWindowTitle(tr("Add a PACS server") if server is None else tr("Edit a PACS server"))
        self.setMinimumWidth(theme().px(560))
        self.name = _line(shown.name, tr("A name of your choice"))
        self.kind = _box((("DIMSE", DIMSE), ("DICOMweb", DICOMWEB)), shown.kind)
        self.host = _line(shown.host, tr("Name or IP address"))
        self.port = spin_box(1, 65535, shown.port or _PORT)
        self.ae_title = _line(shown.ae_title)
        self.own_ae_title = _line(shown.own_ae_title)
        self.retrieval = _box((("C-GET", "get"), ("C-MOVE", "move")), shown.retrieval)
        self.listen_host, self.listen_port = _line(shown.listen_host), spin_box(1, 65535, shown.listen_port)
        for field in (self.listen_host, self.listen_port):
            field.setToolTip(
                tr("Where the PACS reaches this computer, for C-MOVE and storage commitment only.")
            )
        self.tls = QCheckBox(tr("Encrypt with TLS"))
        self.tls.setChecked(shown.tls)
        self.url = _line(shown.url, "https://HOST:PORT/dicom-web")
        self.authentication = _box(
            ((tr("None"), "none"), (tr("User and password"), "basic"), (tr("Token (bearer)"), "bearer")),
            shown.authentication,
        )
        self.user, self.password = _line(shown.user), _line("")
        self.password.setEchoMode(QLineEdit.EchoMode.Password)
        if server is not None and server.authentication != "none":
            self.password.setPlaceholderText(tr("Unchanged"))
        self.files = {
            key: CertificateField(title, getattr(shown, key))
            for key, title in (
                ("authority", tr("Trusted certificates")),
                ("certificate", tr("Own certificate")),
                ("key", tr("Key of the certificate")),
            )
        }
        self.error = ErrorLine()
        self.save_button = accept_button(tr("Save"))
        self.save_button.clicked.connect(lambda _=False: self._save())
        self._make_layout()
        self.kind.currentIndexChanged.connect(lambda _: self._show_fields())
        self.authentication.currentIndexChanged.connect(lambda _: self._show_fields())
        self._show_fields()

    def _make_layout(self) -> None:
        self._form = form()
        #: The rows that only one kind has.
        self._dimse: list[QWidget] = [self.host, self.port, self.ae_title, self.own_ae_title, self.retrieval]
        self._dimse += [self.listen_host, self.listen_port, self.tls]
        self._note = WrappedLabel(
            tr("It is kept in the keyring of the system, never in a file."), role="second"
        )
        for title, field in (
            (tr("Name"), self.name),
            (tr("Kind"), self.kind),
            (tr("Host"), self.host),
            (tr("Port"), self.port),
            (tr("AE title of the PACS"), self.ae_title),
            (tr("AE title of this computer"), self.own_ae_title),
            (tr("Retrieve by"), self.retrieval),
            (tr("Listen on"), self.listen_host),
            (tr("Listening port"), self.listen_port),
            ("", self.tls),
            (tr("URL"), self.url),
            (tr("Authentication"), self.authentication),
            (tr("User"), self.user),
            (tr("Password or token"), self.password),
            ("", self._note),
        ):
            if title:
                field.setAccessibleName(title)
            self._form.addRow(title, field)
        for file in self.files.values():
            self._form.addRow(file.accessibleName(), file)
        layout = dialog_layout(self)
        layout.addLayout(self._form)
        layout.addStretch(1)
        layout.addWidget(self.error)
        layout.addLayout(action_row(self, self.save_button))

    def _show_fields(self) -> None:
        """Show the fields that the kind and the authentication have."""
        is_dimse, authentication = self.kind.currentData() == DIMSE, self.authentication.currentData()
        for field in self._dimse:
            self._form.setRowVisible(field, is_dimse)
        for field in (self.url, self.authentication):
            self._form.setRowVisible(field, not is_dimse)
        self._form.setRowVisible(self.user, not is_dimse and authentication == "basic")
        for field in (self.password, self._note):
            self._form.setRowVisible(field, not is_dimse and authentication != "none")

    def server(self) -> Server:
        """The server as written."""
        authority, certificate, key = (file.line.text().strip() for file in self.files.values())
        made = replace(
            Server(self.name.text().strip(), self.kind.currentData()),
            listen_host=self.listen_host.text().strip(),
            listen_port=self.listen_port.value(),
            authority=authority,
            certificate=certificate,
            key=key,
        )
        if made.kind == DIMSE:
            return replace(
                made,
                host=self.host.text().strip(),
                port=self.port.value(),
                ae_title=self.ae_title.text().strip(),
                own_ae_title=self.own_ae_title.text().strip(),
                retrieval=self.retrieval.currentData(),
                tls=self.tls.isChecked(),
            )
        authentication = self.authentication.currentData()
        user = self.user.text().strip() if authentication == "basic" else ""
        return replace(made, url=self.url.text().strip(), authentication=authentication, user=user)

    def _save(self) -> None:
        server = self.server()
        try:
            check_server(server)
        except SemblanceError as error:
            error.message, error.hint = translate(error.message), translate(error.hint)
            self.error.set_error(error)
            return
        self.error.set_error(None)
        password = self.password.text() if server.authentication != "none" else ""
        self.save_requested.emit(server, password)


def _line(text: str, placeholder: str = "") -> QLineEdit:
    line = QLineEdit(text)
    line.setPlaceholderText(placeholder)
    return line


def _box(items: tuple[tuple[str, str], ...], chosen: str) -> QComboBox:
    box: QComboBox = NoWheelComboBox()
    for text, data in items:
        box.addItem(text, data)
    box.setCurrentIndex(box.findData(chosen))
    return box


_SERVER = "pacs_server"


class ServerComboBox(NoWheelComboBox):
    """Lists the saved servers, first the one that was used last. ``chosen``: another one may be chosen now."""

    chosen = Signal()

    def __init__(self, settings: Settings, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._servers: list[Server] = []
        self.setAccessibleName(tr("PACS server"))
        self.currentIndexChanged.connect(lambda _: self._choose())

    def load(self, choose: str = "") -> None:
        """Read the servers, and choose the one named ``choose`` or used last.

        Raises:
            SemblanceError: their file cannot be read; then there are none.
        """
        self._servers = []
        try:
            self._servers = read_servers()
        finally:
            names = [server.name for server in self._servers]
            choose = choose or self._settings.text(_SERVER)
            self.blockSignals(True)
            self.clear()
            for server in self._servers:
                self.addItem(f"{server.name}  ({server.address})", server.name)
            if choose in names:
                self.setCurrentIndex(names.index(choose))
            self.blockSignals(False)
            self._choose()

    def server(self) -> Server | None:
        """The chosen server."""
        place = self.currentIndex()
        return self._servers[place] if 0 <= place < len(self._servers) else None

    def _choose(self) -> None:
        server = self.server()
        if server is not None:
            self._settings.set_text(_SERVER, server.name)
        self.chosen.emit()


class CertificateField(QWidget):
    """``line`` has the path, typed or chosen; ``title`` says of what."""

    def __init__(self, title: str, text: str = "", placeholder: str = "") -> None:
        super().__init__()
        self.setAccessibleName(title)
        self.line = QLineEdit(text)
        self.line.setAccessibleName(title)
        self.line.setPlaceholderText(placeholder)
        button = QPushButton(tr("Choose…"))
        button.setAutoDefault(False)
        button.setAccessibleName(tr("Choose {what}", what=title))
        button.clicked.connect(lambda _=False: self._choose(title))
        line_with_buttons(self.line, button, owner=self)

    @property
    def path(self) -> Path | None:
        """The file, ``None`` without one."""
        text = self.line.text().strip()
        return Path(text).expanduser() if text else None

    def _choose(self, title: str) -> None:
        if file := choose_file(self, title, begin=self.line.text()):
            self.line.setText(str(file))
