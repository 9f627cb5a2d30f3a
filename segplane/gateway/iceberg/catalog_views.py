"""The catalog's views over datasets, as SQL for engines that know views of Iceberg catalogs.

The SQL names the datasets as tables and no version: an engine that runs it reads each table at
that table's current version.
"""

import json
import zlib
from typing import Any

from kql.errors import KqlError
from kql.scope import CheckedQuery
from kql.sql.engines import EngineName
from kql.sql.relations import tables_named, to_sql
from kql.types import KqlType
from meta.client import MetaClient
from meta.errors import InvalidArgument, NotFound, RoleRefused
from meta.v1 import catalog_pb2
from segplane.gateway.iceberg.refusals import TableMissing, TableRefused
from segplane.gateway.iceberg.views import TRINO_CATALOG, representations, view_document
from segplane.read.views.view_sql import ViewUnreadable, compiled_view

_DIALECTS: tuple[EngineName, ...] = ("spark", "trino")
_TYPES: dict[KqlType, str] = {
    "bool": "boolean",
    "int": "int",
    "long": "long",
    "real": "double",
    "string": "string",
    "datetime": "timestamptz",
    # Nanoseconds, as `duration_ns` has them.
    "timespan": "long",
    "guid": "string",
    "dynamic": "string",
}


def catalog_view(meta: MetaClient, name: str, namespace: str) -> dict[str, Any]:
    """Describe a view as Iceberg's view specification wants it, as it is defined now.

    Raises TableMissing, TableRefused, MetaError.
    """
    try:
        view = meta.catalog.GetView(catalog_pb2.GetViewRequest(name=name))
        state = compiled_view(meta, name)
    except (NotFound, InvalidArgument, RoleRefused):
        # No view exists for a gateway that is limited to datasets.
        raise TableMissing(f"there is no view {name!r}") from None
    except ViewUnreadable as error:
        raise TableRefused(str(error)) from None
    fields = [
        {"id": number, "name": column, "required": False, "type": _TYPES[type_]}
        for number, (column, type_) in enumerate(state.columns.items(), 1)
    ]
    texts = _texts(name, state, namespace)
    # The same definition has the same numbers, wherever it is asked for.
    version_id = _number([fields, representations(texts)])
    schema = {"type": "struct", "schema-id": _number(fields), "fields": fields}
    return view_document(view.id, f"view/{view.id}", namespace, version_id, schema, texts)


def _texts(name: str, state: CheckedQuery, namespace: str) -> dict[str, str]:
    """Return the SQL of each engine that can run the view; raises TableRefused for none."""
    refused, texts = "", dict[str, str]()
    for dialect in _DIALECTS:
        catalog = TRINO_CATALOG if dialect == "trino" else ""
        try:
            texts[dialect] = to_sql(state, dialect, tables_named({}, namespace, catalog))
        except KqlError as error:
            refused = str(error)
    if not texts:
        raise TableRefused(f"view {name!r} can be read by neither Spark nor Trino: {refused}")
    return texts


def _number(value: object) -> int:
    return (zlib.crc32(json.dumps(value).encode()) & 0x7FFFFFFF) or 1
