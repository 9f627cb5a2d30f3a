"""Datasets that refuse events outside the window: never a row, never lost, never twice."""

import json
import time

import pytest

from meta.errors import EventsOutsideWindow, InvalidArgument
from meta.v1 import catalog_pb2, common_pb2, nursery_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.command_line import RunCommand
from tests.support.events_once import DAY_NANOS, duplicates, identify, merge, orders, send
from tests.support.meta.dataset_life import get_settings, set_settings
from tests.support.nursery.drivers import CollectorDriver, nursery, write_and_fail
from tests.support.schema_violations import QUARANTINE, choose, listed, seen, withheld

KEEP, REFUSE = common_pb2.OUTSIDE_WINDOW_KEEP, common_pb2.OUTSIDE_WINDOW_REFUSE


@pytest.fixture
def collector(collector: CollectorDriver) -> CollectorDriver:
    """Of a dataset that takes events of the last three days."""
    refuse(collector)
    return collector


def refuse(
    collector: CollectorDriver, choice: common_pb2.OutsideWindow.ValueType = REFUSE, days: int = 3
) -> pb.DatasetSettings:
    deduplication = common_pb2.Deduplication(
        column="order_id", window_days=days, outside_window=choice
    )
    change = pb.DatasetSettings(deduplication=deduplication)
    return set_settings(collector.client, collector.dataset_id, change)


def today() -> int:
    return time.time_ns() // DAY_NANOS


def test_events_outside_the_window_are_quarantined_by_their_own_cause(
    run: RunCommand, collector: CollectorDriver
) -> None:
    """Those that were acknowledged all the same, with the count in balance."""
    send(
        collector,
        orders("old", "older", days_ago=9) + orders("new", "", days_ago=2),
        orders("early", days_ago=-4),
        orders("", text="untold", days_ago=9),
    )
    merge(collector)

    assert seen(collector) == ["", "new", "untold"]
    assert collector.merged() == {collector.dataset_id: 0}
    items = listed(run)
    causes = [item["cause"].partition(":")[0] for item in items]
    assert causes == ["outside_window"] * 2
    assert "record 0, timestamp: " in items[0]["cause"]
    assert withheld(run) == {"quarantined": (2, 3)}
    assert "outside_window" in run("quarantine", "list", "--cause", "outside_window").stdout


def test_an_event_that_left_the_window_is_never_a_second_row(
    run: RunCommand, collector: CollectorDriver
) -> None:
    refuse(collector, days=20)
    send(collector, orders("a", days_ago=9))
    merge(collector)
    # As if ten days had passed.
    refuse(collector)
    send(collector, orders("a", days_ago=9))
    merge(collector)

    assert seen(collector) == ["a"]
    assert withheld(run) == {"quarantined": (1, 1)}


def test_schema_violations_are_apart_from_those_outside(
    run: RunCommand, collector: CollectorDriver
) -> None:
    choose(collector.client, collector.dataset_id, QUARANTINE)
    send(collector, orders("a", "b", days_ago=9) + orders("c", price="high") + orders("d"))
    merge(collector)

    causes = sorted(item["cause"].partition(":")[0] for item in listed(run))
    assert causes == ["outside_window", "schema_violations"]
    assert withheld(run) == {"quarantined": (2, 3)}
    assert seen(collector) == ["d"]


def test_a_replay_takes_events_once_they_are_in_the_window(
    run: RunCommand, collector: CollectorDriver
) -> None:
    send(collector, orders("a", "a", "b", days_ago=9))
    merge(collector)
    (item,) = listed(run)

    refused = run("quarantine", "replay", item["key"])
    refuse(collector, days=20)
    done = run("quarantine", "replay", item["key"])

    assert refused.exit_code == 1
    assert "outside the window of the dataset (record 0, timestamp: " in refused.stderr
    assert done.exit_code == 0, done.stderr
    assert seen(collector) == ["a", "b"]
    assert duplicates(collector.client, collector.dataset_id) == 1
    assert withheld(run) == {}
    # They were claimed.
    send(collector, orders("a", "b", days_ago=9))
    merge(collector)
    assert seen(collector) == ["a", "b"]


@pytest.mark.parametrize("way", ["--as-is", "keep"])
def test_a_replay_may_take_events_outside(
    run: RunCommand, collector: CollectorDriver, way: str
) -> None:
    send(collector, orders("a"))
    merge(collector)
    send(collector, orders("a", "b", days_ago=9))
    merge(collector)
    (item,) = listed(run)
    options = [way] if way == "--as-is" else []
    if not options:
        refuse(collector, KEEP)

    done = run("quarantine", "replay", item["key"], *options)

    assert done.exit_code == 0, done.stderr
    assert seen(collector) == ["a", "b"]
    assert duplicates(collector.client, collector.dataset_id) == 1


def test_a_nursery_that_died_on_the_day_before_leaves_objects_that_do_not_count(
    run: RunCommand, collector: CollectorDriver
) -> None:
    """The window of its verdict is another one."""
    send(collector, orders("old", days_ago=9), orders("older", days_ago=12))
    nursery(collector.client, write_and_fail).cycle()
    refuse(collector, days=11)
    merge(collector)

    assert seen(collector) == ["old"]
    assert withheld(run) == {"quarantined": (1, 1), "uncounted": (2, 2)}


def test_meta_refuses_registrations_of_events_outside(collector: CollectorDriver) -> None:
    """The nursery's window may be that of the day before; its next cycle has the new one."""
    client, dataset_id = collector.client, collector.dataset_id
    send(collector, orders("a"))
    rule = get_settings(client, dataset_id).deduplication.rule
    day = nursery_pb2.DayKeys(day=today() - 3, hashes=bytes(16))
    move = nursery_pb2.StreamOffsetInfo(
        stream_id=collector.stream_id,
        dataset_id=dataset_id,
        start_merged_offset=-1,
        new_merged_offset=0,
    )
    request = nursery_pb2.RegisterMergedSegmentRequest(
        stream_offsets=[move],
        deduplication_keys=nursery_pb2.DeduplicationKeys(rule=rule, days=[day]),
    )

    with pytest.raises(EventsOutsideWindow, match="outside the window of the dataset"):
        client.nursery.RegisterMergedSegment(request)

    assert collector.merged() == {dataset_id: -1}


def test_the_setting_is_shown_and_kept_by_other_changes(
    run: RunCommand, collector: CollectorDriver
) -> None:
    client, dataset_id = collector.client, collector.dataset_id
    before = get_settings(client, dataset_id).deduplication
    assert (before.outside_window, before.window.last_day) == (REFUSE, today() + 1)
    assert before.window.first_day == today() - 2
    name = dataset_name(collector)

    shown = run("datasets", "deduplication", name, "--deduplicate-days", "5").stdout
    kept = run("datasets", "deduplication", name, "--outside-window", "keep", "--json").stdout

    assert "records outside the window" in shown
    assert json.loads(kept)["deduplication"]["outside_window"] == "OUTSIDE_WINDOW_UNSPECIFIED"
    after = get_settings(client, dataset_id).deduplication
    assert (after.window_days, after.rule) == (5, before.rule)
    assert run("datasets", "deduplication", name, "--outside-window", "drop").exit_code == 2
    with pytest.raises(InvalidArgument, match="column is not set"):
        set_settings(
            client,
            dataset_id,
            pb.DatasetSettings(deduplication=common_pb2.Deduplication(outside_window=REFUSE)),
        )
    identify(client, dataset_id, "")
    assert run("datasets", "deduplication", name, "--outside-window", "refuse").exit_code == 2


def dataset_name(collector: CollectorDriver) -> str:
    request = catalog_pb2.GetDatasetRequest(id=collector.dataset_id)
    return collector.client.catalog.GetDataset(request).name
