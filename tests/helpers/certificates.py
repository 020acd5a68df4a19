"""Certificates for tests of TLS."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as files and as objects."""

    certificate: Path
    key: Path
    issued: x509.Certificate
    private: ec.EllipticCurvePrivateKey


def pair(
    folder: Path, name: str, *, signer: Pair | None = None, host: str = "localhost", days: int = 30
) -> Pair:
    """A certificate of ``host``, signed by ``signer`` or by itself, valid for so many ``days``; negative: expired."""
    private = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if signer is None else signer.issued.subject)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=100))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
    )
    issued = builder.sign(private if signer is None else signer.private, hashes.SHA256())
    files = folder / f"{name}.pem", folder / f"{name}.key"
    files[0].write_bytes(issued.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    files[1].write_bytes(private.private_bytes(serialization.Encoding.PEM, form, plain))
    return Pair(*files, issued, private)
