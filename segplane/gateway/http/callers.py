"""Callers of the gateway: its own tokens, and the caller of a request.

The gateway's own tokens are a value, or the lines of a file that is read again when it changes.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path

from meta.client.file_changes import FileChanges
from meta.secrets import is_among, token_name
from segments.noted_names import DEFAULT_TENANT_ID
from segplane.gateway.http.refusals import NotKnown

CHECK_SECS = 5.0
# The tenant of callers who name none, by its id.
DEFAULT_TENANT = f"//{DEFAULT_TENANT_ID}"
_OWN = "gateway"
# Meta always checks a token of this kind, and others only if it knows their kind.
_ACCESS_PREFIX = "segp_"


class OwnTokens:
    """Tokens that stand for the gateway's own rights; safe for many threads.

    A file may hold several, a line each: so a new one is valid before its holders use it.
    """

    def __init__(self, token: str, file: str = "") -> None:
        self._tokens = tokens_of(token)
        self._file = Path(file) if file else None
        self._changes = FileChanges([file], CHECK_SECS) if file else None
        # A file that is emptied later does not open the gateway to all.
        self.are_required = bool(self._tokens)

    def include(self, token: str) -> bool:
        """True for a token of the gateway."""
        self._follow()
        return is_among(token.encode(), self._tokens)

    def _follow(self) -> None:
        if self._file is None or self._changes is None or not self._changes.have_happened():
            return
        try:
            tokens = tokens_of(self._file.read_text())
        except (OSError, UnicodeDecodeError):
            tokens = []
        # Empty while it is being written.
        if tokens:
            self._tokens = tokens


def tokens_of(text: str) -> list[bytes]:
    """The tokens of a setting's value, one a line."""
    return [line.strip().encode() for line in text.splitlines() if line.strip()]


@dataclass(frozen=True, slots=True)
class Caller:
    """Name of an account, and the token to call meta with; "" = the gateway's own.

    The tenant is one that its calls name, `//id`; "" = none. The name has it too, so that nothing
    that is kept by the name is of two tenants.
    """

    name: str
    token: str = field(default="", repr=False)
    tenant: str = ""
    # The part of the slots of all callers that the tenant has, in percent; 0 = a caller's half.
    percent: int = 0

    @property
    def is_certain(self) -> bool:
        """True if meta refuses the caller wherever its token is not valid."""
        return not self.token or self.token.startswith(_ACCESS_PREFIX)

    @property
    def account(self) -> str:
        """The holder of slots and budgets: a tenant as a whole, or a caller of `default`."""
        return self.name if self.tenant in ("", DEFAULT_TENANT) else self.tenant

    def within(self, tenant: str, percent: int = 0) -> "Caller":
        """Return the caller of calls that name a tenant, `//id`; "" = none."""
        if not tenant:
            return self
        return replace(self, name=f"{self.name}{tenant}", tenant=tenant, percent=percent)


# The gateway itself, which names no tenant.
GATEWAY = Caller(_OWN)


def identify(header: str, own_tokens: OwnTokens) -> Caller:
    """Return the caller of a request by its Authorization header. Raises NotKnown.

    A token of the gateway's stands for its own rights in meta. Any other is a token of meta, which
    is called with it, so that its holder sees only what it may see.
    """
    scheme, _, token = header.strip().partition(" ")
    token = token.strip()
    if not header and not own_tokens.are_required:
        return GATEWAY
    if scheme.lower() != "bearer" or not token or not token.isascii() or not token.isprintable():
        raise NotKnown(
            "the request has no token: send `Authorization: Bearer` with the gateway's token, or"
            " with one that `segplane access create --role reader` made"
        )
    if own_tokens.include(token):
        return GATEWAY
    return Caller(token_name(token), token)
