"""The content of a segment as its footer tells it, whatever release wrote it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from segments.errors import CorruptObject
from segments.facts.feature import NO_FACTS
from segments.location import StoreLocation
from segments.parquet.content import read_content
from segments.parquet.row_groups import GROUP_ROWS_MAX
from segments.signals import SIGNALS, Signal
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from tests.support.parquet.old_footers import without_signal_times
from tests.support.parquet.rows import FOOTER, rows_of, write_segment


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return open_store(StoreLocation.from_url(tmp_path.as_uri()))


@pytest.mark.parametrize("version", [1, 2])
def test_content_is_what_the_writer_counted(
    store: ObjectStore, tmp_path: Path, version: int
) -> None:
    tables = {signal: rows_of(signal, 40) for signal in SIGNALS}
    footer = replace(FOOTER, format_version=version)
    _, facts = write_segment(tmp_path / "x.parquet", tables, footer=footer)

    read = read_content(store, "x.parquet")

    assert read.content == facts.content
    assert (read.stored.rows, read.size_bytes) == (facts.rows, facts.size_bytes)


def test_content_of_0_1_0_is_counted_from_its_row_groups(
    store: ObjectStore, tmp_path: Path
) -> None:
    tables: dict[Signal, pa.Table] = {"logs": rows_of("logs", 40), "traces": rows_of("traces", 7)}
    # Two row groups of logs.
    copies = GROUP_ROWS_MAX // 40 + 1
    tables["logs"] = pa.concat_tables([tables["logs"]] * copies)
    footer = replace(FOOTER, format_version=1)
    _, facts = write_segment(tmp_path / "new.parquet", tables, footer=footer)
    body = without_signal_times((tmp_path / "new.parquet").read_bytes())
    (tmp_path / "x.parquet").write_bytes(body)

    read = read_content(store, "x.parquet")

    assert read.stored.times_by_signal is None
    assert read.content == replace(facts.content, written=NO_FACTS)


def test_row_groups_without_bounds_of_times_tell_nothing(
    store: ObjectStore, tmp_path: Path
) -> None:
    footer = replace(FOOTER, format_version=1)
    write_segment(tmp_path / "new.parquet", {"logs": rows_of("logs", 40)}, footer=footer)
    body = without_signal_times((tmp_path / "new.parquet").read_bytes())
    (tmp_path / "old.parquet").write_bytes(body)
    file = pq.ParquetFile(tmp_path / "old.parquet")
    how: dict[str, Any] = {"write_statistics": False, "store_schema": False}
    metadata: Any = file.metadata.metadata
    with pq.ParquetWriter(tmp_path / "x.parquet", file.schema_arrow, **how) as writer:
        writer.write_table(file.read())
        writer.add_key_value_metadata(metadata)

    assert read_content(store, "x.parquet").content is None


def test_format_2_without_time_bounds_a_signal_tells_nothing(
    store: ObjectStore, tmp_path: Path
) -> None:
    write_segment(tmp_path / "new.parquet", {"logs": rows_of("logs", 7)})
    body = without_signal_times((tmp_path / "new.parquet").read_bytes())
    (tmp_path / "x.parquet").write_bytes(body)

    assert read_content(store, "x.parquet").content is None


@pytest.mark.parametrize(
    "damage",
    [lambda body: body[:0], lambda body: body[:-1], lambda body: body[:4] + bytes(40) + body[-4:]],
    ids=["empty", "cut", "zeros"],
)
def test_what_is_not_a_segment_is_refused(
    store: ObjectStore, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    write_segment(tmp_path / "new.parquet", {"logs": rows_of("logs", 7)})
    (tmp_path / "x.parquet").write_bytes(damage((tmp_path / "new.parquet").read_bytes()))

    with pytest.raises(CorruptObject):
        read_content(store, "x.parquet")
