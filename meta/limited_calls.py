"""Calls of callers who reach a part of the catalog: a tenant, or some datasets.

Both are lists of what was made safe: each call answers as if the rest did not exist.
"""

from collections.abc import Mapping

# The calls that a token may make which is limited to datasets. Babies hold records of many
# datasets, so no call about them is here.
SCOPED_ROWS: Mapping[str, tuple[str, ...]] = {
    "CatalogService": ("GetDataset", "ListDatasets", "GetShardingFields"),
    "IngestionService": ("DownloadConfig",),
    "SegmentLookupService": ("FindSegments", "GetSegmentsByIds"),
    "JanitorService": ("GetJanitorStats", "GetSegmentSizeStats"),
    "OperationsService": (
        "GetOffsetsAt",
        "GetDatasetSettings",
        "GetServerState",
        "GetSegmentFormats",
        "PinVersion",
        "RenewPin",
        "ReleasePin",
        "ListPins",
        "ListDatasetChanges",
        "WatchDataset",
        "GetDatasetTable",
        "PutTableObjects",
        "PutTableSnapshot",
        "HandOutTable",
    ),
    # For datasets and their groups only.
    "ResourcesService": (
        "GetResource",
        "ListResources",
        "GetDatasetNumbers",
        "ListDatasetNumbers",
    ),
}
# Further calls of a caller of a tenant.
_OF_A_WHOLE_TENANT: Mapping[str, tuple[str, ...]] = {
    "CatalogService": (
        "ListDatasources",
        "CreateDataset",
        "DeleteDataset",
        "SetShardingFields",
        "CreateSchema",
        "GetSchema",
        "ListSchemas",
        "UpdateSchema",
        "DeleteSchema",
        "CreateView",
        "GetView",
        "ListViews",
        "UpdateView",
        "DeleteView",
        "CreateProjection",
        "GetProjection",
        "ListProjections",
        "UpdateProjection",
        "DeleteProjection",
        "LinkViewDatasetProjection",
        "UnlinkViewDatasetProjection",
        "ListViewDatasetProjections",
    ),
    "IngestTokenService": (
        "CreateIngestToken",
        "RevokeIngestToken",
        "DeleteIngestToken",
        "ListIngestTokens",
        "GetIngestToken",
        "UpdateIngestTokenRouting",
    ),
    "OperationsService": (
        "GetUsage",
        "ListCosts",
        "RenameDataset",
        "SetDatasetSettings",
        "UndeleteDataset",
        "CreateAccessToken",
        "ListAccessTokens",
        "RevokeAccessToken",
        "ListAuditRecords",
    ),
    "ResourcesService": (
        "UpdateResource",
        "LockResource",
        "UnlockResource",
        "BreakLock",
        "CreateGroup",
        "RenameGroup",
        "DeleteGroup",
        "SetMetricNames",
    ),
    "StatusService": ("ListFreshness",),
}
# The calls that a caller of a tenant may make once there are several, if its role has a row in
# `meta.roles`. A tenant-admin makes them all, but for those of gateways, and a tenant-reader those
# of operator-read.
TENANT_ROWS: Mapping[str, tuple[str, ...]] = {
    service: (*SCOPED_ROWS.get(service, ()), *_OF_A_WHOLE_TENANT.get(service, ()))
    for service in dict.fromkeys((*SCOPED_ROWS, *_OF_A_WHOLE_TENANT))
}
