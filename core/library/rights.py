"""What a person may do in a library."""

from __future__ import annotations

READER, ANNOTATOR, CURATOR, ADMINISTRATOR = "reader", "annotator", "curator", "administrator"
#: Each may do what those before it may.
RIGHTS = (READER, ANNOTATOR, CURATOR, ADMINISTRATOR)
