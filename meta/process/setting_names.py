"""Names of settings: those that processes share, and those that changed or were removed."""

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
        "PROCESS_NAME",
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
        "CANARY_TOKEN",
        "TENANT",
        "GATEWAY_TOKEN",
        "OTLP_ENDPOINT",
        "GATEWAY_ADDRESS",
        "SELF_TELEMETRY_DATASET",
        "STORE_CA_FILE",
        "CLI_PROFILE",
    }
)
CREDENTIALS = f"{COMMON}CREDENTIALS_"
# The name of today, and the one before, which is read until 1.0.
RENAMED = {"COLLECTOR_DRAIN_SECS": "COLLECTOR_SHUTDOWN_TIMEOUT_SECS"}
# Settings that became constants, with their values.
REMOVED = {
    "META_LOCK_TIMEOUT_MS": "5000",
    "META_IDENTITY_RPCS_MAX": "half of META_CONCURRENT_RPCS_MAX",
    "META_CHECKPOINT_LIFETIME_SECS": "that of META_CURSOR_LIFETIME_SECS",
    "META_NURSERY_LEASE_SECS": "10",
    "META_FAIL_BACKOFF_SECS": "60",
    "META_BABY_ROW_SECS": "86400",
    "META_IDENTITY_SECS": "2592000",
    "META_FINISHED_TASK_SECS": "2592000",
    "META_RETIRED_STREAM_SECS": "604800",
    "META_PIN_LEASE_SECS_MAX": "3600",
    "META_PINS_PER_OWNER_MAX": "1000",
    "META_PINS_MAX": "10000",
    "COLLECTOR_EXPORT_RECORDS_MAX": "500000",
    "COLLECTOR_TOKEN_BUFFER_SIZE_BYTES_MAX": "half of COLLECTOR_BUFFER_SIZE_BYTES_MAX",
    "COLLECTOR_TOKEN_CONCURRENT_EXPORTS_MAX": "half of COLLECTOR_CONCURRENT_EXPORTS_MAX",
    "COLLECTOR_TOKEN_CACHE_SECS": "3",
    "COLLECTOR_USAGE_CACHE_SECS": "5",
    "COLLECTOR_DEDUPE_READ_BYTES_MAX": "268435456",
    "COLLECTOR_OVERLAPPING_PUTS": "4",
    "MERGE_WORKER_INTERVAL_SECS_MAX": "15 times MERGE_WORKER_INTERVAL_SECS",
    "NURSERY_SHARD_INDEX": "leased from meta",
    "NURSERY_SHARD_COUNT": "64, shared by the nurseries that run",
    "GATEWAY_STS_SECS": "3600",
    "GATEWAY_QUERY_THREADS": "half of the cores, two at least",
    "GATEWAY_QUERY_CALLER_CONCURRENT": "half of GATEWAY_QUERY_CONCURRENT",
    "JANITOR_UPLOAD_INTERVAL_SECS": "3600",
    "JANITOR_UPLOAD_MAX_AGE_SECS": "86400",
    "JANITOR_SCRUB_INTERVAL_SECS": "1",
    "JANITOR_FOOTER_INTERVAL_SECS": "30",
    "JANITOR_CLOCK_INTERVAL_SECS": "60",
}
# Kubernetes sets these for services in the namespace, by the services' names.
_SERVICE_LINK = re.compile(r"_(SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_\w+)$")
_SERVICE_URL = re.compile(r"(tcp|udp|sctp)://")


def names_of(prefix: str, name: str) -> list[str]:
    """The variables of a process's setting. The first that is set counts."""
    names = [prefix + name, RENAMED.get(prefix + name, "")]
    return [*filter(None, names), *([COMMON + name] if name in SHARED else [])]


@dataclass(frozen=True, slots=True)
class NameProblem:
    """A variable that is not a setting of today.

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
        if self.event == "setting_removed":
            return f"{self.name} is not a setting any more: the value is {self.instead}"
        return f"{self.name} is not a setting{self.instead and f': did you mean {self.instead}?'}"


def find_problems(
    values: Mapping[str, str], prefixes: Collection[str], settings: Collection[str]
) -> Iterator[NameProblem]:
    """Variables with these prefixes or SEGPLANE_ that are not read under that name.

    `settings` are the names that the processes with these prefixes read.
    """
    own_prefixes = (*prefixes, COMMON)
    settings = {*settings, *(COMMON + name for name in SHARED | COMMON_ONLY)}
    today = {before: name for name, before in RENAMED.items()}
    for variable in sorted(name for name in values if name.startswith(own_prefixes)):
        name = variable if variable in settings else variable.removesuffix("_FILE")
        if name in settings or name.startswith(CREDENTIALS) or _is_service_link(variable, values):
            continue
        if name in today:
            yield NameProblem("setting_renamed", variable, variable.replace(name, today[name]))
        elif name in REMOVED:
            yield NameProblem("setting_removed", variable, REMOVED[name])
        else:
            closest = get_close_matches(name, sorted(settings), n=1, cutoff=0.7)
            yield NameProblem("setting_unknown", variable, "".join(closest))


def _is_service_link(name: str, values: Mapping[str, str]) -> bool:
    return bool(_SERVICE_LINK.search(name) or _SERVICE_URL.match(values[name]))
