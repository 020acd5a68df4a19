"""Alembic's environment for the tables of a library on a server."""
