"""Mistakes and failures as each engine shows them to its user."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from janitor.config import Settings as JanitorSettings
from janitor.jobs import Tools, delete_table_metadata, delete_tombstoned
from meta.config import Settings
from meta.process.shutdown import Shutdown
from meta.server import server
from segments.location import Stores
from segments.store.open import open_store
from segplane.cli.iceberg_settings import CatalogAddress
from tests.support.gateway.answers import catalog_of
from tests.support.gateway.attempts import STRANGER, WRONG_TOKEN, try_all, try_trino
from tests.support.gateway.engines import ENGINES, NO_CHANGES, TOKEN, Engine
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import GatewayServer
from tests.support.gateway.steps import running_steps
from tests.support.gateway.trino import TrinoServer
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer
from tests.support.object_store.faulty_proxy import (
    DroppedConnection,
    FaultyProxy,
    Forward,
    ProxyAnswer,
    Request,
    running_proxy,
)
from tests.support.object_store.moto import fresh_location

pytestmark = pytest.mark.readers
Acts = dict[str, Callable[[], object]]
Begin = Callable[[str], object]
Tried = dict[str, dict[str, Any]]
Try = Callable[[Callable[[CatalogAddress, int, Begin], Tried]], Tried]


@pytest.fixture
def meta_settings(meta_settings: Settings) -> Settings:
    """A grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    return replace(meta_settings, lifetimes=lifetimes)


@pytest.fixture
def take_store_away(meta_settings: Settings) -> Callable[[], object]:
    """Give what makes the store unreachable: here, the folder goes."""
    return lambda: shutil.rmtree(Path("/", meta_settings.location.path))


@pytest.fixture
def acts(
    segments: SegmentWriter,
    meta_server: MetaServer,
    tmp_path: Path,
    take_store_away: Callable[[], object],
) -> Acts:
    """Give what makes a step go wrong, by the name of the step."""
    client, store = segments.client, open_store(meta_server.settings.location)
    tools = Tools(client, store, Stores(store.location), JanitorSettings(), Shutdown(), "janitor")
    for name in ("other", "third"):
        dataset = CatalogDriver(client).dataset(name)
        replace(segments, dataset=dataset).write(rows=2)

    def merge_and_delete() -> None:
        for _ in range(4):
            segments.write(rows=2)
        assert merge_all(client, store, tmp_path / f"merges-{segments.files}") >= 1
        delete_tombstoned(tools)
        delete_table_metadata(tools)

    return {
        "": merge_and_delete,
        "stale table": merge_and_delete,
        "store away": take_store_away,
    }


@pytest.fixture
def tried(
    segments: SegmentWriter, meta_server: MetaServer, meta_settings: Settings, acts: Acts
) -> Iterator[Try]:
    """Run a gateway over a meta that goes away; gives a function that has an engine try all."""
    meta = server.start(meta_settings)
    with ExitStack() as stack:
        gateway = GatewayServer(f"127.0.0.1:{meta.port}", auth_token=TOKEN)
        stack.callback(gateway.close)
        away = stack.enter_context(ExitStack())
        away.callback(meta.stop, 1.0)
        acts["meta away"] = away.close
        segments.write(rows=2)
        loaded = gateway.table(Authorization=f"Bearer {TOKEN}")
        version = loaded.json["metadata"]["current-snapshot-id"]
        acts[""]()
        catalog = replace(catalog_of(gateway, meta_server.settings), has_token=True)
        yield lambda run: run(catalog, version, lambda name: acts.get(name, lambda: None)())


# What comes through of the gateway's own sentences.
OURS = {
    "unknown table": "there is no table 'none'",
    "expired version": "of 'web' has expired, its segments may be deleted: read a newer one",
    "wrong token": "set `token` in the catalog's properties",
    "write": "Server does not support endpoint: POST",
    "read": "",
    "read again": "",
    "store away": "the object store cannot be used now",
    "meta away": "the metadata server cannot answer now",
}
_SPARK = {
    "unknown table": "[TABLE_OR_VIEW_NOT_FOUND] The table or view `segplane`.`default`.`none`",
    "stale table": "NotFoundException: Failed to open input stream for file",
    # Kept by Spark until it is refreshed.
    "read again": "NotFoundException: Failed to open input stream for file",
}
# What an engine shows in their place; "" = it reads.
OWN = {
    "DuckDB": {
        "unknown table": "Table with name none does not exist",
        "wrong token": "returned a non-200 status code (Unauthorized_401)",
        "write": 'on database "segplane" which is attached in read-only mode',
        "stale table": "Cannot open file",
        "store away": "Request returned HTTP 503 for HTTP GET to",
        "meta away": "Request returned HTTP 503 for HTTP GET to",
    },
    "ClickHouse": {
        "unknown table": "Unknown table expression identifier 'segplane.default.none'",
        "write": "Insert into iceberg is in beta",
        "stale table": "",
    },
    "Daft": {"stale table": "No such file or directory"},
    "Spark 3.5": _SPARK,
    "Spark 4.1": _SPARK,
    "Trino": {"unknown table": "Table 'segplane.default.none' does not exist", "stale table": ""},
}


# What differs over a bucket.
OF_BUCKET = {
    # A bucket's objects are kept by DuckDB for its transaction.
    "DuckDB": {"stale table": ""},
    "Spark 4.1": {"stale table": "NoSuchKey", "read again": "NoSuchKey"},
}
_OVER_A_BUCKET = [engine for engine in ENGINES if engine.name in OF_BUCKET]


def check(found: Tried, engine: str, of_store: Mapping[str, str] = NO_CHANGES) -> None:
    """Compare what an engine shows with what is documented."""
    assert set(found) == {*OURS, "stale table"}
    for name, sentence in (OURS | OWN[engine] | dict(of_store)).items():
        error = found[name]["error"]
        assert sentence in error if sentence else not error, f"{name}: {error}"


def asked(engine: Engine, tried: Try) -> Tried:
    """Have an engine try everything."""
    engine.skip_if_missing()

    def run(catalog: CatalogAddress, version: int, begin: Begin) -> Tried:
        with running_steps(begin) as steps:
            return try_all(engine, catalog, version, steps)

    return tried(run)


@pytest.mark.parametrize("engine", ENGINES, ids=lambda engine: engine.name)
def test_engines_show_one_sentence(tried: Try, engine: Engine) -> None:
    check(asked(engine, tried), engine.name)


class TestOverABucket:
    """The same over a bucket, which engines read with their own keys."""

    @pytest.fixture
    def store(self, versitygw_endpoint: str, aws_credentials: None) -> Iterator[FaultyProxy]:
        with running_proxy(versitygw_endpoint) as proxy:
            yield proxy

    @pytest.fixture
    def meta_settings(self, meta_settings: Settings, store: FaultyProxy) -> Settings:
        return replace(meta_settings, location=fresh_location(store.url))

    @pytest.fixture
    def take_store_away(self, store: FaultyProxy) -> Callable[[], object]:
        """It closes every connection without an answer."""

        def drop(_: Request, __: Forward) -> ProxyAnswer:
            raise DroppedConnection

        return lambda: setattr(store, "fault", drop)

    @pytest.mark.parametrize("engine", _OVER_A_BUCKET, ids=lambda engine: engine.name)
    def test_engines_show_one_sentence(self, tried: Try, engine: Engine) -> None:
        found = asked(engine, tried)
        check(found, engine.name, OF_BUCKET[engine.name])


def test_trino_shows_one_sentence(tried: Try, tmp_path: Path) -> None:
    def run(catalog: CatalogAddress, version: int, begin: Begin) -> Tried:
        token = {"iceberg.rest-catalog.oauth2.token": WRONG_TOKEN}
        trino = TrinoServer(tmp_path / "trino", catalog, others={STRANGER: token})
        try:
            return try_trino(trino, version, begin)
        finally:
            trino.close()

    found = tried(run)
    check(found, "Trino")
    # Of other failures the first line is all that a user sees without `--debug`.
    assert found["expired version"]["error"].startswith("Failed to load table: web__v")
    assert found["store away"]["error"].startswith("Failed to load table: other")
    assert found["meta away"]["error"].startswith("Failed to load view 'third'")
