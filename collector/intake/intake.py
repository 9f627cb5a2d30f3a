"""Admission, validation and buffering of one export within a deadline, for every protocol."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from collector.auth import TokenCache
from collector.ingestion import MonthlyUsage, ValidToken
from collector.intake.admission import AdmittedExport
from collector.intake.checks import AttributeSizes, Check, Conformity, EventAges, in_order
from collector.intake.conformity import EnforcedColumns, judged_digest
from collector.intake.conversion import ConversionPool
from collector.intake.deadlines import Deadlines
from collector.intake.quotas import Quotas
from collector.intake.reading import ExportReader
from collector.intake.token_limits import Activities, IntakeLimits, TenantActivity, TokenLimits
from collector.otlp import export as dedupe
from collector.otlp.export import (
    CommittedDigests,
    count_records,
    count_taken,
    digest_of,
    hint_of,
)
from collector.otlp.partial_success import PartialSuccess
from collector.records.json_records import ConvertedRecords, RecordOptions, TakenRecords
from collector.refusal import Refusal, Refused, not_routed, unavailable
from collector.streams.buffer import OVERHEAD_BYTES, Buffer, MemoryBudget, PendingExport
from meta.metrics import (
    CUT_ATTRIBUTES,
    FREE_PLACES,
    REJECTED_RECORDS,
    UNKNOWN_MEMBERS,
)
from segments.export_digest import DIGEST_BYTES, batch_id_of
from segments.otlp.content import PayloadFacts
from segments.signals import Signal


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
    _reader: ExportReader = field(init=False)
    _checks: tuple[Check, ...] = field(init=False)

    def __post_init__(self) -> None:
        limits = self.limits
        reader = ExportReader(self.conversions, self.validations, limits.export_records_max)
        conformity = Conformity(
            reader,
            EnforcedColumns(self.quotas.ingestion),
            self.digests,
            lambda: self.is_meta_reachable,
        )
        self._reader = reader
        FREE_PLACES["collector"].labels("exports").set_function(
            lambda: limits.concurrent_exports_max - self._activities.num_in_flight
        )
        self._checks = in_order(
            conformity, EventAges(reader), AttributeSizes(reader, limits.attributes)
        )
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
        token, usage = self._last_known(signal, token_secret) or (None, None)
        if token is None or usage is None:
            token = await self.tokens.check(token_secret, host)
            dataset_id = token.dataset_ids[signal]
            if not dataset_id:
                raise Refused(not_routed(signal))
            usage = await self.quotas.check(dataset_id)
        limits = self.limits.token.overridden(usage.message.ingest_limits)
        activity = self._activities.of(token.token_id)
        activity.require(limits, self._activities.clock())
        tenant = self._admit_tenant(usage)
        charge = self.budget.open(token.token_id, limits.memory_bytes)
        if tenant is not None:
            charge.tenant_id, charge.tenant_size_bytes_max = tenant.id, tenant.limits.memory_bytes
        return AdmittedExport(
            signal, token_secret, token, limits, usage, charge, activity, self._activities, tenant
        )

    def _admit_tenant(self, usage: MonthlyUsage) -> TenantActivity | None:
        """Return what the tenant's tokens do together, None = of `default`; raises Refused."""
        if not usage.message.HasField("tenant"):
            return None
        share = usage.message.tenant
        limits = TokenLimits(
            share.bytes_per_sec,
            max(1, self.limits.concurrent_exports_max * share.percent // 100),
            max(1, self.budget.size_bytes_max * share.percent // 100),
        )
        activity = self._activities.of(share.tenant_id)
        activity.require(limits, self._activities.clock(), "tenant")
        return TenantActivity(share.tenant_id, limits, activity)

    def _last_known(
        self, signal: Signal, token_secret: str
    ) -> tuple[ValidToken, MonthlyUsage] | None:
        """Return the last answers about an export, if no meta answers now.

        The export then waits in the buffer. Its token is checked again before it is stored.
        """
        if self.is_meta_reachable:
            return None
        token = self.tokens.last_known(token_secret)
        dataset_id = token.dataset_ids[signal] if token else ""
        usage = self.quotas.last_known(dataset_id) if dataset_id else None
        return None if token is None or usage is None else (token, usage)

    async def accept_json(self, admission: AdmittedExport, body: bytes) -> PartialSuccess:
        """Take one export of OTLP/JSON; as `accept`."""
        converted = await self._reader.convert("json", admission, body)
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
        """Take JSON records; as `accept`. A duplicate has the digest of earlier records."""
        converted = await self._reader.convert("records", admission, body, options)
        assert isinstance(converted, ConvertedRecords)
        digest = digest_of_records(converted)
        valid = await self.accept(admission, converted.payload, converted, digest)
        return converted.taken(valid, batch_id_of(digest))

    async def accept(
        self,
        admission: AdmittedExport,
        payload: bytes,
        converted: PartialSuccess | None = None,
        digest: bytes | None = None,
    ) -> PartialSuccess:
        """Take one export; once this returns its records are committed.

        Returns the stored payload, the number of damaged records that were skipped, and a warning
        if an equal export was stored before. `converted` is the result of a conversion, if the
        payload is not the one that was sent; `digest` is that of a resend, if it does not follow
        from the payload alone.
        """
        signal, size_bytes = admission.signal, len(payload) + OVERHEAD_BYTES
        admission.charge.grow_to(size_bytes)
        admission.count(len(payload))
        await self._activities.turn(admission.sender, size_bytes)
        # Over the payload as sent, so that a resend of a damaged export has the same digest.
        digest = digest or digest_of(admission.token.token_id, signal, payload)
        view = await self._reader.read(admission, converted or PartialSuccess(payload, 0), digest)
        for check in self._checks:
            await check(view)
        valid, facts = view.valid, view.facts
        # Validation may have taken a while, and nothing is flushed after the last flush.
        self._require_open()
        digest = judged_digest(digest, valid.schema_violations)
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
            tenant_id=admission.sender.tenant_id,
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
