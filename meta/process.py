"""What every process shares: settings from the environment, logging, metrics port, shutdown."""

import ctypes
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import structlog
from prometheus_client import start_http_server

from meta import telemetry
from segments.location import StoreLocation

CONFIG_EXIT_CODE = 2
# From malloc.h of glibc.
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
_MMAP_BYTES = 128 * 1024
_ARENAS = 2


class ConfigError(Exception):
    """A setting is missing or malformed; the message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class MetricsAddress:
    """Where a process serves its Prometheus metrics; port 0 = nowhere."""

    host: str = "127.0.0.1"
    port: int = 0

    def of_child(self, index: int) -> "MetricsAddress":
        """The address of one of several processes with the same settings."""
        return MetricsAddress(self.host, self.port and self.port + index)


NO_METRICS = MetricsAddress()


@dataclass(frozen=True, slots=True)
class Environment:
    """Typed readers over environment variables that share a prefix, such as `META_`.

    Every setting `X` may also be given as `X_FILE`, a file that holds its value. All readers raise
    ConfigError with the variable's full name.
    """

    prefix: str
    values: Mapping[str, str]

    def text(self, name: str, default: str | None = None) -> str:
        """A string; required when there is no default."""
        key = self.prefix + name
        if key in self.values:
            return self.values[key]
        if f"{key}_FILE" in self.values:
            try:
                return Path(self.values[f"{key}_FILE"]).read_text().strip()
            except OSError as error:
                raise ConfigError(f"{key}_FILE cannot be read: {error}") from error
        if default is None:
            raise ConfigError(f"{key} is not set")
        return default

    def integer(self, name: str, default: int, *, low: int = 0, high: int = 2**63 - 1) -> int:
        """A whole number in [low, high]."""
        raw = self.text(name, str(default))
        try:
            value = int(raw)
        except ValueError:
            raise ConfigError(f"{self.prefix}{name} is {raw!r}, not a whole number") from None
        return int(self._within(name, value, low, high))

    def seconds(self, name: str, default: float, *, low: float = 0.0, high: float = 1e9) -> float:
        """A number of seconds in [low, high]."""
        raw = self.text(name, str(default).removesuffix(".0"))
        try:
            value = float(raw)
        except ValueError:
            raise ConfigError(f"{self.prefix}{name} is {raw!r}, not a number of seconds") from None
        return self._within(name, value, low, high)

    def flag(self, name: str, default: bool = False) -> bool:
        """true/false, yes/no, on/off or 1/0."""
        raw = self.text(name, str(default).lower()).lower()
        if raw not in {"true", "false", "yes", "no", "on", "off", "1", "0"}:
            raise ConfigError(f"{self.prefix}{name} is {raw!r}, not true or false")
        return raw in {"true", "yes", "on", "1"}

    def metrics(self) -> MetricsAddress:
        """Where metrics are served, off by default."""
        return MetricsAddress(
            self.text("METRICS_HOST", NO_METRICS.host),
            self.integer("METRICS_PORT", NO_METRICS.port, high=65_535),
        )

    def location(self, name: str) -> StoreLocation | None:
        """An object store's URL; None where it is not set."""
        url = self.text(name, "")
        try:
            return StoreLocation.from_url(url) if url else None
        except ValueError as error:
            raise ConfigError(f"{self.prefix}{name}: {error}") from error

    def _within(self, name: str, value: float, low: float, high: float) -> float:
        # `not (low <= value)` also refuses NaN.
        if not (low <= value <= high):
            raise ConfigError(f"{self.prefix}{name} is {value}, not between {low} and {high}")
        return value


def environment(prefix: str) -> Environment:
    """Read the process's environment; called once, in `__main__` or `config`."""
    return Environment(prefix, dict(os.environ))


def configure_logging(service: str, *, json: bool | None = None) -> None:
    """Send structlog events to stderr: one JSON object per line, or readable on a terminal.

    With OTEL_EXPORTER_OTLP_ENDPOINT set, events, metrics and spans go there too.
    """
    as_json = not sys.stderr.isatty() if json is None else json
    exported: list[structlog.typing.Processor] = []
    if telemetry.is_enabled():
        exported.append(telemetry.install(service))
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            *exported,
            structlog.processors.JSONRenderer(default=str)
            if as_json
            else structlog.dev.ConsoleRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        # One write a line: several processes share one pipe.
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    structlog.contextvars.bind_contextvars(service=service)
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)


def return_freed_memory() -> None:
    """Tell malloc to give large buffers back at once.

    By default glibc keeps what every thread has freed: 8 callers with requests of 4 MiB left 100 MB
    behind for good. Elsewhere than on glibc it does nothing.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
        mallopt(_M_ARENA_MAX, _ARENAS)


def serve_metrics(at: MetricsAddress) -> None:
    """Serve Prometheus metrics. Raises ConfigError if the address cannot be had."""
    if at.port == 0:
        return
    try:
        start_http_server(at.port, addr=at.host)
    except OSError as error:
        raise ConfigError(f"metrics cannot be served on {at.host}:{at.port}: {error}") from error


class Shutdown:
    """Set once SIGTERM or SIGINT arrives; every wait of a process goes through it."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def install(self) -> "Shutdown":
        """Take over SIGTERM and SIGINT; only the main thread may."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._event.set())
        return self

    def request(self) -> None:
        """Ask the process to end, as a signal would."""
        self._event.set()

    @property
    def is_requested(self) -> bool:
        """True once the process should end."""
        return self._event.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until shutdown or for `seconds`; true on shutdown."""
        return self._event.wait(seconds)


def every(interval_secs: float, shutdown: Shutdown) -> Iterator[int]:
    """Yield 0, 1, 2, ... at once and then every `interval_secs`, until shutdown."""
    count = 0
    while not shutdown.is_requested:
        yield count
        count += 1
        shutdown.wait(interval_secs)


def fail(message: str) -> NoReturn:
    """End the process with one line on stderr and exit code 2."""
    print(f"error: {message}", file=sys.stderr)  # noqa: T201
    sys.exit(CONFIG_EXIT_CODE)
