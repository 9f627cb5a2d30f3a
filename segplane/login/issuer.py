"""An OpenID Connect issuer as its clients see it: device authorization (RFC 8628), renewal.

The command line is a public client: it has an id and no secret. The console may have one.
"""

import base64
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote_plus, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from meta.client.addresses import is_loopback_host
from segplane.login.saved import LoginError, SavedLogin

REQUEST_SECS = 10.0
DOCUMENT_BYTES_MAX = 262_144
# Defaults of RFC 8628 for the interval of polls, and for its increase on slow_down.
INTERVAL_SECS = 5.0
INTERVAL_SECS_MAX = 60.0
WAIT_SECS_MAX = 3_600.0
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_DISCOVERY = "/.well-known/openid-configuration"


class IssuerAway(Exception):
    """The issuer does not answer, or not as one; it may later."""


class IssuerRefused(Exception):
    """The issuer's refusal; `code` is one of RFC 6749 or RFC 8628."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Endpoints:
    """An issuer's endpoints; "" = it has none."""

    token: str
    device: str
    revocation: str
    authorization: str = ""
    end_session: str = ""
    keys: str = ""


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """A code for a person to enter at a URL, and one for the program to ask for the outcome."""

    device_code: str
    user_code: str
    url: str
    interval_secs: float
    expires_secs: float


class _NoRedirects(HTTPRedirectHandler):
    """A redirection could carry a code or a token to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = build_opener(_NoRedirects)


def discover(issuer: str) -> Endpoints:
    """Read the discovery document. Raises IssuerAway, LoginError for an issuer not to be used."""
    _check(issuer)
    document = get(issuer.rstrip("/") + _DISCOVERY)
    if document.get("issuer") != issuer:
        raise LoginError(f"the discovery document is of issuer {document.get('issuer')!r}")
    names = (
        *("token_endpoint", "device_authorization_endpoint", "revocation_endpoint"),
        *("authorization_endpoint", "end_session_endpoint", "jwks_uri"),
    )
    urls = [_text(document, name) for name in names]
    for url in filter(None, urls):
        _check(url)
    return Endpoints(*urls)


def begin(endpoints: Endpoints, form: Mapping[str, str]) -> DeviceCode:
    """Ask for a code (RFC 8628, 3.1). Raises IssuerAway, IssuerRefused."""
    document = post(endpoints.device, form)
    url = _text(document, "verification_uri_complete") or _text(document, "verification_uri")
    code = DeviceCode(
        _text(document, "device_code"),
        _text(document, "user_code"),
        url,
        min(_number(document, "interval", INTERVAL_SECS), INTERVAL_SECS_MAX),
        min(_number(document, "expires_in", 0.0), WAIT_SECS_MAX),
    )
    if not (code.device_code and code.user_code and code.url) or not _is_shown(code):
        raise IssuerAway("its answer has no code to enter, or one that cannot be shown")
    return code


def wait(
    endpoints: Endpoints, client_id: str, code: DeviceCode, pause: Callable[[float], None]
) -> Mapping[str, Any]:
    """Ask until the person has agreed (RFC 8628, 3.4). Raises IssuerRefused."""
    form = {"grant_type": _DEVICE_GRANT, "device_code": code.device_code, "client_id": client_id}
    interval_secs, until = code.interval_secs, time.monotonic() + code.expires_secs
    while time.monotonic() < until:
        pause(interval_secs)
        try:
            return post(endpoints.token, form)
        except IssuerAway:
            interval_secs = min(2 * interval_secs, INTERVAL_SECS_MAX)
        except IssuerRefused as refused:
            if refused.code == "slow_down":
                interval_secs = min(interval_secs + INTERVAL_SECS, INTERVAL_SECS_MAX)
            elif refused.code != "authorization_pending":
                raise
    raise IssuerRefused("expired_token")


def renew(endpoints: Endpoints, login: SavedLogin) -> Mapping[str, Any]:
    """Exchange the refresh token (RFC 6749, 6). Raises IssuerAway, IssuerRefused."""
    form = {"grant_type": "refresh_token", "refresh_token": login.refresh_token}
    return post(endpoints.token, form | {"client_id": login.client_id})


def revoke(endpoints: Endpoints, login: SavedLogin) -> None:
    """End the refresh token (RFC 7009). Raises IssuerAway, IssuerRefused."""
    form = {"token": login.refresh_token, "token_type_hint": "refresh_token"}
    post(endpoints.revocation, form | {"client_id": login.client_id})


def login_of(
    document: Mapping[str, Any], issuer: str, client_id: str, *, shows_id_token: bool
) -> SavedLogin:
    """The login in a token endpoint's answer. Raises LoginError."""
    name = "id_token" if shows_id_token else "access_token"
    token = _text(document, name)
    expires_at = expiry_of(token)
    if expires_at is None:
        raise LoginError(
            f"the issuer's {name} is not a JSON Web Token"
            + ("" if shows_id_token else ": try --id-token")
        )
    refresh_token = _text(document, "refresh_token")
    return SavedLogin(token, expires_at, refresh_token, issuer, client_id, shows_id_token)


def expiry_of(token: str) -> float | None:
    """`exp` of a JSON Web Token, which is not verified here; None if it is not one."""
    try:
        body = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        return float(claims["exp"])
    except (IndexError, KeyError, TypeError, ValueError, OverflowError):
        return None


def _check(url: str) -> None:
    parts = urlsplit(url)
    is_local = parts.scheme == "http" and is_loopback_host(parts.hostname or "")
    if parts.scheme != "https" and not is_local:
        raise LoginError(f"{url!r} is not an https URL")


def get(url: str) -> dict[str, Any]:
    """Read a document. Raises IssuerAway, IssuerRefused."""
    return _answer(Request(url))


def post(url: str, form: Mapping[str, str], client_secret: str = "") -> dict[str, Any]:
    """Send a form of a client, which may have a secret (RFC 6749, 2.3.1).

    Raises IssuerAway, IssuerRefused.
    """
    request = Request(url, urlencode(form).encode())
    if client_secret:
        pair = f"{quote_plus(form['client_id'])}:{quote_plus(client_secret)}"
        request.add_header("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}")
    return _answer(request)


def _answer(request: Request) -> dict[str, Any]:
    """The JSON object in an answer."""
    request.add_header("Accept", "application/json")
    try:
        with _opener.open(request, timeout=REQUEST_SECS) as reply:
            return _object(reply.read(DOCUMENT_BYTES_MAX + 1))
    except HTTPError as error:
        code = _text(_object(error.read(DOCUMENT_BYTES_MAX + 1)), "error")
        if code:
            raise IssuerRefused(code if code.isprintable() else "an error") from error
        raise IssuerAway(f"{request.full_url} answers {error.code}") from error
    except (OSError, HTTPException) as error:
        raise IssuerAway(f"{request.full_url}: {error}") from error


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body) if len(body) <= DOCUMENT_BYTES_MAX else None
    except ValueError:
        document = None
    return document if isinstance(document, dict) else {}


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    return value if isinstance(value, str) else ""


def _number(document: Mapping[str, Any], name: str, default: float) -> float:
    value = document.get(name)
    return float(value) if isinstance(value, int | float) and value > 0 else default


def _is_shown(code: DeviceCode) -> bool:
    """True if a terminal shows it as it is."""
    return code.user_code.isprintable() and code.url.isprintable()
