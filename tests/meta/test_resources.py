"""ResourcesService: notes, labels and contexts of resources of all kinds."""

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound, RaceLost, RoleRefused
from meta.roles import Role
from meta.v1 import catalog_pb2, ingest_token_pb2
from meta.v1 import operations_pb2 as ops
from meta.v1 import resources_pb2 as pb
from tests.support.meta.dataset_life import delete, rename, set_settings, undelete
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.resources import DATASET, KINDS, ResourceDriver, member, reference

NOUNS = pytest.mark.parametrize("noun", KINDS)
LIVE, DELETED = pb.RESOURCE_STATE_LIVE, pb.RESOURCE_STATE_DELETED
CHANGED = pb.RESOURCE_ORDER_CHANGED


@pytest.fixture
def resources(meta_client: MetaClient) -> ResourceDriver:
    return ResourceDriver(meta_client)


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as running:
        yield running


@NOUNS
def test_every_kind_has_id_name_times_note_labels_and_context(
    resources: ResourceDriver, noun: str
) -> None:
    kind = KINDS[noun]
    id_ = resources.make(noun, "mine")
    made = resources.get(id_, kind)

    changed = resources.update(
        id_, kind, note="of the shop\n", context='{"tier": 1.50}', set_labels={"team": "payments"}
    )

    assert (made.kind, made.id, made.name, made.state) == (kind, id_, "mine", LIVE)
    assert made.updated_at == made.created_at
    assert not any(made.HasField(name) for name in ("note", "context", "deleted_at", "updated_by"))
    assert (changed.note, changed.context) == ("of the shop\n", '{"tier": 1.50}')
    assert dict(changed.labels) == {"team": "payments"}
    assert changed.version != made.version
    assert changed.updated_at > changed.created_at == made.created_at
    assert changed == resources.get(id_, kind) == resources.get(kind=kind, name="mine")
    for some in (
        {"label": member("team", "payments")},
        {"context_member": member("tier", "1.50")},
        {"state": LIVE},
        {"name_from": "mine", "name_to": "minf"},
    ):
        assert changed in resources.all(kind, **some), some


@NOUNS
def test_a_deleted_resource_is_known_by_its_id_with_its_author(
    guard: GuardedServer, noun: str
) -> None:
    kind = KINDS[noun]
    with guard.client(Role.CATALOG, "ann") as ann, guard.client(Role.CATALOG, "bob") as bob:
        id_ = ResourceDriver(ann).make(noun, "mine")
        ResourceDriver(bob).update(id_, kind, note="n", set_labels={"team": "payments"})
        kept = ResourceDriver(ann).get(id_, kind)
        ResourceDriver(bob).end(noun, id_)
        ended = ResourceDriver(ann)

        gone = ended.get(id_, kind)

        assert (kept.created_by, kept.updated_by) == ("ann", "bob")
        assert (gone.created_by, gone.updated_by, gone.deleted_by) == ("ann", "bob", "bob")
        assert (gone.state, gone.note, dict(gone.labels)) == (DELETED, "n", {"team": "payments"})
        assert gone.deleted_at > gone.updated_at == kept.updated_at
        assert gone.version != kept.version
        assert [item.id for item in ended.all(kind, state=DELETED)] == [id_]
        assert id_ not in [item.id for item in ended.all(kind)]
        assert ended.all(kind, label=member("team", "payments")) == []
        with pytest.raises(NotFound):
            ended.get(kind=kind, name="mine")
        with pytest.raises(NotFound):
            ended.update(id_, kind, note="late")


def test_an_undeleted_dataset_keeps_its_care(resources: ResourceDriver) -> None:
    id_ = resources.make("dataset", "web")
    resources.update(id_, note="n", set_labels={"team": "payments"})
    delete(resources.client, id_)
    undelete(resources.client, id_)

    (found,) = resources.all(label=member("team", "payments"))

    assert (found.id, found.note, found.state) == (id_, "n", LIVE)
    assert not found.HasField("deleted_at")


@pytest.mark.parametrize("noun", ["dataset", "view", "schema", "projection"])
def test_a_renamed_resource_is_listed_by_its_new_name(resources: ResourceDriver, noun: str) -> None:
    kind, catalog = KINDS[noun], resources.client.catalog
    id_ = resources.make(noun, "b")
    other = resources.make(noun, "c")
    for each in (id_, other):
        resources.update(each, kind, set_labels={"team": "payments"})
    before = resources.get(id_, kind)
    if noun == "dataset":
        rename(resources.client, id_, "d")
    elif noun == "view":
        catalog.UpdateView(catalog_pb2.UpdateViewRequest(id=id_, new_name="d"))
    elif noun == "schema":
        catalog.UpdateSchema(catalog_pb2.UpdateSchemaRequest(id=id_, new_name="d"))
    else:
        catalog.UpdateProjection(catalog_pb2.UpdateProjectionRequest(id=id_, new_name="d"))

    after = resources.get(id_, kind)

    assert after.name == "d"
    assert after.version != before.version
    assert after.updated_at > before.updated_at
    assert resources.names(kind, label=member("team", "payments")) == ["c", "d"]
    assert resources.names(kind) == ["c", "d"]
    assert resources.names(kind, order=CHANGED) == ["c", "d"]


def test_changes_of_settings_and_routing_change_the_version(resources: ResourceDriver) -> None:
    web, token = resources.make("dataset", "web"), resources.make("ingest_token", "t")
    kind = KINDS["ingest_token"]
    before = resources.get(web), resources.get(token, kind)

    set_settings(resources.client, web, ops.DatasetSettings(records_per_month=9))
    routing = ingest_token_pb2.IngestTokenRouting(logs_dataset_id=web)
    resources.client.ingest_token.UpdateIngestTokenRouting(
        ingest_token_pb2.UpdateIngestTokenRoutingRequest(token_id=token, routing=routing)
    )

    after = resources.get(web), resources.get(token, kind)
    assert [a.version != b.version for a, b in zip(after, before, strict=True)] == [True, True]
    assert [a.updated_at > b.updated_at for a, b in zip(after, before, strict=True)] == [True, True]


def test_a_change_for_another_version_is_refused_unless_it_is_in_effect(
    resources: ResourceDriver,
) -> None:
    id_ = resources.make("dataset", "web")
    first = resources.get(id_).version
    second = resources.update(id_, note="one", expected_version=first).version

    with pytest.raises(RaceLost) as refused:
        resources.update(id_, note="two", expected_version=first)
    repeated = resources.update(id_, note="one", expected_version=first)
    third = resources.update(id_, note="two", expected_version=second)

    assert refused.value.metadata == {"expected_version": first, "version": second}
    assert (repeated.note, repeated.version) == ("one", second)
    assert third.note == "two"


def test_a_repeated_change_leaves_one_record_and_one_version(resources: ResourceDriver) -> None:
    id_ = resources.make("dataset", "web")
    fields: dict[str, Any] = {
        "note": "n",
        "context": '{"a": 1}',
        "set_labels": {"k": "v"},
        "remove_labels": ["x"],
    }

    versions = {resources.update(id_, **fields).version for _ in range(3)}

    assert len(versions) == 1
    request = ops.ListAuditRecordsRequest(rpc="UpdateResource")
    (record,) = resources.client.operations.ListAuditRecords(request).records
    assert record.subject_id == id_
    assert json.loads(record.detail)["after"] == {
        "note": "n",
        "context": '{"a": 1}',
        "labels": {"k": "v"},
    }


@pytest.mark.parametrize("kind", [0, 99])
def test_a_kind_that_does_not_exist_is_refused(resources: ResourceDriver, kind: int) -> None:
    with pytest.raises(InvalidArgument, match=f"is {kind}, which is not a kind"):
        resources.get(str(uuid4()), kind)
    with pytest.raises(InvalidArgument, match=f"is {kind}, which is not a kind"):
        resources.all(kind)


def test_an_id_of_another_kind_is_not_found(resources: ResourceDriver) -> None:
    id_ = resources.make("dataset", "web")

    with pytest.raises(NotFound, match="no such view"):
        resources.get(id_, KINDS["view"])


def test_readers_see_no_authors_and_no_ingest_tokens(guard: GuardedServer) -> None:
    admin = ResourceDriver(guard.admin)
    web, token = admin.make("dataset", "web"), admin.make("ingest_token", "t")
    admin.update(web, note="n")
    with guard.client(Role.READER) as client:
        reader = ResourceDriver(client)

        seen = reader.get(web)

        assert (seen.note, seen.HasField("created_by"), seen.HasField("updated_by")) == (
            "n",
            False,
            False,
        )
        for call in (
            lambda: reader.get(token, KINDS["ingest_token"]),
            lambda: reader.all(KINDS["ingest_token"]),
            lambda: reader.update(web, note="mine"),
        ):
            with pytest.raises(RoleRefused):
                call()


def test_a_credential_of_datasets_sees_these_alone(guard: GuardedServer) -> None:
    admin = ResourceDriver(guard.admin)
    mine, other = admin.make("dataset", "mine"), admin.make("dataset", "other")
    for id_ in (mine, other):
        admin.update(id_, set_labels={"team": "payments"}, context='{"a": 1}')
    with guard.client(Role.READER, dataset_names=["mine"]) as client:
        reader = ResourceDriver(client)
        for fields in (
            {},
            {"descending": True},
            {"label": member("team", "payments")},
            {"context_member": member("a", "1")},
            {"name_from": "a"},
            {"order": CHANGED},
        ):
            assert [item.id for item in reader.all(**fields)] == [mine], fields
        assert reader.get(name="mine").id == mine
        for id_, name in ((other, ""), ("", "other"), (str(uuid4()), "")):
            with pytest.raises(NotFound, match="there is no such dataset"):
                reader.get(id_, name=name)
        for kind in set(KINDS.values()) - {DATASET}:
            with pytest.raises(RoleRefused):
                reader.all(kind)


def test_the_reference_of_a_resource_is_checked(resources: ResourceDriver) -> None:
    for ref in (pb.ResourceRef(kind=DATASET), reference("no id"), reference("")):
        with pytest.raises(InvalidArgument):
            resources.client.resources.GetResource(pb.GetResourceRequest(resource=ref))
