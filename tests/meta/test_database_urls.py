"""Every form of META_DATABASE_URL that the documentation names leads every part of meta there."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from click.testing import CliRunner

from meta.client import MetaClient
from meta.config import Settings, load
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.server import server
from meta.store.engine import database_url
from meta.store.engine.database_probe import DatabaseProbe
from meta.store.engine.operator_causes import OperatorCauses
from meta.store.engine.pool import Database, DatabaseSettings
from segplane.__main__ import app
from segplane.stack.preflight import claim_ports
from tests.support.data_folders import open_folder
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.tcp_postgres import postgres_over_tcp

ROOT = Path(__file__).parents[2]
# URLs of the documentation, and the same with the hosts of a test: one that is gone, one that is.
FORMS = {
    "postgresql://user@host/name": "postgresql://{user}@127.0.0.1:{live}/{name}",
    "postgresql://meta@/segplane?host=db1:5432&host=db2:5432&target_session_attrs=primary": (
        "postgresql://{user}@/{name}?host=127.0.0.1:{gone}&host=127.0.0.1:{live}"
        "&target_session_attrs=primary"
    ),
    "postgresql://meta@db1:5432,db2:5432/segplane?target_session_attrs=primary": (
        "postgresql://{user}@127.0.0.1:{gone},127.0.0.1:{live}/{name}?target_session_attrs=primary"
    ),
    "postgresql://meta@/segplane?host=db1,db2&port=5432,5432&target_session_attrs=primary": (
        "postgresql://{user}@/{name}?host=127.0.0.1,127.0.0.1&port={gone},{live}"
        "&target_session_attrs=primary"
    ),
    "postgresql://meta@/segplane?host=/run/postgresql": (
        "postgresql://{user}@/{name}?host={socket}&port={live}"
    ),
}


@dataclass(frozen=True)
class Server:
    """A Postgres over TCP and over a socket, and a port at which nothing listens."""

    user: str
    live: int
    gone: int
    socket: str

    def url(self, form: str, name: str = "segplane") -> str:
        socket = quote(self.socket, safe="")
        return FORMS[form].format(
            user=self.user, live=self.live, gone=self.gone, socket=socket, name=name
        )


@pytest.fixture(scope="module")
def listening() -> Iterator[Server]:
    """Run a Postgres that listens."""
    ports = claim_ports({"live": 0, "gone": 0})
    with open_folder() as folder, postgres_over_tcp(folder, ports["live"]) as url:
        with psycopg.connect(url) as connection:
            row = connection.execute("SHOW unix_socket_directories").fetchone()
            assert row is not None
        yield Server("segplane", ports["live"], ports["gone"], row[0])


@pytest.mark.parametrize("form", FORMS)
def test_every_documented_form_serves_pool_probe_and_migrate(
    listening: Server, meta_settings: Settings, form: str
) -> None:
    url = listening.url(form)

    migrated = CliRunner().invoke(app, ["migrate", "--database-url", url])
    assert migrated.exit_code == 0, migrated.output
    database = Database(DatabaseSettings(url=url))
    database.ping()
    probe = DatabaseProbe(database.url, OperatorCauses())
    probe.check()
    running = server.start(replace(meta_settings, database=DatabaseSettings(url=url)))
    with MetaClient(f"127.0.0.1:{running.port}") as client:
        assert CatalogDriver(client).dataset()

    probe.close()
    running.stop(1.0)
    database.close()


def test_every_form_of_the_documentation_is_tested() -> None:
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    releases = ROOT / "docs" / "releases"
    found = {
        url
        for page in pages
        if releases not in page.parents
        for url in re.findall(r"postgres(?:ql)?://[^\s`\"')]+", page.read_text())
        if not url.endswith("...")
    }

    assert found == set(FORMS)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://u@h/x?options=-csearch_path%3Dlake", "search_path"),
        ("postgresql://u@h/x?options=-c%20work_mem%3D1MB%20--search-path%3Dlake", "search_path"),
        ("postgresql://a:1,b:2/x?options=-c%20SEARCH_PATH%3Dlake", "search_path"),
        ("postgresql://u@/x?host=a:1&host=b:2&port=3", "twice"),
        ("postgresql://u@/x?host=a,b,c&port=1,2", "3 hosts have 2 ports"),
        ("postgresql://a:1,b:two/x", "not a number"),
        ("postgresql://u@h:two/x", "not a database URL"),
        ("mysql://u@a,b/x", "only PostgreSQL"),
        ("nonsense", "not a database URL"),
    ],
    ids=["search path", "long option", "capitals", "ports twice", "ports", "port", "one port",
         "other database", "no URL"],
)  # fmt: skip
def test_a_wrong_url_is_refused_in_one_line(url: str, reason: str, tmp_path: Path) -> None:
    for command in ("migrate", "catalog reconcile"):
        arguments = [*command.split(), "--database-url", url, "--data-dir", str(tmp_path)]
        refused = CliRunner().invoke(app, arguments)

        assert refused.exit_code == 2
        assert refused.stderr.count("\n") == 1
        assert "META_DATABASE_URL" in refused.stderr
        assert reason in refused.stderr
    for profile in ("development", "production"):
        environment = {"META_DATABASE_URL": url, "SEGPLANE_PROFILE": profile}
        with pytest.raises(ConfigError, match=reason):
            load(Environment("META_", environment))


@pytest.mark.database_owner
@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("strayed_database", "DATABASE strayed_database SET search_path = lake, public"),
        ("strayed_role", "ROLE strayed_role SET search_path = lake"),
    ],
)
def test_tables_are_not_created_outside_public(listening: Server, name: str, default: str) -> None:
    admin = listening.url("postgresql://user@host/name")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN SUPERUSER")
        connection.execute(f"CREATE DATABASE {name}")
        connection.execute("ALTER " + default)
    url = replace(listening, user=name).url("postgresql://user@host/name", name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA lake")

    refused = CliRunner().invoke(app, ["migrate", "--database-url", url])

    assert refused.exit_code == 1
    assert "tables would be created in lake, not in public" in refused.stderr
    assert refused.stderr.count("\n") == 1
    with psycopg.connect(url) as connection:
        query = "SELECT count(*) FROM pg_tables WHERE schemaname IN ('lake', 'public')"
        assert connection.execute(query).fetchone() == (0,)


def test_options_of_the_url_reach_postgres_beside_those_of_meta(listening: Server) -> None:
    url = listening.url("postgresql://user@host/name") + "?options=-c%20work_mem%3D7MB"
    database = Database(DatabaseSettings(url=url, lock_timeout_ms=1_234))

    with database.read() as tx:
        shown = [
            tx.exec_driver_sql(f"SHOW {name}").scalar_one() for name in ("work_mem", "lock_timeout")
        ]

    database.close()
    assert shown == ["7MB", "1234ms"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:secret@h/x?sslpassword=hidden", "postgresql://u@h/x"),
        ("postgresql://u@/x?host=a:1&host=b&password=hidden", "postgresql://u@a:1,b/x"),
        ("postgresql://u:secret@a:1,b:2/x", "postgresql://u@a:1,b:2/x"),
        ("postgresql://u@a,b/x?port=3", "postgresql://u@a:3,b:3/x"),
    ],
)
def test_messages_show_where_a_url_leads_and_no_secret(url: str, shown: str) -> None:
    assert database_url.shown(database_url.normalized(url)) == shown


@pytest.mark.parametrize(
    ("query", "is_encrypted"),
    [("host=/a&host=/b", True), ("host=/a&host=b", False), ("host=a&sslmode=verify-full", True)],
)
def test_several_hosts_are_encrypted_if_all_are(query: str, is_encrypted: bool) -> None:
    assert database_url.is_encrypted(f"postgresql://u@/x?{query}") is is_encrypted
