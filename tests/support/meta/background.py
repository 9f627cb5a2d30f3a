"""Rounds of the background jobs of a server, by hand."""

from meta.config import DEFAULT_LOCATION, Settings
from meta.process.shutdown import Shutdown
from meta.store.engine.pool import Database, DatabaseSettings
from meta.watches.rounds import Rounds


def rounds_on(database: Database, processes: int = 1) -> Rounds:
    """The jobs of one of some processes, with default settings."""
    url = database.url.render_as_string(hide_password=False)
    settings = Settings("127.0.0.1:0", DatabaseSettings(url), DEFAULT_LOCATION, processes=processes)
    return Rounds(database, settings, Shutdown())
