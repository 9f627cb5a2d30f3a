"""Checks stored objects against what meta knows of them; two failing reads are proof of damage."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from meta.client import MetaClient
from meta.v1 import operations_pb2 as pb
from segments.errors import StoreError, StoreUnusable
from segments.object_check import KnownObject, check_object
from segments.store.interface import ObjectStore

DAMAGE_CHARACTERS_MAX = 1_000
# After as many objects in a row without an answer, the store counts as away.
UNANSWERED_MAX = 3


@dataclass(frozen=True, slots=True)
class CheckedObject:
    """An object and the outcome of its check; `damage` "" = it is sound.

    `is_read` is false if the store gave no answer, which proves nothing; `damage` says why.
    """

    stored: pb.StoredObject
    size_bytes: int
    crc32c: int
    damage: str
    is_read: bool = True


def list_stored(
    client: MetaClient, after: str, *, limit: int, since: int = 0, with_totals: bool = False
) -> pb.ListStoredObjectsResponse:
    """List the objects behind a key that must exist; the last page has no `next_after_key`."""
    request = pb.ListStoredObjectsRequest(
        after_key=after, limit=limit, since_version=since, with_totals=with_totals
    )
    return client.operations.ListStoredObjects(request)


def check_each(
    store: ObjectStore,
    objects: Iterable[pb.StoredObject],
    *,
    read_pages: bool = False,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> Iterator[CheckedObject]:
    """Read objects in turn, each as `check_object` does.

    One object without an answer must not hold up the others, but UNANSWERED_MAX in a row are the
    whole store: raises StoreError, and yields none of these. Raises StoreUnusable at once.
    """
    unanswered: list[CheckedObject] = []
    for stored in objects:
        crc32c = stored.crc32c if stored.HasField("crc32c") else None
        expected = KnownObject(stored.object_key, stored.size_bytes, crc32c)
        try:
            reading = check_object(store, expected, read_pages=read_pages, on_bytes=on_bytes)
        except StoreUnusable:
            raise
        except StoreError as error:
            unanswered.append(CheckedObject(stored, 0, 0, str(error), is_read=False))
            if len(unanswered) == UNANSWERED_MAX:
                raise
            continue
        yield from unanswered
        unanswered.clear()
        yield CheckedObject(stored, reading.size_bytes, reading.crc32c, reading.damage)
    yield from unanswered


def report(
    client: MetaClient,
    checked: Sequence[CheckedObject],
    position: pb.ScrubPosition | None = None,
    holder: str = "",
) -> pb.ReportObjectChecksResponse:
    """Report checksums and damage to meta, and the scrub's position with its holder.

    Objects that were not read are skipped.
    """
    checks = [
        pb.ObjectCheck(
            object_key=item.stored.object_key, damage=_printable(item.damage), crc32c=item.crc32c
        )
        for item in checked
        if item.is_read
        and (item.damage or item.stored.is_damaged or not item.stored.HasField("crc32c"))
    ]
    request = pb.ReportObjectChecksRequest(checks=checks, position=position, holder=holder)
    return client.operations.ReportObjectChecks(request)


def list_damaged(client: MetaClient) -> Iterator[pb.DamagedObject]:
    """Read every page of the objects whose damage is proven."""
    request = pb.ListDamagedObjectsRequest()
    while True:
        reply = client.operations.ListDamagedObjects(request)
        yield from reply.objects
        if not reply.next_after_key:
            return
        request.after_key = reply.next_after_key


def _printable(text: str) -> str:
    """Reduce text to what meta takes."""
    return "".join(c if c.isprintable() else " " for c in text)[:DAMAGE_CHARACTERS_MAX]
