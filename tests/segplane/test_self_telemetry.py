"""`segplane dev --self-telemetry`: its dataset and token, and a stack that does not feed itself."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from meta.client import MetaClient
from meta.v1 import operations_pb2
from segplane.__main__ import app
from segplane.read import open_dataset
from segplane.stack import self_telemetry
from segplane.stack.config import StackSettings
from segplane.stack.dev import PARTS, Stack
from segplane.stack.self_telemetry import DATASET, RETENTION
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import EPOCH, Writer, segment_of
from tests.support.waiting import wait_until

PROCESSES = {"meta", "collector", "pipeline", "janitor", "gateway"}
# Processes that have spans of their own; the others join those of their callers.
TRACED = {"meta", "pipeline"}
# Fast enough for a test: a window is so many exports of metrics.
PACE = {
    "OTEL_METRIC_EXPORT_INTERVAL": "1000",
    "OTEL_BSP_SCHEDULE_DELAY": "500",
    "OTEL_BLRP_SCHEDULE_DELAY": "500",
}
WINDOW = 4
# Spans of flushes, merges and compactions.
OF_WORK = {"CommitOffset", "RegisterMergedSegments", "merge_task", "CompleteSegmentMergeTask"}
LOGS_OF_WORK = {"baby_committed", "merge_task_claimed", "merge_task_completed"}
# Polls of the parts, at the pace of this test; a loop would make as many again with each export.
RECORDS_A_SECOND_MAX = 30


@dataclass(frozen=True)
class SentRecord:
    """A record that a process has sent."""

    signal: str
    service: str
    nanos: float
    name: str
    text: str


@pytest.mark.long
def test_a_stack_sends_all_of_its_telemetry_and_never_about_it(prepared: StackSettings) -> None:
    with _sending(prepared) as stack:
        _test_send(stack)
        wait_until(
            lambda: _services(_read(stack)) >= _all_services(),
            "all signals of all processes",
            tick=stack.check,
            poll_secs=1.0,
        )
        for _ in range(2):
            _test_send(stack)
        first, second = _idle_windows(stack)
        records, target = _read(stack), self_telemetry.kept(stack.settings.telemetry_path)

    assert target is not None
    told = [r for r in records if target.dataset_id in r.text or f'"{DATASET}"' in r.text]
    assert [r for r in told if r.signal != "metrics"] == []
    sent = Counter(r.name for r in records)
    assert sent["baby_committed"] >= 1, "the user's exports are recorded"
    assert sent["CommitOffset"] >= 1
    for window in (first, second):
        names = Counter(r.name for r in window if r.signal != "metrics")
        assert not names.keys() & (OF_WORK | LOGS_OF_WORK), names
        assert names.total() < RECORDS_A_SECOND_MAX * WINDOW, names
    assert len(second) < len(first) * 1.5


def test_what_was_created_is_kept_and_what_is_lost_is_replaced(
    meta_client: MetaClient, tmp_path: Path
) -> None:
    path = self_telemetry.path_in(tmp_path)

    target, retention = self_telemetry.ready(meta_client, path)
    assert (retention, path.stat().st_mode & 0o777) == (RETENTION, 0o600)
    longer = timedelta(days=30)
    _retain(meta_client, target.dataset_id, longer)
    assert self_telemetry.ready(meta_client, path) == (target, longer)

    path.write_text("{")
    again, retention = self_telemetry.ready(meta_client, path)
    assert (again.dataset_id, retention) == (target.dataset_id, longer)
    assert again.token != target.token

    request = operations_pb2.RenameDatasetRequest(dataset_id=target.dataset_id, new_name="own")
    meta_client.operations.RenameDataset(request)
    renewed, _ = self_telemetry.ready(meta_client, path)
    assert renewed.dataset_id != target.dataset_id


def test_records_that_were_there_before_stay(meta_client: MetaClient, tmp_path: Path) -> None:
    dataset_id = CatalogDriver(meta_client).dataset(DATASET)
    Writer(meta_client).save(segment_of(dataset_id, EPOCH, EPOCH + 5))

    target, retention = self_telemetry.ready(meta_client, self_telemetry.path_in(tmp_path))

    assert (target.dataset_id, retention) == (dataset_id, timedelta())


@pytest.mark.parametrize(
    ("arguments", "environment", "complaint"),
    [
        ([], {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, "OTEL_EXPORTER_OTLP_ENDPOINT exclude"),
        ([], {"OTEL_EXPORTER_OTLP_LOGS_HEADERS": "a=b"}, "unset OTEL_EXPORTER_OTLP_LOGS_HEADERS"),
        (["--meta-only"], {}, "needs a collector"),
    ],
)
def test_telemetry_that_goes_elsewhere_is_refused_in_one_line(
    arguments: Sequence[str], environment: dict[str, str], complaint: str, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    command = ["dev", "--self-telemetry", "--data-dir", str(folder), *arguments]

    refused = CliRunner().invoke(app, command, env=environment)

    assert refused.exit_code == 2
    assert complaint in refused.stderr
    assert (refused.stderr.count("\n"), folder.exists()) == (1, False)


@contextmanager
def _sending(settings: StackSettings) -> Iterator[Stack]:
    environment = {**settings.inherited, **PACE, "SEGPLANE_SPARK_MASTER": "processes[2]"}
    settings = replace(settings, has_self_telemetry=True, inherited=environment)
    with Stack(settings, print, parts=PARTS) as stack:
        yield stack


def _test_send(stack: Stack) -> None:
    """Send records of a user, and wait until they are merged."""
    environment = {"SEGPLANE_META_ADDRESS": stack.settings.meta_address}
    command = ["test-send", "--data-dir", str(stack.settings.data_dir)]
    sent = CliRunner().invoke(app, command, env=environment)
    assert sent.exit_code == 0, sent.output


def _all_services() -> set[tuple[str, str]]:
    signals = (("logs", PROCESSES), ("metrics", PROCESSES), ("traces", TRACED))
    return {(signal, f"segplane-{name}") for signal, names in signals for name in names}


def _services(records: Sequence[SentRecord]) -> set[tuple[str, str]]:
    return {(record.signal, record.service) for record in records}


def _idle_windows(stack: Stack) -> tuple[list[SentRecord], list[SentRecord]]:
    """Records of two windows of one length that begin after what was done so far.

    The exports of one process's metrics are their clock.
    """
    begun = len(_ticks(_read(stack)))
    # Two more exports at first: what was done is sent and merged by then.
    wanted = begun + 2 + 2 * WINDOW + 3

    def has_passed() -> bool:
        return len(_ticks(_read(stack))) >= wanted

    wait_until(has_passed, "two idle windows", tick=stack.check, poll_secs=1.0)
    records = _read(stack)
    start, middle, end = _ticks(records)[begun + 2 : wanted : WINDOW][:3]
    return (
        [record for record in records if start <= record.nanos < middle],
        [record for record in records if middle <= record.nanos < end],
    )


def _ticks(records: Sequence[SentRecord]) -> list[float]:
    gauges = (r for r in records if (r.signal, r.service) == ("metrics", "segplane-gateway"))
    return sorted({record.nanos for record in gauges})


def _read(stack: Stack) -> list[SentRecord]:
    """The records of the dataset."""
    with open_dataset(DATASET, meta_address=stack.settings.meta_address) as dataset:
        rows = dataset.to_table().to_pylist()
    return [_record(row) for row in rows]


def _record(row: dict[str, Any]) -> SentRecord:
    name = row["body"] if row["signal"] == "logs" else row["name"] or row["metric_name"]
    nanos = row["timestamp"].timestamp() * 10**9
    return SentRecord(row["signal"], row["service_name"], nanos, name, str(row["attributes"]))


def _retain(client: MetaClient, dataset_id: str, age: timedelta) -> None:
    request = operations_pb2.SetDatasetSettingsRequest(dataset_id=dataset_id)
    request.settings.event_retention.FromTimedelta(age)
    client.operations.SetDatasetSettings(request)
