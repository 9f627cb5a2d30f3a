"""One-time codes, by which a person on the gateway's machine opens the console.

A code is a time and random bits, authenticated with a key of the data folder: a user who can read
the folder makes one, and the gateway remembers those that were used until they end.
"""

import re
from collections.abc import Callable, Sequence

from meta.secrets import is_among, keyed_digest, random_bytes
from segplane.gateway.http.refusals import NotNow

CODE_SECS = 600
SPENT_MAX = 1_000
_RANDOM_BYTES = 16
_CODE = re.compile(r"([0-9]{1,12})\.([0-9a-f]{32})\.([0-9a-f]{64})", re.ASCII)


def make_code(key: str, port: int, now: float) -> str:
    """Return a new code for the gateway at a port of this machine."""
    issued_at, random = int(now), random_bytes(_RANDOM_BYTES).hex()
    return f"{issued_at}.{random}.{_digest(key, port, f'{issued_at}.{random}')}"


class OneTimeCodes:
    """Codes of one gateway, each good for one use within `CODE_SECS`; used on the event loop."""

    def __init__(self, keys: Sequence[str], clock: Callable[[], float]) -> None:
        self._keys = keys
        self._clock = clock
        # Codes from before the start may have been used then.
        self._started_at = int(clock())
        self._spent: dict[str, int] = {}

    def spend(self, code: str, port: int) -> bool:
        """Use up a code; False for one that is not valid, or not any more. Raises NotNow."""
        match = _CODE.fullmatch(code)
        if match is None:
            return False
        issued_at, now = int(match[1]), self._clock()
        expected = [_digest(key, port, f"{match[1]}.{match[2]}").encode() for key in self._keys]
        if not is_among(match[3].encode(), expected):
            return False
        if issued_at < self._started_at or not 0 <= now - issued_at < CODE_SECS:
            return False
        self._spent = {spent: at for spent, at in self._spent.items() if now - at < CODE_SECS}
        if code in self._spent:
            return False
        if len(self._spent) >= SPENT_MAX:
            raise NotNow(f"{SPENT_MAX} codes were used within {CODE_SECS} s: try later", "", 60)
        self._spent[code] = issued_at
        return True


def _digest(key: str, port: int, text: str) -> str:
    return keyed_digest(key.encode(), f"segplane console code {port} {text}".encode()).hex()
