"""Automatic columns never change an answer, whatever files have them, and in whatever state."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from meta.v1 import common_pb2
from meta.v1 import operations_pb2 as pb
from segments.parquet.columns.automatic import automatic_columns
from segments.parquet.columns.promoted import promote
from segments.parquet.footer import SegmentFooter
from segments.parquet.spec import SegmentSpec
from segments.signals import SIGNALS, Signal
from segplane.query import file_groups
from segplane.query.engine import RunningQuery
from segplane.query.errors import QueryError
from segplane.query.plan import QueryPlan
from tests.segplane.query.conftest import QueryDriver
from tests.segplane.query.test_row_groups import replaced
from tests.support.examples import examples
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.dataset_life import set_settings
from tests.support.meta.segments import EPOCH
from tests.support.parquet.rows import rows_of

FIXED_SEED = 7
SEED = random.randrange(2**32) if not os.environ.get("CI") else 8
FILES = 12
KEYS = {"user.id": "string", "status": "long", "size": "long", "route": "string", "b": "string"}
TEXTS = (
    "",
    "a",
    "u1",
    "500",
    "-0",
    "1.0",
    "true",
    "null",
    "Zürich",
    "\u2028",
    'q"uote',
    "b\\n",
    "{}",
    "x y",
)
WHOLES = ("0", "7", "200", "500", "-3", "9223372036854775807", "-9223372036854775808")
ODD = (
    *("null", "-0", "1.0", "5e2", "9223372036854775808", "true", "[1]", '{"status":500}'),
    *('"500"', "500", '"\\u0000"', '"\\u0061"'),
)
EXPRESSIONS = (
    *("tostring(attributes['{}'])", "toint(attributes['{}'])", "tolong(attributes['{}'])"),
    *("todouble(attributes['{}'])", "isnull(attributes['{}'])", "isempty(attributes['{}'])"),
    *("attributes['{}'] == 500", "attributes['{}'] > 6.5", "attributes['{}'] == 'u1'"),
    *(
        "attributes['{}'] in ('u1', '500', '')",
        "attributes['{}'] has 'a'",
        "gettype(attributes['{}'])",
    ),
    *("attributes['{}'] + 1", "strlen(tostring(attributes['{}']))", "attributes['{}'] != '1.0'"),
    *(
        "tobool(attributes['{}'])",
        "tostring(attributes['{}']) startswith 'u'",
        "tostring(attributes.{})",
    ),
)
FRAMES = (
    "web | extend x = {} | project timestamp, x",
    "web | summarize count() by x = tostring({})",
    "web | where tostring({}) == tostring({}) | count",
    "web.logs | extend y = 1 | project-rename b = attributes | extend attributes = b"
    " | summarize n = count(), max(strlen(tostring({}))) by y",
    "web | where isnotempty(tostring({})) | sort by timestamp asc | take 7"
    " | project timestamp, z = {}",
    "web | distinct x = tostring({}), signal",
    "web | join kind=inner (web | where signal == 'logs' | extend k = tostring({})) on timestamp"
    " | summarize count() by k",
    "web | union (web | extend u = tostring({})) | summarize count() by u",
    "let t = web | where tostring({}) != 'x'; t | summarize dcount(tostring({})) by signal",
)  # fmt: skip


def whole_json(rng: random.Random, is_clean: bool) -> str:
    """The attributes of a record; of a clean one each value has the type of its key."""
    parts = []
    for key, type_ in KEYS.items():
        if rng.random() < 0.3:
            continue
        value = (
            rng.choice(WHOLES)
            if type_ == "long"
            else json.dumps(rng.choice(TEXTS), ensure_ascii=False)
        )
        if not is_clean and rng.random() < 0.05:
            value = rng.choice(ODD)
        parts.append(f'"{key}":{value}')
        if not is_clean and rng.random() < 0.01:
            parts.append(f'"{key}":{rng.choice(ODD)}')
    rng.shuffle(parts)
    if not is_clean and rng.random() < 0.05:
        parts.append('"nested":{"user.id":"inner","status":1}')
    return "{" + ",".join(parts) + "}"


def set_columns(queries: QueryDriver, dataset: str, *, is_on: bool) -> None:
    types = {"string": common_pb2.KQL_TYPE_STRING, "long": common_pb2.KQL_TYPE_LONG}
    columns = [
        common_pb2.AutomaticColumn(attribute=key, type=types[type_], written=True)
        for key, type_ in KEYS.items()
    ]
    setting = pb.AutomaticColumns(enabled=is_on, columns=columns)
    set_settings(queries.client, dataset, pb.DatasetSettings(automatic_columns=setting))


def written_file(
    segments: SegmentWriter, rng: random.Random, number: int, *, has_columns: bool
) -> None:
    """Register a file of random attributes, with automatic columns as a writer makes them."""
    rows = rng.choice([3, 40, 200])
    is_clean = rng.random() < 0.6
    spec = segments.spec() if has_columns else SegmentSpec()
    tables: dict[Signal, pa.Table] = {}
    unusable = set[str]()
    for signal in rng.sample(SIGNALS, rng.randrange(1, 3)):
        table = rows_of(signal, rows, SegmentSpec(), number)
        texts = [whole_json(rng, is_clean) for _ in range(rows)]
        table = replaced(table, "attributes", texts)
        # Each time once: the first rows of an order are the same in each reading.
        start = EPOCH + 1_000_000 * (number * len(SIGNALS) + SIGNALS.index(signal))
        table = replaced(table, "timestamp", [start + 1_000 * n for n in range(rows)])
        batch = table.combine_chunks().to_batches()[0]
        arrays, failures = promote(batch, spec.promoted)
        for column, values in zip(spec.promoted, arrays, strict=True):
            table = table.append_column(column.name, values)
        unusable |= {name for name, failed in failures.items() if failed}
        tables[signal] = table
    footer = SegmentFooter(segments.dataset, "test", unusable=frozenset(unusable))
    segments.register(tables, spec, rng.choice([1, 2]), footer=footer)


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of the files and of the questions."""
    return int(getattr(request, "param", FIXED_SEED))


@pytest.fixture
def written(segments: SegmentWriter, queries: QueryDriver, seed: int) -> SegmentWriter:
    """Files of both formats, some with usable columns, some with unusable ones, some without."""
    rng = random.Random(seed)
    set_columns(queries, segments.dataset, is_on=True)
    for number in range(FILES):
        written_file(segments, rng, number, has_columns=rng.random() < 0.7)
    return segments


def questions(rng: random.Random, number: int) -> Iterator[str]:
    for _ in range(number):
        frame = rng.choice(FRAMES)
        holes = frame.count("{}")
        filled = [
            rng.choice(EXPRESSIONS).format(rng.choice([*KEYS, "other"])) for _ in range(holes)
        ]
        yield frame.format(*filled)


def planned(queries: QueryDriver, texts: list[str]) -> dict[str, QueryPlan]:
    plans = {}
    for text in texts:
        try:
            plans[text] = queries.plan(text)
        except QueryError:
            # An expression of a type that its frame does not take.
            continue
    return plans


def answer(queries: QueryDriver, plan: QueryPlan) -> Counter[str]:
    def call(query: RunningQuery) -> Counter[str]:
        return Counter(map(repr, query.reader().read_all().to_pylist()))

    rows: Counter[str] = queries.run(plan, call)
    return rows


@pytest.mark.long
@pytest.mark.parametrize("seed", [FIXED_SEED, SEED], ids=["fixed", "drawn"], indirect=True)
def test_an_automatic_column_never_changes_an_answer(
    queries: QueryDriver, written: SegmentWriter, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    texts = list(questions(rng, examples(120)))
    with_columns = planned(queries, texts)
    set_columns(queries, written.dataset, is_on=False)
    scans = planned(queries, texts)
    assert with_columns.keys() == scans.keys()
    assert not any(read.hidden for plan in scans.values() for read in plan.reads)

    hidden = 0
    for text, plan in with_columns.items():
        # Few groups, so that some files with columns are read by their JSON.
        monkeypatch.setattr(file_groups, "GROUPS_MAX", rng.choice([1, 3, 8]))
        assert answer(queries, plan) == answer(queries, scans[text]), (seed, text)
        hidden += any(read.hidden for read in plan.reads)

    # How many questions read hidden columns depends on the draw.
    assert seed != FIXED_SEED or hidden > len(with_columns) / 3


def test_the_columns_of_a_file_are_what_a_query_reads(
    segments: SegmentWriter, queries: QueryDriver
) -> None:
    """A file whose columns differ from its JSON tells which of the two is read."""
    set_columns(queries, segments.dataset, is_on=True)
    for unusable in (frozenset[str](), frozenset(c.name for c in segments.spec().promoted)):
        table = rows_of("logs", 2, SegmentSpec(), 0)
        table = replaced(table, "attributes", ['{"user.id":"json","status":1}'] * 2)
        for column in automatic_columns(segments.spec().promoted):
            other: list[Any] = ["column"] * 2 if column.kql_type == "string" else [2, 2]
            values = pa.array(other)
            is_text = column.kql_type == "string"
            table = table.append_column(
                column.name, values.dictionary_encode() if is_text else values
            )
        footer = SegmentFooter(segments.dataset, "test", unusable=unusable)
        segments.register({"logs": table}, segments.spec(), footer=footer)

    def ask(value: str) -> list[tuple[Any, ...]]:
        return queries.rows(f"web | summarize n = count() by v = {value} | sort by v asc")

    assert ask("tostring(attributes['user.id'])") == [("column", 2), ("json", 2)]
    assert ask("toint(attributes['status'])") == [(1, 2), (2, 2)]
    assert ask("attributes['status'] == 2") == [(False, 2), (True, 2)]
    # Hidden: in no list of columns, and the text of all attributes is the JSON.
    assert not [name for name, *_ in queries.rows("web | getschema") if name.startswith("$")]
    assert queries.rows("web | project a = tostring(attributes)| distinct a") == [
        ('{"user.id":"json","status":1}',)
    ]
    set_columns(queries, segments.dataset, is_on=False)
    assert ask("tostring(attributes['user.id'])") == [("json", 4)]


def test_a_damaged_column_fails_as_any_other(
    segments: SegmentWriter, queries: QueryDriver, meta_server: Any
) -> None:
    set_columns(queries, segments.dataset, is_on=True)
    table = rows_of("logs", 200, SegmentSpec(), 0)
    table = replaced(table, "attributes", [f'{{"user.id":"user-{n}"}}' for n in range(200)])
    spec = segments.spec()
    (batch,) = table.combine_chunks().to_batches()
    for column, values in zip(spec.promoted, promote(batch, spec.promoted)[0], strict=True):
        table = table.append_column(column.name, values)
    segments.register({"logs": table}, spec)
    question = "web | where tostring(attributes['user.id']) == 'user-7' | count"
    assert queries.rows(question) == [(1,)]

    (path,) = Path("/", meta_server.settings.location.path).rglob("*.parquet")
    body = bytearray(path.read_bytes())
    metadata = pq.read_metadata(path)
    group = metadata.row_group(0)
    names = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    chunk = names[next(c.name for c in spec.promoted if c.attribute == "user.id")]
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    body[start : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size)
    path.chmod(0o600)
    path.write_bytes(body)

    with pytest.raises(QueryError):
        queries.rows(question)
    # The JSON is whole.
    set_columns(queries, segments.dataset, is_on=False)
    assert queries.rows(question) == [(1,)]
