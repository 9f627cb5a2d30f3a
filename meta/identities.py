"""Identities that others vouch for: names in certificates, tokens of an OpenID Connect issuer."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from meta.access import Principal
from meta.client.addresses import is_loopback_host
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.process.tls import ServerTls
from meta.roles import Role

# Names in a verified certificate, as gRPC calls them; the common name counts if it is alone.
_NAMES = ("x509_subject_alternative_name", "x509_common_name")


@dataclass(frozen=True, slots=True)
class CertificateRules:
    """Patterns of names in certificates and the role of each, in the order they are tried."""

    rules: tuple[tuple[re.Pattern[str], Role], ...] = ()

    def principal(self, certificate: Mapping[str, Iterable[bytes]]) -> Principal | None:
        """The principal of the first rule that one of the certificate's names matches."""
        names = next(filter(None, (list(certificate.get(kind, ())) for kind in _NAMES)), [])
        for pattern, role in self.rules:
            for name in (raw.decode("utf-8", "replace") for raw in names):
                if pattern.fullmatch(name):
                    return Principal(name, role)
        return None


@dataclass(frozen=True, slots=True)
class Oidc:
    """An issuer, the audience of its tokens, and the role of each value of a claim.

    `keys_url` "" = as the issuer's discovery document says. `roles_claim` may name a claim inside
    others, such as `realm_access.roles`.
    """

    issuer: str
    audience: str
    roles: tuple[tuple[str, Role], ...]
    roles_claim: str = "roles"
    keys_url: str = ""


def certificate_rules(env: Environment, tls: ServerTls | None) -> CertificateRules:
    """Read TLS_SUBJECT_ROLES. Raises ConfigError.

    `*` in a pattern stands for any characters of one part of a name: none of `.`, `/` and `:`.
    """
    rules = _rules(env, "TLS_SUBJECT_ROLES")
    if rules and (tls is None or tls.client_ca_file is None):
        raise ConfigError(
            f"{env.prefix}TLS_SUBJECT_ROLES needs {env.prefix}TLS_CLIENT_CA_FILE: without it no"
            " client shows a certificate"
        )
    for pattern, _ in rules:
        if not pattern.strip("*./:"):
            raise ConfigError(f"{env.prefix}TLS_SUBJECT_ROLES: {pattern!r} matches any name")
    return CertificateRules(tuple((_compiled(pattern), role) for pattern, role in rules))


def oidc(env: Environment) -> Oidc | None:
    """Read OIDC_*; None = no issuer is trusted. Raises ConfigError."""
    settings = Oidc(
        env.text("OIDC_ISSUER", ""),
        env.text("OIDC_AUDIENCE", ""),
        _rules(env, "OIDC_ROLES"),
        env.text("OIDC_ROLES_CLAIM", "roles"),
        env.text("OIDC_KEYS_URL", ""),
    )
    if not settings.issuer:
        return None
    if not settings.audience:
        raise ConfigError(
            f"{env.prefix}OIDC_AUDIENCE is not set: an issuer has tokens for others, too"
        )
    if not settings.roles:
        raise ConfigError(f"{env.prefix}OIDC_ROLES is not set: no token would have a role")
    for name, url in (("OIDC_ISSUER", settings.issuer), ("OIDC_KEYS_URL", settings.keys_url)):
        parts = urlsplit(url)
        is_local = parts.scheme == "http" and is_loopback_host(parts.hostname or "")
        if url and parts.scheme != "https" and not is_local:
            raise ConfigError(f"{env.prefix}{name} is {url!r}, not an https URL")
    return settings


def _rules(env: Environment, name: str) -> tuple[tuple[str, Role], ...]:
    """Rules `value=role`, separated by commas."""
    rules = []
    for rule in filter(None, (part.strip() for part in env.text(name, "").split(","))):
        value, equals, role = (part.strip() for part in rule.rpartition("="))
        if not (value and equals):
            raise ConfigError(f"{env.prefix}{name}: {rule!r} is not name=role")
        try:
            rules.append((value, Role(role)))
        except ValueError:
            roles = ", ".join(role.value for role in Role)
            raise ConfigError(f"{env.prefix}{name}: {role!r} is not one of {roles}") from None
    return tuple(rules)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("[^./:]*".join(map(re.escape, pattern.split("*"))))
