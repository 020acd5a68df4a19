"""Pseudonyms for identifying data, made with a key that each library has for itself."""

from __future__ import annotations

import datetime
import hashlib
import re
import secrets

#: Bytes of a library's key.
KEY_BYTES = 32

_LONGEST_SHIFT = 3650
_IDENTIFYING = re.compile(
    r"^(?:name|dob|mrn|ssn)$"
    r"|(?:patient|subject|first|last|full|family|given|middle|maiden|sur|fore)[\W_]*name"
    r"|birth|address|phone|e-?mail|accession|physician|medical[\W_]*record|social[\W_]*security|insurance",
    re.IGNORECASE,
)


class Pseudonyms:
    """Replaces ids, UIDs and dates, always in the same way for one key.

    Keyed BLAKE2b (RFC 7693): without the key, ids cannot be found by trying either.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    @staticmethod
    def new_key() -> bytes:
        """A random key of :data:`KEY_BYTES` bytes for a new library."""
        return secrets.token_bytes(KEY_BYTES)

    def patient(self, patient: str) -> str:
        """ "P-" and 16 hexadecimal digits."""
        return f"P-{self._digest('patient', patient, 8).hex()}"

    def case(self, key: str) -> str:
        """16 hexadecimal digits for the key of a case, which has the names of its folders in it."""
        return self._digest("case", key, 8).hex()

    def reference(self, name: str) -> str:
        """32 hexadecimal digits with which ``name`` can be found again by those who have the key."""
        return self._digest("reference", name, 16).hex()

    def issuer(self, issuer: str) -> str:
        """16 hexadecimal digits for the issuer of a patient's id."""
        return self._digest("issuer", issuer, 8).hex()

    def accession(self, accession: str) -> str:
        """16 hexadecimal digits for an accession number."""
        return self._digest("accession", accession, 8).hex()

    def place(self, name: str) -> str:
        """8 hexadecimal digits for a station or an institution, enough to distinguish the few there are."""
        return self._digest("place", name, 4).hex()

    def uid(self, uid: str) -> str:
        """A UID for another, of the form DICOM derives from UUIDs (PS3.5 B.2)."""
        return f"2.25.{int.from_bytes(self._digest('uid', uid, 16), 'big')}"

    def date(self, date: datetime.date, patient: str) -> datetime.date:
        """``date`` as many days earlier as all dates of ``patient``: 1 to 3,650; intervals stay."""
        days = 1 + int.from_bytes(self._digest("date", patient, 8), "big") % _LONGEST_SHIFT
        return datetime.date.fromordinal(max(1, date.toordinal() - days))

    def _digest(self, what: str, message: str, size: int) -> bytes:
        hashed = hashlib.blake2b(
            message.encode("utf-8", "surrogatepass"), digest_size=size, key=self._key, person=what.encode()
        )
        return hashed.digest()


def is_identifying(column: str) -> bool:
    """Whether a column of this name may identify a patient (a name, an address, a birth date)."""
    return _IDENTIFYING.search(column.strip()) is not None
