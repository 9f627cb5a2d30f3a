"""Inputs of the field: a file each, with the answer and the rows that are expected."""

import base64
import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

FOLDER = Path(__file__).parents[2] / "field" / "inputs"
REQUESTS: dict[str, Any] = {
    "logs": ExportLogsServiceRequest,
    "metrics": ExportMetricsServiceRequest,
    "traces": ExportTraceServiceRequest,
}
JSON, PROTOBUF = "application/json", "application/x-protobuf"
_KEYS = {"about", "to", "type", "headers", "reply", "rows"}
_BODIES = {"json", "text", "base64", "otlp"}
_IDS = {"traceId", "spanId", "parentSpanId"}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is expected: `says` are parts of its text."""

    status: int | str
    rejected: int = 0
    accepted: int | None = None
    says: tuple[str, ...] = ()


@dataclass(frozen=True)
class FieldInput:
    """An input of a sender and the rows that it becomes; tests/field/README.md has its form."""

    path: Path
    content: dict[str, Any]

    @property
    def name(self) -> str:
        """Its folder and file without the ending."""
        return str(self.path.relative_to(FOLDER).with_suffix(""))

    @property
    def to(self) -> str:
        """A path of the HTTP port, or `grpc logs` and its like."""
        return str(self.content["to"])

    @property
    def headers(self) -> dict[str, str]:
        """Headers beside the token's."""
        is_text = "json" in self.content or "text" in self.content
        kind = self.content.get("type", JSON if is_text else PROTOBUF)
        return {"Content-Type": kind, **self.content.get("headers", {})}

    @cached_property
    def body(self) -> bytes:
        """The bytes that are sent."""
        if "json" in self.content:
            return json.dumps(self.content["json"]).encode()
        if "text" in self.content:
            return str(self.content["text"]).encode()
        if "base64" in self.content:
            return base64.b64decode(self.content["base64"])
        signal = self.to.rpartition(" " if self.to.startswith("grpc ") else "/")[2]
        message = json_format.ParseDict(_with_base64_ids(self.content["otlp"]), REQUESTS[signal]())
        return bytes(message.SerializeToString())

    @property
    def reply(self) -> Reply:
        """The answer that is expected."""
        reply = dict(self.content["reply"])
        return Reply(**{**reply, "says": tuple(reply.get("says", ()))})

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows that are expected, with the columns that matter."""
        return list(self.content.get("rows", ()))

    def check_form(self) -> None:
        """Fail on a member that is misspelt, which would be no check."""
        unknown = self.content.keys() - _KEYS - _BODIES
        assert not unknown, f"{self.name}: members {sorted(unknown)} are not known"
        assert len(self.content.keys() & _BODIES) == 1, f"{self.name} has not one body"
        assert len(self.content["about"]) > 10, f"{self.name} does not say what it is about"


def read_all() -> list[FieldInput]:
    """Read every file, in the order of their names."""
    paths = sorted(FOLDER.rglob("*.json"))
    return [FieldInput(path, json.loads(path.read_text())) for path in paths]


def _with_base64_ids(value: Any) -> Any:
    """Write ids as the JSON form of protobuf has them; OTLP/JSON has them in hexadecimal."""
    if isinstance(value, list):
        return [_with_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode()
        if key in _IDS and isinstance(item, str)
        else _with_base64_ids(item)
        for key, item in value.items()
    }
