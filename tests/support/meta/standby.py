"""A hot standby of an embedded Postgres, made with the wheel's own binaries."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import parse_qs, urlsplit

import psycopg

from meta import migrations
from meta.errors import Unavailable
from meta.store.engine.pool import Database, DatabaseSettings
from segplane.stack.postgres import SUPERUSER, EmbeddedPostgres
from segplane.stack.postgres_folder import choose_user, find_install, prepare_folder
from tests.support.waiting import wait_until

Reply = TypeVar("Reply")
SYNCED = {"fsync": "off", "wal_level": "replica"}


class Server(Protocol):
    """A running Postgres, in this process' care or in another's."""

    @property
    def url(self) -> str:
        """The URL of its database, which names its socket."""


@dataclass(frozen=True)
class Pair:
    """A primary with a hot standby that follows it."""

    primary: EmbeddedPostgres
    standby: EmbeddedPostgres

    def fail_over(self) -> None:
        """Stop the primary and promote the standby."""
        self.primary.stop()
        promote(self.standby)


@contextmanager
def running_pair() -> Iterator[Pair]:
    """Run a migrated primary and its standby."""
    # Not under tmp_path: pytest keeps that closed to the user whom Postgres runs as under root.
    folder = Path(tempfile.mkdtemp(prefix="segplane-pair-"))
    folder.chmod(0o711)
    try:
        with EmbeddedPostgres(folder / "primary", settings=SYNCED) as primary:
            migrate(primary)
            copy_as_standby(primary, folder / "standby")
            with EmbeddedPostgres(folder / "standby", settings=SYNCED) as standby:
                yield Pair(primary, standby)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def migrate(primary: Server) -> None:
    """Make the tables."""
    database = Database(DatabaseSettings(url=primary.url))
    migrations.upgrade(database)
    database.close()


def both_hosts(pair: Pair) -> str:
    """Give the URL by which a server finds whichever of the two is the primary."""
    return f"{pair.primary.url}&host={socket_of(pair.standby)}&target_session_attrs=primary"


def retried(call: Callable[[], Reply]) -> Reply:
    """Repeat a call while the server finds its way to the new primary."""
    replies: list[Reply] = []

    def is_answered() -> bool:
        try:
            replies.append(call())
        except Unavailable:
            return False
        return True

    wait_until(is_answered, "the new primary answers", poll_secs=0.1)
    return replies[0]


def socket_of(server: Server) -> str:
    return parse_qs(urlsplit(server.url).query)["host"][0]


def copy_as_standby(primary: Server, folder: Path) -> None:
    """Copy a running server into `folder`: started there, it follows the primary."""
    cluster = folder / "cluster"
    user = choose_user(cluster)
    prepare_folder(folder, user)
    source = f"host={socket_of(primary)} user={SUPERUSER}"
    program = find_install(folder, user) / "bin" / "pg_basebackup"
    subprocess.run(
        [program, "-D", cluster, "-R", "-X", "stream", "-c", "fast", "-d", source],
        check=True,
        cwd=folder,
        env={"PATH": os.defpath, "LC_ALL": "C.UTF-8"},
        user=user.uid,
        group=user.gid,
        extra_groups=None if user.uid is None else [],
    )


def catch_up(primary: EmbeddedPostgres, standby: EmbeddedPostgres) -> None:
    """Wait until the standby has replayed all that the primary has written."""
    with (
        psycopg.connect(primary.url, autocommit=True) as source,
        psycopg.connect(standby.url, autocommit=True) as target,
    ):
        row = source.execute("SELECT pg_current_wal_flush_lsn()::text").fetchone()
        assert row is not None
        query = f"SELECT coalesce(pg_last_wal_replay_lsn() >= '{row[0]}', false)"
        wait_until(lambda: target.execute(query).fetchone() == (True,), "the standby is level")


def stop_following(standby: EmbeddedPostgres) -> None:
    """Cut the standby off: it lags from here on."""
    with psycopg.connect(standby.url, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET primary_conninfo = ''")
        connection.execute("SELECT pg_reload_conf()")
        query = "SELECT count(*) FROM pg_stat_wal_receiver"
        wait_until(lambda: connection.execute(query).fetchone() == (0,), "the receiver ended")


def promote(standby: Server) -> None:
    with psycopg.connect(standby.url, autocommit=True) as connection:
        assert connection.execute("SELECT pg_promote(true, 60)").fetchone() == (True,)
