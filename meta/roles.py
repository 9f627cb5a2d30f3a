"""Roles of callers, and which of them may make which call: a row per RPC, all else is denied."""

from collections.abc import Iterator, Mapping
from enum import Enum

from meta.limited_calls import SCOPED_ROWS, TENANT_ROWS

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
    TENANT_ADMIN = "tenant-admin"
    TENANT_READER = "tenant-reader"
    TENANT_INGEST = "tenant-ingest"
    ADMIN = "admin"


_I, _N, _M, _J = Role.INGEST, Role.NURSERY, Role.MERGE, Role.JANITOR
_R, _O, _G, _C = Role.READER, Role.OPERATOR_READ, Role.GATEWAY, Role.CATALOG
_TA, _TR, _TI = Role.TENANT_ADMIN, Role.TENANT_READER, Role.TENANT_INGEST
# The roles in a tenant; the others are the operator's.
TENANT_ROLES = (_R, _C, _TA, _TR, _TI)
_EVERY = (_I, _N, _M, _J, _R, _O, _G, _C, _TI)
_ROWS: dict[str, dict[str, tuple[Role, ...]]] = {
    "CatalogService": {
        "ListDatasources": (_R, _C),
        "CreateDataset": (_C,),
        # Tokens are created by the names of datasets.
        **dict.fromkeys(("GetDataset", "ListDatasets"), (_R, _G, _C, _TI)),
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
        "CreateIngestToken": (_C, _TI),
        "ValidateIngestToken": (_I,),
        **dict.fromkeys(("RevokeIngestToken", "DeleteIngestToken"), (_C, _TI)),
        **dict.fromkeys(("ListIngestTokens", "GetIngestToken"), (_C, _O, _TI)),
        "UpdateIngestTokenRouting": (_C, _TI),
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
        # A gateway passes on the payloads of its callers' datasets.
        "ListUnmergedBabies": (_R, _G),
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
        "CheckQuarantined": (_J, _R, _G, _C),
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
        # The role of who copies the database.
        "CreateBackup": (),
        "ListBackups": (_O,),
        "ReleaseBackup": (),
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
        **dict.fromkeys(("GetTenant", "ListTenants", "GetTenantUsage"), (_O,)),
        **dict.fromkeys(("CreateTenant", "RenameTenant", "SuspendTenant", "ResumeTenant"), ()),
        **dict.fromkeys(("DeleteTenant", "UndeleteTenant", "MoveDatasetToTenant"), ()),
        **dict.fromkeys(("SetTenantShares", "SetTenantStore", "SetMetricNames"), ()),
    },
    "StatusService": {
        **dict.fromkeys(("ListProcesses", "PlanDeletion", "PreviewRetention"), (_J, _O, _C)),
        **dict.fromkeys(("GetPipelineSummary", "ListStreams", "ListMergeAttempts"), (_J, _O, _C)),
        **dict.fromkeys(("ListFreshness", "ExplainDataset", "ListLineage"), (_J, _R, _C)),
    },
}
# The roles that see authors of entries of the catalog, and ingest tokens without their secrets.
KEEPERS = (Role.ADMIN, _C, _O, _TA, _TR, _TI)
# The roles whose tokens may be limited to datasets.
SCOPED_ROLES = (_R, _G)


def _methods(rpcs_by_service: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """Paths of calls, and those of reflection."""
    calls = {f"/meta.v1.{name}/{rpc}" for name, rpcs in rpcs_by_service.items() for rpc in rpcs}
    return frozenset(calls) | frozenset(REFLECTION_METHODS)


_SCOPED, _OF_TENANTS = _methods(SCOPED_ROWS), _methods(TENANT_ROWS)


def rows() -> Iterator[tuple[str, str, tuple[Role, ...]]]:
    """Service, RPC and the roles other than admin that may call it."""
    for service, rpcs in _ROWS.items():
        for rpc, roles in rpcs.items():
            # It reads all that a reader reads.
            if _R in roles and _O not in roles:
                roles = (*roles, _O)
            # Tables are made by gateways alone.
            if rpc in TENANT_ROWS.get(service, ()) and roles != (_G,):
                roles = (*roles, _TA, *((_TR,) if _O in roles else ()))
            yield service, rpc, roles


_ALLOWED = {f"/meta.v1.{service}/{rpc}": frozenset(roles) for service, rpc, roles in rows()} | {
    method: frozenset((*_EVERY, _TA, _TR)) for method in REFLECTION_METHODS
}


def allows(role: Role, method: str, *, is_limited: bool) -> bool:
    """True if a role may call `/package.Service/Method`, `is_limited` to some datasets."""
    if role is Role.ADMIN:
        return True
    is_answered = not is_limited or method in _SCOPED
    return is_answered and role in _ALLOWED.get(method, frozenset())


def is_of_tenants(method: str) -> bool:
    """True if a call answers a caller of a tenant as if there were no other."""
    return method in _OF_TENANTS


def is_scoped(service: str, rpc: str) -> bool:
    """True if a caller that is limited to datasets may make a call of its role."""
    return rpc in SCOPED_ROWS.get(service, ())
