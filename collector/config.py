"""The collector's settings, read once from `COLLECTOR_*`."""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from dataplane.settings import ProcessSettings, refuse_unsafe
from meta.process import production
from meta.process.declared import read_declared, setting, setting_read
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.process.host_names import HostNames
from meta.process.tls import ServerTls
from segments.ids import new_uuid7

MIB = 1024 * 1024


def _index(env: Environment) -> int | None:
    index = env.integer("PROCESS_INDEX", -1, low=-1)
    return None if index < 0 else index


def _origins(env: Environment) -> tuple[str, ...]:
    return tuple(env.text("HTTP_CORS_ORIGINS", "").replace(",", " ").split())


@dataclass(frozen=True, slots=True)
class Settings(ProcessSettings):
    """Everything an operator may set; docs/collector.md has the table.

    object_store: the store of babies; None = the one that meta names. Sizes count decompressed OTLP
    bytes.
    """

    grpc_bind: str = setting("127.0.0.1:4317")
    http_bind: str = setting("127.0.0.1:4318")
    tls: ServerTls | None = setting_read(None, Environment.server_tls)
    cors_origins: tuple[str, ...] = setting_read((), _origins)
    # Names that senders over HTTP may address it by; None = any.
    hosts: HostNames | None = setting_read(None, lambda env: env.host_names("HOSTS"))
    collector_id: str = setting("", name="ID")
    state_dir: str = setting("")
    export_size_bytes_max: int = setting(16 * MIB, low=1024)
    # Records with their metrics, scopes and resources.
    export_records_max: int = 500_000
    # 0 = without a bound.
    attributes_max: int = setting(1024)
    attribute_name_bytes_max: int = setting(8 * 1024)
    attribute_value_bytes_max: int = setting(64 * 1024)
    buffer_size_bytes_max: int = setting(256 * MIB, low=MIB)
    # Limit for one ingest token: half of the total.
    token_buffer_size_bytes_max: int = 128 * MIB
    # A revocation must hold within 5 s, so a token is never trusted for longer.
    token_cache_secs: float = 3.0
    # A quota is checked against usage at most 5 s old.
    usage_cache_secs: float = 5.0
    dedupe_secs: float = setting(600.0, high=86_400.0)
    # Bytes of recent babies that a start reads for the digests of their exports.
    dedupe_read_bytes_max: int = 256 * MIB
    # Flushes that may run at a time; their commits keep their order.
    overlapping_puts: int = 4
    concurrent_exports_max: int = setting(2048, low=1)
    # Limit for one ingest token: half of the total.
    token_concurrent_exports_max: int = 1024
    token_bytes_per_sec_max: int = setting(0)
    conversion_processes: int = setting(1, low=1, high=64)
    export_timeout_secs: float = setting(30.0, low=0.1)
    drain_secs: float = setting(30.0, low=1.0)
    processes: int = setting(1, low=1, high=64)
    # This process's number if several share the ports; None = it is alone.
    process_index: int | None = setting_read(None, _index)


def load(env: Environment) -> Settings:
    """Read and check the settings, and find or make this collector's id; raises ConfigError."""
    settings = read(env)
    own_id = settings.collector_id or _stable_id(settings.state_dir, settings.grpc_bind)
    if settings.process_index is None:
        return replace(settings, collector_id=own_id)
    # A separate stream and port for each.
    index = settings.process_index
    metrics = settings.metrics.of_child(index)
    return replace(settings, collector_id=f"{own_id}-{index}", metrics=metrics)


def read(env: Environment) -> Settings:
    """Read and check the settings without a change to any file; raises ConfigError."""
    settings = read_declared(env, Settings)
    settings = replace(
        settings,
        token_buffer_size_bytes_max=settings.buffer_size_bytes_max // 2,
        token_concurrent_exports_max=max(1, settings.concurrent_exports_max // 2),
    )
    _check_bind("COLLECTOR_GRPC_BIND", settings.grpc_bind)
    _check_bind("COLLECTOR_HTTP_BIND", settings.http_bind)
    refuse_unsafe(env, settings, _plain_ports(settings))
    return settings


def _plain_ports(settings: Settings) -> Iterator[str]:
    for name, bind in (("GRPC_BIND", settings.grpc_bind), ("HTTP_BIND", settings.http_bind)):
        host, _ = split_bind(bind)
        yield from production.plain_port(
            f"COLLECTOR_{name} {bind}", host, settings.tls, "COLLECTOR_"
        )


def child_environment(index: int) -> dict[str, str]:
    """The environment of one of several processes that share the ports."""
    return {**os.environ, "COLLECTOR_PROCESS_INDEX": str(index)}


def split_bind(bind: str) -> tuple[str, int]:
    """Split `host:port` or `[v6 address]:port`."""
    host, _, port = bind.rpartition(":")
    return host.strip("[]"), int(port)


def _check_bind(name: str, value: str) -> None:
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"{name} is {value!r}, not host:port")


def _stable_id(state_dir: str, grpc_bind: str) -> str:
    """The id by which meta finds this collector's stream again after a restart."""
    if not state_dir:
        return f"{socket.gethostname()}:{split_bind(grpc_bind)[1]}"
    path = Path(state_dir) / "collector_id"
    try:
        if not path.exists():
            _write_id(path)
        return path.read_text().strip()
    except OSError as error:
        raise ConfigError(f"COLLECTOR_STATE_DIR cannot be used: {error}") from error


def _write_id(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = path.with_name(f".{path.name}.{os.getpid()}")
    with mine.open("w") as file:
        file.write(f"{new_uuid7()}\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        # Linked, not renamed: of two that start at once, both read the first one's id.
        os.link(mine, path)
    except FileExistsError:
        pass
    finally:
        mine.unlink()
