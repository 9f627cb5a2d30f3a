"""Calls of meta by the gateway's own rights, for callers whose rights it has checked before."""

from collections.abc import Callable
from dataclasses import dataclass

from meta.client import MetaClient


@dataclass(frozen=True, slots=True)
class GatewayRights:
    """Opens clients with the gateway's own rights in all tenants, which their users close."""

    connect: Callable[[], MetaClient]
