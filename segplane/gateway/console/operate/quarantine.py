"""The quarantine: payloads by cause and dataset, and what replays each of them."""

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from meta.client import MetaClient
from meta.errors import NotFound
from meta.v1 import catalog_pb2
from segments.inventory.quarantine import Quarantined, QuarantineFilter
from segplane.gateway.http.refusals import NotThere
from segplane.gateway.management.quarantine_view import QuarantineView, store_refusals
from segplane.gateway.queries.service import QueryService
from segplane.terminal.plain_text import size_text

QUARANTINE_PATH = "/ui/quarantine"
# Payloads that are counted, and those of them that are listed.
COUNTED_MAX, ROWS = 1_000, 50
_NAMES_MAX = 100


@dataclass(frozen=True, slots=True)
class QuarantineAsk:
    """Filters as an address has them, and the position behind which the page begins."""

    dataset: str = ""
    cause: str = ""
    after: str = ""

    def address(self, after: str = "") -> str:
        """Return the address of a page of the same payloads."""
        values = {"dataset": self.dataset, "cause": self.cause, "after": after}
        pairs = {name: value for name, value in values.items() if value}
        return f"{QUARANTINE_PATH}?{urlencode(pairs)}" if pairs else QUARANTINE_PATH


@dataclass(frozen=True, slots=True)
class QuarantineCount:
    """Payloads of one cause that were meant for one dataset, "" = it is not known."""

    cause: str
    dataset: str
    payloads: int
    size: str

    @property
    def address(self) -> str:
        """Return the address of the payloads."""
        return QuarantineAsk(self.dataset, self.cause).address()


@dataclass(frozen=True, slots=True)
class ShownPayload:
    """A payload, the name of its dataset, and the command that replays it."""

    item: Quarantined
    dataset: str
    size: str
    command: str

    @property
    def address(self) -> str:
        """Return the address of its bytes."""
        return f"{QUARANTINE_PATH}/payload?{urlencode({'key': self.item.key})}"


@dataclass(frozen=True, slots=True)
class ShownQuarantine:
    """Content of the page; `has_more` if further payloads are not counted."""

    ask: QuarantineAsk
    counts: Sequence[QuarantineCount]
    payloads: Sequence[ShownPayload]
    has_more: bool
    next_address: str


def read_quarantine(
    client: MetaClient, queries: QueryService, ask: QuarantineAsk
) -> ShownQuarantine:
    """Read notes of payloads that the client's caller may see. Raises MetaError, QueryRefusal."""
    with store_refusals():
        view = QuarantineView(client, queries.rights, queries.store)
        chosen = QuarantineFilter("", _dataset_id(client, ask.dataset), ask.cause)
        page = view.page(chosen, ask.after, COUNTED_MAX)
    names = _names(client, page.items)
    rows = [_shown(item, names) for item in page.items[:ROWS]]
    following = page.items[ROWS - 1].key if len(page.items) > ROWS else page.next_after
    return ShownQuarantine(
        ask,
        _counts(page.items, names),
        rows,
        bool(page.next_after),
        ask.address(following) if following else "",
    )


def read_payload(client: MetaClient, queries: QueryService, key: str) -> bytes:
    """Read the bytes of a payload that the client's caller may see. Raises QueryRefusal."""
    with store_refusals():
        view = QuarantineView(client, queries.rights, queries.store)
        return view.content(view.find(key))


def _dataset_id(client: MetaClient, name: str) -> str:
    if not name:
        return ""
    try:
        return client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name=name)).id
    except NotFound:
        raise NotThere(f"there is no dataset {name[:80]!r}") from None


def _names(client: MetaClient, items: Sequence[Quarantined]) -> Mapping[str, str]:
    """Return the names of the datasets that there are, of the first ones."""
    ids = list(dict.fromkeys(item.dataset_id for item in items if item.dataset_id))
    names = {}
    for id_ in ids[:_NAMES_MAX]:
        try:
            names[id_] = client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(id=id_)).name
        except NotFound:
            continue
    return names


def _counts(items: Sequence[Quarantined], names: Mapping[str, str]) -> list[QuarantineCount]:
    groups = defaultdict[tuple[str, str], list[int]](list)
    for item in items:
        cause = item.cause.partition(":")[0]
        groups[cause, names.get(item.dataset_id, item.dataset_id)].append(item.size_bytes)
    ordered = sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    return [
        QuarantineCount(cause, dataset, len(sizes), size_text(sum(sizes)))
        for (cause, dataset), sizes in ordered
    ]


def _shown(item: Quarantined, names: Mapping[str, str]) -> ShownPayload:
    name = names.get(item.dataset_id, "")
    command = ["segplane", "quarantine", "replay", item.key]
    if not item.signal:
        command += ["--sound-payloads"]
    elif item.is_damaged:
        command += ["--as-is"]
    elif not item.dataset_id:
        command += ["--dataset", "NAME"]
    return ShownPayload(
        item, name or item.dataset_id, size_text(item.size_bytes), shlex.join(command)
    )
