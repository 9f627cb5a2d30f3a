"""A driver of resources: each call says only what a test is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2, ingest_token_pb2
from meta.v1 import resources_pb2 as pb
from tests.support.meta.catalog import CatalogDriver

DATASET = pb.RESOURCE_KIND_DATASET
KINDS = {
    "dataset": pb.RESOURCE_KIND_DATASET,
    "schema": pb.RESOURCE_KIND_SCHEMA,
    "view": pb.RESOURCE_KIND_VIEW,
    "projection": pb.RESOURCE_KIND_PROJECTION,
    "ingest_token": pb.RESOURCE_KIND_INGEST_TOKEN,
}


@dataclass(frozen=True)
class ResourceDriver:
    """Makes, reads, changes and lists resources."""

    client: MetaClient

    def make(self, noun: str, name: str) -> str:
        """Create a resource of a kind; answers its id."""
        catalog = self.client.catalog
        if noun == "dataset":
            return catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name)).id
        if noun == "schema":
            column = common_pb2.Column(name="a", type=common_pb2.KQL_TYPE_LONG)
            request = catalog_pb2.CreateSchemaRequest(name=name, columns=[column])
            return catalog.CreateSchema(request).id
        if noun == "view":
            return catalog.CreateView(catalog_pb2.CreateViewRequest(name=name)).id
        if noun == "projection":
            projection = catalog_pb2.CreateProjectionRequest(name=name, projection="extend a = 1")
            return catalog.CreateProjection(projection).id
        self.make("dataset", "of tokens")
        token = ingest_token_pb2.CreateIngestTokenRequest(name=name, dataset_name="of tokens")
        return self.client.ingest_token.CreateIngestToken(token).token.id

    def end(self, noun: str, id_: str) -> None:
        """Delete a resource; revoke and delete an ingest token."""
        catalog, tokens = self.client.catalog, self.client.ingest_token
        if noun == "dataset":
            catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(id=id_))
        elif noun == "schema":
            catalog.DeleteSchema(catalog_pb2.DeleteSchemaRequest(id=id_))
        elif noun == "view":
            catalog.DeleteView(catalog_pb2.DeleteViewRequest(id=id_))
        elif noun == "projection":
            catalog.DeleteProjection(catalog_pb2.DeleteProjectionRequest(id=id_))
        else:
            tokens.RevokeIngestToken(ingest_token_pb2.RevokeIngestTokenRequest(token_id=id_))
            tokens.DeleteIngestToken(ingest_token_pb2.DeleteIngestTokenRequest(token_id=id_))

    def get(self, id_: str = "", kind: int = DATASET, *, name: str = "") -> pb.Resource:
        ref = reference(id_, kind, name=name)
        return self.client.resources.GetResource(pb.GetResourceRequest(resource=ref)).resource

    def update(self, id_: str, kind: int = DATASET, **fields: Any) -> pb.Resource:
        request = pb.UpdateResourceRequest(resource=reference(id_, kind), **fields)
        return self.client.resources.UpdateResource(request).resource

    def all(self, kind: int = DATASET, **fields: Any) -> Sequence[pb.Resource]:
        """List all pages."""
        request = pb.ListResourcesRequest(kind=pb.ResourceKind.ValueType(kind), **fields)
        items: list[pb.Resource] = []
        while True:
            page = self.client.resources.ListResources(request)
            items += page.items
            if not page.next_cursor:
                return items
            request.after = page.next_cursor

    def names(self, kind: int = DATASET, **fields: Any) -> list[str]:
        """List the names of all pages, of datasets but for the default one."""
        return [item.name for item in self.all(kind, **fields) if item.name != "default"]


def reference(id_: str, kind: int = DATASET, *, name: str = "") -> pb.ResourceRef:
    named: Mapping[str, Any] = {"name": name} if name else {"id": id_}
    return pb.ResourceRef(kind=pb.ResourceKind.ValueType(kind), **named)


def member(key: str, value: str) -> pb.ResourceMember:
    return pb.ResourceMember(key=key, value=value)


def live_resources(client: Any, dataset: str) -> None:
    """Call each RPC of resources once with success."""
    ref = reference(dataset)
    client.resources.UpdateResource(
        pb.UpdateResourceRequest(
            resource=ref,
            note="of the shop",
            context='{"tier": 1}',
            set_labels={"team": "payments"},
            remove_labels=["owner"],
        )
    )
    client.resources.GetResource(pb.GetResourceRequest(resource=ref))
    label = member("team", "payments")
    client.resources.ListResources(
        pb.ListResourcesRequest(kind=pb.RESOURCE_KIND_DATASET, label=label)
    )
    client.resources.GetDatasetNumbers(pb.GetDatasetNumbersRequest(id=dataset))
    vacuum_id = str(uuid4())
    client.resources.VacuumDatasets(
        pb.VacuumDatasetsRequest(vacuum_id=vacuum_id, older_than_secs=3_600)
    )
    client.resources.TakeVacuums(pb.TakeVacuumsRequest())
    client.resources.FinishVacuum(pb.FinishVacuumRequest(vacuum_id=vacuum_id, orphans=1))
    client.resources.GetVacuum(pb.GetVacuumRequest(vacuum_id=vacuum_id))
    group = client.resources.CreateGroup(pb.CreateGroupRequest(name="shop")).id
    client.resources.RenameGroup(pb.RenameGroupRequest(id=group, new_name="store"))
    client.resources.DeleteGroup(pb.DeleteGroupRequest(id=group))
    client.resources.SetCreatorQuota(pb.SetCreatorQuotaRequest(creator="ann", datasets=20))
    client.resources.ListCreatorQuotas(pb.ListCreatorQuotasRequest())
    tenant = client.resources.CreateTenant(pb.CreateTenantRequest(name="payments")).tenant.id
    client.resources.GetTenant(pb.GetTenantRequest(id=tenant))
    client.resources.ListTenants(pb.ListTenantsRequest())
    client.resources.RenameTenant(pb.RenameTenantRequest(id=tenant, new_name="billing"))
    client.resources.SetTenantShares(pb.SetTenantSharesRequest(id=tenant, percent=10))
    client.resources.SetTenantStore(pb.SetTenantStoreRequest(id=tenant))
    client.resources.SetMetricNames(pb.SetMetricNamesRequest(id=tenant, allowed=True))
    client.resources.SuspendTenant(pb.SuspendTenantRequest(id=tenant))
    client.resources.ResumeTenant(pb.ResumeTenantRequest(id=tenant))
    moved = CatalogDriver(client).dataset("moved")
    move = pb.MoveDatasetToTenantRequest(dataset_id=moved, tenant_id=tenant)
    client.resources.MoveDatasetToTenant(move)
    client.resources.DeleteTenant(pb.DeleteTenantRequest(id=tenant))
    client.resources.UndeleteTenant(pb.UndeleteTenantRequest(id=tenant))
    client.resources.GetTenantUsage(pb.GetTenantUsageRequest(id=tenant))
