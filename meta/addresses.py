"""Addresses that servers listen on."""

import ipaddress


def is_loopback_host(host: str) -> bool:
    """True if only this machine reaches a server at `host`, such as 127.0.0.1 or [::1]."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
