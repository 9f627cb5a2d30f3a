"""Roles of callers, and which of them may make which call: a row per RPC, all else is denied."""

from collections.abc import Iterator
from enum import Enum

REFLECTION_METHODS = tuple(
    f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
    for version in ("v1", "v1alpha")
)


class Role(Enum):
    """The kind of a caller. An admin may make every call."""

    INGEST = "ingest"
    NURSERY = "nursery"
    MERGE = "merge"
    JANITOR = "janitor"
    READER = "reader"
    OPERATOR_READ = "operator-read"
    GATEWAY = "gateway"
    CATALOG = "catalog"
    ADMIN = "admin"


_I, _N, _M, _J = Role.INGEST, Role.NURSERY, Role.MERGE, Role.JANITOR
_R, _O, _G, _C = Role.READER, Role.OPERATOR_READ, Role.GATEWAY, Role.CATALOG
_EVERY = (_I, _N, _M, _J, _R, _O, _G, _C)
_ROWS: dict[str, dict[str, tuple[Role, ...]]] = {
    "CatalogService": {
        "ListDatasources": (_R, _C),
        "CreateDataset": (_C,),
        "GetDataset": (_R, _G, _C),
        "ListDatasets": (_R, _G, _C),
        "DeleteDataset": (_C,),
        "SetShardingFields": (_C,),
        "GetShardingFields": (_R, _C),
        "CreateSchema": (_C,),
        "GetSchema": (_R, _G, _C),
        "ListSchemas": (_R, _C),
        "UpdateSchema": (_C,),
        "DeleteSchema": (_C,),
        "CreateView": (_C,),
        "GetView": (_R, _G, _C),
        "ListViews": (_R, _G, _C),
        "UpdateView": (_C,),
        "DeleteView": (_C,),
        "CreateProjection": (_C,),
        "GetProjection": (_R, _G, _C),
        "ListProjections": (_R, _C),
        "UpdateProjection": (_C,),
        "DeleteProjection": (_C,),
        "LinkViewDatasetProjection": (_C,),
        "UnlinkViewDatasetProjection": (_C,),
        "ListViewDatasetProjections": (_R, _G, _C),
    },
    "IngestionService": {
        # The location of the objects, which every process asks for; it holds no credential.
        "DownloadConfig": _EVERY,
        # Registers merged segments of any dataset, which collectors do not have.
        "SaveSegments": (_N,),
        "RegisterForStream": (_I,),
        # A nursery commits the babies that a dead collector has put.
        "CommitOffset": (_I, _N),
    },
    "IngestTokenService": {
        "CreateIngestToken": (_C,),
        "ValidateIngestToken": (_I,),
        "RevokeIngestToken": (_C,),
        "DeleteIngestToken": (_C,),
        "ListIngestTokens": (_C, _O),
        "GetIngestToken": (_C, _O),
        "UpdateIngestTokenRouting": (_C,),
    },
    "NurseryService": {
        "GetIngestStreamsForNursery": (_N,),
        "MarkStreamStopped": (_I, _N),
        "RegisterMergedSegment": (_N,),
        "UpdateDeletedOffset": (_N,),
        "DeleteIngestStreamDataset": (_N,),
    },
    "MergeTaskService": {
        "PollForSegmentMergeTask": (_M,),
        "CompleteSegmentMergeTask": (_M,),
        "FailSegmentMergeTask": (_M,),
    },
    "SegmentDeletionService": {
        "GetTombstonedSegmentsForDeletion": (_J,),
        "ConfirmTombstoneDeletion": (_J,),
    },
    "SegmentLookupService": {
        "FindSegments": (_R, _G),
        "GetSegmentsByIds": (_R, _G),
    },
    "JanitorService": {
        "GetJanitorStats": (_J, _R, _C),
        "GetSegmentSizeStats": (_J, _R, _C),
        "ListMergeTasks": (_J, _C, _O),
        "GetMergeTask": (_J, _C, _O),
        # A worker that stops gives its tasks back at once.
        "UnclaimMergeTask": (_J, _M),
        "CreateMergeTasks": (_J,),
        "RewriteAllSegments": (_C,),
    },
    "OperationsService": {
        "CondemnObjects": (_J,),
        "ForgetStreams": (_J,),
        "HeartbeatMergeTask": (_M,),
        "GetOffsetsAt": (_R,),
        "LocateOffset": (_R,),
        "GetCommittedFlushes": (_I,),
        "UndeleteDataset": (_C,),
        "RenameDataset": (_C,),
        "SetDatasetSettings": (_C,),
        "GetDatasetSettings": (_R, _G, _C),
        "ExplainMergePlan": (_J, _C, _O),
        "CheckConsistency": (_J,),
        "GetServerState": _EVERY,
        "ReleaseSegment": (),
        "CreateRewriteJob": (_C,),
        "UpdateRewriteJob": (_C,),
        "ListRewriteJobs": (_J, _C, _O),
        "GetSegmentFormats": (_J, _R, _C),
        "GetUsage": (_I, _C, _O),
        "LeaseNurseryShards": (_N,),
        "RegisterMergedSegments": (_N,),
        "ReleaseDeletionHold": (),
        "HoldDeletion": (),
        "PinVersion": (_R, _G),
        "RenewPin": (_R, _G),
        "ReleasePin": (_R, _G),
        "ListPins": (_R,),
        "ListUnmergedBabies": (_R,),
        "ListDatasetChanges": (_R, _G),
        "WatchDataset": (_R,),
        "GetDatasetTable": (_G,),
        "PutTableObjects": (_G,),
        "PutTableSnapshot": (_G,),
        "HandOutTable": (_G,),
        "ExpireTableObjects": (_J,),
        "ParkStream": (_N,),
        "ListParkedStreams": (_N, _J, _C, _O),
        # Only a person may accept a loss.
        "SkipOffset": (),
        "HideSegment": (),
        "ReplaceSegment": (),
        "TakeBackReplacement": (),
        "BeginReplay": (),
        "CompleteReplay": (),
        "DropPayload": (),
        "ClaimEvents": (),
        "StageDeduplicationKeys": (_N,),
        "CheckQuarantined": (_J, _R, _C),
        "ListLosses": (_J, _R, _C),
        "RepairCatalog": (),
        "ListStoredObjects": (_J,),
        "ListUnreadSegments": (_J,),
        "SetSegmentFacts": (_J,),
        "ReportObjectChecks": (_J,),
        "ListDamagedObjects": (_J, _C, _O),
        "GetScrubState": (_J, _C, _O),
        "CreateAccessToken": (),
        # Hints only, as of ingest tokens.
        "ListAccessTokens": (_O,),
        "RevokeAccessToken": (),
        **dict.fromkeys(("ListAuditRecords", "ListDeniedCalls"), (_O,)),
        "ListWorkers": (_C, _O),
        "SetWorkerSettings": (),
        "ListWorkerSettings": (_C, _O),
        # Each reports the kinds of work that its processes do.
        "ReportCosts": (_I, _N, _M, _J, _G),
        "ListCosts": (_R, _C),
    },
    "ResourcesService": {
        # Ingest tokens are shown to those who keep the catalog alone.
        "GetResource": (_R, _G, _C),
        "UpdateResource": (_C,),
        "ListResources": (_R, _G, _C),
        **dict.fromkeys(("GetDatasetNumbers", "ListDatasetNumbers"), (_R, _G, _C)),
        # A vacuum ends the time in which a dataset's past can be read.
        "VacuumDatasets": (),
        "GetVacuum": (_O,),
        **dict.fromkeys(("TakeVacuums", "FinishVacuum"), (_J,)),
        **dict.fromkeys(("LockResource", "UnlockResource"), (_C,)),
        "BreakLock": (),
        **dict.fromkeys(("CreateGroup", "RenameGroup", "DeleteGroup"), (_C,)),
        # Those who create datasets do not choose their quotas.
        "SetCreatorQuota": (),
        "ListCreatorQuotas": (_C, _O),
    },
    "StatusService": {
        **dict.fromkeys(("ListProcesses", "PlanDeletion", "PreviewRetention"), (_J, _O, _C)),
        **dict.fromkeys(("GetPipelineSummary", "ListStreams", "ListMergeAttempts"), (_J, _O, _C)),
        **dict.fromkeys(("ListFreshness", "ExplainDataset", "ListLineage"), (_J, _R, _C)),
    },
}
# The roles that see authors of entries of the catalog, and ingest tokens without their secrets.
KEEPERS = (Role.ADMIN, _C, _O)
# The roles whose tokens may be limited to datasets, and the calls that such a token may make: each
# answers as if the other datasets did not exist. Babies hold records of many datasets, so no call
# about them is here.
SCOPED_ROLES = (_R, _G)
_SCOPED_ROWS: dict[str, tuple[str, ...]] = {
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
_SCOPED = frozenset(
    f"/meta.v1.{service}/{rpc}" for service, rpcs in _SCOPED_ROWS.items() for rpc in rpcs
) | frozenset(REFLECTION_METHODS)


def rows() -> Iterator[tuple[str, str, tuple[Role, ...]]]:
    """Service, RPC and the roles other than admin that may call it."""
    for service, rpcs in _ROWS.items():
        for rpc, roles in rpcs.items():
            # It reads all that a reader reads.
            adds = _R in roles and _O not in roles
            yield service, rpc, (*roles, _O) if adds else roles


_ALLOWED = {f"/meta.v1.{service}/{rpc}": frozenset(roles) for service, rpc, roles in rows()} | {
    method: frozenset(_EVERY) for method in REFLECTION_METHODS
}


def allows(role: Role, method: str, *, is_limited: bool) -> bool:
    """True if a role may call `/package.Service/Method`, `is_limited` to some datasets."""
    if role is Role.ADMIN:
        return True
    is_answered = not is_limited or method in _SCOPED
    return is_answered and role in _ALLOWED.get(method, frozenset())


def is_scoped(service: str, rpc: str) -> bool:
    """True if a caller that is limited to datasets may make a call of its role."""
    return rpc in _SCOPED_ROWS.get(service, ())
