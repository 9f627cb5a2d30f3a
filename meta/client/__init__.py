"""meta's client, for other processes and for readers. Client-side load balancing with failover.

    call --> deadline, trace context --> a server --> reply, or an error as a class (`failures`)
             (`calls`, `traces`)          ^    |
                                          |    +-- no answer: the next server, within the deadline
    addresses --> DNS --> endpoints ------+        (a call is sent again only if that is safe)
                          one is preferred; `liveness` finds those that do not answer

- Tokens and certificates are read again when their files change.
- A stream of changes goes on at another server where it ended (`sent_changes`).
"""

from meta.client.channel import ClientTls
from meta.client.failures import refused_part, typed_error
from meta.client.meta_client import MetaClient, location

__all__ = ["ClientTls", "MetaClient", "location", "refused_part", "typed_error"]
