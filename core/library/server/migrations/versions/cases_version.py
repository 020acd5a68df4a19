"""A version of the cases and of all else that searches are computed from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

#: Tables whose changes are changes for searches, whoever makes them.
SEARCHED = (
    "meta", "sources", "files", "cases", "slices", "lesion_groups", "feature_sets", "feature_chunks",
    "feature_failures", "metrics", "edits",
)  # fmt: skip

#: Random, because a restored library counts its transactions once more. Written once in a transaction: an import has
#: many statements.
_NOTE = """
CREATE FUNCTION note_cases_change() RETURNS trigger LANGUAGE plpgsql SET search_path = semblance, public, pg_temp AS $$
BEGIN
    UPDATE library_state SET cases_version = gen_random_uuid();
    PERFORM set_config('semblance.cases_noted', pg_current_xact_id()::text, true);
    RETURN NULL;
END $$
"""
_NOT_NOTED = "current_setting('semblance.cases_noted', true) IS DISTINCT FROM pg_current_xact_id()::text"


def upgrade() -> None:
    """Create the version and the triggers that change it."""
    op.add_column(
        "library_state",
        sa.Column("cases_version", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
    )
    run = op.get_bind().exec_driver_sql
    run(_NOTE)
    for table in SEARCHED:
        run(
            f"CREATE TRIGGER cases_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {table} "
            f"FOR EACH STATEMENT WHEN ({_NOT_NOTED}) EXECUTE FUNCTION note_cases_change()"
        )
