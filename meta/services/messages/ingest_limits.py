"""Limits of ingest in a dataset's settings."""

from collections.abc import Iterable

from meta.services.messages import checks
from meta.store.catalog.dataset_settings import INGEST_LIMITS
from meta.v1 import operations_pb2

# A hundred years; a longer time is a mistake in the unit.
SECONDS_MAX = 3_155_760_000
# Fields of the message, in the order of the columns.
_FIELDS = [name.removeprefix("ingest_") for name in INGEST_LIMITS]


def changes(limits: operations_pb2.IngestLimits) -> dict[str, int]:
    """The limits by the names of DatasetSettings' fields."""
    return {
        column: checks.count(
            getattr(limits, field),
            f"settings.ingest_limits.{field}",
            high=SECONDS_MAX if field.endswith("_secs") else checks.INT64_MAX,
        )
        for column, field in zip(INGEST_LIMITS, _FIELDS, strict=True)
    }


def message(limits: Iterable[int]) -> operations_pb2.IngestLimits:
    """Write the limits of ingest, in the order of their columns."""
    return operations_pb2.IngestLimits(**dict(zip(_FIELDS, limits, strict=True)))
