"""Calls about pins."""

from meta.services.pins.pins import list_pins, pin_version, release_pin, renew_pin
from meta.services.server_parts import Operations

OPERATIONS: Operations = {
    "PinVersion": pin_version,
    "RenewPin": renew_pin,
    "ReleasePin": release_pin,
    "ListPins": list_pins,
}
