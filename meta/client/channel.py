"""TLS of a client: settings, credentials that follow their files, and a channel for one check."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import grpc

from meta.client.file_changes import FileChanges

# Roots that come with gRPC, or those of GRPC_DEFAULT_SSL_ROOTS_FILE_PATH.
SYSTEM_CA = "system"
CHECK_SECS = 5.0


@dataclass(frozen=True, slots=True)
class ClientTls:
    """TLS settings of a client.

    `ca_file` holds the certificates that sign the server's, or is `system` for public ones. A
    server that asks clients for a certificate gets that of `cert_file` and `key_file`. The
    server's certificate must be for `server_name`, or for the host of the address if that is "".
    """

    ca_file: str = SYSTEM_CA
    cert_file: str = ""
    key_file: str = ""
    server_name: str = ""

    @property
    def files(self) -> list[str]:
        """The files that it reads."""
        ca_file = "" if self.ca_file == SYSTEM_CA else self.ca_file
        return [file for file in (ca_file, self.cert_file, self.key_file) if file]

    def credentials(self) -> grpc.ChannelCredentials:
        """Read the files; raises ValueError with one sentence if they cannot be used."""
        if bool(self.cert_file) != bool(self.key_file):
            raise ValueError("a client's certificate needs both its file and the file of its key")
        if self.cert_file:
            _check_pair(self.cert_file, self.key_file)
        return grpc.ssl_channel_credentials(
            None if self.ca_file == SYSTEM_CA else _read(self.ca_file),
            _read(self.key_file) if self.key_file else None,
            _read(self.cert_file) if self.cert_file else None,
        )


def open_channel(
    target: str, tls: ClientTls | None, options: Sequence[tuple[str, str | int]] = ()
) -> grpc.Channel:
    """Open a channel; raises ValueError if the files of `tls` cannot be used."""
    if tls is None:
        return grpc.insecure_channel(target, options=options)
    if tls.server_name:
        options = [*options, ("grpc.ssl_target_name_override", tls.server_name)]
    return grpc.secure_channel(target, tls.credentials(), options=options)


class CurrentCredentials:
    """The credentials of channels that are opened now, read again once a file has changed."""

    def __init__(self, tls: ClientTls | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._tls = tls
        self._changes = FileChanges(tls.files if tls else (), CHECK_SECS, clock)
        self._credentials = tls.credentials() if tls else None

    def __call__(self) -> grpc.ChannelCredentials | None:
        """The credentials; None = plain text."""
        if self._tls is not None and self._changes.have_happened():
            # Half written, the files are refused: the rest is its own change.
            with suppress(ValueError):
                self._credentials = self._tls.credentials()
        return self._credentials


def _check_pair(cert_file: str, key_file: str) -> None:
    """Raise ValueError unless the key is the certificate's: gRPC would fail at each handshake."""
    # A client without a certificate of its own does not need it.
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(cert_file, key_file, lambda: "")
    except (OSError, ValueError) as error:
        raise ValueError(f"{cert_file} with key {key_file} cannot be used: {error}") from error


def _read(file: str) -> bytes:
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from error
    if b"-----BEGIN" not in content:
        raise ValueError(f"{file} holds no PEM")
    return content
