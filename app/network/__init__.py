"""The dialog of PACS servers: find studies, retrieve them into a library, search with one."""
