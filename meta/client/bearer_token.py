"""The metadata of a client's calls: its bearer token, which a file may hold, and its tenant."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from meta.client.file_changes import FileChanges

Metadata: TypeAlias = tuple[tuple[str, str], ...]
CHECK_SECS = 5.0
# The metadata by which a call names its tenant.
TENANT_KEY = "segplane-tenant"
# In the metadata of the error of a call that has to name one: the caller's subject, and below it
# the caller's tenants, one a line.
TENANTS_KEY = "tenants"


def fixed(token: str) -> Callable[[], Metadata]:
    """The metadata of calls with one token; "" = without."""
    metadata = _metadata(token)
    return lambda: metadata


def in_tenant(metadata: Callable[[], Metadata], tenant: str) -> Callable[[], Metadata]:
    """The metadata of calls that name a tenant; "" = as they are. Raises ValueError."""
    if not tenant:
        return metadata
    if not (tenant.isascii() and tenant.isprintable()):
        raise ValueError(f"{tenant!r} is not the name of a tenant")
    entry = TENANT_KEY, tenant
    return lambda: (*metadata(), entry)


class TokenFile:
    """The metadata of calls with the token in a file, as it is then.

    Raises ValueError if the file cannot be read at first; later it keeps the last token.
    """

    def __init__(self, file: str) -> None:
        self._file = Path(file)
        self._changes = FileChanges([file], CHECK_SECS)
        try:
            self._metadata = _metadata(self._file.read_text().strip())
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{file} cannot be read: {error}") from error

    def __call__(self) -> Metadata:
        """The metadata of a call that begins now."""
        if self._changes.have_happened():
            try:
                token = self._file.read_text().strip()
            except (OSError, UnicodeDecodeError):
                token = ""
            # Empty while it is being written.
            if token:
                self._metadata = _metadata(token)
        return self._metadata


def _metadata(token: str) -> Metadata:
    return (("authorization", f"Bearer {token}"),) if token else ()
