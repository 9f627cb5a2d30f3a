"""The gateway's settings, read once from GATEWAY_* in the environment."""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_network

from dataplane.settings import ProcessSettings, refuse_unsafe
from meta.client.addresses import is_loopback_host
from meta.process import production
from meta.process.declared import read_declared, setting, setting_read
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.process.host_names import HostNames, host_names
from meta.process.tls import ServerTls
from segplane.gateway.console import settings as console_settings
from segplane.gateway.console.settings import ConsoleSettings
from segplane.gateway.http.callers import tokens_of
from segplane.gateway.iceberg.access import access_settings
from segplane.gateway.iceberg.access.access_settings import AccessSettings
from segplane.gateway.queries import settings as query_settings
from segplane.gateway.queries.settings import QuerySettings

PORT_MAX = 65_535
_LOCAL_PROXY = "127.0.0.1"
_LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Settings(ProcessSettings):
    """Settings of an operator; docs/reading describes the gateway's services."""

    # Address that engines connect to.
    bind: str = setting("127.0.0.1:9580")
    # Bearer tokens that callers must send, one a line; empty = none is asked for, on loopback only.
    auth_token: str = setting_read("", lambda env: env.secret("AUTH_TOKEN"), is_shown=False)
    # File of the credentials; reread when it changes. "" = from the environment.
    auth_token_file: str = setting_read("", lambda env: env.file_of("AUTH_TOKEN"))
    # Names that callers may address it by; None = `answered_hosts` says.
    hosts: HostNames | None = setting_read(None, lambda env: env.host_names("HOSTS"))
    # Certificate of the port and of the metrics; None = plain text.
    tls: ServerTls | None = setting_read(None, Environment.server_tls)
    # How long a table's description is used for further callers.
    refresh_secs: float = setting(2.0, low=0.1, high=60.0)
    # Upper bound of the segments of a table, and of all tables kept in memory: about 1 KB each.
    segments_max: int = setting(1_000_000, low=1)
    # Access to the store that callers get.
    access: AccessSettings = setting_read(AccessSettings(), access_settings.load)
    # Access token of role admin, for replays and discards of quarantined payloads; "" = neither.
    replay_token: str = setting_read("", lambda env: env.secret("REPLAY_TOKEN"), is_shown=False)
    # Limits of queries over HTTP.
    queries: QuerySettings = setting_read(QuerySettings(), query_settings.load)
    # The console for people.
    console: ConsoleSettings = setting_read(ConsoleSettings(), console_settings.load)
    # Addresses and networks whose X-Forwarded-For and X-Forwarded-Proto count.
    trusted_proxies: tuple[str, ...] = setting_read((_LOCAL_PROXY,), lambda env: _proxies(env))
    # On shutdown, requests under way get this long.
    drain_secs: float = setting(10.0)

    @property
    def host(self) -> str:
        """The host of the address, without brackets."""
        return self.bind.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """The port of the address; 0 = any."""
        return int(self.bind.rpartition(":")[2])

    def answered_hosts(self) -> HostNames | None:
        """The names that requests may have in `Host`; None = any.

        A gateway that asks for no credential answers to its own names alone.
        """
        if self.hosts is not None or self.auth_token:
            return self.hosts
        own_host = f"[{self.host}]" if ":" in self.host else self.host
        return host_names((own_host, *_LOCAL_NAMES))


def load(env: Environment) -> Settings:
    """Read and check the settings; raises ConfigError."""
    settings = read_declared(env, Settings)
    _check_bind(settings.bind)
    if not settings.auth_token and not is_loopback_host(settings.host):
        raise ConfigError(
            f"GATEWAY_BIND is {settings.bind}, which other machines reach: set GATEWAY_AUTH_TOKEN,"
            " which callers then send as their bearer token"
        )
    console_settings.check(settings.console, settings.host)
    refuse_unsafe(env, settings, _violations(settings))
    return settings


def _violations(settings: Settings) -> Iterable[str]:
    yield from production.plain_port(
        f"GATEWAY_BIND {settings.bind}", settings.host, settings.tls, "GATEWAY_"
    )
    for token in tokens_of(settings.auth_token):
        yield from production.weak_secret("GATEWAY_AUTH_TOKEN", token.decode())
    yield from console_settings.violations(
        settings.console, asks_credential=bool(settings.auth_token)
    )


def _proxies(env: Environment) -> tuple[str, ...]:
    """Read addresses and networks with commas; raises ConfigError."""
    proxies = tuple(env.text("TRUSTED_PROXIES", _LOCAL_PROXY).replace(",", " ").split())
    for proxy in proxies:
        try:
            ip_network(proxy)
        except ValueError as error:
            raise ConfigError(f"{env.name_of('TRUSTED_PROXIES')}: {error}") from error
    return proxies


def _check_bind(value: str) -> None:
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or int(port) > PORT_MAX:
        raise ConfigError(f"GATEWAY_BIND is {value!r}, not host:port such as 127.0.0.1:9580")
