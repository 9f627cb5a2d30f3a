"""The usable automatic columns of a segment (`segments.parquet.columns.automatic`) among its facts.

They are named by field ids, which a rebuilt catalog may give to other columns.
"""

from segments.facts.feature import Facts, Feature, FooterView
from segments.v1.written_facts_pb2 import WrittenFacts

# As many as a dataset has at a time.
IDS_MAX = 100


class UsableColumns(Feature):
    """Field ids of the columns that may be read in place of their attributes, ascending."""

    FIELD = "automatic_field_ids"

    def state(self, footer: FooterView, facts: WrittenFacts) -> None:
        """Add the ids of columns that stand for their attributes."""
        usable = (c for c in footer.promoted if c.is_automatic and c.name not in footer.unusable)
        ids = sorted(column.field_id for column in usable if column.field_id is not None)
        facts.automatic_field_ids.extend(ids)

    def fault(self, facts: WrittenFacts, object_bytes: int) -> str:  # noqa: ARG002
        """Refuse too many ids, and ids that do not ascend."""
        ids = facts.automatic_field_ids
        if len(ids) > IDS_MAX:
            return f"has {len(ids)} items, more than {IDS_MAX}"
        return "is not ascending" if ids and (ids[0] < 1 or list(ids) != sorted(set(ids))) else ""


def usable_ids(facts: Facts) -> frozenset[int]:
    """Return the field ids of the columns."""
    return frozenset(WrittenFacts.FromString(facts).automatic_field_ids)


def without_ids(facts: Facts) -> Facts:
    """Return the facts of a file whose attributes are read from the JSON."""
    message = WrittenFacts.FromString(facts)
    message.ClearField("automatic_field_ids")
    return Facts(message.SerializeToString(deterministic=True))
