"""Format 2 against format 1: CPU time of merges, of writing and of lookups; bytes a row.

Both formats are written and read by the code of today, from the same rows. CPU time is user and
system time of all threads of this process; the formats take turns, and the least round counts.
"""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq

from benchmarks.harness.babies import BabySpec, write_babies
from benchmarks.harness.merged_segments import DATASET_ID, write_segments
from benchmarks.harness.results import Result, compare
from benchmarks.harness.timing import least_cpu
from segments.baby import decode_baby
from segments.keys import baby_key
from segments.location import StoreLocation
from segments.merging.inputs import MergeInput
from segments.merging.merge import MergeOrder, merge_segments
from segments.otlp.decode import decode
from segments.parquet.columns.readable import READABLE_COLUMNS
from segments.parquet.footer import SegmentFooter
from segments.parquet.reader import SegmentFile
from segments.parquet.schema import TIMESTAMP
from segments.parquet.sorting import sort_table
from segments.parquet.spec import SegmentSpec
from segments.parquet.writer import SegmentWriter
from segments.signals import SIGNALS, Signal
from segments.store.open import open_store

FORMATS = (1, 2)
SEGMENTS = 6
ROUNDS = 15
LOOKUPS = 5
BABIES = BabySpec(babies=4, datasets=1, streams=1, datasets_per_baby=1, size_bytes=60_000_000)
# Clocks of senders, by the nanoseconds of their ticks.
CLOCKS = {"nanosecond": 1, "microsecond": 1_000, "millisecond": 1_000_000}
SPEC = SegmentSpec()
# Columns of format 2 that say again what others say.
ADDED = frozenset(column.name for column in READABLE_COLUMNS)
CPU_BAR = 1.03
# By clock; random nanoseconds need the remainders, the others do not.
SIZE_BARS = {"nanosecond": 1.005, "microsecond": 1.0, "millisecond": 1.0}

Tables = dict[Signal, pa.Table]


def run() -> list[Result]:
    """Measure all that a format can change."""
    with tempfile.TemporaryDirectory(prefix="segplane-bench-") as name:
        folder = Path(name)
        (folder / "made").mkdir()
        made = write_segments(folder / "made", SEGMENTS)
        inputs = {version: _rewritten(made, folder, version) for version in FORMATS}
        merged = {version: folder / f"merged-{version}.parquet" for version in FORMATS}
        return [
            _merging(inputs, merged),
            _writing(folder),
            *_lookups(merged),
            *(_size(made[0], folder, clock) for clock in CLOCKS),
        ]


def _rewritten(paths: Sequence[Path], folder: Path, version: int) -> list[Path]:
    """Write the same rows in a format."""
    targets = [folder / f"{version}-{path.name}" for path in paths]
    for path, target in zip(paths, targets, strict=True):
        tables, footer = _tables(path)
        _write(target, tables, replace(footer, format_version=version))
    return targets


def _merging(inputs: dict[int, list[Path]], merged: dict[int, Path]) -> Result:
    def merge(version: int) -> Callable[[], object]:
        return lambda: _merge(inputs[version], merged[version], version)

    old, new = least_cpu([merge(version) for version in FORMATS], ROUNDS)
    return _cpu("merging", new, old)


def _merge(paths: Sequence[Path], target: Path, version: int) -> None:
    """Merge as the worker does, into a file of the same format."""
    store = open_store(StoreLocation.from_url(paths[0].parent.as_uri()))
    order = MergeOrder(DATASET_ID, "benchmark", SPEC, format_version=version)
    folder = target.parent / "merging"
    folder.mkdir(exist_ok=True)
    merge_segments(store, list(map(_input, paths)), order, folder)
    (folder / "merged.parquet").rename(target)


def _input(path: Path) -> MergeInput:
    with SegmentFile(path) as segment:
        stored = segment.stored
    return MergeInput(path.name, path.name, stored.rows, stored.start_time, stored.end_time)


def _writing(folder: Path) -> Result:
    """Decode, sort and write the payloads of one dataset, as the nursery does."""
    location = StoreLocation.from_url((folder / "babies").as_uri())
    store = open_store(location)
    store.probe()
    payloads: dict[Signal, list[tuple[bytes, int]]] = {signal: [] for signal in SIGNALS}
    for stream in write_babies(location, BABIES).streams:
        for facts in stream.babies:
            baby = decode_baby(store.get(baby_key(stream.stream_id, facts.offset)))
            for part in baby.parts:
                payloads[part.signal] += [
                    (body, part.export(index, baby.received_at).received_at)
                    for index, body in enumerate(part.slices)
                ]
    rmtree(folder / "babies")

    def write(version: int) -> Callable[[], object]:
        return lambda: _write_payloads(payloads, folder / f"written-{version}.parquet", version)

    old, new = least_cpu([write(version) for version in FORMATS], ROUNDS)
    return _cpu("writing", new, old)


def _write_payloads(
    payloads: dict[Signal, list[tuple[bytes, int]]], target: Path, version: int
) -> None:
    tables: Tables = {}
    for signal, own in payloads.items():
        bodies, times = zip(*own, strict=True)
        table = decode(signal, bodies, times, are_checked=True).table
        assert table is not None
        tables[signal] = table
    target.unlink(missing_ok=True)
    _write(target, tables, SegmentFooter(DATASET_ID, "benchmark", format_version=version))


def _write(target: Path, tables: Tables, footer: SegmentFooter) -> None:
    with SegmentWriter(target, tables, SPEC, footer) as writer:
        for signal, table in tables.items():
            writer.write(signal, sort_table(table, SPEC, signal))
        writer.close()


def _lookups(merged: dict[int, Path]) -> list[Result]:
    """Look up traces in all columns, and a service's text within minutes."""
    connection = duckdb.connect(config={"threads": 1})
    table = pyarrow.dataset.dataset(merged[1]).to_table(columns=["trace_id", "timestamp"])
    trace_ids = [value.as_py() for value in _spread(pc.drop_null(table["trace_id"]))]
    times = _spread(table["timestamp"].cast(pa.int64()).combine_chunks().sort())
    columns = {version: ", ".join(_names(path)) for version, path in merged.items()}

    def trace_in_duckdb(version: int) -> Callable[[], object]:
        rows = f"SELECT {columns[version]} FROM '{merged[version]}'"  # noqa: S608
        query = f"{rows} WHERE trace_id = $id"
        return lambda: [
            connection.sql(query, params={"id": trace_id}).to_arrow_table()
            for trace_id in trace_ids
        ]

    def trace_in_arrow(version: int) -> Callable[[], object]:
        rows, names = pyarrow.dataset.dataset(merged[version]), _names(merged[version])
        return lambda: [
            rows.to_table(columns=names, filter=pc.field("trace_id") == trace_id)
            for trace_id in trace_ids
        ]

    def minutes_in_arrow(version: int) -> Callable[[], object]:
        rows, time = pyarrow.dataset.dataset(merged[version]), pc.field("timestamp")
        own = [name for name in ("timestamp", "timestamp_nanos") if name in rows.schema.names]
        type_ = rows.schema.field("timestamp").type
        spans = [
            tuple(pa.scalar(at, pa.int64()).cast(TIMESTAMP).cast(type_, safe=False) for at in ends)
            for ends in ((start.as_py(), start.as_py() + 120 * 10**9) for start in times)
        ]
        return lambda: [
            rows.to_table(
                columns=[*own, "body"],
                filter=(pc.field("service_name") == "svc-7") & (time >= start) & (time < end),
            )
            for start, end in spans
        ]

    lookups = {
        "lookup_of_a_trace_in_duckdb": trace_in_duckdb,
        "lookup_of_a_trace_in_arrow": trace_in_arrow,
        "lookup_of_minutes_in_arrow": minutes_in_arrow,
    }
    found = []
    for name, lookup in lookups.items():
        rounds = ROUNDS if lookup is trace_in_arrow else 4 * ROUNDS
        old, new = least_cpu([lookup(version) for version in FORMATS], rounds)
        found.append(_cpu(name, new / LOOKUPS, old / LOOKUPS))
    return found


def _names(path: Path) -> list[str]:
    """All columns that hold what format 1 holds."""
    return [name for name in pq.read_schema(path).names if name not in ADDED]


def _spread(values: pa.ChunkedArray | pa.Array) -> list[pa.Scalar]:  # type: ignore[type-arg]
    """Take values from all over a column."""
    step = len(values) // LOOKUPS
    return [values[step // 2 + number * step] for number in range(LOOKUPS)]


def _size(path: Path, folder: Path, clock: str) -> Result:
    """Bytes a row of one file whose times are of a clock."""
    tables, footer = _tables(path)
    ticking = {signal: _at_clock(table, CLOCKS[clock]) for signal, table in tables.items()}
    rows = sum(table.num_rows for table in tables.values())
    sizes = []
    for version in FORMATS:
        target = folder / f"{clock}-{version}.parquet"
        _write(target, ticking, replace(footer, format_version=version))
        sizes.append(target.stat().st_size / rows)
    old, new = sizes
    return compare(
        f"format_2_size_with_{clock}_clocks",
        new,
        old,
        reference_name="format 1",
        unit="bytes a row",
        bar=SIZE_BARS[clock],
        higher_is_better=False,
    )


def _at_clock(table: pa.Table, tick_nanos: int) -> pa.Table:
    columns = [
        pc.multiply(pc.divide(column.cast(pa.int64()), tick_nanos), tick_nanos).cast(TIMESTAMP)
        if column.type == TIMESTAMP
        else column
        for column in table.columns
    ]
    return pa.table(columns, schema=table.schema)


def _tables(path: Path) -> tuple[Tables, SegmentFooter]:
    with SegmentFile(path) as segment:
        tables = {
            signal: pa.Table.from_batches(segment.batches(signal, 65_536)).unify_dictionaries()
            for signal in segment.signals
        }
        return tables, segment.stored.footer


def _cpu(name: str, new: float, old: float) -> Result:
    print(f"  {name}: {new:.1f} ms, format 1 {old:.1f}, {new / old:.3f}", flush=True)
    return compare(
        f"format_2_{name}",
        new,
        old,
        reference_name="format 1",
        unit="ms of CPU",
        bar=CPU_BAR,
        higher_is_better=False,
    )
