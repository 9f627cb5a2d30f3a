"""Pages of 100 of 100,000 datasets with 1,000,000 labels, by each filter in each order, by CPU.

Each figure is the CPU time of meta and Postgres for a ListResources call of an admin, the dearest
order and direction of a filter. Filters match nothing, one dataset, 1 % that stand last in the
order, a third, and all.
"""

from collections.abc import Iterator
from typing import Any

import psycopg

from benchmarks.harness.processes import cpu_seconds
from benchmarks.harness.results import Result, compare
from benchmarks.harness.server import bench_postgres, bench_server
from meta.client import MetaClient
from meta.v1 import resources_pb2 as pb

DATASETS = 100_000
CALLS = 200
CPU_MS_MAX = 20.0
KIND = pb.RESOURCE_KIND_DATASET
_DATASETS = """
INSERT INTO datasets (id, name, created_at)
SELECT gen_random_uuid(), 'dataset ' || lpad(n::text, 6, '0'), now() - make_interval(secs => n)
FROM generate_series(1, %(rows)s) n
"""
# Of the labels two thirds are labels and the rest members of contexts; the notes are lines of text.
_LABELS = """
INSERT INTO resource_labels (id, kind, source, key, value, name, created_at, changed_at, is_live)
SELECT r.id, r.kind, (l / 7), 'label ' || l, CASE l %% 7
    WHEN 0 THEN CASE WHEN r.name > %(last)s THEN 'last' ELSE 'first' END
    WHEN 1 THEN (hashtext(r.name) %% 3)::text
    WHEN 2 THEN r.name ELSE 'all' END, r.name, r.created_at, r.changed_at, true
FROM resources r, generate_series(0, 9) l WHERE r.kind = 1 AND r.name LIKE 'dataset %%'
"""
_AUTHORS = """
INSERT INTO catalog_authors (entry_id, created_by, created_at)
SELECT id, 'people-' || left(id::text, 2), created_at FROM datasets
ON CONFLICT DO NOTHING
"""
_NOTES = """
UPDATE resources SET note = 'a note of ' || name, text_bytes = 400,
  context = '{"owner": {"name": "people"}, "runbook": "https://wiki.example/' || name || '"}'
WHERE kind = 1
"""
_ORDERS = (pb.RESOURCE_ORDER_NAME, pb.RESOURCE_ORDER_CREATED, pb.RESOURCE_ORDER_CHANGED)
_LABEL_FILTERS = {
    "nothing": ("label 0", "nobody"),
    "one": ("label 2", "dataset 000042"),
    "last_percent": ("label 0", "last"),
    "third": ("label 1", "0"),
    "all": ("label 3", "all"),
}


def run() -> list[Result]:
    """Fill a database, then list it by every filter."""
    with bench_postgres() as postgres, bench_server(postgres.url) as server:
        _fill(postgres.url)
        with server.client() as client:
            pids = (postgres.pid or 0, server.pid)
            figures = {
                name: max(_cpu_ms(client, pids, request) for request in requests)
                for name, requests in _lists()
            }
    return [
        compare(
            f"resource_lists_{name}",
            cpu_ms,
            CPU_MS_MAX,
            reference_name="the most allowed",
            unit=f"ms of CPU of meta and Postgres a page of 100, of {DATASETS:,} datasets",
            bar=1.0,
            higher_is_better=False,
        )
        for name, cpu_ms in figures.items()
    ]


def _fill(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        values = {"rows": DATASETS, "last": f"dataset {DATASETS - DATASETS // 100:06}"}
        for statement in (_DATASETS, _NOTES, _LABELS, _AUTHORS):
            named = {name: value for name, value in values.items() if f"%({name})s" in statement}
            connection.execute(statement, named)
        connection.execute("VACUUM ANALYZE")


def _lists() -> Iterator[tuple[str, list[pb.ListResourcesRequest]]]:
    """The filters, each with its requests of all orders."""
    yield "no_filter", [pb.ListResourcesRequest(**form) for form in _forms()]
    deleted = pb.RESOURCE_STATE_DELETED
    yield "deleted", [pb.ListResourcesRequest(state=deleted, **form) for form in _forms()]
    for name, (key, value) in _LABEL_FILTERS.items():
        label = pb.ResourceMember(key=key, value=value)
        yield name, [pb.ListResourcesRequest(label=label, **form) for form in _forms()]
    member = pb.ResourceMember(key="label 9", value="dataset 000042")
    yield "context", [pb.ListResourcesRequest(context_member=member, **form) for form in _forms()]
    names = pb.ListResourcesRequest(kind=KIND, name_from="dataset 05", name_to="dataset 06")
    yield "names", [names]


def _forms() -> Iterator[dict[str, Any]]:
    for order in _ORDERS:
        for descending in (False, True):
            yield {"kind": KIND, "order": order, "descending": descending}


def _cpu_ms(client: MetaClient, pids: tuple[int, int], request: pb.ListResourcesRequest) -> float:
    """CPU of a call, in the pages of a list from the first on, again and again."""
    list_resources = client.resources.ListResources
    # Past the calls that Postgres plans for their values.
    for _ in range(CALLS // 4):
        list_resources(request)
    before = sum(map(cpu_seconds, pids))
    for _ in range(CALLS):
        request.after = list_resources(request).next_cursor
    return (sum(map(cpu_seconds, pids)) - before) / CALLS * 1_000
