"""Typed settings from environment variables."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from meta.process.exits import ConfigError
from meta.process.host_names import HostNames, parse_host_names
from meta.process.metrics_address import NO_METRICS, MetricsAddress
from meta.process.setting_names import COMMON, find_problems, names_of
from meta.process.tls import ServerTls
from segments.location import NamedStore, StoreLocation, parse_named_stores

Settings = TypeVar("Settings")
# A process loads its settings with these alone; all others have defaults.
_REQUIRED = {"META_DATABASE_URL": "postgresql://host/name"}
# Passwords inside URLs, connection strings and properties of Spark.
_PASSWORDS = re.compile(
    r"(://[^:/@\s]*:).*(?=@)|((?:password|secret|token|credential|key)[\w.-]*=)[^,&\s]*", re.I
)
HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class SettingReading:
    """A setting that was read.

    `variable` is the one that is set, "" = the default is in force; `file` the file that it names.
    """

    value: str
    default: str
    variable: str
    file: str
    is_secret: bool

    @property
    def shown(self) -> str:
        """The value, without what must stay secret."""
        if self.is_secret:
            return self.value and HIDDEN
        return _PASSWORDS.sub(lambda match: f"{match[1] or match[2]}{HIDDEN}", self.value)


@dataclass(frozen=True, slots=True)
class Environment:
    """Typed readers over environment variables that share a prefix, such as `META_`.

    Every setting `X` may also be given as `X_FILE`, a file that holds its value, and those of
    `setting_names.SHARED` under a name with SEGPLANE_. All readers raise ConfigError with the
    variable's full name. `readings` has what was read, by its name with the prefix.
    """

    prefix: str
    values: Mapping[str, str]
    readings: dict[str, SettingReading] = field(default_factory=dict, compare=False)

    def text(self, name: str, default: str | None = None, *, is_secret: bool = False) -> str:
        """A string; required when there is no default."""
        variable, file = self._find(name), self.file_of(name)
        value = self._content(variable, file) if file else self.values.get(variable, default)
        if value is None:
            raise ConfigError(f"{self.prefix}{name} is not set")
        reading = SettingReading(value, default or "", variable, file, is_secret)
        self.readings[self.prefix + name] = reading
        return value

    def secret(self, name: str) -> str:
        """A string that must not be shown; "" if it is not set."""
        return self.text(name, "", is_secret=True)

    def file_of(self, name: str) -> str:
        """The file that holds a setting's value; "" if the environment has the value itself."""
        variable = self._find(name)
        return "" if variable in names_of(self.prefix, name) else self.values.get(variable, "")

    def is_set(self, name: str) -> bool:
        """True if the environment has the variable or its `_FILE`."""
        return bool(self._find(name))

    def name_of(self, name: str) -> str:
        """The full name under which a setting is given, or the process's own if it is not."""
        return self._find(name) or self.prefix + name

    def _find(self, name: str) -> str:
        """The variable that holds a setting or names its file; "" = none is set."""
        names = names_of(self.prefix, name)
        variables = (variable for setting in names for variable in (setting, f"{setting}_FILE"))
        return next((variable for variable in variables if variable in self.values), "")

    def _content(self, variable: str, file: str) -> str:
        try:
            return Path(file).read_text().strip()
        except OSError as error:
            raise ConfigError(f"{variable} cannot be read: {error}") from error

    def integer(self, name: str, default: int, *, low: int = 0, high: int = 2**63 - 1) -> int:
        """A whole number in [low, high]."""
        raw = self.text(name, str(default))
        try:
            value = int(raw)
        except ValueError:
            raise ConfigError(f"{self.name_of(name)} is {raw!r}, not a whole number") from None
        return int(self._within(name, value, low, high))

    def seconds(self, name: str, default: float, *, low: float = 0.0, high: float = 1e9) -> float:
        """A number of seconds in [low, high]."""
        raw = self.text(name, str(default).removesuffix(".0"))
        try:
            value = float(raw)
        except ValueError:
            raise ConfigError(f"{self.name_of(name)} is {raw!r}, not a number of seconds") from None
        return self._within(name, value, low, high)

    def flag(self, name: str, default: bool = False) -> bool:
        """true/false, yes/no, on/off or 1/0."""
        raw = self.text(name, str(default).lower()).lower()
        if raw not in {"true", "false", "yes", "no", "on", "off", "1", "0"}:
            raise ConfigError(f"{self.name_of(name)} is {raw!r}, not true or false")
        return raw in {"true", "yes", "on", "1"}

    def is_production(self) -> bool:
        """True if SEGPLANE_PROFILE asks for a start that refuses unsafe settings."""
        profile = replace(self, prefix=COMMON).text("PROFILE", "")
        if profile not in {"", "development", "production"}:
            raise ConfigError(
                f"SEGPLANE_PROFILE is {profile!r}, neither development nor production"
            )
        return profile == "production"

    def is_trial(self) -> bool:
        """True if SEGPLANE_TRIAL allows settings that lose what an installation should keep."""
        raw = replace(self, prefix=COMMON).text("TRIAL", "")
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

    def host_names(self, name: str) -> HostNames | None:
        """Names of this server with commas; None if it is not set."""
        try:
            return parse_host_names(self.text(name, ""))
        except ValueError as error:
            raise ConfigError(f"{self.name_of(name)}: {error}") from error

    def location(self, name: str) -> StoreLocation | None:
        """An object store's URL; None if it is not set."""
        url = self.text(name, "")
        try:
            return StoreLocation.from_url(url) if url else None
        except ValueError as error:
            raise ConfigError(f"{self.name_of(name)}: {error}") from error

    def named_stores(self, name: str) -> tuple[NamedStore, ...]:
        """Object stores by name, as NAME=URL with commas; none if it is not set."""
        try:
            return parse_named_stores(self.text(name, ""))
        except ValueError as error:
            raise ConfigError(f"{self.name_of(name)}: {error}") from error

    def _within(self, name: str, value: float, low: float, high: float) -> float:
        # `not (low <= value)` also refuses NaN.
        if not (low <= value <= high):
            raise ConfigError(f"{self.name_of(name)} is {value}, not between {low} and {high}")
        return value


def environment(prefix: str) -> Environment:
    """Read the process's environment; called once, in `__main__` or `config`."""
    return Environment(prefix, dict(os.environ))


def settings_read(prefix: str, load: Callable[[Environment], object]) -> dict[str, SettingReading]:
    """The settings that `load` reads, by their full names, with their defaults."""
    env = Environment(prefix, _REQUIRED)
    load(env)
    return env.readings


def load_settings(prefix: str, load: Callable[[Environment], Settings]) -> Settings:
    """Load a process's settings. Names in its environment that are not read are logged."""
    # Commands read their environment without logs.
    from meta.process.bare_structlog import get_logger

    env, log = environment(prefix), get_logger()
    for problem in find_problems(env.values, [prefix], settings_read(prefix, load)):
        log.warning(problem.event, setting=problem.name, instead=problem.instead)
    return load(env)
