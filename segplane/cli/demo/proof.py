"""Comparison of the records that DuckDB reads from a dataset's segments with those sent."""

from collections.abc import Collection
from dataclasses import dataclass

import duckdb

from meta.client import MetaClient
from meta.v1 import common_pb2
from meta.v1 import segment_lookup_pb2 as pb
from segplane.cli.demo import RECORD_ID
from segplane.read.lookup import find_all, segment_url

COUNT_IDS = """
    SELECT json_extract_string(attributes, $path) AS id, count(*)
    FROM read_parquet($files, union_by_name = true) GROUP BY id
"""
COUNT_SIGNALS = """
    SELECT signal, count(*) FROM read_parquet($files, union_by_name = true)
    GROUP BY signal ORDER BY signal
"""
COUNT_SERVICES = """
    SELECT service_name, count(*) AS n FROM read_parquet($files, union_by_name = true)
    GROUP BY service_name ORDER BY n DESC, service_name LIMIT 6
"""
SAMPLE = """
    SELECT strftime(timestamp, '%Y-%m-%d %H:%M:%S'), service_name, left(body, 80)
    FROM read_parquet($files, union_by_name = true)
    WHERE signal = 'logs' ORDER BY hash(body) LIMIT 6
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Records of a dataset compared with the log of sent records."""

    sent: int
    read_back: int
    missing: int
    doubled: int
    unknown: int

    @property
    def holds(self) -> bool:
        """True if every record sent is there exactly once, and nothing else."""
        return self.missing == self.doubled == self.unknown == 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A dataset's segments at one version."""

    dataset: str
    segments: tuple[common_pb2.SegmentInfo, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of all objects."""
        return sum(segment.compressed_size_bytes for segment in self.segments)


def read_segments(client: MetaClient, dataset: str) -> Reading:
    """Ask meta which segments a dataset has now; all pages come from one version."""
    request = pb.FindSegmentsRequest(dataset_names=[dataset])
    return Reading(dataset, tuple(find_all(client, request)))


def compare(
    reading: Reading, acknowledged: Collection[str], offered: Collection[str]
) -> Comparison:
    """Count what differs from the send log.

    A record that was offered but not acknowledged may be present or absent, but never twice.
    """
    path = f'$."{RECORD_ID}"'
    counts = {str(row[0]): int(str(row[1])) for row in _rows(reading, COUNT_IDS, path=path)}
    return Comparison(
        sent=len(acknowledged),
        read_back=sum(counts.values()),
        missing=sum(1 for record_id in acknowledged if record_id not in counts),
        doubled=sum(1 for times in counts.values() if times > 1),
        unknown=len(counts.keys() - set(offered)),
    )


def counts_by_signal(reading: Reading) -> list[tuple[str, int]]:
    """Count the records of each signal."""
    return [(str(row[0]), int(str(row[1]))) for row in _rows(reading, COUNT_SIGNALS)]


def top_services(reading: Reading) -> list[tuple[str, int]]:
    """Count the records of the services that wrote most."""
    return [(str(row[0]), int(str(row[1]))) for row in _rows(reading, COUNT_SERVICES)]


def sample(reading: Reading) -> list[tuple[str, str, str]]:
    """Give a few log records: time, service and body."""
    return [(str(row[0]), str(row[1]), str(row[2])) for row in _rows(reading, SAMPLE)]


def _rows(reading: Reading, query: str, **values: str) -> list[tuple[object, ...]]:
    """Run a query over the segments' files."""
    if not reading.segments:
        return []
    files = [segment_url(segment) for segment in reading.segments]
    with duckdb.connect() as connection:
        # DuckDB's clock follows the machine's; ours is UTC everywhere.
        connection.execute("SET TimeZone = 'UTC'")
        rows: list[tuple[object, ...]] = connection.execute(
            query, {"files": files, **values}
        ).fetchall()
    return rows
