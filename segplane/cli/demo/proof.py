"""Comparisons of the records that are read from a dataset's files with those sent."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote
from urllib.request import urlopen

import duckdb
import fastavro

from meta.v1 import common_pb2
from segplane.cli.demo import RECORD_ID
from segplane.cli.demo.relay import RequestLog
from segplane.read.lookup import segment_url

# A machine without any log, or processes without telemetry, would prove nothing.
RECORDS_MIN = 16
DEADLINE_SECS = 30.0
_COUNT_IDS = f"""
    SELECT json_extract_string(attributes, '$."{RECORD_ID}"') AS id, count(*)
    FROM read_parquet($files, union_by_name = true) GROUP BY id
"""  # noqa: S608
_COUNT = "SELECT count(*) FROM read_parquet($files, union_by_name = true)"


class DemoFailed(Exception):
    """A check failed; the message names it."""


def check_records(when: str, segments: Sequence[common_pb2.SegmentInfo], log: RequestLog) -> None:
    """Print what differs from the log of requests; raises DemoFailed if anything does.

    A record that was offered but not acknowledged may be present or absent, but never twice.
    """
    counts = {str(row[0]): row[1] for row in _rows(_COUNT_IDS, map(segment_url, segments))}
    missing = len(log.acknowledged - counts.keys())
    doubled = sum(1 for times in counts.values() if times > 1)
    unknown = len(counts.keys() - log.offered)
    holds = not (missing or doubled or unknown)
    print(
        f"proof, {when}: {len(log.acknowledged):,} acknowledged, {sum(counts.values()):,} found,"
        f" {missing} missing, {doubled} twice, {unknown} unknown:"
        f" {'every record exactly once' if holds else 'BROKEN'}"
    )
    if not holds:
        raise DemoFailed(f"{when}: the records found are not the records sent")
    if len(log.acknowledged) < RECORDS_MIN:
        raise DemoFailed(f"{when}: only {len(log.acknowledged)} records were sent, too few")


def check_table(catalog_uri: str, dataset: str, expected: int) -> None:
    """Count the records of a table's current snapshot, step by step as an engine of Iceberg does.

    Raises DemoFailed, OSError.
    """
    uri = f"{catalog_uri}/v1/namespaces/default/tables/{quote(dataset, safe='')}"
    with urlopen(uri, timeout=DEADLINE_SECS) as reply:
        table = json.loads(reply.read())["metadata"]
    manifests = [row["manifest_path"] for row in _avro(table["snapshots"][-1]["manifest-list"])]
    files = [row["data_file"]["file_path"] for manifest in manifests for row in _avro(manifest)]
    ((records,),) = _rows(_COUNT, files) or [(0,)]
    print(f"proof, as an Iceberg table: {records:,} found by {catalog_uri}")
    if records != expected:
        raise DemoFailed(f"the table has {records} records, {expected} were sent")


def _avro(url: str) -> Iterator[Any]:
    with urlopen(url, timeout=DEADLINE_SECS) as file:
        yield from fastavro.reader(file)


def _rows(query: str, urls: Iterable[str]) -> list[Any]:
    """Run a query over files."""
    files = list(urls)
    if not files:
        return []
    with duckdb.connect() as connection:
        return connection.execute(query, {"files": files}).fetchall()
