"""Arguments and options that several commands share."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from segplane.cli.connection import usage
from segplane.cli.messages import MetaClient, catalog_pb2, common_pb2, resources_pb2
from segplane.cli.parameters import Option, Positional

TIME_HELP = "RFC 3339, or an age such as 90m or 7d."
Dataset = Annotated[str, Positional(metavar="NAME", help="Dataset name.", names_of="datasets")]
OnlyDataset = Annotated[str | None, Option("--dataset", help="Only this dataset.")]
Start = Annotated[str | None, Option(help=f"From this event time on. {TIME_HELP}")]
End = Annotated[str | None, Option(help=f"Up to this event time. {TIME_HELP}")]
AsOf = Annotated[str | None, Option(help=f"Read at this version, or that of a time: {TIME_HELP}")]
Fresh = Annotated[
    bool, Option("--fresh", help="Also read records that are committed and not merged yet.")
]
AcceptLoss = Annotated[
    bool, Option("--accept-loss", help="State that the records may be lost. Required.")
]
Reason = Annotated[str, Option("--reason", help="Kept in the loss ledger.")]
DataDir = Annotated[
    Path,
    Option(
        "--data-dir",
        envvar="SEGPLANE_DATA_DIR",
        help="Folder of the stack on this machine: database, objects, logs and token.",
    ),
]
# Of commands: the store that META_OBJECT_STORE_URL names.
DEFAULT_STORE = "default"
_DIGITS_MAX = 18
_TIME_MAX = 2**63 - 1


def dataset_id(client: MetaClient, name: str) -> str:
    """Return a dataset's id; "" for no name. Raises NotFound."""
    if not name:
        return ""
    return client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name)).id


def given_dataset_id(client: MetaClient, name_or_id: str) -> str:
    """Return the id of a dataset that is given by either. Raises NotFound for a name."""
    from segments.ids import is_canonical_uuid

    return name_or_id if is_canonical_uuid(name_or_id) else dataset_id(client, name_or_id)


def ingest_token_id(client: MetaClient, name: str) -> str:
    """Return the id of an ingest token that is given by its name or id. Raises NotFound."""
    from meta.errors import NotFound
    from segments.ids import is_canonical_uuid

    if is_canonical_uuid(name):
        return name
    # In the order of names none comes before it.
    request = resources_pb2.ListResourcesRequest(
        kind=resources_pb2.RESOURCE_KIND_INGEST_TOKEN, name_from=name, limit=1
    )
    items = client.resources.ListResources(request).items
    if not items or items[0].name != name:
        raise NotFound(f"there is no ingest token {name!r} that is not revoked")
    return str(items[0].id)


def require_loss_accepted(is_accepted: bool, what: str) -> None:
    """Raise a usage error unless the user accepts the loss of some records."""
    if not is_accepted:
        raise usage(f"the records of the {what}; add --accept-loss if they may be")


def nanos_of(text: str, option: str = "") -> int:
    """Return nanoseconds since the epoch. Raises a usage error."""
    from segplane.terminal.times import parse_time

    try:
        return parse_time(text, datetime.now(UTC))
    except ValueError as error:
        raise usage(f"{option}: {error}" if option else str(error)) from None


def time_range(start: str | None, end: str | None) -> "common_pb2.TimeRange | None":
    """Return the event times between two options, None without any. Raises a usage error."""
    if start is None and end is None:
        return None
    return common_pb2.TimeRange(
        start_time=0 if start is None else nanos_of(start),
        end_time=_TIME_MAX if end is None else nanos_of(end),
    )


def moment_of(as_of: str | None) -> int | datetime | None:
    """Return the version's number, or the time. Raises a usage error."""
    from segplane.read import ReadError
    from segplane.read.bounds import moment_nanos

    if as_of is None:
        return None
    if as_of.isascii() and as_of.isdigit():
        if len(as_of) > _DIGITS_MAX:
            raise usage(f"--as-of is {as_of}, which is not a version")
        return int(as_of)
    try:
        # An age counts from here, for every dataset and query.
        micros = moment_nanos("as_of", as_of) // 1_000
    except ReadError as error:
        raise usage(str(error)) from None
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def schema_id(client: MetaClient, name: str) -> str:
    """Return a schema's id. Raises NotFound."""
    return client.catalog.GetSchema(catalog_pb2.GetSchemaRequest(name=name)).id
