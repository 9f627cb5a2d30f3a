"""Downloads of logs, texts to copy, and the box that finds traces."""

import ast
import csv
import io
import json
import shlex
from pathlib import Path
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segplane.gateway.console.logs.copies import copies, file_name
from segplane.gateway.console.traces.search import find_trace_id
from tests.segplane.console.log_records import NOON, write_logs
from tests.support.gateway.segments import SegmentWriter
from tests.support.gateway.server import Answer, GatewayServer
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.server import MetaServer

TIMES = "from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z"
FORMULAS = (
    *("=1+1", "+1", "-1", "@sum", "\tx", "\rx", " =1+1", "\ufeff=1+1", "\u200b \u3000@x"),
    *("\uff1d1+1", "\uff0b1", "\uff0d1", "\uff20x"),
)
# Texts that become several cells where another character separates these.
SPLIT = {"x;=1+1": "x;'=1+1", "\n=1+1": "'\n'=1+1", "two\r=lines": "two\r'=lines"}
TEXTS = st.text(max_size=60)
TRACE = "0af7651916cd43dd8448eb211c80319c"


def download(console: GatewayServer, format_: str, search: str = "") -> Answer:
    address = f"ui/logs/download?dataset=web&{TIMES}&format={format_}{search}"
    answer = console.get(address)
    assert answer.status == 200, answer.body
    assert answer.headers["content-disposition"] == f'attachment; filename="web-logs.{format_}"'
    return answer


@pytest.fixture
def formulas(segments: SegmentWriter) -> SegmentWriter:
    texts = (*FORMULAS, "plain =1", *SPLIT)
    write_logs(
        segments,
        *({"timestamp": NOON + n, "body": text, "severity_number": -5, "attributes": {"n": n}}
          for n, text in enumerate(texts)),
    )  # fmt: skip
    return segments


@pytest.mark.usefixtures("formulas")
def test_a_csv_marks_formulas_as_text(console: GatewayServer) -> None:
    answer = download(console, "csv")

    rows = list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))
    assert [row["body"] for row in reversed(rows)] == [
        *(f"'{text}" for text in FORMULAS),
        "plain =1",
        *SPLIT.values(),
    ]
    assert {row["severity_number"] for row in rows} == {"-5"}
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "metric_name" not in rows[0]


@pytest.mark.usefixtures("formulas")
def test_a_download_has_the_whole_search_in_each_format(console: GatewayServer) -> None:
    search = "&q=" + quote("body startswith 'p' or body == '-1'") + "&columns=attributes.n"

    rows = download(console, "json", search).json
    table = pq.read_table(io.BytesIO(download(console, "parquet", search).body))

    assert [(row["body"], row["attributes.n"]) for row in rows] == [("plain =1", 13), ("-1", 2)]
    assert table["body"].to_pylist() == ["plain =1", "-1"]
    assert table.column_names == [
        *("timestamp", "timestamp_nanos", "severity", "service_name", "body", "attributes.n"),
    ]


def test_a_download_is_of_its_dataset_whatever_others_are_called(
    console: GatewayServer, segments: SegmentWriter, meta_server: MetaServer, tmp_path: Path
) -> None:
    write_logs(segments, {"body": "mine"})
    other = CatalogDriver(meta_server.client).dataset("web.logs")
    write_logs(SegmentWriter(meta_server.client, other, tmp_path), {"body": "other"})

    assert [row["body"] for row in download(console, "json").json] == ["mine"]


@pytest.mark.usefixtures("formulas")
def test_a_download_is_refused_like_its_search(console: GatewayServer) -> None:
    address = f"ui/logs/download?dataset=web&{TIMES}"

    assert console.get(f"{address}&format=xlsx").status == 400
    assert console.get(f"{address}&q=" + quote("body === 'x'")).status == 400
    assert console.get(f"{address}&q=" + quote("nothing == 'x'")).status == 400


@pytest.mark.usefixtures("formulas")
def test_the_texts_to_copy_are_on_a_page_that_the_logs_lead_to(console: GatewayServer) -> None:
    listed = console.get(f"ui/logs?dataset=web&{TIMES}&q=plain").body.decode()
    shared = console.get(f"ui/logs/share?dataset=web&{TIMES}&q=plain").body.decode()

    assert "/ui/logs/share?dataset=web&amp;q=plain" in listed
    for text in ("Copy as KQL", "Copy as curl", "Copy as Python", "body has", "/v1/query"):
        assert text in shared
    assert shared.count("/ui/logs/download?") == 3


@given(TEXTS, TEXTS)
def test_copied_texts_hold_the_query_whatever_it_is(query: str, server: str) -> None:
    kql, curl, python = copies(query, server)

    words = shlex.split(curl.text)
    tree = ast.parse(python.text)
    literals = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    assert kql.text == query
    assert words[3] == f"{server}/v1/query"
    assert json.loads(words[words.index("-d") + 1])["query"] == query
    assert query in literals
    assert f"{server}/v1/query" in literals


@given(TEXTS)
def test_a_file_name_is_plain(dataset: str) -> None:
    name = file_name(dataset, "csv")

    assert name.isascii()
    assert name.isprintable()
    assert not set('/\\"; ') & set(name)
    assert not name.startswith((".", "-logs"))


@pytest.mark.parametrize(
    "text",
    [
        TRACE,
        f"  {TRACE.upper()}\n",
        f'"{TRACE}"',
        f"{TRACE[:8]}-{TRACE[8:12]}-{TRACE[12:16]}-{TRACE[16:20]}-{TRACE[20:]}",
        f"00-{TRACE}-b7ad6b7169203331-01",
    ],
    ids=["plain", "upper case", "quoted", "uuid", "traceparent"],
)
def test_a_pasted_trace_id_is_recognised(text: str) -> None:
    assert find_trace_id(text) == TRACE
    assert find_trace_id(f"x{text}") is None


def test_a_found_text_leads_to_its_trace_or_to_logs(
    console: GatewayServer, segments: SegmentWriter, meta_server: MetaServer
) -> None:
    write_logs(segments, {"body": "here"})

    trace = console.get(f"ui/find?q={TRACE}&dataset=web")
    assert b"There is no span of this trace in web" in trace.body
    assert b"Logs of web" in console.get("ui/find?q=some+words&dataset=web").body
    assert console.get("ui/find?q=" + "x" * 2_049).status == 400
    CatalogDriver(meta_server.client).dataset("other")
    chosen = console.get(f"ui/find?q={TRACE}").body.decode()
    assert f"/ui/traces/{TRACE}?dataset=other" in chosen
    assert f"/ui/traces/{TRACE}?dataset=web" in chosen
