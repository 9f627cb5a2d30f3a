"""A day of 100,000 datasets in the ledger: its rows, and the CPU time that reports of it take.

Each dataset is active in every minute, which is more than any has: the CPU time of one minute of
three processes is measured, with that of the samples, the roll-up, and the shares of datasets in
the CPU time of meta and Postgres.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from meta.commits.server_costs import CHARGED_EVERY_SECS, ServerCosts
from meta.config import Settings
from meta.costs.cpu_time import cpu_micros_of
from meta.process.shutdown import Shutdown
from meta.store.costs import samples
from meta.v1 import costs_pb2 as pb
from meta.watches.rounds import Rounds
from tests.support.costs import entry, report
from tests.support.meta.server import MetaServer

DATASETS = 100_000
ENTRIES = 1_000
KINDS = (pb.COST_KIND_INGEST, pb.COST_KIND_NURSERY, pb.COST_KIND_MERGE)
# Of a core, by meta and Postgres, for reports of each dataset in each minute by three processes.
CORE_MAX = 0.5


def cpu_secs() -> float:
    """Return the CPU time of this process, which has meta, and of all of Postgres."""
    backends = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_postgres = (folder / "comm").read_text().startswith("postgres")
        except OSError:
            continue
        backends += (cpu_micros_of(int(folder.name)) or 0) if is_postgres else 0
    return time.process_time() + backends / 1e6


def division(server_costs: ServerCosts) -> float:
    """Divide meta and Postgres among the datasets; returns the CPU time that this took."""
    before = cpu_secs()
    server_costs.run_round()
    return cpu_secs() - before


def create_datasets(meta_server: MetaServer, ids: Sequence[str]) -> None:
    """Create datasets that have stored bytes."""
    with meta_server.running.database.write() as tx:
        tx.execute(
            text(
                "INSERT INTO datasets (id, name) SELECT i::uuid, i"
                " FROM unnest(cast(:ids AS text[])) AS i"
            ),
            {"ids": ids},
        )
        tx.exec_driver_sql(
            "INSERT INTO dataset_stats (dataset_key, live_compressed_size_bytes)"
            " SELECT key, 1000 FROM datasets WHERE NOT is_default"
        )


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_day_of_100_000_datasets(meta_server: MetaServer, meta_settings: Settings) -> None:
    ids = [str(UUID(int=(7 << 76) + number)) for number in range(DATASETS)]
    create_datasets(meta_server, ids)
    reporters = {kind: uuid4().bytes for kind in KINDS}

    def minute(number: int) -> float:
        before = cpu_secs()
        for kind in KINDS:
            for page in range(DATASETS // ENTRIES):
                entries = [
                    entry(each, kind, bytes=1_000, write_requests=1, cpu_micros=10)
                    for each in ids[page * ENTRIES : (page + 1) * ENTRIES]
                ]
                call = number * DATASETS // ENTRIES + page + 1
                assert report(meta_server.client, reporters[kind], call, *entries)
        return cpu_secs() - before

    server_costs = meta_server.running.reports.costs
    server_costs.run_round()
    # The first minute of a day inserts the rows, all others change them.
    minutes = [minute(number) for number in range(3)]
    # Shares of all datasets in the CPU time of meta and of Postgres; the second round changes rows.
    divisions = [division(server_costs)]
    minutes.append(minute(3))
    divisions.append(division(server_costs))
    before = cpu_secs()
    rounds = Rounds(meta_server.running.database, meta_settings, Shutdown())
    rounds.keep_costs()
    sample = cpu_secs() - before
    with meta_server.running.database.write() as tx:
        rows = tx.exec_driver_sql("SELECT count(*) FROM costs").scalar_one()
        size = tx.exec_driver_sql("SELECT pg_total_relation_size('costs')").scalar_one()
        tx.exec_driver_sql("UPDATE costs SET day = day - 63")
    before = cpu_secs()
    rounds.keep_costs()
    roll_up = cpu_secs() - before

    core = minutes[-1] / 60 + divisions[-1] / CHARGED_EVERY_SECS
    day = core * 86_400 + samples.SAMPLES_A_DAY * sample + roll_up
    print(
        f"\n{rows:,} rows a day, {size / 1e6:.0f} MB; CPU of a minute: {minutes[0]:.1f} s (first),"
        f" {minutes[-1]:.1f} s; of a division of meta and Postgres {divisions[0]:.1f} s (first),"
        f" {divisions[-1]:.1f} s; {core:.3f} of a core; of a sample {sample:.1f} s, of the roll-up"
        f" {roll_up:.1f} s; of the day at most {day / 3600:.1f} h"
    )
    # The samples of bytes, meta and Postgres have rows as well; those two also for no dataset.
    assert DATASETS * (len(KINDS) + 3) <= rows <= DATASETS * (len(KINDS) + 3) + 2
    assert core <= CORE_MAX
