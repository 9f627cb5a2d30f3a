"""The table of routes: each row is a method of a path, and the RPC or function that answers it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from segplane.gateway.management import datasets, listings, quarantine
from segplane.gateway.management.rows import Row

_DATASET, _GROUP = "/v1/datasets/{name}", "/v1/groups/{name}"
_TENANT = "/v1/tenants/{name}"
# All datasets, and those of a group.
_LISTS = ("/v1/datasets", "/v1/groups/{group}/datasets")
_CHANGED = ("schema", "records_per_month")


def _datasets() -> Iterator[Row]:
    """Yield the rows of datasets themselves."""
    for path in _LISTS:
        yield replace(listings.DATASETS, path=path, run=listings.list_datasets)
        yield Row(
            "POST",
            path,
            run=datasets.create,
            about="Creates a dataset, with a schema and a quota if they are given.",
            members=("name", *_CHANGED),
            status=201,
            then=_DATASET,
        )
    yield Row(
        "GET",
        _DATASET,
        run=datasets.show,
        about="Reads a dataset: its schema, quota, and columns as queries see them.",
        answer="DatasetWithColumns",
        is_open=True,
    )
    yield Row("GET", _DATASET, "resources.GetDatasetNumbers", hidden="version")
    change = Row(
        "PATCH",
        _DATASET,
        run=datasets.change,
        about="Changes a dataset's schema and quota, or its name and group.",
        members=_CHANGED,
        then=_DATASET,
    )
    yield change
    yield replace(change, run=datasets.rename, members=("name", "group"))
    yield replace(
        change, method="POST", about="Like PATCH, which takes its place.", is_deprecated=True
    )
    yield Row(
        "DELETE",
        _DATASET,
        run=datasets.delete,
        about="Deletes a dataset, which can be restored for 7 days.",
        parameters=("keep_files",),
        answer="DeletedDataset",
    )


def _settings() -> Iterator[Row]:
    """Yield the rows of what belongs to a dataset."""
    yield Row(
        "PUT",
        f"{_DATASET}/schema",
        run=datasets.bind,
        about="Binds a dataset to a schema: its name, or an object with more; null unbinds.",
        then=_DATASET,
    )
    undelete = "/v1/dataset-ids/{dataset_id}/undelete"
    yield Row("POST", undelete, "operations.UndeleteDataset", then=_DATASET)
    yield Row("GET", f"{_DATASET}/numbers", "resources.GetDatasetNumbers", is_open=True)
    settings = f"{_DATASET}/settings"
    yield Row("GET", settings, "operations.GetDatasetSettings", shown="settings", is_open=True)
    yield Row("PATCH", settings, "operations.SetDatasetSettings", body="settings")
    fields = f"{_DATASET}/sharding-fields"
    yield Row("GET", fields, "catalog.GetShardingFields", is_open=True)
    yield Row("PUT", fields, "catalog.SetShardingFields")


def _listed(noun: str, kind: str, *, is_open: bool = True) -> Row:
    return Row("GET", f"/v1/{noun}", "resources.ListResources", kind=kind, is_open=is_open)


def _entries(noun: str, word: str) -> Iterator[Row]:
    """Yield the rows of schemas, views or projections."""
    path = f"/v1/{noun}/{{name}}"
    if noun == "views":
        yield replace(listings.VIEWS, run=listings.list_views)
    else:
        yield _listed(noun, word.upper())
    yield Row("POST", f"/v1/{noun}", f"catalog.Create{word}", status=201, then=path)
    yield Row("GET", path, f"catalog.Get{word}", is_open=True)
    yield Row("PATCH", path, f"catalog.Update{word}", then=path)
    yield Row("DELETE", path, f"catalog.Delete{word}")


def _groups() -> Iterator[Row]:
    """Yield the rows of groups."""
    yield _listed("groups", "GROUP")
    yield Row("POST", "/v1/groups", "resources.CreateGroup", status=201, then=_GROUP)
    yield Row("PATCH", _GROUP, "resources.RenameGroup", then=_GROUP)
    yield Row("DELETE", _GROUP, "resources.DeleteGroup")


def _tenants() -> Iterator[Row]:
    """Yield the rows of tenants, which operators manage."""
    yield Row("GET", "/v1/tenants", "resources.ListTenants")
    yield Row("POST", "/v1/tenants", "resources.CreateTenant", shown="tenant", status=201)
    yield Row("GET", _TENANT, "resources.GetTenant", shown="tenant")
    yield Row("PATCH", _TENANT, "resources.RenameTenant", shown="tenant")
    yield Row("DELETE", _TENANT, "resources.DeleteTenant")
    for verb in ("suspend", "resume"):
        yield Row("POST", f"{_TENANT}/{verb}", f"resources.{verb.title()}Tenant", shown="tenant")
    yield Row("PUT", f"{_TENANT}/shares", "resources.SetTenantShares")
    yield Row("PUT", f"{_TENANT}/store", "resources.SetTenantStore", shown="tenant")
    undelete = "/v1/tenant-ids/{id}/undelete"
    yield Row("POST", undelete, "resources.UndeleteTenant", shown="tenant")
    yield Row("POST", f"{_DATASET}/move", "resources.MoveDatasetToTenant")
    yield Row(
        "GET",
        "/v1/tenant-usage",
        run=listings.list_tenant_usage,
        about="Lists what each tenant took in a month, or one tenant in all months.",
        parameters=listings.TENANT_USAGE_PARAMETERS,
        answer="resources.TenantUsage[]",
    )


def _care(path: str, kind: str) -> Iterator[Row]:
    """Yield the rows of what every resource has: times, authors, note, labels and context."""
    is_open = kind != "INGEST_TOKEN"
    yield Row("GET", path, "resources.GetResource", shown="resource", kind=kind, is_open=is_open)
    change = Row(
        "PATCH", path, "resources.UpdateResource", shown="resource", kind=kind, part=-1, then=path
    )
    yield change
    if is_open:
        # A token's secret is in the one reply of its creation, which nothing may follow.
        for whole in _LISTS if kind == "DATASET" else (path.rpartition("/")[0],):
            yield replace(change, method="POST", path=whole)
    lock = f"{path}/lock"
    yield Row("PUT", lock, "resources.LockResource", kind=kind)
    yield Row(
        "DELETE", lock, "resources.UnlockResource", shown="resource", kind=kind, has_body=True
    )
    yield Row("POST", f"{lock}/break", "resources.BreakLock", shown="resource", kind=kind)


_TOKEN, _ACCESS_TOKEN = "/v1/tokens/{token_id}", "/v1/access-tokens/{token_id}"
_PIN, _TASK = "/v1/pins/{pin_id}", "/v1/merge-tasks/{task_id}"
_OTHERS = (
    Row("GET", "/v1/links", "catalog.ListViewDatasetProjections", is_open=True),
    Row("POST", "/v1/links", "catalog.LinkViewDatasetProjection"),
    Row("DELETE", "/v1/links", "catalog.UnlinkViewDatasetProjection"),
    _listed("tokens", "INGEST_TOKEN", is_open=False),
    Row("POST", "/v1/tokens", "ingest_token.CreateIngestToken", status=201),
    Row("GET", _TOKEN, "ingest_token.GetIngestToken", shown="token"),
    Row("DELETE", _TOKEN, "ingest_token.DeleteIngestToken"),
    Row("POST", f"{_TOKEN}/revoke", "ingest_token.RevokeIngestToken"),
    Row("PUT", f"{_TOKEN}/routing", "ingest_token.UpdateIngestTokenRouting", body="routing"),
    Row("GET", "/v1/access-tokens", "operations.ListAccessTokens"),
    Row("POST", "/v1/access-tokens", "operations.CreateAccessToken", status=201),
    Row("DELETE", _ACCESS_TOKEN, "operations.RevokeAccessToken", shown="token"),
    Row("GET", "/v1/pins", "operations.ListPins"),
    Row("POST", "/v1/pins", "operations.PinVersion", shown="pin", status=201),
    Row("POST", f"{_PIN}/renew", "operations.RenewPin", shown="pin"),
    Row("DELETE", _PIN, "operations.ReleasePin"),
    Row(
        "GET",
        "/v1/streams",
        run=listings.list_streams,
        about="Lists the streams that are active, or stopped and not drained.",
        parameters=("after",),
        answer="nursery.IngestStreamInfo[]",
    ),
    Row("GET", "/v1/parked-streams", "operations.ListParkedStreams"),
    Row("POST", "/v1/streams/{stream_id}/skip", "operations.SkipOffset"),
    Row("GET", "/v1/losses", "operations.ListLosses"),
    Row("GET", "/v1/merge-tasks", "janitor.ListMergeTasks"),
    Row("POST", "/v1/merge-tasks", "janitor.CreateMergeTasks"),
    Row("GET", _TASK, "janitor.GetMergeTask"),
    Row("POST", f"{_TASK}/unclaim", "janitor.UnclaimMergeTask"),
    Row("POST", "/v1/vacuums", "resources.VacuumDatasets"),
    Row("POST", f"{_DATASET}/vacuum", "resources.VacuumDatasets"),
    Row("GET", "/v1/vacuums/{vacuum_id}", "resources.GetVacuum"),
    Row("GET", "/v1/workers", "operations.ListWorkers"),
    Row("GET", "/v1/worker-settings", "operations.ListWorkerSettings"),
    Row("PATCH", "/v1/worker-settings", "operations.SetWorkerSettings", shown="settings"),
    Row("GET", "/v1/rewrites", "operations.ListRewriteJobs"),
    Row("POST", "/v1/rewrites", "operations.CreateRewriteJob", shown="rewrite", status=201),
    Row("PATCH", "/v1/rewrites/{id}", "operations.UpdateRewriteJob", shown="rewrite"),
    Row(
        "GET",
        "/v1/usage",
        run=listings.list_usage,
        about="Lists the records that each dataset took this month, and its limits.",
        parameters=listings.USAGE_PARAMETERS,
        answer="operations.DatasetUsage[]",
    ),
    Row("GET", "/v1/audit", "operations.ListAuditRecords"),
    Row("GET", "/v1/denied-calls", "operations.ListDeniedCalls"),
)


_PAYLOAD = "/v1/quarantine/{stream_id}/{offset}/{payload}"
_QUARANTINE = (
    Row(
        "GET",
        "/v1/quarantine",
        run=quarantine.list_payloads,
        about="Lists payloads that could not be merged, in the order of their keys. A page may be"
        " short or empty before the last one.",
        parameters=quarantine.LIST_PARAMETERS,
        answer="QuarantinedPayload[]",
    ),
    Row(
        "GET",
        _PAYLOAD,
        run=quarantine.show,
        about="Reads a payload's note, and its bytes. The path is its key.",
        parameters=("content",),
        answer="QuarantinedPayload",
    ),
    Row(
        "POST",
        f"{_PAYLOAD}/replay",
        run=quarantine.replay,
        about="Puts a payload's records into a dataset, exactly once. It may be repeated.",
        members=quarantine.REPLAY_MEMBERS,
        answer="ReplayedPayload",
    ),
    Row(
        "DELETE",
        _PAYLOAD,
        run=quarantine.discard,
        about="Writes a payload to the loss ledger, and deletes it.",
        members=quarantine.DISCARD_MEMBERS,
        answer="DiscardedPayload",
        has_body=True,
    ),
)
_KINDS = {
    _DATASET: "DATASET",
    _GROUP: "GROUP",
    "/v1/schemas/{name}": "SCHEMA",
    "/v1/views/{name}": "VIEW",
    "/v1/projections/{name}": "PROJECTION",
    _TOKEN: "INGEST_TOKEN",
}


def rows() -> Iterator[Row]:
    """Yield all rows."""
    yield from _datasets()
    yield from _settings()
    yield from _groups()
    yield from _tenants()
    for noun, word in (("schemas", "Schema"), ("views", "View"), ("projections", "Projection")):
        yield from _entries(noun, word)
    yield from _OTHERS
    yield from _QUARANTINE
    for path, kind in _KINDS.items():
        yield from _care(path, kind)


def table() -> dict[str, Sequence[Row]]:
    """Return the rows of each method and path, such as `GET /v1/views`."""
    table: dict[str, list[Row]] = defaultdict(list)
    for row in rows():
        table[f"{row.method} {row.path}"].append(row)
    return dict(table)
