"""meta's client, for other processes and for readers: channel, addresses, tokens, typed errors."""

from meta.client.channel import ClientTls
from meta.client.failures import refused_part, typed_error
from meta.client.meta_client import MetaClient, location

__all__ = ["ClientTls", "MetaClient", "location", "refused_part", "typed_error"]
