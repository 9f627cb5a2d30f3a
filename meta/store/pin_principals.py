"""Principals of pins: beside operators, who took a pin alone renews, releases and lists it.

A pin that was taken where no credential was needed has none: who knows its id may go on
with it, so that a server which begins to ask for credentials ends no reader's pin.
"""

from meta import access
from meta.access import Role

# True of a pin that is the caller's own, or has none; takes `values`.
IS_OWN = "(cast(:is_operator AS boolean) OR principal IN ('', :principal))"


def of_caller() -> str:
    """The principal of pins that the caller takes; "" = nobody."""
    caller = access.current.get()
    return "" if caller == access.ANONYMOUS else caller.subject


def is_operator() -> bool:
    """True if the caller may end, renew and list the pins of others."""
    return access.current.get().role is Role.ADMIN


def is_own(principal: str) -> bool:
    """True if the caller may use a pin of this principal."""
    return is_operator() or principal in ("", access.current.get().subject)


def values() -> dict[str, object]:
    """Parameters of IS_OWN."""
    return {"is_operator": is_operator(), "principal": access.current.get().subject}
