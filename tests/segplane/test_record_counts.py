"""Records, rows and duplicates of a dataset that is deduplicated."""

import json

import pytest

from meta.v1 import operations_pb2 as pb
from nursery import metrics
from tests.support.command_line import RunCommand
from tests.support.events_once import name_of, orders
from tests.support.nursery.drivers import CollectorDriver, nursery


@pytest.mark.long
def test_records_rows_and_duplicates_are_shown_apart(
    run: RunCommand, collector: CollectorDriver
) -> None:
    name, before = name_of(collector), _counted()
    collector.commit(collector.put(payloads=[orders("a", "b"), orders("b")]))
    nursery(collector.client).cycle()

    shown = run("datasets", "show", name).stdout
    (usage,) = json.loads(run("datasets", "usage", name, "--json").stdout)
    header, row = run("datasets", "usage", name).stdout.splitlines()

    facts = dict(line.rsplit(None, 1) for line in shown.splitlines())
    accepted = next(value for label, value in facts.items() if label.startswith("records accepted"))
    assert (accepted, facts["rows"], facts["duplicates"]) == ("3", "2", "1")
    assert (usage["records"], usage["rows"], usage["duplicates"]) == ("3", "2", "1")
    assert dict(zip(header.lower().split(), row.split(), strict=True)) == {
        "dataset": collector.dataset_id,
        "month": usage["month"],
        "records": "3",
        "limit": "-",
        "rows": "2",
        "duplicates": "1",
        **dict.fromkeys(("ingested", "merged", "scanned", "cpu_secs"), "-"),
    }
    assert _counted() == (before[0] + 2, before[1] + 1)


def _counted() -> tuple[float, float]:
    """Rows and duplicates by the nursery's metrics."""
    counters = (metrics.NURSERY_RECORDS, metrics.NURSERY_DUPLICATES)
    rows, duplicates = (counter._value.get() for counter in counters)
    return rows, duplicates


def test_rows_are_counted_only_for_a_caller_who_asks(collector: CollectorDriver) -> None:
    ids = [collector.dataset_id]

    (plain,) = collector.client.operations.GetUsage(pb.GetUsageRequest(dataset_ids=ids)).usage
    (full,) = collector.client.operations.GetUsage(
        pb.GetUsageRequest(dataset_ids=ids, with_rows=True)
    ).usage

    assert (plain.HasField("rows"), plain.HasField("duplicates")) == (False, False)
    assert (full.HasField("rows"), full.rows, full.HasField("duplicates")) == (True, 0, True)
