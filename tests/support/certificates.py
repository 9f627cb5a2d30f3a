"""Certificates of a test's own authority."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFETIME = datetime.timedelta(hours=1)
# The first and the last time.
Validity: TypeAlias = tuple[datetime.datetime, datetime.datetime]


@dataclass(frozen=True, slots=True)
class CertificateFiles:
    """A certificate and its key, as PEM files."""

    cert: Path
    key: Path


class Authority:
    """A certificate authority; `ca_file` is what its clients trust."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        certificate = (
            _builder(self._name, self._name, self._key)
            .add_extension(constraints, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.ca_file = folder / "ca.pem"
        self.ca_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, name: str, file: str | None = None, valid: Validity | None = None
    ) -> CertificateFiles:
        """Sign a certificate of `name` for 127.0.0.1; files of the same name are replaced."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        hosts = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        certificate = (
            _builder(subject, self._name, key, valid)
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        stem = file or name
        files = CertificateFiles(self._folder / f"{stem}.pem", self._folder / f"{stem}.key")
        files.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        files.cert.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return files


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    valid: Validity | None = None,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    begin, end = valid or (now - LIFETIME, now + LIFETIME)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
    )
