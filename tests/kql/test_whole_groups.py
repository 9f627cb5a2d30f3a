"""`union database('shop').*`: all datasets of a group, as one table of a query."""

from collections.abc import Mapping

import pytest

from kql.dataset_table import dataset_table, promoted
from kql.errors import KqlError
from kql.pushdown.excluded import without_excluded
from kql.pushdown.reads import reads_of
from kql.queries import compile_query
from kql.scope import GROUP_DATASETS_MAX, CheckedQuery
from kql.syntax.parser import SOURCES_MAX
from kql.typed import Constant, Select, Table
from kql.walks import every

WHOLE = "union withsource=source database('shop').*"
TABLES: Mapping[str, Table | CheckedQuery] = {
    "shop/api": dataset_table("shop/api", [promoted("code", "int", "record", "code")]),
    "shop/web": dataset_table("shop/web", [promoted("code", "long", "record", "code")]),
    "shop/*": dataset_table("shop/*", [promoted("user", "string", "record", "user")]),
    "bank/web": dataset_table("bank/web"),
    "web": dataset_table("web"),
    "api": dataset_table("api"),
}


def read_by(query: str, group: str = "") -> list[str]:
    """The names of the datasets that a query reads."""
    state = compile_query(query, TABLES, 0, group)
    reads = reads_of(CheckedQuery(without_excluded(state.relation), state.columns))
    return sorted(read.name for read in reads)


@pytest.mark.parametrize(
    ("query", "group", "expected"),
    [
        ("union database('shop').*", "", ["shop/*", "shop/api", "shop/web"]),
        ("union database('shop').*, web | count", "", ["shop/*", "shop/api", "shop/web", "web"]),
        ("union database('segplane').*", "shop", ["api", "web"]),
        ("web | union database('bank').*", "", ["bank/web", "web"]),
        ("search in (database('bank').*) 'x'", "", ["bank/web"]),
        ("let t = union database('bank').*; t | join t on trace_id", "", ["bank/web"]),
        ("database('shop').['*']", "", ["shop/*"]),
    ],
)
def test_a_union_reads_every_dataset_of_a_group(
    query: str, group: str, expected: list[str]
) -> None:
    assert read_by(query, group) == expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("source == 'shop/web'", ["shop/web"]),
        ("'shop/web' == dataset", ["shop/web"]),
        ("dataset in ('shop/web', 'shop/api') and body has 'x'", ["shop/api", "shop/web"]),
        ("dataset !in ('shop/web', 'shop/api')", ["shop/*"]),
        ("dataset == 'shop/web' or dataset == 'shop/api'", ["shop/api", "shop/web"]),
        ("dataset != 'shop/web'", ["shop/*", "shop/api"]),
        ("not(dataset == 'shop/web')", ["shop/*", "shop/api"]),
        ("dataset startswith 'SHOP/a'", ["shop/api"]),
        ("dataset =~ 'SHOP/WEB'", ["shop/web"]),
        ("dataset == 'shop/web' or body has 'x'", ["shop/*", "shop/api", "shop/web"]),
        ("strlen(dataset) == 8", ["shop/*", "shop/api", "shop/web"]),
        # One stays, so that the answer has its columns.
        ("dataset == 'none'", ["shop/*"]),
    ],
)
def test_a_condition_on_the_dataset_leaves_out_whole_datasets(
    condition: str, expected: list[str]
) -> None:
    assert read_by(f"{WHOLE} | where {condition}") == expected
    renamed = condition.replace("dataset", "name_of").replace("source", "name_of")
    assert read_by(f"{WHOLE} | extend name_of = dataset | where {renamed}") == expected


def test_rows_that_others_depend_on_stay() -> None:
    kept = ["shop/*", "shop/api", "shop/web"]
    is_web = "where dataset == 'shop/web'"

    assert read_by(f"{WHOLE} | take 10 | {is_web}") == kept
    assert read_by(f"{WHOLE} | summarize n = count() by dataset | {is_web}") == ["shop/web"]
    counted = f"{WHOLE} | summarize n = count(), dataset = take_any(dataset) | {is_web}"
    assert read_by(counted) == kept
    of_source = "where source == 'shop/web'"
    joined = f"web | join kind=inner ({WHOLE}) on trace_id | {of_source}"
    assert read_by(joined) == ["shop/web", "web"]
    outer = f"web | join kind=leftouter ({WHOLE}) on trace_id | {of_source}"
    assert read_by(outer) == [*kept, "web"]


@pytest.mark.parametrize(
    ("query", "group", "expected"),
    [
        (WHOLE, "", ["shop/*", "shop/api", "shop/web"]),
        (WHOLE, "shop", ["*", "api", "web"]),
        (f"{WHOLE}, web", "", ["shop/*", "shop/api", "shop/web", "web"]),
        (f"{WHOLE}, database('segplane').web", "shop", ["shop/*", "shop/api", "shop/web", "web"]),
        (f"{WHOLE}, web, (web | take 1)", "shop", ["*", "api", "union_arg2", "web", "web"]),
        ("union withsource=source database('segplane').*", "", ["api", "web"]),
    ],
)
def test_the_source_has_its_group_if_the_query_reads_several(
    query: str, group: str, expected: list[str]
) -> None:
    relation = compile_query(query, TABLES, 0, group).relation
    sources = (each.values.get("source") for each in every(relation) if isinstance(each, Select))
    assert sorted(str(s.value) for s in sources if isinstance(s, Constant)) == expected


def test_a_union_has_the_columns_of_all_or_those_in_common() -> None:
    outer = compile_query(WHOLE, TABLES, 0)
    inner = compile_query(WHOLE.replace("union", "union kind=inner"), TABLES, 0)

    # Numbers widen, as in every union.
    assert (outer.columns["code"], outer.columns["user"]) == ("long", "string")
    assert not {"code", "user"} & inner.columns.keys()
    assert {"source", "body"} <= inner.columns.keys()
    assert not {"dataset", "dataset_id"} & outer.columns.keys()


def many(number: int) -> dict[str, Table | CheckedQuery]:
    """A group of so many datasets."""
    names = [f"shop/{place:04}" for place in range(number)]
    return {name: dataset_table(name) for name in names}


def test_a_query_reads_a_thousand_datasets_of_groups_and_no_more() -> None:
    tables = many(GROUP_DATASETS_MAX - 3)
    # The group counts as one table.
    others = ", ".join(["(print x = 1)"] * 5 + ["web"] * (SOURCES_MAX - 1))
    state = compile_query(f"{WHOLE}, {others} | project source, body", {**tables, **TABLES}, 0)

    assert len(reads_of(state)) == GROUP_DATASETS_MAX + 1
    with pytest.raises(KqlError, match="more than 1,000 datasets; that many are read at most"):
        compile_query(WHOLE, many(GROUP_DATASETS_MAX + 1), 0)
    two = {**tables, **TABLES} | {"shop/more": dataset_table("shop/more")}
    assert compile_query(WHOLE, many(GROUP_DATASETS_MAX), 0)
    with pytest.raises(KqlError, match="more than 1,000 datasets"):
        compile_query(f"{WHOLE}, database('bank').*", two, 0)


def test_a_union_of_very_many_columns_is_refused() -> None:
    tables: dict[str, Table | CheckedQuery] = {
        f"shop/{place}": dataset_table(
            f"shop/{place}",
            [promoted(f"c{place}_{n}", "string", "record", f"a{n}") for n in range(100)],
        )
        for place in range(10)
    }

    with pytest.raises(KqlError, match="use kind=inner"):
        compile_query(WHOLE, tables, 0)
    assert compile_query(WHOLE.replace("union", "union kind=inner"), tables, 0)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("database('shop').*", "only a union reads all datasets of a group"),
        ("database('shop').* | count", r"write union database\('shop'\)"),
        ("web | join database('shop').* on trace_id", "only a union reads"),
        ("union (database('shop').* | take 1)", "only a union reads"),
        ("union database('none').*", "there is no dataset in a group 'none'"),
        ("union database('shop').*.logs", "expected"),
    ],
)
def test_a_group_stands_in_a_union_only(query: str, message: str) -> None:
    with pytest.raises(KqlError, match=message):
        compile_query(query, TABLES, 0)
