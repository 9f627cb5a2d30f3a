"""Saved logins: a file for each server, readable by its owner alone.

A credential is sent to the server that it was saved for and to no other.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from fcntl import LOCK_EX, flock
from pathlib import Path
from tempfile import NamedTemporaryFile
from urllib.parse import quote

# A token is renewed this long before it expires, so that no call starts with one that is over.
RENEW_SECS = 60.0
_READABLE_BY_OTHERS = 0o077


class LoginError(Exception):
    """A login that cannot be made, read or kept; the message says what to do."""


@dataclass(frozen=True, slots=True)
class SavedLogin:
    """A token, and what renews it; without `refresh_token` it is not renewed.

    `expires_at` is in seconds since the unix epoch, None if the token does not state it.
    """

    token: str = field(repr=False)
    expires_at: float | None = None
    refresh_token: str = field(default="", repr=False)
    issuer: str = ""
    client_id: str = ""
    # The issuer's ID token is shown to the server in place of its access token.
    shows_id_token: bool = False

    def is_due(self, now: float) -> bool:
        """True if the token is to be renewed."""
        return self.expires_at is not None and now >= self.expires_at - RENEW_SECS

    def has_expired(self, now: float) -> bool:
        """True if no server takes the token any more."""
        return self.expires_at is not None and now >= self.expires_at


def path_of(address: str) -> Path:
    """The file of a server's login, below XDG_CONFIG_HOME or ~/.config."""
    return config_folder() / "logins" / f"{quote(address, safe='')}.json"


def config_folder() -> Path:
    """The folder of what a person keeps, below XDG_CONFIG_HOME or ~/.config."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home, "segplane")


def load(address: str) -> SavedLogin | None:
    """Read the login of a server; None if there is none. Raises LoginError if it cannot be used."""
    try:
        path = path_of(address)
        with path.open() as file:
            mode, text = os.fstat(file.fileno()).st_mode, file.read()
    except (OSError, RuntimeError):
        # None was saved, or this user has no folder to save one in.
        return None
    if mode & _READABLE_BY_OTHERS:
        raise LoginError(f"{path} can be read by others: run `segplane login` again")
    try:
        login = replace(SavedLogin(""), **json.loads(text))
        if not isinstance(login.token, str) or not isinstance(login.expires_at, float | int | None):
            raise ValueError("a field is of another type")
    except (ValueError, TypeError) as error:
        raise LoginError(f"{path} is damaged ({error}): run `segplane login` again") from error
    return login


def save(address: str, login: SavedLogin) -> None:
    """Write the login of a server, whole or not at all. Raises LoginError."""
    try:
        path = path_of(address)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Created with mode 0600.
        with NamedTemporaryFile("w", dir=path.parent, prefix=".new-", delete=False) as file:
            try:
                json.dump(asdict(login), file)
                file.flush()
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink()
                raise
    except (OSError, RuntimeError) as error:
        raise LoginError(f"the login cannot be saved: {error}") from error


def delete(address: str) -> bool:
    """Remove the login of a server; False if there was none. Raises LoginError."""
    try:
        path_of(address).unlink()
    except FileNotFoundError:
        return False
    except (OSError, RuntimeError) as error:
        raise LoginError(f"the login cannot be removed: {error}") from error
    return True


@contextmanager
def turn(address: str) -> Iterator[None]:
    """Let one process at a time change a login: a refresh token may be good for one use only."""
    path = path_of(address)
    try:
        file = path.with_suffix(".lock").open("w")
    except OSError as error:
        raise LoginError(f"the login cannot be renewed: {error}") from error
    with file:
        flock(file, LOCK_EX)
        yield
