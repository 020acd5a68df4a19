"""What is mutated, and how each kind of file is read as the program reads it."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from semblance.core.errors import SemblanceError
from tests.fuzz import pacs_answers
from tests.fuzz.mutations import LENGTHS, TOKENS, mutated, mutated_inside
from tests.helpers.bad_images import animation, encoded, pages, pattern, png16

#: Files and cases of one source that are read.
_FILES, _CASES = 8, 40


@dataclass(frozen=True)
class Kind:
    """``seeds(place)``: whole files, made in a folder; ``read(data, place)``: whether it could be read (else
    refused with a reason); ``words`` are written over parts of it."""

    seeds: Callable[[Path], list[bytes]]
    read: Callable[[bytes, Path], bool]
    words: Sequence[bytes] = LENGTHS
    #: A zip whose entries are mutated too, before they are packed again.
    packed: bool = False
    #: A conversation (:class:`tests.fuzz.pacs_answers.Conversation`), one of whose answers is damaged.
    spoken: bool = False

    #: Whether copies are damaged at all.
    damaged: bool = True

    def copy(self, seeds: Sequence[bytes], number: int, seed: int) -> bytes:
        whole = seeds[number % len(seeds)]
        if not self.damaged:
            return whole
        if self.spoken:
            return pacs_answers.Conversation.unpacked(whole).damaged(number, seed, self.words).packed()
        if self.packed and number % 4:
            return mutated_inside(whole, number, seed)
        return mutated(whole, number, seed, words=self.words)


# Images


def _images(place: Path) -> list[bytes]:
    from PIL import Image as PILImage

    colour, grey = pattern(64, 96, 3), pattern(64, 96)
    deep = np.arange(64 * 96, dtype=np.uint16).reshape(64, 96)
    real = PILImage.fromarray((grey / 255).astype(np.float32))
    tiffs = [encoded(colour, "TIFF", compression=name) for name in ("tiff_lzw", "tiff_deflate", "packbits")]
    return [
        encoded(colour),
        encoded(PILImage.fromarray(colour).quantize(16)),
        encoded(PILImage.fromarray(deep)),
        png16(np.dstack([deep] * 3), 2),
        encoded(colour, "JPEG"),
        encoded(grey, "JPEG", progressive=True),
        encoded(PILImage.fromarray(colour).convert("CMYK"), "JPEG"),
        *tiffs,
        encoded(PILImage.fromarray(deep), "TIFF"),
        encoded(real, "TIFF"),
        pages(),
        encoded(grey, "PPM"),
        encoded(colour, "PPM"),
        b"P2\n# seen\n12 4\n255\n" + b" ".join(b"%d" % (5 * n) for n in range(48)) + b"\n",
        encoded(colour, "BMP"),
        encoded(grey, "GIF"),
        animation("GIF"),
        animation("PNG"),
    ]


def _read_image(data: bytes, place: Path) -> bool:
    from semblance.core.imaging.raster import decode
    from semblance.core.imaging.thumbnail import inspect

    try:
        decode(data, "mutated.png").grey()
        inspect(data, "mutated.png")
    except SemblanceError as error:
        assert error.message
        return False
    return True


def _volumes(place: Path) -> list[bytes]:
    import gzip

    from tests.helpers.volume_files import meta_image, nifti, nrrd_file, tiff

    voxels, lps = np.arange(9 * 8 * 5, dtype=np.int16).reshape(9, 8, 5), np.eye(4)
    four = np.stack([voxels, voxels], axis=-1)
    return [
        nifti(voxels, lps),
        nifti(four, lps),
        gzip.compress(nifti(voxels, lps)),
        nrrd_file(voxels, lps, place),
        nrrd_file(voxels, lps, place, encoding="text"),
        meta_image(voxels, lps)[0],
        meta_image(voxels, lps, compressed=True)[0],
        tiff(four.transpose(3, 2, 1, 0), ome=True, metadata={"axes": "TZYX"}),
        tiff(voxels, imagej=True),
    ]


def _read_volumes(data: bytes, place: Path) -> bool:
    """Under each name that a format is recognised by."""
    from semblance.core.imaging.image_address import ImageAddress
    from semblance.core.imaging.image_reader import ImageReader

    read = False
    for name in ("a.nii.gz", "a.mha", "a.tif"):
        (place / name).write_bytes(data)
        with ImageReader() as reader:
            try:
                volumes = reader.volume_file(ImageAddress(place / name))
                if volumes is not None:
                    volumes.stack(volumes.count - 1).image(0).grey()
                    read = True
            except SemblanceError as error:
                assert error.message
        read = _in_folder({name: data}, place) or read
    return read


# Sources: whole imports without the catalogue


def _read_source(source: Path) -> bool:
    """Whether the likeliest importer found cases and no file failed; all that fit have a go."""
    from semblance.core.imaging.image_reader import ImageReader
    from semblance.core.library.importers.importer import Importer, RejectedFile
    from semblance.core.library.importers.registry import recognise
    from semblance.core.library.importers.source import Source
    from semblance.core.tasks import SILENT
    from semblance.core.workflows.library.file_reader import FileReader
    from tests.helpers.importer_scan import cases_of

    def tried(importer: Importer) -> bool:
        items = list(importer.scan(opened, SILENT))
        rejected = [item for item in items if isinstance(item, RejectedFile)]
        assert all(item.reason for item in rejected)
        cases = [case for item in items for case in cases_of(item)]
        files = [(path, list(group)) for path, group in groupby(cases, key=lambda case: case.path)]
        outcomes = [reader.read(path, group[:_CASES], whole=True) for path, group in files[:_FILES]]
        failed = [reason for outcome in outcomes for _, reason in outcome.failed]
        assert all(failed)
        return bool(outcomes) and not failed and not any(item.failed for item in rejected)

    whole = []
    try:
        with Source.open(source) as opened, ImageReader() as images:
            reader = FileReader(opened, "x", images)
            for importer, _ in recognise(opened):
                try:
                    whole.append(tried(importer))
                except SemblanceError as error:
                    assert error.message
                    whole.append(False)
    except SemblanceError as error:
        assert error.message
    return bool(whole) and whole[0]


def _in_folder(files: Mapping[str, bytes], place: Path) -> bool:
    folder = place / "source"
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return _read_source(folder)


class _Unpickled:
    """Whoever unpickles it dies."""

    def __reduce__(self) -> tuple[Callable[[int], None], tuple[int]]:
        import os

        return os._exit, (42,)


def _npz(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def _arrays(place: Path) -> list[bytes]:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (12, 28, 28)).astype(np.uint8)
    labels = np.arange(12).reshape(-1, 1) % 2
    volumes = rng.integers(-1000, 500, (2, 9, 16, 14)).astype(np.int16)
    plain = io.BytesIO()
    np.savez(plain, train_images=images, train_labels=labels, test_images=images, test_labels=labels)
    pickled = np.array([_Unpickled()] * 12, dtype=object)
    return [
        plain.getvalue(),
        _npz(train_images=images, train_labels=labels),
        _npz(train_images=np.repeat(images[..., None], 3, axis=-1), train_labels=labels),
        _npz(train_images=volumes, train_labels=labels[:2]),
        _npz(ct=volumes, spacing=np.array([1.0, 0.7, 0.7])),
        _npz(train_images=images, train_labels=pickled),
        _npz(train_images=pickled, train_labels=labels),
    ]


def _read_arrays(data: bytes, place: Path) -> bool:
    (place / "mutated.npz").write_bytes(data)
    listed = b"patient,view,polyp,scan,x,y,z\nA,prone,1,ct,5,6,4\nA,supine,1,ct,5,5,5\n"
    alone = _read_source(place / "mutated.npz")
    return _in_folder({"scans.npz": data, "candidates.csv": listed}, place) or alone


_PNG = encoded(pattern())
_CBIS = (
    b"patient_id,left or right breast,image view,abnormality id,pathology,image file path,"
    b"ROI mask file path\n"
    b"P_1,LEFT,CC,1,MALIGNANT,a/1.png,a/2.png\nP_2,RIGHT,MLO,2,BENIGN,b/1.png,b/2.png\n"
)
_LABELS = b"file,label,patient_id,case_id,age\na/1.png,benign,P1,c1,44\nb/1.png,malignant,P2,,50\n"
#: Names of text files beside images, and what stands in them.
_TEXTS: tuple[tuple[str, bytes], ...] = (
    ("labels.csv", _LABELS),
    ("labels.csv", _LABELS.decode().replace(",", ";").encode("utf-16")),
    ("mass_case_description_train_set.csv", _CBIS),
    ("codes.csv", b"image;irma_code;category\n1;1121-127-700-500;5\n2;1123-211-520-3a0;6\n"),
    ("Info.txt", b"mdb001 G CIRC B 5 4 3\nmdb002 G NORM\n"),
    (
        "candidates.csv",
        b"patient,view,polyp,scan,row,x,y,z,geodesic\nA,prone,1,ct,0,5,6,4,0.5\nA,s,,ct,1,5,5,5,\n",
    ),
    ("regions.csv", b'series,slice,polygon,finding\nct[0],2,"[[1, 1], [9, 1], [5, 9]]",fibrosis\n'),
    ("table.csv", b"case_id,patient_id,f1,f2,label\na,P1,1.5,2,x\nb,P2,,3e4,y\nc,P3,-1,nan,x\n"),
)


def _read_text(data: bytes, place: Path) -> bool:
    """The first byte says which text it is."""
    name, _ = _TEXTS[data[0] % len(_TEXTS)] if data else _TEXTS[0]
    images = dict.fromkeys(("a/1.png", "a/2.png", "b/1.png", "b/2.png", "mdb001.pgm", "mdb002.pgm"), _PNG)
    if name in ("candidates.csv", "regions.csv"):
        images = {"ct.npz": _SCANS}
    if name == "table.csv":
        (place / name).write_bytes(data[1:])
        return _read_source(place / name)
    return _in_folder(images | {name: data[1:]}, place)


def _parquet(_place: Path) -> list[bytes]:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {
        "case_id": ["a", "b", "c"],
        "f1": [1.5, None, -1.0],
        "f2": [2, 3, 4],
        "note": ["long", "", None],
    }
    table, files = pa.table({**columns, "label": ["x", "y", "x"]}), []
    for settings in ({}, {"compression": "zstd", "row_group_size": 1}, {"use_dictionary": False}):
        written = io.BytesIO()
        parquet.write_table(table, written, **settings)
        files.append(written.getvalue())
    return files


def _read_parquet(data: bytes, place: Path) -> bool:
    (place / "table.parquet").write_bytes(data)
    return _read_source(place / "table.parquet")


_SCANS = _npz(ct=np.zeros((2, 9, 16, 14), np.int16))


def _texts(place: Path) -> list[bytes]:
    return [bytes([number]) + text for number, (_, text) in enumerate(_TEXTS)]


_PLIST = b"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple Computer//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict><key>Images</key><array><dict><key>ImageIndex</key><integer>0</integer>
<key>NumberOfROIs</key><integer>1</integer><key>ROIs</key><array><dict><key>Name</key><string>Mass</string>
<key>NumberOfPoints</key><integer>4</integer><key>Point_px</key><array><string>(10.0, 5.0)</string>
<string>(20.0, 5.0)</string><string>(20.0, 15.0)</string><string>(10.0, 15.0)</string></array></dict></array>
</dict></array></dict></plist>
"""
_ENTITIES = _PLIST.replace(
    b'PUBLIC "-//Apple Computer//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd"',
    b'[<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]',
)


def _read_xml(data: bytes, place: Path) -> bool:
    table = b"Patient ID;Laterality;View;File Name;Bi-Rads\nremoved;R;CC;20586908;5\n"
    files = {"AllDICOMs/20586908_6c613a14b80a8591_MG_R_CC_ANON.png": _PNG, "INbreast.csv": table}
    return _in_folder(files | {"AllXML/20586908.xml": data}, place)


# Archives


def _zips(place: Path) -> list[bytes]:
    def packed(files: Mapping[str, bytes], method: int) -> bytes:
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
        return out.getvalue()

    folders = {"benign/1.png": _PNG, "malignant/2.png": _PNG, "labels.csv": b"file,label\n1.png,x\n"}
    link = zipfile.ZipInfo("benign/link.png")
    link.external_attr = 0o120777 << 16
    linked = io.BytesIO()
    with zipfile.ZipFile(linked, "w") as archive:
        archive.writestr("benign/1.png", _PNG)
        archive.writestr(link, "../../outside.png")
    return [
        *(packed(folders, method) for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA)),
        packed({"../up.png": _PNG, "/root.png": _PNG, "a/../../b.png": _PNG, "C:\\x.png": _PNG}, 8),
        packed({"bomb.png": bytes(64 << 20), "a/1.png": _PNG}, zipfile.ZIP_DEFLATED),
        packed({"scan.npz": _SCANS, "a.png": _PNG}, zipfile.ZIP_DEFLATED),
        linked.getvalue(),
    ]


def _read_zip(data: bytes, place: Path) -> bool:
    (place / "mutated.zip").write_bytes(data)
    return _read_source(place / "mutated.zip")


# What the program itself wrote, and an encoder's files


def _metrics(place: Path) -> list[bytes]:
    from semblance.core.metrics import make_learner
    from semblance.core.metrics.storage import save_metric

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 4)), np.repeat(["a", "b"], 20)
    X[20:, 0] += 3
    out = []
    for name in ("euclidean", "pca", "lda", "bdm", "metricboost"):
        save_metric(make_learner(name).fit(X, y).metric(), place / "whole.metric")
        out.append((place / "whole.metric").read_bytes())
    return out


def _read_metric(data: bytes, place: Path) -> bool:
    from semblance.core.metrics import load_metric

    (place / "mutated.metric").write_bytes(data)
    try:
        load_metric(place / "mutated.metric").distances(np.zeros((1, 4)), np.ones((2, 4)))
    except SemblanceError as error:
        assert error.message
        return False
    return True


def _library(place: Path) -> Path:
    """A library of a table with a metric, made once."""
    from tests.helpers.tables import PLAIN, table_library

    if not (place / "made" / "lib.semblance").exists():
        table_library(place / "made", n=24, metrics=[PLAIN])
    return place / "made" / "lib.semblance"


def _backups(place: Path) -> list[bytes]:
    from semblance.core.workflows.maintenance.backup import back_up

    back_up(_library(place), place / "whole.zip")
    return [(place / "whole.zip").read_bytes()]


def _read_backup(data: bytes, place: Path) -> bool:
    (place / "mutated.zip").write_bytes(data)
    shutil.rmtree(place / "restored.semblance", ignore_errors=True)
    read = _run("restore", place / "mutated.zip", place / "restored.semblance")
    assert read or not (place / "restored.semblance").exists() or _run("info", place / "restored.semblance")
    return read


def _exchanged(place: Path) -> list[bytes]:
    from semblance.core.workflows.metrics.metric_exchange import export_metric

    return [export_metric(_library(place), "plain", place / "whole.semblance-metric").read_bytes()]


def _read_exchanged(data: bytes, place: Path) -> bool:
    library = _copied_library(place)
    (place / "mutated.semblance-metric").write_bytes(data)
    if not _run("import-metric", library, place / "mutated.semblance-metric", "--name", "other"):
        return False
    _run("card", library, "--metric", "other")
    _run("search", library, "--metric", "other", "--case", "t/c0")
    return True


def _stored_metric(place: Path) -> list[bytes]:
    return [next((_library(place) / "metrics").iterdir()).read_bytes()]


def _read_stored_metric(data: bytes, place: Path) -> bool:
    library = _copied_library(place)
    next((library / "metrics").iterdir()).write_bytes(data)
    read = _run("search", library, "--metric", "plain", "--case", "t/c0")
    _run("card", library, "--metric", "plain")
    _run("export-metric", library, "--metric", "plain", "--out", place / "out.semblance-metric")
    _run("doctor", library)
    return read


def _catalogue(place: Path) -> list[bytes]:
    return [(_library(place) / "catalogue.sqlite").read_bytes()]


def _read_catalogue(data: bytes, place: Path) -> bool:
    library = _copied_library(place)
    for end in ("-wal", "-shm"):
        library.joinpath(f"catalogue.sqlite{end}").unlink(missing_ok=True)
    (library / "catalogue.sqlite").write_bytes(data)
    read = _run("info", library) and _run("search", library, "--metric", "plain", "--case", "t/c0")
    _run("doctor", library)
    _run("doctor", library, "--repair")
    return read


def _copied_library(place: Path) -> Path:
    from semblance.core.workflows.searches.open_metrics import close_loaded_metrics

    copy = place / "copy.semblance"
    # Each copy has the place and the times of the last one: what was loaded of that one would be used.
    close_loaded_metrics(copy)
    shutil.rmtree(copy, ignore_errors=True)
    return Path(shutil.copytree(_library(place), copy))


_NAME = b"PLANTEDNAME"


def _named_dicom(place: Path) -> list[bytes]:
    from tests.helpers.dicom_files import ct_slice
    from tests.helpers.dicom_files import encoded as dicom_bytes

    name = _NAME.decode()
    pixels = np.random.default_rng(0).integers(0, 999, (24, 32)).astype(np.int16)
    named = {
        "PatientName": f"{name}^A",
        "PatientID": f"{name}1",
        "InstitutionName": name,
        "PatientComments": name,
    }
    dataset = ct_slice(pixels)
    for keyword, text in named.items():
        setattr(dataset, keyword, text)
    return [dicom_bytes(dataset), dicom_bytes(dataset, preamble=False)]


def _read_named_dicom(data: bytes, place: Path) -> bool:
    """An import without identifiers: no file of the library may hold the name, whatever is damaged."""
    for folder in ("named", "named.semblance"):
        shutil.rmtree(place / folder, ignore_errors=True)
    (place / "named").mkdir()
    (place / "named" / "1.dcm").write_bytes(data)
    read = _run("import", place / "named", "--library", place / "named.semblance", "--kind", "dicom")
    found = [
        file
        for file in (place / "named.semblance").rglob("*")
        if file.is_file() and _NAME in file.read_bytes()
    ]
    assert not found, f"leaked into {found[0].name}"
    return read


def _zipped_series(place: Path) -> list[bytes]:
    from tests.helpers.dicom_files import ct_slice
    from tests.helpers.dicom_files import encoded as dicom_bytes

    pixels = np.random.default_rng(0).integers(0, 999, (4, 24, 32)).astype(np.int16)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, one in enumerate(pixels):
            archive.writestr(f"CT/{number}", dicom_bytes(ct_slice(one, number)))
    return [out.getvalue()]


def _read_zipped_series(data: bytes, place: Path) -> bool:
    return _in_folder({"ct.zip": data}, place)


def _reports(place: Path) -> list[bytes]:
    file = place / "whole.json"
    if not _run("report", _library(place), "--metric", "plain", "--case", "t/c0", "--out", file):
        raise RuntimeError("no report was written")
    return [file.read_bytes()]


def _read_report(data: bytes, place: Path) -> bool:
    from semblance.core.workflows.reports.embedded_search import reopen_report

    (place / "mutated.json").write_bytes(data)
    try:
        reopen_report(_library(place), place / "mutated.json")
    except SemblanceError as error:
        assert error.message
        return False
    return True


def _bombs(place: Path) -> list[bytes]:
    """Only names: a bomb is made when it is read, so that making it is no cost of another."""
    from tests.attack.bombs import BOMBS

    return [name.encode() for name in BOMBS]


def _read_bomb(name: bytes, place: Path) -> bool:
    folder, library = place / "bomb", place / "bomb.semblance"
    for old in (folder, library):
        shutil.rmtree(old, ignore_errors=True)
    folder.mkdir()
    file = folder / name.decode()
    make = "import sys; from tests.attack.bombs import BOMBS; sys.stdout.buffer.write(BOMBS[sys.argv[1]]())"
    with file.open("wb") as out:
        # Making it takes the memory of another process.
        subprocess.run([sys.executable, "-c", make, file.name], stdout=out, check=True)
    if file.suffix == ".semblance-metric":
        return _run("import-metric", _copied_library(place), file)
    if file.name == "backup.zip":
        return _run("restore", file, library)
    if file.name == "labels.csv":
        (folder / "a.png").write_bytes(_PNG)
        return _run("import", folder, "--library", library)
    return _run("import", file, "--library", library)


def _run(*arguments: object) -> bool:
    """Whether a command line ends well. It may fail with a sentence, never as a defect of the program."""
    from semblance.app.cli.main import FAILED, WRONG_ARGUMENTS, run

    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        status = run(
            [*map(str, arguments), "--json"] if arguments[0] != "export-metric" else [*map(str, arguments)]
        )
    said = errors.getvalue()
    assert "defect" not in said, f"{arguments[0]}: {said.strip()}"
    assert status in (0, FAILED, WRONG_ARGUMENTS), f"{arguments[0]} ended with {status}"
    assert status == 0 or said.strip(), f"{arguments[0]} failed without a word"
    return status == 0


def _read_dicom(data: bytes, place: Path) -> bool:
    from tests.helpers.fuzz_dicom import decode

    return decode(data) != "refused"


def _dicom(place: Path) -> list[bytes]:
    from tests.helpers.data import folder
    from tests.helpers.fuzz_dicom import seeds

    return seeds(folder())


KINDS: dict[str, Kind] = {
    "image": Kind(_images, _read_image),
    "volume": Kind(_volumes, _read_volumes),
    "npz": Kind(_arrays, _read_arrays),
    "text": Kind(_texts, _read_text, TOKENS),
    "parquet": Kind(_parquet, _read_parquet),
    "xml": Kind(lambda _: [_PLIST, _PLIST, _ENTITIES], _read_xml, TOKENS),
    "zip": Kind(_zips, _read_zip),
    "zipped series": Kind(_zipped_series, _read_zipped_series, packed=True),
    "report": Kind(_reports, _read_report, TOKENS),
    "metric": Kind(_metrics, _read_metric),
    "dicom": Kind(_dicom, _read_dicom),
    "backup": Kind(_backups, _read_backup, packed=True),
    "exchanged metric": Kind(_exchanged, _read_exchanged, packed=True),
    "stored metric": Kind(_stored_metric, _read_stored_metric, packed=True),
    "catalogue": Kind(_catalogue, _read_catalogue),
    "identifiers": Kind(_named_dicom, _read_named_dicom),
    "DIMSE answer": Kind(
        pacs_answers.dimse_seeds, pacs_answers.read_dimse, pacs_answers.DIMSE_WORDS, spoken=True
    ),
    "DICOMweb answer": Kind(
        pacs_answers.web_seeds, pacs_answers.read_web, pacs_answers.HTTP_WORDS, spoken=True
    ),
    "bomb": Kind(_bombs, _read_bomb, damaged=False),
}
