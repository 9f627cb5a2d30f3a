"""Facets that a page begins with: attributes that tell its records apart."""

from collections import defaultdict
from collections.abc import Sequence

from segplane.gateway.console.logs.asked import FACETS_MAX
from segplane.gateway.console.logs.fields import LogField
from segplane.gateway.console.logs.records import LogRow

# An address has room for names and values of this length.
_CHARACTERS_MAX = 64
_VALUES_MAX = 10
# One in so many records has the attribute.
_SHARE = 5


def suggested_facets(rows: Sequence[LogRow]) -> list[LogField]:
    """Return the attributes that most records have, with some values that many of them share."""
    values: dict[LogField, list[str]] = defaultdict(list)
    for row in rows:
        for name, value in row.attributes.items():
            if isinstance(value, str | int) and len(str(value)) <= _CHARACTERS_MAX:
                values[LogField("attributes", name)].append(str(value))
    useful = {
        field: len(texts)
        for field, texts in values.items()
        if field.key
        and len(field.key) <= _CHARACTERS_MAX
        and field.is_comparable()
        and 1 < len(set(texts)) <= max(_VALUES_MAX, len(texts) // 2)
        and len(texts) * _SHARE >= len(rows)
    }
    return sorted(useful, key=lambda field: (-useful[field], field.key))[:FACETS_MAX]
