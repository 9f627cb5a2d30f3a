"""Keys of an OpenID Connect issuer: read over HTTP, followed through rotations and outages."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any
from urllib.request import Request, urlopen

import jwt
import structlog

from meta.identities import Oidc

log = structlog.get_logger()
FETCH_SECS = 5.0
DOCUMENT_BYTES_MAX = 262_144
# Read again this often; and for a key that is not among them, but no more often than the next.
REFRESH_SECS = 600.0
RETRY_SECS = 10.0
# The keys of an issuer that is out of reach serve for this long.
STALE_SECS = 86_400.0
_DISCOVERY = "/.well-known/openid-configuration"


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
