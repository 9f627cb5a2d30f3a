"""A real meta in this process, as tests see it."""

from dataclasses import dataclass

from meta import config
from meta.client import MetaClient
from meta.server import server


@dataclass(frozen=True)
class MetaServer:
    """A real meta on its own port, with a client."""

    address: str
    client: MetaClient
    settings: config.Settings
    running: server.RunningServer
