"""Addresses of the compose files, inside their network and on the host.

The store, meta and the gateway share the network namespace of a service that does nothing else and
so never restarts by itself. The addresses that they hand out, on 127.0.0.1 and localhost, hold
inside them and on the host, where the same ports are published. Other processes reach all three by
the name of that service.
"""

from segplane.deploy.model import PARTS
from segplane.deploy.processes import Process

# The service whose network namespace is shared.
SHARED = "front"
STORE = "store"
STORE_PORT = 7070
BUCKET = "segplane"
# Processes in that namespace, beside the store.
SHARED_NAMESPACE = (Process.META, Process.GATEWAY)
META_ADDRESS = f"{SHARED}:{PARTS[Process.META].port('META_BIND')}"
CERTIFICATES = "/certificates"
CA_FILE = f"{CERTIFICATES}/ca.pem"
PUBLIC_URL = f"https://localhost:{PARTS[Process.GATEWAY].port('GATEWAY_BIND')}"
CERTIFIED_HOSTS = ("localhost", "127.0.0.1", SHARED)


def store_url(host: str) -> str:
    """Return the location of the objects by a host of the store."""
    return f"s3://{BUCKET}/data?endpoint=http://{host}:{STORE_PORT}&region=us-east-1"


def host_of(process: Process) -> str:
    """Return the host at which the other services reach a process."""
    return SHARED if process in SHARED_NAMESPACE else process.label
