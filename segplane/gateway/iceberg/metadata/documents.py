"""The metadata document of a table: JSON that names its schema, its specs and its snapshots."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from meta.v1.operations_pb2 import TableSnapshot
from segments.keys import table_prefix
from segplane.gateway.iceberg.metadata.manifests import DAY_SPEC, PARTITION_FIELD_ID, SPECS
from segplane.gateway.iceberg.metadata.schema import TableSchema

# Properties of a table that lacks objects which clients registered: their number, and a JSON list
# of sentences about the first of them.
LEFT_OUT_NUMBER = "segplane.left-out-segments"
LEFT_OUT = "segplane.left-out"
LEFT_OUT_MAX = 20


@dataclass(frozen=True, slots=True)
class Document:
    """A table as its readers get it.

    `json_text` lists all snapshots, `current_text` the current one only.
    """

    json_text: str
    current_text: str
    digest: bytes
    versions: tuple[int, ...]

    @property
    def version(self) -> int:
        """The version that the document shows."""
        return self.versions[-1]


def document(
    dataset_id: str,
    root: str,
    schema: TableSchema,
    snapshots: Sequence[TableSnapshot],
    left_out: Sequence[str] = (),
) -> Document:
    """Describe a table at the last of its snapshots, which come in the order of versions.

    `left_out` are sentences about objects that are not in it.
    """
    listed = [_snapshot(snapshot, root, schema) for snapshot in snapshots]
    text = _text(dataset_id, root, schema, listed, left_out)
    return Document(
        json_text=text,
        current_text=_text(dataset_id, root, schema, listed[-1:], left_out),
        digest=hashlib.sha256(text.encode()).digest(),
        versions=tuple(snapshot.version for snapshot in snapshots),
    )


def _text(
    dataset_id: str,
    root: str,
    schema: TableSchema,
    snapshots: Sequence[dict[str, Any]],
    left_out: Sequence[str],
) -> str:
    current = snapshots[-1]
    properties = {"schema.name-mapping.default": schema.name_mapping}
    if left_out:
        properties |= {
            LEFT_OUT_NUMBER: str(len(left_out)),
            LEFT_OUT: json.dumps(left_out[:LEFT_OUT_MAX]),
        }
    log = [
        {name: snapshot[name] for name in ("snapshot-id", "timestamp-ms")} for snapshot in snapshots
    ]
    metadata = {
        "format-version": 2,
        "table-uuid": dataset_id,
        "location": f"{root}/{table_prefix(dataset_id).rstrip('/')}",
        "last-sequence-number": current["sequence-number"],
        "last-updated-ms": current["timestamp-ms"],
        "last-column-id": schema.last_column_id,
        "current-schema-id": schema.schema_id,
        "schemas": [json.loads(schema.json_text)],
        "default-spec-id": DAY_SPEC,
        "partition-specs": list(SPECS),
        "last-partition-id": PARTITION_FIELD_ID,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": properties,
        "current-snapshot-id": current["snapshot-id"],
        "refs": {"main": {"snapshot-id": current["snapshot-id"], "type": "branch"}},
        "snapshots": list(snapshots),
        "snapshot-log": log,
        "metadata-log": [],
        "statistics": [],
        "partition-statistics": [],
    }
    return json.dumps(metadata, separators=(",", ":"))


def _snapshot(snapshot: TableSnapshot, root: str, schema: TableSchema) -> dict[str, Any]:
    return {
        "snapshot-id": snapshot.version,
        "sequence-number": snapshot.version,
        "timestamp-ms": snapshot.committed_at_millis,
        "manifest-list": f"{root}/{snapshot.object_key}",
        "schema-id": schema.schema_id,
        # The snapshot is an overwrite without a parent, so that an incremental scan is refused;
        # otherwise it would silently find nothing, because no entry of a manifest is marked as
        # added.
        "summary": {
            "operation": "overwrite",
            "total-data-files": str(snapshot.segments),
            "total-records": str(snapshot.number_of_events),
            "total-files-size": str(snapshot.size_bytes),
            "total-delete-files": "0",
            "total-position-deletes": "0",
            "total-equality-deletes": "0",
        },
    }
