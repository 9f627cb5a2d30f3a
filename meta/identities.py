"""Identities that others vouch for: names in certificates, tokens of an OpenID Connect issuer."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from meta.access import DEFAULT
from meta.client.addresses import is_loopback_host
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.process.tls import ServerTls
from meta.roles import TENANT_ROLES, Role

# Names in a verified certificate, as gRPC calls them; the common name counts if it is alone.
_NAMES = ("x509_subject_alternative_name", "x509_common_name")


@dataclass(frozen=True, slots=True)
class NamedRight:
    """A role that a rule gives a subject; `tenant_name` "" = in `default`, or of the operator."""

    subject: str
    role: Role
    tenant_name: str = ""


@dataclass(frozen=True, slots=True)
class RoleRule:
    """A rule `value=role`, or `value=role@tenant`."""

    value: str
    role: Role
    tenant_name: str = ""


@dataclass(frozen=True, slots=True)
class CertificateRules:
    """Patterns of names in certificates and the role of each, in the order they are tried."""

    rules: tuple[tuple[re.Pattern[str], RoleRule], ...] = ()

    def rights(self, certificate: Mapping[str, Iterable[bytes]]) -> tuple[NamedRight, ...]:
        """The rights of all rules that one of the certificate's names matches."""
        raw_names = next(filter(None, (list(certificate.get(kind, ())) for kind in _NAMES)), [])
        names = [raw.decode("utf-8", "replace") for raw in raw_names]
        return _first_of_each(
            NamedRight(name, rule.role, rule.tenant_name)
            for pattern, rule in self.rules
            for name in names
            if pattern.fullmatch(name) and is_subject(name)
        )


@dataclass(frozen=True, slots=True)
class Oidc:
    """An issuer, the audience of its tokens, and the roles of each value of a claim.

    `keys_url` "" = as the issuer's discovery document says. `roles_claim` may name a claim inside
    others, such as `realm_access.roles`.
    """

    issuer: str
    audience: str
    roles: tuple[RoleRule, ...]
    roles_claim: str = "roles"
    keys_url: str = ""

    def rights(self, subject: str, values: Collection[str]) -> tuple[NamedRight, ...]:
        """The rights of all rules that one of the claim's values fits."""
        return _first_of_each(
            NamedRight(subject, rule.role, rule.tenant_name)
            for rule in self.roles
            if rule.value in values
        )


def is_subject(name: str) -> bool:
    """True unless a name could be taken for that of a tenant's caller."""
    return not name.startswith("//")


def _first_of_each(rights: Iterable[NamedRight]) -> tuple[NamedRight, ...]:
    """The first right in each tenant; operators are counted to `default`, where they name things.

    So of rules without a tenant the first alone counts, as before there were tenants.
    """
    first: dict[str, NamedRight] = {}
    for right in rights:
        first.setdefault(right.tenant_name, right)
    return tuple(first.values())


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
    for rule in rules:
        if not rule.value.strip("*./:"):
            raise ConfigError(f"{env.prefix}TLS_SUBJECT_ROLES: {rule.value!r} matches any name")
    return CertificateRules(tuple((_compiled(rule.value), rule) for rule in rules))


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


def _rules(env: Environment, name: str) -> tuple[RoleRule, ...]:
    """Rules `value=role` or `value=role@tenant`, separated by commas."""
    rules = []
    for rule in filter(None, (part.strip() for part in env.text(name, "").split(","))):
        value, equals, right = (part.strip() for part in rule.rpartition("="))
        if not (value and equals):
            raise ConfigError(f"{env.prefix}{name}: {rule!r} is not name=role or name=role@tenant")
        role_name, at, tenant_name = (part.strip() for part in right.partition("@"))
        try:
            role = Role(role_name)
        except ValueError:
            roles = ", ".join(role.value for role in Role)
            raise ConfigError(f"{env.prefix}{name}: {role_name!r} is not one of {roles}") from None
        if at and (not tenant_name or role not in TENANT_ROLES):
            roles = ", ".join(role.value for role in TENANT_ROLES)
            raise ConfigError(
                f"{env.prefix}{name}: {rule!r} is not of a role in a tenant, which are {roles}"
            )
        # Without a tenant it is of `default`, and no look-up is needed.
        rules.append(RoleRule(value, role, "" if tenant_name == DEFAULT.name else tenant_name))
    return tuple(rules)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile("[^./:]*".join(map(re.escape, pattern.split("*"))))
