"""Checks of objects: those that must exist, results of reads, and the scrub's position."""

from meta.errors import InvalidArgument
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.checks import object_checks, stored_objects
from meta.store.checks.object_checks import ObjectCheck, ScrubPosition
from meta.store.checks.stored_objects import KeySpan
from meta.store.engine.pool import Transaction
from meta.v1 import operations_pb2 as pb

OBJECTS_MAX = 1_000
DAMAGE_CHARACTERS_MAX = 1_000
HOLDER_CHARACTERS_MAX = 255
_KEY_CHARACTERS_MAX = 1_024
_TIME_NANOS_MAX = 253_402_300_799 * 10**9


def list_stored_objects(
    server: ServerParts, request: pb.ListStoredObjectsRequest
) -> pb.ListStoredObjectsResponse:
    """List what must exist, in key order."""
    after = _key(request.after_key, "after_key")
    most = checks.limit(request.limit, default=OBJECTS_MAX, most=OBJECTS_MAX)
    since = checks.count(request.since_version, "since_version")
    page = server.transactions.read(
        lambda tx: stored_objects.read_page(tx, KeySpan(after), most, since=since)
    )
    reply = pb.ListStoredObjectsResponse(
        objects=[filled(pb.StoredObject, stored) for stored in page.objects if stored.is_needed],
        next_after_key=page.next_after,
    )
    if request.with_totals:
        totals = server.transactions.read(lambda tx: stored_objects.count(tx, since))
        reply.total_objects, reply.total_size_bytes = totals.objects, totals.size_bytes
    return reply


def report_object_checks(
    server: ServerParts, request: pb.ReportObjectChecksRequest
) -> pb.ReportObjectChecksResponse:
    """Record what reads found, and with it how far the scrub has come."""
    results = checks.each(request.checks, "checks", OBJECTS_MAX, _check)
    checks.distinct([check.object_key for check in results], "checks")
    position = _position(request.position) if request.HasField("position") else None
    holder = checks.text(request.holder, "holder", characters_max=HOLDER_CHARACTERS_MAX)

    def work(tx: Transaction) -> pb.ReportObjectChecksResponse:
        damaged = object_checks.record(tx, results)
        is_saved = position is None or object_checks.save_position(tx, position, holder)
        return pb.ReportObjectChecksResponse(
            damaged_objects=object_checks.count_damaged(tx),
            damaged_keys=damaged,
            is_held_by_another=not is_saved,
        )

    return server.transactions.write(work)


def list_damaged_objects(
    server: ServerParts, request: pb.ListDamagedObjectsRequest
) -> pb.ListDamagedObjectsResponse:
    """List the objects whose damage is proven."""
    after = _key(request.after_key, "after_key")
    most = checks.limit(request.limit, default=OBJECTS_MAX, most=OBJECTS_MAX)
    page = server.transactions.read(lambda tx: object_checks.list_damaged(tx, after, most))
    return pb.ListDamagedObjectsResponse(
        objects=[pb.DamagedObject(**damaged._asdict()) for damaged in page],
        next_after_key=page[-1].object_key if len(page) == most else "",
    )


def get_scrub_state(
    server: ServerParts, request: pb.GetScrubStateRequest
) -> pb.GetScrubStateResponse:
    """Read the scrub's position and how much damage is known."""
    (position, holder), damaged = server.transactions.read(
        lambda tx: (object_checks.find_position(tx), object_checks.count_damaged(tx))
    )
    reply = pb.GetScrubStateResponse(damaged_objects=damaged, holder=holder)
    if position is not None:
        reply.position.CopyFrom(pb.ScrubPosition(**position._asdict()))
    return reply


def _check(message: pb.ObjectCheck, field: str) -> ObjectCheck:
    key = _key(message.object_key, f"{field}.object_key")
    if not key:
        raise InvalidArgument(f"{field}.object_key must not be empty", field=f"{field}.object_key")
    damage = checks.text(message.damage, f"{field}.damage", characters_max=DAMAGE_CHARACTERS_MAX)
    return ObjectCheck(key, damage, message.crc32c)


def _position(message: pb.ScrubPosition) -> ScrubPosition:
    return ScrubPosition(
        _key(message.checked_through, "position.checked_through"),
        checks.count(message.objects, "position.objects"),
        checks.count(message.size_bytes, "position.size_bytes"),
        message.is_complete,
        checks.count(message.began_at_nanos, "position.began_at_nanos", high=_TIME_NANOS_MAX),
    )


def _key(key: str, field: str) -> str:
    return checks.text(key, field, characters_max=_KEY_CHARACTERS_MAX)
