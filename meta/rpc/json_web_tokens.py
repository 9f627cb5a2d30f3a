"""JSON Web Tokens of an OpenID Connect issuer: signature, claims, role."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import jwt

from meta.access import Principal
from meta.identities import Oidc
from meta.rpc.issuer_keys import IssuerKeys

# Signatures by a secret that both sides know are not among them, nor none at all.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
TOKEN_CHARACTERS_MAX = 8_192
SUBJECT_CHARACTERS_MAX = 255
CLOCK_SKEW_SECS = 60
# A checked token is known for this long, at most until it expires.
KNOWN_SECS = 60.0
KNOWN_MAX = 1_000
_OPTIONS: Any = {"require": ["exp", "iss", "aud", "sub"]}


class JsonWebTokens:
    """Checks tokens of one issuer; used on the event loop."""

    def __init__(self, oidc: Oidc, clock: Callable[[], float] = time.monotonic) -> None:
        self._oidc = oidc
        self._clock = clock
        self._keys = IssuerKeys(oidc, clock)
        # When each is to be checked again; the oldest first.
        self._known: dict[str, tuple[float, Principal]] = {}

    def __len__(self) -> int:
        """The number of tokens that are known."""
        return len(self._known)

    async def find(self, token: str) -> Principal | None:
        """The principal of a token, None if it is not valid or gives no role."""
        until, principal = self._known.get(token, (0.0, None))
        if principal is not None and self._clock() < until:
            return principal
        if len(token) > TOKEN_CHARACTERS_MAX:
            return None
        claims = await self._claims(token)
        principal = None if claims is None else self._principal(claims)
        if claims is not None and principal is not None:
            left_secs = float(claims["exp"]) + CLOCK_SKEW_SECS - time.time()
            self._known.pop(token, None)
            self._known[token] = self._clock() + min(KNOWN_SECS, left_secs), principal
            if len(self._known) > KNOWN_MAX:
                del self._known[next(iter(self._known))]
        return principal

    async def _claims(self, token: str) -> Mapping[str, Any] | None:
        try:
            header = jwt.get_unverified_header(token)
            if header.get("alg") not in ALGORITHMS:
                return None
            key = await self._keys.find(str(header.get("kid", "")))
            if key is None or key.algorithm_name != header["alg"]:
                return None
            claims: Mapping[str, Any] = await asyncio.to_thread(
                jwt.decode,
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=self._oidc.audience,
                issuer=self._oidc.issuer,
                leeway=CLOCK_SKEW_SECS,
                options=_OPTIONS,
            )
        except (jwt.PyJWTError, ValueError):
            return None
        return claims

    def _principal(self, claims: Mapping[str, Any]) -> Principal | None:
        subject, held = str(claims["sub"]), _values(claims, self._oidc.roles_claim)
        if not (0 < len(subject) <= SUBJECT_CHARACTERS_MAX and subject.isprintable()):
            return None
        for value, role in self._oidc.roles:
            if value in held:
                return Principal(subject, role)
        return None


def is_well_formed(token: str) -> bool:
    """True for three parts, the first of which begins like a JSON object."""
    return token.startswith("ey") and token.count(".") == 2


def _values(claims: Mapping[str, Any], path: str) -> list[str]:
    """The texts of a claim, which may be inside others."""
    value: Any = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    values = value if isinstance(value, list) else [value]
    return [value for value in values if isinstance(value, str)]
