"""A catalog is lost with its database and comes back from the bucket."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import VersionExpired
from meta.server import server
from meta.v1 import (
    catalog_pb2,
    common_pb2,
    operations_pb2,
    segment_lookup_pb2,
)
from nursery.execution.job import TaskOutcome
from nursery.planning.tasks import Task
from segments.location import Stores
from segplane.__main__ import app
from segplane.fsck import catalog_check
from tests.support.merge_worker.local_merges import merge_all
from tests.support.nursery.drivers import (
    NOW,
    CollectorDriver,
    dataset,
    fail_all,
    nursery,
    run_here,
)
from tests.support.visible_segments import find, seen, texts, with_all_facts

DAY = 86_400 * 10**9


@contextmanager
def running(settings: Settings) -> Iterator[MetaClient]:
    """Run a meta in this process."""
    started = server.start(settings)
    try:
        with MetaClient(f"127.0.0.1:{started.port}") as client:
            yield client
    finally:
        started.stop(2.0)


def on(settings: Settings, database_url: str) -> Settings:
    return replace(settings, database=replace(settings.database, url=database_url))


def write_and_fail(tasks: Sequence[Task], where: Stores) -> list[TaskOutcome]:
    """Write everything and die before anything is registered."""
    run_here(tasks, where)
    return fail_all(tasks, "the driver died")


def rebuild(settings: Settings, *arguments: str) -> Result:
    command = ("catalog", "rebuild", "--from-bucket", "--object-store-url", settings.location.url())
    return CliRunner().invoke(app, [*command, *arguments])


def assert_new_records_get_visible(collector: CollectorDriver) -> None:
    """Send through a new stream, as collectors do after a rebuild."""
    fresh = CollectorDriver(collector.client, collector.dataset_id)
    fresh.send("after")
    nursery(collector.client).cycle()
    assert "after" in texts(collector.client, collector.store)


def assert_stream_is_back(collector: CollectorDriver) -> None:
    """The stream is stopped behind its last baby, and merged as far as it was."""
    info = collector.info()
    assert info is not None
    assert (info.committed_offset, info.stopped_offset) == (18, 18)
    assert collector.merged() == {collector.dataset_id: 16}
    assert info.datasets[0].offset_checkpoints[-1].stream_offset == 16


def test_readers_see_the_same_and_the_nursery_goes_on_after_a_rebuild(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    with running(meta_settings) as client:
        collector, other = (
            CollectorDriver(client, dataset(client)),
            CollectorDriver(client, dataset(client)),
        )
        other.send("of another dataset")
        for number in range(16):
            collector.send(f"merged {number}")
            nursery(client).cycle()
        assert merge_all(client, collector.store, tmp_path) == 1
        collector.send("written twice")
        nursery(client, write_and_fail).cycle()
        nursery(client).cycle()
        before, read = seen(client), texts(client, collector.store)
        collector.send("not merged yet")
        collector.put("not committed yet")
    names = tmp_path / "names.json"
    names.write_text(json.dumps({collector.dataset_id: "checkout"}))

    plan = json.loads(rebuild(meta_settings, "--json").stdout)
    done = rebuild(
        meta_settings, "--apply", "--names", str(names), "--database-url", empty_database_url
    )

    assert plan["version"] is None
    assert len(plan["dropped"]) == 16 + 1
    assert not plan["warnings"]
    assert done.exit_code == 0, done.output
    with running(on(meta_settings, empty_database_url)) as client:
        collector.client = client
        assert seen(client) == before
        assert texts(client, collector.store) == read
        assert_stream_is_back(collector)
        named = catalog_pb2.GetDatasetRequest(name="checkout")
        assert client.catalog.GetDataset(named).id == collector.dataset_id
        state = client.operations.GetServerState(operations_pb2.GetServerStateRequest())
        assert state.deletion_held
        assert catalog_check.check(client, is_deep=True, orphan_age_secs=86_400).violations == []

        nursery(client).cycle()

        assert texts(client, collector.store) == sorted(
            [*read, "not merged yet", "not committed yet"]
        )
        assert collector.merged().get(collector.dataset_id, 18) == 18
        assert_new_records_get_visible(collector)


def on_days(text: str, days: int) -> bytes:
    """A record a day, from the same moment of the first day on."""
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    for day in range(days):
        record = records.add(time_unix_nano=NOW + day * DAY)
        record.body.string_value = f"{text} of day {day}"
    return data.SerializeToString()


@pytest.mark.long
def test_a_rebuild_of_segments_that_are_divided_by_day_has_no_violations(
    meta_settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    with running(meta_settings) as client:
        collector = CollectorDriver(client, dataset(client))
        for number in range(16):
            # A merge takes the first day of all in, and leaves the second day of two as it is.
            days = 2 if number % 8 == 0 else 1
            collector.commit(collector.put(payloads=[on_days(str(number), days)]))
            nursery(client).cycle()
        assert merge_all(client, collector.store, tmp_path) == 1
        read, segments = texts(client, collector.store), len(find(client))
    assert segments > 2

    done = rebuild(meta_settings, "--apply", "--database-url", empty_database_url)

    assert done.exit_code == 0, done.output
    with running(on(meta_settings, empty_database_url)) as client:
        collector.client = client
        assert texts(client, collector.store) == read
        assert catalog_check.check(client, is_deep=True, orphan_age_secs=86_400).violations == []
        assert_new_records_get_visible(collector)
        assert catalog_check.check(client, is_deep=True, orphan_age_secs=86_400).violations == []


STATUS, THIRD = (
    common_pb2.PromotedColumn(
        name=name,
        type=common_pb2.KQL_TYPE_LONG,
        scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
        attribute="http.status",
    )
    for name in ("status", "third")
)
FORMER = common_pb2.PromotedColumn(
    name="former",
    type=common_pb2.KQL_TYPE_STRING,
    scope=common_pb2.ATTRIBUTE_SCOPE_RESOURCE,
    attribute="host",
)


def promoting(*columns: common_pb2.PromotedColumn) -> operations_pb2.DatasetSettings:
    """Settings with these promoted columns alone."""
    return operations_pb2.DatasetSettings(
        promoted_columns=operations_pb2.PromotedColumns(columns=columns)
    )


def facts_by_key(client: MetaClient) -> dict[str, common_pb2.SegmentFacts]:
    return {segment.cloud_object_key.key: segment.facts for segment in with_all_facts(client)}


def test_a_rebuild_brings_back_sharding_fields_and_promoted_columns(
    meta_settings: Settings, empty_database_url: str
) -> None:
    settings = [promoting(column) for column in (FORMER, STATUS)]
    fields = [
        common_pb2.ShardingField(field_name="name", weight=1),
        common_pb2.ShardingField(field_name="severity_text", weight=7),
    ]
    with running(meta_settings) as client:
        collector = CollectorDriver(client, dataset(client))
        name = collector.dataset_id
        client.catalog.SetShardingFields(
            catalog_pb2.SetShardingFieldsRequest(id=name, fields=fields)
        )
        for wanted in settings:
            client.operations.SetDatasetSettings(
                operations_pb2.SetDatasetSettingsRequest(dataset_id=name, settings=wanted)
            )
            collector.send("a")
            nursery(client).cycle()
        facts = facts_by_key(client)

    done = rebuild(meta_settings, "--apply", "--database-url", empty_database_url)

    assert "sharding fields [severity_text, name], promoted columns [status]" in done.stdout
    with running(on(meta_settings, empty_database_url)) as client:
        get = operations_pb2.GetDatasetSettingsRequest(dataset_id=name)
        rebuilt = client.operations.GetDatasetSettings(get).settings
        both = promoting(FORMER, *rebuilt.promoted_columns.columns, THIRD)
        again = client.operations.SetDatasetSettings(
            operations_pb2.SetDatasetSettingsRequest(dataset_id=name, settings=both)
        ).settings
        assert facts_by_key(client) == facts
        found = client.catalog.GetShardingFields(catalog_pb2.GetShardingFieldsRequest(id=name))
    assert [list(own.promoted_field_ids) for own in facts.values()] == [[1_000], [1_002]]
    (restored,) = rebuilt.promoted_columns.columns
    assert (restored.name, restored.field_id) == ("status", 1_002)
    # Ids go on above the largest in the bucket, and a former column gets its own again.
    assert [c.field_id for c in again.promoted_columns.columns] == [1_000, 1_002, 1_004]
    assert [(f.field_name, f.weight) for f in found.fields] == [("severity_text", 2), ("name", 1)]


def test_a_database_that_holds_something_is_refused(
    meta_settings: Settings, database_url: str
) -> None:
    with running(meta_settings) as client:
        collector = CollectorDriver(client, dataset(client))
        collector.send("a")
        nursery(client).cycle()
        before = seen(client)

    done = rebuild(meta_settings, "--apply", "--database-url", database_url)

    assert done.exit_code == 1
    assert "the database holds segments" in done.stderr
    with running(meta_settings) as client:
        assert seen(client) == before


def test_versions_of_the_lost_database_have_expired(
    meta_settings: Settings, empty_database_url: str
) -> None:
    with running(meta_settings) as client:
        collector = CollectorDriver(client, dataset(client))
        collector.send("a")
        nursery(client).cycle()
        old = find(client)[0].created_version

    rebuild(meta_settings, "--apply", "--database-url", empty_database_url)

    with running(on(meta_settings, empty_database_url)) as client:
        request = segment_lookup_pb2.FindSegmentsRequest(as_of_version=old)
        with pytest.raises(VersionExpired):
            client.segment_lookup.FindSegments(request)


def test_names_that_fit_no_dataset_are_refused(meta_settings: Settings, tmp_path: Path) -> None:
    names = tmp_path / "names.json"
    names.write_text('{"0198a7c0-0000-7000-8000-000000000001": "lost"}')

    done = rebuild(meta_settings, "--names", str(names))

    assert done.exit_code == 2
    assert "the bucket holds nothing of dataset" in done.stderr
    assert rebuild(meta_settings, "--names", str(tmp_path / "none.json")).exit_code == 2


def test_an_empty_bucket_is_not_written_into_a_database(
    meta_settings: Settings, empty_database_url: str
) -> None:
    done = rebuild(meta_settings, "--apply", "--database-url", empty_database_url)

    assert done.exit_code == 2
    assert "no object of Segplane is in" in done.stderr
