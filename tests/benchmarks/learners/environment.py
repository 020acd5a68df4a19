"""The environment of the peers, ``.venv-peers``: metric-learn does not run on the project's scikit-learn."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
FOLDER = TOP / ".venv-peers"
CONSTRAINTS = TOP / "packaging" / "peers-constraints.txt"
_DIVERTING = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REQUIRE_VIRTUALENV")


class NoPeers(Exception):
    """The environment of the peers could not be made; the text says why."""


def peers_python() -> Path:
    """Python of the peers' environment, made where it is missing or its versions changed.

    Raises:
        NoPeers: packages cannot be had.
    """
    python = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    wanted = hashlib.sha256(
        CONSTRAINTS.read_bytes() + sys.version.encode() + str(FOLDER).encode()
    ).hexdigest()
    mark = FOLDER / "made-from"
    if python.exists() and mark.exists() and mark.read_text(encoding="ascii") == wanted:
        return python
    print("Making .venv-peers", file=sys.stderr, flush=True)
    environment = {name: value for name, value in os.environ.items() if name not in _DIVERTING}
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "-r", str(CONSTRAINTS)]
    for command in ([sys.executable, "-m", "venv", "--clear", str(FOLDER)], install):
        if subprocess.run(command, stdout=sys.stderr, env=environment, check=False).returncode != 0:
            raise NoPeers(f"'{' '.join(command[1:3])}' failed; its message above says why.")
    mark.write_text(wanted, encoding="ascii")
    return python
