"""Addresses that servers listen on, their resolution by DNS, and hosts that call them."""

import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import unquote

# Addresses in one list.
ADDRESSES_MAX = 16
# Addresses of one name that are used: the lowest ones, so that all clients use the same.
NAME_ADDRESSES_MAX = 64
_PORT_MAX = 65_535
# gRPC's default if an address has none.
_HTTPS_PORT = 443
# Targets in gRPC's own notation are left to gRPC.
_SCHEME = re.compile(r"(unix|unix-abstract|vsock|dns|ipv4|ipv6|xds):")
_HOST_PORT = re.compile(r"(\[[0-9A-Fa-f:.%\w]+\]|[^:/\s\[\]]+)(?::([0-9]{1,5}))?")


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
    kind, _, host = peer.partition(":")
    if kind not in ("ipv4", "ipv6"):
        return kind
    address = host.rpartition(":")[0]
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


@dataclass(frozen=True, slots=True)
class Address:
    """One address of a server, as it is configured.

    `host` is "" for a target in gRPC's own notation, such as `unix:/run/meta`.
    """

    text: str
    host: str = ""
    port: int = 0

    @property
    def is_name(self) -> bool:
        """True for a host that name resolution may turn into several addresses."""
        return bool(self.host) and not is_loopback_host(self.host) and not _is_ip(self.host)


def split_addresses(text: str) -> tuple[Address, ...]:
    """Split a list such as `a:9500,b:9500`; raises ValueError that names the wrong entry."""
    entries = tuple(dict.fromkeys(entry.strip() for entry in text.split(",")))
    if len(entries) > ADDRESSES_MAX:
        raise ValueError(f"{len(entries)} addresses, of which a list holds at most {ADDRESSES_MAX}")
    return tuple(_address(entry, text, is_alone=len(entries) == 1) for entry in entries)


def _address(entry: str, text: str, *, is_alone: bool) -> Address:
    if _SCHEME.match(entry):
        return Address(entry)
    match = _HOST_PORT.fullmatch(entry)
    if match is None:
        shown = repr(entry) if entry else f"an empty entry in {text!r}"
        raise ValueError(f"{shown} is not an address: expected host:port, or several with commas")
    host, port = match[1], match[2]
    if port is None:
        if not is_alone:
            raise ValueError(f"{entry!r} in {text!r} has no port: expected host:port")
        return Address(entry, host, _HTTPS_PORT)
    if not 1 <= int(port) <= _PORT_MAX:
        raise ValueError(f"{entry!r} has port {port}, expected 1 to {_PORT_MAX}")
    return Address(entry, host, int(port))


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True


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
