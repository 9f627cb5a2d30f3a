"""Schemas of the OpenAPI document that no message has: those of answers made of several calls."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, object]
_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_WHOLE: Schema = {"type": "integer"}


def reference(name: str) -> Schema:
    """Return a reference to a schema of the document."""
    return {"$ref": f"#/components/schemas/{name}"}


def nullable(schema: Schema) -> Schema:
    """Return a schema that takes null too."""
    return {"anyOf": [schema, {"type": "null"}]}


def list_of(schema: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": schema}


def closed(properties: Schema, *optional: str) -> Schema:
    """Return the schema of an object with these members, all of which are there but a few."""
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def page_of(item: Schema) -> Schema:
    """Return the schema of a page of a list."""
    return closed({"items": list_of(item), "next": _TEXT_OR_NULL})


_PATH_PARTS = {
    "name": "Its name.",
    "group": "Name of the dataset's group.",
    "id": "Its id.",
}
_COLUMNS = list_of(closed({"name": _TEXT, "type": _TEXT}))
_SCHEMA = closed(
    {
        "name": _TEXT_OR_NULL,
        "id": _TEXT,
        "version": _WHOLE,
        "follows_newest": {"type": "boolean"},
        "attributes": {
            "type": "object",
            "additionalProperties": closed(
                {"scope": {"enum": ["record", "resource", "scope"]}, "attribute": _TEXT}
            ),
        },
    }
)
BOUND_SCHEMA: Schema = {
    "description": "Name of a schema, or an object with its version or attributes; null = none.",
    "anyOf": [
        _TEXT,
        {"type": "null"},
        closed(
            {
                "name": _TEXT,
                "version": {"type": ["integer", "null"], "minimum": 1},
                "attributes": {
                    "type": "object",
                    "additionalProperties": closed({"scope": _TEXT, "attribute": _TEXT}, "scope"),
                },
            },
            "version",
            "attributes",
        ),
    ],
}
MEMBERS: dict[str, Schema] = {
    "name": {"type": "string", "description": "Its name."},
    "group": {"type": ["string", "null"], "description": "Its group; null = the default group."},
    "schema": BOUND_SCHEMA,
    "records_per_month": {
        "type": "integer",
        "minimum": -1,
        "description": "Records a calendar month: 0 = the server's default, -1 = unlimited.",
    },
    "columns": {"type": "boolean", "description": "Whether items have columns. Defaults to true."},
    "keep_files": {"type": "boolean", "description": "Whether the files stay. Defaults to false."},
    "dataset": {"type": "string", "description": "Name of the only dataset, or of the target."},
    "tenant": {"type": "string", "description": "Name of the only tenant."},
    "month": {"type": "string", "description": "The only month, as YYYY-MM."},
    "stream_id": {"type": "string", "description": "Id of the only stream."},
    "cause": {"type": "string", "description": "The only cause, such as undecodable."},
    "content": {"type": "boolean", "description": "Whether to send its bytes, in base64."},
    "as_is": {
        "type": "boolean",
        "description": "Takes damaged bytes that decode, and records that violate the schema.",
    },
    "uncounted": {"type": "boolean", "description": "Takes one that no registration counts."},
    "held_elsewhere": {
        "type": "boolean",
        "description": "Deletes one that no registration counts and whose records are held.",
    },
    "accept_loss": {"type": "boolean", "description": "The records are lost."},
    "reason": {"type": "string", "description": "Reason, for the ledger of losses."},
    "with_rows": {"type": "boolean", "description": "Also count rows and duplicates."},
    "limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": 1000,
        "description": "Most items of the page. Defaults to 100.",
    },
    "after": {"type": "string", "description": "`next` of the page before."},
}  # fmt: skip
SCHEMAS: dict[str, Schema] = {
    "Refusal": closed(
        {
            "error": closed(
                {
                    "message": _TEXT,
                    "type": _TEXT,
                    "code": _WHOLE,
                    "excerpt": _TEXT,
                    "reason": _TEXT,
                    "metadata": {"type": "object", "additionalProperties": _TEXT},
                },
                "excerpt",
                "reason",
                "metadata",
            )
        }
    ),
    "DatasetWithColumns": closed(
        {
            "id": _TEXT,
            "name": _TEXT,
            "schema": nullable(_SCHEMA),
            "records_per_month": _WHOLE,
            "columns": _COLUMNS,
        }
    ),
    "DeletedDataset": closed(
        {"id": _TEXT, "name": _TEXT, "undelete": _TEXT, "kept_below": _TEXT}, "kept_below"
    ),
    "QuarantinedPayload": closed(
        {
            "key": _TEXT,
            "stream_id": _TEXT,
            "offset": _WHOLE,
            "signal": _TEXT_OR_NULL,
            "size_bytes": _WHOLE,
            "dataset_id": _TEXT_OR_NULL,
            "cause": _TEXT,
            "received_at": {"type": ["string", "null"], "format": "date-time"},
            "modified_at": {"type": "string", "format": "date-time"},
            "is_counted": {"type": "boolean"},
            "content": _TEXT,
        },
        "content",
    ),
    "ReplayedPayload": closed({"dataset_id": _TEXT, "version": _WHOLE, "segments": _WHOLE}),
    "DiscardedPayload": closed({"key": _TEXT, "version": {"type": ["integer", "null"]}}),
    "Records": list_of({"type": "object"}),
    "Query": closed(
        {
            "query": {"type": "string", "maxLength": 65_536},
            "language": {"enum": ["kql", "sql", None]},
            "format": {"enum": ["json", "csv", "arrow"]},
            "adjust_time": {
                "type": "boolean",
                "description": "Adds the time adjustment of each dataset to the times of records.",
            },
        },
        "language",
        "format",
        "adjust_time",
    ),
    "AcceptedRecords": closed(
        {
            "accepted": _WHOLE,
            "rejected": _WHOLE,
            "repeated": {"type": "boolean"},
            "batch_id": _TEXT,
            "errors": list_of({"type": "object"}),
        }
    ),
    "Columns": _COLUMNS,
}


def parameter(name: str, location: str, schema: Schema) -> Schema:
    """Return a parameter, which is never null."""
    types, words = schema.get("type"), schema.get("enum")
    value = {key: each for key, each in schema.items() if key != "description"}
    if isinstance(types, list):
        value["type"] = types[0]
    if isinstance(words, list):
        value["enum"] = [word for word in words if word is not None]
    return {"name": name, "in": location, "description": schema["description"], "schema": value}


def path_parameters(path: str) -> Iterator[Schema]:
    """Yield the parameters that are parts of a path."""
    for part in path.split("/"):
        if part.startswith("{"):
            about = _PATH_PARTS.get(part[1:-1], "Its id.")
            schema: Schema = {"type": "string", "description": about}
            yield {**parameter(part[1:-1], "path", schema), "required": True}


def responses(schema: Schema, status: int) -> Schema:
    """Return the responses of an operation."""
    answers = {str(status): {"description": "The answer.", **json_content(schema)}}
    return {
        **answers,
        "default": {"description": "A refusal.", **json_content(reference("Refusal"))},
    }


def json_content(schema: Schema) -> Schema:
    """Return a body that is JSON."""
    return {"content": {"application/json": {"schema": schema}}}


OTHER_TAGS = [
    {
        "name": "iceberg",
        "description": "The Iceberg REST catalog, below /iceberg.",
        "externalDocs": {"url": "https://iceberg.apache.org/rest-catalog-spec/"},
    },
    {
        "name": "kusto",
        "description": "A part of Kusto's REST API, at /v2/rest/query and /v1/rest/mgmt.",
        "externalDocs": {"url": "https://learn.microsoft.com/kusto/api/rest/"},
    },
]


_VERSION = {"type": "integer", "minimum": 0, "description": "Version to read beyond; 0 = now."}
_FRESH = {
    "operationId": "ReadFreshPayloads",
    "tags": ["datasets"],
    "description": "Reads payloads that are committed and not merged yet, for `segplane.read`:"
    " frames of a line of JSON and a payload in OTLP. The last one has `end`.",
    "parameters": [parameter("version", "query", _VERSION)],
    "responses": responses({"type": "string", "format": "binary"}, 200),
}


def other_operations() -> Mapping[str, dict[str, Any]]:
    """Return the operations that are in no table: queries, records and the document."""
    query = {
        "operationId": "Query",
        "tags": ["query"],
        "description": "Runs a query in KQL or SQL.",
    }
    limit = {
        **MEMBERS["limit"],
        "description": "Most records of each signal. Defaults to 10.",
    }
    preview = {
        "operationId": "Preview",
        "tags": ["datasets"],
        "description": "Reads the newest records of each signal of a dataset.",
        "parameters": [parameter("limit", "query", limit)],
        "responses": responses(reference("Records"), 200),
    }
    records = {
        "operationId": "SendRecords",
        "tags": ["records"],
        "description": "Takes log records as JSON. The collector answers, with an ingest token.",
        "requestBody": json_content({"anyOf": [{"type": "object"}, reference("Records")]}),
        "responses": responses(reference("AcceptedRecords"), 200),
    }
    document = {
        "operationId": "ReadDocument",
        "tags": ["openapi"],
        "description": "Reads this document. It needs no token.",
        "security": [{}],
    }
    return {
        "/v1/query": {
            "post": {
                **query,
                "requestBody": json_content(reference("Query")),
                "responses": responses(reference("Records"), 200),
            }
        },
        "/v1/datasets/{name}/preview": {"get": preview},
        "/v1/datasets/{name}/fresh": {"get": _FRESH},
        "/v1/datasets/{name}/records": {"post": records},
        "/v1/openapi.json": {"get": {**document, "responses": responses({"type": "object"}, 200)}},
    }  # fmt: skip
