"""Forms of the console: bounded bodies, each with a token of its session."""

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from meta.secrets import is_among
from segplane.gateway.http.bodies import BODY_BYTES_MAX, read_body
from segplane.gateway.http.refusals import NotAllowed, QueryRefusal, WrongMediaType

FIELDS_MAX = 64
TOKEN_FIELD = "form_token"
TOKEN_HEADER = "x-form-token"
_TYPE = "application/x-www-form-urlencoded"


async def read_form(request: Request, *tokens: str) -> Mapping[str, str]:
    """Return the fields of a form that has one of some tokens. Raises QueryRefusal.

    A script may send the token as a header in place of a field.
    """
    sent_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent_type != _TYPE:
        raise WrongMediaType(f"content-type is {sent_type[:80]!r}, expected {_TYPE}")
    body = await read_body(request, BODY_BYTES_MAX)
    try:
        fields = dict(
            parse_qsl(
                body.decode("ascii"),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=FIELDS_MAX,
            )
        )
    except ValueError:
        raise QueryRefusal(f"the body is not a form of at most {FIELDS_MAX} fields") from None
    shown = fields.get(TOKEN_FIELD) or request.headers.get(TOKEN_HEADER, "")
    if not is_among(shown.encode(), [token.encode() for token in tokens if token]):
        raise NotAllowed("the form is of another session or has expired: load its page again")
    return fields
