"""Private certificate authority in a folder: ca.pem and ca.key, and NAME.pem and NAME.key.

`python -m segplane.deploy.authority FOLDER NAME HOST...` makes it and one certificate, if they are
missing or due.
"""

import argparse
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from segplane.terminal.whole_files import whole_file

AUTHORITY = "ca"
AUTHORITY_DAYS, CERTIFICATE_DAYS = 3650, 90
# A certificate is due in the last third of its time.
_DUE = 1 / 3
# Clocks of others may be behind.
_SKEW = timedelta(hours=1)


class Authority:
    """Authority of one installation; made with its key on first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.ca_file = folder / f"{AUTHORITY}.pem"
        key_file = folder / f"{AUTHORITY}.key"
        if not key_file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            key = ec.generate_private_key(ec.SECP256R1())
            name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Segplane private CA")])
            builder = _builder(name, name, key, AUTHORITY_DAYS).add_extension(
                x509.BasicConstraints(ca=True, path_length=0), critical=True
            )
            # The certificate first: a key without one would be taken for a complete authority.
            _write(self.ca_file, _pem(builder.sign(key, hashes.SHA256())))
            _write_key(key_file, key)
        loaded = load_pem_private_key(key_file.read_bytes(), None)
        assert isinstance(loaded, ec.EllipticCurvePrivateKey)
        self._key = loaded
        self._certificate = x509.load_pem_x509_certificate(self.ca_file.read_bytes())

    def ready(self, name: str, hosts: Sequence[str]) -> bool:
        """Issue a certificate for hosts unless there is one that is not due; True if issued."""
        if not self.is_due(name, hosts):
            return False
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0][:64])])
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = (
            _builder(subject, self._certificate.subject, key, CERTIFICATE_DAYS)
            .add_extension(
                x509.SubjectAlternativeName([_general_name(host) for host in hosts]), critical=False
            )
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        )
        certificate = builder.sign(self._key, hashes.SHA256())
        # Servers read both again, and keep the former ones while the two do not belong together.
        _write_key(self._folder / f"{name}.key", key)
        _write(self._folder / f"{name}.pem", _pem(certificate) + _pem(self._certificate))
        return True

    def is_due(self, name: str, hosts: Sequence[str]) -> bool:
        """Return whether a certificate is missing, is for other hosts, or ends soon."""
        files = [self._folder / f"{name}{suffix}" for suffix in (".pem", ".key")]
        if not all(file.exists() for file in files):
            return True
        certificate = x509.load_pem_x509_certificate(files[0].read_bytes())
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        end = certificate.not_valid_after_utc
        is_ending = end - datetime.now(UTC) < timedelta(days=CERTIFICATE_DAYS) * _DUE
        return is_ending or set(names) != {_general_name(host) for host in hosts}


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + timedelta(days=days))
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def _write(path: Path, content: bytes, mode: int = 0o644) -> None:
    with whole_file(path, mode) as file:
        # The mask of the process takes rights away, which others need to read a certificate.
        os.fchmod(file.fileno(), mode)
        file.write(content)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    _write(path, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), 0o600)


def main() -> None:
    """Make an authority and one certificate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("name")
    parser.add_argument("hosts", nargs="+")
    arguments = parser.parse_args()
    Authority(arguments.folder).ready(arguments.name, arguments.hosts)


if __name__ == "__main__":
    main()
