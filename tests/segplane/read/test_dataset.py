"""A dataset reads the same by every library, whatever formats and columns its files have."""

from collections import Counter
from datetime import UTC, datetime

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segments.parquet.spec import PromotedColumn
from segments.signals import SIGNALS, Signal
from segplane.read import ReadError
from tests.segplane.read.conftest import Open
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.segments import DAY, EPOCH
from tests.support.reading import rows_as_read, rows_as_written

STATUS = PromotedColumn("http_status", "int", "record", "status")
USER = PromotedColumn("user", "string", "record", "user.id")


def promote(segments: SegmentWriter) -> None:
    """Promote two attributes: files from before lack their columns."""
    kinds = {"int": common_pb2.KQL_TYPE_INT, "string": common_pb2.KQL_TYPE_STRING}
    columns = [
        common_pb2.PromotedColumn(
            name=column.name,
            type=kinds[column.kql_type],
            scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
            attribute=column.attribute,
        )
        for column in (STATUS, USER)
    ]
    settings = pb.DatasetSettings(promoted_columns=pb.PromotedColumns(columns=columns))
    segments.client.operations.SetDatasetSettings(
        pb.SetDatasetSettingsRequest(dataset_id=segments.dataset, settings=settings)
    )


def test_every_library_reads_files_of_every_kind_as_they_were_written(
    segments: SegmentWriter, opened: Open
) -> None:
    segments.write(signals=SIGNALS, format_version=1)
    segments.write(day=1, signals=("logs",), format_version=1, is_known=False)
    segments.write(day=2, signals=("metrics", "traces"))
    promote(segments)
    segments.write(day=3, signals=SIGNALS)
    expected = rows_as_written(segments.sections, (STATUS, USER))

    web = opened()
    source = web.to_arrow()

    assert isinstance(source, pa.RecordBatchReader)
    assert source.schema == web.schema
    table = source.read_all()
    assert rows_as_read(table) == expected
    assert table["user"].null_count < table.num_rows
    assert rows_as_read(web.polars().collect().to_arrow().cast(web.schema)) == expected
    relation = web.duckdb(duckdb.connect())
    for _ in range(2):
        assert rows_as_read(relation.to_arrow_table().cast(web.schema)) == expected
    frame = web.pandas()
    assert Counter(frame["signal"]) == Counter(signal for signal, _ in segments.rows)
    assert list(frame.columns) == web.schema.names


def test_files_of_format_2_are_a_dataset_of_arrow(segments: SegmentWriter, opened: Open) -> None:
    for day in range(3):
        segments.write(day=day, signals=("logs", "traces"))

    web = opened(signal="traces", start=EPOCH + DAY)
    source = web.to_arrow()

    assert isinstance(source, ds.Dataset)
    assert source.count_rows() == 40
    assert rows_as_read(source.to_table()) == rows_as_written(
        [{"traces": tables["traces"]} for tables in segments.sections[1:]]
    )
    later = source.filter(
        pc.field("timestamp") >= datetime.fromtimestamp(EPOCH / 10**9 + 2 * 86400, UTC)
    )
    assert later.count_rows() == 20
    assert later.schema == web.schema
    assert [file.signals for file in web.files()] == [("logs", "traces")] * 2


@pytest.mark.parametrize("format_version", [1, 2])
def test_bounds_are_exact_to_the_nanosecond(
    segments: SegmentWriter, opened: Open, format_version: int
) -> None:
    # Row n is n nanoseconds behind whole ones: the bounds lie between microseconds.
    segments.write(rows=20, format_version=format_version)
    times = sorted(time for _, time in segments.rows)

    def count(start: int | None, end: int | None) -> int:
        return opened(start=start, end=end).to_table().num_rows

    assert count(times[3], times[7]) == 4
    assert count(times[3] + 1, times[7] + 1) == 4
    assert count(None, times[5] + 1) == 6
    assert count(times[19], None) == 1
    assert count(times[19] + 1, None) == 0


def test_columns_are_those_that_were_asked_for(segments: SegmentWriter, opened: Open) -> None:
    segments.write(format_version=1)
    promote(segments)
    segments.write(day=1)

    logs = opened(
        signal="logs", columns=["user", "body", "timestamp_nanos"], start=EPOCH + DAY // 2
    )
    whole = opened(signal="logs", start=EPOCH + DAY // 2).to_table()

    assert logs.to_table().equals(whole.select(["user", "body", "timestamp_nanos"]))
    assert logs.duckdb(duckdb.connect()).columns == ["user", "body", "timestamp_nanos"]
    assert whole["user"].null_count < whole.num_rows


@pytest.mark.parametrize("signals", [("logs",), ("metrics",), ("traces",), SIGNALS])
def test_the_schema_does_not_depend_on_the_files(
    segments: SegmentWriter, opened: Open, signals: tuple[Signal, ...]
) -> None:
    signal = signals[0] if len(signals) == 1 else None
    empty = opened(signal=signal)
    assert empty.to_table().num_rows == 0
    segments.write(signals=signals)

    full = opened(signal=signal)

    assert full.to_table().schema == empty.to_table().schema == full.schema
    assert full.to_table().num_rows == 20 * len(signals)


def test_an_older_version_reads_what_it_showed(segments: SegmentWriter, opened: Open) -> None:
    segments.write()
    before = opened()
    segments.write(day=1)

    again = opened(as_of=before.version)

    assert opened().to_table().num_rows == 40
    assert before.to_table().num_rows == again.to_table().num_rows == 20
    assert again.version == before.version


def test_progress_counts_rows(segments: SegmentWriter, opened: Open) -> None:
    segments.write(rows=30)
    steps: list[tuple[int, int]] = []

    opened(progress=lambda rows, rows_max: steps.append((rows, rows_max))).to_table()

    assert steps[-1] == (30, 30)


# Options of a read, and a part of what is said.
REFUSED: tuple[tuple[dict[str, object], str], ...] = (
    ({"name": "wep"}, "there is no dataset 'wep': did you mean 'web'?"),
    ({"signal": "log"}, "signal is 'log', expected one of logs, metrics, traces"),
    ({"columns": ["tmestamp"]}, "there is no column 'tmestamp': did you mean 'timestamp'?"),
    ({"columns": "timestamp"}, "expected a list of names"),
    ({"columns": ["body", "body"]}, "names a column twice"),
    ({"signal": "logs", "columns": ["duration_ns"]}, "there is no column 'duration_ns'"),
    ({"start": "yesterday"}, "start: 'yesterday' is neither RFC 3339"),
    ({"end": datetime(2026, 1, 1)}, "without a time zone"),  # noqa: DTZ001
    ({"start": 5, "end": 5}, "start 5 is not before end 5"),
    ({"end": 2**63}, "not within 64 bits"),
    ({"as_of": 10**9}, "version"),
    ({"meta_address": "127.0.0.1:1"}, "meta does not answer at 127.0.0.1:1"),
    ({"ca": "/nowhere.pem"}, "/nowhere.pem"),
)


@pytest.mark.long
def test_what_cannot_be_read_is_refused_in_a_sentence(segments: SegmentWriter) -> None:
    from segplane.read import open_dataset

    for options, sentence in REFUSED:
        arguments = {"name": "web", "meta_address": segments.client.target, **options}

        with pytest.raises(ReadError) as refused:
            open_dataset(**arguments)  # type: ignore[arg-type]

        assert sentence in str(refused.value)
        assert "\n" not in str(refused.value)


def test_the_newest_of_some_columns_are_refused_in_a_sentence(
    segments: SegmentWriter, opened: Open
) -> None:
    segments.write()

    with pytest.raises(ReadError, match="open the dataset without `columns`"):
        opened(columns=["body"]).newest(1)
