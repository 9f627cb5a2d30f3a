"""Registers an OTLP payload of the quarantine exactly once, even if processes are killed."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dataplane.dataset_layout import UnknownLayout, read_layout
from dataplane.location import MetaLocation
from dataplane.registration import create_segment
from meta.client import MetaClient
from meta.errors import LayoutChanged
from meta.v1 import catalog_pb2, operations_pb2
from segments.errors import ObjectExists
from segments.parquet.spec import SegmentSpec
from segments.store.interface import ObjectStore
from segments.typed.conformity import OUTSIDE_WINDOW, SCHEMA_VIOLATION
from segplane.read.lookup import settings_at
from segplane.recovery.object_attempts import register_once

if TYPE_CHECKING:
    from dataplane.babies.payload import Payload
    from nursery.results import DatasetResult

# Bindings that may come between the reading of a layout and the registration.
_LAYOUTS_MAX = 3
# Messages by the cause, with the key and the records to fill in.
_REFUSED = {
    SCHEMA_VIOLATION: "{} violates the schema of the dataset ({}): correct the schema,"
    " or add --as-is, which leaves such columns null",
    OUTSIDE_WINDOW: "{} has events outside the window of the dataset ({}): lengthen the window,"
    " set --outside-window keep, or add --as-is, which takes them without keeping their keys",
}


class ReplayRefused(Exception):
    """The payload cannot be replayed as asked; the message is one line that says why."""


class ReplayUndecodable(ReplayRefused):
    """The payload is not a message of its signal, or its dataset's layout is not known."""


class EventsTaken(ObjectExists):
    """Events of the objects are rows already: another attempt leaves them out."""


class ReplayViolatesSchema(ReplayRefused):
    """Records of the payload would be quarantined again, for a cause."""

    def __init__(self, message: str, cause: str) -> None:
        super().__init__(message)
        self.cause = cause


def begin_replay(
    client: MetaClient,
    key: str,
    dataset_id: str,
    acceptance: operations_pb2.LossAcceptance,
    *,
    is_uncounted: bool = False,
) -> operations_pb2.Replay:
    """Fix the dataset that a payload goes to; the reply says whether it was replayed before.

    `is_uncounted` takes a payload that no registration counts too.
    """
    request = operations_pb2.BeginReplayRequest(
        object_key=key, dataset_id=dataset_id, acceptance=acceptance, uncounted=is_uncounted
    )
    return client.operations.BeginReplay(request).replay


def register_payload(
    client: MetaClient,
    location: MetaLocation,
    store: ObjectStore,
    key: str,
    payload: "Payload",
    dataset_id: str,
    *,
    is_as_is: bool = False,
) -> operations_pb2.Replay:
    """Write the records of a payload whose replay was begun, and register them.

    `is_as_is` takes records that violate the schema to the dataset's schema, with nulls, and events
    outside its window. They are written again if the dataset is bound to a schema in between, or
    its window moves. Raises ReplayRefused, MetaError, SegmentsError.
    """
    # pyarrow is not part of the `cli` extra; only a replay needs it.
    from nursery.execution.replay import StillViolating, replay_keys, write_payload
    from segments.otlp.wire import UndecodableSlice

    claimed = set[bytes]()

    def attempt(number: int) -> operations_pb2.Replay:
        with tempfile.TemporaryDirectory(prefix="segplane-replay-") as name:
            folder = Path(name)
            written = write_payload(
                store, payload, key, dataset_id, spec, folder, attempt=number, claimed=claimed
            )
        return _complete(client, location, key, written, claimed, is_as_is=is_as_is)

    try:
        for is_last in (*[False] * (_LAYOUTS_MAX - 1), True):
            spec = _layout(client, dataset_id, is_enforced=not is_as_is)
            try:
                return register_once(
                    client, store, lambda number: replay_keys(key, dataset_id, number), attempt
                )
            except LayoutChanged:
                if is_last:
                    raise
        raise AssertionError("the last try returns or raises")
    except (UndecodableSlice, UnknownLayout) as error:
        raise ReplayUndecodable(f"{key}: {error}") from None
    except StillViolating as error:
        raise ReplayViolatesSchema(_REFUSED[error.cause].format(key, error), error.cause) from None


def _complete(
    client: MetaClient,
    location: MetaLocation,
    key: str,
    written: "DatasetResult",
    claimed: set[bytes],
    *,
    is_as_is: bool,
) -> operations_pb2.Replay:
    """Register the segments; adds to `claimed` and raises EventsTaken if they must change."""
    from nursery.parts.deduplication import claim_order, claim_secs, claims_message

    dataset_id = written.dataset_id
    segments = [
        create_segment(dataset_id, location.bucket_of(file.key), file.key, file.facts)
        for file in written.segments
    ]
    request = operations_pb2.CompleteReplayRequest(
        object_key=key,
        segments=segments,
        deduplication_keys=claims_message(client, [written]),
        outside_window_taken=is_as_is,
    )
    secs = claim_secs(request.deduplication_keys)
    reply = client.operations.CompleteReplay(request, timeout=secs or None)
    if reply.claimed_positions:
        order = claim_order([written])
        claimed.update(order[position][1] for position in reply.claimed_positions)
        raise EventsTaken(f"{len(claimed)} events of {key} are rows already")
    return reply.replay


def _layout(client: MetaClient, dataset_id: str, *, is_enforced: bool) -> SegmentSpec:
    sharding = client.catalog.GetShardingFields(catalog_pb2.GetShardingFieldsRequest(id=dataset_id))
    settings = settings_at(client, dataset_id, None)
    deduplication = settings.deduplication if settings.HasField("deduplication") else None
    spec = read_layout(
        sharding.fields, settings.promoted_columns.columns, deduplication=deduplication
    )
    if is_enforced:
        return spec
    as_is = spec.deduplication and replace(spec.deduplication, window=None)
    return replace(spec, enforced=frozenset(), deduplication=as_is)
