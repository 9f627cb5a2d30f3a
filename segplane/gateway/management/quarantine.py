"""The quarantine: operators see all of it, the people of a tenant its own payloads.

A payload is of the tenant that has its dataset. If its note names none, it is of that of its token.
The gateway reads the bucket with its own rights. Whole baby segments are the operator's.
"""

import base64
from collections.abc import Iterator, Mapping
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
    described,
    list_page,
)
from segments.keys import QUARANTINE_ROOT, QuarantineKey, parse_key
from segments.location import Stores
from segments.store.interface import ObjectStore
from segments.store.open import open_stores
from segplane.gateway.http.failures import failure_of
from segplane.gateway.http.readers import TENANT
from segplane.gateway.http.refusals import (
    CatalogConflict,
    NotAllowed,
    NotThere,
    QueryRefusal,
    TooLong,
)
from segplane.gateway.management import times
from segplane.gateway.management.calls import dataset_of, page_of
from segplane.gateway.management.json_messages import Json
from segplane.gateway.management.listings import flag_of
from segplane.gateway.management.rows import ManagementAsk, Reply
from segplane.recovery import quarantine
from segplane.recovery.payload_replay import ReplayRefused

LIST_PARAMETERS = ("dataset", "stream_id", "cause", "limit", "after")
REPLAY_MEMBERS = ("dataset", "as_is", "uncounted", "reason")
DISCARD_MEMBERS = ("accept_loss", "held_elsewhere", "reason")
CONTENT_BYTES_MAX = 32 * 2**20
_READING_ROLES = ("tenant-admin", "tenant-reader", "admin", "operator-read")
_CHANGING_ROLES = ("tenant-admin", "admin")
_ACTOR_CHARACTERS_MAX = 255
_WHOLE = "a whole baby segment is replayed with `segplane quarantine replay` by an operator"


class QuarantineView:
    """The payloads that the caller of one request may see, in the gateway's bucket.

    Raises MetaError for a caller who may see none.
    """

    def __init__(self, client: MetaClient, ask: ManagementAsk, *, changes: bool = False) -> None:
        self._client = client
        self._ask = ask
        self._owned: dict[tuple[str, str], bool] = {}
        self.is_whole = True
        try:
            client.operations.CheckQuarantined(ops.CheckQuarantinedRequest())
        except RoleRefused:
            self.is_whole = False
            if self._state().role not in _READING_ROLES:
                raise
        if changes and (role := self._state().role) not in _CHANGING_ROLES:
            raise NotAllowed(f"the role {role} may not replay or discard payloads")

    @property
    def actor(self) -> str:
        """The caller, as the ledger of losses and the audit log name it."""
        state = self._state()
        tenant = f"//{state.tenant_id}/" if state.tenant not in ("", TENANT) else ""
        return f"{tenant}{state.subject} by the gateway"[:_ACTOR_CHARACTERS_MAX]

    def page(self) -> tuple[list[Quarantined], str]:
        """Return a page of payloads, and where the next one begins. Raises QueryRefusal."""
        texts = {name: values[-1] for name, values in self._ask.parameters.items()}
        limit, after = page_of(self._ask.parameters)
        dataset = texts.get("dataset")
        chosen = QuarantineFilter(
            texts.get("stream_id", ""),
            dataset_of(self._client, {"name": dataset}).id if dataset else "",
            texts.get("cause", ""),
        )
        page = list_page(self._store(), chosen, self._opened(after), limit, READ_MAX, self._shows)
        items, following = list(page.items), page.next_after
        # The page may end at a key of another tenant's.
        if following and not self.is_whole and following not in (item.key for item in items[-1:]):
            following = self._ask.rights.sealed(following)
        return items, following

    def find(self) -> Quarantined:
        """Return the payload that the path names. Raises NotThere."""
        parts = [self._ask.values[part] for part in ("stream_id", "offset", "payload")]
        key = QUARANTINE_ROOT + "/".join(parts)
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
        """Read the bytes of a payload. Raises TooLong."""
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
                meta = stack.enter_context(self._ask.rights.connect())
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
        position = self._ask.rights.opened(after)
        if position is None:
            raise QueryRefusal("after is not a cursor: send `next` of the page before")
        return position

    def _store(self) -> ObjectStore:
        location = ask_location(self._client, "gateway")
        return open_stores(Stores(self._ask.store or location.store, location.named_stores))

    def _state(self) -> ops.Caller:
        return self._client.operations.GetServerState(ops.GetServerStateRequest()).caller


def list_payloads(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Return a page of the payloads that the caller may see."""
    with _refusals():
        view = QuarantineView(client, ask)
        items, following = view.page()
        counted = view.counted([item.key for item in items])
        shown = [_shown(item, is_counted) for item, is_counted in zip(items, counted, strict=True)]
    return Reply({"items": shown, "next": following or None})


def show(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Return one payload, with its bytes if they are asked for."""
    with _refusals():
        view = QuarantineView(client, ask)
        item = view.find()
        (is_counted,) = view.counted([item.key])
        shown = _shown(item, is_counted)
        if flag_of(ask.parameters, "content", default=False):
            shown["content"] = base64.b64encode(view.content(item)).decode()
    return Reply(shown)


def replay(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Put a payload's records into a dataset of the caller's, exactly once, and delete it here."""
    body = _members(ask)
    is_as_is, is_uncounted = (_truth_of(body, name) for name in ("as_is", "uncounted"))
    with _refusals():
        view = QuarantineView(client, ask, changes=True)
        item = view.find()
        if not item.signal:
            raise CatalogConflict(_WHOLE)
        if item.is_damaged and not is_as_is:
            raise CatalogConflict(f"{item.cause}: its bytes are damaged, as_is takes them")
        dataset = body.get("dataset")
        id_ = dataset_of(client, {"name": str(dataset)}).id if dataset else item.dataset_id
        if not id_:
            raise QueryRefusal("the note of the payload names no dataset: send one")
        with _rights_to_change(ask) as admin:
            try:
                done = quarantine.replay(
                    admin,
                    item.key,
                    id_,
                    _consent(view, body),
                    is_as_is=is_as_is,
                    is_uncounted=is_uncounted,
                    store=ask.store,
                )
            except InvalidArgument as error:
                # It names the dataset, which may be another tenant's.
                message = "a replay of the payload into another dataset was begun before"
                raise CatalogConflict(message) from error
    return Reply({"dataset_id": id_, "version": done.version, "segments": len(done.segment_ids)})


def discard(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Give a payload up: write it to the loss ledger, and delete it."""
    body = _members(ask)
    is_held = _truth_of(body, "held_elsewhere")
    if not is_held and not _truth_of(body, "accept_loss"):
        raise QueryRefusal("the records of the payload are lost: send accept_loss")
    with _refusals():
        view = QuarantineView(client, ask, changes=True)
        item = view.find()
        with _rights_to_change(ask) as admin:
            consent = _consent(view, body)
            done = quarantine.drop(admin, item.key, consent, is_held=is_held, store=ask.store)
    return Reply({"key": item.key, "version": done.version or None})


def _members(ask: ManagementAsk) -> Mapping[str, object]:
    assert isinstance(ask.body, dict)
    if not isinstance(ask.body.get("reason", ""), str):
        raise QueryRefusal("reason is not text")
    return ask.body


def _truth_of(body: Mapping[str, object], name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise QueryRefusal(f"{name} is not true or false")
    return value


def _consent(view: QuarantineView, body: Mapping[str, object]) -> ops.LossAcceptance:
    reason = str(body.get("reason", ""))
    return ops.LossAcceptance(accept_loss=True, actor=view.actor, reason=reason)


def _rights_to_change(ask: ManagementAsk) -> MetaClient:
    if ask.rights.connect_replays is None:
        raise NotAllowed(
            "this gateway replays and discards nothing: the operator sets GATEWAY_REPLAY_TOKEN, or"
            " runs `segplane quarantine`"
        )
    return ask.rights.connect_replays()


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except ReplayRefused as error:
        raise CatalogConflict(str(error)) from error
    except SegmentsError as error:
        raise failure_of(error) or QueryRefusal(str(error)) from error


def _shown(item: Quarantined, is_counted: bool) -> Json:
    return {
        "key": item.key,
        "stream_id": item.stream_id,
        "offset": item.offset,
        "signal": item.signal or None,
        "size_bytes": item.size_bytes,
        "dataset_id": item.dataset_id or None,
        "cause": item.cause,
        "received_at": times.text_of(item.received_at_nanos) if item.received_at_nanos else None,
        "modified_at": times.text_of(item.modified_at_nanos),
        "is_counted": is_counted,
    }
