"""Decoding of exports: their facts, at once or in a process, and conversions in processes."""

from dataclasses import dataclass

from collector.intake.admission import AdmittedExport
from collector.intake.conversion import ConversionPool
from collector.intake.conversion_worker import Conversion, Limit
from collector.otlp.export import TooManyRecords, read_facts
from collector.otlp.partial_success import PartialSuccess
from collector.refusal import Refused, malformed
from meta.errors import Code
from segments.otlp.content import PayloadFacts

# An export of more is validated in a process: the parser holds up all others for up to 20 ms a MiB,
# and logs without times take a walk in Python. A thread would keep the interpreter as well.
AT_ONCE_BYTES_MAX = 1024 * 1024
AT_ONCE_RECORDS_MAX = 10_000


@dataclass(slots=True)
class ExportView:
    """An export that is decoded, for the checks: its valid part, and the facts of that part.

    `digest` is that of the export as it was sent.
    """

    admission: AdmittedExport
    digest: bytes
    valid: PartialSuccess
    facts: PayloadFacts


@dataclass(frozen=True, slots=True)
class ExportReader:
    """Reads exports of at most some records."""

    conversions: ConversionPool
    # Apart from conversions, of which one can take half a minute.
    validations: ConversionPool
    records_max: int

    async def read(
        self, admission: AdmittedExport, sent: PartialSuccess, digest: bytes
    ) -> ExportView:
        """Validate an export; of a damaged one take the valid part."""
        valid = sent
        try:
            facts = await self.facts(admission, sent.payload)
        except Refused as refused:
            if refused.refusal.code is not Code.INVALID_ARGUMENT:
                raise
            valid = await self.convert("damaged", admission, sent.payload)
            facts = await self.facts(admission, valid.payload)
            if not facts.num_records:
                raise malformed(f"{refused.refusal.message}: {valid.cause}") from None
        return ExportView(admission, digest, valid, facts)

    async def convert(
        self,
        conversion: Conversion,
        admission: AdmittedExport,
        body: bytes,
        limit: Limit | None = None,
    ) -> PartialSuccess:
        """Convert a payload in a process; raises Refused."""
        return await self.conversions.convert(
            conversion,
            admission.sender,
            admission.signal,
            body,
            limit or self.records_max,
        )

    async def facts(self, admission: AdmittedExport, payload: bytes) -> PayloadFacts:
        """Validate a payload and return its facts; raises Refused."""
        signal, records_max = admission.signal, self.records_max
        if len(payload) <= AT_ONCE_BYTES_MAX:
            try:
                return read_facts(signal, payload, min(AT_ONCE_RECORDS_MAX, records_max))
            except TooManyRecords as many:
                if many.num_parts > records_max:
                    raise TooManyRecords(records_max, many.num_parts) from None
        return await self.validations.read_facts(admission.sender, signal, payload, records_max)
