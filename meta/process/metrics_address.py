"""The address on which a process serves its Prometheus metrics."""

from dataclasses import dataclass

from meta.process.tls import ServerTls


@dataclass(frozen=True, slots=True)
class MetricsAddress:
    """Address at which a process serves its Prometheus metrics; port 0 = off."""

    host: str = "127.0.0.1"
    port: int = 0
    tls: ServerTls | None = None

    def of_child(self, index: int) -> "MetricsAddress":
        """The address of one of several processes with the same settings."""
        return MetricsAddress(self.host, self.port and self.port + index, self.tls)


NO_METRICS = MetricsAddress()
