"""Generates merged segments for benchmarks: rows made by DuckDB, written by our own writer.

Values are functions of the row number, with a random request id in logs and spans: names repeat,
texts differ, errors say more than the others, and about 85 bytes a row are left after compression.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from segments.offsets import OffsetSpan
from segments.parquet.footer import SegmentFooter
from segments.parquet.lineage import BatchPart
from segments.parquet.reader import SegmentFile
from segments.parquet.schema import section_schema
from segments.parquet.sorting import sort_table
from segments.parquet.spec import SegmentSpec
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS, Signal

DATASET_ID = "0198a7c0-0000-7000-8000-000000000001"
ROWS: dict[Signal, int] = {"logs": 75_000, "metrics": 20_000, "traces": 30_000}
HOUR_START = 1_790_000_000 * 10**9
HOUR_NANOS = 3_600 * 10**9

_COMMON = """
    'svc-' || (hash(i // 4 * 31 + $seed) % 20) AS service_name,
    '{"service.name":"svc-' || (hash(i // 4 * 31 + $seed) % 20)
        || '","host.name":"host-' || (hash(i * 17 + $seed) % 40)
        || '","k8s.pod.name":"pod-' || (hash(i * 17 + $seed) % 40)
        || '","deployment.environment":"prod","telemetry.sdk.language":"go"}'
        AS resource_attributes,
    'scope-' || (hash(i * 13) % 12) AS scope_name, '1.' || (hash(i * 13) % 5) AS scope_version,
    '{}' AS scope_attributes, 0 AS resource_dropped_attributes_count,
    0 AS scope_dropped_attributes_count, 0 AS flags, 0 AS dropped_attributes_count,
    $start + (hash(i * 41 + $seed) % $nanos)::BIGINT AS timestamp
"""
_REQUEST = """'"request.id":"' || gen_random_uuid() || '","session.id":"' || gen_random_uuid()
    || '","client.address":"10.'
    || (hash(i * 43 + $seed) % 256) || '.' || (hash(i * 47 + $seed) % 256) || '.7"'"""
_METHOD = "['GET', 'POST', 'PUT'][1 + (hash(i * 3) % 3)::INT]"
_TRACE = "md5('trace' || (i // 8) || $seed)"
_OWN: dict[Signal, str] = {
    "logs": f"""
        {_TRACE} AS trace_id, substr(md5('span' || i || $seed), 1, 16) AS span_id,
        9 + 4 * (hash(i * 7) % 3) AS severity_number,
        ['INFO', 'WARN', 'ERROR'][1 + (hash(i * 7) % 3)::INT] AS severity_text,
        'request ' || {_METHOD} || ' /api/v1/orders/' || (hash(i * 11 + $seed) % 100000)
            || ' finished with status ' || (200 + hash(i * 5) % 5 * 100) || ' in '
            || (hash(i * 19 + $seed) % 5000) || ' ms for user ' || (hash(i * 23 + $seed) % 10000)
            || CASE WHEN hash(i * 7) % 3 = 2 THEN ': upstream 10.' || (hash(i * 53 + $seed) % 256)
                || '.' || (hash(i * 59 + $seed) % 256) || '.7:8443 closed connection '
                || substr(md5('connection' || i || $seed), 1, 16) || ' before its answer ended'
                ELSE '' END
            AS body,
        'string' AS body_type,
        '{{"http.method":"' || {_METHOD} || '","user.id":"u' || (hash(i * 23 + $seed) % 10000)
            || '","thread.id":' || (hash(i) % 64) || ',' || {_REQUEST} || '}}' AS attributes
    """,
    "metrics": f"""
        'metric.' || (hash(i * 3) % 60) AS metric_name,
        ['gauge', 'sum'][1 + (hash(i * 3) % 2)::INT] AS metric_type,
        ['ms', 'By', '1'][1 + (hash(i * 3) % 3)::INT] AS metric_unit,
        CASE WHEN hash(i * 3) % 2 = 0 THEN round(random() * 1000, 3) END AS value_double,
        CASE WHEN hash(i * 3) % 2 = 1 THEN hash(i * 37 + $seed) % 1000000 END AS value_long,
        CASE WHEN hash(i * 3) % 2 = 1 THEN 2 END AS aggregation_temporality,
        CASE WHEN hash(i * 3) % 2 = 1 THEN true END AS is_monotonic,
        '{{"device":"sd' || (hash(i) % 8) || '","method":"' || {_METHOD} || '"}}' AS attributes
    """,
    "traces": f"""
        (hash(i * 19 + $seed) % 5000000)::BIGINT AS duration_ns,
        $start + (hash(i * 41 + $seed) % $nanos)::BIGINT
            + (hash(i * 19 + $seed) % 5000000)::BIGINT AS end_timestamp,
        {_TRACE} AS trace_id, substr(md5('span' || i || $seed), 1, 16) AS span_id,
        CASE WHEN i % 8 > 0 THEN substr(md5('span' || (i - i % 8) || $seed), 1, 16) END
            AS parent_span_id,
        ['GET /orders', 'POST /orders', 'SELECT', 'publish', 'consume'][1 + (hash(i * 3) % 5)::INT]
            AS name,
        1 + hash(i) % 5 AS kind, hash(i) % 3 AS status_code,
        '{{"http.route":"/api/v1/orders/:id","net.peer.port":' || (hash(i * 29 + $seed) % 60000)
            || ',' || {_REQUEST} || '}}' AS attributes,
        CASE WHEN hash(i) % 3 = 2 THEN '[{{"time_unix_nano":"'
            || ($start + (hash(i * 41 + $seed) % $nanos)::BIGINT + hash(i * 61) % 1000000)
            || '","name":"exception","attributes":{{"exception.type":"java.io.IOException",'
            || '"exception.message":"upstream 10.' || (hash(i * 53 + $seed) % 256) || '.'
            || (hash(i * 59 + $seed) % 256) || '.7:8443 closed connection '
            || substr(md5('connection' || i || $seed), 1, 16) || '","exception.stacktrace":"'
            || repeat('at com.example.orders.Client.call(Client.java:' || (hash(i) % 400)
            || ')\\n', 3)
            || '"}}}}]' END AS events,
        0 AS dropped_events_count, 0 AS dropped_links_count
    """,
}


def write_segments(folder: Path, count: int) -> list[Path]:
    """Write `count` sorted segments of 125,000 rows each, all over the same hour."""
    paths = []
    for seed in range(count):
        tables = section_rows(seed)
        path = folder / f"{seed:02}.parquet"
        footer = SegmentFooter(
            DATASET_ID,
            "benchmark",
            (BatchPart(f"batch-{seed}", 1, 1),),
            (OffsetSpan("stream", seed * 10, seed * 10 + 9),),
        )
        with SegmentWriter(path, SIGNALS, SegmentSpec(), footer) as writer:
            for signal, table in tables.items():
                writer.write(signal, sort_table(table, SegmentSpec(), signal))
            writer.close()
        paths.append(path)
    return paths


def section_rows(seed: int, share: float = 1.0) -> dict[Signal, pa.Table]:
    """Make a share of the rows of one segment, by signal, not sorted."""
    return {signal: _section(signal, int(share * ROWS[signal]), seed) for signal in SIGNALS}


def with_texts(logs: pa.Table, texts: Sequence[str]) -> pa.Table:
    """Put each text into the body of one log record, the first into that of the first."""
    place = logs.schema.get_field_index("body")
    bodies = logs["body"].to_pylist()
    for text, row in zip(texts, range(0, len(bodies), len(bodies) // len(texts)), strict=False):
        bodies[row] = f"the {text} was seen"
    return logs.set_column(place, logs.schema.field(place), pa.array(bodies))


def repeat_rows(paths: list[Path], folder: Path, times: int) -> list[Path]:
    """Write each segment anew with every row `times` over, which keeps the order."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_repeat, paths, [folder] * len(paths), [times] * len(paths)))


def _repeat(path: Path, folder: Path, times: int) -> Path:
    target = folder / path.name
    with (
        SegmentFile(path) as segment,
        SegmentWriter(target, SIGNALS, SegmentSpec(), segment.stored.footer) as writer,
    ):
        for signal in segment.signals:
            for batch in segment.batches(signal, 16_384):
                rows = pc.divide(pa.array(range(batch.num_rows * times)), times)
                writer.write(signal, pa.Table.from_batches([batch]).take(rows))
        writer.close()
    return target


def _section(signal: Signal, rows: int, seed: int) -> pa.Table:
    query = f"SELECT {_COMMON}, {_OWN[signal]} FROM range($rows) AS r(i)"  # noqa: S608
    for name, value in {
        "seed": seed,
        "start": HOUR_START,
        "nanos": HOUR_NANOS,
        "rows": rows,
    }.items():
        query = query.replace(f"${name}", str(value))
    made = duckdb.connect().sql(query)
    assert made is not None
    found = made.to_arrow_table()
    schema = section_schema(signal)
    columns = [_column(found, field, signal) for field in schema]
    return pa.table(columns, schema=schema)


def _column(found: pa.Table, field: pa.Field[Any], signal: Signal) -> pa.Array[Any]:
    if field.name == "signal":
        column: pa.Array[Any] = pa.repeat(signal, found.num_rows)
    elif field.name in found.schema.names:
        column = found[field.name].combine_chunks()
    else:
        nulls: pa.Array[Any] = pa.nulls(found.num_rows, field.type)
        return nulls
    if pa.types.is_dictionary(field.type):
        return column.cast(pa.string()).dictionary_encode()
    cast: pa.Array[Any] = column.cast(field.type)
    return cast
