"""What to install when a package that a command or the window needs is missing."""

from __future__ import annotations

#: Package -> the extra of Semblance that brings it. Every other package comes with ``app``.
EXTRAS = {
    "distributed": "dask",
    "dask": "dask",
    "torch": "deep",
    "rapidocr": "ocr",
    "pynetdicom": "pacs",
    "requests": "pacs",
    "keyring": "pacs",
    "fastapi": "serve",
    "fastapi_offline": "serve",
    "uvicorn": "serve",
    "psycopg": "server",
}


def missing_package(error: BaseException) -> str:
    """A sentence with the line to run if ``error`` means that a package is not installed, else an empty text."""
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if package in ("", "semblance"):
        return ""
    return (
        f"The package {package} is not installed. Install what this command needs: "
        f"python -m pip install 'semblance-retrieval[{EXTRAS.get(package, 'app')}]'"
    )
