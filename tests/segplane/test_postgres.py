"""The embedded Postgres against restarts, kills and a second start."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from segplane.stack import postgres, postgres_folder
from segplane.stack.postgres import EmbeddedPostgres
from segplane.stack.postgres_folder import PostgresError
from tests.support.data_folders import copy_cluster, open_folder
from tests.support.process_tree import is_alive
from tests.support.waiting import wait_until

DEADLINE_SECS = 30.0
# Starts a server, says so, and waits to be killed.
PARENT = """
import sys, time
from pathlib import Path
from segplane.stack.postgres import EmbeddedPostgres
with EmbeddedPostgres(Path(sys.argv[1])) as server:
    print(server.pid, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder that the user whom Postgres runs as can enter."""
    with open_folder() as parent:
        yield parent / "postgres"


@pytest.fixture
def made(folder: Path, cluster: Path) -> Path:
    """Give the folder with a database."""
    copy_cluster(cluster, folder)
    return folder


def kill_starts(server: EmbeddedPostgres, count: int) -> threading.Thread:
    """Kill the next starts of a server, each as soon as it has a process."""

    def kill() -> None:
        before: set[int | None] = {None}
        for _ in range(count):
            wait_until(lambda: server.pid not in before, "a start", poll_secs=0.001)
            pid = server.pid
            assert pid is not None
            before.add(pid)
            os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.long
def test_a_server_that_is_killed_while_it_starts_is_started_again(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "RESTART_PAUSE_SECS", 0.01)
    with EmbeddedPostgres(made) as server:
        _execute(server, "CREATE TABLE kept AS SELECT generate_series(1, 10) n")
    events: list[str] = []
    again = EmbeddedPostgres(made, log=events.append)
    killer = kill_starts(again, 2)

    with again:
        assert _count(again, "kept") == 10

    killer.join()
    assert events == ["Postgres was killed while it started; starting it again"] * 2


def test_a_server_that_is_killed_at_every_start_ends_the_start(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "RESTART_PAUSE_SECS", 0.01)
    server = EmbeddedPostgres(made)
    killer = kill_starts(server, postgres.START_KILLS_MAX + 1)

    with pytest.raises(PostgresError, match="Postgres was killed while it started"):
        server.start()

    killer.join()
    assert server.pid is None


@pytest.mark.parametrize(
    ("exit_code", "output", "expected"),
    [
        (-9, b"", True),
        (1, b"LOG: startup process (PID 7) was terminated by signal 9: Killed\n", True),
        (1, b"FATAL: could not load server certificate\n", False),
        (0, b"LOG: database system is shut down\n", False),
    ],
    ids=["the server", "its startup process", "a wrong file", "asked to"],
)
def test_a_kill_is_told_from_a_refusal(exit_code: int, output: bytes, expected: bool) -> None:
    assert postgres_folder.was_killed(exit_code, output) is expected


def test_what_was_written_survives_a_restart(made: Path) -> None:
    with EmbeddedPostgres(made) as server:
        _execute(server, "CREATE TABLE kept (n int)")
        _execute(server, "INSERT INTO kept VALUES (1), (2)")

    with EmbeddedPostgres(made) as server:
        assert _count(server, "kept") == 2


def test_the_folder_and_the_socket_are_private(folder: Path) -> None:
    with EmbeddedPostgres(folder) as server, psycopg.connect(server.url) as connection:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)
        assert connection.execute("SHOW server_encoding").fetchone() == ("UTF8",)


def test_postgres_dies_with_a_killed_parent_and_the_next_start_recovers(made: Path) -> None:
    parent, pid = _start_parent(made)
    with psycopg.connect(_url(made)) as connection:
        connection.execute("CREATE TABLE kept (n int)")

    parent.kill()
    parent.wait()

    with EmbeddedPostgres(made) as server:
        assert not is_alive(pid)
        assert _count(server, "kept") == 0


def test_a_killed_postgres_recovers_what_was_committed(made: Path) -> None:
    with EmbeddedPostgres(made) as server:
        _execute(server, "CREATE TABLE kept AS SELECT generate_series(1, 1000) n")
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        wait_until(lambda: server.pid is None, "Postgres to end")

    with EmbeddedPostgres(made) as server:
        assert _count(server, "kept") == 1000


def test_a_stale_pid_file_that_names_a_live_stranger_is_ignored(made: Path) -> None:
    with EmbeddedPostgres(made) as server:
        lines = (made / "cluster" / "postmaster.pid").read_text().splitlines()
        assert server.pid is not None
    stranger = subprocess.Popen(["sleep", "60"])
    (made / "cluster" / "postmaster.pid").write_text(
        "\n".join([str(stranger.pid), *lines[1:]]) + "\n"
    )

    try:
        with EmbeddedPostgres(made) as server:
            _execute(server, "SELECT 1")
    finally:
        stranger.kill()
        stranger.wait()


def test_a_second_start_on_the_same_folder_is_refused_in_one_line(made: Path) -> None:
    with EmbeddedPostgres(made) as server:
        with pytest.raises(PostgresError, match="another segplane process uses") as refused:
            EmbeddedPostgres(made, lock_wait_secs=0.2).__enter__()

        assert "\n" not in str(refused.value)
        _execute(server, "SELECT 1")


def test_a_start_waits_for_the_one_before_to_let_go(made: Path) -> None:
    parent, _ = _start_parent(made)
    assert parent.stdin is not None
    parent.stdin.close()

    with EmbeddedPostgres(made) as server:
        _execute(server, "SELECT 1")

    parent.wait(DEADLINE_SECS)


def test_a_half_made_cluster_is_made_anew(folder: Path) -> None:
    (folder / "cluster.new" / "base").mkdir(parents=True)

    with EmbeddedPostgres(folder) as server:
        _execute(server, "SELECT 1")


def test_a_data_folder_that_is_something_else_is_refused(folder: Path) -> None:
    (folder / "cluster").mkdir(parents=True)

    with pytest.raises(PostgresError, match="is not a Postgres cluster"):
        EmbeddedPostgres(folder).__enter__()


def test_a_data_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("a file")

    with pytest.raises(PostgresError, match="choose another data folder"):
        EmbeddedPostgres(tmp_path / "occupied" / "postgres").__enter__()


def test_a_long_path_gets_its_socket_elsewhere(folder: Path, cluster: Path) -> None:
    folder = folder.parent / ("long" * 30) / "postgres"
    copy_cluster(cluster, folder)

    with EmbeddedPostgres(folder) as server:
        _execute(server, "SELECT 1")
        socket_dir = server.url.rpartition("=")[2].replace("%2F", "/")

    assert not Path(socket_dir).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the user")
def test_as_root_a_folder_that_the_system_user_cannot_reach_is_refused(folder: Path) -> None:
    closed = folder.parent / "closed"
    closed.mkdir(mode=0o700)

    with pytest.raises(PostgresError, match=f"cannot enter {closed}:"):
        EmbeddedPostgres(closed / "data" / "postgres").__enter__()

    assert closed.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the user")
def test_as_root_an_unreachable_installation_is_copied(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = postgres_folder.choose_user(made)
    postgres_folder.prepare_folder(made, user)
    reach = postgres_folder._can_reach
    monkeypatch.setattr(
        postgres_folder,
        "_can_reach",
        lambda path, user: path.is_relative_to(made) and reach(path, user),
    )

    with EmbeddedPostgres(made) as server:
        _execute(server, "SELECT 1")

    assert list(made.glob("install/*/pginstall*/bin/postgres"))


def _url(folder: Path) -> str:
    return f"postgresql://segplane@/segplane?host={folder}/socket"


def _start_parent(folder: Path) -> tuple[subprocess.Popen[str], int]:
    parent = subprocess.Popen(
        [sys.executable, "-P", "-c", PARENT, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert parent.stdout is not None
    return parent, int(parent.stdout.readline())


def _execute(server: EmbeddedPostgres, statement: str) -> None:
    with psycopg.connect(server.url) as connection:
        connection.execute(statement.encode())


def _count(server: EmbeddedPostgres, table: str) -> int:
    with psycopg.connect(server.url) as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()  # noqa: S608
    assert row is not None
    return int(row[0])
