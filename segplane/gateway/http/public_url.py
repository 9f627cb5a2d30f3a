"""URL under which people reach the gateway, usually through a proxy with TLS."""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from meta.process.host_names import HostNames, host_names

_HTTPS_PORT = 443
_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
# A path that begins with a route would be ambiguous.
_ROUTES = ("ui", "v1", "v2", "iceberg", "healthz")


@dataclass(frozen=True, slots=True)
class PublicUrl:
    """An https URL; `path` is "" or begins with a slash and ends without one."""

    origin: str
    path: str
    hosts: HostNames

    @property
    def address(self) -> str:
        """The URL, without a slash at its end."""
        return f"{self.origin}{self.path}"


def parse_public_url(text: str) -> PublicUrl:
    """Return the parts of a URL such as https://example.com/segplane. Raises ValueError."""
    parts = urlsplit(text)
    if parts.scheme != "https" or not parts.hostname or "@" in parts.netloc:
        raise ValueError(f"{text[:200]!r} is not an https URL such as https://example.com")
    path = parts.path.rstrip("/")
    if parts.query or parts.fragment or not _PATH.fullmatch(path):
        raise ValueError(f"{text[:200]!r} has more than a host, a port and a plain path")
    if path.split("/")[1:2] and path.split("/")[1] in _ROUTES:
        raise ValueError(f"the path {path} begins with the name of a route: choose another")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    netloc = host if parts.port in (None, _HTTPS_PORT) else f"{host}:{parts.port}"
    return PublicUrl(f"https://{netloc}", path, host_names((netloc,)))
