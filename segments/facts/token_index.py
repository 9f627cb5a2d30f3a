"""The place of a segment's token index (`segments.token_index`) among its facts."""

import json
from collections.abc import Mapping

from segments.facts.feature import Facts, Feature, FooterView
from segments.token_index.place import ENTRY, KIND_BLOCKS, TokenIndex, footer_entry, is_valid
from segments.v1.written_facts_pb2 import WrittenFacts


class TokenIndexPlace(Feature):
    """The place; none for a file without an index, or with one of a kind that is not read."""

    FIELD = "token_index"
    IS_IN_FOOTER = True

    def read_entries(self, texts: Mapping[str, bytes]) -> Mapping[str, object]:
        """Read the kind, the first byte and the length."""
        if ENTRY not in texts:
            return {}
        entry = json.loads(texts[ENTRY])
        kind, offset, length = entry
        if not all(isinstance(number, int) for number in entry):
            raise TypeError(f"{entry} are not whole numbers")
        return footer_entry(offset, length) if kind == KIND_BLOCKS else {}

    def state(self, footer: FooterView, facts: WrittenFacts) -> None:
        """Set the place that the entry names."""
        entry = footer.entries.get(ENTRY)
        if isinstance(entry, list):
            index = facts.token_index
            index.kind, index.offset, index.length = entry

    def fault(self, facts: WrittenFacts, object_bytes: int) -> str:
        """Refuse an index outside its object; one of a kind that is not known yet is kept."""
        if not facts.HasField("token_index"):
            return ""
        index = facts.token_index
        if index.kind < 1:
            return f"is of kind {index.kind}, not at least 1"
        end = index.offset + index.length
        if min(index.offset, index.length) < 1 or end > object_bytes:
            return (
                f"has {index.length} bytes at {index.offset}, the object has {object_bytes} bytes"
            )
        if index.kind == KIND_BLOCKS and not is_valid(index.offset, index.length, object_bytes):
            return "has no whole number of bytes a block, or too large blocks"
        return ""


def place_of(facts: Facts) -> TokenIndex | None:
    """Return the place of an index that this release can read."""
    index = WrittenFacts.FromString(facts).token_index
    return TokenIndex(index.offset, index.length) if index.kind == KIND_BLOCKS else None
