"""Services of the compose files: ours, with what they stand on."""

from collections.abc import Mapping
from math import ceil

from segplane.deploy.compose import addresses
from segplane.deploy.compose.addresses import CERTIFICATES, SHARED, STORE, STORE_PORT, host_of
from segplane.deploy.compose.settings import STORE_USER, Secret, environment_of, store_credentials
from segplane.deploy.images import IMAGES
from segplane.deploy.model import PARTS, ProcessPart, Protocol
from segplane.deploy.processes import Process
from segplane.deploy.yaml_text import Yaml

Service = dict[str, Yaml]
# A service that ends once it has made the bucket, or the certificates.
BUCKET, CERTIFICATE = "bucket", "certificates"
SETTINGS_FILE = "settings.env"
_LOOPBACK = "127.0.0.1"
# Time beyond the drain for a stream's stop message, the last calls, and Python's own end.
_STOP_MARGIN_SECS = 30
_MAKE_BUCKET = f"""\
import boto3, botocore.config
patient = botocore.config.Config(retries={{"mode": "standard", "total_max_attempts": 20}})
endpoint = "http://{SHARED}:{STORE_PORT}"
s3 = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", config=patient)
if "{addresses.BUCKET}" not in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]:
    s3.create_bucket(Bucket="{addresses.BUCKET}")
"""
_IS_OPEN = f"import socket; socket.create_connection(('{_LOOPBACK}', {STORE_PORT}), 2)"


def of_installation(secret: Secret) -> dict[str, Service]:
    """Return the services that always run, by their names."""
    return {
        "postgres": _postgres(secret),
        SHARED: _shared_namespace(),
        STORE: _store(secret),
        BUCKET: _bucket(secret),
        CERTIFICATE: _certificates(),
        **{process.label: _process(part, secret) for process, part in PARTS.items()},
    }


def confined(target: str) -> Service:
    """Return what our services have in common: an image of the Dockerfile, and no rights.

    They write below /tmp, a tmpfs. Spark loads libraries that it unpacks there, which a
    tmpfs of Docker does not allow, and merges write their output there: it has a volume.
    """
    return {
        "build": {"context": ".", "target": target},
        "image": f"segplane-{target}" if target != "services" else "segplane",
        "init": True,
        "read_only": True,
        **({"volumes": ["/tmp"]} if target == "spark" else {"tmpfs": ["/tmp"]}),
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "restart": "unless-stopped",
    }


def published(*ports: int) -> list[Yaml]:
    """Return ports that this machine's loopback alone reaches."""
    return [f"{_LOOPBACK}:{port}:{port}" for port in ports]


def health_check(command: list[str]) -> dict[str, Yaml]:
    """Return a check that a service has 2 minutes to pass after its start."""
    return {
        "test": ["CMD", *command],
        "interval": "10s",
        "timeout": "5s",
        "retries": 3,
        "start_period": "120s",
        "start_interval": "1s",
    }


def _postgres(secret: Secret) -> Service:
    return {
        "image": IMAGES["postgres"].reference,
        "restart": "unless-stopped",
        "environment": {
            "POSTGRES_USER": "segplane",
            "POSTGRES_PASSWORD": secret("SEGPLANE_DATABASE_PASSWORD"),
        },
        "volumes": ["catalog:/var/lib/postgresql"],
        "shm_size": "256m",
        "mem_limit": "2g",
        "stop_grace_period": "60s",
        "healthcheck": health_check(["pg_isready", "--username=segplane"]),
    }


def _shared_namespace() -> Service:
    """Return the service with the network namespace, and the ports, of three others."""
    ports = [p.number for name in addresses.SHARED_NAMESPACE for p in PARTS[name].ports]
    return {
        **confined("services"),
        "command": "sleep infinity",
        "ports": published(STORE_PORT, *ports),
        "mem_limit": "64m",
        "stop_grace_period": "1s",
    }


def _store(secret: Secret) -> Service:
    return {
        **confined(STORE),
        "command": f"versitygw --port :{STORE_PORT} --quiet --keep-alive posix /data",
        "environment": {
            "ROOT_ACCESS_KEY": STORE_USER,
            "ROOT_SECRET_KEY": secret("SEGPLANE_STORE_SECRET"),
        },
        "network_mode": f"service:{SHARED}",
        "volumes": ["records:/data"],
        "mem_limit": "2g",
        "healthcheck": health_check(["python", "-c", _IS_OPEN]),
    }


def _bucket(secret: Secret) -> Service:
    return {
        **confined("services"),
        "restart": "no",
        "depends_on": {STORE: {"condition": "service_healthy"}},
        "environment": store_credentials(secret),
        "command": ["python", "-c", _MAKE_BUCKET],
        "mem_limit": "256m",
    }


def _certificates() -> Service:
    """Return the service that makes a private authority, and renews what is due at each start."""
    command = ["python", "-m", "segplane.deploy.authority", CERTIFICATES, "gateway"]
    return {
        **confined("services"),
        "restart": "no",
        "volumes": [f"certificates:{CERTIFICATES}"],
        "command": [*command, *addresses.CERTIFIED_HOSTS],
        "mem_limit": "256m",
    }


def _process(part: ProcessPart, secret: Secret) -> Service:
    process = part.process
    gateway: Service = {"volumes": [f"certificates:{CERTIFICATES}:ro"]}
    ports = [port.number for port in part.ports]
    shared = process in addresses.SHARED_NAMESPACE
    return {
        **confined("spark" if part.has_spark else "services"),
        **(gateway if process is Process.GATEWAY else {}),
        "depends_on": _depends_on(process),
        "environment": environment_of(process, secret),
        # Any other setting of docs/settings.md.
        "env_file": [{"path": SETTINGS_FILE, "required": False}],
        "command": f"python -m {process.package}",
        **({"network_mode": f"service:{SHARED}"} if shared else {"ports": published(*ports)}),
        "mem_limit": part.memory,
        "pids_limit": 2048,
        "stop_grace_period": f"{ceil(drain_secs(process)) + _STOP_MARGIN_SECS}s",
        "healthcheck": health_check(_probe(part)),
    }


def drain_secs(process: Process) -> float:
    """Return the default drain of a process; 0 if it has none."""
    drain = process.settings().get("SEGPLANE_DRAIN_SECS")
    return float(drain.default) if drain else 0.0


def _depends_on(process: Process) -> dict[str, Yaml]:
    ready: Mapping[str, Yaml] = {"condition": "service_healthy"}
    ended: Mapping[str, Yaml] = {"condition": "service_completed_successfully"}
    if process is Process.META:
        return {"postgres": ready, BUCKET: ended}
    certified: dict[str, Yaml] = {CERTIFICATE: ended} if process is Process.GATEWAY else {}
    return {Process.META.label: ready, **certified}


def _probe(part: ProcessPart) -> list[str]:
    port = part.probe
    scheme, path = {
        Protocol.GRPC: ("grpc", ""),
        Protocol.HTTP: ("http", "/healthz"),
        Protocol.METRICS: ("http", "/metrics"),
    }[port.protocol]
    has_tls = part.process is Process.GATEWAY
    url = f"{'https' if has_tls else scheme}://{_LOOPBACK}:{port.number}{path}"
    ca_file = [addresses.CA_FILE] if has_tls else []
    return ["python", "-m", "segplane.deploy.probe", url, *ca_file]


def metrics_targets() -> dict[Process, str]:
    """Return the address of the metrics of each process, inside the network."""
    return {
        process: f"{host_of(process)}:{part.port('SEGPLANE_METRICS_PORT')}"
        for process, part in PARTS.items()
    }
