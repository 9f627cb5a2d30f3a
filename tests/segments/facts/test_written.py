"""The facts of a written segment: stated by features, carried as bytes, checked as a whole."""

from dataclasses import dataclass, field

import pytest

from segments.facts import automatic_columns, written
from segments.facts.exact_bounds import LAST_BYTES
from segments.facts.feature import Facts
from segments.facts.token_index import place_of
from segments.facts.written import Fault
from segments.parquet.spec import PromotedColumn
from segments.token_index.place import KIND_BLOCKS, NUM_BLOCKS, TokenIndex, footer_entry
from segments.v1.written_facts_pb2 import WrittenFacts

COLUMNS = tuple(
    PromotedColumn(name, "string", "record", name, field_id, is_automatic=is_automatic)
    for name, field_id, is_automatic in (("b", 9, True), ("a", 7, True), ("c", 8, False))
)
SIZE = 10 * NUM_BLOCKS


@dataclass
class Footer:
    """A footer as features see it."""

    promoted: tuple[PromotedColumn, ...] = COLUMNS
    unusable: frozenset[str] = frozenset()
    entries: dict[str, object] = field(default_factory=lambda: footer_entry(4, NUM_BLOCKS))


def test_each_feature_opens_its_facts_of_a_new_file() -> None:
    facts = written.state(Footer())

    assert place_of(facts) == TokenIndex(4, NUM_BLOCKS)
    assert automatic_columns.usable_ids(facts) == {7, 9}
    assert facts.endswith(LAST_BYTES)


def test_a_footer_of_another_release_proves_the_token_index_alone() -> None:
    facts = written.proven(written.state(Footer()))

    assert place_of(facts) == TokenIndex(4, NUM_BLOCKS)
    assert automatic_columns.usable_ids(facts) == frozenset()
    assert not facts.endswith(LAST_BYTES)


def test_columns_that_do_not_stand_for_their_attribute_are_skipped() -> None:
    facts = written.state(Footer(unusable=frozenset({"b"})))

    assert automatic_columns.usable_ids(facts) == {7}
    assert automatic_columns.usable_ids(automatic_columns.without_ids(facts)) == frozenset()


def test_facts_of_a_later_release_are_dropped() -> None:
    unknown = b"\xba\x3e\x02hi"  # Field 999.
    message = WrittenFacts.FromString(unknown + written.state(Footer()))

    assert written.checked(message, SIZE) == written.state(Footer())


@pytest.mark.parametrize(
    ("message", "field_name"),
    [
        (WrittenFacts(automatic_field_ids=[2, 1]), "automatic_field_ids"),
        (WrittenFacts(automatic_field_ids=[0]), "automatic_field_ids"),
        (WrittenFacts(automatic_field_ids=range(1, 102)), "automatic_field_ids"),
    ],
    ids=["descending", "zero", "many"],
)
def test_a_fact_that_cannot_be_true_is_named(message: WrittenFacts, field_name: str) -> None:
    fault = written.checked(message, SIZE)

    assert isinstance(fault, Fault)
    assert fault.field == field_name


def test_an_index_of_a_later_kind_is_kept_and_not_opened() -> None:
    message = WrittenFacts()
    message.token_index.kind, message.token_index.offset = KIND_BLOCKS + 1, 1
    message.token_index.length = 5

    facts = written.checked(message, SIZE)

    assert not isinstance(facts, Fault)
    assert WrittenFacts.FromString(facts) == message
    assert place_of(Facts(facts)) is None
