"""Quotas of creators: live datasets, and records a month of all datasets of one."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, QuotaExceeded, UpgradeUnfinished
from meta.roles import Role
from meta.services.streams.recent_records import FRESH_SECS, RecentRecords
from meta.store.access import creator_quotas
from meta.store.catalog import usage
from meta.v1 import catalog_pb2
from meta.v1 import operations_pb2 as ops
from meta.v1 import resources_pb2 as pb
from tests.support.clock import SettableClock
from tests.support.meta.dataset_life import delete, undelete
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.server import MetaServer


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as running:
        yield running


def set_quota(client: Any, creator: str, **values: int) -> pb.CreatorQuota:
    request = pb.SetCreatorQuotaRequest(creator=creator, **values)
    quota: pb.CreatorQuota = client.resources.SetCreatorQuota(request).quota
    return quota


def quotas(client: Any, creator: str | None = None) -> list[pb.CreatorQuota]:
    request = pb.ListCreatorQuotasRequest(creator=creator)
    return list(client.resources.ListCreatorQuotas(request).quotas)


def make(client: Any, name: str) -> str:
    return str(client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name)).id)


def used(client: Any, dataset: str) -> ops.DatasetUsage:
    (own,) = client.operations.GetUsage(ops.GetUsageRequest(dataset_ids=[dataset])).usage
    assert isinstance(own, ops.DatasetUsage)
    return own


def add_records(guard: GuardedServer, records: dict[str, int]) -> None:
    with guard.running.database.write() as tx:
        usage.add(tx, {UUID(dataset): number for dataset, number in records.items()})


def test_a_creator_has_at_most_its_own_quota_of_datasets_or_the_default(
    guard: GuardedServer,
) -> None:
    with (
        guard.client(Role.ADMIN, "root") as admin,
        guard.client(Role.CATALOG, "ann") as ann,
        guard.client(Role.CATALOG, "bob") as bob,
    ):
        set_quota(admin, "", datasets=1)
        set_quota(admin, "ann", datasets=2)
        first = make(ann, "a1")
        make(ann, "a2")
        make(bob, "b1")
        with pytest.raises(
            QuotaExceeded, match=r"'ann' has created 2 .*segplane access quotas"
        ) as refused:
            make(ann, "a3")
        assert refused.value.metadata["limit"] == "2"
        with pytest.raises(QuotaExceeded, match="'bob' has created 1 datasets"):
            make(bob, "b2")
        # A deleted one that comes back counts, whoever brings it back.
        delete(ann, first)
        make(ann, "a3")
        with pytest.raises(QuotaExceeded, match="'ann'"):
            undelete(bob, first)
        # A lower quota deletes nothing; the default and no limit.
        set_quota(admin, "ann", datasets=0)
        assert quotas(admin, "ann")[0].live_datasets == 2
        with pytest.raises(QuotaExceeded, match="'ann' has created 1 datasets"):
            make(ann, "a4")
        set_quota(admin, "ann", datasets=-1)
        assert undelete(bob, first).success


def test_quotas_are_listed_with_what_their_creators_have(guard: GuardedServer) -> None:
    with guard.client(Role.ADMIN, "root") as admin, guard.client(Role.CATALOG, "ann") as ann:
        datasets = [make(ann, name) for name in "abc"]
        add_records(guard, dict(zip(datasets, (5, 7, 11), strict=True)))
        # Records of deleted datasets count on.
        delete(ann, datasets[2])
        assert quotas(admin) == []

        set_quota(admin, "", records_per_month=100)
        set_quota(admin, "ann", datasets=20)
        changed = set_quota(admin, "ann", records_per_month=50)

        expected = pb.CreatorQuota(
            creator="ann",
            datasets=20,
            records_per_month=50,
            live_datasets=2,
            datasets_limit=20,
            records=23,
            records_limit=50,
        )
        assert changed == expected
        default = pb.CreatorQuota(records_per_month=100, datasets_limit=-1, records_limit=100)
        assert quotas(admin) == [default, expected]
        assert quotas(ann, "") == [default]
        bob = pb.CreatorQuota(creator="bob", datasets_limit=-1, records_limit=100)
        assert quotas(ann, "bob") == [bob]
        # Quotas that are the default are no more.
        set_quota(admin, "ann", datasets=0, records_per_month=0)
        assert quotas(admin) == [default]


def test_usage_has_the_limit_and_the_records_of_the_creator(guard: GuardedServer) -> None:
    with (
        guard.client(Role.ADMIN, "root") as admin,
        guard.client(Role.CATALOG, "ann") as ann,
        guard.client(Role.CATALOG, "bob") as bob,
    ):
        mine, other, his = make(ann, "a"), make(ann, "b"), make(bob, "c")
        add_records(guard, {mine: 5, other: 7, his: 11})
        assert not used(admin, mine).HasField("creator_limit")

        set_quota(admin, "ann", records_per_month=10)

        figures = used(admin, mine)
        assert (figures.records, figures.limit) == (5, -1)
        assert (figures.creator_records, figures.creator_limit) == (12, 10)
        assert not used(admin, his).HasField("creator_limit")
        set_quota(admin, "", records_per_month=1)
        set_quota(admin, "ann", records_per_month=-1)
        assert not used(admin, mine).HasField("creator_limit")
        assert (used(admin, his).creator_records, used(admin, his).creator_limit) == (11, 1)


def test_records_of_a_creator_are_read_once_in_some_seconds(guard: GuardedServer) -> None:
    clock = SettableClock()
    records = RecentRecords(creator_quotas.read_records, clock)
    with guard.client(Role.CATALOG, "ann") as ann:
        dataset = make(ann, "a")

    def read() -> int:
        with guard.running.database.read() as tx:
            return records.read(tx, {"ann"})["ann"]

    assert read() == 0
    add_records(guard, {dataset: 5})
    clock.now += FRESH_SECS / 2
    assert read() == 0
    clock.now += FRESH_SECS / 2
    assert read() == 5


def test_a_quota_is_minus_one_or_more(meta_client: MetaClient) -> None:
    for values in ({"datasets": -2}, {"records_per_month": -2}):
        with pytest.raises(InvalidArgument):
            set_quota(meta_client, "ann", **values)
    with pytest.raises(InvalidArgument, match="256 characters"):
        set_quota(meta_client, "a" * 256, datasets=1)
    set_quota(meta_client, "a" * 255, datasets=1)


def test_one_creator_more_than_may_have_quotas_is_refused(
    meta_client: MetaClient, meta_server: MetaServer
) -> None:
    most = creator_quotas.QUOTAS_MAX
    with meta_server.running.database.write() as tx:
        tx.execute(
            text(
                "INSERT INTO creator_quotas SELECT 'c' || n, 1, 0 FROM generate_series(2, :most) n"
            ),
            {"most": most},
        )
    set_quota(meta_client, "c1", datasets=1)
    with pytest.raises(QuotaExceeded, match="1000 creators"):
        set_quota(meta_client, "another", datasets=1)
    set_quota(meta_client, "c1", datasets=2)
    set_quota(meta_client, "c2", datasets=0)
    set_quota(meta_client, "another", datasets=1)
    assert len(quotas(meta_client)) == most


def test_no_quota_is_set_until_the_upgrade_is_finished(
    meta_client: MetaClient, meta_server: MetaServer
) -> None:
    with meta_server.running.database.write() as tx:
        tx.execute(text("UPDATE meta_state SET least_release = '0.3.0'"))

    with pytest.raises(UpgradeUnfinished, match="a quota of a creator"):
        set_quota(meta_client, "ann", datasets=1)

    assert quotas(meta_client) == []
