"""Embeddings of metrics as vectors with an index, for the candidates of searches in many cases."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

text = sa.Text(collation="C")

#: The table of one embedding. Whoever may change the files of the library may make it, without rights to create tables
#: of their own. It gets the rights that people have on these files.
_MAKE = """
CREATE FUNCTION make_embedding(dimensions integer) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
SET search_path = semblance, public, pg_temp AS $$
DECLARE
    made bigint := nextval('semblance.embedding_numbers');
    given record;
BEGIN
    IF NOT has_table_privilege(session_user, 'semblance.stored_files', 'INSERT') THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied to make an embedding';
    END IF;
    EXECUTE format('CREATE TABLE %I ("case" integer PRIMARY KEY, chunk integer NOT NULL, near halfvec(%s) NOT NULL, '
        'exact bytea NOT NULL)', 'embedding_' || made, dimensions);
    EXECUTE format('ALTER TABLE %I ALTER COLUMN exact SET STORAGE EXTERNAL', 'embedding_' || made);
    FOR given IN
        SELECT a.grantee::regrole AS person, a.privilege_type AS privilege
        FROM pg_class c, aclexplode(c.relacl) a
        WHERE c.oid = 'semblance.stored_files'::regclass AND a.grantee NOT IN (0, c.relowner)
    LOOP
        EXECUTE format('GRANT %s ON %I TO %s', given.privilege, 'embedding_' || made, given.person);
    END LOOP;
    RETURN made;
END $$
"""
_INDEX = """
CREATE FUNCTION index_embedding(made bigint, neighbours integer, construction integer, memory text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = semblance, public, pg_temp AS $$
BEGIN
    IF NOT has_table_privilege(session_user, 'semblance.stored_files', 'INSERT') THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied to index an embedding';
    END IF;
    PERFORM set_config('maintenance_work_mem', memory, true);
    EXECUTE format('CREATE INDEX ON %I USING hnsw (near halfvec_l2_ops) WITH (m = %s, ef_construction = %s)',
        'embedding_' || made, neighbours, construction);
    EXECUTE format('ANALYZE %I', 'embedding_' || made);
END $$
"""
_DROP = """
CREATE FUNCTION drop_embedding(made bigint) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = semblance, public, pg_temp AS $$
BEGIN
    IF NOT has_table_privilege(session_user, 'semblance.stored_files', 'INSERT') THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied to drop an embedding';
    END IF;
    EXECUTE format('DROP TABLE IF EXISTS %I', 'embedding_' || made);
    DELETE FROM embeddings WHERE number = made;
END $$
"""


def upgrade() -> None:
    """Create the list of embeddings, and the functions that make, index and drop one."""
    op.create_table(
        "embeddings",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("metric", text, nullable=False),
        sa.Column("features", text, nullable=False),
        sa.Column("cases", sa.BigInteger(), nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.Column("centre", sa.LargeBinary(), nullable=False),
        sa.Column("scale", sa.Float(), nullable=False),
        sa.Column("candidates", sa.Integer(), nullable=True),
        sa.Column("recall", sa.Float(), nullable=False),
        sa.Column("queries", sa.Integer(), nullable=False),
        sa.Column("built", text, nullable=False),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("metric"),
    )
    op.execute("CREATE SEQUENCE embedding_numbers")
    for statement in (_MAKE, _INDEX, _DROP):
        # As it is: SQLAlchemy would take the colons for parameters.
        op.get_bind().exec_driver_sql(statement.replace("%", "%%"))
