"""segplane freshness: real flushes that wait, are late, and are merged."""

import json
import re

import psycopg
import pytest

from meta.process.shutdown import Shutdown
from meta.v1 import catalog_pb2, ingestion_pb2
from meta.v1 import status_pb2 as pb
from meta.watches.rounds import Rounds
from tests.support.command_line import RunCommand
from tests.support.meta.server import MetaServer
from tests.support.nursery.drivers import CollectorDriver, dataset, nursery, texts


@pytest.fixture
def collector(meta_server: MetaServer) -> CollectorDriver:
    """Collector of a dataset."""
    return CollectorDriver(meta_server.client, dataset(meta_server.client), "host-4:4317")


def report_nursery(meta_server: MetaServer) -> None:
    report = pb.ProcessReport(kind="nursery", name="nursery-1", started_at_nanos=1)
    meta_server.client.ingestion.DownloadConfig(ingestion_pb2.DownloadConfigRequest(report=report))


def test_freshness_shows_what_waits_until_it_is_merged(
    meta_server: MetaServer, collector: CollectorDriver, run: RunCommand
) -> None:
    request = catalog_pb2.GetDatasetRequest(id=collector.dataset_id)
    name = meta_server.client.catalog.GetDataset(request).name
    collector.send("first")
    collector.send("second")

    alone = run("freshness")
    report_nursery(meta_server)
    young = run("freshness")
    with psycopg.connect(meta_server.settings.database.url) as connection:
        connection.execute("UPDATE baby_segments SET committed_at = now() - interval '7 min'")
    late, of_one = run("freshness", "--json"), run("freshness", name)

    assert (alone.exit_code, young.exit_code) == (0, 0)
    assert alone.stdout.splitlines()[2].split() == [
        *("DATASET", "AGE", "STAGE", "WAITING", "BYTES", "STREAM", "COLLECTOR"),
        *("NEWEST", "SEGMENT", "P50", "P99"),
    ]
    row = alone.stdout.splitlines()[3]
    assert row.startswith(name)
    assert "no nursery" in row
    assert f"{collector.stream_id}  host-4:4317" in row
    assert "gathering" in young.stdout
    assert alone.stderr == "not shown, because nothing waits: 1 of 2 datasets\n"
    assert (late.exit_code, of_one.exit_code) == (1, 1)
    data = json.loads(late.stdout)
    (judged,) = data["datasets"]
    assert (judged["dataset_name"], judged["stage"], judged["late"]) == (name, "waiting", True)
    assert data["needs"] == [f"{name}: records wait for 7 min, waiting to be merged"]
    assert (judged["babies"], judged["stream_id"]) == ("2", collector.stream_id)
    assert of_one.stdout.startswith("1 dataset is late; records wait, the oldest for 7 min\n")

    nursery(meta_server.client).cycle()
    merged = run("freshness")

    assert texts(collector) == ["first", "second"]
    assert (merged.exit_code, merged.stdout) == (0, "ok: nothing waits\n")
    by_id = json.loads(run("freshness", collector.dataset_id, "--json").stdout)
    assert [(row["dataset_name"], row["stage"]) for row in by_id["datasets"]] == [(name, None)]
    assert (by_id["ok"], by_id["needs"]) == (True, [])
    every = run("freshness", "--all").stdout.splitlines()
    assert {line.split()[0] for line in every[3:]} == {"default", name}
    assert any(" s ago" in line for line in every)


def test_freshness_shows_the_times_of_the_last_hour(
    meta_server: MetaServer, collector: CollectorDriver, run: RunCommand
) -> None:
    rounds = Rounds(meta_server.running.database, meta_server.settings, Shutdown())
    for body in ("before the dataset is measured", "after it"):
        collector.send(body)
        nursery(meta_server.client).cycle()
        rounds.count_visibility()

    (row,) = json.loads(run("freshness", collector.dataset_id, "--json").stdout)["datasets"]
    shown = run("freshness", "--all").stdout

    assert row["flushes"] == "1"
    assert 0 < int(row["p50_nanos"]) <= int(row["p99_nanos"])
    assert re.search(r" s ago +\d+\.\d s +\d+\.\d s$", shown, re.MULTILINE)


def test_an_unknown_dataset_is_a_refusal(run: RunCommand) -> None:
    unknown = run("freshness", "nothing")

    assert unknown.exit_code == 1
    assert "there is no dataset 'nothing'" in unknown.stderr
