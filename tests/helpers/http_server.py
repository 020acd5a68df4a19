"""``semblance serve`` in a thread of the test."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import requests

from semblance.app.http_api.application import ServiceSettings
from semblance.app.http_api.server import make_server

TOKEN = "a token for tests only"


class Client:
    """Requests with the token."""

    def __init__(self, address: str) -> None:
        self.address = address

    def get(self, path: str, **options: Any) -> requests.Response:
        return self._send("GET", path, options)

    def post(self, path: str, **options: Any) -> requests.Response:
        return self._send("POST", path, options)

    def _send(self, method: str, path: str, options: dict[str, Any]) -> requests.Response:
        headers = {"Authorization": f"Bearer {TOKEN}"} | options.pop("headers", {})
        return requests.request(method, f"{self.address}/v1/{path}", headers=headers, timeout=120, **options)


@contextlib.contextmanager
def running_server(settings: ServiceSettings) -> Iterator[Client]:
    """The application, asked over a socket of this computer."""
    server = make_server(settings)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.02)
            yield Client(f"http://127.0.0.1:{listener.getsockname()[1]}")
        finally:
            server.should_exit = True
            thread.join()
