"""Ingest, merges and deletions of a dataset that go on while engines read it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from operator import gt
from pathlib import Path

from janitor.config import Settings
from janitor.jobs import Tools, delete_table_metadata, delete_tombstoned
from meta.client import MetaClient
from meta.process import Shutdown
from segments.keys import DATASETS_ROOT
from segments.location import StoreLocation
from segments.store.open import open_store
from tests.support.gateway.shop import DAY_0, Shop
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.segments import DAY
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until


@dataclass
class Churn:
    """Counts of events so far; `error` is what ended it before its time."""

    writes: int = 0
    merges: int = 0
    deleted_objects: int = 0
    error: BaseException | None = None
    _stop: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Raise what went wrong in its thread."""
        if self.error is not None:
            raise self.error

    def wait_for_more(self) -> None:
        """Wait until something of each kind has happened since the call."""
        before = self._counts()
        wait_until(
            lambda: bool(self.error) or all(map(gt, self._counts(), before)),
            "segments are written, merged and deleted",
        )
        self.check()

    def _counts(self) -> tuple[int, int, int]:
        return self.writes, self.merges, self.deleted_objects

    def run(self, shop: Shop, meta_server: MetaServer, folder: Path) -> None:
        """Write, merge and delete until stopped."""
        try:
            with MetaClient(meta_server.address) as client:
                self._run(client, shop, meta_server.settings.location, folder)
        except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
            self.error = error

    def _run(
        self, client: MetaClient, shop: Shop, store_location: StoreLocation, folder: Path
    ) -> None:
        store = open_store(store_location)
        tools = Tools(client, store, store_location, Settings(), Shutdown(), "janitor")
        for number in count():
            shop.write(DAY_0 + number % 5 * DAY, DAY, rows=10)
            self.writes += 1
            self.merges += merge_all(client, store, folder / str(number), shop.segments.spec())
            before = len(list(store.list(DATASETS_ROOT)))
            delete_tombstoned(tools)
            self.deleted_objects += before - len(list(store.list(DATASETS_ROOT)))
            delete_table_metadata(tools)
            if self._stop.wait(0.2):
                return


@contextmanager
def churn(shop: Shop, meta_server: MetaServer, folder: Path) -> Iterator[Churn]:
    """Churn a dataset, from when something of each kind has happened; checked at the end."""
    state = Churn()
    thread = threading.Thread(target=state.run, args=(shop, meta_server, folder))
    thread.start()
    try:
        wait_until(
            lambda: bool(state.error or (state.merges and state.deleted_objects)),
            "segments are merged, and objects deleted",
        )
        yield state
    finally:
        state._stop.set()
        thread.join()
    state.check()
