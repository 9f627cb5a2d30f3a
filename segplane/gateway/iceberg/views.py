"""Views of the catalog, as SQL for engines that know views of Iceberg catalogs.

Those of one signal are over the table of a dataset. Those over datasets name them as tables and no
version: an engine that runs the SQL reads each table at that table's current version.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from kql.errors import KqlError
from kql.pushdown.reads import reads_of
from kql.scope import CheckedQuery
from kql.sql.engines import EngineName
from kql.sql.relations import tables_named, to_sql
from kql.types import KqlType
from meta.client import MetaClient
from meta.errors import InvalidArgument, NotFound, RoleRefused
from meta.v1 import catalog_pb2
from segments.dataset_names import parse
from segments.parquet.spec import PromotedColumn
from segments.signals import SIGNALS, Signal
from segplane.gateway.iceberg.metadata.schema import table_schema
from segplane.gateway.iceberg.refusals import TableMissing, TableRefused
from segplane.read import groups
from segplane.read.views.view_sql import ViewUnreadable, compiled_view

# The versions of one view differ by their schema; there is only the current one.
_VERSION_ID = 1
# The name of this catalog in Trino, which looks nowhere for a table without one. Spark looks in the
# view's own catalog, whatever its name.
TRINO_CATALOG = "segplane"
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


@dataclass(frozen=True, slots=True)
class ViewName:
    """A dataset and a signal."""

    dataset_name: str
    signal: Signal

    def __str__(self) -> str:
        return f"{self.dataset_name}_{self.signal}"


def view_names(dataset_name: str) -> list[ViewName]:
    """The views over a dataset."""
    return [ViewName(dataset_name, signal) for signal in SIGNALS]


def parse_view_name(name: str) -> ViewName | None:
    """The view that may have this name."""
    for signal in SIGNALS:
        dataset_name = name.removesuffix(f"_{signal}")
        if dataset_name and dataset_name != name:
            return ViewName(dataset_name, signal)
    return None


def view_metadata(
    name: ViewName, dataset_id: str, namespace: str, promoted: Sequence[PromotedColumn]
) -> dict[str, Any]:
    """Describe a view as Iceberg's view specification wants it."""
    schema = json.loads(table_schema(promoted, (name.signal,)).json_text)
    columns = [str(field["name"]) for field in schema["fields"]]
    texts = {
        "spark": _sql([namespace], name, columns, "`"),
        "trino": _sql([TRINO_CATALOG, namespace], name, columns, '"'),
    }
    view_id = str(uuid5(UUID(dataset_id), name.signal))
    location = f"{dataset_id}/{name.signal}"
    return view_document(view_id, location, namespace, _VERSION_ID, schema, texts)


def representations(texts: Mapping[str, str]) -> list[dict[str, str]]:
    """Name the SQL of each dialect."""
    return [{"type": "sql", "dialect": dialect, "sql": sql} for dialect, sql in texts.items()]


def view_document(
    view_id: str,
    location: str,
    namespace: str,
    version_id: int,
    schema: Mapping[str, Any],
    texts: Mapping[str, str],
) -> dict[str, Any]:
    """Describe a view of one version, whose SQL is there in several dialects."""
    version = {
        "version-id": version_id,
        # Nobody can change a view by the catalog, so no time of a change is known.
        "timestamp-ms": 0,
        "schema-id": schema["schema-id"],
        "summary": {"engine-name": "segplane"},
        "default-namespace": [namespace],
        "representations": representations(texts),
    }
    return {
        "view-uuid": view_id,
        "format-version": 1,
        "location": f"segplane:{location}",
        "current-version-id": version_id,
        "versions": [version],
        "version-log": [{"version-id": version_id, "timestamp-ms": 0}],
        "schemas": [schema],
        "properties": {},
    }


def _sql(schema: Sequence[str], name: ViewName, columns: Sequence[str], quote: str) -> str:
    def quoted(text: str) -> str:
        return f"{quote}{text.replace(quote, 2 * quote)}{quote}"

    source = ".".join(map(quoted, [*schema, name.dataset_name]))
    listed = ", ".join(map(quoted, columns))
    return f"SELECT {listed} FROM {source} WHERE signal = '{name.signal}'"  # noqa: S608


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
    texts = _texts(name, state, _places(meta, state, namespace))
    # The same definition has the same numbers, wherever it is asked for.
    version_id = _number([fields, representations(texts)])
    schema = {"type": "struct", "schema-id": _number(fields), "fields": fields}
    return view_document(view.id, f"view/{view.id}", namespace, version_id, schema, texts)


def _places(meta: MetaClient, state: CheckedQuery, namespace: str) -> Mapping[str, tuple[str, str]]:
    """Return the namespace of each dataset of a view, and its name there. Raises MetaError."""
    places = {}
    for read in reads_of(state):
        parts = parse(read.name)
        # A name with a slash may be of the default group, from a release before 0.3.0.
        if parts.group is not None and groups.exists(meta, parts.group):
            places[read.name] = parts.group, parts.base_name
        else:
            places[read.name] = namespace, read.name
    return places


def _texts(name: str, state: CheckedQuery, places: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return the SQL of each engine that can run the view; raises TableRefused for none."""
    refused, texts = "", dict[str, str]()
    names, schemas = ({n: pair[i] for n, pair in places.items()} for i in (1, 0))
    for dialect in _DIALECTS:
        catalog = TRINO_CATALOG if dialect == "trino" else ""
        try:
            texts[dialect] = to_sql(state, dialect, tables_named(names, schemas, catalog))
        except KqlError as error:
            refused = str(error)
    if not texts:
        raise TableRefused(f"view {name!r} can be read by neither Spark nor Trino: {refused}")
    return texts


def _number(value: object) -> int:
    return (zlib.crc32(json.dumps(value).encode()) & 0x7FFFFFFF) or 1
