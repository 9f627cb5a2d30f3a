"""segplane datasets retention --dry-run: the number to confirm, and nothing changes."""

import json
from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.errors import InvalidArgument, NotFound
from meta.services.messages.ingest_limits import SECONDS_MAX
from meta.v1 import operations_pb2
from meta.v1 import status_pb2 as pb
from tests.support.command_line import RunCommand
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.segments import DAY, EPOCH, Writer, segment_of
from tests.support.meta.server import MetaServer

AGED = "UPDATE segments SET created_at = created_at - interval '2 days' WHERE start_ns < {}"


@pytest.fixture
def web(meta_client: MetaClient, meta_server: MetaServer) -> str:
    """A dataset with three segments that were created two days ago, and two of today."""
    dataset = CatalogDriver(meta_client).dataset("web")
    writer = Writer(meta_client)
    writer.save(*(segment_of(dataset, EPOCH + n * DAY, EPOCH + n * DAY + 5) for n in range(5)))
    execute(meta_server, AGED.format(EPOCH + 3 * DAY))
    return dataset


def execute(server: MetaServer, statement: str) -> None:
    with server.running.database.write() as tx:
        tx.exec_driver_sql(statement)


def rows(server: MetaServer) -> list[object]:
    """All that a change of a retention would touch."""
    tables = ("datasets", "segments", "retention_baselines", "audit_log", "meta_state")
    with server.running.database.read() as tx:
        return [
            sorted(map(str, tx.exec_driver_sql(f"SELECT * FROM {table}")))  # noqa: S608
            for table in tables
        ]


def preview(client: MetaClient, dataset: str, **fields: int) -> pb.PreviewRetentionResponse:
    request = pb.PreviewRetentionRequest(dataset_id=dataset, **fields)
    return client.status.PreviewRetention(request)


def test_a_dry_run_counts_what_would_go_and_changes_nothing(
    run: RunCommand, meta_client: MetaClient, meta_server: MetaServer, web: str
) -> None:
    before = rows(meta_server)

    tried = run("datasets", "retention", "web", "--created-retention", "1d", "--dry-run")
    data = run("datasets", "retention", "web", "--created-retention", "1d", "--dry-run", "--json")
    nothing = run("datasets", "retention", "web", "--created-retention", "3d", "--dry-run")
    events = run("datasets", "retention", "web", "--event-retention", "1d", "--dry-run")

    assert rows(meta_server) == before
    assert (tried.exit_code, tried.stderr) == (0, "")
    assert tried.stdout == (
        "the retention would delete 3 segments (2.93 KiB) of 30 records at once, from"
        " 2024-10-04T00:00:00.000000Z to 2024-10-06T00:00:00.000000Z; nothing was changed\n"
    )
    assert json.loads(data.stdout) == {
        "segments": "3",
        "size_bytes": "3000",
        "number_of_records": "30",
        "first_nanos": str(EPOCH),
        "last_nanos": str(EPOCH + 2 * DAY + 5),
    }
    assert nothing.stdout == ("the retention would delete nothing at once; nothing was changed\n")
    assert "delete 5 segments" in events.stdout
    # The number that the change itself has to have confirmed.
    refused = run(
        "datasets", "retention", "web", "--created-retention", "1d", "--confirm-deletes", "2"
    )
    assert "the retention deletes 3 segments of 3000 bytes" in refused.stderr


def test_what_the_retention_in_force_deletes_is_not_counted(
    run: RunCommand, meta_client: MetaClient, web: str
) -> None:
    change = ["datasets", "retention", "web", "--created-retention", "1d"]
    assert run(*change, "--confirm-deletes", "3").exit_code == 0

    assert preview(meta_client, web, created_retention_secs=3_600).segments == 0
    assert preview(meta_client, web, event_retention_secs=3_600).segments == 2


def test_a_baseline_that_would_be_settled_is_used_and_not_stored(
    run: RunCommand, meta_client: MetaClient, meta_server: MetaServer, web: str
) -> None:
    """A retention that was in force for a day is the baseline, with the next deletion."""
    request = operations_pb2.SetDatasetSettingsRequest(dataset_id=web)
    request.settings.created_retention.seconds = 86_400
    assert meta_client.operations.SetDatasetSettings(request).unconfirmed_deletes == 3
    assert preview(meta_client, web, created_retention_secs=3_600).segments == 3
    execute(
        meta_server, "UPDATE retention_baselines SET seen_since = seen_since - interval '2 days'"
    )
    before = rows(meta_server)

    assert preview(meta_client, web, created_retention_secs=3_600).segments == 0
    assert rows(meta_server) == before


def test_refusals_of_a_preview(run: RunCommand, meta_client: MetaClient, web: str) -> None:
    assert preview(meta_client, web, created_retention_secs=SECONDS_MAX).segments == 0
    for fields in (
        {},
        {"created_retention_secs": SECONDS_MAX + 1},
        {"event_retention_secs": -1},
    ):
        with pytest.raises(InvalidArgument):
            preview(meta_client, web, **fields)
    with pytest.raises(InvalidArgument):
        preview(meta_client, "web", created_retention_secs=1)
    with pytest.raises(NotFound):
        preview(meta_client, str(uuid4()), created_retention_secs=1)
    shorter = ["datasets", "retention", "web", "--dry-run"]
    assert run(*shorter).exit_code == 2
    assert run(*shorter, "--grace", "1h").exit_code == 2
    assert run(*shorter, "--created-retention", "1d", "--confirm-deletes", "3").exit_code == 2
    assert run("datasets", "settings", "web", "--dry-run", "--event-retention", "1d").exit_code == 0
    assert (
        run("datasets", "settings", "web", "--dry-run", "--records-per-month", "1").exit_code == 2
    )
