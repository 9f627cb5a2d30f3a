"""Datasets of a recording for what is younger than 0.2.0: each has a kind of rows and of files."""

import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from uuid import UUID, uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from tests.releases.recorded_catalog import Tokens, create, delete_dataset, revoke
from tests.releases.recorded_run import (
    COLD,
    START_NANOS,
    Installation,
    Sender,
)
from tests.support.pipeline.sending import ID, Record, make_records
from tests.support.releases.client import DescribedClient
from tests.support.releases.processes import ReleaseProcess
from tests.support.waiting import wait_until

# Typed columns and deduplication; in a named store; hidden and replaced segments; files of others;
# deleted with its files kept; under another name than before.
TYPED, MOVED, MENDED = "payments", "archive", "mended"
FOREIGN, KEPT, RENAMED = "partner", "kept", "renamed"
BEFORE = {RENAMED: "draft"}
NAMES = (TYPED, MOVED, MENDED, FOREIGN, KEPT, RENAMED)
# Readers see their merged records exactly as they were acknowledged.
READABLE = (MOVED, FOREIGN, RENAMED)
DAY_NANOS = 86_400 * 10**9
_COLUMNS = [
    {"name": "payment_id", "type": "KQL_TYPE_STRING"},
    {"name": "amount", "type": "KQL_TYPE_LONG"},
    {"name": "paid_at", "type": "KQL_TYPE_DATETIME"},
]
_AMOUNT = {"column": "amount", "scope": "ATTRIBUTE_SCOPE_RECORD", "attribute": "amount.cents"}
_PIN = {"pin_id": str(UUID(int=5))}
_REGION = {"attribute": "region", "type": "KQL_TYPE_STRING", "written": True}


def make(admin: DescribedClient, tokens: Tokens) -> None:
    """Make the datasets with their settings and ingest tokens."""
    for name in NAMES:
        dataset_id = create(admin, "Dataset", name=BEFORE.get(name, name))
        if name in BEFORE:
            rename = {"dataset_id": dataset_id, "new_name": name}
            admin.call("OperationsService.RenameDataset", rename)
        request = {"name": name, "dataset_name": name}
        reply = admin.call("IngestTokenService.CreateIngestToken", request)
        tokens.ingest[name] = reply["plaintext_token"]
    schema = create(admin, "Schema", name="payment", columns=_COLUMNS)
    binding = {"schema_id": schema, "attributes": [_AMOUNT]}
    _set(admin, binding=binding, record_ids=True)
    _set(admin, schema_violations="SCHEMA_VIOLATIONS_QUARANTINE")
    _set(admin, deduplication={"column": "payment_id", "window_days": 7})
    _set(admin, automatic_columns={"enabled": True, "columns": [_REGION]})
    move = {"id": str(UUID(int=3)), "dataset_id": id_of(admin, MOVED), "store": COLD}
    admin.call("OperationsService.CreateRewriteJob", move)
    settings = {"name": "merge_worker/*", "settings": {"buffer_bytes_max": str(64 << 20)}}
    admin.call("OperationsService.SetWorkerSettings", settings)


def send(run: Installation, collector: ReleaseProcess, tokens: Tokens, wave: int) -> None:
    """Send a wave of records to each dataset that has senders."""
    for name in (MOVED, KEPT, MENDED, RENAMED):
        sender = Sender(run, collector, tokens.ingest[name], {"logs": name})
        sender.send(f"{name}-{wave}", 2, is_kept=name != MENDED)
    send_payments(run, collector, tokens.ingest[TYPED], wave)


def send_payments(run: Installation, collector: ReleaseProcess, token: str, wave: int) -> None:
    """Send JSON records: rows, repeats of the wave before, and one that violates the schema."""
    port = collector.wait_for("listening")["http_port"]
    fresh = [_payment(number) for number in range(wave * 4, wave * 4 + 4)]
    repeats = [_payment(number) for number in range(max(0, wave * 4 - 2), wave * 4)]
    wrong = _payment(1_000 + wave) | {"amount.cents": "many"}
    body = json.dumps({"records": [*fresh, *repeats, wrong]}).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    url = f"http://127.0.0.1:{port}/v1/datasets/{TYPED}/records"
    with urlopen(Request(url, body, headers), timeout=30) as reply:
        assert json.load(reply)["accepted"] == len(fresh) + len(repeats) + 1
    run.payments += fresh


def change_schema(admin: DescribedClient) -> None:
    """Add a column to the schema: a second version, and a second layout of the dataset."""
    column = {"name": "cart", "type": "KQL_TYPE_DYNAMIC"}
    admin.call("CatalogService.UpdateSchema", {"name": "payment", "add_columns": [column]})


def register_file(run: Installation, admin: DescribedClient, seed: str) -> None:
    """Register a Parquet file that another program wrote, as a client of the contract does."""
    records = make_records("logs", 3, seed, START_NANOS)
    dataset_id = id_of(admin, FOREIGN)
    prefix, name = f"dataset/{dataset_id}/merged", f"{uuid4()}.parquet"
    path = run.objects / prefix / name
    path.parent.mkdir(parents=True, exist_ok=True)
    _write_file(path, records)
    size = str(path.stat().st_size)
    times = sorted(record.time_nanos for record in records)
    key = {"prefix": {"prefix": prefix}, "key": name}
    segment = {
        "dataset_id": dataset_id,
        "time_range": {"start_time": str(times[0]), "end_time": str(times[-1])},
        "size_bytes": size,
        "compressed_size_bytes": size,
        "number_of_events": len(records),
        "cloud_object_key": key,
    }
    admin.call("IngestionService.SaveSegments", {"segments": [segment]})
    run.sent += [{"dataset": FOREIGN, **asdict(record)} for record in records]


def wait_until_mapped(admin: DescribedClient) -> None:
    """Wait until a janitor has read the file, or a merge worker has rewritten it already."""
    wait_until(lambda: _is_mapped(admin), "the file of others is mapped", poll_secs=0.2)


def mend(run: Installation, admin: DescribedClient) -> None:
    """Hide two segments for good; one of them comes back as a copy."""
    first, second, *_ = find(admin, MENDED)
    consent = ("--accept-loss", "--reason", "recorded")
    for segment in (first, second):
        run.command("segments", "hide", segment["id"], *consent)
    run.command("segments", "unhide", first["id"], "--reason", "recorded")


def delete_kept(admin: DescribedClient) -> None:
    """Delete a dataset whose files stay."""
    revoke(admin, KEPT)
    delete_dataset(admin, KEPT, keep_files=True)


def leave_rows(admin: DescribedClient, stream_id: str, offset: int) -> None:
    """Leave what dead processes leave: a lease, keys of no registration, a parked stream."""
    admin.call("OperationsService.LeaseNurseryShards", {"nursery_id": "nursery-gone"})
    day = {"day": START_NANOS // DAY_NANOS, "hashes": "AAECAwQFBgcICQoLDA0ODw=="}
    staged = {"staged_id": str(UUID(int=4)), "part": 0, "days": [day]}
    admin.call("OperationsService.StageDeduplicationKeys", staged)
    parked = {"stream_id": stream_id, "offset": str(offset), "reason": "recorded"}
    admin.call("OperationsService.ParkStream", parked)
    admin.call("JanitorService.RewriteAllSegments", {"dataset_name": "empty"})


def pin_inputs(admin: DescribedClient) -> str:
    """Pin a dataset before its segments are merged; returns the key of one of them."""
    request = {**_PIN, "owner": "reader", "dataset_name": MOVED, "lease_secs": 600}
    admin.call("OperationsService.PinVersion", request)
    return _key(find(admin, MOVED)[0])


def leave_damage(admin: DescribedClient, key: str) -> None:
    """Note damage of a merged segment that the pin holds, and let the pin go: nobody needs it."""
    check = {"object_key": key, "damage": "recorded"}
    damaged = admin.call("OperationsService.ReportObjectChecks", {"checks": [check]})
    assert damaged.get("damaged_keys") == [key], damaged
    admin.call("OperationsService.ReleasePin", _PIN)


def id_of(admin: DescribedClient, name: str) -> str:
    """The id of a live dataset."""
    return str(admin.call("CatalogService.GetDataset", {"name": name})["id"])


def find(admin: DescribedClient, name: str) -> list[dict[str, Any]]:
    """The live segments of a dataset."""
    request = {"dataset_names": [name], "limit": 1_000}
    reply = admin.call("SegmentLookupService.FindSegments", request)
    segments: list[dict[str, Any]] = reply.get("segments", [])
    return segments


def _set(admin: DescribedClient, **settings: Any) -> None:
    request = {"dataset_id": id_of(admin, TYPED), "settings": settings}
    admin.call("OperationsService.SetDatasetSettings", request)


def _key(segment: dict[str, Any]) -> str:
    key = segment["cloud_object_key"]
    return f"{key['prefix']['prefix']}/{key['key']}"


def _is_mapped(admin: DescribedClient) -> bool:
    return all(
        segment.get("foreign", {}).get("state") != "FOREIGN_STATE_UNREAD"
        for segment in find(admin, FOREIGN)
    )


def _payment(number: int) -> dict[str, Any]:
    return {
        "timestamp": time.time_ns(),
        "payment_id": f"p-{number}",
        "amount.cents": 100 + number,
        "paid_at": "2026-11-26T09:29:58Z",
        "region": ("eu", "us")[number % 2],
    }


def _write_file(path: Path, records: list[Record]) -> None:
    """Write records as a program of somebody else may."""
    times = pa.array([record.time_nanos for record in records]).cast(pa.timestamp("ns", "UTC"))
    columns = {
        "timestamp": times.cast(pa.timestamp("us", "UTC"), safe=False),
        "timestamp_nanos": pa.array([record.time_nanos % 1_000 for record in records], pa.int16()),
        "body": [record.text for record in records],
        "severity_number": pa.array([record.number for record in records], pa.int16()),
        "service_name": [record.service for record in records],
        ID: [record.id for record in records],
    }
    pq.write_table(pa.table(columns), path)
