"""All datasets of a group as one table, and the columns of a row's dataset, over real segments."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kql.scope import GROUP_DATASETS_MAX
from meta.v1 import catalog_pb2, common_pb2, resources_pb2
from meta.v1 import operations_pb2 as pb
from segplane.query.errors import QueryError
from segplane.query.runs import plan
from segplane.read.pins import owner
from tests.segplane.query.conftest import NOW, QueryDriver
from tests.segplane.read.test_dataset import STATUS, promote
from tests.support.gateway.segments import SegmentWriter
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.dataset_life import set_settings
from tests.support.meta.grouped_datasets import grouped
from tests.support.meta.groups import create_group

WHOLE = "union withsource=source database('shop').*"


@pytest.fixture
def shop(queries: QueryDriver, segments: SegmentWriter, tmp_path: Path) -> dict[str, SegmentWriter]:
    """Three datasets of a group, one of them empty, and one of the default group."""
    segments.write(rows=5)
    return grouped(queries.client, tmp_path, "shop", api=2, web=3, empty=0)


def test_a_union_reads_all_datasets_of_a_group(
    shop: dict[str, SegmentWriter], queries: QueryDriver
) -> None:
    shop["web"].write(rows=4, day=1, format_version=1)
    promote(shop["web"])
    shop["web"].write(rows=1, day=2)
    counts = "summarize n = count() by source | sort by source asc"
    ids = {f"shop/{name}": writer.dataset for name, writer in shop.items()}

    assert queries.rows(f"{WHOLE} | {counts}") == [("shop/api", 2), ("shop/web", 8)]
    assert queries.rows(f"{WHOLE}, web | {counts}")[2] == ("web", 5)
    assert sorted(queries.rows(f"{WHOLE} | distinct source, x = dataset, y = dataset_id")) == [
        (name, name, ids[name]) for name in ("shop/api", "shop/web")
    ]
    columns = set(queries.plan(WHOLE).columns or ())
    assert STATUS.name in columns
    assert STATUS.name not in (queries.plan(f"union kind=inner {WHOLE[6:]}").columns or ())
    of_web = queries.plan(f"{WHOLE} | where dataset == 'shop/web' | project body")
    assert [read.name for read in of_web.reads] == ["shop/web"]
    first = "datetime(2026-01-01)"
    assert queries.rows(f"{WHOLE} | where timestamp < {first} | count")[0][0] in range(11)


def test_a_group_is_read_at_one_version_and_takes_no_pins(
    shop: dict[str, SegmentWriter], queries: QueryDriver
) -> None:
    def read(query: object) -> tuple[set[int], int]:
        sources = query.sources  # type: ignore[attr-defined]
        # After they were opened.
        shop["api"].write(rows=7)
        pins = queries.client.operations.ListPins(pb.ListPinsRequest()).pins
        own = [pin for pin in pins if pin.owner == owner()]
        table = query.reader().read_all()  # type: ignore[attr-defined]
        assert table["n"].to_pylist() == [5]
        return {source.version for source in sources}, len(own)

    versions, pins = queries.run(queries.plan(f"{WHOLE} | summarize n = count()"), read)

    assert (len(versions), pins) == (1, 0)


def test_a_dataset_that_is_named_too_is_read_once(
    shop: dict[str, SegmentWriter], queries: QueryDriver
) -> None:
    text = f"{WHOLE}, database('shop').web | summarize n = count() by source | sort by source asc"

    assert queries.rows(text) == [("shop/api", 2), ("shop/web", 6)]
    assert [read.name for read in queries.plan(text).reads].count("shop/web") == 1


def test_older_versions_and_fresh_records_of_a_whole_group_are_refused(
    shop: dict[str, SegmentWriter], queries: QueryDriver
) -> None:
    with pytest.raises(QueryError, match="leave out --as-of"):
        plan(queries.client, WHOLE, None, NOW, as_of=1)
    with pytest.raises(QueryError, match="leave out --fresh"):
        plan(queries.client, WHOLE, None, NOW, is_fresh=True)
    with pytest.raises(QueryError, match="there is no dataset in a group 'none'"):
        queries.plan("union database('none').*")


@pytest.mark.long
def test_a_thousand_datasets_are_read_and_no_more(queries: QueryDriver) -> None:
    create_group(queries.client, "many")
    catalog = CatalogDriver(queries.client)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(catalog.dataset, (f"many/{n:04}" for n in range(GROUP_DATASETS_MAX))))
    whole = "union withsource=source database('many').*"

    assert queries.rows(f"{whole} | count") == [(0,)]
    assert queries.rows(f"{whole} | where source == 'many/0007' | count") == [(0,)]
    catalog.dataset("many/more")
    with pytest.raises(QueryError, match="the group has more than 1,000 datasets"):
        queries.rows(f"{whole} | count")


@pytest.mark.long
def test_sql_reads_the_columns_of_a_dataset_and_no_star_shows_them(
    shop: dict[str, SegmentWriter], queries: QueryDriver
) -> None:
    web = '"shop/web"'
    ids = f"SELECT DISTINCT dataset, dataset_id FROM {web}"  # noqa: S608
    both = f"SELECT dataset FROM web UNION ALL SELECT dataset FROM {web}"  # noqa: S608

    assert queries.rows(ids) == [("shop/web", shop["web"].dataset)]
    counted = f"SELECT dataset, count(*) FROM ({both}) GROUP BY ALL ORDER BY 1"  # noqa: S608
    assert queries.rows(counted) == [("shop/web", 3), ("web", 5)]
    assert queries.rows(f"SELECT min(dataset) FROM {web}.logs") == [("shop/web",)]  # noqa: S608
    assert queries.rows(f"SELECT count(*) FROM {web} WHERE dataset = 'web'") == [(0,)]  # noqa: S608
    given = f"SELECT upper(body) AS dataset FROM {web} GROUP BY dataset LIMIT 0"  # noqa: S608
    assert queries.rows(given) == []
    plain = names(queries, f"SELECT * FROM {web}")  # noqa: S608
    for text in (
        f"SELECT * FROM {web} WHERE dataset = 'shop/web'",  # noqa: S608
        f"FROM {web} WHERE dataset_id != ''",
        f"SELECT w.* FROM {web} w JOIN web ON w.dataset != web.dataset",  # noqa: S608
    ):
        assert names(queries, text) == plain
    named = f"SELECT *, dataset FROM {web}"  # noqa: S608
    assert names(queries, named) == [*plain, "dataset"]
    inner = f"WITH w AS (SELECT dataset, body FROM {web}) SELECT * FROM w"  # noqa: S608
    assert names(queries, inner) == ["dataset", "body"]
    excluded = f"SELECT * EXCLUDE (body) FROM {web} ORDER BY dataset"  # noqa: S608
    assert names(queries, excluded) == [name for name in plain if name != "body"]
    assert not {"dataset", "dataset_id"} & set(plain)


def names(queries: QueryDriver, text: str) -> list[str]:
    """The columns of an answer."""
    schema = queries.run(queries.plan(text), lambda query: query.reader().schema)
    return [str(name) for name in schema.names]


def test_a_stored_column_of_that_name_wins(
    shop: dict[str, SegmentWriter], queries: QueryDriver
) -> None:
    column = common_pb2.PromotedColumn(
        name="dataset",
        type=common_pb2.KQL_TYPE_STRING,
        scope=common_pb2.ATTRIBUTE_SCOPE_RECORD,
        attribute="of",
    )
    settings = pb.DatasetSettings(promoted_columns=pb.PromotedColumns(columns=[column]))
    set_settings(queries.client, shop["web"].dataset, settings)
    expected = [(None, shop["web"].dataset)]

    kql = "database('shop').web | where isempty(dataset) | distinct dataset_id"
    assert queries.rows(kql) == [expected[0][1:]]
    assert queries.rows('SELECT DISTINCT dataset, dataset_id FROM "shop/web"') == expected
    assert "dataset" in names(queries, 'SELECT * FROM "shop/web"')


def test_a_renamed_dataset_has_its_new_name(
    shop: dict[str, SegmentWriter], queries: QueryDriver
) -> None:
    rename = resources_pb2.RenameGroupRequest(name="shop", new_name="store")
    queries.client.resources.RenameGroup(rename)

    text = "union database('store').* | distinct x = dataset | sort by x asc"
    assert queries.rows(text) == [("store/api",), ("store/web",)]
    listed = queries.client.catalog.ListDatasets(catalog_pb2.ListDatasetsRequest()).items
    assert "store/web" in [item.name for item in listed]
