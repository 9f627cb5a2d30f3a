"""The table of calls and locks: all calls are in it, and each lock refuses what its row says."""

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from google.protobuf.message import Message
from sqlalchemy import text

from meta.client import MetaClient
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import Locked, MetaError, StillReferenced
from meta.services.resources.locked_calls import LOCK_RULES
from meta.store.catalog.resources import ResourceKind
from meta.v1 import catalog_pb2 as cat
from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as ops
from meta.v1 import resources_pb2 as res
from segments.keys import quarantine_key
from tests.support.meta import all_rpcs
from tests.support.meta.all_rpcs import Watched
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.groups import create_group
from tests.support.meta.methods import METHODS
from tests.support.meta.resource_locks import REASON, LockDriver, ref
from tests.support.meta.server import MetaServer
from tests.support.meta.unlocked_calls import GOING_ON, READING

PAGE = Path(__file__).parents[2] / "docs" / "resources.md"
ROWS = {(rpc, kind) for rpc, rule in LOCK_RULES.items() for kind in rule.refused_by}
_LET_GO = text("UPDATE datasets SET hold_ends_at = NULL WHERE hold_ends_at IS NOT NULL")


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@dataclass
class Locker:
    """Makes each call under every lock that refuses it, and then without."""

    server: MetaServer
    client: MetaClient
    tried: set[tuple[str, ResourceKind]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.locks = LockDriver(self.client)
        self.transactions = Transactions(self.server.running.database)

    def around(self, method: str, send: Any, request: Message) -> Any:
        """Send a request under each lock of its row, then send it without one."""
        rule = LOCK_RULES.get(method)
        if rule is not None:
            targets = self.transactions.read(lambda tx: rule.targets(tx, request))
            for kind, ids in targets.items():
                for resource_id in sorted(ids):
                    self._refused(method, kind, str(resource_id), lambda: send(request))
        return send(request)

    def _refused(self, method: str, kind: ResourceKind, resource_id: str, send: Any) -> None:
        token = self.locks.lock(kind.name.lower(), resource_id).token
        with pytest.raises(Locked) as refused:
            send()
        assert refused.value.metadata["resource_id"] == resource_id, method
        assert refused.value.metadata["resource_kind"] == kind.noun
        assert refused.value.metadata["lock_reason"] == REASON
        assert refused.value.metadata["locked_by"] == "anonymous"
        self.locks.unlock(kind.name.lower(), resource_id, token)
        # A day later.
        self.transactions.write(lambda tx: tx.execute(_LET_GO))
        self.tried.add((method, kind))


def test_each_call_is_in_one_of_three_lists() -> None:
    names = Counter(method.name for method in METHODS)

    assert max(names.values()) == 1
    lists = (READING, GOING_ON, LOCK_RULES.keys())
    assert names.keys() == frozenset().union(*lists)
    assert sum(map(len, lists)) == len(names)


def test_the_page_has_the_rows_of_calls_that_a_lock_refuses() -> None:
    rows = {
        rpc: ", ".join(kind.noun for kind in sorted(rule.refused_by))
        for rpc, rule in LOCK_RULES.items()
    }
    table = PAGE.read_text().partition("| Call | by a lock on |\n|---|---|\n")[2]
    table = table.partition("\n\n")[0]

    assert dict(re.findall(r"^\| (\w+) \| ([^|]+) \|$", table, re.MULTILINE)) == rows


def test_each_lock_refuses_the_calls_of_its_rows_and_lets_them_pass_afterwards(
    meta_server: MetaServer, meta_client: MetaClient
) -> None:
    locker = Locker(meta_server, meta_client)
    client = Watched(meta_client, locker.around)

    all_rpcs.live(client)
    _links(client)
    _schemas(client)
    _records(client)
    _notes(client)

    assert locker.tried == ROWS


def _links(client: Any) -> None:
    """Delete views, projections and datasets that have links."""
    dataset = CatalogDriver(client).dataset("linked")
    for deleted in ("View", "Projection", "Dataset"):
        view = client.catalog.CreateView(cat.CreateViewRequest(name=f"view of {deleted}")).id
        projection = client.catalog.CreateProjection(
            cat.CreateProjectionRequest(name=f"projection of {deleted}", projection="project body")
        ).id
        ids = {"View": view, "Projection": projection, "Dataset": dataset}
        link = {f"{name.lower()}_id": resource_id for name, resource_id in ids.items()}
        client.catalog.LinkViewDatasetProjection(cat.LinkViewDatasetProjectionRequest(**link))
        request = getattr(cat, f"Delete{deleted}Request")(id=ids[deleted])
        assert getattr(client.catalog, f"Delete{deleted}")(request).success


def _schemas(client: Any) -> None:
    """Drop a column of a schema to which a dataset is bound, and delete the schema."""
    dataset = CatalogDriver(client).dataset("bound")
    columns = [common_pb2.Column(name=name, type=common_pb2.KQL_TYPE_LONG) for name in "abc"]
    schema = client.catalog.CreateSchema(cat.CreateSchemaRequest(name="bound", columns=columns)).id
    settings = ops.DatasetSettings(binding=ops.SchemaBinding(schema_id=schema))
    client.operations.SetDatasetSettings(
        ops.SetDatasetSettingsRequest(dataset_id=dataset, settings=settings)
    )
    client.catalog.UpdateSchema(cat.UpdateSchemaRequest(id=schema, remove_columns=["a"]))
    with pytest.raises(StillReferenced):
        client.catalog.DeleteSchema(cat.DeleteSchemaRequest(id=schema))


def _records(client: Any) -> None:
    """Move a dataset to another store, release its brake and drop a payload of it."""
    dataset = CatalogDriver(client).dataset("kept")
    job_id = str(uuid4())
    client.operations.CreateRewriteJob(
        ops.CreateRewriteJobRequest(id=job_id, dataset_id=dataset, store="")
    )
    for state in (ops.REWRITE_JOB_STATE_PAUSED, ops.REWRITE_JOB_STATE_RUNNING):
        client.operations.UpdateRewriteJob(ops.UpdateRewriteJobRequest(id=job_id, state=state))
    client.operations.ReleaseDeletionHold(ops.ReleaseDeletionHoldRequest(dataset_name="kept"))
    client.operations.DropPayload(
        ops.DropPayloadRequest(
            object_key=quarantine_key(str(uuid4()), 0, str(uuid4()), "logs", 0),
            dataset_id=dataset,
            acceptance=ops.LossAcceptance(accept_loss=True, actor="operator"),
        )
    )


def _notes(client: Any) -> None:
    """Write a note about a resource of each kind."""
    columns = [common_pb2.Column(name="a", type=common_pb2.KQL_TYPE_LONG)]
    catalog, name = CatalogDriver(client), "noted"
    projection = cat.CreateProjectionRequest(name=name, projection="project body")
    ids = {
        "group": create_group(client, name),
        "schema": client.catalog.CreateSchema(
            cat.CreateSchemaRequest(name=name, columns=columns)
        ).id,
        "view": client.catalog.CreateView(cat.CreateViewRequest(name=name)).id,
        "projection": client.catalog.CreateProjection(projection).id,
        "ingest_token": catalog.token(catalog.dataset(name)).id,
    }
    for kind, resource_id in ids.items():
        client.resources.UpdateResource(
            res.UpdateResourceRequest(resource=ref(kind, resource_id), note="changed")
        )


def test_a_call_that_names_nothing_of_a_locked_resource_passes(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    locked, other = catalog.dataset("locked"), catalog.dataset("other")
    LockDriver(meta_client).lock("dataset", locked)

    assert meta_client.catalog.DeleteDataset(cat.DeleteDatasetRequest(id=other)).success
    with pytest.raises(Locked):
        meta_client.catalog.DeleteDataset(cat.DeleteDatasetRequest(name="locked"))
    # A new column takes nothing from a dataset, while the schema itself is free.
    columns = [common_pb2.Column(name="a", type=common_pb2.KQL_TYPE_LONG)]
    schema = meta_client.catalog.CreateSchema(cat.CreateSchemaRequest(name="s", columns=columns))
    added = [common_pb2.Column(name="b", type=common_pb2.KQL_TYPE_LONG)]
    changed = cat.UpdateSchemaRequest(id=schema.id, add_columns=added)
    assert len(meta_client.catalog.UpdateSchema(changed).columns) == 2


def test_a_name_that_is_given_to_another_resource_meanwhile_is_looked_at_again(
    meta_client: MetaClient, catalog: CatalogDriver
) -> None:
    """The guard looks at the rows that it holds, so that a lock on the new holder counts."""
    first, second = catalog.dataset("name"), catalog.dataset("spare")
    rename = ops.RenameDatasetRequest
    meta_client.operations.RenameDataset(rename(dataset_id=first, new_name="former"))
    meta_client.operations.RenameDataset(rename(dataset_id=second, new_name="name"))
    LockDriver(meta_client).lock("dataset", second)

    with pytest.raises(MetaError) as refused:
        meta_client.catalog.DeleteDataset(cat.DeleteDatasetRequest(name="name"))

    assert refused.value.metadata["resource_id"] == second
