"""GET /v1/datasets/NAME/preview: the newest records of each signal of a dataset."""

from starlette.requests import Request

from segplane.gateway.http.refusals import NotThere
from segplane.gateway.queries.processes.wire import QueryTask
from segplane.gateway.queries.requests import limit_of

ROWS_MAX = 1_000
_ROWS_DEFAULT = 10
# Meta has no longer names.
_NAME_CHARACTERS_MAX = 255


def no_dataset(name: str) -> NotThere:
    """Return the refusal of a dataset that is not there, or not there for the caller."""
    return NotThere(f"there is no dataset {name[:80]!r}")


def asked_preview(request: Request) -> QueryTask:
    """Parse a request; raises QueryRefusal."""
    limit = limit_of(request.query_params, _ROWS_DEFAULT, ROWS_MAX)
    name = str(request.path_params["name"])
    if len(name) > _NAME_CHARACTERS_MAX:
        raise no_dataset(name)
    return QueryTask(name, None, "json", limit)
