"""Bodies of requests, which are bounded, most of them JSON."""

import json
from typing import Any

from starlette.requests import Request

from segplane.gateway.iceberg.refusals import RequestRefused

BODY_BYTES_MAX = 2**17


async def read_body(request: Request) -> bytes:
    """Read a body. Raises RequestRefused."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > BODY_BYTES_MAX:
            raise RequestRefused(f"the request has more than {BODY_BYTES_MAX:,} bytes")
    return bytes(content)


async def read_object(request: Request) -> dict[str, Any]:
    """Read a JSON object. Raises RequestRefused."""
    content = await read_body(request)
    try:
        value = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise RequestRefused(f"the body is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise RequestRefused("the body is no JSON object")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")
