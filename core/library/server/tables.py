"""Tables that only a library on a server has; those of the catalogue are in :mod:`semblance.core.library.schema`."""

from __future__ import annotations

import hashlib

import sqlalchemy as sa

from semblance.core.library.location import ServerAddress
from semblance.core.library.schema import TEXT

#: The schema of the database that holds all tables of a library.
SCHEMA = "semblance"
#: The revision of the tables. CONTRIBUTING.md says where the step from this one goes.
REVISION = "0008"
#: The revision before, from which there is a step.
BEFORE = "0007"

#: The schema of the functions that people call in place of rights to tables, and that of the audit log.
LOBBY, AUDIT_SCHEMA = "semblance_projects", "semblance_audit"


def schema_of(address: ServerAddress) -> str:
    """The schema with the tables of the library, or of its project, at ``address``."""
    return project_schema(address.project) if address.project else SCHEMA


def project_schema(project: str) -> str:
    """The schema with the tables of the project of this name. The name cannot be read from it."""
    return f"semblance_project_{hashlib.sha256(project.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


tables = sa.MetaData()

#: One row, which functions and triggers write. ``number`` counts the transactions that changed the library;
#: ``cases_version`` changes with those that changed more than judgements, concepts, saved searches and reader studies.
library_state = sa.Table(
    "library_state",
    tables,
    sa.Column("one", sa.Boolean, primary_key=True, server_default=sa.true()),
    sa.Column("id", sa.Uuid, nullable=False, server_default=sa.text("gen_random_uuid()")),
    sa.Column("number", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("cases_version", sa.Uuid, nullable=False, server_default=sa.text("gen_random_uuid()")),
    sa.Column("changed_by", sa.BigInteger, doc="the transaction that changed cases_version last"),
    sa.CheckConstraint("one", name="one_row"),
)

#: What a library in a folder has as files: names are relative to the library, with slashes.
stored_files = sa.Table(
    "stored_files",
    tables,
    sa.Column("name", TEXT, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

thumbnails = sa.Table(
    "thumbnails",
    tables,
    sa.Column("content", TEXT, primary_key=True),
    sa.Column("image", sa.LargeBinary, nullable=False),
)

outlines = sa.Table(
    "outlines",
    tables,
    sa.Column("content", TEXT, primary_key=True),
    sa.Column("outline", sa.LargeBinary, nullable=False),
)

export_log = sa.Table(
    "export_log",
    tables,
    sa.Column("id", sa.BigInteger, sa.Identity(), primary_key=True),
    sa.Column("line", TEXT, nullable=False),
)

#: The embeddings of metrics that have a table ``embedding_NUMBER`` with an index; ``metric``: the stem of the metric's
#: file. The rest is described by :class:`semblance.core.library.records.EmbeddingIndex`.
embeddings = sa.Table(
    "embeddings",
    tables,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("metric", TEXT, nullable=False, unique=True),
    sa.Column("features", TEXT, nullable=False),
    sa.Column("cases", sa.BigInteger, nullable=False),
    sa.Column("dimensions", sa.Integer, nullable=False),
    sa.Column("centre", sa.LargeBinary, nullable=False),
    sa.Column("scale", sa.Float, nullable=False),
    sa.Column("candidates", sa.Integer),
    sa.Column("recall", sa.Float, nullable=False),
    sa.Column("queries", sa.Integer, nullable=False),
    sa.Column("built", TEXT, nullable=False),
)

audit_tables = sa.MetaData(schema=AUDIT_SCHEMA)

#: Written by functions and triggers of the server alone; see :mod:`semblance.core.library.audit`.
audit_log = sa.Table(
    "audit_log",
    audit_tables,
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("time", TEXT, nullable=False),
    sa.Column("by", TEXT, nullable=False),
    sa.Column("action", TEXT, nullable=False),
    sa.Column("detail", TEXT, nullable=False),
    sa.Column("hash", TEXT, nullable=False),
)

#: One row: the last entry of the log.
audit_head = sa.Table(
    "audit_head",
    audit_tables,
    sa.Column("one", sa.Boolean, primary_key=True, server_default=sa.true()),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("hash", TEXT, nullable=False),
    sa.CheckConstraint("one", name="one_head"),
)

#: The role of PostgreSQL for each right, and those that nobody is given.
library_roles = sa.Table(
    "library_roles",
    tables,
    sa.Column("name", TEXT, primary_key=True),
    sa.Column("role", TEXT, nullable=False),
)

#: Sets of cases for one purpose until a date, UTC. ``place``: the schema with its tables. ``key`` makes its pseudonyms,
#: so that only who may read this table can link them.
projects = sa.Table(
    "projects",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", TEXT, nullable=False, unique=True),
    sa.Column("purpose", TEXT, nullable=False),
    sa.Column("until", sa.Date, nullable=False, doc="the last day"),
    sa.Column("created", TEXT, nullable=False),
    sa.Column("by", TEXT, nullable=False),
    sa.Column("closed", TEXT, doc="when it was closed; NULL while it is open"),
    sa.Column("place", TEXT, nullable=False, unique=True),
    sa.Column("key", TEXT, nullable=False),
)

project_members = sa.Table(
    "project_members",
    tables,
    sa.Column("project", sa.ForeignKey("projects.id"), primary_key=True),
    sa.Column("person", TEXT, primary_key=True),
    sa.Column("right", TEXT, nullable=False, doc="reader | annotator"),
)

#: The ids of cases in the library and in a project.
project_cases = sa.Table(
    "project_cases",
    tables,
    sa.Column("project", sa.ForeignKey("projects.id"), primary_key=True),
    sa.Column("case", TEXT, primary_key=True),
    sa.Column("pseudonym", TEXT, nullable=False),
    sa.UniqueConstraint("project", "pseudonym"),
)

alembic_version = sa.Table(
    "alembic_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True)
)
