"""A baby of several UTC days: a file a day, the smallest days in one, all at one version."""

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from meta.v1 import segment_lookup_pb2
from meta.v1.common_pb2 import SegmentInfo
from tests.support.nursery.drivers import NOW, CollectorDriver, nursery, texts

DAY = 86_400 * 10**9
MIDNIGHT = NOW // DAY * DAY


def at(*times: int) -> bytes:
    """An export with a record at each of these times."""
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    for time in times:
        records.add(time_unix_nano=time).body.string_value = str(time)
    return data.SerializeToString()


def send(collector: CollectorDriver, *times: int) -> None:
    """Commit one baby with a record at each of these times, all in one export."""
    collector.commit(collector.put(payloads=[at(*times)]))


def find(collector: CollectorDriver) -> list[SegmentInfo]:
    request = segment_lookup_pb2.FindSegmentsRequest()
    found = collector.client.segment_lookup.FindSegments(request).segments
    return sorted(found, key=lambda one: one.time_range.start_time)


def test_both_sides_of_midnight_are_found_at_one_version_in_their_own_files(
    collector: CollectorDriver,
) -> None:
    send(collector, MIDNIGHT + 5, MIDNIGHT - 1, MIDNIGHT, MIDNIGHT - 7)

    nursery(collector.client).cycle()

    before, after = find(collector)
    assert (before.time_range.start_time, before.time_range.end_time) == (
        MIDNIGHT - 7,
        MIDNIGHT - 1,
    )
    assert (after.time_range.start_time, after.time_range.end_time) == (MIDNIGHT, MIDNIGHT + 5)
    assert before.created_version == after.created_version
    assert collector.merged() == {collector.dataset_id: 0}


def test_a_ninth_day_shares_the_file_of_the_smallest_and_no_record_is_lost(
    collector: CollectorDriver,
) -> None:
    # Day 0 has one record, day 11 has twelve.
    times = [MIDNIGHT + day * DAY + n for day in range(12) for n in range(day + 1)]
    send(collector, *times)

    nursery(collector.client).cycle()

    found = find(collector)
    assert texts(collector) == sorted(map(str, times))
    assert len({one.created_version for one in found}) == 1
    shared, *own = found
    assert shared.number_of_events == 1 + 2 + 3 + 4
    assert [one.number_of_events for one in own] == list(range(5, 13))
    assert {one.time_range.start_time // DAY - MIDNIGHT // DAY for one in own} == set(range(4, 12))
    for one in own:
        assert one.time_range.start_time // DAY == one.time_range.end_time // DAY


def test_days_of_a_client_with_a_random_clock_do_not_flood_the_bucket(
    collector: CollectorDriver,
) -> None:
    send(collector, *(MIDNIGHT + day * 37 * DAY for day in range(300)))

    nursery(collector.client).cycle()

    found = find(collector)
    assert len(found) == 9
    assert sum(one.number_of_events for one in found) == 300


def test_of_days_with_as_many_records_the_newest_get_their_own_files(
    collector: CollectorDriver,
) -> None:
    times = [MIDNIGHT - day * DAY for day in range(30)]
    send(collector, *times)

    nursery(collector.client).cycle()

    segments = find(collector)
    today = segments[-1].time_range
    assert (today.start_time, today.end_time) == (MIDNIGHT, MIDNIGHT)
    assert texts(collector) == sorted(map(str, times))
