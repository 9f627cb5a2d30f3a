"""Environment of each process in the compose files, and the secrets that they need."""

from collections.abc import Callable, Mapping

from segplane.deploy.compose import addresses
from segplane.deploy.model import PARTS, ProcessPart
from segplane.deploy.processes import Process

# Variables of the files, and what to set them to.
SECRETS: Mapping[str, str] = {
    "SEGPLANE_DATABASE_PASSWORD": "the password of Postgres",
    "SEGPLANE_STORE_SECRET": "the secret of the key segplane of the store",
    "SEGPLANE_TOKEN_PEPPER": "at least 24 random characters, which stay the same",
    "SEGPLANE_ADMIN_TOKEN": "at least 24 random characters, the credential of operators",
    "SEGPLANE_GATEWAY_TOKEN": "at least 24 random characters, a credential of readers",
    "SEGPLANE_CONSOLE_KEY": "at least 24 random characters, the key of the console's cookies",
    "SEGPLANE_GRAFANA_PASSWORD": "the password of Grafana's admin",
}
Secret = Callable[[str], str]
STORE_USER = "segplane"
_EVERYWHERE = "0.0.0.0"


def required(name: str) -> str:
    """Return a reference to a variable, without which compose ends with what to set."""
    return f"${{{name}:?{SECRETS[name]}}}"


def trial(name: str) -> str:
    """Return the secret of a trial, which everybody knows."""
    return f"only-for-trials-{name.removeprefix('SEGPLANE_').lower().replace('_', '-')}"


def store_credentials(secret: Secret) -> dict[str, str]:
    """Return the variables of the store's key."""
    return {
        "AWS_ACCESS_KEY_ID": STORE_USER,
        "AWS_SECRET_ACCESS_KEY": secret("SEGPLANE_STORE_SECRET"),
    }


def environment_of(process: Process, secret: Secret) -> dict[str, str]:
    """Return the variables of a process."""
    part = PARTS[process]
    # Services in one namespace have its loopback in common.
    is_shared = process in addresses.SHARED_NAMESPACE
    return {
        **store_credentials(secret),
        **_ports(part),
        "SEGPLANE_METRICS_HOST": _EVERYWHERE,
        "SEGPLANE_META_AUTH_TOKEN": secret("SEGPLANE_ADMIN_TOKEN"),
        "SEGPLANE_META_ADDRESS": addresses.META_ADDRESS,
        # Every process has its address of the store; readers are told the one of meta.
        "SEGPLANE_OBJECT_STORE_URL": addresses.store_url(
            "127.0.0.1" if is_shared else addresses.SHARED
        ),
        **_special(process, secret),
    }


def _ports(part: ProcessPart) -> dict[str, str]:
    return {
        port.setting: str(port.number)
        if port.setting == "SEGPLANE_METRICS_PORT"
        else f"{_EVERYWHERE}:{port.number}"
        for port in part.ports
    }


def _special(process: Process, secret: Secret) -> dict[str, str]:
    if process is Process.META:
        return {
            "META_AUTH_TOKEN": secret("SEGPLANE_ADMIN_TOKEN"),
            "META_DATABASE_URL": "postgresql://segplane@postgres/segplane",
            # Read by libpq: in a URL, some characters would have to be escaped.
            "PGPASSWORD": secret("SEGPLANE_DATABASE_PASSWORD"),
            "META_TOKEN_PEPPER": secret("SEGPLANE_TOKEN_PEPPER"),
        }
    if process is Process.COLLECTOR:
        # The name under which a restarted collector finds its stream; one per running collector.
        return {"COLLECTOR_ID": "collector-1"}
    if process is Process.GATEWAY:
        return {
            "GATEWAY_AUTH_TOKEN": secret("SEGPLANE_GATEWAY_TOKEN"),
            "GATEWAY_CONSOLE": "true",
            "GATEWAY_CONSOLE_KEY": secret("SEGPLANE_CONSOLE_KEY"),
            "GATEWAY_PUBLIC_URL": addresses.PUBLIC_URL,
            "GATEWAY_TLS_CERT_FILE": f"{addresses.CERTIFICATES}/gateway.pem",
            "GATEWAY_TLS_KEY_FILE": f"{addresses.CERTIFICATES}/gateway.key",
        }
    return {}
