"""Profiles: connections that the command line keeps by name, in config.toml.

    profile = "production"

    [profiles.production]
    meta_address = "meta.example.com:9500"
    meta_ca_file = "/etc/segplane/ca.pem"

A key is a variable SEGPLANE_<KEY>, and a profile gives those that the environment has not. It names
files of credentials and holds none.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "SEGPLANE_CLI_PROFILE"
ADDRESS = "SEGPLANE_META_ADDRESS"
_OF_META = "meta_"
KEYS = (
    "meta_address",
    "meta_ca_file",
    "meta_cert_file",
    "meta_key_file",
    "meta_server_name",
    "meta_auth_token_file",
    "tenant",
    "gateway_address",
    "otlp_endpoint",
    "store_ca_file",
    "oidc_issuer",
    "oidc_client_id",
    "oidc_scope",
    "oidc_audience",
)
_SECRETS = ("meta_auth_token", "ingest_token", "gateway_token", "canary_token")


class ProfileError(Exception):
    """A profile that cannot be used; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile and the file that has it; `variables` are those that it gives."""

    name: str
    path: Path
    variables: Mapping[str, str]


def load(name: str = "") -> Profile | None:
    """Read a profile, "" = the one that the file names; None without one. Raises ProfileError."""
    # Each command comes here, and most have no such file.
    from segplane.login.saved import config_folder

    path = config_folder() / "config.toml"
    try:
        text = path.read_text()
        import tomllib

        content = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        if name:
            raise ProfileError(f"there is no profile {name!r}: {path} does not exist") from None
        return None
    except (OSError, ValueError) as error:
        raise ProfileError(f"{path} cannot be read: {error}") from None
    unknown = sorted(content.keys() - {"profile", "profiles"})
    profiles = content.get("profiles", {})
    if unknown or not isinstance(profiles, dict):
        raise ProfileError(f"{path}: expected profile = NAME and [profiles.NAME] alone")
    name = name or str(content.get("profile", ""))
    if not name:
        return None
    if not isinstance(profiles.get(name), dict):
        names = ", ".join(map(repr, profiles)) or "none"
        raise ProfileError(f"{path}: there is no profile {name!r}, there is {names}")
    return Profile(name, path, _variables(path, name, profiles[name]))


@contextmanager
def applied(name: str, arguments: Sequence[str]) -> Iterator[None]:
    """Give a command the variables of a profile that its environment has not.

    Credentials go to the profile's meta alone: with another address, by the environment or by an
    option, what the profile says of meta does not count. Raises ProfileError.
    """
    profile = load(name)
    given = {} if profile is None else in_force(profile, arguments)
    os.environ.update(given)
    try:
        yield
    finally:
        for variable in given:
            os.environ.pop(variable, None)


def in_force(profile: Profile, arguments: Sequence[str] = ()) -> dict[str, str]:
    """Return the variables of a profile that count in this environment."""
    address = profile.variables.get(ADDRESS, "")
    is_elsewhere = any(each.startswith("--meta-address") for each in arguments) or (
        os.environ.get(ADDRESS, address) != address
    )
    prefix = f"SEGPLANE_{_OF_META.upper()}"
    return {
        name: value
        for name, value in profile.variables.items()
        if name not in os.environ
        and name.removesuffix("_FILE") not in os.environ
        and not (is_elsewhere and name.startswith(prefix))
    }


def _variables(path: Path, name: str, profile: Mapping[str, object]) -> dict[str, str]:
    for key, value in profile.items():
        if key in _SECRETS:
            raise ProfileError(f"{path}: {key} of {name!r} is a secret: name its file elsewhere")
        if key not in KEYS:
            raise ProfileError(f"{path}: {name!r} has {key!r}, expected some of {', '.join(KEYS)}")
        if not isinstance(value, str):
            raise ProfileError(f"{path}: {key} of {name!r} is {value!r}, expected a text")
    return {f"SEGPLANE_{key.upper()}": str(value) for key, value in profile.items()}
