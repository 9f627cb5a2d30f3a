"""Calls of a tenant's administrator, drawn at random; equal draws make equal calls."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

from google.protobuf.message import Message

from meta.client import MetaClient
from meta.v1 import catalog_pb2 as cat
from meta.v1 import common_pb2, costs_pb2, janitor_pb2, segment_lookup_pb2, status_pb2
from meta.v1 import ingest_token_pb2 as tok
from meta.v1 import ingestion_pb2 as ing
from meta.v1 import operations_pb2 as ops
from meta.v1 import resources_pb2 as res
from segments.ids import new_uuid7

NAMES = ("a", "b", "g/a", "g/b", "h/a")
GROUPS = ("g", "h")
KINDS = (
    res.RESOURCE_KIND_DATASET,
    res.RESOURCE_KIND_GROUP,
    res.RESOURCE_KIND_SCHEMA,
    res.RESOURCE_KIND_VIEW,
    res.RESOURCE_KIND_PROJECTION,
    res.RESOURCE_KIND_INGEST_TOKEN,
)
# Ids that nobody ever had, in the place of another tenant's.
_UNUSED = tuple(str(UUID(int=0x7000_8000_0000_0000_0000 + n)) for n in range(64))


@dataclass
class Drawn:
    """A source of equal draws, and the ids that the tenant's replies had, by noun.

    `foreign` are ids of another tenant; without them unused ids stand in their place.
    """

    random: Random
    ids: dict[str, list[str]] = field(default_factory=dict)
    foreign: dict[str, list[str]] | None = None
    # Those that the tenant has sent and does not have.
    others: set[str] = field(default_factory=set)

    def name(self) -> str:
        return self.random.choice(NAMES)

    def simple(self) -> str:
        return self.random.choice(("a", "b"))

    def id(self, noun: str) -> str:
        """One of the tenant's ids, or now and then one that it does not have."""
        index, is_foreign = self.random.randrange(64), self.random.random() < 0.2
        own = self.ids.get(noun, [])
        if own and not is_foreign:
            return own[index % len(own)]
        theirs = (self.foreign or {}).get(noun, [])
        other = theirs[index % len(theirs)] if theirs else _UNUSED[index]
        self.others.add(other)
        return other


Step = Callable[[MetaClient, Drawn], Message]


def _keep(drawn: Drawn, noun: str, entry_id: str) -> None:
    ids = drawn.ids.setdefault(noun, [])
    if entry_id not in ids:
        ids.append(entry_id)


def _create_dataset(client: MetaClient, drawn: Drawn) -> Message:
    reply = client.catalog.CreateDataset(cat.CreateDatasetRequest(name=drawn.name()))
    _keep(drawn, "dataset", reply.id)
    return reply


def _create_group(client: MetaClient, drawn: Drawn) -> Message:
    name = drawn.random.choice(GROUPS)
    reply = client.resources.CreateGroup(res.CreateGroupRequest(name=name))
    _keep(drawn, "group", reply.id)
    return reply


def _create_schema(client: MetaClient, drawn: Drawn) -> Message:
    columns = [common_pb2.Column(name=drawn.simple(), type=common_pb2.KQL_TYPE_LONG)]
    request = cat.CreateSchemaRequest(name=drawn.simple(), columns=columns)
    reply = client.catalog.CreateSchema(request)
    _keep(drawn, "schema", reply.id)
    return reply


def _create_view(client: MetaClient, drawn: Drawn) -> Message:
    schema = drawn.id("schema") if drawn.random.random() < 0.5 else None
    request = cat.CreateViewRequest(name=drawn.simple(), schema_id=schema)
    reply = client.catalog.CreateView(request)
    _keep(drawn, "view", reply.id)
    return reply


def _create_projection(client: MetaClient, drawn: Drawn) -> Message:
    request = cat.CreateProjectionRequest(name=drawn.simple(), projection="project body")
    reply = client.catalog.CreateProjection(request)
    _keep(drawn, "projection", reply.id)
    return reply


def _create_token(client: MetaClient, drawn: Drawn) -> Message:
    request = tok.CreateIngestTokenRequest(name=drawn.simple(), dataset_name=drawn.name())
    reply = client.ingest_token.CreateIngestToken(request)
    _keep(drawn, "token", reply.token.id)
    return reply


def _create_access_token(client: MetaClient, drawn: Drawn) -> Message:
    request = ops.CreateAccessTokenRequest(subject=drawn.simple(), role="reader")
    reply = client.operations.CreateAccessToken(request)
    _keep(drawn, "access", reply.token.id)
    return reply


def _link(drawn: Drawn) -> dict[str, str]:
    return {f"{noun}_id": drawn.id(noun) for noun in ("dataset", "view", "projection")}


def _routing(client: MetaClient, drawn: Drawn) -> Message:
    request = tok.UpdateIngestTokenRoutingRequest(token_id=drawn.id("token"))
    request.routing.logs_dataset_id = drawn.id("dataset")
    return client.ingest_token.UpdateIngestTokenRouting(request)


def _pin(client: MetaClient, drawn: Drawn) -> Message:
    # Twins have their pins in one order.
    pin_id = str(new_uuid7())
    _keep(drawn, "pin", pin_id)
    request = ops.PinVersionRequest(pin_id=pin_id, owner="o", dataset_name=drawn.name())
    return client.operations.PinVersion(request)


def _ref(drawn: Drawn) -> res.ResourceRef:
    if drawn.random.random() < 0.5:
        return res.ResourceRef(kind=res.RESOURCE_KIND_DATASET, name=drawn.name())
    noun, kind = drawn.random.choice(
        (("dataset", res.RESOURCE_KIND_DATASET), ("schema", res.RESOURCE_KIND_SCHEMA))
    )
    return res.ResourceRef(kind=kind, id=drawn.id(noun))


def _label(client: MetaClient, drawn: Drawn) -> Message:
    request = res.UpdateResourceRequest(resource=_ref(drawn), note=drawn.simple())
    request.set_labels[drawn.simple()] = drawn.simple()
    return client.resources.UpdateResource(request)


def _page(drawn: Drawn) -> cat.PaginationRequest:
    return cat.PaginationRequest(limit=drawn.random.randrange(1, 4))


STEPS: dict[str, Step] = {
    "create dataset": _create_dataset,
    "create group": _create_group,
    "create schema": _create_schema,
    "create view": _create_view,
    "create projection": _create_projection,
    "create token": _create_token,
    "create access token": _create_access_token,
    "rename group": lambda c, d: c.resources.RenameGroup(
        res.RenameGroupRequest(
            name=d.random.choice(GROUPS), new_name=d.random.choice((*GROUPS, "i"))
        )
    ),
    "delete group": lambda c, d: c.resources.DeleteGroup(res.DeleteGroupRequest(id=d.id("group"))),
    "delete dataset": lambda c, d: c.catalog.DeleteDataset(cat.DeleteDatasetRequest(name=d.name())),
    "delete dataset by id": lambda c, d: c.catalog.DeleteDataset(
        cat.DeleteDatasetRequest(id=d.id("dataset"))
    ),
    "dataset": lambda c, d: c.catalog.GetDataset(cat.GetDatasetRequest(name=d.name())),
    "dataset by id": lambda c, d: c.catalog.GetDataset(cat.GetDatasetRequest(id=d.id("dataset"))),
    "datasets": lambda c, d: c.catalog.ListDatasets(cat.ListDatasetsRequest(pagination=_page(d))),
    "datasources": lambda c, _: c.catalog.ListDatasources(cat.ListDatasourcesRequest()),
    "sharding": lambda c, d: c.catalog.SetShardingFields(
        cat.SetShardingFieldsRequest(
            id=d.id("dataset"), fields=[common_pb2.ShardingField(field_name="body", weight=1)]
        )
    ),
    "rename schema": lambda c, d: c.catalog.UpdateSchema(
        cat.UpdateSchemaRequest(id=d.id("schema"), new_name=d.simple())
    ),
    "delete schema": lambda c, d: c.catalog.DeleteSchema(cat.DeleteSchemaRequest(name=d.simple())),
    "schemas": lambda c, d: c.catalog.ListSchemas(cat.ListSchemasRequest(pagination=_page(d))),
    "views": lambda c, d: c.catalog.ListViews(cat.ListViewsRequest(schema_id=d.id("schema"))),
    "delete view": lambda c, d: c.catalog.DeleteView(cat.DeleteViewRequest(id=d.id("view"))),
    "link": lambda c, d: c.catalog.LinkViewDatasetProjection(
        cat.LinkViewDatasetProjectionRequest(**_link(d))
    ),
    "unlink": lambda c, d: c.catalog.UnlinkViewDatasetProjection(
        cat.UnlinkViewDatasetProjectionRequest(**_link(d))
    ),
    "links": lambda c, d: c.catalog.ListViewDatasetProjections(
        cat.ListViewDatasetProjectionsRequest(pagination=_page(d))
    ),
    "route": _routing,
    "revoke token": lambda c, d: c.ingest_token.RevokeIngestToken(
        tok.RevokeIngestTokenRequest(token_id=d.id("token"))
    ),
    "delete token": lambda c, d: c.ingest_token.DeleteIngestToken(
        tok.DeleteIngestTokenRequest(token_id=d.id("token"))
    ),
    "tokens": lambda c, d: c.ingest_token.ListIngestTokens(
        tok.ListIngestTokensRequest(pagination=_page(d))
    ),
    "revoke access token": lambda c, d: c.operations.RevokeAccessToken(
        ops.RevokeAccessTokenRequest(token_id=d.id("access"))
    ),
    "access tokens": lambda c, _: c.operations.ListAccessTokens(ops.ListAccessTokensRequest()),
    "audit": lambda c, _: c.operations.ListAuditRecords(ops.ListAuditRecordsRequest(limit=5)),
    "settings": lambda c, d: c.operations.GetDatasetSettings(
        ops.GetDatasetSettingsRequest(dataset_id=d.id("dataset"))
    ),
    "set settings": lambda c, d: c.operations.SetDatasetSettings(
        ops.SetDatasetSettingsRequest(
            dataset_id=d.id("dataset"), settings=ops.DatasetSettings(records_per_month=7)
        )
    ),
    "freshness": lambda c, _: c.status.ListFreshness(
        status_pb2.ListFreshnessRequest(include_fresh=True)
    ),
    "pin": _pin,
    "release pin": lambda c, d: c.operations.ReleasePin(ops.ReleasePinRequest(pin_id=d.id("pin"))),
    "pins": lambda c, _: c.operations.ListPins(ops.ListPinsRequest()),
    "changes": lambda c, d: c.operations.ListDatasetChanges(
        ops.ListDatasetChangesRequest(dataset_name=d.name(), with_columns=True)
    ),
    "segments": lambda c, d: c.segment_lookup.FindSegments(
        segment_lookup_pb2.FindSegmentsRequest(
            dataset_names=[d.name()] if d.random.random() < 0.5 else [],
        )
    ),
    "stats": lambda c, d: c.janitor.GetJanitorStats(
        janitor_pb2.GetJanitorStatsRequest(
            dataset_name=d.name() if d.random.random() < 0.5 else None
        )
    ),
    "numbers": lambda c, d: c.resources.GetDatasetNumbers(
        res.GetDatasetNumbersRequest(name=d.name())
    ),
    "resource": lambda c, d: c.resources.GetResource(res.GetResourceRequest(resource=_ref(d))),
    "resources": lambda c, d: c.resources.ListResources(
        res.ListResourcesRequest(kind=d.random.choice(KINDS), limit=d.random.randrange(1, 4))
    ),
    "label": _label,
    "labelled": lambda c, d: c.resources.ListResources(
        res.ListResourcesRequest(
            kind=res.RESOURCE_KIND_DATASET, label=res.ResourceMember(key=d.simple())
        )
    ),
    "rename dataset": lambda c, d: c.operations.RenameDataset(
        ops.RenameDatasetRequest(dataset_id=d.id("dataset"), new_name=d.name())
    ),
    "undelete dataset": lambda c, d: c.operations.UndeleteDataset(
        ops.UndeleteDatasetRequest(dataset_id=d.id("dataset"))
    ),
    "costs": lambda c, _: c.operations.ListCosts(costs_pb2.ListCostsRequest()),
    "usage": lambda c, _: c.operations.GetUsage(ops.GetUsageRequest(with_rows=True)),
    "config": lambda c, _: c.ingestion.DownloadConfig(ing.DownloadConfigRequest(worker_id="w")),
}
