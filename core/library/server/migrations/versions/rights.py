"""What people may do, enforced by the server: the roles of a library, and rows that belong to their author."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

text = sa.Text(collation="C")
#: Tables whose rows belong to the person who wrote them.
AUTHORED = ("judgements", "concepts", "concept_marks")

_HAS_RIGHT = """
CREATE FUNCTION has_right(wanted text) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = semblance, public, pg_temp AS $$
    SELECT coalesce((SELECT pg_has_role(session_user, role, 'MEMBER') FROM library_roles WHERE name = wanted), true)
$$
"""
#: Only an administrator, who moves or restores a library, may write in the name of others.
_AUTHOR = """
CREATE FUNCTION write_author() RETURNS trigger LANGUAGE plpgsql SET search_path = semblance, public, pg_temp AS $$
BEGIN
    IF NOT has_right('administrator') THEN
        new.author := CASE tg_op WHEN 'INSERT' THEN session_user::text ELSE old.author END;
    END IF;
    RETURN new;
END $$
"""


def upgrade() -> None:
    """Create the list of roles, the authors, and the policies, which count as soon as there are roles."""
    op.create_table(
        "library_roles",
        sa.Column("name", text, nullable=False),
        sa.Column("role", text, nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    run = op.get_bind().exec_driver_sql
    for statement in (_HAS_RIGHT, _AUTHOR):
        run(statement)
    for table in (*AUTHORED, "edits"):
        run(
            f"CREATE TRIGGER author_is_account BEFORE INSERT OR UPDATE ON {table} "
            "FOR EACH ROW EXECUTE FUNCTION write_author()"
        )
    own = "(author = session_user::text OR has_right('curator'))"
    for table in AUTHORED:
        run(f"CREATE POLICY read_all ON {table} FOR SELECT USING (true)")
        run(f"CREATE POLICY add_own ON {table} FOR INSERT WITH CHECK {own}")
        # The row is found and then refused, because a change of nothing would go unnoticed.
        run(f"CREATE POLICY change_own ON {table} FOR UPDATE USING (true) WITH CHECK {own}")
        run(f"CREATE POLICY delete_own ON {table} FOR DELETE USING {own}")
