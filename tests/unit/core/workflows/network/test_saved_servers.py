"""A server is saved together with its password, which stays with it under a new name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from semblance.core.errors import BadInput, SemblanceError
from semblance.core.network import passwords
from semblance.core.network.servers import DICOMWEB, Server, read_servers
from semblance.core.workflows.network.saved_servers import remove_server, save_server

WEB = Server("web", DICOMWEB, url="https://pacs.example/dicom-web", authentication="basic", user="reader")


@pytest.fixture
def kept(monkeypatch):
    """A keyring in memory: server -> password."""
    stored: dict[str, str] = {}
    monkeypatch.setattr("keyring.get_password", lambda _, name: stored.get(name))
    monkeypatch.setattr("keyring.set_password", lambda _, name, text: stored.update({name: text}))
    monkeypatch.setattr("keyring.delete_password", lambda _, name: stored.pop(name))
    return stored


def test_the_password_goes_with_the_server(kept):
    save_server(WEB, password="secret")
    save_server(replace(WEB, name="archive"), replaces="web")
    assert kept == {"archive": "secret"}
    assert [server.name for server in read_servers()] == ["archive"]
    save_server(replace(WEB, name="archive", user="other"), replaces="archive", password="new")
    assert kept == {"archive": "new"}
    remove_server("archive")
    assert (kept, read_servers()) == ({}, [])


def test_another_server_is_never_replaced_by_its_name(kept):
    save_server(WEB)
    with pytest.raises(BadInput, match="already"):
        save_server(replace(WEB, user="other"))
    assert read_servers() == [WEB]


def test_a_server_whose_password_cannot_be_kept_is_not_saved(monkeypatch):
    def refuse(*_):
        raise SemblanceError("No keyring.", "Unlock it.")

    monkeypatch.setattr(passwords, "store_password", refuse)
    with pytest.raises(SemblanceError, match="No keyring"):
        save_server(WEB, password="secret")
    assert read_servers() == []
