"""A nursery counts the records of a dataset by attribute, if meta chooses the columns."""

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from meta.v1 import operations_pb2 as pb
from segplane.dataplane.clocks import Clock
from tests.support.meta.dataset_life import set_settings
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import NOW, CollectorDriver, nursery


def records(count: int) -> bytes:
    """An export of records, every second of which has a route."""
    data = LogsData()
    logs = data.resource_logs.add().scope_logs.add().log_records
    for number in range(count):
        record = logs.add(time_unix_nano=NOW + number)
        record.attributes.add(key="status").value.int_value = 200
        if number % 2:
            record.attributes.add(key="route").value.string_value = "/"
    return data.SerializeToString()


def counts(server: MetaServer) -> list[object]:
    with server.running.database.read() as tx:
        rows = tx.exec_driver_sql("SELECT counts FROM attribute_counts ORDER BY counts->'1'->0")
        return [row[0] for row in rows]


def by_use(collector: CollectorDriver, *, is_on: bool = True) -> None:
    setting = pb.AutomaticColumns(enabled=is_on, by_use=is_on)
    set_settings(
        collector.client, collector.dataset_id, pb.DatasetSettings(automatic_columns=setting)
    )


def test_one_cycle_a_minute_is_counted(meta_server: MetaServer, collector: CollectorDriver) -> None:
    by_use(collector)
    now = [0.0]
    worker = nursery(collector.client, clock=Clock(monotonic=lambda: now[0]))

    for secs, number in [(0.0, 10), (59.0, 30), (60.0, 50)]:
        now[0] = secs
        collector.commit(collector.put(payloads=[records(number)]))
        worker.cycle()

    assert counts(meta_server) == [
        {"1": [10, {"status": [10, 0, 10], "route": [5, 5, 0]}]},
        {"1": [50, {"status": [50, 0, 50], "route": [25, 25, 0]}]},
    ]


def test_nothing_is_counted_unless_meta_chooses(
    meta_server: MetaServer, collector: CollectorDriver
) -> None:
    worker = nursery(collector.client)
    collector.commit(collector.put(payloads=[records(10)]))
    worker.cycle()
    by_use(collector)
    by_use(collector, is_on=False)
    collector.commit(collector.put(payloads=[records(10)]))
    worker.cycle()

    assert counts(meta_server) == []


def test_long_names_make_no_registration_too_large(
    meta_server: MetaServer, collector: CollectorDriver
) -> None:
    by_use(collector)
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=NOW)
    for number in range(100):
        record.attributes.add(key=f"{number}" + "k" * 50_000).value.int_value = 1
    record.attributes.add(key="status").value.int_value = 200
    collector.commit(collector.put(payloads=[data.SerializeToString()]))

    nursery(collector.client).cycle()

    assert collector.merged() == {collector.dataset_id: 0}
    assert counts(meta_server) == [{"1": [1, {"status": [1, 0, 1]}]}]


def test_babies_of_several_tasks_are_counted_together(
    meta_server: MetaServer, collector: CollectorDriver
) -> None:
    by_use(collector)
    for _ in range(3):
        collector.commit(collector.put(payloads=[records(9_000), records(4)]))

    nursery(collector.client).cycle()

    assert counts(meta_server) == [
        {"1": [27_012, {"status": [27_012, 0, 27_012], "route": [13_506, 13_506, 0]}]}
    ]
