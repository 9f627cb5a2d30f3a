"""Every change that an operator or administrator makes leaves a record in its transaction."""

import json
from dataclasses import replace

import pytest

from meta import roles as role_calls
from meta.config import Settings
from meta.roles import Role
from meta.store.access import audit
from meta.v1 import catalog_pb2, janitor_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.all_rpcs import live
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import set_settings
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.ingestion import IngestionDriver
from tests.support.meta.nursery import NurseryDriver
from tests.support.meta.segments import Writer, segment_of
from tests.support.meta.server import MetaServer

_READS = ("Get", "List", "Explain")
# Calls for administrators and for those who keep the catalog; what others do is in the rows.
CHANGES = {
    rpc
    for _, rpc, roles in role_calls.rows()
    if set(roles) <= {Role.CATALOG, Role.TENANT_ADMIN, Role.TENANT_INGEST}
    and not rpc.startswith(_READS)
}

# In the scenario there is nothing for them to release or repair, no named store, and so nothing to
# record.
WITHOUT_EFFECT = {"ReleaseSegment", "RepairCatalog", "SetTenantStore"}


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


def _records(guard: GuardedServer, rpc: str = "") -> list[pb.AuditRecord]:
    request = pb.ListAuditRecordsRequest(limit=1_000, rpc=rpc)
    return list(guard.admin.operations.ListAuditRecords(request).records)


def test_every_changing_call_of_admins_and_keepers_of_the_catalog_leaves_a_record(
    meta_server: MetaServer,
) -> None:
    live(meta_server.client)
    request = pb.ListAuditRecordsRequest(limit=1_000)
    noted = {r.rpc for r in meta_server.client.operations.ListAuditRecords(request).records}

    assert len(CHANGES) > 30
    assert CHANGES - noted == WITHOUT_EFFECT


def test_a_record_says_from_where_and_by_which_request(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard, guard.client(Role.CATALOG, "keeper") as keeper:
        metadata = (("authorization", "Bearer shared"), ("x-request-id", "change-7"))
        guard.admin.catalog.CreateDataset(
            catalog_pb2.CreateDatasetRequest(name="a"), metadata=metadata
        )
        keeper.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="b"))
        second, first = _records(guard, rpc="CreateDataset")

    assert (first.principal, first.host) == ("META_AUTH_TOKEN", "127.0.0.1")
    assert first.request_id == "change-7"
    assert (second.principal, second.host, second.request_id) == ("keeper", "127.0.0.1", "")


def test_what_changes_nothing_leaves_no_record_and_a_change_has_both_states(
    meta_settings: Settings,
) -> None:
    with guarded(meta_settings) as guard:
        catalog, views = CatalogDriver(guard.admin), guard.admin.catalog
        for _ in range(2):
            catalog.dataset("web")
            view = views.CreateView(catalog_pb2.CreateViewRequest(name="errors")).id
            views.UpdateView(catalog_pb2.UpdateViewRequest(id=view, new_name="errors"))
        views.UpdateView(catalog_pb2.UpdateViewRequest(name="errors", new_name="faults"))
        for _ in range(2):
            views.DeleteView(catalog_pb2.DeleteViewRequest(name="faults"))
        records = _records(guard)

    assert [r.rpc for r in records] == ["DeleteView", "UpdateView", "CreateView", "CreateDataset"]
    assert {r.subject_id for r in records[:3]} == {view}
    assert json.loads(records[1].detail) == {
        "before": {"name": "errors"},
        "after": {"name": "faults"},
    }


def test_the_use_of_a_loss_allowance_names_the_nursery_that_used_it(
    meta_settings: Settings,
) -> None:
    """Registrations of several callers share a transaction, in the context of none of them."""
    with guarded(meta_settings) as guard, guard.client(Role.NURSERY, "nursery-eu") as client:
        catalog, nursery = CatalogDriver(guard.admin), NurseryDriver(client)
        dataset = catalog.dataset("web")
        collector = IngestionDriver(guard.admin, "collector-1")
        stream = collector.register(catalog.token(dataset)).stream_id
        collector.commit(stream, 0, dataset, num_records=1)
        set_settings(guard.admin, dataset, pb.DatasetSettings(excess_events_allowed=9))
        nursery.register(dataset, (stream, -1, 0), segment=nursery.segment(dataset))
        (record,) = _records(guard, rpc="RegisterMergedSegment")

    assert (record.principal, record.host) == ("nursery-eu", "127.0.0.1")
    assert record.detail == "9 excess events of the 9 allowed"


def test_registrations_by_others_than_workers_are_recorded(meta_settings: Settings) -> None:
    """SaveSegments always, since no worker calls it; a nursery's registrations never."""
    with (
        guarded(meta_settings) as guard,
        guard.client(Role.NURSERY, "nursery-eu") as worker,
        guard.client(Role.ADMIN, "ada") as ada,
    ):
        dataset = CatalogDriver(guard.admin).dataset("web")
        collector = IngestionDriver(guard.admin, "collector-1")
        stream = collector.register(CatalogDriver(guard.admin).token(dataset)).stream_id
        message = segment_of(dataset)
        (segment_id,) = Writer(worker).save(message)
        Writer(worker).save(message)
        for offset, client in enumerate((worker, ada)):
            collector.commit(stream, offset, dataset)
            nursery = NurseryDriver(client)
            nursery.register(
                dataset, (stream, offset - 1, offset), segment=nursery.segment(dataset)
            )
        (saved,) = _records(guard, rpc="SaveSegments")
        (registered,) = _records(guard, rpc="RegisterMergedSegment")

    assert (saved.principal, saved.subject_id) == ("nursery-eu", dataset)
    at = message.cloud_object_key
    assert json.loads(saved.detail) == {
        "segments": 1,
        "without_facts": 1,
        "first": {"id": segment_id, "object_key": f"{at.prefix.prefix}/{at.key}"},
    }
    assert (registered.principal, registered.subject_id) == ("ada", dataset)
    detail = json.loads(registered.detail)
    assert (detail["number_of_segments"], len(detail["segments"]), detail["moves"]) == (1, 1, 1)


def test_a_rewrite_names_its_dataset(meta_settings: Settings) -> None:
    with guarded(meta_settings) as guard:
        dataset = CatalogDriver(guard.admin).dataset("web")
        Writer(guard.admin).save(segment_of(dataset))
        request = janitor_pb2.RewriteAllSegmentsRequest(dataset_name="web")
        guard.admin.janitor.RewriteAllSegments(request)
        (record,) = _records(guard, rpc="RewriteAllSegments")

    detail = json.loads(record.detail)
    assert (record.subject_id, detail["dataset"], detail["before"]) == (dataset, "web", None)
    assert detail["after"]["version"] > 0


def test_states_are_json_however_long_they_are() -> None:
    before, after = {"name": "x" * 5_000, "n": 1}, {"name": "y" * 5_000, "n": 1}

    detail = audit.states(before, after)

    assert len(detail) <= 1_000
    told = json.loads(detail)
    assert told["before"]["name"].startswith('"xxx')
    assert (told["after"].keys(), told["shortened"]) == ({"name"}, True)
