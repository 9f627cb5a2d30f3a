"""Records with unique ids: sent until they are acknowledged, and read back at versions."""

import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass, field

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from benchmarks.torture.world import World
from meta.client import MetaClient
from meta.errors import MetaError
from meta.v1.common_pb2 import SegmentInfo
from meta.v1.segment_lookup_pb2 import FindSegmentsRequest
from segments.errors import SegmentsError
from segments.keys import join_key
from segments.parquet.reader import read_segment
from segplane.read.lookup import find_all

EXPORT_RECORDS = 20
EXPORT_PAUSE_SECS = 0.2
RETRY_SECS = 0.5
ANSWER_SECS_MAX = 15.0


@dataclass(slots=True)
class Ledger:
    """Ids by what is known of them, shared by all threads; `findings` is what is wrong."""

    acknowledged: set[str] = field(default_factory=set)
    # Given up, by the loss ledger.
    lost: set[str] = field(default_factory=set)
    # Out of sight while a segment is damaged or hidden; those that were at any time, in order.
    hidden: set[str] = field(default_factory=set)
    once_hidden: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    # Times that the database was put back, and times that everything was there again.
    rollbacks: int = 0
    returns: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


def export_of(ids: list[str]) -> bytes:
    """An export of one record per id."""
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    for one in ids:
        records.add(time_unix_nano=time.time_ns()).body.string_value = one
    return data.SerializeToString()


def ids_of(payload: bytes) -> list[str]:
    """The ids in an export."""
    data = LogsData.FromString(payload)
    return [
        record.body.string_value
        for resource in data.resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]


def send(world: World, dataset: str, token: str, ledger: Ledger, is_over: threading.Event) -> None:
    """Send exports one after the other, each byte for byte until it is acknowledged."""
    number = 0
    while not is_over.wait(EXPORT_PAUSE_SECS):
        ids = [f"{dataset}-{number + index}" for index in range(EXPORT_RECORDS)]
        number += EXPORT_RECORDS
        body = export_of(ids)
        while not _is_accepted(world, token, body, ledger):
            time.sleep(RETRY_SECS)
        with ledger.lock:
            ledger.acknowledged.update(ids)


def _is_accepted(world: World, token: str, body: bytes, ledger: Ledger) -> bool:
    request = urllib.request.Request(
        world.otlp_url,
        body,
        {"Content-Type": "application/x-protobuf", "Authorization": f"Bearer {token}"},
    )
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECS_MAX) as reply:
            return bool(reply.status == 200)
    except urllib.error.HTTPError as error:
        if error.code not in (429, 502, 503, 504):
            ledger.findings.append(f"an export was answered {error.code}: {error.read()[:200]!r}")
        return False
    except OSError:
        return False


def key_of(segment: SegmentInfo) -> str:
    """The full key of a segment's object."""
    return join_key(segment.cloud_object_key.prefix.prefix, segment.cloud_object_key.key)


def read_ids(world: World, client: MetaClient) -> "Counter[str]":
    """Count the ids that readers see now, all at one version. Raises MetaError, SegmentsError."""
    found = Counter[str]()
    for segment in list(find_all(client, FindSegmentsRequest(limit=1_000))):
        found.update(segment_ids(world, key_of(segment)))
    return found


def segment_ids(world: World, key: str) -> list[str]:
    """The ids in one segment."""
    table = read_segment(world.store, key).get("logs")
    return [] if table is None else [str(body) for body in table["body"].to_pylist()]


def read_again_and_again(world: World, ledger: Ledger, is_over: threading.Event) -> None:
    """Read at version after version: nothing is doubled, and nothing that was seen vanishes."""
    seen: set[str] = set()
    with world.client() as client:
        while not is_over.wait(1.0):
            with ledger.lock:
                hidden, before = set(ledger.hidden), len(ledger.once_hidden)
                returns = ledger.returns
            try:
                found = read_ids(world, client)
            except (MetaError, SegmentsError, OSError):
                continue  # meta is killed, or the objects of a damaged or expired list are gone.
            doubled = [one for one, count in found.items() if count > 1]
            with ledger.lock:
                # Also what was hidden, and perhaps is back, since this read began.
                hidden.update(ledger.once_hidden[before:])
                missing = seen - found.keys() - ledger.lost - hidden
                if ledger.rollbacks > returns:
                    missing = set()  # Records from after the copy are not back yet.
            if doubled:
                ledger.findings.append(f"{len(doubled)} doubled, such as {doubled[0]}")
            if missing:
                ledger.findings.append(f"{len(missing)} vanished, such as {min(missing)}")
            if doubled or missing:
                return
            seen |= found.keys()
