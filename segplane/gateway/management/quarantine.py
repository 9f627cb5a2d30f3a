"""Routes of the quarantine: payloads are listed, read, replayed and discarded."""

import base64
from collections.abc import Mapping

from meta.client import MetaClient
from meta.errors import InvalidArgument
from meta.v1 import operations_pb2 as ops
from segments.inventory.quarantine import Quarantined, QuarantineFilter
from segments.keys import QUARANTINE_ROOT
from segplane.gateway.http.refusals import CatalogConflict, NotAllowed, QueryRefusal
from segplane.gateway.management import times
from segplane.gateway.management.calls import dataset_of, page_of
from segplane.gateway.management.json_messages import Json
from segplane.gateway.management.listings import flag_of
from segplane.gateway.management.quarantine_view import QuarantineView, store_refusals
from segplane.gateway.management.rows import ManagementAsk, Reply
from segplane.recovery import quarantine

LIST_PARAMETERS = ("dataset", "stream_id", "cause", "limit", "after")
REPLAY_MEMBERS = ("dataset", "as_is", "uncounted", "reason")
DISCARD_MEMBERS = ("accept_loss", "held_elsewhere", "reason")
_WHOLE = "a whole baby segment is replayed with `segplane quarantine replay` by an operator"


def list_payloads(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Return a page of the payloads that the caller may see."""
    with store_refusals():
        view = QuarantineView(client, ask.rights, ask.store)
        texts = {name: values[-1] for name, values in ask.parameters.items()}
        limit, after = page_of(ask.parameters)
        dataset = texts.get("dataset", "")
        id_ = dataset_of(client, {"name": dataset}).id if dataset else ""
        chosen = QuarantineFilter(texts.get("stream_id", ""), id_, texts.get("cause", ""))
        page = view.page(chosen, after, limit)
        counted = view.counted([item.key for item in page.items])
        shown = [_shown(*pair) for pair in zip(page.items, counted, strict=True)]
    return Reply({"items": shown, "next": page.next_after or None})


def show(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Return one payload, with its bytes if they are asked for."""
    with store_refusals():
        view = QuarantineView(client, ask.rights, ask.store)
        item = view.find(_key(ask))
        (is_counted,) = view.counted([item.key])
        shown = _shown(item, is_counted)
        if flag_of(ask.parameters, "content", default=False):
            shown["content"] = base64.b64encode(view.content(item)).decode()
    return Reply(shown)


def replay(client: MetaClient, ask: ManagementAsk) -> Reply:
    """Put a payload's records into a dataset of the caller's, exactly once, and delete it here."""
    body = _members(ask)
    is_as_is, is_uncounted = (_truth_of(body, name) for name in ("as_is", "uncounted"))
    with store_refusals():
        view = QuarantineView(client, ask.rights, ask.store, changes=True)
        item = view.find(_key(ask))
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
    with store_refusals():
        view = QuarantineView(client, ask.rights, ask.store, changes=True)
        item = view.find(_key(ask))
        with _rights_to_change(ask) as admin:
            consent = _consent(view, body)
            done = quarantine.drop(admin, item.key, consent, is_held=is_held, store=ask.store)
    return Reply({"key": item.key, "version": done.version or None})


def _key(ask: ManagementAsk) -> str:
    """Return the key that a path is."""
    return QUARANTINE_ROOT + "/".join(ask.values[n] for n in ("stream_id", "offset", "payload"))


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
