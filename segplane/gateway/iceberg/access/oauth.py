"""OAuth for clients of Iceberg: a client's secret is its token, and is given back once checked."""

import base64
import binascii
from urllib.parse import parse_qsl, unquote

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.http.bodies import answer, read_body
from segplane.gateway.http.readers import CatalogReaders, tenant_named
from segplane.gateway.http.refusals import NotAllowed, NotKnown
from segplane.gateway.iceberg.refusals import RequestRefused
from segplane.gateway.iceberg.responses import BODY_BYTES_MAX, NO_TOKEN

PATH = "v1/oauth/tokens"
# When a client asks again; the token itself may end before or later.
EXPIRES_SECS = 3_600
_FIELDS_MAX = 32
_GRANT, _SECRET, _EXCHANGED = "grant_type", "client_secret", "subject_token"
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token"
_NOT_KEPT = {"Cache-Control": "no-store"}


async def give_token(request: Request, readers: CatalogReaders, host: str) -> Response:
    """Answer a request for a token. Raises MetaError, NotNow, RequestRefused."""
    form = dict(_fields(await read_body(request, BODY_BYTES_MAX)))
    match form.get(_GRANT):
        case "client_credentials":
            token = form.get(_SECRET) or _password(request.headers.get("authorization", ""))
        case grant if grant == _EXCHANGE:
            token = form.get(_EXCHANGED, "")
        case grant:
            message = f"grant_type is {str(grant)[:80]!r}, expected client_credentials"
            return _refuse(400, "unsupported_grant_type", message)
    try:
        await readers.find(f"Bearer {token}", host, tenant=tenant_named(request))
    except NotKnown:
        return _refuse(401, "invalid_client", NO_TOKEN.replace("`token`", "`credential`"))
    except NotAllowed as error:
        return _refuse(400, "unauthorized_client", str(error))
    given = {
        "access_token": token,
        "token_type": "bearer",
        "issued_token_type": _ACCESS_TOKEN,
        "expires_in": EXPIRES_SECS,
    }
    return answer(
        given | {name: form[name] for name in ("scope",) if name in form}, headers=_NOT_KEPT
    )


def _fields(body: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(body.decode("ascii"), max_num_fields=_FIELDS_MAX)
    except ValueError:
        raise RequestRefused("the body is not a form of at most 32 fields") from None


def _password(header: str) -> str:
    """Return the password of a `Basic` header, "" without one."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return ""
    return unquote(decoded.partition(":")[2])


def _refuse(status: int, error: str, message: str) -> Response:
    # The form of OAuth, not that of the catalog.
    return answer({"error": error, "error_description": message}, status, _NOT_KEPT)
