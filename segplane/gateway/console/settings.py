"""Settings of the console, from GATEWAY_CONSOLE* and GATEWAY_PUBLIC_URL."""

from collections.abc import Iterable
from dataclasses import dataclass

from meta.client.addresses import is_loopback_host
from meta.process.declared import read_declared, setting, setting_read
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.process.production import SECRET_CHARACTERS_MIN
from segplane.gateway.http.public_url import PublicUrl, parse_public_url


def _keys(env: Environment) -> tuple[str, ...]:
    lines = env.secret("CONSOLE_KEY").splitlines()
    return tuple(filter(None, map(str.strip, lines)))


def _public_url(env: Environment) -> PublicUrl | None:
    text = env.text("PUBLIC_URL", "")
    try:
        return parse_public_url(text) if text else None
    except ValueError as error:
        raise ConfigError(f"{env.name_of('PUBLIC_URL')}: {error}") from error


@dataclass(frozen=True, slots=True)
class OidcSettings:
    """The OpenID Connect issuer at which people log in; "" = they paste access tokens."""

    issuer: str = setting("", name="OIDC_ISSUER")
    client_id: str = setting("segplane", name="OIDC_CLIENT_ID")
    # "" = a public client.
    client_secret: str = setting_read(
        "", lambda env: env.secret("OIDC_CLIENT_SECRET"), is_shown=False
    )
    scope: str = setting("openid", name="OIDC_SCOPE")
    audience: str = setting("", name="OIDC_AUDIENCE")
    # Meta is shown the ID token in place of the access token.
    shows_id_token: bool = setting(False, name="OIDC_ID_TOKEN")


def _oidc(env: Environment) -> OidcSettings:
    return read_declared(env, OidcSettings)


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """Whether the console is served, where people reach it, and the keys of its cookies."""

    is_on: bool = setting(False, name="CONSOLE")
    # Cookies are encrypted with the first key and read with any.
    keys: tuple[str, ...] = setting_read((), _keys, is_shown=False)
    # People who opened it by a one-time code change with the gateway's rights.
    has_changes: bool = setting(False, name="CONSOLE_CHANGES")
    # None = the console is for people on this machine.
    public_url: PublicUrl | None = setting_read(None, _public_url)
    oidc: OidcSettings = setting_read(OidcSettings(), _oidc)


def load(env: Environment) -> ConsoleSettings:
    """Read the settings; raises ConfigError."""
    return read_declared(env, ConsoleSettings)


def check(settings: ConsoleSettings, host: str) -> None:
    """Raise ConfigError for a console that is not safe to serve at a host."""
    if not settings.is_on:
        return
    if not settings.keys:
        raise ConfigError("GATEWAY_CONSOLE needs GATEWAY_CONSOLE_KEY, which encrypts its cookies")
    if any(len(key) < SECRET_CHARACTERS_MIN for key in settings.keys):
        raise ConfigError(
            f"a line of GATEWAY_CONSOLE_KEY has less than {SECRET_CHARACTERS_MIN} characters"
        )
    if settings.public_url is None and not is_loopback_host(host):
        raise ConfigError(
            f"GATEWAY_CONSOLE on {host}, which other machines reach, needs GATEWAY_PUBLIC_URL, the"
            " https URL of a proxy or of this gateway"
        )
    if settings.public_url is None and settings.oidc.issuer:
        raise ConfigError(
            "GATEWAY_OIDC_ISSUER needs GATEWAY_PUBLIC_URL, to which the issuer sends people back"
        )
    if settings.public_url is not None and settings.has_changes:
        raise ConfigError(
            "GATEWAY_CONSOLE_CHANGES lends the gateway's rights to people on this machine: it"
            " excludes GATEWAY_PUBLIC_URL"
        )


def violations(settings: ConsoleSettings, *, asks_credential: bool) -> Iterable[str]:
    """Violations of a profile for production."""
    if settings.is_on and settings.public_url is None:
        yield "GATEWAY_CONSOLE has no TLS: set GATEWAY_PUBLIC_URL to the https URL that people use"
    if settings.is_on and not asks_credential:
        yield "GATEWAY_CONSOLE is served without authentication: set GATEWAY_AUTH_TOKEN"
