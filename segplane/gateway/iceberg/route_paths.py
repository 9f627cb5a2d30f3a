"""Paths of the catalog's routes, a label of the metric of requests."""

from segplane.gateway.iceberg.access import oauth

_NAMESPACE = "/iceberg/v1/{prefix}/namespaces/{namespace}"
_TABLE = f"{_NAMESPACE}/tables/{{table}}"
_ACTIONS = ("plan", "tasks", "sign", "credentials")
_PATHS = {
    "config": "/iceberg/v1/config",
    "token": f"/iceberg/{oauth.PATH}",
    "namespaces": "/iceberg/v1/{prefix}/namespaces",
    "namespace": _NAMESPACE,
    "tables": f"{_NAMESPACE}/tables",
    "views": f"{_NAMESPACE}/views",
    "view": f"{_NAMESPACE}/views/{{view}}",
    "table": _TABLE,
    "table_exists": _TABLE,
    **{action: f"{_TABLE}/{action}" for action in _ACTIONS},
}


def route_of(name: str) -> str:
    """Return the path of a route by its old name in metrics; "" = the path is of no route."""
    return _PATHS.get(name, "")
