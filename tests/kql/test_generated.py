"""Generated queries: well-typed ones agree on the engines, ill-typed ones reach none."""

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from kql.errors import KqlError
from kql.queries import compile_query
from kql.sql.engines import ENGINES
from kql.sql.relations import to_sql
from kql.types import ORDERED, TYPES, KqlType
from tests.support.examples import examples
from tests.support.kql.engine_support import UNAVAILABLE
from tests.support.kql.engines import DuckDb, Spark
from tests.support.kql.generated import LITERALS, expressions, wrong
from tests.support.kql.rows import TABLE
from tests.support.spark import shared_session

# A job of Spark takes longer than the expressions in it: so many of them at once.
_TOGETHER = 30
_HEALTH = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
# Shrinking takes a job of Spark a step, and the message names the expression anyway.
_PHASES = [Phase.explicit, Phase.reuse, Phase.generate]
typed = st.sampled_from(TYPES).flatmap(lambda t: st.tuples(st.just(t), expressions(t, 2)))
# Operands that no operator or function takes: the operator, what it needs, beside what.
_ILL: list[tuple[str, KqlType]] = [
    ("not({})", "bool"), ("strlen({})", "string"), ("sqrt({})", "real"), ("-{}", "long"),
    ("startofday({})", "datetime"), ("{} contains 'x'", "string"), ("{} and true", "bool"),
    ("iff({}, 1, 2)", "bool"), ("1 + {}", "long"), ("1.5 * {}", "real"), ("d > {}", "datetime"),
    ("s == {}", "string"), ("g == {}", "guid"), ("l in (1, {})", "long"), ("abs({})", "real"),
]  # fmt: skip


@pytest.fixture(scope="module")
def duck() -> DuckDb:
    """Give one DuckDB with the rows."""
    return DuckDb()


@pytest.fixture(scope="module")
def spark() -> Spark:
    """Give Spark with the rows."""
    return Spark(shared_session())


@settings(max_examples=examples(150), deadline=None, suppress_health_check=_HEALTH)
@given(case=typed)
def test_what_is_drawn_is_well_typed_and_runs(duck: DuckDb, case: tuple[KqlType, str]) -> None:
    type_, expression = case
    query = f"rows | sort by id asc | project x = {expression}"

    checked = compile_query(query, {"rows": TABLE}, 0)

    assert checked.columns["x"] == type_
    assert len(duck.run(query)) == 4
    for engine in ENGINES:
        if not any(f"{name}(" in expression for name in UNAVAILABLE[engine]):
            assert "<0>" not in to_sql(checked, engine)


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), case=st.sampled_from(_ILL))
def test_an_ill_typed_query_is_refused_before_any_engine(
    data: st.DataObject, case: tuple[str, KqlType]
) -> None:
    template, needed = case
    free = {"abs({})": {"timespan"}, "-{}": {"timespan"}, "1 + {}": set[str](),
            "1.5 * {}": {"timespan"}, "{} and true": set[str]()}.get(template, set[str]())  # fmt: skip
    given_type = data.draw(st.sampled_from([t for t in wrong(needed) if t not in free]))
    operand = data.draw(expressions(given_type, 2))

    with pytest.raises(KqlError) as refusal:
        compile_query(f"rows | project x = {template.format(operand)}", {"rows": TABLE}, 0)

    assert refusal.value.line == 1
    assert refusal.value.hint


@pytest.mark.long
@pytest.mark.spark
@settings(
    max_examples=6, deadline=None, suppress_health_check=_HEALTH, phases=_PHASES, derandomize=True
)
@given(cases=st.lists(typed, min_size=_TOGETHER, max_size=_TOGETHER))
def test_generated_expressions_agree(
    duck: DuckDb, spark: Spark, cases: list[tuple[KqlType, str]]
) -> None:
    assert_agreement(duck, spark, cases)


@pytest.mark.spark
@pytest.mark.slow
@settings(max_examples=examples(300), deadline=None, suppress_health_check=_HEALTH, phases=_PHASES)
@given(cases=st.lists(typed, min_size=_TOGETHER, max_size=_TOGETHER))
def test_many_generated_expressions_agree(
    duck: DuckDb, spark: Spark, cases: list[tuple[KqlType, str]]
) -> None:
    assert_agreement(duck, spark, cases)


ordered = st.sampled_from(ORDERED).flatmap(expressions)


@pytest.mark.long
@pytest.mark.spark
@settings(
    max_examples=10, deadline=None, suppress_health_check=_HEALTH, phases=_PHASES, derandomize=True
)
@given(test=expressions("bool"), group=ordered, key=ordered, value=expressions("long"))
def test_generated_pipelines_agree(
    duck: DuckDb, spark: Spark, test: str, group: str, key: str, value: str
) -> None:
    query = (
        f"rows | where {test} | extend v = {value}, k = {key}"
        f" | summarize n = count(), least = min(v), total = sum(v), keys = dcount(k) by g_ = {group}"
        " | sort by n asc, least asc, total asc, keys asc | project n, least, total, keys"
    )

    assert duck.run(query) == spark.run(query), query


def assert_agreement(duck: DuckDb, spark: Spark, cases: list[tuple[KqlType, str]]) -> None:
    """Compare the values of expressions over all rows."""
    columns = ", ".join(f"x{n} = {expression}" for n, (_, expression) in enumerate(cases))
    query = f"rows | sort by id asc | project {columns}"
    left, right = duck.run(query), spark.run(query)
    for number, (type_, expression) in enumerate(cases):
        for row, (a, b) in enumerate(zip(left, right, strict=True), 1):
            message = f"{expression} of row {row}: {a[number]!r} in DuckDB, {b[number]!r} in Spark"
            assert alike(type_, a[number], b[number]), message


def alike(type_: KqlType, left: Any, right: Any) -> bool:
    """Tell whether engines gave the same: reals to some digits, JSON whatever its blanks."""
    if type_ == "dynamic" and isinstance(left, str) and isinstance(right, str):
        return bool(json.loads(left) == json.loads(right))
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9) or left == right
    return bool(left == right)


def test_every_type_is_drawn() -> None:
    assert set(TYPES) <= set(LITERALS)
