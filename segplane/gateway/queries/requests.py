"""Requests for queries: their bodies, and what these ask for.

A preview, GET /v1/datasets/NAME/preview, is a query for the newest records of each signal.
"""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request

from segplane.gateway.http.bodies import limit_of
from segplane.gateway.http.refusals import NotThere, QueryRefusal
from segplane.gateway.queries.processes.wire import QueryTask

MEDIA_TYPES = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
}
_LANGUAGES = (None, "kql", "sql")
_MEMBERS = ("query", "language", "format", "adjust_time")
ROWS_MAX = 1_000
_ROWS_DEFAULT = 10
# Meta has no longer names of datasets and groups.
_NAME_CHARACTERS_MAX = 255


def asked_query(content: Any) -> QueryTask:
    """Parse a body; raises QueryRefusal."""
    if not isinstance(content, dict):
        raise QueryRefusal('the body is not an object such as {"query": "web | count"}')
    unknown = [str(name) for name in content if name not in _MEMBERS]
    if unknown:
        raise QueryRefusal(f"{unknown[0][:80]!r} is not known: send {', '.join(_MEMBERS)}")
    text, language = content.get("query"), content.get("language")
    format_ = content.get("format", "json")
    if not isinstance(text, str) or not text.strip():
        raise QueryRefusal("query is not text: send one in KQL or SQL")
    if language not in _LANGUAGES:
        raise QueryRefusal(f"language is {str(language)[:80]!r}, expected kql or sql")
    if not isinstance(format_, str) or format_ not in MEDIA_TYPES:
        raise QueryRefusal(
            f"format is {str(format_)[:80]!r}, expected one of {', '.join(MEDIA_TYPES)}"
        )
    return QueryTask(text, language, format_, adjusts_time=adjusts_time(content))


def adjusts_time(content: Mapping[str, Any]) -> bool:
    """Return whether times are to be adjusted; raises QueryRefusal."""
    value = content.get("adjust_time", False)
    if not isinstance(value, bool):
        raise QueryRefusal(f"adjust_time is {str(value)[:80]!r}, expected true or false")
    return value


def no_dataset(name: str) -> NotThere:
    """Return the refusal of a dataset that is not there, or not there for the caller."""
    return NotThere(f"there is no dataset {name[:80]!r}")


def asked_preview(request: Request, name: str) -> QueryTask:
    """Parse a request for a dataset's newest records; raises QueryRefusal."""
    limit = limit_of(request.query_params, _ROWS_DEFAULT, ROWS_MAX)
    if max(map(len, name.partition("/"))) > _NAME_CHARACTERS_MAX:
        raise no_dataset(name)
    return QueryTask(name, None, "json", limit)
