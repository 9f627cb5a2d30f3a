"""The HTTP port on which a process serves its Prometheus metrics."""

from dataclasses import dataclass

from prometheus_client import start_http_server

from meta.process.exits import ConfigError


@dataclass(frozen=True, slots=True)
class MetricsAddress:
    """Address at which a process serves its Prometheus metrics; port 0 = off."""

    host: str = "127.0.0.1"
    port: int = 0

    def of_child(self, index: int) -> "MetricsAddress":
        """The address of one of several processes with the same settings."""
        return MetricsAddress(self.host, self.port and self.port + index)


NO_METRICS = MetricsAddress()


def serve_metrics(at: MetricsAddress) -> None:
    """Serve Prometheus metrics. Raises ConfigError if the address cannot be had."""
    if at.port == 0:
        return
    try:
        start_http_server(at.port, addr=at.host)
    except OSError as error:
        raise ConfigError(f"metrics cannot be served on {at.host}:{at.port}: {error}") from error
