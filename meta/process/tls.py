"""TLS of a server's ports: a certificate in files, read again when they change."""

from __future__ import annotations

import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from meta.process.exits import ConfigError

if TYPE_CHECKING:
    import grpc


@dataclass(frozen=True, slots=True)
class CertificateBytes:
    """A private key, its certificate chain and the CAs of clients; all PEM, b"" = no client CA."""

    key: bytes
    chain: bytes
    client_ca: bytes


@dataclass(frozen=True, slots=True)
class ServerTls:
    """Files of a server's certificate; with `client_ca_file`, clients must show one of theirs.

    TLS 1.2 and newer. Connections keep the certificate of their handshake; later handshakes use
    the files as they are then. Files that do not fit together, such as a certificate whose key is
    still to be written, are logged and leave the former certificate in use.
    """

    certificate_file: Path
    key_file: Path
    client_ca_file: Path | None = None

    def check(self) -> None:
        """Raise ConfigError unless the files can be used."""
        self.ssl_context()

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """Credentials of a gRPC port. Raises ConfigError if the files cannot be used."""
        # Only servers need gRPC here; commands that read their environment do not.
        import grpc

        files = CertificateFiles(self)
        return grpc.dynamic_ssl_server_credentials(
            _configuration(files.read()),
            # None keeps the one in use, which grpc-stubs do not say.
            lambda: _configuration_if(files.read_changed()),  # type: ignore[arg-type,return-value]
            require_client_authentication=self.client_ca_file is not None,
        )

    def ssl_context(self) -> ssl.SSLContext:
        """Context of an HTTP port. Raises ConfigError if the files cannot be used."""
        files = CertificateFiles(self)
        files.read()
        context = self.load_context()

        def renew(handshake: ssl.SSLObject, _name: str | None, served: ssl.SSLContext) -> None:
            nonlocal context
            if files.read_changed() is not None:
                # The files have changed once more, perhaps only one of them: the next handshake
                # reads them again.
                with suppress(ConfigError):
                    context = self.load_context()
            if context is not served:
                handshake.context = context

        # Called at every handshake, also without a server name.
        context.sni_callback = renew
        return context

    def load_context(self) -> ssl.SSLContext:
        """Load the files as they are now. Raises ConfigError."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate_file, self.key_file, password=_refuse_password)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"TLS certificate {self.certificate_file} with key {self.key_file}"
                f" cannot be used: {error}"
            ) from error
        if self.client_ca_file is not None:
            try:
                context.load_verify_locations(self.client_ca_file)
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"TLS client CA {self.client_ca_file} cannot be used: {error}"
                ) from error
            context.verify_mode = ssl.CERT_REQUIRED
        return context


class CertificateFiles:
    """The files of a ServerTls, read only when they have changed; safe for many threads."""

    def __init__(self, tls: ServerTls) -> None:
        from meta.client.file_changes import FileChanges

        self._tls = tls
        self._paths = [tls.certificate_file, tls.key_file]
        if tls.client_ca_file is not None:
            self._paths.append(tls.client_ca_file)
        self._changes = FileChanges(self._paths)

    def read_changed(self) -> CertificateBytes | None:
        """Read the files if they changed since the last call; None if not, or if unusable."""
        from meta.process.bare_structlog import get_logger

        log = get_logger()
        if not self._changes.have_happened():
            return None
        try:
            changed = self.read()
        except ConfigError as error:
            log.warning("tls_certificate_refused", error=str(error))
            return None
        log.info("tls_certificate_renewed", file=str(self._tls.certificate_file))
        return changed

    def read(self) -> CertificateBytes:
        """Read the files. Raises ConfigError if they cannot be used."""
        self._tls.load_context()
        try:
            chain, key, *client_ca = (path.read_bytes() for path in self._paths)
        except OSError as error:
            raise ConfigError(f"TLS file cannot be read: {error}") from error
        return CertificateBytes(key, chain, client_ca[0] if client_ca else b"")


def _configuration(files: CertificateBytes) -> grpc.ServerCertificateConfiguration:
    import grpc

    return grpc.ssl_server_certificate_configuration(
        [(files.key, files.chain)], root_certificates=files.client_ca or None
    )


def _configuration_if(
    files: CertificateBytes | None,
) -> grpc.ServerCertificateConfiguration | None:
    return None if files is None else _configuration(files)


def _refuse_password() -> str:
    # Otherwise OpenSSL would ask for one on the terminal.
    raise ValueError("the key has a password; give a key without one")
