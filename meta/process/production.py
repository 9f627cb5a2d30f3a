"""Settings that a start with SEGPLANE_PROFILE=production refuses."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from meta.client.addresses import is_loopback_host
from meta.process.exits import ConfigError
from meta.process.metrics_address import MetricsAddress
from meta.process.tls import ServerTls
from segments.location import StoreLocation

# A shorter one can be guessed.
SECRET_CHARACTERS_MIN = 24


def refuse(violations: Iterable[str]) -> None:
    """Raise ConfigError with all violations, a line each, if there are any."""
    lines = [f"\n  - {violation}" for violation in violations]
    if lines:
        raise ConfigError(f"SEGPLANE_PROFILE=production refuses these settings:{''.join(lines)}")


def open_metrics(prefix: str, metrics: MetricsAddress) -> Iterable[str]:
    """Violations of the metrics port of a process."""
    if metrics.port and metrics.tls is None and not is_loopback_host(metrics.host):
        yield f"{prefix}METRICS_HOST {metrics.host} is plain text: set {prefix}TLS_CERT_FILE"


def plain_store(name: str, location: StoreLocation | None) -> Iterable[str]:
    """Violations of an object store's location."""
    if location is None or not location.endpoint:
        return
    endpoint = urlsplit(location.endpoint)
    if endpoint.scheme == "http" and not is_loopback_host(endpoint.hostname or ""):
        yield f"{name} has a plain-text endpoint, {location.endpoint}: use https"


def weak_secret(name: str, secret: str) -> Iterable[str]:
    """Violations of a secret that somebody chose; "" = there is none."""
    if secret and len(secret) < SECRET_CHARACTERS_MIN:
        yield f"{name} has less than {SECRET_CHARACTERS_MIN} characters"


def plain_port(name: str, host: str, tls: ServerTls | None, prefix: str) -> Iterable[str]:
    """Violations of a port that others send secrets to."""
    if tls is None and not is_loopback_host(host):
        yield f"{name} is plain text beyond this machine: set {prefix}TLS_CERT_FILE"
