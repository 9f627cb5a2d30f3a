"""Bodies of requests that create and change datasets."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as ops
from segplane.gateway.http.refusals import QueryRefusal

_SCOPES = ("record", "resource", "scope")
_INT32_MAX, _INT64_MAX = 2**31 - 1, 2**63 - 1


@dataclass(frozen=True, slots=True)
class SchemaAsk:
    """A schema to bind by its name, "" = none; `binding` lacks its id."""

    name: str
    binding: ops.SchemaBinding = field(default_factory=ops.SchemaBinding)


@dataclass(frozen=True, slots=True)
class DatasetAsk:
    """A dataset, and what of it is to be set; None = as it is.

    `records_per_month` is 0 for the server's default, -1 for unlimited.
    """

    name: str
    schema: SchemaAsk | None = None
    records_per_month: int | None = None


def asked_dataset(content: Any, name: str | None = None) -> DatasetAsk:
    """Return the request in a body, for the dataset of a path or of its own name.

    Raises QueryRefusal.
    """
    fields = ("schema", "records_per_month") if name else ("name", "schema", "records_per_month")
    body = _object(content, fields, "the body")
    dataset = name or _text(body.get("name"), "name")
    schema = None if body.get("schema") is None else asked_schema(body["schema"])
    quota = body.get("records_per_month")
    if quota is not None:
        quota = _number(quota, "records_per_month", -1, _INT64_MAX)
    return DatasetAsk(dataset, schema, quota)


def asked_schema(content: Any) -> SchemaAsk:
    """Return the schema that a text or an object names; null = none. Raises QueryRefusal."""
    if content is None:
        return SchemaAsk("")
    if isinstance(content, str):
        return SchemaAsk(_text(content, "schema"))
    body = _object(content, ("name", "version", "attributes"), "schema")
    name, version = _text(body.get("name"), "schema.name"), body.get("version")
    if version is not None:
        version = _number(version, "schema.version", 1, _INT32_MAX)
    attributes = body.get("attributes", {})
    if not isinstance(attributes, dict):
        raise QueryRefusal("schema.attributes is not an object of columns")
    return SchemaAsk(
        name, ops.SchemaBinding(version=version, attributes=list(_attributes(attributes)))
    )


def asked_new_name(content: Any, name: str, group: str) -> str:
    """Return the name that a body gives a dataset of a name and group. Raises QueryRefusal."""
    body = _object(content, ("name", "group"), "the body")
    if "name" in body:
        name = _text(body["name"], "name")
    if "group" in body:
        group = "" if body["group"] is None else _text(body["group"], "group")
    return f"{group}/{name}" if group else name


def asked_to_keep_files(flags: Sequence[str]) -> bool:
    """Return whether the files of a deleted dataset stay; they do not by default.

    Raises QueryRefusal, since a misspelt or contradicted parameter must not delete them.
    """
    if len(flags) > 1:
        raise QueryRefusal("keep_files is there more than once")
    flag = flags[0] if flags else "false"
    if flag not in ("true", "false"):
        raise QueryRefusal(f"keep_files is {flag[:80]!r}, expected true or false")
    return flag == "true"


def _attributes(columns: dict[Any, Any]) -> Iterable[ops.BoundAttribute]:
    for column, content in columns.items():
        path = f"schema.attributes.{_text(column, 'a column of schema.attributes')[:80]}"
        body = _object(content, ("scope", "attribute"), path)
        scope = body.get("scope", "record")
        if scope not in _SCOPES:
            raise QueryRefusal(f"{path}.scope is not one of {', '.join(_SCOPES)}")
        attribute = _text(body.get("attribute"), f"{path}.attribute")
        scope_number = common_pb2.AttributeScope.Value(f"ATTRIBUTE_SCOPE_{scope.upper()}")
        yield ops.BoundAttribute(column=column, scope=scope_number, attribute=attribute)


def _object(content: Any, fields: tuple[str, ...], path: str) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise QueryRefusal(f"{path} is not an object with {', '.join(fields)}")
    unknown = [name for name in content if name not in fields]
    if unknown:
        raise QueryRefusal(f"{unknown[0][:80]!r} is not known: {path} has {', '.join(fields)}")
    return content


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str) or not value:
        raise QueryRefusal(f"{path} is not text with characters")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise QueryRefusal(f"{path} is not valid Unicode") from None
    return value


def _number(value: Any, path: str, low: int, high: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise QueryRefusal(f"{path} is not a whole number from {low} to {high}")
    return value
