"""The engines that docs/kql.md names are those for which the cases can be written."""

import re

import pytest

from kql.catalog.table import FUNCTIONS, OPERATORS
from kql.errors import NotOnEngine
from kql.queries import compile_query
from kql.sql.engines import ENGINES, EngineName
from kql.sql.relations import to_sql
from tests.kql.cases import AGGREGATES, SCALARS
from tests.kql.corpus.cases import SUPPORTED
from tests.kql.corpus.tables import NOW_MICROS, SCHEMA
from tests.kql.whole_queries import QUERIES
from tests.support.kql.engine_support import UNAVAILABLE
from tests.support.kql.rows import TABLE

TEXTS = [
    *(f"rows | project x = {case[0]}" for case in SCALARS),
    *(f"rows | summarize x = {case[0]}" for case in AGGREGATES),
    *(case[0] for case in QUERIES),
    *(case.query for case in SUPPORTED),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_is_unavailable_where_no_case_with_it_can_be_written(engine: EngineName) -> None:
    names = {*FUNCTIONS, *OPERATORS}
    available: set[str] = set()
    for text in TEXTS:
        # A function's name may be a word of a text as well.
        words = FUNCTIONS.keys() & re.findall(r"(\w+)\(", text)
        words |= OPERATORS.keys() & re.findall(r"[\w-]+", text)
        try:
            to_sql(compile_query(text, {**SCHEMA, "rows": TABLE}, NOW_MICROS), engine)
        except NotOnEngine:
            continue
        available |= words

    assert names - available == UNAVAILABLE[engine]
