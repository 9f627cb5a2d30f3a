"""A migrated Postgres that the tests of all mutants share; as a script, its process."""

import sys
from typing import Any

import pytest

TEMPLATE = "segplane_template"


class SharedPostgres:
    """pytest plugin: stands for the fixtures `postgres` and `template_database`."""

    def __init__(self, url: str) -> None:
        self.url = url

    def url_of(self, database: str) -> str:
        """Return the URL of another database of the server."""
        return self.url.replace("/segplane?", f"/{database}?")

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> object:
        """Answer the two fixtures."""
        value = {"postgres": self, "template_database": TEMPLATE}.get(fixturedef.argname)
        if value is not None:
            fixturedef.cached_result = (value, fixturedef.cache_key(request), None)  # type: ignore[arg-type]
        return value


def main() -> None:
    """Run a server, print its URL and stop it when standard input ends."""
    from meta import migrations
    from meta.store.engine.pool import Database, DatabaseSettings
    from segplane.stack.postgres import EmbeddedPostgres
    from tests import conftest
    from tests.support.data_folders import open_folder

    with (
        open_folder() as folder,
        EmbeddedPostgres(folder / "postgres", settings=conftest.FAST_AND_LOOSE) as cluster,
    ):
        import psycopg

        with psycopg.connect(cluster.url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {TEMPLATE}")
        database = Database(DatabaseSettings(url=cluster.url_of(TEMPLATE)))
        migrations.upgrade(database)
        database.close()
        print(cluster.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
