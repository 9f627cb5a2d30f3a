"""URLs of databases."""

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError


def normalized(url: str) -> URL:
    """The URL with the driver that is used. Raises ValueError for one of another database."""
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise ValueError("not a database URL; expected postgresql://user@host/name") from error
    if parsed.get_backend_name() not in {"postgresql", "postgres"}:
        raise ValueError(f"only PostgreSQL is supported, not {parsed.get_backend_name()}")
    return parsed.set(drivername="postgresql+psycopg")


def is_encrypted(url: str, default_mode: str = "") -> bool:
    """True if connections by `url` are encrypted, or are a socket of this machine.

    `default_mode` is the sslmode if the URL has none. Raises ValueError for another URL.
    """
    query = normalized(url).query
    hosts = query.get("host", "")
    if isinstance(hosts, str) and hosts.startswith("/"):
        return True
    return query.get("sslmode", default_mode) in {"require", "verify-ca", "verify-full"}
