"""Its own Postgres that listens on an address, as one on another machine does."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from segplane.stack.postgres import DATABASE, SUPERUSER, EmbeddedPostgres

# The embedded server refuses every host.
_ACCESS = "local all all trust\nhost all all all trust\nlocal replication all trust\n"


def tcp_settings(folder: Path, address: str, port: int = 5432) -> dict[str, str]:
    """Give the settings of a server that listens on an address; `folder` holds its access rules."""
    rules = folder / "access.conf"
    rules.write_text(_ACCESS)
    rules.chmod(0o644)
    return {
        "listen_addresses": address,
        "port": str(port),
        "hba_file": str(rules),
        "fsync": "off",
    }


@contextmanager
def postgres_over_tcp(folder: Path, port: int, **settings: str) -> Iterator[str]:
    """Run a server on the loopback address; gives the URL of its database."""
    given = tcp_settings(folder, "127.0.0.1", port) | settings
    with EmbeddedPostgres(folder / "postgres", settings=given):
        yield f"postgresql://{SUPERUSER}@127.0.0.1:{port}/{DATABASE}"
