"""A driver of locks of resources."""

import hashlib
from dataclasses import dataclass
from typing import Any

from meta.client import MetaClient
from meta.v1 import resources_pb2 as pb
from tests.support.meta.catalog import CatalogDriver

REASON = "an audit"


@dataclass(frozen=True)
class LockDriver:
    """Locks and unlocks resources; `kind` is the name of a kind in lower case."""

    client: MetaClient

    def lock(self, kind: str, resource_id: str, **fields: Any) -> pb.LockResourceResponse:
        """Lock a resource."""
        return self.client.resources.LockResource(
            pb.LockResourceRequest(resource=ref(kind, resource_id), reason=REASON, **fields)
        )

    def unlock(self, kind: str, resource_id: str, token: str) -> pb.UnlockResourceResponse:
        """End a lock by its token."""
        return self.client.resources.UnlockResource(
            pb.UnlockResourceRequest(resource=ref(kind, resource_id), token=token)
        )

    def break_lock(self, kind: str, resource_id: str) -> pb.BreakLockResponse:
        """End a lock as an admin."""
        return self.client.resources.BreakLock(
            pb.BreakLockRequest(resource=ref(kind, resource_id), reason="the audit is over")
        )

    def read(self, kind: str, resource_id: str) -> pb.Resource:
        """Read a resource."""
        request = pb.GetResourceRequest(resource=ref(kind, resource_id))
        return self.client.resources.GetResource(request).resource


def ref(kind: str, resource_id: str) -> pb.ResourceRef:
    """Name a resource by its id."""
    number = pb.ResourceKind.Value(f"RESOURCE_KIND_{kind.upper()}")
    return pb.ResourceRef(kind=number, id=resource_id)


def live_locks(client: Any) -> None:
    """Lock a dataset and end its lock, by its token and without it."""
    locks, dataset = LockDriver(client), CatalogDriver(client).dataset("held")
    locks.lock("dataset", dataset, token_digest=digest_of("a token"))
    locks.unlock("dataset", dataset, "a token")
    locks.lock("dataset", dataset, token_digest=digest_of("another one"))
    locks.break_lock("dataset", dataset)


def digest_of(token: str) -> str:
    """Return the digest of a token, as a caller sends it."""
    return hashlib.sha256(token.encode()).hexdigest()
