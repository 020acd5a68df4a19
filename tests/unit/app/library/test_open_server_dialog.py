"""The dialog that opens a library on a server: what is wrong is said in words, and the password stays out of sight."""

from __future__ import annotations

import keyring
import pytest
from PySide6.QtCore import QSettings

from semblance.app.library.open_server_dialog import OpenServerDialog
from semblance.app.shell.settings import Settings
from semblance.core.library.location import server_address
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import REVISION
from semblance.core.workflows.maintenance.share_library import create_project
from tests.helpers.contexts import make_context
from tests.helpers.manual_jobs import ManualJobs
from tests.helpers.postgres_server import MAKER


@pytest.fixture
def ring(monkeypatch) -> dict[tuple[str, str], str]:
    """A keyring in memory."""
    stored: dict[tuple[str, str], str] = {}
    monkeypatch.setattr(keyring, "get_password", lambda service, name: stored.get((service, name)))
    monkeypatch.setattr(
        keyring, "set_password", lambda service, name, text: stored.__setitem__((service, name), text)
    )
    monkeypatch.setattr(keyring, "delete_password", lambda service, name: stored.pop((service, name)))
    return stored


@pytest.fixture
def dialog(qtbot, ring):
    jobs = ManualJobs()
    context = make_context(jobs)
    opened: list[object] = []
    shown = OpenServerDialog(context, opened.append, lambda: None)
    qtbot.addWidget(shown)

    def attempt(address: str, user: str = "", password: str = "") -> str:
        """What the dialog says; empty where it opened the library."""
        opened.clear()
        shown.address.setText(address)
        shown.user.setText(user)
        shown.password.setText(password)
        shown.connect_to_server()
        jobs.run_pending()
        return "" if opened else shown.error.text

    shown.attempt, shown.opened = attempt, opened  # type: ignore[attr-defined]
    return shown


def test_each_reason_why_a_library_cannot_be_opened_is_said(dialog, database, postgres):
    with ServerLibrary.create(server_address(database)):
        pass
    plain = str(server_address(database).with_user(""))
    known = {"user": "postgres", "password": server_address(database).password}
    assert "the connection was refused" in dialog.attempt("postgresql://127.0.0.1:1/library", **known)
    assert "no server named nowhere.invalid" in dialog.attempt(
        "postgresql://nowhere.invalid/library", **known
    )
    assert "refused the user or the password" in dialog.attempt(plain, "postgres", "wrong")
    assert "has no database 'other'" in dialog.attempt(plain.replace("/library", "/other"), **known)
    assert "holds no library yet" in dialog.attempt(plain.replace("/library", "/postgres"), **known)
    assert "does not encrypt" in dialog.attempt(f"{plain}?sslmode=verify-full", **known)
    assert "not at http://" in dialog.attempt("http://127.0.0.1/library", **known)
    assert "not the address of a server" in dialog.attempt("/home/anna/Chest.semblance", **known)
    set_revision = "UPDATE semblance.alembic_version SET version_num = '{}'"
    postgres.execute(set_revision.format("9999"), "library")
    assert "newer version" in dialog.attempt(plain, **known)
    postgres.execute(set_revision.format("0001"), "library")
    assert "too old" in dialog.attempt(plain, **known)
    postgres.execute(set_revision.format(REVISION), "library")
    assert dialog.attempt(plain, **known) == ""


def test_the_password_is_kept_in_the_keyring_alone(dialog, database, ring, tmp_path, caplog):
    with ServerLibrary.create(server_address(database)):
        pass
    password = server_address(database).password
    # A pasted address is divided, so that nobody reads the password in it.
    assert dialog.attempt(database) == ""
    assert dialog.address.text() == str(server_address(database).with_user(""))
    assert (dialog.user.text(), dialog.password.text()) == (MAKER, password)
    (address,) = dialog.opened
    assert ring == {("semblance-library", str(address)): password}
    settings = Settings(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    settings.add_recent(address)
    settings.last_library = address
    settings.save()
    assert settings.recent == [address]
    assert password not in (tmp_path / "settings.ini").read_text() + caplog.text + repr(address)
    dialog.keep.setChecked(False)
    assert dialog.attempt(str(address), MAKER, password) == ""
    assert ring == {}


def test_without_a_password_the_kept_one_is_used(dialog, database, ring, monkeypatch):
    with ServerLibrary.create(server_address(database)):
        pass
    address = server_address(database)
    assert "refused" in dialog.attempt(str(address))
    ring["semblance-library", str(address)] = "s3cret:@/%pass"
    assert dialog.attempt(str(address)) == ""


def test_without_encryption_that_is_verified_the_dialog_warns(dialog):
    for address, warns in (
        ("postgresql://db.example.org/chest", True),
        ("postgresql://db.example.org/chest?sslmode=require", True),
        ("postgresql://db.example.org/chest?sslmode=verify-full", False),
        ("postgresql://127.0.0.1/chest", False),
    ):
        dialog.address.setText(address)
        assert bool(dialog.note.text()) == warns


def test_projects_are_listed_and_opened(dialog, database, postgres):
    with ServerLibrary.create(server_address(database)):
        pass
    address = server_address(database)
    create_project(address, "chest study", "a study of chests", "2999-12-31")
    dialog.address.setText(str(address))
    dialog.password.setText(address.password)
    dialog.list_projects()
    dialog._context.jobs.run_pending()
    assert [dialog.project.itemText(i) for i in range(dialog.project.count())] == ["", "chest study"]
    assert dialog.project.currentText() == "chest study" and "chest study" in dialog.note.text()
    assert dialog.attempt(str(address), "postgres", address.password) == ""
    assert dialog.opened[0].project == "chest study"
    # An address with a project is divided.
    dialog.project.setEditText("")
    said = dialog.attempt(f"{address}?project=other", "postgres", address.password)
    assert "no project 'other'" in said and "project" not in dialog.address.text()
