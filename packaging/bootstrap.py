"""Install the pinned versions into ``.venv``, and the system libraries that Qt needs if that is allowed.

Started by setup.sh: ``bootstrap.py run`` for the program, ``bootstrap.py test`` for the checks too,
``bootstrap.py deep`` for the checks of the extra ``deep``, in ``.venv-deep``, ``bootstrap.py bundle`` for
what builds the bundled program, in ``.venv-bundle``. Nothing is installed if nothing
changed. The exit status is :data:`NETWORK_FAILED` if ``deep`` could not be downloaded.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
VENV = TOP / ".venv"
#: A separate environment, so that the other one never needs torch.
DEEP_VENV = TOP / ".venv-deep"
#: A separate environment, so that only the packages of the program get into the bundle.
BUNDLE_VENV = TOP / ".venv-bundle"
CONSTRAINTS = TOP / "packaging" / "constraints.txt"
EXTRAS = {"run": "[app]", "test": "[test]", "deep": "[test,deep]", "bundle": "[bundle]"}
#: The index of torch without CUDA, which takes several GB.
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
#: Exit status: the network failed.
NETWORK_FAILED = 75
_NETWORK_ERRORS = ("connection broken by", "Could not fetch URL", "Network is unreachable", "timed out")

#: Debian package -> the library in it that Qt loads.
QT_LIBRARIES = {
    "libegl1": "libEGL.so.1",
    "libgl1": "libGL.so.1",
    "libxkbcommon0": "libxkbcommon.so.0",
    "libdbus-1-3": "libdbus-1.so.3",
    "libfontconfig1": "libfontconfig.so.1",
    "libglib2.0-0": "libglib-2.0.so.0",
}
#: Also needed if windows open on an X display, and in the bundle.
X_LIBRARIES = {
    "libxcb-icccm4": "libxcb-icccm.so.4",
    "libxcb-keysyms1": "libxcb-keysyms.so.1",
    "libxkbcommon-x11-0": "libxkbcommon-x11.so.0",
    "libx11-xcb1": "libX11-xcb.so.1",
    "libxcb-cursor0": "libxcb-cursor.so.0",
    "libxcb-image0": "libxcb-image.so.0",
    "libxcb-randr0": "libxcb-randr.so.0",
    "libxcb-render-util0": "libxcb-render-util.so.0",
    "libxcb-shape0": "libxcb-shape.so.0",
    "libxcb-shm0": "libxcb-shm.so.0",
    "libxcb-sync1": "libxcb-sync.so.1",
    "libxcb-xfixes0": "libxcb-xfixes.so.0",
    "libxcb-xkb1": "libxcb-xkb.so.1",
}
FONT_PACKAGE = "fonts-dejavu-core"
#: There where installing a server starts it.
SYSTEMD = Path("/run/systemd/system")
#: Debian package -> a program in it. Tests against a real PACS, and of the signature, are skipped without them.
TEST_PACKAGES = {
    "orthanc": "Orthanc",
    "orthanc-dicomweb": "/usr/share/orthanc/plugins/libOrthancDicomWeb.so",
    "dcmtk": "storescu",
    "dicom3tools": "dciodvfy",
    "nginx": "nginx",
    "stunnel4": "stunnel4",
    "minisign": "minisign",
}
FONT_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts")


class SetupError(Exception):
    """The set-up failed. The text says what to do."""


class NetworkError(SetupError):
    """The package index could not be reached."""


def show_message(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 1 or arguments[0] not in EXTRAS:
        show_message(f"usage: bootstrap.py {'|'.join(EXTRAS)}")
        return 2
    try:
        ensure_system_packages(arguments[0])
        if is_installed(arguments[0]):
            return 0
        if arguments[0] == "test":
            install_test_packages()
        install_python_packages(arguments[0])
    except SetupError as failure:
        show_message(str(failure))
        return NETWORK_FAILED if isinstance(failure, NetworkError) and arguments[0] == "deep" else 1
    return 0


# --- system libraries ---------------------------------------------------------------------------------


def ensure_system_packages(purpose: str) -> None:
    if not sys.platform.startswith("linux"):
        return
    missing = missing_packages(purpose)
    if not missing:
        return
    if shutil.which("apt-get") is None:
        libraries = QT_LIBRARIES | X_LIBRARIES
        show_message(
            "This system seems to lack what Semblance needs: "
            + ", ".join(libraries.get(package, package) for package in missing)
            + ". Should the window not open, install them with the system's package manager."
        )
        return
    become_root = root_prefix()
    if become_root is None:
        raise SetupError(
            "Some system packages are missing and only an administrator can install them. Please run\n\n"
            f"    sudo apt-get install {shlex.join(missing)}\n\nand then the same make command again."
        )
    show_message(f"Installing system packages: {' '.join(missing)}")
    install_with_apt(become_root, missing)
    still_missing = missing_packages(purpose)
    if still_missing:
        raise SetupError(
            f"apt-get could not install: {' '.join(still_missing)}. Its messages above say why; "
            "once they are there, run the same make command again."
        )


def missing_packages(purpose: str) -> list[str]:
    """The Debian packages of the missing libraries, fonts and modules."""
    required = dict(QT_LIBRARIES)
    if purpose == "bundle" or os.environ.get("DISPLAY"):
        required |= X_LIBRARIES
    missing = [package for package, library in required.items() if not can_load(library)]
    if not has_fonts():
        missing.append(FONT_PACKAGE)
    if importlib.util.find_spec("ensurepip") is None and not venv_works(VENV):
        missing.append(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv")
    return missing


def install_test_packages() -> None:
    """Install what only tests need, where that is allowed and starts no server: as root of a container.

    Elsewhere, and where it fails, these tests are skipped with the reason.
    """
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
    missing = [
        package
        for package, program in TEST_PACKAGES.items()
        if not Path(program).exists() and shutil.which(program, path=path) is None
    ]
    if not missing or not shutil.which("apt-get") or SYSTEMD.exists() or os.geteuid() != 0:
        return
    show_message(f"Installing packages for tests: {' '.join(missing)}")
    install_with_apt([], missing)


def can_load(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def has_fonts() -> bool:
    folders = (Path(folder.replace("~", os.environ.get("HOME", "/"))) for folder in FONT_FOLDERS)
    return any(next(folder.rglob("*.[to]tf"), None) is not None for folder in folders)


def root_prefix() -> list[str] | None:
    """The prefix of a command that root runs, or ``None`` if that needs a password."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is None:
        return None
    result = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
    return ["sudo", "-n"] if result.returncode == 0 else None


def install_with_apt(become_root: list[str], packages: list[str]) -> None:
    # dpkg needs the administrator's folders on the path.
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])
    prefix = [*become_root, "env", "DEBIAN_FRONTEND=noninteractive", f"PATH={path}", "apt-get", "-q"]
    subprocess.run([*prefix, "update"], stdout=sys.stderr, stdin=subprocess.DEVNULL, check=False)
    install = [*prefix, "install", "-y", "--no-install-recommends", *packages]
    subprocess.run(install, stdout=sys.stderr, stdin=subprocess.DEVNULL, check=False)


# --- Python packages ----------------------------------------------------------------------------------


def environment_of(purpose: str) -> Path:
    return {"deep": DEEP_VENV, "bundle": BUNDLE_VENV}.get(purpose, VENV)


def is_installed(purpose: str) -> bool:
    """Whether nothing changed since it was installed for ``purpose``."""
    venv = environment_of(purpose)
    with contextlib.suppress(OSError):
        stamp = (venv / f"semblance-{purpose}.stamp").read_text()
        return stamp == installation_digest() and venv_works(venv)
    return False


def install_python_packages(purpose: str) -> None:
    venv, expected = environment_of(purpose), installation_digest()
    # The distribution was called `semblance` before: both would be found, and the old one first.
    if not venv_works(venv) or next(venv.glob("lib/*/site-packages/semblance-*.dist-info"), None):
        make_venv(venv)
    show_message(
        f"Installing the Python packages into {venv.name} (the first time this takes a few minutes)."
    )
    pip_install(venv, "setuptools", "babel")
    if purpose == "deep" and sys.platform == "linux":
        install_torch(venv)
    # Strict, since mypy and import-linter do not follow the other editable forms to packages of another name.
    strict = ("--config-settings", "editable_mode=strict")
    pip_install(venv, "--no-build-isolation", *strict, "--editable", f".{EXTRAS[purpose]}")
    for name in {"run", purpose} if venv == VENV else {purpose}:
        (venv / f"semblance-{name}.stamp").write_text(expected)


def install_torch(venv: Path) -> None:
    """Install torch without CUDA from the index of pip, else from the index of torch."""
    try:
        pip_install(venv, "--no-deps", "torch", show=False)
    except SetupError:
        # Only for this package: pip would otherwise ask this index for every package, and trust it.
        pip_install(venv, "--no-deps", "--index-url", CPU_INDEX, "torch")


def installation_digest() -> str:
    """A digest that changes when the packages have to be installed again."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    setuptools = project["tool"]["setuptools"]
    constraints = CONSTRAINTS.read_text(encoding="utf-8")
    parts = [
        project["project"],
        project["build-system"],
        setuptools,
        constraints,
        str(TOP),
        source_files(),
        digests_of_build(),
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def source_files() -> list[str]:
    """The files of the program, without those that the installation makes. A strict editable installation links each
    file and does not find new ones."""
    files = (path for folder in ("app", "core", "resources") for path in (TOP / folder).rglob("*"))
    return sorted(
        str(path.relative_to(TOP))
        for path in files
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.suffix != ".mo"
        and path.name not in ("CHANGELOG.md", "COMMIT")
    )


def digests_of_build() -> list[str]:
    """Digests of the files that the installation makes others from, and of what makes them."""
    made_from = [TOP / "CHANGELOG.md", *sorted((TOP / "resources" / "translations").rglob("*.po"))]
    files = [TOP / "setup.py", TOP / "packaging" / "build_resources.py", *made_from]
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in files]


def venv_python(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def venv_works(venv: Path) -> bool:
    """Whether the environment exists, has pip and a fitting Python, and was not moved."""
    check = "import pip, sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))"
    try:
        configuration = (venv / "pyvenv.cfg").read_text(encoding="utf-8")
        result = subprocess.run(
            [venv_python(venv), "-c", check], capture_output=True, check=False, env=clean_environment()
        )
    except OSError:
        return False
    # The scripts of an environment contain its path, so a moved one is not usable.
    was_moved = "command = " in configuration and not configuration.rstrip().endswith(str(venv))
    return result.returncode == 0 and not was_moved


def make_venv(venv: Path) -> None:
    show_message(f"Making {venv.name} with Python {sys.version.split()[0]}")
    command = [sys.executable, "-m", "venv", "--clear", str(venv)]
    result = subprocess.run(command, env=clean_environment(), stdout=sys.stderr, check=False)
    if result.returncode != 0 or not venv_works(venv):
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise SetupError(
            f"{sys.executable} could not make the environment {venv.name}. On Debian or Ubuntu this needs\n\n"
            f"    sudo apt-get install python{version}-venv\n\n"
            "Another Python can be named: make run PYTHON=/path/to/python"
        )


def pip_install(venv: Path, *requirements: str, show: bool = True) -> None:
    command = [str(venv_python(venv)), "-m", "pip", "install", "--no-input", "--constraint", str(CONSTRAINTS)]
    if not sys.stderr.isatty():
        command.append("--quiet")
    with subprocess.Popen(
        [*command, *requirements],
        cwd=TOP,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as pip:
        assert pip.stdout is not None
        network_failed = False
        for line in pip.stdout:
            if show:
                sys.stderr.write(line)
            network_failed = network_failed or any(error_text in line for error_text in _NETWORK_ERRORS)
    if pip.returncode != 0:
        kind = NetworkError if network_failed else SetupError
        raise kind(
            "The Python packages could not be installed; pip's message above says why. With the network (or "
            "the package index named in pip's configuration) in reach, run the same make command again."
        )


def clean_environment() -> dict[str, str]:
    """The environment without variables that make pip or Python use another folder than ``.venv``."""
    removed = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REQUIRE_VIRTUALENV")
    environment = {name: value for name, value in os.environ.items() if name not in removed}
    settings = {
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_ROOT_USER_ACTION": "ignore",
        "PYTHONWARNINGS": "ignore",
    }
    return environment | settings | {"PIP_USER": "0"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
