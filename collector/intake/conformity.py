"""Rejects the records of an export that their dataset's schema or its window of events refuses.

Columns and window come with the answers about a dataset's usage, within seconds of a change. Such a
record that comes through all the same is quarantined by the nursery.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

import structlog
from blake3 import blake3

from collector.ingestion import Ingestion
from collector.otlp.partial_success import PartialSuccess
from collector.refusal import unavailable
from meta.errors import MetaError, NotFound
from segments.parquet.spec import PromotedColumn
from segments.signals import Signal
from segments.typed.conformity import MISFITS_MAX, ColumnMisfit, SchemaMisfits
from segments.typed.division import divide
from segments.typed.payload_check import PayloadCheck
from segments.typed.window_check import WindowCheck

log = structlog.get_logger()

# Misfits that the answer to a sender names.
NAMED_MAX = 20
REJECTED_BYTES = 8
# Datasets whose columns are kept; 1,000 columns take half a megabyte.
DATASETS_MAX = 256


@dataclass(frozen=True, slots=True)
class _Columns:
    """Columns of a dataset, None if it rejects nothing any more, and their version."""

    rejects_since: int
    check: PayloadCheck | None


@dataclass(slots=True)
class EnforcedColumns:
    """Checks of the datasets that reject records; used on one event loop only."""

    ingestion: Ingestion
    _known: dict[str, _Columns] = field(default_factory=dict)
    _reads: dict[str, "asyncio.Task[_Columns]"] = field(default_factory=dict)

    async def check_of(self, dataset_id: str, rejects_since: int) -> PayloadCheck | None:
        """Return the check of a dataset whose usage names a version; raises Refused."""
        columns = self._known.get(dataset_id)
        if columns is None or columns.rejects_since < rejects_since:
            columns = await asyncio.shield(self._read(dataset_id))
        return columns.check

    def _read(self, dataset_id: str) -> "asyncio.Task[_Columns]":
        task = self._reads.get(dataset_id)
        if task is None:
            task = self._reads[dataset_id] = asyncio.create_task(self._ask(dataset_id))
            task.add_done_callback(lambda done: self._forget(dataset_id, done))
        return task

    def _forget(self, dataset_id: str, task: "asyncio.Task[_Columns]") -> None:
        del self._reads[dataset_id]
        if not task.cancelled():
            # Retrieved here, since the export that waited may be cancelled.
            task.exception()

    async def _ask(self, dataset_id: str) -> _Columns:
        try:
            rejects_since, columns = await self.ingestion.enforced_columns(dataset_id)
        except NotFound:
            # It was deleted: its commit is refused.
            return _Columns(0, None)
        except MetaError as error:
            log.warning("columns_not_read", reason=error.reason, error=error.message)
            raise unavailable("columns of the dataset cannot be read now") from error
        enforced = _Columns(rejects_since, PayloadCheck(columns) if columns else None)
        while len(self._known) >= DATASETS_MAX:
            del self._known[next(iter(self._known))]
        self._known[dataset_id] = enforced
        return enforced


@dataclass(frozen=True, slots=True)
class RecordRules:
    """Rules by which a dataset rejects records: columns that they have to fit, and a window."""

    columns: tuple[PromotedColumn, ...] = ()
    window: WindowCheck | None = None


async def conforming(
    check: PayloadCheck | None,
    window: WindowCheck | None,
    signal: Signal,
    valid: PartialSuccess,
    bytes_max: int,
    convert: Callable[[RecordRules, bytes], Awaitable[PartialSuccess]],
) -> PartialSuccess:
    """Reject what violates the schema; `convert` divides a payload in another process.

    Payloads above `bytes_max` are checked there too, and those with a time outside the `window`.
    """
    payload = valid.payload
    if window is None:
        if check is None:
            return valid
        if len(payload) <= bytes_max and not check.schema_violations(signal, payload).records:
            return valid
    judged = await convert(RecordRules(check.columns if check else (), window), payload)
    if not judged.num_rejected:
        return valid
    cause = f"{valid.cause}; {judged.cause}" if valid.num_rejected else judged.cause
    return replace(judged, num_rejected=valid.num_rejected + judged.num_rejected, cause=cause)


def reject_schema_violations(signal: Signal, payload: bytes, rules: RecordRules) -> PartialSuccess:
    """Remove records that violate the schema, or are outside; the others keep their bytes."""
    misfits = PayloadCheck(rules.columns).schema_violations(signal, payload)
    num_misfits = len(misfits.records)
    if rules.window is not None:
        _add_outside(misfits, rules.window.outside(payload))
    if not misfits.records:
        return PartialSuccess(payload)
    accepted, _ = divide(signal, payload, frozenset(misfits.records))
    causes = ["not of the schema of the dataset"] * bool(num_misfits)
    causes += ["outside the window of the dataset's events"] * bool(misfits.num_outside)
    cause = f"{', or '.join(causes)} ({misfits.text(NAMED_MAX)})"
    return PartialSuccess(accepted, len(misfits.records), cause, schema_violations=misfits)


def _add_outside(misfits: SchemaMisfits, outside: Mapping[int, tuple[str, str]]) -> None:
    """Add the records that are outside and no misfits; of all, the first by place are named."""
    added = sorted(outside.keys() - frozenset(misfits.records))
    reported = [ColumnMisfit(record, *outside[record]) for record in added[:MISFITS_MAX]]
    misfits.misfits = sorted([*misfits.misfits, *reported], key=lambda m: m.record)[:MISFITS_MAX]
    misfits.records = sorted([*misfits.records, *added])
    misfits.num_outside = len(added)


def judged_digest(digest: bytes, schema_violations: SchemaMisfits | None) -> bytes:
    """Add to an export's digest which of its records were rejected."""
    if schema_violations is None:
        return digest
    places = ",".join(map(str, schema_violations.records))
    return digest + blake3(places.encode()).digest(REJECTED_BYTES)
