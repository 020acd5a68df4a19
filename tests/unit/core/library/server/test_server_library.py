"""A library on a server does what one in a folder does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import psycopg
import pytest
import sqlalchemy as sa
from PIL import Image

from semblance.app.cli.main import run
from semblance.core.errors import BadInput, SemblanceError
from semblance.core.library import schema
from semblance.core.library.edit_log import undo_edit
from semblance.core.library.library import Library
from semblance.core.library.location import server_address
from semblance.core.library.open_library import open_library
from semblance.core.library.records import CaseRecord, FileRecord
from semblance.core.library.server.library import ServerLibrary
from semblance.core.library.server.tables import REVISION, SCHEMA
from semblance.core.library.server.tables import tables as server_tables
from semblance.core.workflows.library.edit_cases import remove_cases, set_finding
from tests.helpers.postgres_server import PASSWORD, PostgresServer

#: Names as an attacker or an unlucky person would choose them.
HOSTILE = (
    "'; DROP TABLE cases; --",
    '"double" \\ back %s %(x)s :x ${y} {z}',
    "Ünïcode \u202e right to left — 患者",
    "a" * 500,
    "line\nbreak\ttab",
    "' OR '1'='1",
    "$$ COMMIT; $$",
)


def images(folder: Path) -> Path:
    made = np.random.default_rng(3)
    for place, finding in enumerate(("benign", "malignant")):
        (folder / finding).mkdir(parents=True)
        for number in range(20):
            pixels = made.integers(0, 60, (24, 32)) + np.arange(32) * (1 + place)
            Image.fromarray(pixels.astype(np.uint8)).save(folder / finding / f"{number}.png")
    return folder


def document(capsys, *arguments: object) -> dict:
    status = run([*map(str, arguments), "--json"])
    out, err = capsys.readouterr()
    assert status == 0, err
    return json.loads(out)


def comparable(value: object, *, loosely: bool = False) -> object:
    """Without what another run would have different too."""
    if isinstance(value, dict):
        return {
            key: comparable(one, loosely=loosely)
            for key, one in value.items()
            if key not in ("library", "created", "seconds", "fit_seconds", "path")
        }
    if isinstance(value, list):
        return [comparable(one, loosely=loosely) for one in value]
    return pytest.approx(value, rel=1e-9, abs=1e-9) if loosely and isinstance(value, float) else value


def test_commands_give_the_same_for_both_homes(tmp_path, capsys, database):
    source = images(tmp_path / "images")
    given = []
    for library in (tmp_path / "lib.semblance", database):
        done = [document(capsys, "import", source, "--library", library)]
        done.append(document(capsys, "features", library, "--extractor", "pixels", "--set", "size=8"))
        done.append(document(capsys, "train", library, "--learner", "rca", "--name", "m", "--seed", 1))
        case = "images/benign/3.png"
        done.append(document(capsys, "search", library, "--case", case, "-k", 10))
        outside = source / "malignant" / "4.png"
        done.append(document(capsys, "search", library, "--image", outside, "--like", case, "-k", 10))
        protocol = ("--learner", "rca,euclidean", "--protocol", "bdm", "--repeats", 2)
        done.append(document(capsys, "evaluate", library, *protocol))
        done.append(document(capsys, "info", library))
        done.append(document(capsys, "doctor", library))
        report, card = tmp_path / "report.html", tmp_path / "card.json"
        assert run(["report", str(library), "--case", case, "--out", str(report)]) == 0
        assert run(["card", str(library), "--metric", "m", "--out", str(card)]) == 0
        capsys.readouterr()
        done.append([line["what"] for line in document(capsys, "audit-log", library)])
        assert "malignant" in report.read_text(encoding="utf-8")
        given.append(done)
        with open_library(server_address(str(library)) or library) as opened:
            done.append(opened.features.read(opened.features.get(None)))
    *in_folder, folder_features = given[0]
    *on_server, server_features = given[1]
    assert comparable(on_server) == comparable(in_folder, loosely=True)
    assert on_server[3]["results"][0]["case_id"].startswith("images/benign/")
    for one, other in zip(server_features, folder_features, strict=True):
        assert np.array_equal(one, other)


def records(names: tuple[str, ...] = HOSTILE) -> list[CaseRecord]:
    return [
        CaseRecord(
            f"s/{name}",
            f"{name}.png",
            finding=name,
            patient=name,
            attributes={
                "modality": "CT",
                "note": f"Été {name}",
                "study": "1.2.3",
                "slice_thickness": "2.0 lung",
            },
            content=f"c{number}",
            numbers=(1.5, float("nan"), float(number)),
            width=None if number % 2 else 5,
        )
        for number, name in enumerate(names)
    ]


def fill(library: Library) -> None:
    source = library.catalogue.add_source("folder", "it's; --", Path("/images/%s"))
    library.catalogue.put(
        source, [FileRecord(f"{name}.png", 1 << 40, 1 << 60, "h", "ok") for name in HOSTILE], records()
    )


def test_the_catalogue_reads_back_what_was_written_whatever_the_names(tmp_path, database):
    read = []
    with (
        Library.create(tmp_path / "l.semblance") as folder,
        ServerLibrary.create(server_address(database)) as server,
    ):
        for library in (folder, server):
            fill(library)
            library.save_search(HOSTILE[0], {"x": HOSTILE, "nan": [1e-300, None]})
            catalogue = library.catalogue
            (source,) = catalogue.sources()
            headers = catalogue.headers()
            words = ("ete", "É", "2.0", "0 lu", "drop", "患者", "1.2.3", "'", "cases; --", "lun", "ung")
            read.append(
                [
                    source,
                    catalogue.files(source),
                    catalogue.labels(source),
                    [tuple(row) for row in catalogue.all_cases()],
                    catalogue.attributes(),
                    catalogue.extents(),
                    {
                        row: vars(one)
                        for row, one in catalogue.details(catalogue.case_rows().tolist()).items()
                    },
                    [(word, catalogue.rows_with_word(word).tolist()) for word in words],
                    [headers.rows.tolist(), headers.depths, headers.texts, headers.groups],
                    catalogue.numbers(catalogue.case_rows().tolist())[1].tobytes(),
                    library.load_search(HOSTILE[0]),
                    {k: v for k, v in library.summary().items() if k != "library"},
                    catalogue.read_columns(sa.select(schema.cases.c.case_id, schema.cases.c.file)),
                ]
            )
    for there, here in zip(read[1], read[0], strict=True):
        assert there == here
    assert len(dict(read[0][7])["lun"]) == len(HOSTILE) and not dict(read[0][7])["ung"]


def test_edits_are_undone_and_numbers_are_never_given_twice(database):
    address = server_address(database)
    with ServerLibrary.create(server_address(database)) as library:
        fill(library)
        before = [tuple(row) for row in library.catalogue.all_cases()]
    assert address is not None
    removed = [f"s/{name}" for name in HOSTILE[:2]]
    set_finding(address, removed, "other")
    remove_cases(address, removed)
    with open_library(address, writable=True) as library:
        assert len(library.catalogue.all_cases()) == len(HOSTILE) - 2
        undo_edit(library)
        undo_edit(library)
        assert [tuple(row) for row in library.catalogue.all_cases()] == before
        source = library.catalogue.sources()[0]
        library.catalogue.put(
            source, [FileRecord("n", 1, 1, "h", "ok")], [CaseRecord("new", "n", content="n")]
        )
        assert library.catalogue.row_of("new") > max(row[0] for row in before)


def test_errors_say_what_is_wrong_and_never_the_password(tmp_path, capsys, postgres, database):
    source = images(tmp_path / "images")
    postgres.execute("DROP ROLE IF EXISTS reader")
    postgres.execute("CREATE ROLE reader LOGIN PASSWORD 'other-s3cret'")
    nobody = postgres.address("library", "postgres", "wrong-s3cret")
    reader = postgres.address("library", "reader", "other-s3cret")
    closed = database.replace(f":{postgres.port}/", ":1/")
    for arguments, says in (
        (("info", closed), "the connection was refused"),
        (("info", nobody), "refused the user or the password"),
        (("info", postgres.address("nothing-here")), "has no database 'nothing-here'"),
        (("info", database), "holds no library yet"),
        (("import", source, "--library", reader), "no right to do this"),
        (("info", "postgresql://127.0.0.1"), "names no database"),
        (("info", "mysql://u:other-s3cret@h/d"), "not at mysql://"),
        (("info", f"{database}?sslmode=verify-full"), "does not encrypt connections"),
    ):
        status = run([*map(str, arguments)])
        out, err = capsys.readouterr()
        assert status in (1, 2) and says in err, err
        assert "s3cret" not in out + err and "Traceback" not in err
    logs = [file.read_text() for file in Path.home().rglob("semblance.log*")]
    assert logs and not any("s3cret" in text or PASSWORD in text for text in logs)


def test_a_server_without_pgvector_is_reported_and_left_unchanged(monkeypatch, postgres, database):
    with postgres.without_extension("vector"), pytest.raises(SemblanceError, match="has no pgvector"):
        ServerLibrary.create(server_address(database))
    with pytest.raises(BadInput, match="holds no library yet"):
        ServerLibrary.open(server_address(database))


def test_a_read_only_user_can_read_and_gets_an_error_on_writing(postgres, database):
    with ServerLibrary.create(server_address(database)) as library:
        fill(library)
    postgres.execute("DROP ROLE IF EXISTS reader")
    postgres.execute("CREATE ROLE reader LOGIN PASSWORD 'r'")
    postgres.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO reader", "library")
    postgres.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO reader", "library")
    address = server_address(postgres.address("library", "reader", "r"))
    try:
        with ServerLibrary.open(address) as library:
            assert not library.writable and len(library.catalogue.all_cases()) == len(HOSTILE)
            with pytest.raises(SemblanceError, match="may only read"):
                library.save_search("x", {})
        with pytest.raises(SemblanceError, match="may only read"):
            ServerLibrary.open(address, writable=True)
    finally:
        postgres.execute("DROP OWNED BY reader", "library")
        postgres.execute("DROP ROLE reader")


def columns_of(postgres: PostgresServer, space: str) -> set[str]:
    """The columns, constraints and indices of the tables of a schema, in words."""
    queries = (
        "SELECT format('%s.%s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull) "
        "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relkind = 'r' AND a.attnum > 0",
        "SELECT format('%s %s', c.relname, pg_get_constraintdef(n.oid)) FROM pg_constraint n "
        "JOIN pg_class c ON c.oid = n.conrelid WHERE n.contype IN ('p', 'u', 'f')",
        "SELECT format('%s %s', c.relname, pg_get_indexdef(i.indexrelid)) FROM pg_index i "
        "JOIN pg_class c ON c.oid = i.indrelid WHERE NOT i.indisunique",
    )
    rows = [
        row
        for query in queries
        for row in postgres.execute(f"{query} AND c.relnamespace = '{space}'::regnamespace", "library")
    ]
    return {text.replace(f"{space}.", "") for (text,) in rows}


def test_a_new_library_has_the_tables_of_the_program(postgres, database):
    ServerLibrary.create(server_address(database)).close()
    postgres.execute("CREATE SCHEMA expected", "library")
    engine = sa.create_engine(
        "postgresql+psycopg://", creator=lambda: psycopg.connect(postgres.address("library"))
    )
    with engine.connect() as connection:
        connection.exec_driver_sql("SET search_path = expected, public")
        for tables in (schema.tables, server_tables):
            tables.create_all(connection)
        connection.commit()
    engine.dispose()
    expected, made = columns_of(postgres, "expected"), columns_of(postgres, SCHEMA)
    of_program = {*schema.tables.tables, *server_tables.tables}
    assert {one for one in made if re.match(r"\w+", one)[0] in of_program} == expected
    assert len(expected) > 200
    assert postgres.execute(f"SELECT version_num FROM {SCHEMA}.alembic_version", "library") == [(REVISION,)]


def test_a_library_in_a_folder_loads_no_driver(tmp_path):
    code = (
        "import sys; from pathlib import Path; from semblance.core.library.open_library import *; "
        "open_or_create_library(Path(sys.argv[1])).close(); "
        "print([name for name in ('psycopg', 'pgvector') if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "l"], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == "[]"
