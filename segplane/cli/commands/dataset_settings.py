"""segplane datasets settings, usage: settings and monthly usage."""

import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated

import typer
from google.protobuf.duration_pb2 import Duration

from meta.client import MetaClient
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as pb
from segplane.cli import (
    automatic_columns,
    event_identity,
    foreign_settings,
    nonconforming_records,
    promotions,
    schemas_of_datasets,
    timestamp_units,
)
from segplane.cli.automatic_columns import AutomaticKeys, AutomaticSwitch
from segplane.cli.connection import DEFAULT_ADDRESS, MetaAddress, connect, usage
from segplane.cli.entry_changes import ExpectedVersion, refused_with_differences
from segplane.cli.event_identity import IdentityColumn, OutsideWindow, WindowDays
from segplane.cli.foreign_settings import RefuseForeign, TimeColumn
from segplane.cli.nonconforming_records import Nonconforming
from segplane.cli.output import NONE, AsJson, print_facts, print_json, print_table, size_text
from segplane.cli.promotions import Promote, PromoteNone
from segplane.cli.schemas_of_datasets import Facts
from segplane.cli.timestamp_units import TimestampUnit
from segplane.read.lookup import all_datasets, read_usages
from segplane.terminal.times import parse_age

Name = Annotated[str, typer.Argument(help="Dataset name.")]
DEFAULT_HELP = "0: the collector's default."
AGE_HELP = "An age such as 90m or 30d; 0 removes the setting."
EventRetention = Annotated[
    str | None, typer.Option(help=f"Delete segments whose events are all older. {AGE_HELP}")
]
CreatedRetention = Annotated[
    str | None, typer.Option(help=f"Delete segments that were created longer ago. {AGE_HELP}")
]
Grace = Annotated[
    str | None,
    typer.Option(help=f"Keep the objects of tombstoned segments for this long. {AGE_HELP}"),
]
RecordsPerMonth = Annotated[
    int | None,
    typer.Option(
        min=-1, help="Accepted records, duplicates counted; 0: the server's default, -1: none."
    ),
]
BytesPerSec = Annotated[
    int | None,
    typer.Option(min=0, help=f"Decompressed bytes a second of each token. {DEFAULT_HELP}"),
]
ExportsInFlight = Annotated[
    int | None, typer.Option(min=0, help=f"Exports in flight of each token. {DEFAULT_HELP}")
]
MemoryBytes = Annotated[
    int | None, typer.Option(min=0, help=f"Memory of each token. {DEFAULT_HELP}")
]
EventAgeMax = Annotated[
    str | None, typer.Option(help=f"Reject records whose event is older. {AGE_HELP}")
]
EventLeadMax = Annotated[
    str | None,
    typer.Option(help=f"Reject records whose event is more than this in the future. {AGE_HELP}"),
]
ExcessEvents = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Let registrations hold this number of events more than collectors counted, for a "
        "dataset that waits for that reason; 0 revokes the rest.",
    ),
]
ConfirmDeletes = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="SEGMENTS",
        help="Confirm that the retention deletes up to this number of segments at once; without it "
        "the deletion brake may hold them.",
    ),
]
RecordIds = Annotated[
    bool | None,
    typer.Option(
        help="Have the columns id and ingested_at in segments that are written from now on."
    ),
]
_AGES = ("event_retention", "created_retention", "tombstone_grace")
_LIMITS = (
    *("bytes_per_sec", "exports_in_flight", "memory_bytes"),
    *("event_age_max_secs", "event_lead_max_secs"),
)


def settings(
    name: Name,
    event_retention: EventRetention = None,
    created_retention: CreatedRetention = None,
    grace: Grace = None,
    records_per_month: RecordsPerMonth = None,
    bytes_per_sec: BytesPerSec = None,
    exports_in_flight: ExportsInFlight = None,
    memory_bytes: MemoryBytes = None,
    event_age_max: EventAgeMax = None,
    event_lead_max: EventLeadMax = None,
    excess_events: ExcessEvents = None,
    nonconforming: Nonconforming = None,
    refuse_foreign: RefuseForeign = None,
    time_column: TimeColumn = None,
    record_ids: RecordIds = None,
    identity: IdentityColumn = None,
    window_days: WindowDays = None,
    outside: OutsideWindow = None,
    timestamp_unit: TimestampUnit = None,
    promote: Promote = None,
    promote_none: PromoteNone = False,
    automatic: AutomaticSwitch = None,
    automatic_keys: AutomaticKeys = None,
    confirm_deletes: ConfirmDeletes = None,
    expected_version: ExpectedVersion = None,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Show a dataset's settings; with options, change them first and leave the others."""
    change = pb.DatasetSettings(
        records_per_month=records_per_month,
        excess_events_allowed=excess_events,
        record_ids=record_ids,
        timestamp_unit=timestamp_units.number(timestamp_unit),
    )
    nonconforming_records.change(change, nonconforming)
    _set_ages(change, (event_retention, created_retention, grace))
    promotions.change(change, promote or [], is_none=promote_none)
    ages = (_seconds(event_age_max), _seconds(event_lead_max))
    values = (bytes_per_sec, exports_in_flight, memory_bytes, *ages)
    limits = dict(zip(_LIMITS, values, strict=True))
    with connect(address) as client:
        base = _read(client, id_ := _id(client, name))
        _set_limits(change, base.settings, limits)
        foreign_settings.change(change, base.settings, refuse_foreign, time_column)
        event_identity.change(change, base.settings, identity, window_days, outside)
        automatic_columns.change(change, base.settings, automatic, automatic_keys)
        _show(client, _set(client, id_, change, confirm_deletes, expected_version, base), as_json)


def show_usage(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these datasets.")
    ] = None,
    address: MetaAddress = DEFAULT_ADDRESS,
    as_json: AsJson = False,
) -> None:
    """Count the records that datasets took this month (UTC), with their limit.

    Records are those that were acknowledged; the limit counts them. Rows are in the segments of
    all months. Duplicates are records whose events were rows already.
    """
    with connect(address) as client:
        if names:
            ids = [_id(client, name) for name in names]
        else:
            ids = [dataset.id for dataset in all_datasets(client)]
        usages = list(read_usages(client, ids))
    if as_json:
        print_json(usages)
        return
    rows = [
        (
            u.dataset_id,
            u.month,
            u.records,
            NONE if u.limit < 0 else u.limit,
            u.rows if u.HasField("rows") else NONE,
            u.duplicates if u.HasField("duplicates") else NONE,
        )
        for u in usages
    ]
    print_table(("dataset", "month", "records", "limit", "rows", "duplicates"), rows)


def _id(client: MetaClient, name: str) -> str:
    return client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name)).id


def _set_ages(change: pb.DatasetSettings, ages: Sequence[str | None]) -> None:
    for field, age in zip(_AGES, ages, strict=True):
        if age is not None:
            getattr(change, field).CopyFrom(_duration(age))


def _read(client: MetaClient, dataset_id: str) -> pb.GetDatasetSettingsResponse:
    request = pb.GetDatasetSettingsRequest(dataset_id=dataset_id)
    return client.operations.GetDatasetSettings(request)


def _set(
    client: MetaClient,
    dataset_id: str,
    change: pb.DatasetSettings,
    confirm_deletes: int | None,
    expected_version: str | None,
    before: pb.GetDatasetSettingsResponse,
) -> pb.SetDatasetSettingsResponse:
    """Apply the settings in `change`, if there are any; the reply has all settings."""
    if not change.ListFields() and confirm_deletes is None:
        return pb.SetDatasetSettingsResponse(settings=before.settings, version=before.version)
    update = pb.SetDatasetSettingsRequest(
        dataset_id=dataset_id,
        settings=change,
        deletes_confirmed=confirm_deletes,
        # A server of the release before names no version.
        expected_version=expected_version or before.version or None,
    )
    with refused_with_differences(before.settings, lambda: _read(client, dataset_id).settings):
        return client.operations.SetDatasetSettings(update)


def _set_limits(
    change: pb.DatasetSettings, before: pb.DatasetSettings, limits: Mapping[str, int | None]
) -> None:
    """Change the limits that are given; meta replaces them as a whole."""
    given = {field: value for field, value in limits.items() if value is not None}
    if given:
        change.ingest_limits.CopyFrom(before.ingest_limits)
        # Each by itself: a 0 is a value, which a merge of messages would leave out.
        for field, value in given.items():
            setattr(change.ingest_limits, field, value)


def _seconds(age: str | None) -> int | None:
    return None if age is None else _duration(age).seconds


def _duration(text: str) -> Duration:
    duration = Duration()
    try:
        duration.FromTimedelta(timedelta() if text == "0" else parse_age(text))
    except ValueError as error:
        raise usage(str(error)) from None
    return duration


def _show(client: MetaClient, reply: pb.SetDatasetSettingsResponse, as_json: bool) -> None:
    if as_json:
        print_json(reply.settings, version=reply.version)
    else:
        _print(reply.settings, schemas_of_datasets.facts(client, reply.settings))
    if reply.unconfirmed_deletes:
        print(
            f"{reply.unconfirmed_deletes} segments ({size_text(reply.unconfirmed_bytes)}) are older"
            " than the retention. If they are much of the dataset, the deletion brake holds them:"
            f" confirm with --confirm-deletes {reply.unconfirmed_deletes}",
            file=sys.stderr,
        )


def _print(settings: pb.DatasetSettings, schema: Facts) -> None:
    def age(field: str) -> object:
        length: timedelta = getattr(settings, field).ToTimedelta()
        return length if length else NONE

    print_facts(
        (
            ("event retention", age("event_retention")),
            ("created retention", age("created_retention")),
            ("grace", age("tombstone_grace")),
            ("records a month", settings.records_per_month),
            # Only those that are set.
            *((field.name, value) for field, value in settings.ingest_limits.ListFields()),
            *[("excess events allowed", settings.excess_events_allowed)]
            * bool(settings.excess_events_allowed),
            *foreign_settings.facts(settings),
            *schema,
            *nonconforming_records.facts(settings),
            *event_identity.facts(settings),
            *timestamp_units.facts(settings),
            *automatic_columns.facts(settings),
            *[("store of new segments", settings.store)] * bool(settings.store),
        )
    )
    if settings.promoted_columns.columns:
        print()
        promotions.show(settings)
