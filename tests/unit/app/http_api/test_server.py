"""Where the server listens: not for other computers without TLS, and under which names."""

from __future__ import annotations

import socket

import pytest

from semblance.app.http_api import server
from semblance.app.http_api.application import ServiceSettings
from semblance.core.errors import BadArguments, SemblanceError
from tests.helpers.certificates import pair
from tests.helpers.orthanc import free_port


@pytest.fixture
def settings(tmp_path):
    return ServiceSettings(tmp_path / "none", "a token for tests only", hosts=("library.example",))


class Given(Exception):
    """The server would start with these settings."""


@pytest.fixture
def made(monkeypatch):
    def make_server(settings, tls):
        raise Given(settings, tls)

    monkeypatch.setattr(server, "make_server", make_server)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "127.0.0.1.evil.example", "library.example"])
def test_other_computers_ask_with_tls_by_the_name_of_this_one(tmp_path, settings, made, host):
    with pytest.raises(BadArguments, match="not be encrypted"):
        server.serve(settings, host, 1, ready=print)
    own = pair(tmp_path, "own")
    with pytest.raises(Given) as caught:
        server.serve(settings, host, 1, ready=print, certificate=own.certificate, key=own.key)
    given, tls = caught.value.args
    assert given.hosts == ("library.example", socket.gethostname())
    assert tls is not None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "::1"])
def test_this_computer_asks_without(settings, made, host):
    with pytest.raises(Given) as caught:
        server.serve(settings, host, 1, ready=print)
    assert caught.value.args == (settings, None)


def test_what_cannot_be_used_has_a_reason(tmp_path, settings):
    with pytest.raises(SemblanceError, match="is not there"):
        server.serve(settings, "127.0.0.1", 1, ready=print, certificate=tmp_path / "none.pem")
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SemblanceError, match=f"127.0.0.1:{port} cannot be used"):
            server.serve(settings, "127.0.0.1", port, ready=print)
