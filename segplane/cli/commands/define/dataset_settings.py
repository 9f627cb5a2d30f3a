"""segplane datasets retention, limits: ages of segments, and bounds of what is taken in."""

import inspect
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any

from segplane.cli.commands.define.dataset_columns import (
    column_facts,
    promoted_table,
    set_columns,
)
from segplane.cli.commands.define.dataset_deduplication import deduplication_facts
from segplane.cli.messages import MetaClient
from segplane.cli.messages import operations_pb2 as pb
from segplane.cli.options import Dataset
from segplane.cli.output import NONE, Answer, Fact
from segplane.cli.parameters import Option
from segplane.cli.settings_of_datasets import (
    SettingsChange,
    options_of,
    seconds,
    settings_answer,
    settings_command,
)

AgeOption = Annotated[str | None, Option(metavar="AGE")]
Number = Annotated[int | None, Option(min=0)]
RETENTION = {
    "event_retention": "event retention",
    "created_retention": "created retention",
    "tombstone_grace": "grace",
}
LIMITS = ("records_per_month", "ingest_limits", "excess_events_allowed", "foreign_files")


def _set_retention(
    change: SettingsChange,
    event_retention: AgeOption = None,
    created_retention: AgeOption = None,
    grace: AgeOption = None,
    confirm_deletes: Number = None,
    dry_run: bool = False,
) -> None:
    """Show how long segments are kept; with options, change that first.

    An age is a length of time such as 90m or 30d; 0 removes the setting.

    Options:
        event_retention: Delete segments whose events are all older.
        created_retention: Delete segments that were created longer ago.
        grace: Keep the objects of tombstoned segments for this long.
        confirm_deletes: Confirm that the retention deletes up to this number of segments at once;
            without it the deletion brake may hold them.
        dry_run: Print what the retention would delete at once; change nothing.
    """
    change.set_ages(event_retention, created_retention, grace)
    change.confirm_deletes = confirm_deletes
    change.dry_run = dry_run


def _set_limits(
    change: SettingsChange,
    records_per_month: Annotated[int | None, Option(min=-1)] = None,
    bytes_per_sec: Number = None,
    exports_in_flight: Number = None,
    memory_bytes: Number = None,
    event_age_max: AgeOption = None,
    event_lead_max: AgeOption = None,
    excess_events: Number = None,
    refuse_foreign: Annotated[bool | None, Option("--refuse-foreign/--take-foreign")] = None,
) -> None:
    """Show what the dataset takes in at most; with options, change that first.

    The three limits of a token have the collector's default with 0. An age is a length of time such
    as 90m or 30d; 0 removes the setting.

    Options:
        records_per_month: Accepted records, duplicates counted; 0: the server's default, -1: none.
        bytes_per_sec: Decompressed bytes a second of each token.
        exports_in_flight: Exports in flight of each token.
        memory_bytes: Memory of each token.
        event_age_max: Reject records whose event is older.
        event_lead_max: Reject records whose event is more than this in the future.
        excess_events: Let registrations hold this number of events more than collectors counted,
            for a dataset that waits for that reason; 0 revokes the rest.
        refuse_foreign: Refuse objects that clients register without the facts of their content.
    """
    change.set_fields(
        records_per_month=records_per_month,
        excess_events_allowed=excess_events,
        ingest_limits__bytes_per_sec=bytes_per_sec,
        ingest_limits__exports_in_flight=exports_in_flight,
        ingest_limits__memory_bytes=memory_bytes,
        ingest_limits__event_age_max_secs=seconds(event_age_max),
        ingest_limits__event_lead_max_secs=seconds(event_lead_max),
        foreign_files__refused=refuse_foreign,
    )


def settings(client: MetaClient, name: Dataset, **options: Any) -> Answer:
    """Show all settings; with options, change them first.

    It has the options of `datasets columns`, `limits` and `retention`, and does what these do.
    """
    change = SettingsChange(client, name)
    for sets in _PARTS:
        sets(change, **{option.name: options[option.name] for option in options_of(sets)})
    if change.dry_run:
        return change.preview()
    reply = change.send()
    texts = (
        *_retention_facts(reply.settings),
        *_limit_facts(reply.settings),
        *column_facts(client, reply.settings),
        *deduplication_facts(reply.settings),
    )
    fields = (field.name for field in reply.settings.DESCRIPTOR.fields)
    return settings_answer(reply, fields, texts, promoted_table(reply.settings))


_PARTS = (set_columns, _set_limits, _set_retention)
settings.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        *list(inspect.signature(settings).parameters.values())[:2],
        *(option for sets in _PARTS for option in options_of(sets)),
    ],
    return_annotation=Answer,
)


def _retention(_: MetaClient, reply: "pb.SetDatasetSettingsResponse") -> Answer:
    return settings_answer(reply, RETENTION, _retention_facts(reply.settings))


def _limits(_: MetaClient, reply: "pb.SetDatasetSettingsResponse") -> Answer:
    return settings_answer(reply, LIMITS, _limit_facts(reply.settings))


retention = settings_command(_set_retention, _retention)
limits = settings_command(_set_limits, _limits)


def _retention_facts(settings: "pb.DatasetSettings") -> Iterator[Fact]:
    for field, title in RETENTION.items():
        length: timedelta = getattr(settings, field).ToTimedelta()
        yield title, length or NONE


def _limit_facts(settings: "pb.DatasetSettings") -> Iterator[Fact]:
    yield "records a month", settings.records_per_month
    # Only those that are set.
    for field, value in settings.ingest_limits.ListFields():
        yield field.name, value
    if settings.excess_events_allowed:
        yield "excess events allowed", settings.excess_events_allowed
    if settings.foreign_files.refused:
        yield "foreign files", "refused"
