"""The part of the quarantine that one caller may see: operators all, a tenant's people its own.

A payload is of the tenant that has its dataset. If its note names none, it is of that of its token.
The gateway reads the bucket with its own rights. Whole baby segments are the operator's.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from dataplane.location import ask_location
from meta.client import MetaClient
from meta.errors import InvalidArgument, NotFound, RoleRefused
from meta.v1 import catalog_pb2, ingest_token_pb2
from meta.v1 import operations_pb2 as ops
from segments.errors import ObjectMissing, SegmentsError
from segments.inventory.quarantine import (
    READ_MAX,
    Quarantined,
    QuarantineFilter,
    QuarantinePage,
    described,
    list_page,
)
from segments.keys import QUARANTINE_ROOT, QuarantineKey, parse_key
from segments.location import StoreLocation, Stores
from segments.store.interface import ObjectStore
from segments.store.open import open_stores
from segplane.gateway.http.failures import failure_of
from segplane.gateway.http.gateway_rights import GatewayRights
from segplane.gateway.http.readers import READING_ROLES, TENANT
from segplane.gateway.http.refusals import (
    CatalogConflict,
    NotAllowed,
    NotThere,
    QueryRefusal,
    TooLong,
)
from segplane.recovery.payload_replay import ReplayRefused

CONTENT_BYTES_MAX = 32 * 2**20
_LISTING_ROLES = ("tenant-admin", "tenant-reader", "admin", "operator-read")
_CHANGING_ROLES = ("tenant-admin", "admin")
_ACTOR_CHARACTERS_MAX = 255


class QuarantineView:
    """The payloads that a caller may see, in the gateway's bucket.

    Raises MetaError for a caller who may see none, NotAllowed for one who may not change any.
    """

    def __init__(
        self,
        client: MetaClient,
        rights: GatewayRights,
        store: StoreLocation | None,
        *,
        changes: bool = False,
    ) -> None:
        self._client = client
        self._rights = rights
        self._location = store
        self._owned: dict[tuple[str, str], bool] = {}
        self.is_whole = True
        try:
            client.operations.CheckQuarantined(ops.CheckQuarantinedRequest())
        except RoleRefused:
            self.is_whole = False
            if self._state().role not in _LISTING_ROLES:
                raise
        if changes and (role := self._state().role) not in _CHANGING_ROLES:
            raise NotAllowed(f"the role {role} may not replay or discard payloads")

    @property
    def actor(self) -> str:
        """The caller, as the ledger of losses and the audit log name it."""
        state = self._state()
        tenant = f"//{state.tenant_id}/" if state.tenant not in ("", TENANT) else ""
        return f"{tenant}{state.subject} by the gateway"[:_ACTOR_CHARACTERS_MAX]

    def page(self, chosen: QuarantineFilter, after: str, limit: int) -> QuarantinePage:
        """Return a page of payloads behind a key, or behind the page before.

        Raises QueryRefusal, SegmentsError.
        """
        page = list_page(self._store(), chosen, self._opened(after), limit, READ_MAX, self._shows)
        # The page may end at a key of another tenant's.
        last_keys = [item.key for item in page.items[-1:]]
        if self.is_whole or page.next_after in ("", *last_keys):
            return page
        return QuarantinePage(page.items, self._rights.sealed(page.next_after))

    def find(self, key: str) -> Quarantined:
        """Return a payload. Raises NotThere, SegmentsError."""
        name, missing = parse_key(key), NotThere(f"there is no payload {key[:200]!r} (NOT_FOUND)")
        if not isinstance(name, QuarantineKey) or name.is_note:
            raise missing
        store = self._store()
        try:
            item = described(store, store.head(key), name)
        except ObjectMissing:
            raise missing from None
        if not self._shows(item):
            raise missing
        return item

    def content(self, item: Quarantined) -> bytes:
        """Read the bytes of a payload, for roles that read records. Raises NotAllowed, TooLong."""
        if (role := self._state().role) not in READING_ROLES:
            raise NotAllowed(f"the role {role} may not read records")
        if item.size_bytes > CONTENT_BYTES_MAX:
            raise TooLong(
                f"the payload has {item.size_bytes:,} bytes, at most {CONTENT_BYTES_MAX:,} are sent"
            )
        return self._store().get(item.key)

    def counted(self, keys: list[str]) -> list[bool]:
        """Return whether a registration counts each of some payloads, which the caller may see."""
        request = ops.CheckQuarantinedRequest(object_keys=keys)
        with ExitStack() as stack:
            meta = self._client
            if not self.is_whole:
                meta = stack.enter_context(self._rights.connect())
            uncounted = frozenset(meta.operations.CheckQuarantined(request).uncounted)
        return [key not in uncounted for key in keys]

    def _shows(self, item: Quarantined) -> bool:
        if self.is_whole:
            return True
        name = parse_key(item.key)
        if not isinstance(name, QuarantineKey) or name.slice_index is None:
            return False
        if item.dataset_id:
            return self._owns("dataset", item.dataset_id)
        return self._owns("token", name.token_id or "")

    def _owns(self, kind: str, id_: str) -> bool:
        """Ask meta, by the caller's rights, whether an entry is there for it."""
        if (kind, id_) not in self._owned:
            try:
                if kind == "dataset":
                    self._client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=id_))
                else:
                    request = ingest_token_pb2.GetIngestTokenRequest(token_id=id_)
                    self._client.ingest_token.GetIngestToken(request)
                self._owned[kind, id_] = True
            except (NotFound, InvalidArgument):
                self._owned[kind, id_] = False
        return self._owned[kind, id_]

    def _opened(self, after: str) -> str:
        if self.is_whole or not after or after.startswith(QUARANTINE_ROOT):
            return after
        position = self._rights.opened(after)
        if position is None:
            raise QueryRefusal("after is not a cursor: send `next` of the page before")
        return position

    def _store(self) -> ObjectStore:
        location = ask_location(self._client, "gateway")
        return open_stores(Stores(self._location or location.store, location.named_stores))

    def _state(self) -> ops.Caller:
        return self._client.operations.GetServerState(ops.GetServerStateRequest()).caller


@contextmanager
def store_refusals() -> Iterator[None]:
    """Turn what the bucket and a replay refuse into refusals of the request."""
    try:
        yield
    except ReplayRefused as error:
        raise CatalogConflict(str(error)) from error
    except SegmentsError as error:
        raise failure_of(error) or QueryRefusal(str(error)) from error
