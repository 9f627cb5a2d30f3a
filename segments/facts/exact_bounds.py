"""Whether bounds in a segment's object leave no value out, among its facts.

A footer does not say so: bounds of files of 0.2.0 may leave NaN out.
"""

from segments.facts.feature import Feature, FooterView
from segments.v1.written_facts_pb2 import WrittenFacts

# The field has the highest number, so facts with it end with these bytes.
LAST_BYTES = WrittenFacts(has_exact_bounds=True).SerializeToString(deterministic=True)


class ExactBounds(Feature):
    """Set for all files that this release writes."""

    FIELD = "has_exact_bounds"

    def state(self, footer: FooterView, facts: WrittenFacts) -> None:  # noqa: ARG002
        """Set it."""
        facts.has_exact_bounds = True
