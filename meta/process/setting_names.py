"""Names of settings: those that processes share, and those that changed or are gone."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

COMMON = "SEGPLANE_"
# Settings that one SEGPLANE_ name gives to every process. A process's own name wins over it.
SHARED = frozenset(
    {
        "META_ADDRESS",
        "META_AUTH_TOKEN",
        "META_CA_FILE",
        "META_CERT_FILE",
        "META_KEY_FILE",
        "META_SERVER_NAME",
        "METRICS_HOST",
        "METRICS_PORT",
        "TLS_CERT_FILE",
        "TLS_KEY_FILE",
        "TLS_CLIENT_CA_FILE",
        "OBJECT_STORE_URL",
        "DRAIN_SECS",
        "SPARK_MASTER",
        "SPARK_CORES_MAX",
        "SPARK_DRIVER_MEMORY",
        "SPARK_CONF",
        "SPARK_START_SECS",
        "SPARK_UI_PORT",
    }
)
# Read by every process, or by the command line alone, under the SEGPLANE_ name only.
COMMON_ONLY = frozenset(
    {
        "PROFILE",
        "TRIAL",
        "DATA_DIR",
        "OIDC_ISSUER",
        "OIDC_CLIENT_ID",
        "OIDC_SCOPE",
        "OIDC_AUDIENCE",
        "INGEST_TOKEN",
        "OTLP_ENDPOINT",
        "GATEWAY_ADDRESS",
    }
)
CREDENTIALS = f"{COMMON}CREDENTIALS_"
# The name of today, and the one before, which is read until 1.0.
RENAMED = {"COLLECTOR_DRAIN_SECS": "COLLECTOR_SHUTDOWN_TIMEOUT_SECS"}
# Kubernetes sets these for services in the namespace, by the services' names.
_SERVICE_LINK = re.compile(r"_(SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_\w+)$")
_SERVICE_URL = re.compile(r"(tcp|udp|sctp)://")


def names_of(prefix: str, name: str) -> list[str]:
    """The variables of a process's setting. The first that is set counts."""
    names = [prefix + name, RENAMED.get(prefix + name, "")]
    return [*filter(None, names), *([COMMON + name] if name in SHARED else [])]


@dataclass(frozen=True, slots=True)
class NameProblem:
    """A variable that is no setting of today.

    `event` says why. `instead` is the name to use, or the value of the constant; "" = unknown.
    """

    event: str
    name: str
    instead: str

    @property
    def text(self) -> str:
        """One line for a person."""
        if self.event == "setting_renamed":
            return f"{self.name} is now called {self.instead}"
        return f"{self.name} is no setting" + (self.instead and f": did you mean {self.instead}?")


def find_problems(
    values: Mapping[str, str], prefixes: Collection[str], known: Collection[str]
) -> Iterator[NameProblem]:
    """Variables with these prefixes or SEGPLANE_ that are not read under that name.

    `known` are the names that the processes with these prefixes read.
    """
    own = (*prefixes, COMMON)
    known = {*known, *(COMMON + name for name in SHARED | COMMON_ONLY)}
    today = {before: name for name, before in RENAMED.items()}
    for variable in sorted(name for name in values if name.startswith(own)):
        name = variable if variable in known else variable.removesuffix("_FILE")
        if name in known or name.startswith(CREDENTIALS) or _is_service_link(variable, values):
            continue
        if name in today:
            yield NameProblem("setting_renamed", variable, variable.replace(name, today[name]))
        else:
            closest = get_close_matches(name, sorted(known), n=1, cutoff=0.7)
            yield NameProblem("setting_unknown", variable, "".join(closest))


def _is_service_link(name: str, values: Mapping[str, str]) -> bool:
    return bool(_SERVICE_LINK.search(name) or _SERVICE_URL.match(values[name]))
