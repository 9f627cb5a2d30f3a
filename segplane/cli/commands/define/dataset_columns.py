"""segplane datasets columns: the bound schema, promoted, automatic and further columns."""

import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal, get_args

from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient, catalog_pb2, common_pb2
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.output import Answer, Fact, table
from segplane.cli.parameters import Option
from segplane.cli.settings_of_datasets import (
    SettingsChange,
    duration,
    settings_answer,
    settings_command,
)

NO_SCHEMA = "none"
Promote = Annotated[
    list[str] | None,
    Option(
        metavar="COLUMN:TYPE:SCOPE:ATTRIBUTE",
        help="A typed column over an attribute, such as status:int:record:http.status_code; "
        "TYPE is a KqlType, SCOPE record, resource or scope. Replaces all others but those "
        "of the dataset's schema.",
    ),
]
FIELDS = (
    *("binding", "schema_violations", "promoted_columns", "record_ids", "batch_ids"),
    *("timestamp_unit", "time_adjustment_nanos", "automatic_columns", "foreign_files"),
)
_COLUMN = re.compile(r"(?P<name>[^:]+):(?P<type>\w+):(?P<scope>\w+):(?P<attribute>.+)")
_MAPPED = re.compile(r"(?P<column>[^:]+):(?P<scope>record|resource|scope):(?P<attribute>.+)")
_AUTOMATIC_TYPES = ("string", "long")
# Units of numeric times, as requests name them, and as meta does.
Unit = Literal["s", "ms", "us", "ns", "guess"]
_UNITS = ("SECONDS", "MILLISECONDS", "MICROSECONDS", "NANOSECONDS", "UNSPECIFIED")
_UNIT_OF: dict[str, str] = dict(zip(get_args(Unit), _UNITS, strict=True))


def set_columns(
    change: SettingsChange,
    schema: str | None = None,
    schema_version: Annotated[int | None, Option(min=1)] = None,
    read: Annotated[list[str] | None, Option(metavar="COLUMN:SCOPE:ATTRIBUTE")] = None,
    schema_violations: Literal["null", "quarantine", "reject"] | None = None,
    promote: Promote = None,
    promote_none: bool = False,
    record_ids: bool | None = None,
    batch_ids: bool | None = None,
    timestamp_unit: Unit | None = None,
    time_adjustment: Annotated[str | None, Option(metavar="[-]LENGTH")] = None,
    automatic_columns: Literal["on", "off"] | None = None,
    automatic_key: Annotated[list[str] | None, Option(metavar="KEY[:TYPE]")] = None,
    time_column: Annotated[str | None, Option(metavar="COLUMN")] = None,
) -> None:
    """Show the columns beyond those of the format; with options, change them first.

    Options:
        schema: Make every column of this schema a typed column of new segments; none: remove them.
        schema_version: Version of the schema; unset: the newest.
        read: The attribute that a column reads, such as host:resource:host.name; SCOPE is record,
            resource or scope. Without it, the record's attribute of the column's name.
        schema_violations: Treatment of a record with a value that does not fit its column: null
            there, as usual, the quarantine, or a rejection that the sender sees.
        promote_none: Remove all promoted columns.
        record_ids: Have the columns id and ingested_at in segments that are written from now on.
        batch_ids: Have the column batch_id, the digest of each record's request, in new segments.
        timestamp_unit: Unit of numeric timestamps in JSON records; guess: by the magnitude.
        time_adjustment: What readers add to times on request, such as 90m or -30s; 0 removes it.
        automatic_columns: Whether there are hidden columns over attributes, which queries read.
        automatic_key: An attribute with such a column, string or long. Replaces all others.
        time_column: Column of the times in objects that clients register; '' = timestamp.
    """
    if schema is not None:
        _bind(change, schema, schema_version, read or ())
    elif schema_version or read:
        raise usage("--schema-version and --read need --schema")
    promote_columns(change, promote, is_none=promote_none)
    change.set_fields(
        schema_violations=_number(schema_violations, pb.SchemaViolations, "SCHEMA_VIOLATIONS"),
        record_ids=record_ids,
        batch_ids=batch_ids,
        timestamp_unit=_number(timestamp_unit, pb.TimestampUnit, "TIMESTAMP_UNIT"),
        time_adjustment_nanos=_nanos(time_adjustment),
        automatic_columns__enabled=automatic_columns and automatic_columns == "on",
        foreign_files__time_column=time_column,
    )
    if automatic_key:
        _set_keys(change, automatic_key)


def _answer(client: MetaClient, reply: "pb.SetDatasetSettingsResponse") -> Answer:
    texts = column_facts(client, reply.settings)
    return settings_answer(reply, FIELDS, texts, promoted_table(reply.settings))


columns = settings_command(set_columns, _answer)


def _number(choice: str | None, enum: Any, prefix: str) -> Any:
    """Return a choice as meta knows it."""
    return (
        None if choice is None else enum.Value(f"{prefix}_{_UNIT_OF.get(choice, choice).upper()}")
    )


def _nanos(length: str | None) -> int | None:
    """Read a length of time, which may be negative."""
    if length is None:
        return None
    nanos = duration(length.removeprefix("-")).ToNanoseconds()
    return -nanos if length.startswith("-") else nanos


def _bind(change: SettingsChange, schema: str, version: int | None, texts: Iterable[str]) -> None:
    binding = change.settings.binding
    # Set, and empty for none.
    binding.SetInParent()
    if schema == NO_SCHEMA:
        return
    request = catalog_pb2.GetSchemaRequest(name=schema)
    binding.schema_id = change.client.catalog.GetSchema(request).id
    if version is not None:
        binding.version = version
    for text in texts:
        if (parts := _MAPPED.fullmatch(text)) is None:
            raise usage(
                f"{text!r} is not COLUMN:SCOPE:ATTRIBUTE; SCOPE is record, resource or scope"
            )
        scope = common_pb2.AttributeScope.Value(f"ATTRIBUTE_SCOPE_{parts['scope'].upper()}")
        binding.attributes.add(column=parts["column"], scope=scope, attribute=parts["attribute"])


def promote_columns(change: SettingsChange, texts: list[str] | None, *, is_none: bool) -> None:
    """Replace the promoted columns if some are given, or none are asked for."""
    if texts and is_none:
        raise usage("--promote and --promote-none exclude each other")
    if texts or is_none:
        columns = pb.PromotedColumns(columns=map(_promoted, texts or ()))
        change.settings.promoted_columns.CopyFrom(columns)


def _promoted(text: str) -> "common_pb2.PromotedColumn":
    if (parts := _COLUMN.fullmatch(text)) is None:
        raise usage(f"{text!r} is not COLUMN:TYPE:SCOPE:ATTRIBUTE")
    try:
        return common_pb2.PromotedColumn(
            name=parts["name"],
            type=common_pb2.KqlType.Value(f"KQL_TYPE_{parts['type'].upper()}"),
            scope=common_pb2.AttributeScope.Value(f"ATTRIBUTE_SCOPE_{parts['scope'].upper()}"),
            attribute=parts["attribute"],
        )
    except ValueError:
        types = ", ".join(map(_short, common_pb2.KqlType.keys()[:-1]))
        raise usage(
            f"{text!r}: TYPE is one of {types}; SCOPE is record, resource or scope"
        ) from None


def _set_keys(change: SettingsChange, keys: Iterable[str]) -> None:
    columns = change.part("automatic_columns").columns
    del columns[:]
    for key in keys:
        attribute, colon, type_ = key.rpartition(":")
        if not colon or type_ not in _AUTOMATIC_TYPES:
            attribute, type_ = key, "string"
        if not attribute:
            raise usage(f"{key!r} is not KEY[:TYPE]")
        kind = common_pb2.KqlType.Value(f"KQL_TYPE_{type_.upper()}")
        columns.add(attribute=attribute, type=kind, written=True)


def column_facts(client: MetaClient, settings: "pb.DatasetSettings") -> Iterator[Fact]:
    """Yield the schema, and what differs from the usual."""
    if settings.HasField("binding"):
        binding = settings.binding
        request = catalog_pb2.GetSchemaRequest(id=binding.schema_id)
        schema = client.catalog.GetSchema(request).name
        is_newest = "" if binding.HasField("version") else ", the newest"
        yield "schema", f"{schema} version {binding.version_in_force}{is_newest}"
    if settings.schema_violations:
        yield "schema violations", _short(pb.SchemaViolations.Name(settings.schema_violations))
    if settings.timestamp_unit:
        unit = pb.TimestampUnit.Name(settings.timestamp_unit).removeprefix("TIMESTAMP_UNIT_")
        yield "timestamp unit", next(name for name, long in _UNIT_OF.items() if long == unit)
    if settings.time_adjustment_nanos:
        yield "time adjustment", f"{settings.time_adjustment_nanos / 10**9:g} s"
    if settings.HasField("automatic_columns"):
        yield "automatic columns", "on" if settings.automatic_columns.enabled else "off"
    keys = [
        f"{column.attribute}:{_short(common_pb2.KqlType.Name(column.type))}"
        for column in settings.automatic_columns.columns
        if column.written
    ]
    if keys:
        yield "automatic keys", " ".join(keys)
    if settings.foreign_files.time_column:
        yield "foreign time column", settings.foreign_files.time_column


def promoted_table(settings: "pb.DatasetSettings") -> Iterator[str]:
    """Yield a table of the typed columns, if there are any."""
    rows = [
        (
            column.name,
            _short(common_pb2.KqlType.Name(column.type)),
            _short(common_pb2.AttributeScope.Name(column.scope)),
            column.attribute,
        )
        for column in settings.promoted_columns.columns
    ]
    if rows:
        yield ""
        yield from table(("column", "type", "scope", "attribute"), rows)


def _short(name: str) -> str:
    return name.rpartition("_")[2].lower()
