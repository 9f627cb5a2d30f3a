"""Of equal keys of a bag the first counts, in every function that parses bags."""

import duckdb
import pytest

from kql.queries import compile_query
from kql.sql.relations import to_sql

BAG = """parse_json('{"b":1,"a":2,"b":3,"c":{"d":4,"d":5}}')"""


@pytest.mark.parametrize(
    ("query", "texts"),
    [
        (f"print x = {BAG}.b", ["1"]),
        (f"print x = {BAG}.c.d", ["4"]),
        (f"print x = bag_keys({BAG})", ['["b","a","c"]']),
        (f"print x = tostring(bag_has_key({BAG}, 'b'))", ["true"]),
        (f"print x = bag_remove_keys({BAG}, dynamic(['a', 'c']))", ['{"b":1}']),
        (f"print x = bag_remove_keys({BAG}, dynamic(['b', 'c']))", ['{"a":2}']),
        (
            f"print x = bag_merge(bag_remove_keys({BAG}, dynamic(['c'])), dynamic({{'b': 9}}))",
            ['{"b":1,"a":2}'],
        ),
        (f"print x = bag_remove_keys(bag_merge({BAG}, {BAG}), dynamic(['c']))", ['{"b":1,"a":2}']),
        (
            f"print x = bag_remove_keys(bag_set_key({BAG}, 'b', 7), dynamic(['c']))",
            ['{"b":7,"a":2}'],
        ),
        (
            f"print x = bag_remove_keys({BAG}, dynamic(['c'])) | summarize x = make_bag(x)",
            ['{"a":2,"b":1}'],
        ),
        (
            f"print x = {BAG} | mv-expand x",
            ['{"b":1}', '{"a":2}', '{"c":{"d":4,"d":5}}'],
        ),
    ],
)
def test_the_first_of_equal_keys_counts(query: str, texts: list[str]) -> None:
    sql = to_sql(compile_query(query, {}, 0), "duckdb")

    assert [text for (text,) in duckdb.execute(sql).fetchall()] == texts
