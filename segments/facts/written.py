"""The facts of a written segment as one value, from its writer to its readers.

A writer states the value. Results of tasks, requests, rows and replies carry it as bytes, and only
the feature that a fact belongs to opens it, in a module of this package. A new one is added to
`FEATURES`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from segments.facts.automatic_columns import UsableColumns
from segments.facts.exact_bounds import ExactBounds
from segments.facts.feature import Facts, Feature, FooterView
from segments.facts.token_index import TokenIndexPlace
from segments.v1.written_facts_pb2 import WrittenFacts

FEATURES: tuple[Feature, ...] = (TokenIndexPlace(), UsableColumns(), ExactBounds())


class Fault(NamedTuple):
    """A fact that cannot be true: its field in the message, and the reason."""

    field: str
    message: str


def read_entries(texts: Mapping[str, bytes]) -> dict[str, object]:
    """Read the entries of features in a footer; raises ValueError, TypeError."""
    entries: dict[str, object] = {}
    for feature in FEATURES:
        entries |= feature.read_entries(texts)
    return entries


def state(footer: FooterView) -> Facts:
    """State the facts of a file that was just written."""
    facts = WrittenFacts()
    for feature in FEATURES:
        feature.state(footer, facts)
    return _packed(facts)


def proven(facts: Facts) -> Facts:
    """Keep the facts that the footer proves of a file that another release may have written."""
    message = WrittenFacts.FromString(facts)
    for feature in FEATURES:
        if not feature.IS_IN_FOOTER:
            message.ClearField(feature.FIELD)  # type: ignore[arg-type]
    return _packed(message)


def message_of(facts: Facts) -> WrittenFacts | None:
    """Return the facts as a message; None if there are none."""
    return WrittenFacts.FromString(facts) if facts else None


def checked(message: WrittenFacts, object_bytes: int) -> Facts | Fault:
    """Return the facts that this release knows, or the first that cannot be true."""
    message.DiscardUnknownFields()
    for feature in FEATURES:
        if fault := feature.fault(message, object_bytes):
            return Fault(feature.FIELD, fault)
    return _packed(message)


def _packed(message: WrittenFacts) -> Facts:
    return Facts(message.SerializeToString(deterministic=True))
