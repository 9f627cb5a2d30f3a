"""segplane login, logout, whoami: the credential of a person, saved for one server."""

import getpass
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

from meta.process.environment import environment
from segplane.cli.command import command, group
from segplane.cli.connection import (
    open_client,
)
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.output import Answer, facts
from segplane.cli.parameters import Option
from segplane.login import issuer as issuers
from segplane.login import saved
from segplane.login.issuer import IssuerAway, IssuerRefused
from segplane.login.saved import LoginError, SavedLogin

app = group()


@command(app, "login --issuer https://login.example.com")
def login(
    address: str,
    issuer: Annotated[str, Option(envvar="SEGPLANE_OIDC_ISSUER")] = "",
    client_id: Annotated[str, Option(envvar="SEGPLANE_OIDC_CLIENT_ID")] = "segplane",
    scope: Annotated[str, Option(envvar="SEGPLANE_OIDC_SCOPE")] = "openid",
    audience: Annotated[str, Option(envvar="SEGPLANE_OIDC_AUDIENCE")] = "",
    id_token: bool = False,
) -> Answer:
    """Log in to a meta and keep the credential for later commands and for segplane.read.

    With --issuer a browser asks for consent, on this machine or another (RFC 8628); else an access
    token is pasted, or read from standard input. SEGPLANE_META_AUTH_TOKEN goes before a saved
    login. `segplane logout` undoes it.

    Options:
        issuer: URL of the OpenID Connect issuer; '' = a token.
        client_id: This program's id at the issuer.
        scope: Scopes to ask for.
        audience: Audience to ask for, if the issuer needs it.
        id_token: Show meta the ID token, not the access token.
    """
    new = _by_device(issuer, client_id, scope, audience, shows_id_token=id_token)
    caller = _caller(address, new.token)
    saved.save(address, new)
    text = f"logged in to {address} as {caller.subject}, role {caller.role}{_until(new)}"
    note = "SEGPLANE_META_AUTH_TOKEN is set and goes before this login"
    return Answer(caller, [text], [note] * environment("SEGPLANE_").is_set("META_AUTH_TOKEN"))


@command(app, "logout")
def logout(address: str) -> Answer:
    """Forget the credential that `segplane login` has saved, and end its renewal at the issuer."""
    try:
        former = saved.load(address)
    except LoginError:
        former = None
    was_there = saved.delete(address)
    if former is not None and former.refresh_token:
        _revoke(former)
    text = f"logged out of {address}" if was_there else f"there was no login to {address}"
    return Answer({"address": address, "was_logged_in": was_there}, [text])


@command(app, "whoami")
def whoami(client: MetaClient, address: str) -> Answer:
    """Show as whom meta knows this caller, and by which credential."""
    caller = client.operations.GetServerState(pb.GetServerStateRequest()).caller
    pairs = (
        ("subject", caller.subject),
        ("role", caller.role),
        ("tenant", caller.tenant or "all"),
        ("datasets", ", ".join(caller.dataset_ids) or "all"),
        ("credential", _credential(address)),
    )
    return Answer(caller, facts(pairs))


def _by_device(
    issuer: str, client_id: str, scope: str, audience: str, *, shows_id_token: bool
) -> SavedLogin:
    if not issuer:
        return _pasted()
    endpoints = issuers.discover(issuer)
    if not endpoints.device:
        print(f"{issuer} has no device authorization", file=sys.stderr)
        return _pasted()
    asked = {"client_id": client_id, "scope": scope, "audience": audience}
    code = issuers.begin(endpoints, {name: value for name, value in asked.items() if value})
    print(f"Open {code.url}\nand enter the code {code.user_code}", flush=True)
    document: Mapping[str, Any] = issuers.wait(endpoints, client_id, code, time.sleep)
    return issuers.login_of(document, issuer, client_id, shows_id_token=shows_id_token)


def _pasted() -> SavedLogin:
    if sys.stdin.isatty():
        token = getpass.getpass("Access token (it is not shown): ").strip()
    else:
        token = sys.stdin.readline().strip()
    if not token or not (token.isascii() and token.isprintable()):
        raise LoginError("an access token is needed: `segplane access create` makes one")
    return SavedLogin(token, issuers.expiry_of(token))


def _caller(address: str, token: str) -> "pb.Caller":
    """Show the token to the server before it is kept."""
    from meta.client.addresses import is_loopback_host

    host = address.rpartition(":")[0]
    if not is_loopback_host(host) and not environment("SEGPLANE_").is_set("META_CA_FILE"):
        raise LoginError(f"{address} would get the token in plain text: set SEGPLANE_META_CA_FILE")
    with open_client(address, token) as client:
        return client.operations.GetServerState(pb.GetServerStateRequest()).caller


def _revoke(former: SavedLogin) -> None:
    try:
        endpoints = issuers.discover(former.issuer)
        if endpoints.revocation:
            issuers.revoke(endpoints, former)
            return
        reason = "it has no revocation endpoint"
    except (IssuerAway, IssuerRefused, LoginError) as error:
        reason = str(error)
    print(f"{former.issuer} was not notified: {reason}", file=sys.stderr)


def _credential(address: str) -> str:
    if environment("SEGPLANE_").is_set("META_AUTH_TOKEN"):
        return "SEGPLANE_META_AUTH_TOKEN"
    login = saved.load(address)
    return "none" if login is None else f"segplane login{_until(login)}"


def _until(login: SavedLogin) -> str:
    if login.expires_at is None:
        return ""
    renewed = ", then renewed" if login.refresh_token else ""
    return f", until {datetime.fromtimestamp(login.expires_at, UTC):%Y-%m-%dT%H:%M:%SZ}{renewed}"
