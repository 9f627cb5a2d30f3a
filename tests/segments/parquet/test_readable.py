"""Words beside numbers: written for readers, not read back, and added by merges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from segments.location import StoreLocation
from segments.parquet.columns.readable import READABLE_COLUMNS
from segments.parquet.columns.stored_columns import readable_names
from segments.parquet.reader import SegmentFile
from segments.parquet.small_writer import small_format
from segments.parquet.spec import PromotedColumn, SegmentSpec
from segments.signals import SIGNALS, Signal
from segments.store.open import open_store
from tests.support.parquet.rows import FOOTER, PLAIN, plain, rows_of, write_segment
from tests.support.parquet.shelf import Shelf, order

# What OTLP defines, and numbers on both sides of it.
WORDS: dict[str, dict[int | None, str | None]] = {
    "severity": {
        None: None,
        -1: None,
        0: None,
        1: "TRACE",
        4: "TRACE",
        5: "DEBUG",
        9: "INFO",
        13: "WARN",
        16: "WARN",
        17: "ERROR",
        24: "FATAL",
        25: None,
    },
    "temporality": {None: None, 0: None, 1: "DELTA", 2: "CUMULATIVE", 3: None},
    "span_kind": {
        None: None,
        0: None,
        1: "INTERNAL",
        2: "SERVER",
        3: "CLIENT",
        4: "PRODUCER",
        5: "CONSUMER",
        6: None,
    },
    "span_status": {None: None, 0: "UNSET", 1: "OK", 2: "ERROR", 3: None, 2**31 - 1: None},
}
OWNERS: dict[str, Signal] = {
    "severity": "logs",
    "temporality": "metrics",
    "span_kind": "traces",
    "span_status": "traces",
}


def tables() -> dict[Signal, pa.Table]:
    """Rows of each signal in which every number of WORDS occurs."""
    made: dict[Signal, pa.Table] = {signal: rows_of(signal, 30) for signal in SIGNALS}
    for column in READABLE_COLUMNS:
        table = made[OWNERS[column.name]]
        numbers = list(WORDS[column.name])
        cycled = pa.array([numbers[n % len(numbers)] for n in range(30)], pa.int32())
        place = table.schema.get_field_index(column.source)
        made[OWNERS[column.name]] = table.set_column(place, table.schema.field(place), cycled)
    return made


def found_words(path: Path) -> Mapping[str, dict[int | None, str | None]]:
    """The words that a file has for each number, as any reader sees them."""
    rows = pq.read_table(path)
    found: dict[str, dict[int | None, str | None]] = {}
    for column in READABLE_COLUMNS:
        own = rows.filter(pc.field("signal") == OWNERS[column.name])
        pairs = zip(own[column.source].to_pylist(), own[column.name].to_pylist(), strict=True)
        found[column.name] = dict(pairs)
    return found


def test_every_number_has_its_word_in_a_large_file(tmp_path: Path) -> None:
    write_segment(tmp_path / "x.parquet", tables())

    assert found_words(tmp_path / "x.parquet") == WORDS


def test_every_number_has_its_word_in_a_small_file(tmp_path: Path) -> None:
    format_ = small_format(SIGNALS, PLAIN)
    sections = {
        signal: section
        for signal, table in tables().items()
        for _, section in format_.sections(signal, table, pa.array([0] * 30, pa.int32()))
    }

    (tmp_path / "x.parquet").write_bytes(format_.write(sections, FOOTER).body)

    assert found_words(tmp_path / "x.parquet") == WORDS


def test_words_are_not_read_back(tmp_path: Path) -> None:
    ordered, _ = write_segment(tmp_path / "x.parquet", tables())

    with SegmentFile(tmp_path / "x.parquet") as segment:
        found = {s: pa.Table.from_batches(segment.batches(s, 7)) for s in SIGNALS}

    assert {s: plain(t) for s, t in found.items()} == {s: plain(t) for s, t in ordered.items()}


def test_format_1_has_no_words(tmp_path: Path) -> None:
    write_segment(tmp_path / "x.parquet", tables(), footer=replace(FOOTER, format_version=1))

    assert not set(WORDS).intersection(pq.read_schema(tmp_path / "x.parquet").names)


@pytest.mark.parametrize("version", [1, 2])
def test_a_merge_adds_the_words_that_its_inputs_lack(tmp_path: Path, version: int) -> None:
    """Files of format 2 had no words at first."""
    (tmp_path / "store").mkdir()
    shelf = Shelf(open_store(StoreLocation.from_url(f"file://{tmp_path}/store")), tmp_path)
    item = shelf.put(tables(), footer=replace(FOOTER, format_version=version))
    path = tmp_path / "store" / item.key
    _without_words(path)

    shelf.merge([item], order())

    assert found_words(tmp_path / "merged.parquet") == WORDS


def _without_words(path: Path) -> None:
    file = pq.ParquetFile(path)
    names = [name for name in file.schema_arrow.names if name not in WORDS]
    groups = [file.read_row_group(n, columns=names) for n in range(file.num_row_groups)]
    path.unlink()
    with pq.ParquetWriter(path, groups[0].schema, store_schema=False) as writer:
        for group in groups:
            writer.write_table(group)
        said = {k.decode(): v.decode() for k, v in (file.metadata.metadata or {}).items()}
        writer.add_key_value_metadata(said)


def test_a_promoted_column_with_the_name_of_words_keeps_it(tmp_path: Path) -> None:
    clashing = (
        PromotedColumn("Severity", "long", "record", "status", 1_000),
        PromotedColumn("severity_", "string", "record", "user.id", 1_002),
    )
    spec = SegmentSpec(("severity_",), clashing)
    ordered, _ = write_segment(tmp_path / "x.parquet", {"logs": rows_of("logs", 50, spec)}, spec)

    assert readable_names(clashing)["severity"] == "severity__"
    assert "severity__" in pq.read_schema(tmp_path / "x.parquet").names
    with SegmentFile(tmp_path / "x.parquet") as segment:
        found = pa.Table.from_batches(segment.batches("logs", 64))
    assert plain(found) == plain(ordered["logs"])


def test_engines_filter_by_words(tmp_path: Path) -> None:
    write_segment(tmp_path / "x.parquet", tables())
    query = (
        "SELECT DISTINCT severity_number FROM read_parquet(?)"
        " WHERE signal = 'logs' AND severity IN ('WARN', 'ERROR') ORDER BY ALL"
    )

    with duckdb.connect() as database:
        rows = database.execute(query, [str(tmp_path / "x.parquet")]).fetchall()

    assert rows == [(13,), (16,), (17,)]
