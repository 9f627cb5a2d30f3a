"""The collector's settings, read once from `COLLECTOR_*`."""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from meta.process import ConfigError, Environment, ServerTls, production
from segments.ids import new_uuid7
from segplane.dataplane.settings import ProcessSettings, process_values, refuse_unsafe

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(ProcessSettings):
    """Everything an operator may set; docs/collector.md has the table.

    object_store: the store of babies; None = the one that meta names. Sizes count decompressed OTLP
    bytes. process_index: this process's number if several share the ports; None = it is alone.
    """

    grpc_bind: str
    http_bind: str
    tls: ServerTls | None
    cors_origins: tuple[str, ...]
    collector_id: str
    state_dir: str
    export_size_bytes_max: int
    export_records_max: int
    attributes_max: int
    attribute_name_bytes_max: int
    attribute_value_bytes_max: int
    buffer_size_bytes_max: int
    token_buffer_size_bytes_max: int
    token_cache_secs: float
    usage_cache_secs: float
    dedupe_secs: float
    dedupe_read_bytes_max: int
    overlapping_puts: int
    concurrent_exports_max: int
    token_concurrent_exports_max: int
    token_bytes_per_sec_max: int
    conversion_processes: int
    export_timeout_secs: float
    drain_secs: float
    processes: int
    process_index: int | None


def load(env: Environment) -> Settings:
    """Read and check the settings, and find or make this collector's id; raises ConfigError."""
    settings = read(env)
    own_id = settings.collector_id or _stable_id(settings.state_dir, settings.grpc_bind)
    if settings.process_index is None:
        return replace(settings, collector_id=own_id)
    # A stream and a port of its own for each.
    index = settings.process_index
    metrics = settings.metrics.of_child(index)
    return replace(settings, collector_id=f"{own_id}-{index}", metrics=metrics)


def read(env: Environment) -> Settings:
    """Read and check the settings without a change to any file; raises ConfigError."""
    grpc_bind = env.text("GRPC_BIND", "127.0.0.1:4317")
    settings = Settings(
        **process_values(env),
        grpc_bind=_bind("COLLECTOR_GRPC_BIND", grpc_bind),
        http_bind=_bind("COLLECTOR_HTTP_BIND", env.text("HTTP_BIND", "127.0.0.1:4318")),
        tls=env.server_tls(),
        cors_origins=tuple(env.text("HTTP_CORS_ORIGINS", "").replace(",", " ").split()),
        collector_id=env.text("ID", ""),
        state_dir=env.text("STATE_DIR", ""),
        export_size_bytes_max=env.integer("EXPORT_SIZE_BYTES_MAX", 16 * MIB, low=1024),
        export_records_max=env.integer("EXPORT_RECORDS_MAX", 500_000, low=1),
        # 0 = without a bound.
        attributes_max=env.integer("ATTRIBUTES_MAX", 1024),
        attribute_name_bytes_max=env.integer("ATTRIBUTE_NAME_BYTES_MAX", 8 * 1024),
        attribute_value_bytes_max=env.integer("ATTRIBUTE_VALUE_BYTES_MAX", 64 * 1024),
        buffer_size_bytes_max=env.integer("BUFFER_SIZE_BYTES_MAX", 256 * MIB, low=MIB),
        token_buffer_size_bytes_max=env.integer("TOKEN_BUFFER_SIZE_BYTES_MAX", 128 * MIB, low=MIB),
        # A revocation must hold within 5 s, so a token is never trusted for longer.
        token_cache_secs=env.seconds("TOKEN_CACHE_SECS", 3.0, low=0.1, high=5.0),
        # A quota is checked against usage at most 5 s old.
        usage_cache_secs=env.seconds("USAGE_CACHE_SECS", 5.0, low=0.1, high=5.0),
        dedupe_secs=env.seconds("DEDUPE_SECS", 600.0, low=0.0, high=86_400.0),
        dedupe_read_bytes_max=env.integer("DEDUPE_READ_BYTES_MAX", 256 * MIB),
        overlapping_puts=env.integer("OVERLAPPING_PUTS", 4, low=1, high=64),
        concurrent_exports_max=env.integer("CONCURRENT_EXPORTS_MAX", 2048, low=1),
        token_concurrent_exports_max=env.integer("TOKEN_CONCURRENT_EXPORTS_MAX", 1024, low=1),
        token_bytes_per_sec_max=env.integer("TOKEN_BYTES_PER_SEC_MAX", 0),
        conversion_processes=env.integer("CONVERSION_PROCESSES", 1, low=1, high=64),
        export_timeout_secs=env.seconds("EXPORT_TIMEOUT_SECS", 30.0, low=0.1),
        drain_secs=env.seconds("DRAIN_SECS", 30.0, low=1.0),
        processes=env.integer("PROCESSES", 1, low=1, high=64),
        process_index=_index(env),
    )
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


def _index(env: Environment) -> int | None:
    index = env.integer("PROCESS_INDEX", -1, low=-1)
    return None if index < 0 else index


def _bind(name: str, value: str) -> str:
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"{name} is {value!r}, not host:port")
    return value


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
