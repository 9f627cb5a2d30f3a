"""A reader's connection to meta, by the caller's arguments, else the command line's environment."""

import os
from pathlib import Path

from meta.client import MetaClient
from meta.client.channel import ClientTls
from segplane.login import credentials
from segplane.login.saved import LoginError
from segplane.read.errors import ReadError

DEFAULT_ADDRESS = "127.0.0.1:9500"
_PREFIX = "SEGPLANE_META_"


def connect(
    address: str | None, token: str | None, ca: str | Path | None, tenant: str | None = None
) -> MetaClient:
    """Open a client of meta; raises ReadError if a file cannot be used.

    None takes SEGPLANE_META_ADDRESS, SEGPLANE_META_AUTH_TOKEN (or ..._FILE, or else what `segplane
    login` has saved for the address), SEGPLANE_META_CA_FILE with companions, and SEGPLANE_TENANT.
    A tenant is named for a credential that has roles in several.
    """
    ca_file = _variable("CA_FILE") if ca is None else str(ca)
    tls = None
    if ca_file:
        tls = ClientTls(
            ca_file, _variable("CERT_FILE"), _variable("KEY_FILE"), _variable("SERVER_NAME")
        )
    address = address or _variable("ADDRESS") or DEFAULT_ADDRESS
    token_file = _variable("AUTH_TOKEN_FILE") if token is None else ""
    has_token = token is not None or token_file or _PREFIX + "AUTH_TOKEN" in os.environ
    try:
        return MetaClient(
            address,
            auth_token="" if token_file else _variable("AUTH_TOKEN") if token is None else token,
            auth_token_file=token_file,
            credentials=None if has_token else credentials.of_server(address),
            tenant=os.environ.get("SEGPLANE_TENANT", "") if tenant is None else tenant,
            tls=tls,
        )
    except LoginError as error:
        raise ReadError(str(error)) from error
    except ValueError as error:
        raise ReadError(f"connection to meta: {error}") from error


def _variable(name: str) -> str:
    return os.environ.get(_PREFIX + name, "")
