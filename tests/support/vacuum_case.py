"""A dataset whose objects can be made older, and a janitor that carries out vacuums."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from janitor.jobs import Tools
from janitor.vacuums import carry_out_vacuums
from meta.client import MetaClient
from meta.v1 import operations_pb2
from segments.keys import DATASETS_ROOT, TABLES_ROOT, join_key
from segments.store.interface import ObjectStore
from tests.support.meta.segments import DAY, EPOCH, WorkerDriver, Writer, segment_of
from tests.support.meta.server import MetaServer
from tests.support.meta.tables import TableDriver


class VacuumCase:
    """A dataset with objects in the bucket, whose rows can be made older."""

    def __init__(
        self, client: MetaClient, server: MetaServer, dataset: str, store: ObjectStore
    ) -> None:
        self.client, self.server, self.dataset, self.store = client, server, dataset, store
        self.writer, self.worker = Writer(client), WorkerDriver(client)

    def save(self, days: int) -> None:
        """Save three segments a day, each with an object of its size."""
        new = [
            segment_of(self.dataset, EPOCH + day * DAY + n, compressed=50 + day)
            for day in range(days)
            for n in range(3)
        ]
        for segment in new:
            self.put(segment.cloud_object_key.prefix.prefix, segment.cloud_object_key.key, segment)
        self.writer.save(*new)

    def merge(self) -> int:
        """Merge what can be merged; count the merges."""
        self.worker.plan()
        return self.work()

    def work(self) -> int:
        """Do the merges that are planned; count them."""
        merges = 0
        while (task := self.worker.find_task()) is not None:
            output = self.worker.output(task)
            at = output.cloud_object_key
            self.put(at.prefix.prefix, at.key, output)
            reply = self.worker.complete(task.task_id, output)
            assert reply.WhichOneof("result") == "success"
            merges += 1
        return merges

    def put(self, prefix: str, name: str, segment: object) -> None:
        size = getattr(segment, "compressed_size_bytes")  # noqa: B009
        self.store.put_if_absent(join_key(prefix, name), b"x" * size)

    def put_orphan(self) -> int:
        """Leave the output of a merge attempt that was given up, which rows condemn; its size."""
        key = f"dataset/{self.dataset}/merged/0197c9a2-7f3e-7000-8000-000000000001.parquet"
        request = operations_pb2.CondemnObjectsRequest(object_keys=[key], written_by_caller=True)
        assert list(self.client.operations.CondemnObjects(request).condemned_keys) == [key]
        self.store.put_if_absent(key, b"y" * 77)
        long_ago = time.time() - 2 * 3_600
        os.utime(Path("/", self.server.settings.location.path, key), (long_ago, long_ago))
        return 77

    def put_table(self) -> int:
        """Register table metadata of two versions, of which the older one is not kept; its size."""
        table = TableDriver(self.client, self.dataset)
        table.put("old", "new")
        table.snapshot(self.version() - 1, "old")
        table.snapshot(self.version(), "new")
        for key in table.find("old", "new", *(f"list {self.version() - n}" for n in (0, 1))):
            self.store.put_if_absent(key, b"z" * 7)
        return 14

    def age(self, hours: int = 2) -> None:
        """Make all rows older by hours."""
        by = f"interval '{hours} hours'"
        for table, columns in (
            ("segments", ("created_at", "tombstone_at")),
            ("table_objects", ("handed_out_at", "examined_at")),
            ("table_snapshots", ("handed_out_at", "examined_at")),
        ):
            moved = ", ".join(f"{column} = {column} - {by}" for column in columns)
            with self.server.running.database.write() as tx:
                tx.exec_driver_sql(f"UPDATE {table} SET {moved}")  # noqa: S608

    def version(self) -> int:
        return self.writer.find("web").snapshot_version

    def size(self) -> int:
        """Bytes in the bucket."""
        return sum(
            info.size_bytes
            for root in (DATASETS_ROOT, TABLES_ROOT)
            for info in self.store.list(root)
        )


@contextmanager
def janitor(tools: Tools, *more: Callable[[], object]) -> Iterator[None]:
    """Carry out vacuums, and do more, until the end of the block."""

    def work() -> None:
        while not tools.shutdown.is_requested:
            for do in more:
                do()
            carry_out_vacuums(tools)
            tools.shutdown.wait(0.05)

    thread = Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        tools.shutdown.request()
        thread.join()
