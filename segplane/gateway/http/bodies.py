"""Bodies in JSON: those of requests, which are bounded, and those of answers."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.http.refusals import QueryRefusal, TooLong

# 64 Ki characters, each escaped in JSON, and the rest of a request.
BODY_BYTES_MAX = 2**19
_DROPPED_BYTES_MAX = 32 * 2**20


async def read_body(request: Request, bytes_max: int) -> bytes:
    """Read a body. Raises TooLong."""
    content = bytearray()
    dropped = 0
    async for piece in request.stream():
        if dropped or len(content) + len(piece) > bytes_max:
            # Most clients read an answer only after they have sent all.
            dropped += len(content) + len(piece)
            content.clear()
        else:
            content += piece
        if dropped > _DROPPED_BYTES_MAX:
            break
    if dropped:
        raise TooLong(f"the request has more than {bytes_max:,} bytes")
    return bytes(content)


async def read_json(request: Request, bytes_max: int) -> Any:
    """Read a body that is JSON. Raises QueryRefusal."""
    content = await read_body(request, bytes_max)
    try:
        return json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise QueryRefusal(f"the body is not JSON: {error}") from None


async def body(request: Request) -> Any:
    """Read a request's JSON; raises QueryRefusal."""
    return await read_json(request, BODY_BYTES_MAX)


def limit_of(parameters: Mapping[str, str], default: int, most: int, *others: str) -> int:
    """Return the limit in parameters, of which there may be others; raises QueryRefusal."""
    names = ("limit", *others)
    unknown = [name for name in parameters if name not in names]
    if unknown:
        raise QueryRefusal(f"{unknown[0][:80]!r} is not known: send {' and '.join(names)}")
    limit = parameters.get("limit", str(default))
    is_number = limit.isascii() and limit.isdecimal() and len(limit) < 5
    if not is_number or not 1 <= int(limit) <= most:
        shown = limit if is_number else repr(limit[:80])
        raise QueryRefusal(f"limit is {shown}, expected 1 to {most:,}")
    return int(limit)


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON answer."""
    return json_text(json.dumps(value, separators=(",", ":")), status, headers)


def json_text(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer that is JSON already."""
    return Response(text, status, headers, "application/json")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a number")
