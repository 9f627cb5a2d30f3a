"""The name under which clients written for 0.2.0 import ClientTls; new ones use `meta.client`."""

from meta.client.channel import ClientTls

__all__ = ["ClientTls"]
