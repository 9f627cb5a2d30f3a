"""Roles of callers, and which of them may make which call: a row per RPC, all else is denied."""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from uuid import UUID

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
    GATEWAY = "gateway"
    CATALOG = "catalog"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller: a subject that outlives its credentials, and its role."""

    subject: str
    role: Role
    # The datasets that the caller may see; None = all.
    dataset_ids: frozenset[UUID] | None = None
    # End of its access token, in nanoseconds since 1970; 0 = it has none, or one without end.
    ends_at_nanos: int = field(default=0, compare=False)

    @property
    def is_shared(self) -> bool:
        """True if it does not name the caller: no credential, or META_AUTH_TOKEN."""
        return self in (ANONYMOUS, SHARED_TOKEN)

    def may_call(self, method: str) -> bool:
        """True if the role, and a limit to datasets, allow `/package.Service/Method`."""
        if self.role is Role.ADMIN:
            return True
        is_scoped = self.dataset_ids is None or method in _SCOPED
        return is_scoped and self.role in _ALLOWED.get(method, frozenset())


# Callers of a server that requires no authentication, and holders of META_AUTH_TOKEN.
ANONYMOUS = Principal("anonymous", Role.ADMIN)
SHARED_TOKEN = Principal("META_AUTH_TOKEN", Role.ADMIN)
current: ContextVar[Principal] = ContextVar("principal", default=ANONYMOUS)


@dataclass(frozen=True, slots=True)
class Origin:
    """The host of a call, and the id that its caller sent; "" = none."""

    host: str = ""
    request_id: str = ""


# Read by the few calls that are audited, so that the others do not pay for it.
origin: ContextVar[Callable[[], Origin]] = ContextVar("origin", default=Origin)


@dataclass(frozen=True, slots=True)
class AuditCaller:
    """The subject, host and request id of a call, as the audit log names them."""

    subject: str = ""
    host: str = ""
    request_id: str = ""


NO_CALLER = AuditCaller()


def caller() -> AuditCaller:
    """The caller of the call that runs in this context."""
    called_from = origin.get()()
    return AuditCaller(current.get().subject, called_from.host, called_from.request_id)


_I, _N, _M, _J = Role.INGEST, Role.NURSERY, Role.MERGE, Role.JANITOR
_R, _G, _C = Role.READER, Role.GATEWAY, Role.CATALOG
_EVERY = (_I, _N, _M, _J, _R, _G, _C)
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
        "ListIngestTokens": (_C,),
        "GetIngestToken": (_C,),
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
        "ListMergeTasks": (_J, _C),
        "GetMergeTask": (_J, _C),
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
        "ExplainMergePlan": (_J, _C),
        "CheckConsistency": (_J,),
        "GetServerState": _EVERY,
        "ReleaseSegment": (),
        "CreateRewriteJob": (_C,),
        "UpdateRewriteJob": (_C,),
        "ListRewriteJobs": (_J, _C),
        "GetSegmentFormats": (_J, _R, _C),
        "GetUsage": (_I, _C),
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
        "ListParkedStreams": (_N, _J, _C),
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
        "ListDamagedObjects": (_J, _C),
        "GetScrubState": (_J, _C),
        "CreateAccessToken": (),
        "ListAccessTokens": (),
        "RevokeAccessToken": (),
        **dict.fromkeys(("ListAuditRecords", "ListDeniedCalls"), ()),
        "ListWorkers": (_C,),
        "SetWorkerSettings": (),
        "ListWorkerSettings": (_C,),
    },
    "ResourcesService": {
        # Ingest tokens are shown to those who keep the catalog alone.
        "GetResource": (_R, _G, _C),
        "UpdateResource": (_C,),
        "ListResources": (_R, _G, _C),
        "GetDatasetNumbers": (_R, _G, _C),
        # A vacuum ends the time in which a dataset's past can be read.
        **dict.fromkeys(("VacuumDatasets", "GetVacuum"), ()),
        **dict.fromkeys(("TakeVacuums", "FinishVacuum"), (_J,)),
        **dict.fromkeys(("LockResource", "UnlockResource"), (_C,)),
        "BreakLock": (),
        **dict.fromkeys(("CreateGroup", "RenameGroup", "DeleteGroup"), (_C,)),
        # Those who create datasets do not choose their quotas.
        "SetCreatorQuota": (),
        "ListCreatorQuotas": (_C,),
    },
    "StatusService": {
        **dict.fromkeys(("ListProcesses", "PlanDeletion", "PreviewRetention"), (_J, _C)),
        **dict.fromkeys(("ListFreshness", "ExplainDataset"), (_J, _R, _C)),
    },
}
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
    "ResourcesService": ("GetResource", "ListResources", "GetDatasetNumbers"),
}
_SCOPED = frozenset(
    f"/meta.v1.{service}/{rpc}" for service, rpcs in _SCOPED_ROWS.items() for rpc in rpcs
) | frozenset(REFLECTION_METHODS)
_ALLOWED = {
    f"/meta.v1.{service}/{rpc}": frozenset(roles)
    for service, rpcs in _ROWS.items()
    for rpc, roles in rpcs.items()
} | {method: frozenset(_EVERY) for method in REFLECTION_METHODS}


def is_scoped(service: str, rpc: str) -> bool:
    """True if a caller that is limited to datasets may make a call of its role."""
    return rpc in _SCOPED_ROWS.get(service, ())


def rows() -> Iterator[tuple[str, str, tuple[Role, ...]]]:
    """Service, RPC and the roles other than admin that may call it."""
    for service, rpcs in _ROWS.items():
        for rpc, roles in rpcs.items():
            yield service, rpc, roles
