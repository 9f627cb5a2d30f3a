"""PgBouncer, a real pooler before a test's Postgres, as a process; from the system's packages."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import make_url

from segplane.stack.postgres_folder import choose_user
from tests.support.waiting import wait_until

DEADLINE_SECS = 20.0
# `*` forwards every database; the role needs no password here.
CONFIG = """
[databases]
* = host={socket} user={role}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
ignore_startup_parameters = extra_float_digits{ignored}
logfile = {folder}/log
"""


def find_pgbouncer() -> str | None:
    """Find the pooler's program, if it is installed."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")


@contextmanager
def running_pgbouncer(
    folder: Path, database_url: str, mode: str, *, ignores_options: bool
) -> Iterator[str]:
    """Run a pooler in a mode before a database; gives the URL through it, skips without it."""
    program = find_pgbouncer()
    if program is None:
        pytest.skip("pgbouncer is not installed: `apt-get install pgbouncer`")
    url = make_url(database_url)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    values = {"socket": url.query["host"], "role": url.username, "port": port, "mode": mode}
    ignored = ", options" * ignores_options
    (folder / "pgbouncer.ini").write_text(CONFIG.format(**values, ignored=ignored, folder=folder))
    process = subprocess.Popen([program, *_as_user(folder), str(folder / "pgbouncer.ini")])
    try:
        wait_until(lambda: _is_listening(port), "the pooler listens")
        yield f"postgresql://{url.username}@127.0.0.1:{port}/{url.database}"
    finally:
        process.terminate()
        process.wait(DEADLINE_SECS)


def _as_user(folder: Path) -> list[str]:
    """Let root run it as another user, since it refuses to run as root."""
    user = choose_user(folder / "no cluster")
    if os.geteuid() == 0:
        user.own(folder)
        user.own(folder / "pgbouncer.ini")
        return ["--user", user.name]
    return []


def _is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
