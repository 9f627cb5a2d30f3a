"""A client's channel to one server: plain text or TLS, made anew when its files change."""

import ssl
import threading
import time
from collections.abc import Callable, Sequence
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


class Connection:
    """The channel to a server; safe for many threads.

    A channel keeps the certificates it was made with. Once a file of `tls` has changed, calls get
    a new channel; the former one is closed when the calls on it have had `drain_secs` to end.
    """

    def __init__(
        self,
        target: str,
        options: Sequence[tuple[str, str | int]],
        tls: ClientTls | None,
        drain_secs: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._target = target
        self._options = options
        self._tls = tls
        self._drain_secs = drain_secs
        self._clock = clock
        self._lock = threading.Lock()
        self._retired: list[tuple[float, grpc.Channel]] = []
        self._changes = FileChanges(tls.files if tls else (), CHECK_SECS, clock)
        self._channel = self._open()

    def channel(self) -> grpc.Channel:
        """The channel for a call that begins now."""
        if self._tls is not None and self._changes.have_happened():
            self._renew()
        return self._channel

    def close(self) -> None:
        """Close the channel; calls under way are cancelled."""
        with self._lock:
            for _, channel in self._retired:
                channel.close()
            self._channel.close()

    def _renew(self) -> None:
        with self._lock:
            try:
                renewed = self._open()
            except ValueError:
                # Half written: the rest is a change of its own.
                return
            now = self._clock()
            while self._retired and self._retired[0][0] <= now - self._drain_secs:
                self._retired.pop(0)[1].close()
            self._retired.append((now, self._channel))
            self._channel = renewed

    def _open(self) -> grpc.Channel:
        return open_channel(self._target, self._tls, self._options)


def _check_pair(cert_file: str, key_file: str) -> None:
    """Raise ValueError unless the key is the certificate's: gRPC would fail at each handshake."""
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
