"""Admission, validation and buffering of one export within a deadline, for every protocol."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

from collector.auth import TokenCache
from collector.ingestion import IngestLimits, ValidToken
from collector.intake.conformity import EnforcedColumns, RecordRules, conforming, judged_digest
from collector.intake.conversion import ConversionPool
from collector.intake.conversion_worker import Conversion, Limit
from collector.intake.deadlines import Deadlines
from collector.intake.quotas import Quotas
from collector.intake.token_limits import Activities, TokenActivity, TokenLimits
from collector.otlp import export as dedupe
from collector.otlp.attribute_bounds import AttributeBounds, may_exceed
from collector.otlp.export import (
    DIGEST_BYTES,
    CommittedDigests,
    TooManyRecords,
    count_records,
    count_taken,
    digest_of,
    hint_of,
    read_facts,
    require_signal,
)
from collector.otlp.partial_success import PartialSuccess
from collector.records.json_records import ConvertedRecords, RecordOptions, TakenRecords
from collector.refusal import Refusal, Refused, malformed, unavailable
from collector.streams.buffer import OVERHEAD_BYTES, Buffer, Charge, MemoryBudget, PendingExport
from collector.streams.flusher import not_routed
from meta.errors import Code
from meta.metrics import (
    CUT_ATTRIBUTES,
    OUT_OF_WINDOW_RECORDS,
    REJECTED_RECORDS,
    UNKNOWN_MEMBERS,
)
from segments.otlp.content import PayloadFacts
from segments.signals import Signal

# An export of more is validated in a process: the parser holds up all others for up to 20 ms a MiB,
# and logs without times take a walk in Python. A thread would keep the interpreter as well.
AT_ONCE_BYTES_MAX = 1024 * 1024
AT_ONCE_RECORDS_MAX = 10_000
_TIME_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class IntakeLimits:
    """Limits of one collector; those of a token hold unless its dataset sets others."""

    export_size_bytes_max: int
    export_records_max: int
    export_timeout_secs: float
    concurrent_exports_max: int
    token: TokenLimits
    attributes: AttributeBounds


@dataclass(slots=True, eq=False)
class AdmittedExport:
    """An export that may be read: its token, and the memory charged for it until its outcome."""

    signal: Signal
    token_secret: str = field(repr=False)
    token: ValidToken
    limits: TokenLimits
    dataset_limits: IngestLimits
    charge: Charge
    activity: TokenActivity
    _activities: Activities

    def __enter__(self) -> Self:
        """Count the export as in flight."""
        self._activities.begin(self.activity)
        return self

    def __exit__(self, *_: object) -> None:
        """Discharge the bytes that no pending export has taken over."""
        self.charge.release()
        self._activities.end(self.activity)

    def window(self, now_nanos: int) -> tuple[int, int] | None:
        """Event times (nanoseconds) that the dataset accepts now; None = any."""
        age_max_secs = self.dataset_limits.event_age_max_secs
        lead_max_secs = self.dataset_limits.event_lead_max_secs
        if not (age_max_secs or lead_max_secs):
            return None
        first = now_nanos - age_max_secs * 10**9 if age_max_secs else 0
        return first, now_nanos + lead_max_secs * 10**9 if lead_max_secs else _TIME_MAX

    @property
    def dataset_id(self) -> str:
        """Dataset that the export's records belong to."""
        return self.token.routing.dataset_id(self.signal)


@dataclass(slots=True)
class Intake:
    """Takes exports in and returns once each is committed; raises Refused otherwise."""

    tokens: TokenCache
    quotas: Quotas
    budget: MemoryBudget
    buffer: Buffer
    digests: CommittedDigests
    conversions: ConversionPool
    # Apart from conversions, of which one can take half a minute.
    validations: ConversionPool
    limits: IntakeLimits
    is_open: bool = False
    is_meta_reachable: bool = True
    _pending: dict[bytes, PendingExport] = field(default_factory=dict)
    _activities: Activities = field(default_factory=Activities)
    _repeats: dedupe.RepeatLog = field(default_factory=dedupe.RepeatLog)
    _deadlines: Deadlines = field(init=False)
    _columns: EnforcedColumns = field(init=False)

    def __post_init__(self) -> None:
        self._columns = EnforcedColumns(self.quotas.ingestion)
        self._deadlines = Deadlines(self.limits.export_timeout_secs)

    async def close(self) -> None:
        """End the processes."""
        await self.conversions.close()
        await self.validations.close()

    async def admit(
        self, signal: Signal, token_secret: str, host: Callable[[], str]
    ) -> AdmittedExport:
        """Check what can be checked before the body is read; enter the result while reading it.

        `host` returns the host that sends the export.
        """
        self._require_open()
        if self._activities.num_in_flight >= self.limits.concurrent_exports_max:
            raise unavailable("too many exports are under way")
        token, dataset_limits = self._last_known(signal, token_secret) or (None, None)
        if token is None or dataset_limits is None:
            token = await self.tokens.check(token_secret, host)
            dataset_id = token.routing.dataset_id(signal)
            if not dataset_id:
                raise Refused(not_routed(signal))
            dataset_limits = await self.quotas.check(dataset_id)
        limits = self.limits.token.overridden(dataset_limits)
        activity = self._activities.of(token.token_id)
        activity.require(limits, self._activities.clock())
        charge = self.budget.open(token.token_id, limits.memory_bytes)
        return AdmittedExport(
            signal, token_secret, token, limits, dataset_limits, charge, activity, self._activities
        )

    def _last_known(
        self, signal: Signal, token_secret: str
    ) -> tuple[ValidToken, IngestLimits] | None:
        """Return the last answers about an export, if no meta answers now.

        The export then waits in the buffer. Its token is checked again before it is stored.
        """
        if self.is_meta_reachable:
            return None
        token = self.tokens.last_known(token_secret)
        dataset_id = token.routing.dataset_id(signal) if token else ""
        limits = self.quotas.last_known(dataset_id) if dataset_id else None
        return None if token is None or limits is None else (token, limits)

    async def accept_json(self, admission: AdmittedExport, body: bytes) -> PartialSuccess:
        """Take one export of OTLP/JSON; as `accept`."""
        converted = await self._convert("json", admission, body)
        valid = await self.accept(admission, converted.payload, converted)
        if converted.num_unknown:
            UNKNOWN_MEMBERS.labels(admission.signal).inc(converted.num_unknown)
        now = self._activities.clock()
        if not converted.spelling or not admission.activity.is_warning_due(now):
            return valid
        warnings = filter(None, (valid.warning, converted.spelling))
        return replace(valid, warning="; ".join(warnings))

    async def accept_records(
        self,
        admission: AdmittedExport,
        body: bytes,
        options: RecordOptions,
        digest_of_records: Callable[[ConvertedRecords], bytes],
    ) -> TakenRecords:
        """Take JSON records; as `accept`. A repeat has the digest of records that came before."""
        converted = await self._convert("records", admission, body, options)
        assert isinstance(converted, ConvertedRecords)
        digest = digest_of_records(converted)
        valid = await self.accept(admission, converted.payload, converted, digest)
        return converted.taken(valid)

    async def accept(
        self,
        admission: AdmittedExport,
        payload: bytes,
        converted: PartialSuccess | None = None,
        digest: bytes | None = None,
    ) -> PartialSuccess:
        """Take one export; once this returns its records are committed.

        Returns the stored payload, the number of damaged records that were left out, and a warning
        if an equal export was stored before. `converted` is the result of a conversion, if the
        payload is not the one that was sent; `digest` is that of a resend, if it does not follow
        from the payload alone.
        """
        signal, size_bytes = admission.signal, len(payload) + OVERHEAD_BYTES
        admission.charge.grow_to(size_bytes)
        admission.activity.count(len(payload), admission.limits, self._activities.clock())
        await self._activities.turn(admission.token.token_id, size_bytes)
        # Over the payload as sent, so that a resend of a damaged export has the same digest.
        digest = digest or digest_of(admission.token.token_id, signal, payload)
        valid, facts = await self._read(admission, converted or PartialSuccess(payload, 0))
        valid, facts = await self._conforming(admission, valid, facts, digest)
        valid, facts = await self._inside_window(admission, valid, facts)
        valid = await self._within_bounds(admission, valid, facts)
        # Validation may have taken a while, and nothing is flushed after the last flush.
        self._require_open()
        digest = judged_digest(digest, valid.nonconforming)
        outcome = await self._accept(admission, valid.payload, digest, facts)
        if outcome == "duplicate":
            self._repeats.add(signal, admission.token.token_id)
            warning = dedupe.warning(signal, facts.num_records, self.digests.keep_secs)
            valid = replace(valid, warning=warning)
        count_taken(signal, outcome, len(payload))
        for cut, number in zip(("dropped", "shortened"), valid.cut, strict=True):
            if number:
                CUT_ATTRIBUTES.labels(signal, cut).inc(number)
        if valid.num_rejected:
            REJECTED_RECORDS.labels(signal).inc(valid.num_rejected)
        hint = hint_of(facts)
        if hint and admission.activity.is_warning_due(self._activities.clock()):
            return replace(valid, warning="; ".join(filter(None, (valid.warning, hint))))
        return valid

    async def _read(
        self, admission: AdmittedExport, sent: PartialSuccess
    ) -> tuple[PartialSuccess, PayloadFacts]:
        """Validate an export; of a damaged one take the valid part."""
        valid = sent
        try:
            facts = await self._facts(admission, sent.payload)
        except Refused as refused:
            if refused.refusal.code is not Code.INVALID_ARGUMENT:
                raise
            valid = await self._convert("damaged", admission, sent.payload)
            facts = await self._facts(admission, valid.payload)
            if not facts.num_records:
                raise malformed(f"{refused.refusal.message}: {valid.cause}") from None
        require_signal(admission.signal, valid.payload, facts)
        return valid, facts

    async def _conforming(
        self, admission: AdmittedExport, valid: PartialSuccess, facts: PayloadFacts, digest: bytes
    ) -> tuple[PartialSuccess, PayloadFacts]:
        """Reject the records that do not conform or are outside, if their dataset rejects any."""
        rejects_since = admission.dataset_limits.rejects_since
        window = admission.dataset_limits.window
        # While no meta answers its days are those of some time ago: it would reject today's events.
        is_known = self.is_meta_reachable and admission.signal == "logs"
        if window is None or not is_known or window.is_inside(facts.times):
            window = None
        # A resend of an export that was stored as a whole is that, whatever the rules are now.
        if not (rejects_since or window) or self.digests.is_whole(digest):
            return valid, facts
        check = None
        if rejects_since:
            check = await self._columns.check_of(admission.dataset_id, rejects_since)

        async def convert(rules: RecordRules, payload: bytes) -> PartialSuccess:
            return await self._convert("conforming", admission, payload, rules)

        signal = admission.signal
        judged = await conforming(check, window, signal, valid, AT_ONCE_BYTES_MAX, convert)
        if judged is valid:
            return valid, facts
        if judged.nonconforming is not None and judged.nonconforming.num_outside:
            OUT_OF_WINDOW_RECORDS.labels(signal).inc(judged.nonconforming.num_outside)
        return judged, await self._facts(admission, judged.payload)

    async def _inside_window(
        self, admission: AdmittedExport, valid: PartialSuccess, facts: PayloadFacts
    ) -> tuple[PartialSuccess, PayloadFacts]:
        """Reject the records whose event is too old or too far ahead for their dataset."""
        window = admission.window(time.time_ns())
        if window is None or facts.times is None:
            return valid, facts
        if window[0] <= facts.times[0] and facts.times[1] <= window[1]:
            return valid, facts
        inside = await self._convert("window", admission, valid.payload, window)
        OUT_OF_WINDOW_RECORDS.labels(admission.signal).inc(inside.num_rejected)
        num_rejected = valid.num_rejected + inside.num_rejected
        cause = f"{valid.cause}; {inside.cause}" if valid.num_rejected else inside.cause
        facts = await self._facts(admission, inside.payload)
        inside = replace(inside, num_rejected=num_rejected, cause=cause)
        return replace(inside, nonconforming=valid.nonconforming), facts

    async def _within_bounds(
        self, admission: AdmittedExport, valid: PartialSuccess, facts: PayloadFacts
    ) -> PartialSuccess:
        """Cut attributes beyond the collector's bounds; records and their facts stay."""
        bounds, signal, payload = self.limits.attributes, admission.signal, valid.payload
        if facts.part_bytes_max <= bounds.part_bytes_min:
            return valid
        if len(payload) <= AT_ONCE_BYTES_MAX and not may_exceed(signal, payload, bounds):
            return valid
        cut = await self._convert("attributes", admission, payload, bounds)
        return replace(valid, payload=cut.payload, warning=cut.warning, cut=cut.cut)

    async def _convert(
        self,
        conversion: Conversion,
        admission: AdmittedExport,
        body: bytes,
        limit: Limit | None = None,
    ) -> PartialSuccess:
        return await self.conversions.convert(
            conversion,
            admission.token.token_id,
            admission.signal,
            body,
            limit or self.limits.export_records_max,
        )

    async def _facts(self, admission: AdmittedExport, payload: bytes) -> PayloadFacts:
        signal, records_max = admission.signal, self.limits.export_records_max
        if len(payload) <= AT_ONCE_BYTES_MAX:
            try:
                return read_facts(signal, payload, min(AT_ONCE_RECORDS_MAX, records_max))
            except TooManyRecords as many:
                if many.num_parts > records_max:
                    raise TooManyRecords(records_max, many.num_parts) from None
        return await self.validations.read_facts(
            admission.token.token_id, signal, payload, records_max
        )

    async def _accept(
        self, admission: AdmittedExport, payload: bytes, digest: bytes, facts: PayloadFacts
    ) -> str:
        if (refusal := self.digests.judged_otherwise(digest)) is not None:
            raise Refused(refusal)
        if not facts.num_records:
            return "empty"
        if digest in self.digests:
            return "duplicate"
        pending = self._pending.get(digest[:DIGEST_BYTES])
        if pending is not None:
            if pending.digest != digest:
                raise unavailable("an equal export, judged by another schema, is under way")
            await self._answer(pending)
            return "duplicate"
        await self._answer(self._add(admission, payload, digest, facts))
        return "accepted"

    def _add(
        self, admission: AdmittedExport, payload: bytes, digest: bytes, facts: PayloadFacts
    ) -> PendingExport:
        allowance = self.quotas.take(admission.dataset_id, facts.num_records)
        outcome = asyncio.get_running_loop().create_future()
        export = PendingExport(
            admission.token_secret,
            admission.token.token_id,
            admission.signal,
            payload,
            digest,
            facts,
            time.time_ns(),
            outcome,
            admission.charge.take_over(),
        )
        self._pending[digest[:DIGEST_BYTES]] = export
        self.buffer.add(export)

        def answered(done: "asyncio.Future[Refusal | None]") -> None:
            del self._pending[digest[:DIGEST_BYTES]]
            if done.cancelled() or done.result() is not None:
                allowance.own_records -= facts.num_records
            else:
                count_records(admission.signal, facts.num_records)

        outcome.add_done_callback(answered)
        return export

    async def _answer(self, export: PendingExport) -> None:
        if not export.outcome.done():
            await self._deadlines.wait(export.outcome)
        if not export.outcome.done():
            raise unavailable("export was not committed in time; send it again")
        refusal = export.outcome.result()
        if refusal is not None:
            raise Refused(refusal)

    def _require_open(self) -> None:
        if not self.is_open:
            raise unavailable("collector is starting or stopping")
