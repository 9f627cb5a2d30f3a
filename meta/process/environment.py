"""Typed settings from environment variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from meta.process.exits import ConfigError
from meta.process.metrics_port import NO_METRICS, MetricsAddress
from meta.process.tls import ServerTls
from segments.location import StoreLocation
from segments.named_stores import NamedStore, parse_named_stores


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

    def file_of(self, name: str) -> str:
        """The file that holds a setting's value; "" where the environment has the value itself."""
        key = self.prefix + name
        return "" if key in self.values else self.values.get(f"{key}_FILE", "")

    def is_set(self, name: str) -> bool:
        """True if the environment has the variable or its `_FILE`."""
        key = self.prefix + name
        return key in self.values or f"{key}_FILE" in self.values

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

    def is_production(self) -> bool:
        """True if SEGPLANE_PROFILE asks for a start that refuses unsafe settings."""
        profile = self.values.get("SEGPLANE_PROFILE", "")
        if profile not in {"", "development", "production"}:
            raise ConfigError(
                f"SEGPLANE_PROFILE is {profile!r}, neither development nor production"
            )
        return profile == "production"

    def is_trial(self) -> bool:
        """True if SEGPLANE_TRIAL allows settings that lose what an installation should keep."""
        raw = self.values.get("SEGPLANE_TRIAL", "")
        if raw not in {"", "0", "1"}:
            raise ConfigError(f"SEGPLANE_TRIAL is {raw!r}, neither 0 nor 1")
        return raw == "1"

    def metrics(self) -> MetricsAddress:
        """Address at which metrics are served, off by default."""
        return MetricsAddress(
            self.text("METRICS_HOST", NO_METRICS.host),
            self.integer("METRICS_PORT", NO_METRICS.port, high=65_535),
            self.server_tls(),
        )

    def server_tls(self) -> ServerTls | None:
        """Certificate of the process's ports; None = they are plain text."""
        certificate = self.text("TLS_CERT_FILE", "")
        key = self.text("TLS_KEY_FILE", "")
        client_ca = self.text("TLS_CLIENT_CA_FILE", "")
        if not (certificate or key or client_ca):
            return None
        if not (certificate and key):
            raise ConfigError(
                f"TLS needs both {self.prefix}TLS_CERT_FILE and {self.prefix}TLS_KEY_FILE"
            )
        tls = ServerTls(Path(certificate), Path(key), Path(client_ca) if client_ca else None)
        tls.check()
        return tls

    def location(self, name: str) -> StoreLocation | None:
        """An object store's URL; None where it is not set."""
        url = self.text(name, "")
        try:
            return StoreLocation.from_url(url) if url else None
        except ValueError as error:
            raise ConfigError(f"{self.prefix}{name}: {error}") from error

    def named_stores(self, name: str) -> tuple[NamedStore, ...]:
        """Object stores by name, as NAME=URL with commas; none where it is not set."""
        try:
            return parse_named_stores(self.text(name, ""))
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
