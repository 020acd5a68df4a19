"""Why the certificate of a PostgreSQL server cannot be verified: its driver says only that it cannot."""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

#: The message that asks a PostgreSQL server to encrypt the connection (protocol 3.0, SSLRequest), and its yes.
_REQUEST, _YES = struct.pack("!ii", 8, 80877103), b"S"
#: Where the driver finds the certificates of authorities if the address names none.
_DEFAULT = Path(".postgresql", "root.crt")


def certificate_problem(parameters: Mapping[str, Any], seconds: float) -> str:
    """What OpenSSL says of the certificate of the server that ``parameters`` of the driver name, without its host name;
    "" where it verifies or does not show one within so many ``seconds``."""
    host, root = str(parameters.get("host", "localhost")), parameters.get("sslrootcert", "")
    file = None if root == "system" else str(root or Path.home() / _DEFAULT)
    try:
        context = ssl.create_default_context(cafile=file)
        context.check_hostname = False
        place = (str(parameters.get("hostaddr", host)), int(parameters.get("port", 5432)))
        with socket.create_connection(place, timeout=seconds) as connection:
            connection.sendall(_REQUEST)
            if connection.recv(1) == _YES:
                context.wrap_socket(connection, server_hostname=host).close()
    except ssl.SSLCertVerificationError as error:
        return str(error.verify_message)
    except (OSError, ValueError):
        # The error of the driver is shown as it is.
        return ""
    return ""
