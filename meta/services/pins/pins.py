"""Pins: leases on a dataset at a version."""

from meta import access
from meta.errors import InvalidArgument
from meta.services.messages import checks, pages
from meta.services.messages.filled import filled
from meta.services.server_parts import ServerParts
from meta.store.access import audit
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.pins import pin_lists, pins
from meta.store.pins.pins import NewPin, PinRow, Released
from meta.v1 import operations_pb2 as pb

LEASE_SECS = 300
LEASE_SECS_MAX = 10**9


def pin_version(server: ServerParts, request: pb.PinVersionRequest) -> pb.PinVersionResponse:
    """Keep a dataset readable at a version for a lease."""
    version = checks.optional_count(request, "version")
    as_of_nanos = checks.optional_count(request, "as_of_nanos")
    if version is not None and as_of_nanos is not None:
        raise InvalidArgument("version and as_of_nanos exclude one another", field="as_of_nanos")
    new = NewPin(
        id=checks.uuid(request.pin_id, "pin_id"),
        owner=checks.name(request.owner, "owner"),
        dataset_name=checks.name(request.dataset_name, "dataset_name"),
        version=version,
        lease_secs=_lease_secs(request.lease_secs),
        holds_changes=request.holds_changes,
        as_of_nanos=as_of_nanos,
    )
    limits, grace_secs = server.settings.pins, server.settings.lifetimes.tombstone_grace
    pin = server.transactions.write(lambda tx: pins.take(tx, new, limits, grace_secs))
    return pb.PinVersionResponse(pin=_message(pin))


def renew_pin(server: ServerParts, request: pb.RenewPinRequest) -> pb.RenewPinResponse:
    """Extend the lease of a pin."""
    pin_id = checks.uuid(request.pin_id, "pin_id")
    lease_secs, limits = _lease_secs(request.lease_secs), server.settings.pins
    pin = server.transactions.write(lambda tx: pins.renew(tx, pin_id, lease_secs, limits))
    return pb.RenewPinResponse(pin=_message(pin))


def release_pin(server: ServerParts, request: pb.ReleasePinRequest) -> pb.ReleasePinResponse:
    """End a pin at once."""
    pin_id = checks.uuid(request.pin_id, "pin_id")

    def work(tx: Transaction) -> bool:
        pin = pins.find(tx, pin_id)
        if pin is not None and not scope.is_visible(pin.dataset_id):
            return False
        released = pins.release(tx, pin_id)
        if released is not None and (request.by_operator or _is_anothers(released)):
            detail = f"owner {released.owner!r}, version {released.version}"
            if released.principal:
                detail += f", principal {released.principal!r}"
            audit.note(tx, "ReleasePin", pin_id, detail)
        return released is not None

    return pb.ReleasePinResponse(success=server.transactions.write(work))


def list_pins(server: ServerParts, request: pb.ListPinsRequest) -> pb.ListPinsResponse:
    """Page through the pins whose lease lasts."""
    dataset_name = checks.filter_name(request, "dataset_name")
    owner = checks.filter_name(request, "owner")
    listed = ("ListPins", dataset_name, owner)
    window = pages.window(request.pagination, *listed)
    page = server.transactions.read(lambda tx: pin_lists.list_page(tx, window, dataset_name, owner))
    return pb.ListPinsResponse(
        pins=map(_message, page.items), pagination=pages.answer(page, *listed)
    )


def _lease_secs(value: int) -> int:
    return checks.limit(value, "lease_secs", default=LEASE_SECS, most=LEASE_SECS_MAX)


def _is_anothers(pin: Released) -> bool:
    return pin.principal not in ("", access.current.get().subject)


def _message(pin: PinRow) -> pb.Pin:
    return filled(pb.Pin, pin, principal=access.shown_subject(pin.principal))
