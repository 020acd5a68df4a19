"""Run the migrations within the transaction of the caller, who gives the connection."""

from __future__ import annotations

from alembic import context

from semblance.core.library.server.tables import SCHEMA

context.configure(connection=context.config.attributes["connection"], version_table_schema=SCHEMA)
context.run_migrations()
