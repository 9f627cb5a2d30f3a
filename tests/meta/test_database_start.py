"""Refusals of a start by a Postgres that does not fit the settings, each in one line."""

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from meta.config import Settings, load
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.server.database_start import open_database
from meta.store.engine import server_limits
from tests.support.meta.pooler import ignoring_pooler, refusing_pooler

# As tests/conftest.py starts Postgres; the role is a superuser, for whom none are reserved.
CONNECTIONS_MAX = 200


def of_url(settings: Settings, url: str) -> Settings:
    database = replace(settings.database, url=url)
    return replace(settings, database=database, database_wait_secs=0)


def settings_of(settings: Settings, **variables: str) -> Settings:
    return load(Environment("META_", {"META_DATABASE_URL": settings.database.url} | variables))


@pytest.mark.database_owner
@pytest.mark.parametrize(
    ("processes", "pool_size"), [(4, 49), (1, 199)], ids=["four processes", "one process"]
)
def test_connections_are_accepted_up_to_what_postgres_allows(
    meta_settings: Settings, processes: int, pool_size: int
) -> None:
    fits = replace(
        meta_settings,
        processes=processes,
        is_pool_set=True,
        database=replace(meta_settings.database, pool_size=pool_size),
    )
    beyond = replace(fits, database=replace(fits.database, pool_size=pool_size + 1))

    open_database(fits).close()

    with pytest.raises(ConfigError) as refused:
        open_database(beyond)
    message = str(refused.value)
    assert "\n" not in message
    for part in ("META_PROCESSES", "META_DATABASE_POOL", "max_connections", str(CONNECTIONS_MAX)):
        assert part in message


@pytest.mark.database_owner
def test_the_default_pool_is_reduced_to_what_postgres_allows(meta_settings: Settings) -> None:
    settings = settings_of(meta_settings, META_PROCESSES="8")
    assert settings.database.pool_size * 8 > CONNECTIONS_MAX

    database = open_database(settings)

    assert database.pool_size == CONNECTIONS_MAX // 8 - 1
    database.close()


def test_a_pool_that_was_set_is_not_reduced(meta_settings: Settings) -> None:
    settings = settings_of(meta_settings, META_PROCESSES="8", META_DATABASE_POOL="34")

    with pytest.raises(ConfigError, match="META_DATABASE_POOL"):
        open_database(settings)


def test_a_pooler_that_refuses_options_is_named_in_one_line(meta_settings: Settings) -> None:
    with refusing_pooler() as port, pytest.raises(ConfigError, match="PgBouncer") as refused:
        open_database(of_url(meta_settings, f"postgresql://segplane@127.0.0.1:{port}/segplane"))

    assert "\n" not in str(refused.value)


def test_a_pooler_that_drops_options_is_named_in_one_line(meta_settings: Settings) -> None:
    url = urlsplit(meta_settings.database.url)
    with ignoring_pooler(parse_qs(url.query)["host"][0]) as port:
        through = of_url(meta_settings, f"postgresql://{url.username}@127.0.0.1:{port}{url.path}")

        with pytest.raises(ConfigError, match="PgBouncer") as refused:
            open_database(through)

    assert "\n" not in str(refused.value)


@pytest.mark.database_owner
def test_the_limit_that_is_compared_is_the_servers(meta_settings: Settings) -> None:
    database = open_database(meta_settings)

    assert server_limits.connections_max(database) == CONNECTIONS_MAX
    database.close()
