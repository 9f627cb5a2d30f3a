"""Model of a deployment: what each process needs beside its settings.

Ports, probes, the role of its access token, and its rights in the bucket. Compose files, units,
environment files, policies of buckets and a page of docs are rendered from it and from the settings
that the processes declare.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from meta.roles import Role
from segplane.deploy.processes import Process

INGEST, DATASETS, TABLES = "ingest-stream/", "dataset/", "iceberg/"
QUARANTINE, PROBE, WITNESS = "quarantine/", "probe/", "witness/"
# The whole path of the installation in its bucket.
EVERYTHING = ""
# An account of readers, who are no process.
READER = "reader"


class Protocol(Enum):
    """Protocol of the probes of a port."""

    GRPC = "grpc.health.v1"
    HTTP = "GET /healthz"
    METRICS = "GET /metrics"


@dataclass(frozen=True, slots=True)
class Port:
    """A port by the setting of its address; `is_public` if senders and readers connect to it."""

    setting: str
    number: int
    protocol: Protocol
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class BucketRights:
    """Prefixes of objects that an account may get, put and delete, and what it may list."""

    get: tuple[str, ...]
    put: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()
    lists_names: bool = True
    lists_uploads: bool = False


@dataclass(frozen=True, slots=True)
class ProcessPart:
    """Needs of one process. `role` is that of its access token; meta has none.

    `probe` is the port that says whether it works, in plain text. A process with `has_spark` needs
    Java unless its tasks run without Spark.
    """

    process: Process
    role: Role | None
    ports: tuple[Port, ...]
    rights: BucketRights
    has_spark: bool = False
    memory: str = "1g"

    @property
    def probe(self) -> Port:
        """The port for probes: one of health alone, of the service, or of metrics."""
        return next(port for port in self.ports if not port.is_public or port.setting in _HEALTHY)

    def port(self, setting: str) -> int:
        """Return the number of the port of a setting."""
        return next(port.number for port in self.ports if port.setting == setting)


# These answer probes as well as the senders and readers they are for.
_HEALTHY = ("COLLECTOR_HTTP_BIND", "GATEWAY_BIND")


def _metrics(number: int) -> Port:
    return Port("SEGPLANE_METRICS_PORT", number, Protocol.METRICS)


PARTS: Mapping[Process, ProcessPart] = {
    part.process: part
    for part in (
        ProcessPart(
            Process.META,
            None,
            (
                Port("META_HEALTH_BIND", 9501, Protocol.GRPC),
                Port("META_BIND", 9500, Protocol.GRPC, is_public=True),
                _metrics(9600),
            ),
            BucketRights((WITNESS,), (WITNESS,), (WITNESS,)),
        ),
        ProcessPart(
            Process.COLLECTOR,
            Role.INGEST,
            (
                Port("COLLECTOR_HTTP_BIND", 4318, Protocol.HTTP, is_public=True),
                Port("COLLECTOR_GRPC_BIND", 4317, Protocol.GRPC, is_public=True),
                _metrics(9601),
            ),
            BucketRights((INGEST, PROBE), (INGEST, PROBE)),
        ),
        ProcessPart(
            Process.NURSERY,
            Role.NURSERY,
            (_metrics(9602),),
            BucketRights(
                (INGEST, DATASETS, QUARANTINE, PROBE), (DATASETS, QUARANTINE, PROBE), (INGEST,)
            ),
            has_spark=True,
            memory="4g",
        ),
        ProcessPart(
            Process.MERGE_WORKER,
            Role.MERGE,
            (_metrics(9603),),
            BucketRights((DATASETS, PROBE), (DATASETS, PROBE)),
            has_spark=True,
            memory="4g",
        ),
        ProcessPart(
            Process.JANITOR,
            Role.JANITOR,
            (_metrics(9604),),
            BucketRights((EVERYTHING,), (PROBE,), (INGEST, DATASETS, TABLES), lists_uploads=True),
        ),
        ProcessPart(
            Process.GATEWAY,
            Role.GATEWAY,
            (Port("GATEWAY_BIND", 9580, Protocol.HTTP, is_public=True), _metrics(9605)),
            BucketRights((DATASETS, TABLES, INGEST, QUARANTINE), (TABLES,)),
            memory="4g",
        ),
    )
}
# Accounts of the bucket by their names, without the `segplane-` in front of them.
ACCOUNTS: Mapping[str, BucketRights] = {
    **{part.process.label: part.rights for part in PARTS.values()},
    READER: BucketRights((DATASETS, TABLES), lists_names=False),
}
