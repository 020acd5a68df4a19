"""A library on a PostgreSQL server: the same catalogue in its tables, the files of the library as rows beside it."""
