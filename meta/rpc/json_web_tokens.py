"""JSON Web Tokens of an OpenID Connect issuer: signature, claims, role.

The issuer's keys are read over HTTP, and followed through rotations and outages.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.request import Request, urlopen

import jwt
import structlog

from meta.identities import NamedRight, Oidc, is_subject

log = structlog.get_logger()
FETCH_SECS = 5.0
DOCUMENT_BYTES_MAX = 262_144
# Read again this often; and for a key that is not among them, but no more often than the next.
REFRESH_SECS = 600.0
RETRY_SECS = 10.0
# The keys of an issuer that is out of reach serve for this long.
STALE_SECS = 86_400.0
_DISCOVERY = "/.well-known/openid-configuration"
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
        self._known: dict[str, tuple[float, tuple[NamedRight, ...]]] = {}

    def __len__(self) -> int:
        """The number of tokens that are known."""
        return len(self._known)

    async def find(self, token: str) -> tuple[NamedRight, ...]:
        """The rights of a token, empty if it is not valid or gives no role."""
        until, rights = self._known.get(token, (0.0, ()))
        if rights and self._clock() < until:
            return rights
        if len(token) > TOKEN_CHARACTERS_MAX:
            return ()
        claims = await self._claims(token)
        rights = () if claims is None else self._rights(claims)
        if claims is not None and rights:
            left_secs = float(claims["exp"]) + CLOCK_SKEW_SECS - time.time()
            self._known.pop(token, None)
            self._known[token] = self._clock() + min(KNOWN_SECS, left_secs), rights
            if len(self._known) > KNOWN_MAX:
                del self._known[next(iter(self._known))]
        return rights

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

    def _rights(self, claims: Mapping[str, Any]) -> tuple[NamedRight, ...]:
        subject, values = str(claims["sub"]), _values(claims, self._oidc.roles_claim)
        is_short = 0 < len(subject) <= SUBJECT_CHARACTERS_MAX
        if not (is_short and subject.isprintable() and is_subject(subject)):
            return ()
        return self._oidc.rights(subject, values)


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


class IssuerKeys:
    """The issuer's keys by id; used on the event loop."""

    def __init__(self, oidc: Oidc, clock: Callable[[], float] = time.monotonic) -> None:
        self._oidc = oidc
        self._clock = clock
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at = self._tried_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def find(self, key_id: str) -> jwt.PyJWK | None:
        """The key with this id; None if the issuer has none, or was out of reach for a day."""
        if self._clock() - self._read_at >= REFRESH_SECS or key_id not in self._keys:
            self._begin_to_read()
        if self._reading is not None and (self._is_stale() or key_id not in self._keys):
            # Otherwise a known key is used until the answer comes.
            await asyncio.shield(self._reading)
        return None if self._is_stale() else self._keys.get(key_id)

    def _is_stale(self) -> bool:
        return self._clock() - self._read_at > STALE_SECS

    def _begin_to_read(self) -> None:
        is_reading = self._reading is not None and not self._reading.done()
        if not is_reading and self._clock() - self._tried_at >= RETRY_SECS:
            self._tried_at = self._clock()
            self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            self._keys = await asyncio.to_thread(_fetch_keys, self._oidc)
            self._read_at = self._tried_at
        except (OSError, ValueError, KeyError, TypeError, jwt.PyJWTError) as error:
            log.warning("issuer_keys_not_read", issuer=self._oidc.issuer, error=str(error))


def _fetch_keys(oidc: Oidc) -> dict[str, jwt.PyJWK]:
    url = oidc.keys_url
    if not url:
        document = _get_json(oidc.issuer.rstrip("/") + _DISCOVERY)
        if document["issuer"] != oidc.issuer:
            raise ValueError(f"the discovery document is of issuer {document['issuer']!r}")
        url = str(document["jwks_uri"])
    keys = jwt.PyJWKSet.from_dict(_get_json(url)).keys
    return {key.key_id: key for key in keys if key.key_id and key.public_key_use != "enc"}


def _get_json(url: str) -> dict[str, Any]:
    if not url.startswith(("https://", "http://")):
        raise ValueError(f"{url!r} is not an HTTP URL")
    request = Request(url, headers={"Accept": "application/json"})
    with urlopen(request, timeout=FETCH_SECS) as reply:
        body = reply.read(DOCUMENT_BYTES_MAX + 1)
    if len(body) > DOCUMENT_BYTES_MAX:
        raise ValueError(f"{url} has more than {DOCUMENT_BYTES_MAX} bytes")
    document = json.loads(body)
    if not isinstance(document, dict):
        raise TypeError(f"{url} is not a JSON object")
    return document
