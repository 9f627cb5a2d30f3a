"""The OpenAPI document, made of the table of routes, the descriptors and the comments of protos.

`python -m segplane.gateway.management.openapi PROTOS TARGET` writes it, for the descriptors with
comments that protoc wrote to the file PROTOS.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from segplane.gateway.http.paths import ways_of
from segplane.gateway.management import routes, shapes
from segplane.gateway.management.comments import comments_of
from segplane.gateway.management.members import (
    DURATION,
    fields_of,
    is_context,
    is_map,
    is_required,
    is_time,
    member_of,
    words_of,
)
from segplane.gateway.management.rows import CONTEXT, Row, list_of_page, method_of
from segplane.gateway.management.shapes import (
    OTHER_TAGS,
    Schema,
    closed,
    json_content,
    list_of,
    nullable,
    other_operations,
    parameter,
    path_parameters,
    reference,
    responses,
)

_TYPES = {
    FieldDescriptor.CPPTYPE_BOOL: "boolean",
    FieldDescriptor.CPPTYPE_DOUBLE: "number",
    FieldDescriptor.CPPTYPE_FLOAT: "number",
    FieldDescriptor.CPPTYPE_STRING: "string",
}
# The way to a dataset or entry, in the names of operations.
_BY = {"/v1/groups/{group}/datasets": "OfGroup", "-ids/{id}": "ById", "{name}/vacuum": "OfDataset"}
_ABOUT = (
    "Management of Segplane's resources, queries, and records as JSON. A caller sends a bearer"
    " token. An answer has every member, and null where there is no value. The gateway also serves"
    " the Iceberg REST catalog below /iceberg and a part of Kusto's REST API at /v2/rest/query and"
    " /v1/rest/mgmt, which have their own specifications."
)


class OpenApiDocument:
    """The document under construction; `comments` are those of the protos, by full names."""

    def __init__(self, comments: Mapping[str, str]) -> None:
        self._comments = comments
        self._schemas: dict[str, Schema] = dict(shapes.SCHEMAS)

    def build(self) -> Schema:
        """Return the document."""
        paths: dict[str, Schema] = {}
        for route, rows in routes.table().items():
            method, _, path = route.partition(" ")
            for way in ways_of(path):
                paths.setdefault(way, {})[method.lower()] = self._operation(rows, way)
        for path, operations in other_operations().items():
            # The collector knows no ids.
            for way in list(ways_of(path))[: 2 if path.endswith("/records") else None]:
                paths.setdefault(way, {}).update({
                    method: {
                        **operation,
                        "operationId": str(operation["operationId"]) + _by(way),
                        "parameters": [*path_parameters(way), *operation.get("parameters", ())],
                    }
                    for method, operation in operations.items()
                })  # fmt: skip
        return {
            "openapi": "3.1.0",
            "info": {"title": "Segplane", "version": "1", "description": _ABOUT},
            "servers": [{"url": "/"}],
            "tags": OTHER_TAGS,
            "security": [{"bearer": []}, {}],
            "paths": dict(sorted(paths.items())),
            "components": {
                "schemas": dict(sorted(self._schemas.items())),
                "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            },
        }

    def _operation(self, rows: Sequence[Row], path: str) -> Schema:
        row = rows[0]
        about = row.about or self._comments[method_of(row.rpc).full_name]
        operation: Schema = {
            "operationId": _name_of(row) + _by(path),
            "tags": [row.path.split("/")[2].replace("dataset-ids", "datasets")],
            "description": about,
            "parameters": [*path_parameters(path), *self._queried(row), *_conditions(row)],
            "responses": responses(self._answer(rows), row.status),
        }
        if row.method not in ("GET", "DELETE") or row.has_body:
            body = self._body(rows)
            operation["requestBody"] = json_content(body)
        if row.is_deprecated:
            operation["deprecated"] = True
        return operation

    def _queried(self, row: Row) -> Iterator[Schema]:
        for name in row.queried():
            described = row.taken().get("context_member" if name == CONTEXT else name)
            if described is None:
                schema = shapes.MEMBERS[name]
            elif described.message_type is None:
                schema = self._member(described, is_input=False)
            else:
                # KEY=VALUE of a label, or the value of a member of the context.
                schema = {"type": "string", "description": self._comment(described.full_name)}
            yield parameter(name, "query", schema)

    def _body(self, rows: Sequence[Row]) -> Schema:
        if not rows[0].rpc and not rows[0].members:
            return shapes.BOUND_SCHEMA
        properties: Schema = {}
        for row in rows:
            for name, described in row.taken().items():
                if described is None:
                    properties[name] = shapes.MEMBERS[name]
                else:
                    properties[name] = self._member(described, is_input=True)
        return {
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
        }

    def _answer(self, rows: Sequence[Row]) -> Schema:
        row = rows[0]
        if row.then:
            return self._answer(routes.table()[f"GET {row.then}"])
        if row.is_list:
            return shapes.page_of(self._item(row))
        if row.answer.endswith("[]"):
            return shapes.page_of(self._named(row.answer.removesuffix("[]")))
        if row.method != "GET":
            return self._reply(row)
        name = f"{_name_of(row)}Answer"
        if name not in self._schemas:
            merged: Schema = {}
            for each in rows:
                merged |= self._properties(each)
            self._schemas[name] = closed(merged)
        return reference(name)

    def _item(self, row: Row) -> Schema:
        message = cast(Descriptor, list_of_page(method_of(row.rpc).output_type).message_type)
        if "columns" not in row.parameters:
            return self._message(message)
        properties = self._members(message) | {
            "columns": reference("Columns"),
            "error": {"type": "string", "description": "Why it cannot be read."},
        }
        return closed(properties, "columns", "error")

    def _reply(self, row: Row) -> Schema:
        if row.answer:
            return self._named(row.answer)
        return self._message(_shown_of(row))

    def _properties(self, row: Row) -> Schema:
        """Return the members that a row of GET gives."""
        if row.answer:
            answer_schema: Any = self._schemas[row.answer]
            return {**answer_schema["properties"], "version": {"type": "string"}}
        properties = self._members(_shown_of(row))
        properties.pop(row.hidden, None)
        version = method_of(row.rpc).output_type.fields_by_name.get("version")
        if version is not None and version.cpp_type == FieldDescriptor.CPPTYPE_STRING:
            properties["version"] = {"type": "string", "description": "The ETag."}
        return properties

    def _named(self, name: str) -> Schema:
        """Return a reference to a schema: one of the shapes, or that of a message."""
        module, _, message = name.rpartition(".")
        if not module:
            return reference(name)
        descriptor: Any = import_module(f"meta.v1.{module}_pb2").DESCRIPTOR
        return self._message(descriptor.message_types_by_name[message])

    def _message(self, message: Descriptor, *, is_input: bool = False) -> Schema:
        """Return a reference to the schema of a message; members of an input may be absent."""
        name = f"{message.name}Input" if is_input else message.name
        if name not in self._schemas:
            # A message may hold itself.
            self._schemas[name] = {}
            properties = self._members(message, is_input=is_input)
            schema = closed(properties)
            if is_input:
                schema["required"] = [member_of(f) for f in message.fields if is_required(f)]
            self._schemas[name] = {"description": self._comment(message.full_name), **schema}
        return reference(name)

    def _members(self, message: Descriptor, *, is_input: bool = False) -> Schema:
        members: Schema = {}
        for field in message.fields:
            if field.name == "authors":
                for each in fields_of(field.message_type):
                    members.setdefault(each.name, self._member(each, is_input=False))
            else:
                members[member_of(field)] = self._member(field, is_input=is_input)
        return members

    def _member(self, field: FieldDescriptor, *, is_input: bool) -> Schema:
        about = self._comment(field.full_name)
        if field.name == "set_labels":
            value: Schema = {"type": ["string", "null"]}
            schema: Schema = {"type": "object", "additionalProperties": value}
            return {"description": "Labels to set; null removes one.", **schema}
        if is_map(field):
            schema = {"type": "object", "additionalProperties": {"type": "string"}}
        elif field.message_type is not None and field.message_type.full_name != DURATION:
            schema = self._message(field.message_type, is_input=is_input)
        else:
            schema = _scalar(field)
        if field.is_repeated and not is_map(field):
            schema = list_of(schema)
        elif not is_map(field) and (field.has_presence or _is_null_if_empty(field) or is_input):
            schema = _or_null(schema)
        return {"description": about, **schema} if about else schema

    def _comment(self, name: str) -> str:
        return self._comments.get(name, "")


def _shown_of(row: Row) -> Descriptor:
    reply = method_of(row.rpc).output_type
    return cast(Descriptor, reply.fields_by_name[row.shown].message_type) if row.shown else reply


def _scalar(field: FieldDescriptor) -> Schema:
    if field.enum_type is not None:
        return {"type": "string", "enum": list(words_of(field))}
    if is_time(field):
        return {"type": "string", "format": "date-time"}
    if is_context(field):
        return {"type": "object"}
    if field.message_type is not None:
        return {"type": "string", "pattern": r"^-?[0-9]+([.][0-9]+)?s$"}
    return {"type": _TYPES.get(field.cpp_type, "integer")}


def _is_null_if_empty(field: FieldDescriptor) -> bool:
    if field.enum_type is not None:
        return not is_required(field)
    return is_time(field) or field.cpp_type == FieldDescriptor.CPPTYPE_STRING


def _or_null(schema: Schema) -> Schema:
    if "type" not in schema:
        return nullable(schema)
    with_null: Schema = {**schema, "type": [schema["type"], "null"]}
    words: Any = schema.get("enum")
    return {**with_null, "enum": [*words, None]} if words else with_null


def _conditions(row: Row) -> Iterator[Schema]:
    if row.method in ("PATCH", "PUT"):
        about = "The ETag of the version that this change is for. Without it, any version."
        yield parameter("If-Match", "header", {"type": "string", "description": about})


def _name_of(row: Row) -> str:
    """Return the name of an operation: that of its RPC, with the noun where it takes any kind."""
    noun = "".join(word.title() for word in row.path.split("/")[2].split("-"))
    name = row.rpc.partition(".")[2]
    if row.run is not None:
        verb = "Post" if row.is_deprecated else row.run.__name__.title().replace("_", "")
        return verb if verb.startswith("List") else f"{verb}{noun}"
    return f"{name.removesuffix('s').replace('Resource', '')}{noun}" if row.kind else name


def _by(path: str) -> str:
    return next((name for part, name in _BY.items() if part in path), "")


def text_of(descriptors: bytes) -> str:
    """Return the document for the descriptors with comments that protoc wrote."""
    comments = comments_of(FileDescriptorSet.FromString(descriptors))
    return json.dumps(OpenApiDocument(comments).build(), indent=1) + "\n"


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(text_of(Path(sys.argv[1]).read_bytes()))
