"""Host names that a server answers to, against DNS rebinding.

A page of any site can have its own name resolve to 127.0.0.1, and the browser then takes the
server for a part of that site. The request still says that name in `Host`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

NAMES_MAX = 64
_PORT_MAX = 65_535
_ENTRY = re.compile(r"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::([0-9]{1,5}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class HostNames:
    """Names, each with its port; None = without one, or with the server's."""

    names: frozenset[tuple[str, int | None]]

    def include(self, header: str, server_port: int | None) -> bool:
        """Whether a `Host` header has one of the names."""
        try:
            name, port = _entry(header)
        except ValueError:
            return False
        is_own_port = port is None or port == server_port
        return (name, port) in self.names or (is_own_port and (name, None) in self.names)


def parse_host_names(text: str) -> HostNames | None:
    """Parse names with commas or spaces between them; None if there are none. Raises ValueError."""
    entries = text.replace(",", " ").split()
    return host_names(entries) if entries else None


def host_names(entries: Iterable[str]) -> HostNames:
    """Names such as `localhost`, `[::1]` or `segplane.example.com:8443`. Raises ValueError."""
    names = frozenset(_entry(entry) for entry in entries)
    if len(names) > NAMES_MAX:
        raise ValueError(f"{len(names)} names, of which a list holds at most {NAMES_MAX}")
    return HostNames(names)


def _entry(text: str) -> tuple[str, int | None]:
    match = _ENTRY.fullmatch(text.lower())
    if match is None or (match[2] is not None and int(match[2]) > _PORT_MAX):
        raise ValueError(f"{text[:80]!r} is not a host name, expected one such as localhost:9580")
    return match[1].removesuffix("."), None if match[2] is None else int(match[2])
