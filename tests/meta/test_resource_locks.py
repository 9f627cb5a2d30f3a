"""Locks of resources: set, read, ended by their token or by time, and broken by an admin."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, Locked, LockTokenWrong, NotFound, UpgradeUnfinished
from meta.services.resources.locks import ENDS_SECS_MAX, REASON_CHARACTERS_MAX
from meta.v1 import catalog_pb2 as cat
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as ops
from meta.v1 import resources_pb2 as pb
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import delete, rename
from tests.support.meta.resource_locks import REASON, LockDriver, ref

UNKNOWN = "00000000-0000-7000-8000-000000000000"
HOUR_NANOS = 3_600 * 10**9


@pytest.fixture
def locks(meta_client: MetaClient) -> LockDriver:
    return LockDriver(meta_client)


@pytest.fixture
def dataset(catalog: CatalogDriver) -> str:
    return catalog.dataset("web")


def make(client: MetaClient, kind: str) -> str:
    """Create a resource of a kind; its id."""
    catalog, name = CatalogDriver(client), uuid4().hex
    columns = [common_pb2.Column(name="a", type=common_pb2.KQL_TYPE_LONG)]
    makers: dict[str, Callable[[], str]] = {
        "dataset": lambda: catalog.dataset(name),
        "schema": lambda: (
            client.catalog.CreateSchema(cat.CreateSchemaRequest(name=name, columns=columns)).id
        ),
        "view": lambda: client.catalog.CreateView(cat.CreateViewRequest(name=name)).id,
        "projection": lambda: (
            client.catalog.CreateProjection(
                cat.CreateProjectionRequest(name=name, projection="project body")
            ).id
        ),
        "ingest_token": lambda: catalog.token(catalog.dataset(name)).id,
    }
    return makers[kind]()


def now_nanos() -> int:
    return int(datetime.now(UTC).timestamp() * 10**9)


@pytest.mark.one_meta
@pytest.mark.parametrize("kind", ["dataset", "schema", "view", "projection", "ingest_token"])
def test_a_lock_refuses_a_note_until_its_token_ends_it(
    meta_client: MetaClient, locks: LockDriver, kind: str
) -> None:
    resource_id = make(meta_client, kind)
    ends = now_nanos() + HOUR_NANOS

    locked = locks.lock(kind, resource_id, ends_at_nanos=ends)

    assert locked.token.startswith("lock_")
    resource = locks.read(kind, resource_id)
    assert resource == locked.resource
    assert (resource.locked_by, resource.lock_reason) == ("anonymous", REASON)
    assert resource.locked_at
    assert resource.lock_ends_at.endswith("Z")
    request = pb.UpdateResourceRequest(resource=ref(kind, resource_id), note="changed")
    with pytest.raises(Locked) as refused:
        meta_client.resources.UpdateResource(request)
    assert refused.value.reason == "LOCKED"
    assert set(refused.value.metadata) >= {"locked_by", "lock_reason", "lock_ends_at"}
    with pytest.raises(Locked):
        locks.lock(kind, resource_id)

    unlocked = locks.unlock(kind, resource_id, locked.token)

    assert not unlocked.resource.HasField("locked_at")
    assert not locks.read(kind, resource_id).HasField("locked_by")
    meta_client.resources.UpdateResource(request)


def test_only_its_own_token_ends_a_lock_and_a_repeated_call_is_fine(
    locks: LockDriver, catalog: CatalogDriver, dataset: str
) -> None:
    other = catalog.dataset("other")
    token, others_token = locks.lock("dataset", dataset).token, locks.lock("dataset", other).token

    for wrong in (others_token, "lock_", token[:-1]):
        with pytest.raises(LockTokenWrong):
            locks.unlock("dataset", dataset, wrong)
    with pytest.raises(InvalidArgument):
        locks.unlock("dataset", dataset, "")
    locks.unlock("dataset", dataset, token)
    locks.unlock("dataset", dataset, token)

    again = locks.lock("dataset", dataset).token
    with pytest.raises(LockTokenWrong):
        locks.unlock("dataset", dataset, token)
    locks.unlock("dataset", dataset, again)


def test_a_lock_ends_by_itself_and_another_one_may_follow(
    meta_client: MetaClient, meta_settings: Settings, locks: LockDriver, dataset: str
) -> None:
    token = locks.lock("dataset", dataset, ends_at_nanos=now_nanos() + HOUR_NANOS).token
    with psycopg.connect(meta_settings.database.url) as connection:
        connection.execute("UPDATE resource_locks SET ends_at = now() - interval '1 second'")

    assert not locks.read("dataset", dataset).HasField("locked_at")
    rename(meta_client, dataset, "renamed")
    second = locks.lock("dataset", dataset)

    assert second.resource.HasField("locked_at")
    with pytest.raises(LockTokenWrong):
        locks.unlock("dataset", dataset, token)
    locks.unlock("dataset", dataset, second.token)


def test_an_admin_breaks_a_lock_and_it_is_audited(
    meta_client: MetaClient, locks: LockDriver, dataset: str
) -> None:
    locks.lock("dataset", dataset)

    broken = locks.break_lock("dataset", dataset)

    assert not broken.resource.HasField("locked_at")
    records = meta_client.operations.ListAuditRecords(ops.ListAuditRecordsRequest()).records
    assert [record.rpc for record in records[:2]] == ["BreakLock", "LockResource"]
    assert records[0].subject_id == dataset
    assert "the audit is over" in records[0].detail
    assert "lock of 'anonymous': an audit" in records[0].detail
    assert delete(meta_client, dataset)


def test_what_does_not_exist_is_not_locked(
    meta_client: MetaClient, locks: LockDriver, dataset: str
) -> None:
    with pytest.raises(NotFound):
        locks.lock("dataset", UNKNOWN)
    with pytest.raises(NotFound):
        locks.lock("view", dataset)
    with pytest.raises(NotFound):
        locks.unlock("dataset", dataset, "lock_x")
    with pytest.raises(NotFound):
        locks.break_lock("dataset", dataset)
    unnamed = pb.LockResourceRequest(resource=pb.ResourceRef(id=dataset), reason=REASON)
    with pytest.raises(InvalidArgument):
        meta_client.resources.LockResource(unnamed)


def test_reason_and_end_are_bounded(locks: LockDriver, meta_client: MetaClient) -> None:
    def lock(reason: str, ends_at_nanos: int | None = None) -> None:
        resource_id = make(meta_client, "dataset")
        meta_client.resources.LockResource(
            pb.LockResourceRequest(
                resource=ref("dataset", resource_id), reason=reason, ends_at_nanos=ends_at_nanos
            )
        )

    latest = now_nanos() + ENDS_SECS_MAX * 10**9

    lock("r" * REASON_CHARACTERS_MAX, latest - HOUR_NANOS)
    for reason, ends in (
        ("", None),
        ("r" * (REASON_CHARACTERS_MAX + 1), None),
        ("r", latest + HOUR_NANOS),
        ("r", now_nanos() - HOUR_NANOS),
        ("r", 2**63 - 1),
    ):
        with pytest.raises(InvalidArgument):
            lock(reason, ends)


def test_the_first_lock_waits_for_the_end_of_the_upgrade(
    meta_settings: Settings, locks: LockDriver, dataset: str
) -> None:
    """A meta of the release before, on the same database, would not obey it."""
    with psycopg.connect(meta_settings.database.url) as connection:
        connection.execute("UPDATE meta_state SET least_release = NULL")

    with pytest.raises(UpgradeUnfinished, match="migrate --finish"):
        locks.lock("dataset", dataset)


def test_a_lock_changes_the_version_of_its_resource(locks: LockDriver, dataset: str) -> None:
    before = locks.read("dataset", dataset).version

    token = locks.lock("dataset", dataset).token

    locked = locks.read("dataset", dataset).version
    assert locked != before
    assert locks.unlock("dataset", dataset, token).resource.version != locked


def test_times_of_locks_are_those_of_the_database(locks: LockDriver, dataset: str) -> None:
    locked_at = datetime.fromisoformat(locks.lock("dataset", dataset).resource.locked_at)

    assert abs(datetime.now(UTC) - locked_at) < timedelta(minutes=1)
