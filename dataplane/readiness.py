"""Whether meta can be used: a server is healthy, and takes this process's credential.

Health alone is open to every caller and would hide a refused token; an authenticated call at every
check would load meta for nothing.
"""

from collections.abc import Callable

import grpc

from dataplane.location import Locator
from meta.client import MetaClient
from meta.client.channel import ClientTls, open_channel
from meta.errors import MetaError

HEALTH_DEADLINE_SECS = 1.0
# A meta that stops answering between the two calls of a check is noticed as soon as another one.
ASK_DEADLINE_SECS = 2.0


def is_serving(address: str, tls: ClientTls | None = None) -> bool:
    """Return whether one server says by grpc.health.v1 that it serves."""
    # Their part of the distribution is installed only on machines that run processes.
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    with open_channel(address, tls) as channel:
        try:
            reply = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=HEALTH_DEADLINE_SECS
            )
        except grpc.RpcError:
            return False
    return bool(reply.status == health_pb2.HealthCheckResponse.SERVING)


class MetaReadiness:
    """Checks again and again whether one of the metas can be used, with few authenticated calls.

    The authenticated call is the locator's: made when meta comes back, and when it is due.
    `health` replaces the client's health check.
    """

    def __init__(
        self,
        client: MetaClient,
        locator: Locator,
        health: Callable[[], bool | None] | None = None,
    ) -> None:
        self._locator = locator
        self._health = health or (lambda: client.find_health(HEALTH_DEADLINE_SECS))
        self._is_ready = False

    def check(self) -> bool:
        """Return whether a meta can be used now."""
        self._is_ready = self._check()
        return self._is_ready

    def _check(self) -> bool:
        health = self._health()
        if health is False:
            return False
        try:
            if self._is_ready and health:
                self._locator.refresh(ASK_DEADLINE_SECS)
            else:
                self._locator.ask(ASK_DEADLINE_SECS)
        except MetaError:
            return False
        return True
