"""A meta that the tests of a module share, over a database and its own folder."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from meta import config
from meta.client import MetaClient
from meta.process.environment import Environment
from meta.server import server
from segplane.stack.postgres import EmbeddedPostgres
from tests.support.meta.server import MetaServer


def shares_meta(request: pytest.FixtureRequest) -> bool:
    """True for a test with `one_meta`; `one_meta(False)` gives one of such a module its own."""
    marker = request.node.get_closest_marker("one_meta")
    return marker is not None and marker.args != (False,)


@contextmanager
def shared_meta(
    postgres: EmbeddedPostgres,
    template_database: str,
    folder: Path,
    settings: Mapping[str, str] | None = None,
) -> Iterator[MetaServer]:
    """Run a meta whose objects are in a folder; `settings` are variables beside the usual ones."""
    name = f"shared_{uuid4().hex}"
    names = [sql.Identifier(part) for part in (name, template_database)]
    values = {
        "META_BIND": "127.0.0.1:0",
        "META_DATABASE_URL": postgres.url_of(name),
        "META_OBJECT_STORE_URL": folder.as_uri(),
        "META_UNSAFE_SHORT_GRACE": "true",
        "META_MERGE_FILES_MAX": "3",
        "META_THREADS": "8",
    }
    folder.mkdir(parents=True, exist_ok=True)
    with closing(psycopg.connect(postgres.url, autocommit=True)) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY").format(*names))
        try:
            loaded = config.load(Environment("META_", values | dict(settings or {})))
            running = server.start(loaded)
            try:
                address = f"127.0.0.1:{running.port}"
                with MetaClient(address) as client:
                    yield MetaServer(address, client, loaded, running)
            finally:
                running.stop(2.0)
        finally:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(names[0]))
