"""Gauges by dataset, of those that are measured; and the lag of nurseries, as meta sees it."""

from contextlib import suppress
from dataclasses import replace

import pytest

from meta.commits.transactions import Transactions
from meta.errors import MetaError
from meta.metrics import META
from meta.process.shutdown import Shutdown
from meta.server import jobs
from meta.store.engine.pool import Database, DatabaseSettings
from meta.store.status import visibility_counts
from meta.store.status.visibility_counts import DATASETS_MAX
from meta.watches import tenant_gauges
from meta.watches.dataset_gauges import DatasetGauges
from meta.watches.installation_gauges import InstallationGauges
from tests.support.meta.server import MetaServer
from tests.support.meta.two_datasets import TwoDatasets

NAMES = (
    *("freshness_seconds", "unmerged_babies", "unmerged_records", "unmerged_bytes"),
    *("segments", "bytes", "write_amplification"),
)
TIERS = ("tier_segments", "tier_bytes")


@pytest.fixture
def scene(meta_server: MetaServer) -> TwoDatasets:
    """Give the stream, of whose datasets web alone is measured."""
    made = TwoDatasets.create(meta_server)
    made.execute(f"INSERT INTO measured_datasets VALUES ('{made.web}', 0)")  # noqa: S608
    return made


def run_round(scene: TwoDatasets) -> None:
    DatasetGauges(Transactions(scene.server.running.database)).run_round()


def values(name: str) -> dict[str, float]:
    """The value of a gauge by its labels; the tenant `default` is none."""
    family = next(each for each in META.collect() if each.name == name)
    return {_label(sample.labels): sample.value for sample in family.samples}


def _label(labels: dict[str, str]) -> str:
    tenant, *others = labels.values() if "tenant" in labels else ("default", *labels.values())
    return "".join(others) if tenant == "default" else f"{tenant}/{''.join(others)}"


def of_datasets(dataset: str) -> list[float]:
    return [values(f"segplane_dataset_{name}")[dataset] for name in NAMES]


def age(scene: TwoDatasets, seconds: int) -> None:
    scene.execute(
        f"UPDATE baby_segments SET committed_at = now() - interval '{seconds} s'"  # noqa: S608
    )


@pytest.mark.long
def test_a_measured_dataset_has_its_name_and_all_others_have_one(scene: TwoDatasets) -> None:
    for offset, datasets in enumerate(([scene.web], [scene.app], [scene.web, scene.app])):
        scene.collector.commit(scene.stream, offset, *datasets)
    age(scene, 60)
    run_round(scene)

    assert set(values("segplane_dataset_freshness_seconds")) == {"web", "other"}
    assert of_datasets("web") == [pytest.approx(60, abs=10), 2, 20, 2_000, 0, 0, 0]
    assert of_datasets("other") == [pytest.approx(60, abs=10), 2, 20, 2_000, 0, 0, 0]

    scene.nursery.merge(scene.web, scene.stream, -1, 2)
    run_round(scene)

    *waiting, segments, stored_bytes, _ = of_datasets("web")
    assert (waiting, segments) == ([0, 0, 0, 0], 1)
    assert stored_bytes > 0
    assert values("segplane_dataset_tier_segments") == {"web0": 1, "other0": 0}
    assert values("segplane_dataset_tier_bytes") == {"web0": stored_bytes, "other0": 0}


def test_a_dataset_that_is_not_measured_any_more_has_no_gauge(scene: TwoDatasets) -> None:
    run_round(scene)
    scene.execute("DELETE FROM measured_datasets")

    run_round(scene)

    assert all(set(values(f"segplane_dataset_{name}")) == {"other"} for name in NAMES)


def test_names_are_at_most_a_hundred_and_those_of_more_are_other(scene: TwoDatasets) -> None:
    scene.execute(
        "WITH made AS (INSERT INTO datasets (id, name) SELECT gen_random_uuid(), 'd' || n"  # noqa: S608
        f" FROM generate_series(1, {DATASETS_MAX + 1}) n RETURNING key)"
        " INSERT INTO dataset_stats (dataset_key, live_segments, live_compressed_size_bytes)"
        " SELECT key, 1, 7 FROM made ON CONFLICT (dataset_key) DO UPDATE"
        " SET live_segments = 1, live_compressed_size_bytes = 7"
    )
    with scene.server.running.database.write() as tx:
        visibility_counts.choose(tx)

    run_round(scene)

    sizes = values("segplane_dataset_bytes")
    assert len(sizes) == DATASETS_MAX + 1
    assert sizes["other"] == 7


def test_a_pass_over_tiers_takes_as_many_rounds_as_it_has_pages(scene: TwoDatasets) -> None:
    for offset, dataset in enumerate((scene.web, scene.app, scene.web)):
        scene.collector.commit(scene.stream, offset, dataset)
        scene.nursery.merge(dataset, scene.stream, -1 if offset < 2 else 0, offset)
    large = "(SELECT id FROM segments ORDER BY created_at LIMIT 1)"
    scene.execute(f"UPDATE segments SET compressed_size_bytes = 5 * 2^20 WHERE id = {large}")  # noqa: S608
    gauges = DatasetGauges(Transactions(scene.server.running.database), counted_max=2)
    before = values("segplane_dataset_tier_segments")
    gauges.run_round()
    assert values("segplane_dataset_tier_segments") == before

    gauges.run_round()

    shown = {"web0": 1, "web2": 1, "other0": 1}
    assert values("segplane_dataset_tier_segments") == shown
    gauges.run_round()
    assert values("segplane_dataset_tier_segments") == shown, "nothing has changed"


def test_what_was_written_is_compared_with_what_nurseries_wrote(scene: TwoDatasets) -> None:
    for dataset, kind, size in ((scene.web, 3, 100), (scene.web, 4, 250), (scene.app, 4, 10)):
        scene.execute(
            "INSERT INTO costs VALUES ((now() AT TIME ZONE 'UTC')::date, 0,"  # noqa: S608
            f" '{dataset}', {kind}, {size}, 0, 0, 0)"
        )

    run_round(scene)

    assert values("segplane_dataset_write_amplification") == {"web": 3.5, "other": 0}


def test_a_dataset_of_another_tenant_has_its_name_once_that_tenant_allows_it(
    scene: TwoDatasets,
) -> None:
    scene.execute("INSERT INTO tenants (id, name) VALUES (gen_random_uuid(), 'payments')")
    key = "(SELECT key FROM tenants WHERE name = 'payments')"
    scene.execute(f"UPDATE datasets SET tenant_key = {key} WHERE id = '{scene.web}'")  # noqa: S608
    scene.collector.commit(scene.stream, 0, scene.web)
    run_round(scene)
    gauges = [f"segplane_dataset_{name}" for name in (*NAMES, *TIERS)]
    before = [set(values(name)) for name in gauges[:-2]]
    waiting = values("segplane_dataset_unmerged_babies")

    scene.execute(f"INSERT INTO metric_names SELECT {key}")
    run_round(scene)

    assert before == [{"other", "payments/other"}] * len(before)
    assert waiting == {"other": 0, "payments/other": 1}
    assert values("segplane_dataset_unmerged_babies") == {"other": 0, "payments/web": 1}
    assert set(values("segplane_dataset_bytes")) == {"other", "payments/web"}


def test_tenants_beyond_the_oldest_are_together(
    scene: TwoDatasets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenant_gauges, "TENANTS_MAX", 2)
    running = scene.server.running
    gauges = InstallationGauges(
        Transactions(running.database), scene.server.settings, running.reports
    )
    gauges.run_round()
    alone = values("segplane_tenant_records")
    scene.execute(
        "INSERT INTO tenants (id, name) SELECT gen_random_uuid(), 't' || n"
        " FROM generate_series(1, 3) n"
    )
    for dataset, name in ((scene.web, "t2"), (scene.app, "t3")):
        key = f"(SELECT key FROM tenants WHERE name = '{name}')"  # noqa: S608
        scene.execute(f"UPDATE datasets SET tenant_key = {key} WHERE id = '{dataset}'")  # noqa: S608
        scene.collector.commit(scene.stream, 0 if name == "t2" else 1, dataset)

    InstallationGauges(
        Transactions(running.database), scene.server.settings, running.reports
    ).run_round()

    assert alone == {}
    assert records_of_tenants() == {"default": 0, "t1": 0, "other": 20}
    family = next(each for each in META.collect() if each.name == "segplane_tenant_datasets")
    assert {s.labels["tenant"]: s.value for s in family.samples} == {
        "default": 1,
        "t1": 0,
        "other": 2,
    }


def records_of_tenants() -> dict[str, float]:
    family = next(each for each in META.collect() if each.name == "segplane_tenant_records")
    return {sample.labels["tenant"]: sample.value for sample in family.samples}


def test_a_dataset_called_other_is_one_of_the_others(scene: TwoDatasets) -> None:
    scene.execute(f"UPDATE datasets SET name = 'other' WHERE id = '{scene.web}'")  # noqa: S608
    scene.collector.commit(scene.stream, 0, scene.web)
    scene.collector.commit(scene.stream, 1, scene.app)

    run_round(scene)

    assert values("segplane_dataset_unmerged_babies") == {"other": 2}


def test_the_lag_of_a_nursery_rises_while_none_runs(scene: TwoDatasets) -> None:
    running = scene.server.running
    gauges = InstallationGauges(
        Transactions(running.database), scene.server.settings, running.reports
    )
    gauges.run_round()
    assert values("segplane_meta_nursery_lag_seconds") == {}
    scene.collector.commit(scene.stream, 0, scene.web)
    age(scene, 90)

    gauges.run_round()
    unleased = values("segplane_meta_nursery_lag_seconds")
    scene.execute("INSERT INTO nurseries VALUES ('n', now() + interval '1 hour')")
    scene.execute("INSERT INTO nursery_shards SELECT n, 'n' FROM generate_series(0, 63) n")
    gauges.run_round()

    assert unleased == {"unleased": pytest.approx(90, abs=10)}
    assert values("segplane_meta_nursery_lag_seconds") == {"0": pytest.approx(90, abs=10)}


def test_shards_are_unleased_from_the_end_of_the_lease_of_the_last_nursery(
    scene: TwoDatasets,
) -> None:
    running = scene.server.running
    gauges = InstallationGauges(
        Transactions(running.database), scene.server.settings, running.reports
    )
    scene.execute("INSERT INTO nurseries VALUES ('n', now() - interval '1 second')")
    scene.execute("INSERT INTO nursery_shards SELECT n, 'n' FROM generate_series(0, 63) n")
    scene.collector.commit(scene.stream, 0, scene.web)
    age(scene, 90)

    gauges.run_round()

    assert values("segplane_meta_nursery_lag_seconds") == {"unleased": pytest.approx(90, abs=10)}


@pytest.mark.long
def test_gauges_are_absent_while_postgres_does_not_answer(scene: TwoDatasets) -> None:
    running, settings = scene.server.running, scene.server.settings
    stopped = Transactions(Database(DatabaseSettings(url="postgresql://meta@127.0.0.1:1/meta")))
    scene.collector.commit(scene.stream, 0, scene.web)

    def shown(transactions: Transactions) -> dict[str, bool]:
        for job in (
            DatasetGauges(transactions),
            InstallationGauges(transactions, settings, running.reports),
        ):
            with suppress(MetaError):
                job.run_round()
        gauges = [f"segplane_dataset_{name}" for name in (*NAMES, *TIERS)]
        gauges += ["segplane_meta_expiring", "segplane_meta_nursery_lag_seconds"]
        gauges.append("segplane_meta_quota_used_ratio")
        bounds = {"datasets", "ingest_tokens"} & set(values("segplane_free_places"))
        return {**{name: bool(values(name)) for name in gauges}, "bounds": bool(bounds)}

    before, during = shown(Transactions(running.database)), shown(stopped)

    assert set(before.values()) == {True}
    assert set(during.values()) == {False}
    assert shown(Transactions(running.database)) == before


def test_datasets_are_measured_only_where_the_setting_allows_it(scene: TwoDatasets) -> None:
    running = scene.server.running

    def names(*, is_allowed: bool) -> set[str]:
        settings = replace(scene.server.settings, has_dataset_metrics=is_allowed)
        shutdown = Shutdown()
        started = jobs.start(running.database, running.report, settings, shutdown, running.reports)
        shutdown.request()
        started.join(10.0)
        return {thread.name for thread in started.threads}

    assert names(is_allowed=True) - names(is_allowed=False) == {"dataset_gauges"}
