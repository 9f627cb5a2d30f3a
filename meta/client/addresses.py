"""Addresses that servers listen on, and hosts that call them."""

import ipaddress
from urllib.parse import unquote


def is_loopback_host(host: str) -> bool:
    """True if only this machine reaches a server at `host`, such as 127.0.0.1 or [::1]."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_of(peer: str) -> str:
    """The host of gRPC's name of a peer, such as `ipv4:10.0.0.1:5000`; of IPv6 its network."""
    kind, _, rest = peer.partition(":")
    if kind not in ("ipv4", "ipv6"):
        return kind
    address = rest.rpartition(":")[0]
    return network_of(unquote(address).strip("[]"))


def network_of(address: str) -> str:
    """An address of IPv4 as it is, of IPv6 its /64, which one host has for itself."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        # A caller by IPv4 at a port that takes both.
        return str(parsed.ipv4_mapped)
    groups = (int(parsed) >> shift & 0xFFFF for shift in (112, 96, 80, 64))
    return f"{':'.join(f'{group:x}' for group in groups)}::/64"
