"""ListResources: one filter and one order, in pages, each one range of an index."""

from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import text

from meta.client import MetaClient
from meta.errors import CursorInvalid, InvalidArgument
from meta.store.catalog import resource_pages
from meta.store.catalog.resource_pages import (
    MemberFilter,
    NameRange,
    ResourceOrder,
    ResourceQuery,
)
from meta.store.catalog.resources import LabelSource, ResourceKind
from meta.store.engine.pool import Database
from meta.v1 import resources_pb2 as pb
from tests.support.meta.plans import rows_of_statements
from tests.support.meta.resources import DATASET, KINDS, ResourceDriver, member
from tests.support.meta.server import MetaServer

VIEW = KINDS["view"]
ORDERS = {
    "name": (pb.RESOURCE_ORDER_NAME, lambda item: item.name.encode()),
    "created": (pb.RESOURCE_ORDER_CREATED, lambda item: item.created_at),
    "changed": (pb.RESOURCE_ORDER_CHANGED, lambda item: item.updated_at),
}
NAMES = ["a", "B", "ä", "z", "a b", "a-b", "Z", "\U0001f600", "0", "ab", "aa"]


@pytest.fixture
def resources(meta_client: MetaClient) -> ResourceDriver:
    return ResourceDriver(meta_client)


@pytest.fixture
def views(resources: ResourceDriver) -> ResourceDriver:
    """Make views, of which every second is of a team; the first is the last that was changed."""
    ids = [resources.make("view", name) for name in NAMES]
    for number, id_ in enumerate(reversed(ids)):
        team = "payments" if number % 2 else "other"
        resources.update(id_, VIEW, set_labels={"team": team}, context='{"tier": 1}')
    return resources


@pytest.mark.long
def test_every_filter_is_listed_in_every_order_page_by_page(views: ResourceDriver) -> None:
    for order, descending, limit in product(ORDERS, (False, True), (1, 2, 100)):
        check_lists(views, order, descending, limit)


def check_lists(views: ResourceDriver, order: str, descending: bool, limit: int) -> None:
    number, key = ORDERS[order]
    expected = sorted(views.all(VIEW), key=key, reverse=descending)
    teams = [item for item in expected if item.labels["team"] == "payments"]
    fields = {"order": number, "descending": descending, "limit": limit}

    assert len(expected) == len(NAMES)
    assert views.all(VIEW, **fields) == expected
    assert views.all(VIEW, state=pb.RESOURCE_STATE_LIVE, **fields) == expected
    assert views.all(VIEW, state=pb.RESOURCE_STATE_DELETED, **fields) == []
    assert views.all(VIEW, context_member=member("tier", "1"), **fields) == expected
    assert views.all(VIEW, label=member("team", "payments"), **fields) == teams
    assert views.all(VIEW, label=member("team", "nobody"), **fields) == []
    assert views.all(VIEW, label=member("tier", "1"), **fields) == []


RANGES = (("a", None), (None, "a"), ("a", "b"), ("a", "a"), ("aa", "Z"), ("z", "zz"))


def test_a_range_of_names_is_one_of_bytes(views: ResourceDriver) -> None:
    for (first, end), descending in product(RANGES, (False, True)):
        check_range(views, first, end, descending)


def check_range(
    views: ResourceDriver, first: str | None, end: str | None, descending: bool
) -> None:
    expected = sorted(
        (
            name
            for name in NAMES
            if (first is None or name.encode() >= first.encode())
            and (end is None or name.encode() < end.encode())
        ),
        key=str.encode,
        reverse=descending,
    )

    listed = views.names(VIEW, name_from=first, name_to=end, descending=descending, limit=2)

    assert listed == expected


LABEL, STATE = {"label": member("a", "b")}, {"state": pb.RESOURCE_STATE_LIVE}
CONTEXT = {"context_member": member("a", "b")}


@pytest.mark.one_meta
@pytest.mark.parametrize(
    "fields",
    [
        LABEL | CONTEXT,
        LABEL | STATE,
        CONTEXT | STATE,
        LABEL | {"name_from": "a"},
        STATE | {"name_to": "a"},
        {"name_from": "a", "order": pb.RESOURCE_ORDER_CREATED},
        {"name_to": "a", "order": pb.RESOURCE_ORDER_CHANGED},
    ],
)
def test_a_combination_without_an_index_is_refused_with_those_that_exist(
    resources: ResourceDriver, fields: dict[str, Any]
) -> None:
    with pytest.raises(InvalidArgument, match="label, context_member") as refused:
        resources.all(**fields)

    assert refused.value.field


@pytest.mark.parametrize(
    "fields",
    [
        {"order": 9},
        {"state": 9},
        {"label": member("", "b")},
        {"label": member("k" * 64, "b")},
        {"context_member": member("k", "v" * 257)},
        {"label": member("k\x00", "b")},
        {"name_from": ""},
        {"name_to": "n" * 256},
    ],
)
@pytest.mark.one_meta
def test_a_malformed_filter_is_refused(resources: ResourceDriver, fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        resources.all(**fields)


def test_a_cursor_is_of_one_list(views: ResourceDriver) -> None:
    call = views.client.resources.ListResources
    kind = pb.RESOURCE_KIND_VIEW
    after = call(pb.ListResourcesRequest(kind=kind, limit=2)).next_cursor

    assert call(pb.ListResourcesRequest(kind=kind, limit=9, after=after)).items
    for fields in (
        {"kind": DATASET},
        {"kind": kind, "descending": True},
        {"kind": kind, "order": pb.RESOURCE_ORDER_CREATED},
        {"kind": kind, "label": member("team", "payments")},
        {"kind": kind, "name_from": "a"},
    ):
        with pytest.raises(CursorInvalid):
            call(pb.ListResourcesRequest(after=after, **fields))
    for cursor in ("x", after[:-4], after[4:]):
        with pytest.raises(CursorInvalid):
            call(pb.ListResourcesRequest(kind=kind, after=cursor))


@pytest.mark.long
def test_a_page_ends_before_it_is_larger_than_a_reply(resources: ResourceDriver) -> None:
    context = '{"long": "' + "x" * 65_000 + '"}'
    labels = {f"label-{n:02}" + "k" * 55: "v" * 256 for n in range(64)}
    names = [f"{n:03}" for n in range(120)]
    for name in names:
        id_ = resources.make("view", name)
        resources.update(id_, VIEW, note="n" * 1_000, context=context, set_labels=labels)
    request = pb.ListResourcesRequest(kind=pb.RESOURCE_KIND_VIEW, limit=1_000)
    sizes, listed = [], []
    while True:
        page = resources.client.resources.ListResources(request)
        sizes.append(page.ByteSize())
        listed += [item.name for item in page.items]
        if not page.next_cursor:
            break
        request.after = page.next_cursor

    assert listed == names
    assert max(sizes) <= 3_670_016
    assert min(sizes[:-1]) > 3_300_000


@pytest.fixture(scope="module")
def many(module_meta: MetaServer) -> Database:
    """Fill a database with 20,000 datasets of ten labels each."""
    database = module_meta.running.database
    fill(database, 20_000)
    return database


def fill(database: Database, rows: int) -> None:
    with database.write() as tx:
        tx.execute(text("SET LOCAL statement_timeout = 0"))
        tx.execute(
            text(
                "INSERT INTO datasets (id, name, created_at) SELECT gen_random_uuid(),"
                " 'dataset ' || lpad(n::text, 6, '0'), now() - make_interval(secs => n)"
                " FROM generate_series(1, :rows) n"
            ),
            {"rows": rows},
        )
        tx.execute(
            text(
                "INSERT INTO resource_labels (id, kind, source, key, value, name, created_at,"
                " changed_at, is_live)"
                " SELECT r.id, r.kind, l % 2, 'label ' || l / 2, CASE"
                "   WHEN l < 2 THEN CASE WHEN r.name > last.name THEN 'last' ELSE 'first' END"
                "   WHEN l < 4 THEN (hashtext(r.name) % 3)::text"
                "   WHEN l < 6 THEN r.name ELSE 'all' END,"
                "   r.name, r.created_at, r.changed_at, true"
                " FROM resources r, generate_series(0, 9) l,"
                "   (SELECT name FROM resources WHERE kind = 1 AND name LIKE 'dataset %'"
                "    ORDER BY name OFFSET :last LIMIT 1) last"
                " WHERE r.kind = 1 AND r.name LIKE 'dataset %'"
            ),
            {"last": rows - rows // 100 - 1},
        )
    with database.single() as tx:
        tx.execute(text("SET statement_timeout = 0"))
        tx.execute(text("VACUUM ANALYZE resources, resource_labels, catalog_authors"))
        tx.execute(text("RESET statement_timeout"))


LABEL_FILTERS: dict[str, Callable[[LabelSource], MemberFilter]] = {
    "none": lambda source: MemberFilter(source, "label 0", "nobody"),
    "one": lambda source: MemberFilter(source, "label 2", "dataset 000042"),
    "last": lambda source: MemberFilter(source, "label 0", "last"),
    "third": lambda source: MemberFilter(source, "label 1", "0"),
    "all": lambda source: MemberFilter(source, "label 4", "all"),
}
LIMIT = 100


def queries() -> Iterator[tuple[str, ResourceQuery]]:
    for order in ResourceOrder:
        for is_descending in (False, True):
            form = {"order": order, "is_descending": is_descending}
            way = f"{order.name}{' descending' if is_descending else ''}"
            for is_live in (True, False):
                query = ResourceQuery(ResourceKind.DATASET, is_live=is_live, **form)  # type: ignore[arg-type]
                yield f"live {is_live}, {way}", query
            for source in LabelSource:
                for name, make in LABEL_FILTERS.items():
                    query = ResourceQuery(ResourceKind.DATASET, members=make(source), **form)  # type: ignore[arg-type]
                    yield f"{source.name} {name}, {way}", query
    names = NameRange("dataset 010000", "dataset 010010")
    yield "names", ResourceQuery(ResourceKind.DATASET, names=names)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("is_generic", [False, True], ids=["custom", "generic"])
@pytest.mark.parametrize("query", [pytest.param(q, id=name) for name, q in queries()])
def test_a_page_reads_the_rows_that_it_shows(
    many: Database, query: ResourceQuery, is_generic: bool
) -> None:
    def work(tx: Any) -> None:
        mode = "force_generic_plan" if is_generic else "force_custom_plan"
        tx.exec_driver_sql(f"SET LOCAL plan_cache_mode = {mode}")
        page = resource_pages.read(tx, query, None, LIMIT, 3_670_016)
        after = (
            resource_pages.ResourcePosition(query.order.place(page.items[-1]), page.items[-1].id)
            if page.items
            else None
        )
        resource_pages.read(tx, query, after, LIMIT, 3_670_016)

    # A row of the index, the resource, and its labels.
    assert max(rows_of_statements(many, work)) <= (LIMIT + 1) * 8


def test_pages_use_operators_that_tell_nothing_of_rows_they_do_not_return(
    module_meta: MetaServer,
) -> None:
    with module_meta.running.database.read() as tx:
        leaking = tx.execute(
            text(
                "SELECT o.oprname, o.oprleft::regtype FROM pg_operator o"
                " JOIN pg_proc p ON p.oid = o.oprcode WHERE NOT p.proleakproof"
                " AND o.oprname IN ('=', '<', '<=', '>', '>=') AND o.oprleft = o.oprright"
                " AND o.oprleft IN ('text'::regtype, 'uuid'::regtype, 'timestamptz'::regtype,"
                " 'smallint'::regtype, 'boolean'::regtype)"
            )
        ).all()

    assert leaking == []


def test_a_list_by_change_shows_the_last_changed_last(resources: ResourceDriver) -> None:
    ids = [resources.make("view", uuid4().hex) for _ in range(4)]
    for n in (2, 0, 3, 1):
        resources.update(ids[n], VIEW, note="n")
    listed = resources.all(VIEW, order=pb.RESOURCE_ORDER_CHANGED)

    assert [item.id for item in listed] == [ids[n] for n in (2, 0, 3, 1)]
    assert all(a.updated_at <= b.updated_at for a, b in pairwise(listed))
