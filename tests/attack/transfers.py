"""Kills retrievals and watches at random moments: nothing that was confirmed is lost, nothing is there twice, and the
next run ends with one copy of each object.

The PACS are Orthanc where it is installed, and one in this process (C-GET and C-MOVE only).
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pydicom import dcmread

from semblance.core.library.library import Library
from semblance.core.network.received_files import FOLDER as RECEIVED
from semblance.core.network.received_files import ReceivedFiles
from semblance.core.network.servers import Server, find_server
from tests.attack.transfer_child import FOLDER, GET, LISTENER, MOVE, STUDY, WEB
from tests.helpers import orthanc
from tests.helpers.dicom_files import ROOT, ct_series
from tests.helpers.libraries import raw
from tests.helpers.pacs_scp import running_archive
from tests.kills.harness import Child

SERIES, IMAGES = 2, 12
_WAIT_S = 120.0


@dataclass
class Transfers:
    """The objects, the PACS that have them, and what was killed so far."""

    folder: Path
    child: Child
    #: (Title, way, its source).
    ways: list[tuple[str, str, Path]] = field(default_factory=list)
    pixels: dict[str, bytes] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    killed: int = 0

    def prepare(self) -> None:
        """Measure how long each way takes when nobody kills it."""
        for title, way, source in self.ways:
            library, log = self._begin(f"whole {title}")
            start = time.monotonic()
            if way == LISTENER:
                self._listen(library, source, log, moment=None)
            else:
                assert self.child.live(way, library, source, log) == 0, title
            self.seconds[title] = time.monotonic() - start
            self._check_end(library, title)
            shutil.rmtree(library)

    def try_moment(self, number: int, rng: random.Random) -> str:
        """Kill one transfer, check what it left, and let another finish."""
        title, way, source = self.ways[number % len(self.ways)]
        moment = rng.uniform(0, 1) * self.seconds[title]
        library, log = self._begin(str(number))
        moment_of_end = f"{title} at {moment:.3f} s of {self.seconds[title]:.3f}"
        if way == LISTENER:
            confirmed = self._listen(library, source, log, moment=moment)
            self.killed += 1
        else:
            if way == FOLDER:
                source = self._half_sent(source, rng)
            status = self.child.live(way, library, source, log, moment=moment)
            assert status in (None, 0), f"{moment_of_end}: ended with {status}"
            self.killed += status is None
            if status == 0:
                # The first one took longer than those after it.
                self.seconds[title] *= 0.9
            confirmed = set()
            if way == FOLDER:
                self._complete(source)
        self._check(library, confirmed, moment_of_end)
        if way == LISTENER:
            log.touch()
            self._listen(library, source, log, moment=None)
        else:
            assert self.child.live(way, library, source, log) == 0, (
                f"{moment_of_end}: the next did not finish"
            )
        self._check_end(library, moment_of_end)
        shutil.rmtree(library)
        return moment_of_end

    def _begin(self, name: str) -> tuple[Path, Path]:
        library, log = self.folder / f"{name}.semblance", self.folder / f"{name}.log"
        log.touch()
        return library, log

    def _half_sent(self, source: Path, rng: random.Random) -> Path:
        """A copy of the folder in which some files end early, and one is there twice."""
        half = self.folder / "half"
        shutil.rmtree(half, ignore_errors=True)
        shutil.copytree(source, half)
        files = sorted(half.rglob("*.dcm"))
        shutil.copy(files[0], half / "again.dcm")
        for file in rng.sample(files, 4):
            file.write_bytes(file.read_bytes()[: rng.randrange(1, file.stat().st_size)])
        return half

    def _complete(self, half: Path) -> None:
        source = next(source for _, way, source in self.ways if way == FOLDER)
        shutil.copytree(source, half, dirs_exist_ok=True)

    def _listen(self, library: Path, source: Path, log: Path, *, moment: float | None) -> set[str]:
        """Send everything to a listener, which is killed after ``moment`` seconds, or ends when the library has it;
        returns the UIDs that it confirmed."""
        port = json.loads(source.read_text())["port"]
        confirmed: set[str] = set()
        sender = threading.Thread(target=self._send, args=(port, library, log, moment is None, confirmed))
        sender.start()
        status = self.child.live(LISTENER, library, source, log, moment=moment)
        log.unlink(missing_ok=True)
        sender.join()
        if moment is None:
            assert (status, confirmed) == (0, set(self.pixels)), (
                f"the listener took {len(confirmed)}, ended with {status}"
            )
        return confirmed

    def _send(self, port: int, library: Path, log: Path, stays: bool, confirmed: set[str]) -> None:
        from pynetdicom import AE

        end = time.monotonic() + _WAIT_S
        while log.exists() and time.monotonic() < end:
            with (
                contextlib.suppress(OSError),
                contextlib.closing(socket.create_connection(("127.0.0.1", port))),
            ):
                break
            time.sleep(0.02)
        files = [dcmread(file) for file in sorted((self.folder / "objects").rglob("*.dcm"))]
        entity = AE(ae_title="SCANNER")
        entity.add_requested_context(files[0].SOPClassUID, files[0].file_meta.TransferSyntaxUID)
        opened = entity.associate("127.0.0.1", port, ae_title="SEMBLANCE")
        for dataset in files:
            if not opened.is_established:
                break
            status = opened.send_c_store(dataset)
            if status and status.Status == 0:
                confirmed.add(str(dataset.SOPInstanceUID))
        if opened.is_established:
            opened.release()
        received = ReceivedFiles(library / RECEIVED)
        while stays and len(confirmed) == len(files) and received.waiting() and time.monotonic() < end:
            time.sleep(0.05)
        if stays:
            log.unlink()

    def _check(self, library: Path, confirmed: set[str], moment_of_end: str) -> None:
        """What is there is whole, and what was confirmed is there."""
        found = ReceivedFiles(library / RECEIVED).instances(STUDY)
        assert confirmed <= set(found), f"{moment_of_end}: lost {sorted(confirmed - set(found))}"
        for uid, file in found.items():
            assert dcmread(file).PixelData == self.pixels[uid], f"{moment_of_end}: {uid} is not whole"
        if (library / "catalogue.sqlite").exists():
            with raw(library) as connection:
                assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)], moment_of_end

    def _check_end(self, library: Path, moment_of_end: str) -> None:
        """One copy of each object, in one case for each series."""
        self._check(library, set(self.pixels), moment_of_end)
        files = sorted((library / RECEIVED).rglob("*.dcm"))
        assert len(files) == len(self.pixels), f"{moment_of_end}: {len(files)} files"
        assert ReceivedFiles(library / RECEIVED).waiting() == [], f"{moment_of_end}: still waits"
        with Library.open(library) as opened:
            cases = [record for record in opened.catalogue.all_cases() if record.state == "ok"]
            assert len(cases) == SERIES, f"{moment_of_end}: {len(cases)} cases"
            depths = [opened.catalogue.details([one.id])[one.id].depth for one in cases]
            assert depths == [IMAGES] * SERIES, f"{moment_of_end}: {depths} images"


@contextlib.contextmanager
def prepared(folder: Path, *, with_orthanc: bool) -> Iterator[Transfers]:
    """Everything that is needed in ``folder``."""
    for number in range(SERIES):
        ct_series(folder / "objects" / str(number), IMAGES, series=f"{ROOT}.{20 + number}", size=(64, 64))
    files = sorted((folder / "objects").rglob("*.dcm"))
    with contextlib.ExitStack() as stack:
        child = Child(folder / "errors", "tests.attack.transfer_child")
        stack.callback(child.close)
        transfers = Transfers(folder, child)
        for file in files:
            dataset = dcmread(file)
            transfers.pixels[str(dataset.SOPInstanceUID)] = dataset.PixelData

        def add(title: str, way: str, document: Server | dict[str, int]) -> None:
            file = folder / f"{title}.json"
            file.write_text(json.dumps(document if isinstance(document, dict) else asdict(document)))
            transfers.ways.append((title, way, file))

        def add_dimse(name: str, address: str, port: int) -> None:
            server = find_server(address)
            add(f"{name} {GET}", GET, server)
            add(f"{name} {MOVE}", MOVE, replace(server, retrieval="move", listen_port=port))

        archive = stack.enter_context(running_archive(files))
        archive.destination = orthanc.free_port()
        add_dimse("pynetdicom", archive.address, archive.destination)
        if with_orthanc:
            port = orthanc.free_port()
            running = stack.enter_context(
                orthanc.running_orthanc(
                    folder / "orthanc", DicomModalities={"semblance": ["SEMBLANCE", "127.0.0.1", port]}
                )
            )
            for file in files:
                running.upload(file)
            add_dimse("Orthanc", running.dimse, port)
            add(f"Orthanc {WEB}", WEB, find_server(running.dicomweb))
        transfers.ways.append((FOLDER, FOLDER, folder / "objects"))
        add(LISTENER, LISTENER, {"port": orthanc.free_port()})
        transfers.prepare()
        yield transfers
