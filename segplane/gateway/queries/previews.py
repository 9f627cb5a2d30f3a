"""GET /v1/datasets/NAME/preview: the newest records of each signal of a dataset."""

from starlette.requests import Request

from segplane.gateway.http.refusals import NotThere, QueryRefusal
from segplane.gateway.queries.requests import MEDIA_TYPES, QueryAsk

ROWS_MAX = 1_000
_ROWS_DEFAULT = 10
# Meta has no longer names.
_NAME_CHARACTERS_MAX = 255


def no_dataset(name: str) -> NotThere:
    """Return the refusal of a dataset that is not there, or not there for the caller."""
    return NotThere(f"there is no dataset {name[:80]!r}")


def asked_preview(request: Request) -> QueryAsk:
    """Parse a request; raises QueryRefusal."""
    parameters = request.query_params
    unknown = [name for name in parameters if name != "limit"]
    if unknown:
        raise QueryRefusal(f"{unknown[0][:80]!r} is not known: send limit")
    limit = parameters.get("limit", str(_ROWS_DEFAULT))
    is_number = limit.isascii() and limit.isdecimal() and len(limit) < 5
    if not is_number or not 1 <= int(limit) <= ROWS_MAX:
        raise QueryRefusal(f"limit is {limit[:80]!r}, expected 1 to {ROWS_MAX:,}")
    name = str(request.path_params["name"])
    if len(name) > _NAME_CHARACTERS_MAX:
        raise no_dataset(name)
    return QueryAsk(name, None, "json", MEDIA_TYPES["json"], newest_rows=int(limit))
