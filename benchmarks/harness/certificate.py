"""A certificate for 127.0.0.1, signed by itself, as files for a benchmark's server."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SelfSigned:
    """A certificate, which its clients trust, and its key."""

    certificate: Path
    key: Path


def self_signed(folder: Path) -> SelfSigned:
    """Make a certificate with openssl, by an elliptic curve as most authorities sign them."""
    made = SelfSigned(folder / "cert.pem", folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += [
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=bench",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    command += ["-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return made
