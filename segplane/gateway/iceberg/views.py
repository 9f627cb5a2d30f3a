"""Views of one signal over a table of all signals, for engines that know catalog views."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from segments.parquet.spec import PromotedColumn
from segments.signals import SIGNALS, Signal
from segplane.gateway.iceberg.metadata.schema import signal_schema

# The versions of one view differ by their schema; there is only the current one.
_VERSION_ID = 1
# The name of this catalog in Trino, which looks nowhere for a table without one. Spark looks in the
# view's own catalog, whatever its name.
TRINO_CATALOG = "segplane"


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
    schema = json.loads(signal_schema(name.signal, promoted).json_text)
    columns = [str(field["name"]) for field in schema["fields"]]
    texts = {
        "spark": _sql([namespace], name, columns, "`"),
        "trino": _sql([TRINO_CATALOG, namespace], name, columns, '"'),
    }
    view_id = str(uuid5(UUID(dataset_id), name.signal))
    place = f"{dataset_id}/{name.signal}"
    return view_document(view_id, place, namespace, _VERSION_ID, schema, texts)


def representations(texts: Mapping[str, str]) -> list[dict[str, str]]:
    """Name the SQL of each dialect."""
    return [{"type": "sql", "dialect": dialect, "sql": sql} for dialect, sql in texts.items()]


def view_document(
    view_id: str,
    place: str,
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
        "location": f"segplane:{place}",
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
