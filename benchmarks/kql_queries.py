"""Queries in KQL: over a view against SQL by hand, by promoted columns against JSON, and checking.

About 100 MB in one segment, in a real meta. CPU time of the asking process, all in turn. Both sides
of a view's ratio plan, pin, look up and run alike. The corpus are questions about a web shop.
"""

import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pyarrow as pa

from benchmarks.harness.merged_segments import DATASET_ID, HOUR_START, write_segments
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import BenchServer, bench_postgres, bench_server
from benchmarks.harness.timing import least_cpu
from dataplane.dataset_layout import read_layout
from dataplane.registration import create_segment
from kql.syntax.parser import parse_query
from meta.client import MetaClient
from meta.v1 import catalog_pb2, common_pb2, ingestion_pb2
from meta.v1 import operations_pb2 as ops
from segments.keys import new_merged_key
from segments.location import StoreLocation
from segments.merging.inputs import MergeInput
from segments.merging.merge import MergeOrder, merge_segments
from segments.parquet.reader import SegmentFile
from segments.store.open import open_store
from segplane.query.engine import QueryLimits, opened_query
from segplane.query.plan import plan_kql
from segplane.query.runs import define_views, plan
from segplane.query.sources import QueryPlace
from segplane.query.tables import CatalogTables

SEGMENTS = 10
ROUNDS = 9
THREADS = 2
PARSED = 600
PARSE_SECS_MAX = 2.0
DATASET, VIEW = "web", "failures"
LINKS = (
    "where signal == 'logs' and severity_number >= 17"
    " | project moment = timestamp, service = service_name, what = body",
    "where signal == 'traces' and status_code == 2"
    " | project moment = timestamp, service = service_name, what = name",
)
OF_VIEW = (
    f"{VIEW} | where what contains_cs 'e' | summarize n = count(), last = max(moment) by service"
)
BY_HAND = """
SELECT service, count(*) AS n, max(moment) AS last FROM (
    SELECT timestamp AS moment, service_name AS service, body AS what FROM web
    WHERE signal = 'logs' AND severity_number >= 17
    UNION ALL
    SELECT timestamp AS moment, service_name AS service, name AS what FROM web
    WHERE signal = 'traces' AND status_code = 2
) WHERE contains(what, 'e') GROUP BY service
"""
USER = "u4711"
BY_COLUMN = f"web | where attributes['user.id'] == '{USER}' | count"
# A text that is computed is none that a column holds.
BY_JSON = f"web | where strcat(attributes['user.id'], '') == '{USER}' | count"
BY_SECOND = (
    "web | where signal == 'logs' | summarize count() by bin(timestamp, 1s), severity_number"
)
SECONDS_BY_HAND = """
SELECT make_timestamptz(epoch_us(timestamp) // 1000000 * 1000000) AS second, severity_number,
    count(*) AS n
FROM web WHERE signal = 'logs' GROUP BY 1, 2
"""
PROMOTED = ("kql_promoted", "the attribute in its JSON", 1 / 8)
# KQL counts seconds from the year 1, as for any other width.
SECONDS = ("kql_seconds", "the best SQL by hand", 1.3)
_HALF = datetime.fromtimestamp(HOUR_START / 1e9 + 1_800, UTC).isoformat()
CORPUS = (
    "web | where signal == 'logs' | summarize count() by service_name, severity_number",
    f"web | where timestamp < datetime({_HALF}) | summarize count() by bin(timestamp, 1m)",
    "web | where signal == 'traces' | summarize percentile(duration, 99) by service_name, name",
    "web | where body has 'upstream' and severity_number >= 17 | summarize count() by service_name",
    "web | where signal == 'traces' and status_code == 2 | top 20 by duration desc"
    " | project timestamp, service_name, name, duration",
    "web | where signal == 'metrics' | summarize avg(value_double), max(value_long) by metric_name",
    "web | where signal == 'logs' | extend user = tostring(attributes['user.id'])"
    " | summarize users = dcount(user) by service_name | sort by users desc | take 10",
    "web | where body matches regex 'status [45][0-9]+' | count",
    "let slow = web | where signal == 'traces' and duration > 4ms | distinct trace_id;"
    " web | where signal == 'logs' | join kind=leftsemi slow on trace_id"
    " | summarize count() by severity_text",
    f"{OF_VIEW} | sort by n desc",
    "web | where signal == 'logs' | parse body with * 'status ' status:long ' in ' *"
    " | summarize count() by status",
)


def run() -> list[Result]:
    """Write the segment, register it, and measure."""
    with web() as (server, client):
        place = QueryPlace(server.address)

        def ask(text: str) -> pa.Table:
            planned = plan(client, text, None, datetime.now(UTC))
            limits = QueryLimits(threads=THREADS)
            with opened_query(planned, place, limits, prepare=define_views(planned)) as query:
                return query.reader().read_all()

        return [
            _view(ask),
            _opened(client, place, (BY_COLUMN, BY_JSON), PROMOTED),
            _opened(client, place, (BY_SECOND, SECONDS_BY_HAND), SECONDS),
            _front_end(ask, CatalogTables(client)),
            _parsing(),
        ]


def _view(ask: Callable[[str], pa.Table]) -> Result:
    assert ask(OF_VIEW).sort_by("service").equals(ask(BY_HAND).sort_by("service"))
    ours, theirs = least_cpu([partial(ask, OF_VIEW), partial(ask, BY_HAND)], ROUNDS)
    return compare(
        "kql_view",
        ours,
        theirs,
        reference_name="the same SQL written by hand",
        unit="ms of CPU",
        bar=1.1,
        higher_is_better=False,
    )


def _opened(
    client: MetaClient, place: QueryPlace, texts: tuple[str, str], names: tuple[str, str, float]
) -> Result:
    """Compare two queries alone, of which opening would be most; with name, reference and bar."""
    name, reference_name, bar = names
    limits = QueryLimits(threads=THREADS)
    with ExitStack() as stack:
        plans = [plan(client, text, None, datetime.now(UTC)) for text in texts]
        first, second = (stack.enter_context(opened_query(p, place, limits)) for p in plans)
        assert _sorted(first.reader().read_all()) == _sorted(second.reader().read_all())
        calls = [lambda: first.reader().read_all(), lambda: second.reader().read_all()]
        ours, theirs = least_cpu(calls, ROUNDS)
    return compare(
        name,
        ours,
        theirs,
        reference_name=reference_name,
        unit="ms of CPU",
        bar=bar,
        higher_is_better=False,
    )


def _sorted(table: pa.Table) -> list[str]:
    return sorted(str(list(row.values())) for row in table.to_pylist())


def _front_end(ask: Callable[[str], pa.Table], tables: CatalogTables) -> Result:
    """Compare medians over the corpus: of checking and translating, and of the whole query."""
    checks = [partial(plan_kql, text, tables, HOUR_START // 1_000) for text in CORPUS]
    queries = [partial(ask, text) for text in CORPUS]
    times = least_cpu([*checks, *queries], 3)
    return compare(
        "kql_check",
        statistics.median(times[: len(CORPUS)]),
        statistics.median(times[len(CORPUS) :]),
        reference_name="running the query on 100 MB",
        unit="ms of CPU",
        bar=1 / 5,
        higher_is_better=False,
    )


def _parsing() -> Result:
    texts = [f"{CORPUS[n % len(CORPUS)]} | extend number = {n}" for n in range(PARSED)]

    def parse() -> None:
        for text in texts:
            parse_query(text)

    (ours,) = least_cpu([parse], 3)
    return compare(
        "kql_parse_600",
        ours,
        1e3 * PARSE_SECS_MAX,
        reference_name=f"{PARSE_SECS_MAX:g} s",
        unit="ms of CPU",
        bar=1.0,
        higher_is_better=False,
    )


@contextmanager
def web() -> Iterator[tuple[BenchServer, MetaClient]]:
    """Serve a dataset with one segment, an attribute promoted, and a view."""
    folder = Path(tempfile.mkdtemp(prefix="segplane-bench-"))
    try:
        objects = folder / "objects"
        objects.mkdir()
        settings = {"META_OBJECT_STORE_URL": objects.as_uri()}
        with (
            bench_postgres() as postgres,
            bench_server(postgres.url, settings) as server,
            server.client() as client,
        ):
            _fill(client, folder, objects)
            yield server, client
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fill(client: MetaClient, folder: Path, objects: Path) -> None:
    dataset = client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=DATASET)).id
    column = common_pb2.PromotedColumn(
        name="user",
        type=common_pb2.KQL_TYPE_STRING,
        scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
        attribute="user.id",
    )
    settings = ops.DatasetSettings(promoted_columns=ops.PromotedColumns(columns=[column]))
    client.operations.SetDatasetSettings(
        ops.SetDatasetSettingsRequest(dataset_id=dataset, settings=settings)
    )
    reply = client.operations.GetDatasetSettings(ops.GetDatasetSettingsRequest(dataset_id=dataset))
    spec = read_layout((), reply.settings.promoted_columns.columns)
    inputs = []
    for path in write_segments(folder, SEGMENTS):
        with SegmentFile(path) as segment:
            stored = segment.stored
        inputs.append(
            MergeInput(path.name, path.name, stored.rows, stored.start_time, stored.end_time)
        )
    store = open_store(StoreLocation.from_url(folder.as_uri()))
    out = folder / "out"
    out.mkdir()
    facts = merge_segments(store, inputs, MergeOrder(DATASET_ID, "benchmark", spec), out).facts
    key = new_merged_key(dataset)
    (objects / key).parent.mkdir(parents=True)
    merged = shutil.move(out / "merged.parquet", objects / key)
    print(f"  {Path(merged).stat().st_size / 1e6:.0f} MB")
    config = ingestion_pb2.DownloadConfigRequest(worker_id="bench", omit_datasets=True)
    bucket = client.ingestion.DownloadConfig(config).cloud_object_prefix.bucket
    created = create_segment(dataset, bucket, key, facts)
    client.ingestion.SaveSegments(ingestion_pb2.SaveSegmentsRequest(segments=[created]))
    _link(client, dataset)


def _link(client: MetaClient, dataset: str) -> None:
    view = client.catalog.CreateView(catalog_pb2.CreateViewRequest(name=VIEW)).id
    for number, text in enumerate(LINKS):
        request = catalog_pb2.CreateProjectionRequest(name=f"{VIEW}-{number}", projection=text)
        projection = client.catalog.CreateProjection(request).id
        client.catalog.LinkViewDatasetProjection(
            catalog_pb2.LinkViewDatasetProjectionRequest(
                view_id=view, dataset_id=dataset, projection_id=projection
            )
        )
