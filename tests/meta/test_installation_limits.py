"""The most datasets and ingest tokens: reached, and one more refused."""

from dataclasses import replace

import pytest

from meta import config
from meta.errors import QuotaExceeded
from meta.process.environment import Environment
from meta.store.catalog import datasets
from meta.store.streams import tokens
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.full_server import fill_bare_datasets, fill_tokens
from tests.support.meta.server import MetaServer

FEW = 5


@pytest.fixture(params=[FEW, pytest.param(100_000, marks=pytest.mark.slow)])
def most(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture
def meta_settings(meta_settings: config.Settings, most: int) -> config.Settings:
    return replace(meta_settings, datasets_max=most, tokens_max=most)


def test_one_dataset_more_is_refused(
    meta_server: MetaServer, catalog: CatalogDriver, most: int
) -> None:
    with meta_server.running.database.write() as tx:
        fill_bare_datasets(tx, most - 1 - datasets.count_live(tx))

    catalog.dataset()

    with pytest.raises(QuotaExceeded):
        catalog.dataset()


def test_one_token_more_is_refused(
    meta_server: MetaServer, catalog: CatalogDriver, most: int
) -> None:
    dataset = catalog.dataset()
    with meta_server.running.database.write() as tx:
        fill_tokens(tx, most - 1 - tokens.count(tx), dataset)

    catalog.token(dataset)

    with pytest.raises(QuotaExceeded):
        catalog.token(dataset)


@pytest.mark.parametrize(
    ("name", "field", "highest"),
    [
        ("META_DATASETS_MAX", "datasets_max", config.DATASETS_MAX),
        ("META_TOKENS_MAX", "tokens_max", config.TOKENS_MAX),
    ],
)
def test_a_setting_above_the_limit_counts_as_the_limit(name: str, field: str, highest: int) -> None:
    def read(value: int) -> int:
        values = {"META_DATABASE_URL": "postgresql://host/name", name: str(value)}
        return int(getattr(config.load(Environment("META_", values)), field))

    assert [read(n) for n in (1, highest, highest + 1, 2 * highest)] == [
        1,
        highest,
        highest,
        highest,
    ]
