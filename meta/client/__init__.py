"""meta's client, for other processes and for readers: channel, addresses, tokens, typed errors."""

from meta.client.channel import ClientTls
from meta.client.meta_client import MetaClient, location, refused_part, typed_error

__all__ = ["ClientTls", "MetaClient", "location", "refused_part", "typed_error"]
