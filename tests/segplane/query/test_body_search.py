"""A text is found in the pages of few spans exactly where Arrow finds it in whole files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kql.functions.folding import folded_term_pattern
from segments.parquet.spec import SegmentSpec
from segments.token_index import blocks, builder
from segplane.read import ReadError, open_dataset
from segplane.read.dataset import OpenDataset
from segplane.read.rows.arrow_source import SegmentsDataset
from tests.segplane.query.conftest import QueryDriver
from tests.segplane.query.test_row_groups import replaced
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.segments import EPOCH
from tests.support.parquet.rows import rows_of

ROWS = 4_000
ODD = {
    11: "Kafka-7 RETRIES",
    12: "\u212aafka-7 retries",
    1_300: "önig7 ist da",
    1_301: "Xönig7 ist da",
    1_302: "日本önig7",
    2_500: "d\u0130sk9",
    2_501: "DISK9 (disk9)",
    2_502: "disk97 9disk9",
    3_999: "disk9",
}
TEXTS = ("n3998", "kafka", "kafka-7 retries", "önig7", "disk9", "retries", "n13 and", "isk")


@pytest.fixture
def spans(segments: SegmentWriter, monkeypatch: pytest.MonkeyPatch) -> SegmentWriter:
    """A file of logs with spans of 100 rows, and one of metrics."""
    monkeypatch.setattr(builder, "SHARE_MAX", 100.0)
    for module in (blocks, builder):
        monkeypatch.setattr(module, "SPAN_ROWS", 100)
    segments.has_token_index = True
    bodies = [ODD.get(n, None if n % 9 == 5 else f"n{n} and {n % 50}x" * 20) for n in range(ROWS)]
    table = replaced(rows_of("logs", ROWS, SegmentSpec()), "body", bodies)
    table = replaced(table, "timestamp", [EPOCH + n for n in range(ROWS)])
    table = replaced(table, "service_name", ["one"] * ROWS)
    segments.register({"logs": table, "metrics": rows_of("metrics", 150)}, SegmentSpec())
    return segments


def scanned(opened: OpenDataset, text: str) -> pa.Table:
    """The rows that Arrow finds in every file."""
    condition = pc.match_substring_regex(pc.field("body"), folded_term_pattern(text, "has"))
    table: pa.Table = opened.source().scanner(filter=condition).to_table()
    return table.sort_by("timestamp")


@pytest.mark.parametrize("text", TEXTS)
def test_the_rows_of_a_search_are_those_of_a_scan(
    queries: QueryDriver, spans: SegmentWriter, text: str
) -> None:
    with open_dataset("web", meta_address=queries.address) as opened:
        rows = opened.body_has(text).to_table().sort_by("timestamp")

        assert rows.equals(scanned(opened, text))
    assert bool(len(rows)) is (text != "isk")


def test_filters_and_columns_hold_for_the_rows_of_pages(
    queries: QueryDriver, spans: SegmentWriter
) -> None:
    with open_dataset("web", meta_address=queries.address) as opened:
        source = opened.body_has("disk9").source()
        late = pc.field("timestamp") > pc.field("timestamp")

        def bodies(**options: Any) -> list[Any]:
            return source.scanner(**options).to_table().column(0).to_pylist()

        assert not source.is_arrows_own
        assert bodies(columns=["body"]) == ["d\u0130sk9", "DISK9 (disk9)", "disk9"]
        assert bodies(columns=["service_name"], filter=pc.field("body") == "disk9") == ["one"]
        assert bodies(columns={"size": pc.utf8_length(pc.field("body"))}) == [5, 13, 5]
        assert bodies(columns=["body"], filter=late) == []
        assert source.filter(pc.field("body") == "disk9").scanner().count_rows() == 1
        assert source.scanner(columns=[]).count_rows() == 3
    with (
        open_dataset("web", "metrics", meta_address=queries.address) as opened,
        pytest.raises(ReadError, match="metrics have no body"),
    ):
        opened.body_has("disk9")


def test_a_text_of_many_rows_is_read_by_arrow(
    queries: QueryDriver, spans: SegmentWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segplane.read.rows.body_search._ROWS_MAX", 500)
    with open_dataset("web", columns=["body"], meta_address=queries.address) as opened:
        for text, is_arrows_own in (("disk9", False), ("and", True)):
            found = opened.body_has(text)
            source: SegmentsDataset = found.source()
            assert source.is_arrows_own is is_arrows_own
            assert found.to_table().num_rows == scanned_rows(opened, text)


def scanned_rows(opened: OpenDataset, text: str) -> int:
    condition = pc.match_substring_regex(pc.field("body"), folded_term_pattern(text, "has"))
    return opened.source().scanner(filter=condition).count_rows()


@pytest.mark.long
def test_a_damaged_page_is_an_error(
    queries: QueryDriver, spans: SegmentWriter, tmp_path: Path
) -> None:
    with open_dataset("web", meta_address=queries.address) as opened:
        (file,) = (f for f in opened.files() if f.signals and "logs" in f.signals)
        path = Path(file.url.removeprefix("file://"))
        content = path.read_bytes()
        metadata = pa.parquet.read_metadata(path)
        group = metadata.row_group(0)
        columns = [group.column(number) for number in range(group.num_columns)]
        (body,) = (column for column in columns if column.path_in_schema == "body")
        end = body.data_page_offset + body.total_compressed_size
        damaged = bytearray(content)
        damaged[end - 20] ^= 1
        path.write_bytes(damaged)

        with pytest.raises(ReadError, match="checksum"):
            opened.body_has("n3990").to_table()
        assert opened.body_has("kafka").to_table().num_rows == 2
