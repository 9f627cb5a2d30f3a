"""The person who looks at a page, and whose rights it uses."""

from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from segplane.gateway.http.callers import DEFAULT_TENANT, Caller
from segplane.gateway.http.readers import ALL_DATASETS, DatasetScope

# Roles that may ask meta for streams, tasks and processes.
_OPERATORS = ("operator-read", "admin")
_OF_TENANTS = ("tenant-admin", "tenant-reader")


@dataclass(frozen=True, slots=True)
class Viewer:
    """A person with a session; `name` is shown on each page.

    With `uses_gateway_rights` the person has no credential, and pages read with the gateway's.
    """

    caller: Caller
    name: str
    uses_gateway_rights: bool = False
    may_change: bool = False
    # Bound to the session; every form sends it back. "" = the session sends no forms.
    form_token: str = ""
    # Role, datasets and tenant that meta gives the caller; viewers with equal rights see the same.
    rights: tuple[str, DatasetScope] = ("", ALL_DATASETS)
    # Seconds until the token ends that the browser renews; 0 = it renews none.
    session_secs: int = 0

    @property
    def sees_installation(self) -> bool:
        """Whether pages about the whole installation are offered; meta decides on each read."""
        if self.caller.tenant not in ("", DEFAULT_TENANT):
            return False
        return self.uses_gateway_rights or self.rights[0] in _OPERATORS

    @property
    def sees_tenant(self) -> bool:
        """Whether pages about the person's tenant are offered."""
        is_operator = self.uses_gateway_rights or self.rights[0] in _OPERATORS
        return self.rights[0] in _OF_TENANTS or (bool(self.caller.tenant) and is_operator)

    @property
    def shared_rights(self) -> Hashable:
        """Key of the readings that the viewer shares with those who have the same rights."""
        return self.caller.name if self.uses_gateway_rights else self.rights


class LoginNeeded(Exception):
    """The request has no session, or one that has ended; the answer is the login page.

    A message tells the person why a session that has not ended is of no use.
    """


# A page, or a part of one, for a viewer.
Page = Callable[[Request, Viewer], Awaitable[Response]]
