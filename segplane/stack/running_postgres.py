"""The embedded Postgres of a stack that runs in another process."""

from pathlib import Path
from urllib.parse import quote

from segplane.stack.postgres import DATABASE, SUPERUSER
from segplane.stack.postgres_folder import PostgresError

# The lines of postmaster.pid, which pg_ctl reads too.
_SOCKET_LINE = 4


def running_url(folder: Path) -> str:
    """Return the URL of a running server over a folder; raises PostgresError."""
    try:
        lines = (folder / "cluster" / "postmaster.pid").read_text().splitlines()
        socket_dir = lines[_SOCKET_LINE]
    except (OSError, IndexError):
        raise PostgresError(
            f"no Postgres runs over {folder}: start the stack first, or name its database with"
            " --database-url"
        ) from None
    return f"postgresql://{SUPERUSER}@/{quote(DATABASE)}?host={quote(socket_dir, safe='')}"
