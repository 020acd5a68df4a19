"""The tables of version 9 of the catalogue, those that only a server has, and the words of headers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

text = sa.Text(collation="C")

#: The words of a header, in order, as SQLite's index has them: without case and accents.
_WORDS = """
CREATE FUNCTION header_words_of(attributes text) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce(string_agg(word || ':' || least(place, 16383), ' ' ORDER BY place)::tsvector, ''::tsvector)
    FROM unnest(regexp_split_to_array(regexp_replace(regexp_replace(
        lower(normalize((
            SELECT string_agg(value, ' ') FROM json_each_text(attributes::json)
            WHERE key NOT IN ('study', 'series', 'instance', 'issuer', 'of')
        ), NFD) COLLATE "pg_c_utf8"),
        '[\u0300-\u036f]' COLLATE "pg_c_utf8", '', 'g'), '[^[:alnum:]]+' COLLATE "pg_c_utf8", ' ', 'g'), ' '))
        WITH ORDINALITY AS words (word, place)
    WHERE word <> ''
$$
"""
_KEEP_WORDS = """
CREATE FUNCTION keep_header_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO header_words ("case", words) VALUES (new.id, header_words_of(new.attributes))
    ON CONFLICT ("case") DO UPDATE SET words = excluded.words;
    RETURN NULL;
END $$
"""


def upgrade() -> None:
    """Create everything; triggers keep the words in step with the cases, whoever changes them."""
    op.create_table(
        "concepts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("author", text, nullable=False),
        sa.Column("time", text, nullable=False),
        sa.Column("deleted", text, nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "edits",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("summary", text, nullable=False),
        sa.Column("changes", text, nullable=False),
        sa.Column("author", text, nullable=False),
        sa.Column("time", text, nullable=False),
        sa.Column("undone", text, nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "feature_sets",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("extractor", text, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("settings", text, nullable=False),
        sa.Column("columns", text, nullable=False),
        sa.Column("created", text, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "judgements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("ledger", text, nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("query", text, nullable=False),
        sa.Column("case", text, nullable=False),
        sa.Column("other", text, nullable=True),
        sa.Column("region", text, nullable=True),
        sa.Column("shown", text, nullable=False),
        sa.Column("author", text, nullable=False),
        sa.Column("time", text, nullable=False),
        sa.Column("undone", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_judgements_ledger"), "judgements", ["ledger"], unique=False)
    op.create_table(
        "meta",
        sa.Column("key", text, nullable=False),
        sa.Column("value", text, nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_table(
        "reader_studies",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("design", text, nullable=False),
        sa.Column("created", text, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "searches",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("state", text, nullable=False),
        sa.Column("saved", text, nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "sources",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", text, nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("path", text, nullable=False),
        sa.Column("columns", text, nullable=False),
        sa.Column("added", text, nullable=False),
        sa.Column("identified", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "concept_marks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("concept", sa.Integer(), nullable=False),
        sa.Column("case", text, nullable=False),
        sa.Column("has", sa.Boolean(), nullable=False),
        sa.Column("author", text, nullable=False),
        sa.Column("time", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["concept"],
            ["concepts.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("concept", "case"),
    )
    op.create_table(
        "feature_chunks",
        sa.Column("feature_set", sa.Integer(), nullable=False),
        sa.Column("chunk", sa.Integer(), nullable=False),
        sa.Column("case_rows", sa.LargeBinary(), nullable=False),
        sa.Column("file_sum", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["feature_set"],
            ["feature_sets.id"],
        ),
        sa.PrimaryKeyConstraint("feature_set", "chunk"),
    )
    op.create_table(
        "files",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("source", sa.Integer(), nullable=False),
        sa.Column("path", text, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("stamp", sa.BigInteger(), nullable=False),
        sa.Column("hash", text, nullable=False),
        sa.Column("state", text, nullable=False),
        sa.Column("reason", text, server_default="", nullable=False),
        sa.ForeignKeyConstraint(
            ["source"],
            ["sources.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("source", "path"),
    )
    op.create_index("files_by_hash", "files", ["hash"], unique=False)
    op.create_table(
        "metrics",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", text, nullable=False),
        sa.Column("learner", text, nullable=False),
        sa.Column("feature_set", sa.Integer(), nullable=False),
        sa.Column("file", text, nullable=False),
        sa.Column("card", text, nullable=False),
        sa.Column("training", sa.LargeBinary(), nullable=False),
        sa.Column("scores", text, nullable=True),
        sa.Column("created", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["feature_set"],
            ["feature_sets.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "reader_answers",
        sa.Column("study", sa.Integer(), nullable=False),
        sa.Column("reader", text, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("finding", text, nullable=False),
        sa.Column("confidence", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("time", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["study"],
            ["reader_studies.id"],
        ),
        sa.PrimaryKeyConstraint("study", "reader", "number"),
    )
    op.create_table(
        "cases",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("case_id", text, nullable=False),
        sa.Column("file", sa.Integer(), nullable=False),
        sa.Column("member", text, server_default="", nullable=False),
        sa.Column("frame", sa.Integer(), nullable=True),
        sa.Column("finding", text, nullable=True),
        sa.Column("patient", text, nullable=True),
        sa.Column("region", text, nullable=True),
        sa.Column("attributes", text, nullable=False),
        sa.Column("width", sa.Integer(), nullable=True),
        sa.Column("height", sa.Integer(), nullable=True),
        sa.Column("content", text, nullable=False),
        sa.Column("numbers", sa.LargeBinary(), nullable=True),
        sa.Column("depth", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["file"],
            ["files.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("case_id"),
    )
    op.create_index(op.f("ix_cases_file"), "cases", ["file"], unique=False)
    op.create_table(
        "feature_failures",
        sa.Column("feature_set", sa.Integer(), nullable=False),
        sa.Column("case", sa.Integer(), nullable=False),
        sa.Column("content", text, nullable=False),
        sa.Column("reason", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["case"],
            ["cases.id"],
        ),
        sa.ForeignKeyConstraint(
            ["feature_set"],
            ["feature_sets.id"],
        ),
        sa.PrimaryKeyConstraint("feature_set", "case"),
    )
    op.create_table(
        "lesion_groups",
        sa.Column("case", sa.Integer(), nullable=False),
        sa.Column("group", sa.Integer(), nullable=False),
        sa.Column("source", text, nullable=False),
        sa.ForeignKeyConstraint(
            ["case"],
            ["cases.id"],
        ),
        sa.PrimaryKeyConstraint("case"),
    )
    op.create_table(
        "slices",
        sa.Column("case", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("file", sa.Integer(), nullable=False),
        sa.Column("frame", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(
            ["case"],
            ["cases.id"],
        ),
        sa.ForeignKeyConstraint(
            ["file"],
            ["files.id"],
        ),
        sa.PrimaryKeyConstraint("case", "place"),
    )
    op.create_index(op.f("ix_slices_file"), "slices", ["file"], unique=False)
    op.create_table(
        "export_log",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("line", text, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "library_state",
        sa.Column("one", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("number", sa.BigInteger(), server_default="0", nullable=False),
        sa.CheckConstraint("one", name="one_row"),
        sa.PrimaryKeyConstraint("one"),
    )
    op.create_table(
        "outlines",
        sa.Column("content", text, nullable=False),
        sa.Column("outline", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("content"),
    )
    op.create_table(
        "stored_files",
        sa.Column("name", text, nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "thumbnails",
        sa.Column("content", text, nullable=False),
        sa.Column("image", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("content"),
    )
    op.create_table(
        "header_words",
        sa.Column("case", sa.Integer(), nullable=False),
        sa.Column("words", sa.dialects.postgresql.TSVECTOR(), nullable=False),
        sa.ForeignKeyConstraint(["case"], ["cases.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("case"),
    )
    op.create_index("header_words_by_word", "header_words", ["words"], postgresql_using="gin")
    for statement in (_WORDS, _KEEP_WORDS):
        # As it is: SQLAlchemy would take the colons for parameters.
        op.get_bind().exec_driver_sql(statement)
    op.execute(
        "CREATE TRIGGER header_words_added AFTER INSERT ON cases FOR EACH ROW EXECUTE FUNCTION keep_header_words()"
    )
    op.execute(
        "CREATE TRIGGER header_words_changed AFTER UPDATE OF attributes ON cases FOR EACH ROW "
        "WHEN (old.attributes IS DISTINCT FROM new.attributes) EXECUTE FUNCTION keep_header_words()"
    )
    # Values of features are compressed already.
    op.execute("ALTER TABLE stored_files ALTER COLUMN data SET STORAGE EXTERNAL")
    op.execute("ALTER TABLE thumbnails ALTER COLUMN image SET STORAGE EXTERNAL")
