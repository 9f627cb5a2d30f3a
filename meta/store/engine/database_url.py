"""URLs of databases: one reading of every documented form, for all connections of a process."""

import re
from urllib.parse import urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

# As `-c` and `--` of libpq's options take it.
_SEARCH_PATH = re.compile(r"(?:^|\s)(?:-c\s*|--)search[-_]path\s*=", re.IGNORECASE)


def normalized(url: str) -> URL:
    """The URL with the driver that is used, and several hosts as `host=a,b` and `port=1,2`.

    Raises ValueError for a URL of another database, and for one that names a schema.
    """
    try:
        parsed = _several_hosts(url) if "," in urlsplit(url).netloc else make_url(url)
    except (ArgumentError, ValueError, psycopg.Error) as error:
        raise ValueError("not a database URL; expected postgresql://user@host/name") from error
    if parsed.get_backend_name() not in {"postgresql", "postgres"}:
        raise ValueError(f"only PostgreSQL is supported, not {parsed.get_backend_name()}")
    _refuse_search_path(parsed)
    return _with_separate_ports(parsed.set(drivername="postgresql+psycopg"))


def parameters(url: URL) -> dict[str, str]:
    """The parameters of libpq for a normalized URL."""
    keywords = url.translate_connect_args(username="user", database="dbname")
    return {name: str(value) for name, value in {**keywords, **url.query}.items()}


def shown(url: URL) -> str:
    """The URL for messages: user, hosts and database, and nothing that may be secret."""
    hosts, ports = _texts(url, "host"), _texts(url, "port")
    if not hosts:
        hosts, ports = [url.host or ""], [str(url.port or "")]
    ports = ports * len(hosts) if len(ports) == 1 else ports or [""] * len(hosts)
    places = (f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=True))
    user = f"{url.username}@" if url.username else ""
    return f"postgresql://{user}{','.join(places)}/{url.database or ''}"


def is_encrypted(url: str, default_mode: str = "") -> bool:
    """True if connections by `url` are encrypted, or are a socket of this machine.

    `default_mode` is the sslmode if the URL has none. Raises ValueError for another URL.
    """
    parsed = normalized(url)
    hosts = _texts(parsed, "host")
    if hosts and all(host.startswith("/") for host in hosts):
        return True
    return parsed.query.get("sslmode", default_mode) in {"require", "verify-ca", "verify-full"}


def _several_hosts(url: str) -> URL:
    """Read libpq's own form, `user@a:1,b:2/name`, which SQLAlchemy does not know."""
    scheme, separator, tail = url.partition("://")
    keywords = conninfo_to_dict(f"postgresql{separator}{tail}")
    return URL.create(
        scheme,
        username=_text(keywords.pop("user", None)),
        password=_text(keywords.pop("password", None)),
        database=_text(keywords.pop("dbname", None)),
        query={name: str(value) for name, value in keywords.items() if value is not None},
    )


def _with_separate_ports(url: URL) -> URL:
    """Move the ports of `host=a:1&host=b:2` to their own list, as libpq reads them."""
    pairs = [_split(host) for host in _texts(url, "host")]
    ports = _texts(url, "port")
    if any(port for _, port in pairs):
        if ports:
            raise ValueError("the ports are given twice, in host= and in port=")
        ports = [port for _, port in pairs]
    if not all(port.isdigit() or not port for port in ports):
        raise ValueError(f"a port is not a number in {','.join(ports)}")
    if pairs and len(ports) not in {0, 1, len(pairs)}:
        raise ValueError(f"{len(pairs)} hosts have {len(ports)} ports")
    lists = {"host": ",".join(host for host, _ in pairs), "port": ",".join(ports)}
    return url.update_query_dict({name: text for name, text in lists.items() if text.strip(",")})


def _split(host: str) -> tuple[str, str]:
    """Split `name:port` and `[address]:port`; a socket's folder and a bare address have none."""
    bracketed = re.fullmatch(r"\[(.*)\](?::(.*))?", host)
    if bracketed:
        return bracketed[1], bracketed[2] or ""
    if host.startswith("/") or host.count(":") != 1:
        return host, ""
    name, _, port = host.partition(":")
    return name, port


def _refuse_search_path(url: URL) -> None:
    if any(_SEARCH_PATH.search(options) for options in _values(url, "options")):
        raise ValueError(
            "its options set search_path, but the tables are in the schema public of a database of"
            " their own: name such a database, without search_path"
        )


def _texts(url: URL, name: str) -> list[str]:
    return [part for value in _values(url, name) for part in value.split(",")]


def _values(url: URL, name: str) -> tuple[str, ...]:
    value = url.query.get(name, ())
    return (value,) if isinstance(value, str) else tuple(value)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
