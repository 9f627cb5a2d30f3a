"""Manifests and lists of manifests, as Avro, of version 2 of Iceberg's table format."""

import hashlib
import io
import json
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import fastavro

from segplane.gateway.iceberg.metadata.data_files import DataFile
from segplane.gateway.iceberg.metadata.schema import SIGNAL_ID, TIMESTAMP_ID, TableSchema

UNPARTITIONED_SPEC, DAY_SPEC = 0, 1
PARTITION_FIELD_ID = 1000
# Raised whenever other bytes follow from the same files: a digest stands for all of the content.
LAYOUT = 1
_EXISTING = 0
_DATA = 0
_NANOS_PER_MICRO = 1_000
_DAY_FIELD = {
    "source-id": TIMESTAMP_ID,
    "field-id": PARTITION_FIELD_ID,
    "transform": "day",
    "name": "timestamp_day",
}
SPECS: tuple[dict[str, Any], ...] = (
    {"spec-id": UNPARTITIONED_SPEC, "fields": []},
    {"spec-id": DAY_SPEC, "fields": [_DAY_FIELD]},
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Files of one spec, and the digest of all that their manifest says of them."""

    spec_id: int
    files: tuple[DataFile, ...]
    digest: bytes


@dataclass(frozen=True, slots=True)
class StoredManifest:
    """A manifest, and the URL and size of its object."""

    manifest: Manifest
    url: str
    size_bytes: int


def manifest_of(spec_id: int, files: Sequence[DataFile], schema: TableSchema) -> Manifest:
    """Name a manifest by its content."""
    digest = hashlib.sha256(f"manifest {LAYOUT} {spec_id} {schema.json_text}\n".encode())
    digest.update(repr([tuple(file) for file in files]).encode())
    return Manifest(spec_id, tuple(files), digest.digest())


def encode_manifest(manifest: Manifest, schema: TableSchema) -> bytes:
    """The bytes of a manifest; equal content gives equal bytes."""
    spec = SPECS[manifest.spec_id]
    metadata = {
        "schema": schema.json_text,
        "schema-id": str(schema.schema_id),
        "partition-spec": json.dumps(spec["fields"]),
        "partition-spec-id": str(manifest.spec_id),
        "format-version": "2",
        "content": "data",
    }
    rows = (_entry(file, manifest.spec_id) for file in manifest.files)
    return _avro(_ENTRIES[manifest.spec_id], rows, metadata, manifest.digest)


def list_digest(version: int, manifests: Sequence[StoredManifest]) -> bytes:
    """The digest of a list of manifests."""
    digest = hashlib.sha256(f"list {LAYOUT} {version}\n".encode())
    for stored in manifests:
        digest.update(stored.manifest.digest)
        digest.update(f"{stored.url} {stored.size_bytes}\n".encode())
    return digest.digest()


def encode_list(version: int, manifests: Sequence[StoredManifest], digest: bytes) -> bytes:
    """The bytes of the list of a snapshot's manifests."""
    metadata = {
        "snapshot-id": str(version),
        "sequence-number": str(version),
        "format-version": "2",
    }
    return _avro(_LIST, map(_list_row, manifests), metadata, digest)


def _avro(
    schema: Any, rows: Iterable[dict[str, Any]], metadata: dict[str, str], digest: bytes
) -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(
        buffer, schema, rows, codec="deflate", metadata=metadata, sync_marker=digest[:16]
    )
    return buffer.getvalue()


def _entry(file: DataFile, spec_id: int) -> dict[str, Any]:
    lowest = [
        {"key": SIGNAL_ID, "value": file.lowest_signal.encode()},
        {"key": TIMESTAMP_ID, "value": _micros(file.start_ns)},
    ]
    highest = [
        {"key": SIGNAL_ID, "value": file.highest_signal.encode()},
        {"key": TIMESTAMP_ID, "value": _micros(file.end_ns)},
    ]
    return {
        "status": _EXISTING,
        "snapshot_id": file.created_version,
        "sequence_number": file.created_version,
        "file_sequence_number": file.created_version,
        "data_file": {
            "content": _DATA,
            "file_path": file.path,
            "file_format": "PARQUET",
            "partition": {"timestamp_day": file.day} if spec_id == DAY_SPEC else {},
            "record_count": file.number_of_events,
            "file_size_in_bytes": file.size_bytes,
            "lower_bounds": lowest,
            "upper_bounds": highest,
            "sort_order_id": 0,
        },
    }


def _list_row(stored: StoredManifest) -> dict[str, Any]:
    manifest = stored.manifest
    versions = [file.created_version for file in manifest.files]
    partitions = []
    if manifest.spec_id == DAY_SPEC:
        # Their order is that of the days.
        days = manifest.files[0].day, manifest.files[-1].day
        low, high = (struct.pack("<i", day) for day in days)
        partitions = [
            {"contains_null": False, "contains_nan": False, "lower_bound": low, "upper_bound": high}
        ]
    return {
        "manifest_path": stored.url,
        "manifest_length": stored.size_bytes,
        "partition_spec_id": manifest.spec_id,
        "content": _DATA,
        "sequence_number": max(versions),
        "min_sequence_number": min(versions),
        "added_snapshot_id": max(versions),
        "added_files_count": 0,
        "existing_files_count": len(versions),
        "deleted_files_count": 0,
        "added_rows_count": 0,
        "existing_rows_count": sum(file.number_of_events for file in manifest.files),
        "deleted_rows_count": 0,
        "partitions": partitions,
    }


def _micros(nanos: int) -> bytes:
    # Rounded down, as the files' times are, also before 1970.
    return struct.pack("<q", nanos // _NANOS_PER_MICRO)


def _field(name: str, field_id: int, type_: Any) -> dict[str, Any]:
    field = {"name": name, "type": type_, "field-id": field_id}
    return field | {"default": None} if isinstance(type_, list) else field


def _map(name: str, field_id: int, key_id: int, value_id: int, value: str) -> dict[str, Any]:
    # Iceberg writes a map as an array of pairs, because Avro's own has keys of text only.
    pair = {
        "type": "record",
        "name": f"k{key_id}_v{value_id}",
        "fields": [_field("key", key_id, "int"), _field("value", value_id, value)],
    }
    items = {"type": "array", "logicalType": "map", "items": pair}
    return _field(name, field_id, ["null", items])


def _entry_schema(partition: list[dict[str, Any]]) -> Any:
    data_file = [
        _field("content", 134, "int"),
        _field("file_path", 100, "string"),
        _field("file_format", 101, "string"),
        _field("partition", 102, {"type": "record", "name": "r102", "fields": partition}),
        _field("record_count", 103, "long"),
        _field("file_size_in_bytes", 104, "long"),
        _map("lower_bounds", 125, 126, 127, "bytes"),
        _map("upper_bounds", 128, 129, 130, "bytes"),
        _field("sort_order_id", 140, ["null", "int"]),
    ]
    fields = [
        _field("status", 0, "int"),
        _field("snapshot_id", 1, ["null", "long"]),
        _field("sequence_number", 3, ["null", "long"]),
        _field("file_sequence_number", 4, ["null", "long"]),
        _field("data_file", 2, {"type": "record", "name": "r2", "fields": data_file}),
    ]
    return fastavro.parse_schema({"type": "record", "name": "manifest_entry", "fields": fields})


_DAY_TYPE = ["null", {"type": "int", "logicalType": "date"}]
_ENTRIES = {
    UNPARTITIONED_SPEC: _entry_schema([]),
    DAY_SPEC: _entry_schema([_field("timestamp_day", PARTITION_FIELD_ID, _DAY_TYPE)]),
}
_SUMMARY = {
    "type": "record",
    "name": "r508",
    "fields": [
        _field("contains_null", 509, "boolean"),
        _field("contains_nan", 518, ["null", "boolean"]),
        _field("lower_bound", 510, ["null", "bytes"]),
        _field("upper_bound", 511, ["null", "bytes"]),
    ],
}
_LIST = fastavro.parse_schema(
    {
        "type": "record",
        "name": "manifest_file",
        "fields": [
            _field("manifest_path", 500, "string"),
            _field("manifest_length", 501, "long"),
            _field("partition_spec_id", 502, "int"),
            _field("content", 517, "int"),
            _field("sequence_number", 515, "long"),
            _field("min_sequence_number", 516, "long"),
            _field("added_snapshot_id", 503, "long"),
            _field("added_files_count", 504, "int"),
            _field("existing_files_count", 505, "int"),
            _field("deleted_files_count", 506, "int"),
            _field("added_rows_count", 512, "long"),
            _field("existing_rows_count", 513, "long"),
            _field("deleted_rows_count", 514, "long"),
            _field(
                "partitions",
                507,
                ["null", {"type": "array", "element-id": 508, "items": _SUMMARY}],
            ),
        ],
    }
)
