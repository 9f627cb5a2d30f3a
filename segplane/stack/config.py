"""Settings of `segplane dev`, and the environment of each child process.

The caller's environment takes precedence, except for addresses and locations, which must agree
between the processes.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dataplane.settings import client_tls
from meta.client.channel import ClientTls
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from segplane.stack import console, ingest_token, metrics_targets, self_telemetry
from segplane.stack.defaults import HOST, META_PORT, PORT_MAX

# Wildcard addresses of listeners, and the address by which local clients reach them.
_LOOPBACK_OF = {"0.0.0.0": HOST, "[::]": "[::1]"}
_OBJECT_STORE = "SEGPLANE_OBJECT_STORE_URL"
# Nursery and merge worker in one process, with one Spark application.
PIPELINE = "pipeline"
# The pipeline in two processes.
APART = ("nursery", "merge_worker")
_OWN_SPARK = ("NURSERY_SPARK_", "MERGE_WORKER_SPARK_")
# Senders wait half a second for an acknowledgement. All else has a server's pace: each round costs
# CPU, and merges of fewer files write each byte more often.
DEV_PACE = {"META_FLUSH_TIMEOUT_MS": "500"}
# The person who runs it may read all datasets.
DEV_METRICS = {"META_DATASET_METRICS": "true"}
# The role of transactions of tenants' callers in the embedded Postgres, which meta makes there.
EMBEDDED_CALLER_ROLE = "segplane_callers"
# Readers that take longer than this lose their files: for demonstrations and tests only, in which
# records are merged and files are deleted within seconds.
UNSAFE_GRACE = {
    "NURSERY_INTERVAL_SECS": "0.5",
    "NURSERY_WAIT_SECS": "1",
    "NURSERY_IDLE_ADVANCE_SECS": "2",
    "META_UNSAFE_SHORT_GRACE": "true",
    "META_CURSOR_LIFETIME_SECS": "2",
    "META_TOMBSTONE_GRACE_SECS": "3",
    "META_MERGE_FILES_MAX": "8",
    "META_MERGE_FILES_QUIET": "1",
    "META_MERGE_QUIET_SECS": "2",
    "NURSERY_REAP_INTERVAL_SECS": "5",
    "MERGE_WORKER_INTERVAL_SECS": "0.15",
    "JANITOR_MERGE_INTERVAL_SECS": "1",
    "JANITOR_DELETION_INTERVAL_SECS": "1",
}


@dataclass(frozen=True, slots=True)
class StackSettings:
    """Settings of a single-machine stack; an empty database or store means the embedded one."""

    data_dir: Path
    meta_host: str = HOST
    meta_port: int = META_PORT
    otlp_grpc_port: int = 4317
    otlp_http_port: int = 4318
    gateway_port: int = 9580
    database_url: str = ""
    object_store_url: str = ""
    is_unsafe_grace: bool = False
    has_self_telemetry: bool = False
    # Each process serves metrics, at the port in `metrics_ports` by its setting.
    has_metrics: bool = False
    metrics_ports: Mapping[str, int] = field(default_factory=dict)
    # The console changes with the gateway's rights.
    has_console_changes: bool = False
    inherited: Mapping[str, str] = field(default_factory=dict)

    @property
    def meta_bind(self) -> str:
        """Address that meta listens on."""
        return f"{self.meta_host}:{self.meta_port}"

    @property
    def meta_address(self) -> str:
        """Address of meta for clients on this machine."""
        return f"{_LOOPBACK_OF.get(self.meta_host, self.meta_host)}:{self.meta_port}"

    @property
    def meta_auth_token(self) -> str:
        """Bearer token of meta's clients; raises ConfigError if its file cannot be read."""
        return Environment("META_", self.inherited).text("AUTH_TOKEN", "")

    @property
    def meta_tls(self) -> ClientTls | None:
        """TLS settings of this meta's clients; raises ConfigError if that is not known."""
        tls = client_tls(Environment("SEGPLANE_", self.inherited))
        if Environment("META_", self.inherited).text("TLS_CERT_FILE", "") and tls is None:
            raise ConfigError(
                "META_TLS_CERT_FILE is set: name the CA that signed it with SEGPLANE_META_CA_FILE"
            )
        return tls

    @property
    def otlp_grpc_address(self) -> str:
        """Address of the collector's OTLP over gRPC."""
        return f"{HOST}:{self.otlp_grpc_port}"

    @property
    def otlp_http_url(self) -> str:
        """URL of the collector's OTLP over HTTP."""
        return f"http://{HOST}:{self.otlp_http_port}"

    @property
    def gateway_bind(self) -> str:
        """Address that the gateway listens on."""
        return f"{HOST}:{self.gateway_port}"

    @property
    def console_key_path(self) -> Path:
        """File of the key of the gateway's console, readable by its owner only."""
        return console.path_in(self.data_dir)

    @property
    def has_console(self) -> bool:
        """True if the gateway serves its console; raises ConfigError if that is not known."""
        environment = Environment("GATEWAY_", self.inherited)
        return environment.flag("CONSOLE", not environment.is_production())

    @property
    def takes_codes(self) -> bool:
        """True if one-time codes open the console: people at a public URL log in."""
        return self.has_console and not Environment("GATEWAY_", self.inherited).is_set("PUBLIC_URL")

    @property
    def token_path(self) -> Path:
        """File of the default ingest token, readable by its owner only."""
        return ingest_token.path_in(self.data_dir)

    @property
    def telemetry_path(self) -> Path:
        """File of the dataset and the token of the stack's own telemetry."""
        return self_telemetry.path_in(self.data_dir)


def inherited_environment() -> dict[str, str]:
    """Read the environment that child processes start from."""
    return dict(os.environ)


def meta_endpoint(
    inherited: Mapping[str, str], host: str | None, port: int | None
) -> tuple[str, int]:
    """Host and port for meta: those given, or else META_BIND's, or else the defaults.

    Raises ConfigError if META_BIND is not host:port.
    """
    bind = Environment("META_", inherited).text("BIND", f"{HOST}:{META_PORT}")
    bind_host, _, bind_port = bind.rpartition(":")
    if not bind_host or not bind_port.isdigit() or int(bind_port) > PORT_MAX:
        raise ConfigError(f"META_BIND is {bind!r}, not host:port such as {HOST}:{META_PORT}")
    return host or bind_host, int(bind_port) if port is None else port


def processes_of(settings: StackSettings, parts: Sequence[str]) -> list[str]:
    """Processes of the parts: the pipeline is one, or two if each has a setting of Spark."""
    names = (APART if p == PIPELINE and runs_apart(settings) else (p,) for p in parts)
    return [process for processes in names for process in processes]


def ports_of(settings: StackSettings, parts: Sequence[str]) -> dict[str, int]:
    """Ports of meta and of the parts that run, by the options and settings that set them."""
    ports = {"--meta-port": settings.meta_port}
    if "collector" in parts:
        ports["--otlp-grpc-port"] = settings.otlp_grpc_port
        ports["--otlp-http-port"] = settings.otlp_http_port
    if "gateway" in parts:
        ports["--gateway-port"] = settings.gateway_port
    processes = ("meta", *processes_of(settings, parts))
    return ports | metrics_targets.ports_of(settings, processes)


def with_ports(settings: StackSettings, ports: Mapping[str, int]) -> StackSettings:
    """These settings with the ports that were claimed, and 0 for those of parts that do not run."""
    return replace(
        settings,
        meta_port=ports["--meta-port"],
        otlp_grpc_port=ports.get("--otlp-grpc-port", 0),
        otlp_http_port=ports.get("--otlp-http-port", 0),
        gateway_port=ports.get("--gateway-port", 0),
        metrics_ports={name: port for name, port in ports.items() if not name.startswith("--")},
    )


def objects_dir(settings: StackSettings) -> Path:
    """The folder that is the object store if no other is given."""
    return settings.data_dir / "objects"


def check_tls(settings: StackSettings) -> None:
    """Raise ConfigError if the processes could not reach one another."""
    _ = settings.meta_tls
    collector = Environment("COLLECTOR_", settings.inherited)
    if collector.text("TLS_CERT_FILE", ""):
        name = collector.name_of("TLS_CERT_FILE")
        raise ConfigError(
            f"{name} is set, but the collector of one machine takes plain text on 127.0.0.1: unset"
            " it (META_TLS_CERT_FILE is of meta alone), or run `python -m collector`"
        )


def meta_environment(settings: StackSettings, database_url: str) -> dict[str, str]:
    """Environment of meta."""
    store = settings.object_store_url or objects_dir(settings).as_uri()
    role = {} if settings.database_url else {"META_DATABASE_CALLER_ROLE": EMBEDDED_CALLER_ROLE}
    return (
        role
        | _environment(settings)
        | {
            "META_BIND": settings.meta_bind,
            "META_DATABASE_URL": database_url,
            "META_OBJECT_STORE_URL": store,
            **metrics_targets.environment_of(settings, "meta"),
        }
    )


def environment_of(settings: StackSettings, process: str) -> dict[str, str]:
    """Environment of a process of meta's clients, by its name."""
    environment = _environment(settings)
    for name in APART if process == PIPELINE else (process,):
        prefix = f"{name.upper()}_"
        environment[f"{prefix}META_ADDRESS"] = settings.meta_address
        environment[f"{prefix}META_AUTH_TOKEN"] = settings.meta_auth_token
        environment |= _client_tls(settings.meta_tls, prefix)
    environment |= metrics_targets.environment_of(settings, process)
    return environment | _places(settings).get(process, {})


def _places(settings: StackSettings) -> dict[str, dict[str, str]]:
    """Addresses and folders that a process alone has."""
    return {
        "collector": {
            "COLLECTOR_GRPC_BIND": settings.otlp_grpc_address,
            "COLLECTOR_HTTP_BIND": f"{HOST}:{settings.otlp_http_port}",
            "COLLECTOR_STATE_DIR": str(settings.data_dir / "collector"),
        },
        "gateway": {"GATEWAY_BIND": settings.gateway_bind, **_console(settings)},
    }


def _console(settings: StackSettings) -> dict[str, str]:
    """Settings of the console. A folder that no stack has started in has no key yet."""
    key = console.kept(settings.console_key_path)
    if not key or not settings.has_console:
        return {"GATEWAY_CONSOLE": "false"}
    changes = {"GATEWAY_CONSOLE_CHANGES": "true"} if settings.has_console_changes else {}
    return {"GATEWAY_CONSOLE": "true", "GATEWAY_CONSOLE_KEY": key, **changes}


def runs_apart(settings: StackSettings) -> bool:
    """Whether nursery and merge worker need two processes: one has its own setting of Spark."""
    return any(name.startswith(_OWN_SPARK) for name in settings.inherited)


def _client_tls(tls: ClientTls | None, prefix: str) -> dict[str, str]:
    if tls is None:
        return {}
    return {
        f"{prefix}META_CA_FILE": tls.ca_file,
        f"{prefix}META_CERT_FILE": tls.cert_file,
        f"{prefix}META_KEY_FILE": tls.key_file,
        f"{prefix}META_SERVER_NAME": tls.server_name,
    }


def _environment(settings: StackSettings) -> dict[str, str]:
    grace = UNSAFE_GRACE if settings.is_unsafe_grace else {}
    # The workers ask meta where the objects are.
    inherited = {n: v for n, v in settings.inherited.items() if not n.startswith(_OBJECT_STORE)}
    return {**DEV_PACE, **DEV_METRICS, **grace, **inherited}
