"""Everybody has a mark of their own on a case for a concept; before, a second person could not mark it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

#: Also in the schemas of parts of the library, which have tables like those of the whole.
_UNIQUE = """
SELECT n.nspname, c.conname FROM pg_constraint c
JOIN pg_class r ON r.oid = c.conrelid JOIN pg_namespace n ON n.oid = r.relnamespace
WHERE r.relname = 'concept_marks' AND c.contype = 'u' AND n.nspname LIKE 'semblance%'
"""


def upgrade() -> None:
    """Replace the constraint of each table of marks."""
    for schema, name in op.get_bind().execute(sa.text(_UNIQUE)).all():
        op.drop_constraint(name, "concept_marks", schema=schema)
        op.create_unique_constraint(None, "concept_marks", ["concept", "case", "author"], schema=schema)
