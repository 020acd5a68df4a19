"""An audit log that nobody can change: the server writes it, and names who did it and when."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

text = sa.Text(collation="C")

#: Tables whose changes are logged. The files of images and slices change with the cases; the rest is made again.
LOGGED = (
    "sources", "cases", "lesion_groups", "feature_sets", "feature_chunks", "metrics", "searches", "judgements",
    "concepts", "concept_marks", "reader_studies", "reader_answers", "edits", "meta", "stored_files",
)  # fmt: skip

#: Only the functions below call it. The row of the head is locked, so that entries follow each other.
_APPEND = """
CREATE FUNCTION append_audit(action text, detail text) RETURNS void LANGUAGE plpgsql
SET search_path = semblance, public, pg_temp AS $$
DECLARE
    head audit_head%ROWTYPE;
    stamp text := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"');
    made text;
BEGIN
    SELECT * INTO STRICT head FROM audit_head FOR UPDATE;
    made := encode(sha256(convert_to(concat_ws(E'\\n', head.hash, head.number + 1, stamp,
        to_json(session_user::text)::text, action, detail), 'UTF8')), 'hex');
    INSERT INTO audit_log (number, time, by, action, detail, hash)
        VALUES (head.number + 1, stamp, session_user, action, detail, made);
    UPDATE audit_head SET number = head.number + 1, hash = made;
END $$
"""
_EVENT = """
CREATE FUNCTION audit_event(action text, detail text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = semblance, public, pg_temp AS $$
BEGIN
    IF action NOT IN ('search', 'view', 'export') OR jsonb_typeof(detail::jsonb) <> 'object' THEN
        RAISE check_violation USING MESSAGE = 'no such action';
    END IF;
    PERFORM append_audit(action, detail);
END $$
"""
#: Changes are counted while a transaction runs and logged when it ends, so that nobody waits for it.
_COUNT = """
CREATE FUNCTION count_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = semblance, public, pg_temp AS $$
DECLARE
    changed bigint;
BEGIN
    IF tg_op = 'TRUNCATE' THEN
        changed := -1;
    ELSE
        SELECT count(*) INTO changed FROM changed_rows;
    END IF;
    IF changed <> 0 THEN
        INSERT INTO audit_pending (transaction, relation, operation, rows)
            VALUES (pg_current_xact_id()::text, tg_table_name, lower(tg_op), changed)
        ON CONFLICT (transaction, relation, operation) DO UPDATE SET rows = audit_pending.rows + excluded.rows;
    END IF;
    RETURN NULL;
END $$
"""
_LOG = """
CREATE FUNCTION log_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = semblance, public, pg_temp AS $$
DECLARE
    counted bigint;
BEGIN
    DELETE FROM audit_pending p
        WHERE (p.transaction, p.relation, p.operation) = (new.transaction, new.relation, new.operation)
        RETURNING p.rows INTO counted;
    IF counted IS NOT NULL THEN
        PERFORM append_audit('change', json_build_object('table', new.relation, 'operation', new.operation,
            'rows', nullif(counted, -1))::text);
        PERFORM pg_notify('semblance', new.relation);
    END IF;
    RETURN NULL;
END $$
"""
_REFUSE = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE insufficient_privilege USING MESSAGE = 'the audit log cannot be changed';
END $$
"""


def upgrade() -> None:
    """Create the log, its head, the count of changes of running transactions, and what writes them."""
    op.create_table(
        "audit_log",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("time", text, nullable=False),
        sa.Column("by", text, nullable=False),
        sa.Column("action", text, nullable=False),
        sa.Column("detail", text, nullable=False),
        sa.Column("hash", text, nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "audit_head",
        sa.Column("one", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("hash", text, nullable=False),
        sa.CheckConstraint("one", name="one_head"),
        sa.PrimaryKeyConstraint("one"),
    )
    op.create_table(
        "audit_pending",
        sa.Column("transaction", text, nullable=False),
        sa.Column("relation", text, nullable=False),
        sa.Column("operation", text, nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("transaction", "relation", "operation"),
    )
    run = op.get_bind().exec_driver_sql
    run("INSERT INTO audit_head (number, hash) VALUES (0, repeat('0', 64))")
    for statement in (_APPEND, _EVENT, _COUNT, _LOG, _REFUSE):
        run(statement.replace("%", "%%"))
    run("REVOKE ALL ON FUNCTION append_audit(text, text) FROM PUBLIC")
    run("CREATE CONSTRAINT TRIGGER log_changes AFTER INSERT ON audit_pending DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION log_change()")  # fmt: skip
    run("CREATE TRIGGER only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()")  # fmt: skip
    for table in LOGGED:
        for operation, rows in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
            run(
                f"CREATE TRIGGER audited_{operation.lower()} AFTER {operation} ON {table} REFERENCING {rows} TABLE AS "
                "changed_rows FOR EACH STATEMENT EXECUTE FUNCTION count_change()"
            )
        run(
            f"CREATE TRIGGER audited_truncate AFTER TRUNCATE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION "
            "count_change()"
        )
