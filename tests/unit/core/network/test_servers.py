"""Saved PACS servers: kept without passwords, wrong ones refused with a reason."""

from __future__ import annotations

import json

import keyring
import keyring.backend
import keyring.errors
import pytest

from semblance.core.errors import BadArguments, BadInput, SemblanceError
from semblance.core.network import passwords
from semblance.core.network.servers import (
    DICOMWEB,
    DIMSE,
    Server,
    find_server,
    get_server,
    parse_listen_address,
    read_servers,
    remove_server,
    save_server,
    servers_file,
)

WEB = Server("web", DICOMWEB, url="https://pacs.example/dicom-web", authentication="basic", user="reader")
ARCHIVE = Server("Archive", DIMSE, host="10.0.0.7", port=104, ae_title="ARCHIVE", retrieval="move")


class Memory(keyring.backend.KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self):
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    def get_password(self, service, username):
        return self.kept.get((service, username))

    def set_password(self, service, username, password):
        self.kept[service, username] = password

    def delete_password(self, service, username):
        del self.kept[service, username]


class Locked(Memory):
    def get_password(self, service, username):
        raise keyring.errors.NoKeyringError("no backend")

    def set_password(self, service, username, password):
        raise keyring.errors.NoKeyringError("no backend")


@pytest.fixture
def ring():
    before = keyring.get_keyring()

    def use(backend):
        keyring.set_keyring(backend)
        return backend

    yield use
    keyring.set_keyring(before)


def test_saved_servers_are_read_back_by_name():
    assert read_servers() == []
    save_server(WEB)
    save_server(ARCHIVE)
    assert read_servers() == [ARCHIVE, WEB]
    assert get_server("web") == WEB
    save_server(Server("images", DIMSE, host="h", port=1, ae_title="A"), replaces="web")
    assert [one.name for one in read_servers()] == ["Archive", "images"]
    remove_server("images")
    assert find_server("Archive") == ARCHIVE
    with pytest.raises(BadArguments, match=r"no PACS server 'images'\. Saved: Archive"):
        get_server("images")


def test_a_server_is_also_an_address():
    dimse = find_server("ORTHANC@[::1]:4242")
    assert (dimse.kind, dimse.host, dimse.port, dimse.ae_title) == (DIMSE, "::1", 4242, "ORTHANC")
    assert dimse.address == "ORTHANC@[::1]:4242"
    assert find_server("http://localhost:8042/dicom-web").kind == DICOMWEB


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("https://me:secret@pacs/dicom-web", "must not contain a password"),
        ("http://pacs:port/", "not a DICOMweb URL"),
        ("https://pacs/dicom-web?study=1", "not a DICOMweb URL"),
        ("A@host:70000", "70000 is not a port"),
        ("nothing", "no PACS server 'nothing'"),
    ],
)
def test_a_wrong_address_is_refused(text, says):
    with pytest.raises(BadArguments, match=says):
        find_server(text)


@pytest.mark.parametrize(
    "server",
    [
        Server("a/b", DIMSE, host="h", port=1, ae_title="A"),
        Server("x", DIMSE, host="h", port=1, ae_title="SEVENTEEN-LETTERS"),
        Server("x", DIMSE, host="h", port=1, ae_title="back\\slash"),
        Server("x", DIMSE, host="", port=1, ae_title="A"),
        Server("x", DICOMWEB, url="https://h", authentication="basic"),
        Server("x", "ftp", url="https://h"),
    ],
)
def test_a_server_that_cannot_work_is_not_saved(server):
    with pytest.raises(BadInput):
        save_server(server)
    assert not servers_file().exists()


def test_a_damaged_file_is_an_error_with_its_name():
    servers_file().parent.mkdir(parents=True)
    for text in ("{", "[]", json.dumps({"servers": [{"name": "x", "kind": "dimse", "port": "104"}]})):
        servers_file().write_text(text)
        with pytest.raises(SemblanceError, match=r"pacs_servers\.json cannot be read"):
            read_servers()


def test_passwords_are_in_the_keyring_and_in_no_file(ring):
    backend = ring(Memory())
    save_server(WEB)
    passwords.store_password("web", "Kx9!secret")
    assert passwords.read_password("web") == "Kx9!secret"
    assert "Kx9!secret" not in servers_file().read_text()
    passwords.forget_password("web")
    assert backend.kept == {}
    with pytest.raises(SemblanceError, match="no password or token for the PACS 'web'"):
        passwords.read_password("web")


def test_without_a_keyring_a_variable_helps_and_the_error_names_it(ring, monkeypatch):
    ring(Locked())
    with pytest.raises(SemblanceError, match="SEMBLANCE_PACS_PASSWORD_MY_WEB"):
        passwords.store_password("my-web", "x")
    with pytest.raises(SemblanceError, match="SEMBLANCE_PACS_PASSWORD_MY_WEB"):
        passwords.read_password("my-web")
    monkeypatch.setenv("SEMBLANCE_PACS_PASSWORD", "for all")
    assert passwords.read_password("my-web") == "for all"
    monkeypatch.setenv("SEMBLANCE_PACS_PASSWORD_MY_WEB", "its own")
    assert passwords.read_password("my-web") == "its own"


def test_listen_address_is_parsed_and_an_invalid_one_refused():
    assert parse_listen_address("104") == ("127.0.0.1", 104)
    assert parse_listen_address("0.0.0.0:11113") == ("0.0.0.0", 11113)
    with pytest.raises(BadArguments):
        parse_listen_address("everywhere")
