"""Names of the columns of tables and lists that say which case, patient and finding a row is of; earlier ones win."""

from __future__ import annotations

CASE_COLUMNS = ("case_id", "id")
PATIENT_COLUMNS = ("patient_id", "patient", "subject")
#: In a list of images. The other columns of a table may be measurements, so it has fewer.
FINDING_COLUMNS = ("label", "finding", "class", "diagnosis")
TABLE_FINDING_COLUMNS = FINDING_COLUMNS[:2]
IMAGE_COLUMNS = ("path", "file", "filename", "image", "picture")
