"""Records in a real meta, and the processes that merge them on a cluster."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from dataplane.processes.children import Child, ChildSpec
from meta.client import MetaClient
from meta.v1 import janitor_pb2, segment_lookup_pb2
from meta.v1.common_pb2 import SegmentInfo
from segments.keys import join_key
from segments.parquet.reader import read_segment
from tests.support.cluster.standalone import Cluster
from tests.support.nursery.drivers import NOW, CollectorDriver, dataset, nursery
from tests.support.waiting import wait_until

MERGE_INPUTS = 16
PADDING = "padding"
_QUICK = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
QUICK_JVMS = f"spark.driver.extraJavaOptions={_QUICK},spark.executor.extraJavaOptions={_QUICK}"


@dataclass
class ClusterScene:
    """One meta, some datasets, and what must be found in them."""

    client: MetaClient
    address: str
    folder: Path
    cluster: Cluster
    sent: Counter[str] = field(default_factory=Counter)
    collectors: list[CollectorDriver] = field(default_factory=list)

    def add_dataset(self) -> CollectorDriver:
        """Make a dataset with its own collector."""
        collector = CollectorDriver(self.client, dataset(self.client))
        self.collectors.append(collector)
        return collector

    def send(self, collector: CollectorDriver, name: str, padding: int = 0) -> None:
        """Commit a baby with one record of this name, and many that are alike."""
        payloads = [alike(padding)] if padding else []
        collector.commit(collector.put(name, payloads=payloads))
        self.sent[name] += 1
        if padding:
            self.sent[PADDING] += padding

    def save_segments(self, collector: CollectorDriver, count: int, padding: int = 0) -> None:
        """Have as many merged segments registered, without Spark."""
        for number in range(count):
            self.send(collector, f"{collector.dataset_id} {number}", padding)
            nursery(self.client).cycle()

    def plan_merges(self) -> int:
        """Have meta plan merges; returns how many."""
        request = janitor_pb2.CreateMergeTasksRequest()
        return self.client.janitor.CreateMergeTasks(request).tasks_created

    def find(self) -> list[SegmentInfo]:
        """Segments that a lookup returns."""
        request = segment_lookup_pb2.FindSegmentsRequest()
        return list(self.client.segment_lookup.FindSegments(request).segments)

    def read(self) -> Counter[str]:
        """Every record that readers find, by its body."""
        found: Counter[str] = Counter()
        store = self.collectors[0].store
        for one in self.find():
            key = join_key(one.cloud_object_key.prefix.prefix, one.cloud_object_key.key)
            for table in read_segment(store, key).values():
                found.update(map(str, table["body"].to_pylist()))
        return found

    def is_merged(self) -> bool:
        """True once no committed record is left in a baby segment alone."""
        return all(
            offset == collector.next_offset - 1
            for collector in self.collectors
            for offset in collector.merged().values()
        )

    @contextmanager
    def running(
        self, name: str, cores: int = 1, conf: str = "", start_secs: int = 60
    ) -> Iterator[Child]:
        """Run the nursery or a merge worker on the cluster, as its supervisor does."""
        prefix = name.upper()
        environment = os.environ | {
            f"{prefix}_META_ADDRESS": self.address,
            f"{prefix}_SPARK_MASTER": self.cluster.master_url,
            f"{prefix}_SPARK_CORES_MAX": str(cores),
            f"{prefix}_SPARK_CONF": f"{QUICK_JVMS},{conf}",
            f"{prefix}_SPARK_START_SECS": str(start_secs),
            f"{prefix}_INTERVAL_SECS": "0.1",
            "NURSERY_WAIT_SECS": "0",
            "MERGE_WORKER_WORK_DIR": str(self.cluster.temporary_folder),
        }
        spec = ChildSpec(name, name, environment, lambda child: child.has_logged(f"{name}_started"))
        child = Child(spec, self.folder / f"{name}.log")
        child.start()
        try:
            yield child
        finally:
            print(f"--- {name}\n{child.log_tail()}")
            child.stop()
            child.wait_stopped(0.0)

    def wait(self, child: Child, happened: Callable[[], bool], what: str) -> None:
        """Wait for a state, and restart the process if it dies meanwhile."""
        wait_until(happened, what, tick=child.check)


@cache
def alike(count: int) -> bytes:
    """An export of many log records that differ in nothing but their time."""
    data = LogsData()
    records = data.resource_logs.add().scope_logs.add().log_records
    for number in range(count):
        records.add(time_unix_nano=NOW + number).body.string_value = PADDING
    return data.SerializeToString()
