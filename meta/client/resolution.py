"""Name resolution of addresses: a DNS name with several addresses names several servers."""

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from meta.client.addresses import Address

# Addresses of one name that are used: the lowest ones, so that all clients use the same.
NAME_ADDRESSES_MAX = 64


@dataclass(frozen=True, slots=True)
class ServerTarget:
    """One server: the target of its channel, and the name that its certificate must have.

    `server_name` is "" if it is the host in `target`.
    """

    target: str
    server_name: str = ""


def resolve(address: Address) -> list[ServerTarget]:
    """Return the servers at an address. Raises OSError or UnicodeError if DNS has no answer.

    A name with one address of a family is left to gRPC, which chooses between IPv4 and IPv6.
    """
    if address.is_name:
        addresses = _addresses_of(address)
        if len(addresses) > 1:
            return [ServerTarget(f"{ip}:{address.port}", address.host) for ip in addresses]
    return [ServerTarget(address.text)]


def _addresses_of(address: Address) -> Sequence[str]:
    """The addresses of one family: a host with both would otherwise count as two servers."""
    answers = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
    ips = {ipaddress.ip_address(str(answer[4][0]).partition("%")[0]) for answer in answers}
    fours = sorted(ip for ip in ips if isinstance(ip, ipaddress.IPv4Address))
    sixes = sorted(ip for ip in ips if isinstance(ip, ipaddress.IPv6Address))
    if len(fours) >= len(sixes):
        return [str(ip) for ip in fours[:NAME_ADDRESSES_MAX]]
    return [f"[{ip}]" for ip in sixes[:NAME_ADDRESSES_MAX]]
