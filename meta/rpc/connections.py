"""Options of meta's connections: limits of open calls, ages and keepalive."""

from meta.config import Settings
from meta.process.health_calls import WAITING_CALLS
from meta.rpc.admission import STREAMS_SHARE

CONNECTION_AGE_MS, CONNECTION_IDLE_MS = 3_600_000, 600_000
# Clients of ours ask every minute whether a silent stream is still there.
PING_MS, PING_MS_MIN = 60_000, 30_000
# A connection that has not shown itself as TLS and HTTP/2 by then is closed.
HANDSHAKE_MS = 10_000
HEADERS_BYTES_MAX = 16 * 1024


def options(settings: Settings) -> list[tuple[str, int]]:
    """Options of a gRPC server: connections end when they are old or their peer is lost.

    Calls under way continue. Later ones connect again, to the server and with the certificates of
    that time.
    """
    # One subject may have as many at once. A client holds back further ones, which must not be the
    # health check by which it learns that its calls are only slow.
    watches_max = max(1, settings.watchers_max // STREAMS_SHARE)
    calls_max = settings.identity_rpcs_max + watches_max + 1
    return [
        ("grpc.max_concurrent_streams", calls_max),
        ("grpc.max_metadata_size", HEADERS_BYTES_MAX),
        ("grpc.max_connection_age_ms", CONNECTION_AGE_MS),
        ("grpc.max_connection_idle_ms", CONNECTION_IDLE_MS),
        ("grpc.keepalive_time_ms", PING_MS),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", PING_MS_MIN),
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
        *WAITING_CALLS,
        # Otherwise a window grows with the connection's speed, and messages that nobody reads fill
        # it. A message that is read has a window of its own size all the same.
        ("grpc.http2.bdp_probe", 0),
    ]
