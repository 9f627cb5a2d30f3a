"""Objects that a store has no more, asked for with a signed HEAD."""

import time
from collections.abc import Callable

from botocore.awsrequest import AWSRequest
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session

from segments.location import StoreLocation
from segments.store.s3.signing import AccessKeys, ReadRequest, sign

_TIMEOUT_SECS = 2
# A store that does not answer is not asked again for this long, because callers wait for it.
_AWAY_SECS = 10.0
_CONNECTIONS_MAX = 32
_NOT_FOUND = 404


class MissingObjects:
    """Asks one store; safe for many threads."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._away_until = float("-inf")
        self._session = URLLib3Session(timeout=_TIMEOUT_SECS, max_pool_connections=_CONNECTIONS_MAX)

    def is_missing(self, location: StoreLocation, keys: AccessKeys, url: str, region: str) -> bool:
        """True if the store says so; False also if it cannot be asked."""
        if self._monotonic() < self._away_until:
            return False
        headers = sign(location, keys, ReadRequest("HEAD", url, region, {}))
        try:
            answer = self._session.send(AWSRequest("HEAD", url, headers=headers).prepare())
        except BotoCoreError:
            self._away_until = self._monotonic() + _AWAY_SECS
            return False
        return bool(answer.status_code == _NOT_FOUND)
