"""Token indexes skip row groups within a file, for every reader of ours."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from segments.parquet import row_groups
from segments.parquet.spec import SegmentSpec
from segments.token_index import builder
from segplane.query.engine import RunningQuery
from segplane.query.explain import explanation
from segplane.read import ReadError, open_dataset
from segplane.read.rows.arrow_source import segments_dataset
from segplane.read.rows.body_search import BodySearch
from tests.segplane.query.conftest import QueryDriver
from tests.segplane.query.test_row_groups import replaced
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.segments import EPOCH
from tests.support.parquet.rows import rows_of


@pytest.fixture
def divided(segments: SegmentWriter, monkeypatch: pytest.MonkeyPatch) -> SegmentWriter:
    """One file of ten row groups with logs and two with metrics."""
    monkeypatch.setattr(builder, "SHARE_MAX", 100.0)
    monkeypatch.setattr(row_groups, "GROUP_ROWS_MAX", 10)
    segments.has_token_index = True
    table = replaced(
        rows_of("logs", 95, SegmentSpec()), "body", [f"alpha{n} all" for n in range(95)]
    )
    table = replaced(table, "timestamp", [EPOCH + n for n in range(95)])
    table = replaced(table, "service_name", ["one"] * 95)
    segments.register({"logs": table, "metrics": rows_of("metrics", 15)}, SegmentSpec())
    return segments


def test_row_groups_within_a_file_are_skipped(queries: QueryDriver, divided: SegmentWriter) -> None:
    def call(query: RunningQuery) -> tuple[list[str], list[list[int]], str]:
        rows = query.reader().read_all().column("body").to_pylist()
        (source,) = query.sources
        kept = [[span.group for span in file.spans or ()] for file in source.files]
        return sorted(map(str, rows)), kept, "\n".join(explanation(query))

    def asked(condition: str) -> tuple[list[str], list[list[int]], str]:
        text = f"web | where body {condition} | project body"
        found: tuple[list[str], list[list[int]], str] = queries.run(queries.plan(text), call)
        return found

    rows, kept, explained = asked("has 'ALPHA41'")
    assert (rows, kept) == (["alpha41 all"], [[4]])
    assert "11 spans of rows of these files" in explained
    assert asked("has_any ('alpha3', 'alpha94')")[:2] == (["alpha3 all", "alpha94 all"], [[0, 9]])
    # Every row group of logs has it, and none of metrics.
    rows, kept, _ = asked("has 'all'")
    assert (len(rows), kept) == (95, [list(range(10))])
    assert asked("has 'alpha1000'")[:2] == ([], [])


@pytest.mark.long
def test_bodies_are_searched_through_every_door(
    queries: QueryDriver, divided: SegmentWriter
) -> None:
    def bodies(text: str, **options: Any) -> list[str]:
        with open_dataset("web", meta_address=queries.address, **options) as dataset:
            opened = dataset.body_has(text)
            rows = opened.to_table()["body"].to_pylist()
            assert opened.polars().collect()["body"].to_list() == rows
            assert [
                b for (b,) in opened.duckdb(duckdb.connect()).project("body").fetchall()
            ] == rows
            assert opened.of_signal("logs").to_table()["body"].to_pylist() == rows
            with pytest.raises(ReadError, match="ask the dataset without `body_has`"):
                opened.newest(1)
            return sorted(rows)

    assert bodies("ALPHA41") == bodies("alpha41 all") == ["alpha41 all"]
    assert bodies("alpha4") == ["alpha4 all"]
    assert len(bodies("all")) == 95
    assert bodies("41") == bodies("alpha1000") == []
    # Another column list needs no body.
    with open_dataset("web", columns=["service_name"], meta_address=queries.address) as opened:
        assert opened.body_has("alpha41").to_table().to_pylist() == [{"service_name": "one"}]


def test_a_reader_of_arrow_opens_the_row_groups_that_may_have_a_term(
    queries: QueryDriver, divided: SegmentWriter
) -> None:
    with open_dataset("web", meta_address=queries.address) as opened:
        files = BodySearch("alpha41", opened.columns).files(opened.files())
        source = segments_dataset(opened.columns, opened.bounds, files, None, opened.pin)
        fragments = list(source.get_fragments())

    assert [group.id for fragment in fragments for group in fragment.row_groups] == [4]
