"""OTLP/JSON to protobuf: proto3 JSON, read strictly, a record at a time."""

from collector.otlp.json.export import PARTS_PER_RECORD, to_protobuf

__all__ = ["PARTS_PER_RECORD", "to_protobuf"]
