"""Tables of the catalogue and their version."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

#: The database of a library on a server, as SQLAlchemy calls it.
POSTGRESQL = "postgresql"
#: Version of the tables below. Raise it with every change: CONTRIBUTING.md says where the step from this one goes.
VERSION = 11

#: The index of the texts of cases, by their row ids: the finding, the header with imported texts, and the notes, those
#: in teaching collections too.
CASE_TEXTS = "case_texts"
#: How much a word counts in the finding, in the header and in the notes.
TEXT_WEIGHTS = (10.0, 1.0, 4.0)
#: Texts of headers that nobody reads.
UNREAD = ("study", "series", "instance", "issuer", "of")
#: The index that the version before has: of headers alone.
HEADER_TEXTS = "header_texts"
_HEADER = (
    "coalesce(CASE WHEN json_valid({case}.attributes) THEN (SELECT group_concat(value, ' ') "
    f"FROM json_each({{case}}.attributes) WHERE key NOT IN {UNREAD!r}) END, '')"
)
_NOTES = (
    "coalesce((SELECT text FROM case_notes WHERE \"case\" = {case}.id), '') || ' ' || coalesce((SELECT "
    "group_concat(notes, ' ') FROM collection_items WHERE \"case\" = {case}.case_id), '')"
)


def _of_case(text: str, case: str) -> str:
    return text.replace("{case}", case)


def _index_notes(event: str, table: str, row: str, where: str) -> str:
    notes = f"SELECT {_of_case(_NOTES, 'cases')} FROM cases WHERE cases.id = {CASE_TEXTS}.rowid"
    return (
        f"CREATE TRIGGER {table}_indexed_{event.lower()} AFTER {event} ON {table} BEGIN "
        f"UPDATE {CASE_TEXTS} SET notes = ({notes}) WHERE rowid IN ({where.format(row=row)}); END"
    )


_NOTE_ROWS = (
    ("case_notes", 'SELECT {row}."case"'),
    ("collection_items", 'SELECT id FROM cases WHERE case_id = {row}."case"'),
)
#: Fill a new index from the tables.
FILL_CASE_TEXTS = (
    f"INSERT INTO {CASE_TEXTS} (rowid, finding, header, notes) SELECT id, coalesce(finding, ''), "
    f"{_of_case(_HEADER, 'cases')}, {_of_case(_NOTES, 'cases')} FROM cases"
)
#: Triggers keep the index in step with the tables, whoever changes them.
TEXT_INDEX = (
    f"CREATE VIRTUAL TABLE {CASE_TEXTS} USING fts5(finding, header, notes, tokenize = 'unicode61 remove_diacritics 2')",
    f"CREATE TRIGGER case_text_added AFTER INSERT ON cases BEGIN INSERT INTO {CASE_TEXTS} (rowid, finding, header, "
    f"notes) SELECT new.id, coalesce(new.finding, ''), {_of_case(_HEADER, 'new')}, {_of_case(_NOTES, 'new')}; END",
    "CREATE TRIGGER case_text_changed AFTER UPDATE OF finding, attributes ON cases WHEN old.attributes IS NOT "
    f"new.attributes OR old.finding IS NOT new.finding BEGIN UPDATE {CASE_TEXTS} SET finding = coalesce(new.finding, "
    f"''), header = {_of_case(_HEADER, 'new')} WHERE rowid = new.id; END",
    f"CREATE TRIGGER case_text_removed AFTER DELETE ON cases BEGIN DELETE FROM {CASE_TEXTS} WHERE rowid = old.id; END",
    *(
        _index_notes(event, table, row, where)
        for table, where in _NOTE_ROWS
        for event, row in (("INSERT", "new"), ("UPDATE", "new"), ("DELETE", "old"))
    ),
)


class JsonText(sa.TypeDecorator[Any]):
    """JSON in a column of text, as SQLite has it: every text and number comes back as it was written. PostgreSQL's own
    type refuses NaN and some texts."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, *, none_as_null: bool = False) -> None:
        super().__init__()
        self.none_as_null = none_as_null

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        """The JSON text of ``value``."""
        return None if value is None and self.none_as_null else json.dumps(value)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        """
        Raises:
            JSONDecodeError: the text is damaged.
        """
        return None if value is None else json.loads(value)


#: Texts in order of their bytes, and numbers of 64 bits, in both homes of a library.
TEXT = sa.Text().with_variant(sa.Text(collation="C"), POSTGRESQL)
LARGE = sa.Integer().with_variant(sa.BigInteger(), POSTGRESQL)


def json_column(*, none_as_null: bool = False) -> sa.JSON:
    """The type of a column of JSON."""
    column: sa.JSON = sa.JSON(none_as_null=none_as_null).with_variant(
        JsonText(none_as_null=none_as_null), POSTGRESQL
    )
    return column


#: Parsed texts, and how many at most.
_kept: dict[tuple[type, bool, Any], Any] = {}
_MOST_KEPT = 64


class JsonOf(sa.TypeDecorator[Any]):
    """JSON that is a ``kind`` (dict or list) or null; ``pairs``: a list of two texts each. Anything else is damage.

    ``kept``: a text that was read before is not parsed again. Whoever reads it changes nothing in it.
    """

    impl = sa.JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> sa.types.TypeEngine[Any]:
        """The type in the database."""
        return dialect.type_descriptor(JsonText() if dialect.name == POSTGRESQL else sa.JSON())

    def __init__(self, kind: type, *, pairs: bool = False, kept: bool = False) -> None:
        super().__init__()
        self.kind, self.pairs, self.kept = kind, pairs, kept

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Callable[[Any], Any] | None:
        """What parses a text of the database."""
        parse = super().result_processor(dialect, coltype)
        if parse is None or not self.kept:
            return parse

        def parsed(text: Any) -> Any:
            key = (self.kind, self.pairs, text)
            found = _kept.get(key)
            if found is None:
                found = parse(text)
                if len(_kept) >= _MOST_KEPT:
                    _kept.clear()
                _kept[key] = found
            return found

        return parsed

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """
        Raises:
            JSONDecodeError: another kind of value.
        """
        if not self.accepts(value):
            raise json.JSONDecodeError("another kind of value", "", 0)
        return value

    def accepts(self, value: Any) -> bool:
        """Whether a column of this type may hold ``value``."""
        if not self.pairs:
            return value is None or isinstance(value, self.kind)
        return isinstance(value, list) and all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)
            for pair in value
        )


class json_text(sa.sql.functions.FunctionElement[str]):  # noqa: N801 - named like SQLAlchemy's own functions
    """The text that an object in a column of JSON has under a name; NULL where it has none."""

    type = sa.Text()
    inherit_cache = True

    def __init__(self, column: sa.ColumnElement[Any], name: str) -> None:
        super().__init__(column, sa.literal(name, sa.Text))


@compiles(json_text)
def _json_text_of_sqlite(element: json_text, compiler: Any, **options: Any) -> str:
    column, name = (compiler.process(part, **options) for part in element.clauses)
    return f"json_extract({column}, '$.' || {name})"


@compiles(json_text, POSTGRESQL)
def _json_text_of_postgresql(element: json_text, compiler: Any, **options: Any) -> str:
    column, name = (compiler.process(part, **options) for part in element.clauses)
    return f"(CAST({column} AS JSON) ->> CAST({name} AS TEXT))"


tables = sa.MetaData()

meta = sa.Table(
    "meta", tables, sa.Column("key", TEXT, primary_key=True), sa.Column("value", TEXT, nullable=False)
)

sources = sa.Table(
    "sources",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("name", TEXT, nullable=False, unique=True),
    sa.Column("path", TEXT, nullable=False),
    sa.Column("columns", JsonOf(list), nullable=False),
    sa.Column("added", TEXT, nullable=False),
    sa.Column(
        "identified",
        sa.Boolean,
        nullable=False,
        server_default=sa.true(),
        doc="original patient ids are stored",
    ),
)

files = sa.Table(
    "files",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("source", sa.ForeignKey("sources.id"), nullable=False),
    sa.Column("path", TEXT, nullable=False),
    sa.Column("size", LARGE, nullable=False),
    sa.Column("stamp", LARGE, nullable=False, doc="mtime in ns, or the CRC of a zip entry"),
    sa.Column("hash", TEXT, nullable=False),
    sa.Column("state", TEXT, nullable=False, doc="ok | failed | ignored | missing"),
    sa.Column("reason", TEXT, nullable=False, server_default=""),
    sa.UniqueConstraint("source", "path"),
    sa.Index("files_by_hash", "hash"),
)

cases = sa.Table(
    "cases",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("case_id", TEXT, nullable=False, unique=True),
    sa.Column("file", sa.ForeignKey("files.id"), nullable=False, index=True),
    sa.Column("member", TEXT, nullable=False, server_default=""),
    sa.Column("frame", sa.Integer),
    sa.Column("finding", TEXT),
    sa.Column("patient", TEXT),
    sa.Column("region", json_column()),
    sa.Column("attributes", JsonOf(dict), nullable=False),
    sa.Column("width", sa.Integer),
    sa.Column("height", sa.Integer),
    sa.Column("content", TEXT, nullable=False, doc="hash of what is shown: equal content is a duplicate"),
    sa.Column("numbers", sa.LargeBinary, doc="a table's row, float64, NaN for missing"),
    sa.Column("depth", sa.Integer, doc="slices of a volume; NULL for an image or a row"),
)

#: Rows of tables have numbers and no image; candidates of a scan may have ready numbers beside theirs.
HAS_IMAGE = sa.or_(cases.c.numbers.is_(None), cases.c.width.is_not(None))

slices = sa.Table(
    "slices",
    tables,
    sa.Column("case", sa.ForeignKey("cases.id"), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("file", sa.ForeignKey("files.id"), nullable=False, index=True),
    sa.Column("frame", sa.Integer),
)

#: A case that is not in this table is a group of its own.
lesion_groups = sa.Table(
    "lesion_groups",
    tables,
    sa.Column("case", sa.ForeignKey("cases.id"), primary_key=True),
    sa.Column("group", sa.Integer, nullable=False),
    sa.Column("source", TEXT, nullable=False, doc="detected | by hand"),
)

feature_sets = sa.Table(
    "feature_sets",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", TEXT, nullable=False, unique=True),
    sa.Column("extractor", TEXT, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("settings", JsonOf(dict, kept=True), nullable=False),
    sa.Column("columns", JsonOf(list, pairs=True, kept=True), nullable=False, doc="[[name, group], ...]"),
    sa.Column("created", TEXT, nullable=False),
)

feature_chunks = sa.Table(
    "feature_chunks",
    tables,
    sa.Column("feature_set", sa.ForeignKey("feature_sets.id"), primary_key=True),
    sa.Column("chunk", sa.Integer, primary_key=True),
    sa.Column("case_rows", sa.LargeBinary, nullable=False, doc="int64 ids of cases, in row order"),
    sa.Column("file_sum", LARGE, doc="the end of its file"),
)

feature_failures = sa.Table(
    "feature_failures",
    tables,
    sa.Column("feature_set", sa.ForeignKey("feature_sets.id"), primary_key=True),
    sa.Column("case", sa.ForeignKey("cases.id"), primary_key=True),
    sa.Column("content", TEXT, nullable=False, doc="content the extractor failed on; another is tried anew"),
    sa.Column("reason", TEXT, nullable=False),
)

metrics = sa.Table(
    "metrics",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", TEXT, nullable=False, unique=True),
    sa.Column("learner", TEXT, nullable=False),
    sa.Column("feature_set", sa.ForeignKey("feature_sets.id"), nullable=False),
    sa.Column("file", TEXT, nullable=False, doc="name inside the folder metrics/"),
    sa.Column("card", JsonOf(dict), nullable=False),
    sa.Column("training", sa.LargeBinary, nullable=False, doc="int64 ids of the cases it was fitted on"),
    sa.Column("scores", JsonOf(dict)),
    sa.Column("created", TEXT, nullable=False),
)

searches = sa.Table(
    "searches",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", TEXT, nullable=False, unique=True),
    sa.Column("state", JsonOf(dict), nullable=False),
    sa.Column("saved", TEXT, nullable=False),
)

judgements = sa.Table(
    "judgements",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("ledger", TEXT, nullable=False, index=True),
    sa.Column("kind", TEXT, nullable=False, doc="alike | not alike | closer"),
    sa.Column("query", TEXT, nullable=False, doc="a case id, or the path of an image from outside"),
    sa.Column("case", TEXT, nullable=False, doc="a case id: the case may be gone by now"),
    sa.Column("other", TEXT),
    sa.Column("region", json_column(none_as_null=True)),
    sa.Column("shown", json_column(), nullable=False),
    sa.Column("author", TEXT, nullable=False),
    sa.Column("time", TEXT, nullable=False),
    sa.Column("undone", sa.Integer, doc="place among those undone; NULL while in force"),
)

concepts = sa.Table(
    "concepts",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", TEXT, nullable=False, doc="unique among those not deleted, whatever its case"),
    sa.Column("author", TEXT, nullable=False),
    sa.Column("time", TEXT, nullable=False),
    sa.Column("deleted", TEXT, doc="when it was deleted; NULL while in use"),
)

concept_marks = sa.Table(
    "concept_marks",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("concept", sa.ForeignKey("concepts.id"), nullable=False),
    sa.Column("case", TEXT, nullable=False, doc="a case id: the case may be gone by now"),
    sa.Column("has", sa.Boolean, nullable=False),
    sa.Column("author", TEXT, nullable=False),
    sa.Column("time", TEXT, nullable=False),
    sa.UniqueConstraint("concept", "case", "author"),
)

reader_studies = sa.Table(
    "reader_studies",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", TEXT, nullable=False, unique=True),
    sa.Column("design", json_column(), nullable=False),
    sa.Column("created", TEXT, nullable=False),
)

reader_answers = sa.Table(
    "reader_answers",
    tables,
    sa.Column("study", sa.ForeignKey("reader_studies.id"), primary_key=True),
    sa.Column("reader", TEXT, primary_key=True, doc="a code, not a name"),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False, doc="place among all readings"),
    sa.Column("finding", TEXT, nullable=False),
    sa.Column("confidence", sa.Integer, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("time", TEXT, nullable=False),
)

#: What people measured and marked in images, and key images.
case_annotations = sa.Table(
    "annotations",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("case", sa.ForeignKey("cases.id"), nullable=False, index=True),
    sa.Column("slice", sa.Integer, doc="of a volume; NULL for an image"),
    sa.Column(
        "kind", TEXT, nullable=False, doc="line | angle | rectangle | ellipse | outline | probe | key_image"
    ),
    sa.Column("data", JsonOf(dict), nullable=False),
    sa.Column("author", TEXT, nullable=False),
    sa.Column("time", TEXT, nullable=False),
)

case_notes = sa.Table(
    "case_notes",
    tables,
    sa.Column("case", sa.ForeignKey("cases.id"), primary_key=True),
    sa.Column("text", TEXT, nullable=False),
    sa.Column("author", TEXT, nullable=False),
    sa.Column("time", TEXT, nullable=False),
)

#: What is of a case and removed with it.
OF_CASES: tuple[sa.Table, ...] = (case_annotations, case_notes)

#: Teaching collections.
collections = sa.Table(
    "collections",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", TEXT, nullable=False, unique=True),
    sa.Column("notes", TEXT, nullable=False),
    sa.Column("author", TEXT, nullable=False),
    sa.Column("created", TEXT, nullable=False),
)

collection_items = sa.Table(
    "collection_items",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("collection", sa.ForeignKey("collections.id"), nullable=False, index=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("case", TEXT, nullable=False, index=True, doc="a case id: the case may be gone by now"),
    sa.Column("slice", sa.Integer),
    sa.Column("region", json_column(none_as_null=True)),
    sa.Column("notes", TEXT, nullable=False),
    sa.Column("author", TEXT, nullable=False),
)

#: The tables that the version before has not.
NEW_TABLES: tuple[sa.Table, ...] = (case_annotations, case_notes, collections, collection_items)

edits = sa.Table(
    "edits",
    tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("kind", TEXT, nullable=False),
    sa.Column("summary", JsonOf(dict), nullable=False, doc="its description for the user"),
    sa.Column("changes", JsonOf(list), nullable=False, doc="rows before and after"),
    sa.Column("author", TEXT, nullable=False),
    sa.Column("time", TEXT, nullable=False),
    sa.Column("undone", TEXT, doc="when it was undone; NULL while in force"),
)
