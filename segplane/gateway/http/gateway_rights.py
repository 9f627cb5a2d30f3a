"""Calls of meta by the gateway's own rights, for callers whose rights it has checked before."""

import base64
from collections.abc import Callable
from dataclasses import dataclass, field

from cryptography.fernet import Fernet, InvalidToken

from meta.client import MetaClient
from meta.secrets import keyed_digest, random_bytes

_KEY_BYTES = 32
_POSITION = b"segplane gateway position"


@dataclass(frozen=True, slots=True)
class GatewayRights:
    """Clients with the gateway's own rights in all tenants, which their users close."""

    connect: Callable[[], MetaClient]
    # With those of an admin; None = it replays and discards nothing of the quarantine.
    connect_replays: Callable[[], MetaClient] | None = None
    # Positions in lists are encrypted with it, where they are those of other tenants.
    position_key: bytes = field(default_factory=lambda: random_bytes(_KEY_BYTES), repr=False)

    def sealed(self, position: str) -> str:
        """Encrypt a position."""
        return self._cipher().encrypt(position.encode()).decode()

    def opened(self, text: str) -> str | None:
        """Decrypt a position; None for a text that no gateway with the same key has sealed."""
        try:
            return self._cipher().decrypt(text.encode()).decode()
        except (InvalidToken, UnicodeError):
            return None

    def _cipher(self) -> Fernet:
        return Fernet(base64.urlsafe_b64encode(keyed_digest(self.position_key, _POSITION)))
