"""Settings of the access of callers to the store, from GATEWAY_READ_* and GATEWAY_STS_*."""

from dataclasses import dataclass

from meta.process.declared import read_declared, setting, setting_read
from meta.process.environment import Environment
from meta.process.exits import ConfigError


@dataclass(frozen=True, slots=True)
class AccessSettings:
    """Keys that may only read; callers never get them, only credentials derived from them."""

    # "" = callers need their own keys.
    access_key_id: str = setting("", name="READ_ACCESS_KEY_ID")
    secret_access_key: str = setting_read(
        "", lambda env: env.secret("READ_SECRET_ACCESS_KEY"), is_shown=False
    )
    # Role that is assumed for callers; "" = reads are signed for them, none get keys.
    sts_role_arn: str = setting("")
    # "" = that of AWS in the store's region.
    sts_endpoint: str = setting("")
    # Lifetime of the keys of a role.
    sts_secs: int = 3_600
    # True if callers show a token; only then are reads of other clouds signed for them.
    are_callers_known: bool = setting_read(False, lambda env: bool(env.secret("AUTH_TOKEN")))


def load(env: Environment) -> AccessSettings:
    """Read and check the settings; raises ConfigError."""
    settings = read_declared(env, AccessSettings)
    if bool(settings.access_key_id) != bool(settings.secret_access_key):
        raise ConfigError(
            "GATEWAY_READ_ACCESS_KEY_ID and GATEWAY_READ_SECRET_ACCESS_KEY are set together or not"
            " at all"
        )
    if (settings.sts_role_arn or settings.sts_endpoint) and not settings.access_key_id:
        raise ConfigError("GATEWAY_STS_* needs GATEWAY_READ_ACCESS_KEY_ID, which assumes the role")
    if settings.sts_endpoint and not settings.sts_role_arn:
        raise ConfigError("GATEWAY_STS_ENDPOINT needs GATEWAY_STS_ROLE_ARN, the role to assume")
    if settings.sts_endpoint and not settings.sts_endpoint.startswith(("http://", "https://")):
        raise ConfigError(f"GATEWAY_STS_ENDPOINT is {settings.sts_endpoint!r}, not http(s)://host")
    if settings.access_key_id and not settings.are_callers_known:
        raise ConfigError(
            "GATEWAY_READ_ACCESS_KEY_ID needs GATEWAY_AUTH_TOKEN: only callers that show a token"
            " may read the store through the gateway"
        )
    return settings
