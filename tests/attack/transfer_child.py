"""The program whose transfers are killed: a retrieval from a PACS, or a watch.

    python -m tests.attack.transfer_child

serves lines ``WAY LIBRARY SOURCE LOG`` as :mod:`tests.kills.child` does. SOURCE is a JSON file with the server of a
retrieval, the folder that is watched, or a JSON file with the port of a listener, which ends when LOG is removed.
"""

from __future__ import annotations

import json
from pathlib import Path

from semblance.core.network.servers import Server
from semblance.core.tasks import Cancelled, Reporter
from semblance.core.workflows.network import watch_incoming as watching
from semblance.core.workflows.network.retrieve_study import retrieve_into_library
from tests.helpers.dicom_files import ROOT
from tests.kills.child import serve

STUDY = f"{ROOT}.1"
#: Ways of retrieval by the server's kind and retrieval, and of a watch.
GET, MOVE, WEB, FOLDER, LISTENER = "C-GET", "C-MOVE", "WADO-RS", "watched folder", "listener"


class _Ending(Reporter):
    """Ends the work when a file is removed."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def check_cancelled(self) -> None:
        if not self._file.exists():
            raise Cancelled


def live(way: str, library: Path, source: Path, log: Path) -> int:
    watching._POLL_S = 0.1
    if way == FOLDER:
        result = watching.watch(library, folder=source, once=True)
        return int(bool(result.failed))
    document = json.loads(source.read_text())
    if way == LISTENER:
        address = ("127.0.0.1", document["port"])
        watching.watch(library, listen=address, quiet_seconds=0.3, reporter=_Ending(log))
        return 0
    return int(bool(retrieve_into_library(Server(**document), STUDY, library).failed))


if __name__ == "__main__":
    # All that a transfer loads itself, so that lives are short and moments fall into the work.
    import pynetdicom.sop_class
    import requests
    import sqlalchemy.dialects.sqlite
    import zarr

    del pynetdicom, requests, sqlalchemy, zarr
    serve(live)
