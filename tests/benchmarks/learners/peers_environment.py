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
_REMOVED_VARIABLES = (
    "PYTHONHOME",
    "PYTHONPATH",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_USER",
    "PIP_REQUIRE_VIRTUALENV",
)


class PeersUnavailable(Exception):
    """The environment of the peers could not be installed. The text says why."""


def peers_python() -> Path:
    """The Python of the peers' environment. It is installed if it is missing or its versions changed.

    Raises:
        PeersUnavailable: The packages cannot be installed.
    """
    python = FOLDER / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    checksum = hashlib.sha256(
        CONSTRAINTS.read_bytes() + sys.version.encode() + str(FOLDER).encode()
    ).hexdigest()
    checksum_file = FOLDER / "made-from"
    if python.exists() and checksum_file.exists() and checksum_file.read_text(encoding="ascii") == checksum:
        return python
    print("Making .venv-peers", file=sys.stderr, flush=True)
    environment = {name: value for name, value in os.environ.items() if name not in _REMOVED_VARIABLES}
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-input", "-r", str(CONSTRAINTS)]
    for command in ([sys.executable, "-m", "venv", "--clear", str(FOLDER)], install):
        if subprocess.run(command, stdout=sys.stderr, env=environment, check=False).returncode != 0:
            raise PeersUnavailable(f"'{' '.join(command[1:3])}' failed; its message above says why.")
    checksum_file.write_text(checksum, encoding="ascii")
    return python
