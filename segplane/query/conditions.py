"""Conditions of a read in SQL."""

from collections.abc import Sequence

from segplane.read.bounds import TimeBounds

_NANOS_PER_MICRO = 1_000


def where(conditions: Sequence[str]) -> str:
    """Return conditions that hold together, as a clause; "" for none."""
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""


def within(bounds: TimeBounds) -> list[str]:
    """Return the conditions of bounds that a caller set, exact to the nanosecond."""
    conditions = []
    for operator, nanos in ((">", bounds.start), ("<", bounds.end)):
        if nanos is not None:
            micros, nanos_of_micro = divmod(nanos, _NANOS_PER_MICRO)
            time = f"make_timestamptz({micros})"
            inclusive = ">=" if operator == ">" else "<"
            exact = f"timestamp = {time} AND timestamp_nanos {inclusive} {nanos_of_micro}"
            # The first term is what row groups are pruned by.
            conditions.append(
                f"timestamp {operator}= {time} AND (timestamp {operator} {time} OR ({exact}))"
            )
    return conditions
