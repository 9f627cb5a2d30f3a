"""Requests for queries: their bodies, and what these ask for."""

import json
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from segplane.gateway.http.refusals import QueryRefusal, TooLong

# 64 Ki characters, each escaped in JSON, and the rest of a request.
BODY_BYTES_MAX = 2**19
MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
}
_DROPPED_BYTES_MAX = 32 * 2**20
_LANGUAGES = (None, "kql", "sql")


@dataclass(frozen=True, slots=True)
class QueryAsk:
    """A query as a caller asks for it.

    With `newest_rows`, `text` is the name of a dataset whose newest rows are returned.
    """

    text: str
    language: str | None
    format: str
    media_type: str
    newest_rows: int = 0


def asked_query(content: Any) -> QueryAsk:
    """Parse a body; raises QueryRefusal."""
    if not isinstance(content, dict):
        raise QueryRefusal('the body is no object such as {"query": "web | count"}')
    unknown = [str(name) for name in content if name not in ("query", "language", "format")]
    if unknown:
        raise QueryRefusal(f"{unknown[0][:80]!r} is not known: send query, language and format")
    text, language = content.get("query"), content.get("language")
    format_ = content.get("format", "json")
    if not isinstance(text, str) or not text.strip():
        raise QueryRefusal("query is no text: send one in KQL or SQL")
    if language not in _LANGUAGES:
        raise QueryRefusal(f"language is {str(language)[:80]!r}, expected kql or sql")
    if not isinstance(format_, str) or format_ not in MEDIA_TYPES:
        raise QueryRefusal(
            f"format is {str(format_)[:80]!r}, expected one of {', '.join(MEDIA_TYPES)}"
        )
    return QueryAsk(text, language, format_, MEDIA_TYPES[format_])


async def body(request: Request) -> Any:
    """Read a request's JSON; raises QueryRefusal."""
    content = bytearray()
    dropped = 0
    async for piece in request.stream():
        if len(content) + len(piece) > BODY_BYTES_MAX:
            # Most clients read an answer only after they have sent all.
            dropped += len(content) + len(piece)
            content.clear()
        elif not dropped:
            content += piece
        else:
            dropped += len(piece)
        if dropped > _DROPPED_BYTES_MAX:
            break
    if dropped:
        raise TooLong(f"the request has more than {BODY_BYTES_MAX:,} bytes")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise QueryRefusal(f"the body is no JSON: {error}") from None
