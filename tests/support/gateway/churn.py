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
from meta.process.shutdown import Shutdown
from nursery.loop import RunTasks
from segments.keys import DATASETS_ROOT
from segments.location import StoreLocation, Stores
from segments.store.open import open_store
from tests.support.gateway.ingest import Ingest, ingest
from tests.support.gateway.shop import DAY_0, Shop
from tests.support.merge_worker.local_merges import merge_all
from tests.support.meta.segments import DAY
from tests.support.meta.server import MetaServer
from tests.support.waiting import wait_until


@dataclass
class Churn:
    """Counts of events so far; `error` is what ended it before its time.

    `shop` holds the records that were registered, `ingest` those that came by OTLP.
    """

    shop: Shop
    ingest: Ingest
    writes: int = 0
    merges: int = 0
    deleted_objects: int = 0
    error: BaseException | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread = field(default_factory=threading.Thread)

    def check(self) -> None:
        """Raise what went wrong in its threads."""
        if self.error is not None:
            raise self.error
        self.ingest.check()

    def wait_for_more(self) -> None:
        """Wait until something of each kind has happened since the call."""
        before = self._counts()
        wait_until(
            lambda: self._has_failed() or all(map(gt, self._counts(), before)),
            "records are ingested, segments written, merged and deleted",
        )
        self.check()

    def wait_for_all(self) -> None:
        """Wait until something of each kind has happened at all."""
        wait_until(
            lambda: self._has_failed() or all(self._counts()),
            "records are ingested, segments written, merged and deleted",
        )
        self.check()

    def _has_failed(self) -> bool:
        return bool(self.error or self.ingest.has_failed())

    def _counts(self) -> tuple[int, int, int, int]:
        return self.writes, self.merges, self.deleted_objects, self.ingest.merged()

    def start(self, meta_server: MetaServer, folder: Path) -> None:
        """Begin to write, merge and delete."""
        self._thread = threading.Thread(target=self._change, args=(meta_server, folder))
        self._thread.start()

    def end(self) -> None:
        """Stop; return when all that was sent is merged."""
        self.stop()
        self.check()
        self.ingest.end()

    def stop(self) -> None:
        """Stop to write, merge and delete."""
        self._stop.set()
        self._thread.join()

    def records(self) -> int:
        """Count the records that were registered or acknowledged."""
        registered = sum(table.num_rows for table in self.shop.tables)
        return registered + len(self.ingest.acknowledged)

    def _change(self, meta_server: MetaServer, folder: Path) -> None:
        try:
            with MetaClient(meta_server.address) as client:
                self._run(client, meta_server.settings.location, folder)
        except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
            self.error = error

    def _run(self, client: MetaClient, store_location: StoreLocation, folder: Path) -> None:
        shop = self.shop
        store = open_store(store_location)
        tools = Tools(client, store, Stores(store_location), Settings(), Shutdown(), "janitor")
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
def churn(
    shop: Shop, meta_server: MetaServer, folder: Path, run_tasks: RunTasks
) -> Iterator[Churn]:
    """Change a dataset, from when something of each kind has happened; checked at the end."""
    with ingest(meta_server.address, "web", run_tasks) as arriving:
        state = Churn(shop, arriving)
        state.start(meta_server, folder)
        try:
            state.wait_for_all()
            yield state
        finally:
            state.stop()
        state.check()
