"""Background job that sets the gauges of the installation: ends, lags, quotas, free places."""

from collections.abc import Iterable

from meta.commits.process_reports import ProcessReports
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.metrics import FREE_PLACES
from meta.self_report import RENEWAL_NANOS, SILENT_SECS, Validity
from meta.status_metrics import EXPIRING, EXPIRY, NURSERY_LAG, OF_TENANTS, QUOTA_USED, show
from meta.store.catalog import datasets
from meta.store.engine.pool import Transaction
from meta.store.status import processes, quota_use, token_ends
from meta.store.streams import nursery_lags, tokens
from meta.store.versions import clock
from meta.v1.status_pb2 import ProcessReport
from meta.watches import tenant_gauges

NEAREST_MAX = 5
# A limit of all datasets is compared with the usage of each.
QUOTAS_EVERY = 10
_BOUNDS = FREE_PLACES["meta"]


class InstallationGauges:
    """Reads once a round what all gauges show, in one transaction."""

    def __init__(
        self, transactions: Transactions, settings: Settings, reports: ProcessReports
    ) -> None:
        self._transactions = transactions
        self._settings = settings
        self._reports = reports
        self._rounds = 0

    def run_round(self) -> None:
        """Set the gauges; those of a round that fails are absent."""
        try:
            self._transactions.read(self._set)
        except Exception:
            for gauge in (EXPIRY, EXPIRING, NURSERY_LAG, QUOTA_USED, *OF_TENANTS):
                gauge.clear()
            # The other bounds are not read from the database.
            for bound in ("datasets", "ingest_tokens", "month_records"):
                _BOUNDS.remove(bound)
            self._rounds = 0
            raise
        self._rounds += 1

    def _set(self, tx: Transaction) -> None:
        now_nanos = clock.now_nanos(tx)
        certificates = self._certificates(tx, now_nanos)
        due = sum(now_nanos > certificate.renewal_due_nanos for certificate in certificates)
        ends = {
            "certificate": sorted({each.ends_at_nanos / 1e9 for each in certificates}),
            "access_token": token_ends.nearest(tx, NEAREST_MAX),
        }
        show(EXPIRY, {key: end for kind in ends for key, end in _ranked(kind, ends[kind])})
        EXPIRING.labels("certificate").set(due)
        EXPIRING.labels("access_token").set(token_ends.count_due(tx, RENEWAL_NANOS / 1e9))
        lags = nursery_lags.read(tx)
        show(NURSERY_LAG, {(nursery,): secs for nursery, secs in lags.items()})
        if self._rounds % QUOTAS_EVERY == 0:
            self._set_quotas(tx)
            tenant_gauges.show(tx)
        _BOUNDS.labels("datasets").set(self._settings.datasets_max - datasets.count_live(tx))
        _BOUNDS.labels("ingest_tokens").set(self._settings.tokens_max - tokens.count(tx))

    def _set_quotas(self, tx: Transaction) -> None:
        uses = quota_use.read(tx, self._settings.records_per_month)
        ratios: dict[tuple[str, ...], float] = {("dataset",): 0.0, ("creator",): 0.0}
        ratios |= {(use.kind,): use.used_ratio for use in uses}
        show(QUOTA_USED, ratios)
        if uses:
            _BOUNDS.labels("month_records").set(min(use.free_records for use in uses))
        else:
            _BOUNDS.remove("month_records")

    def _certificates(self, tx: Transaction, now_nanos: int) -> set[Validity]:
        """Return the validities of the certificates of processes that report, each once."""
        since_nanos = now_nanos - SILENT_SECS * 10**9
        reports = [
            ProcessReport.FromString(process.report)
            for process in self._reports.page(tx, processes.FIRST, processes.PROCESSES_MAX)
            if process.last_seen_nanos > since_nanos and not process.is_ended
        ]
        return {
            Validity(report.certificate_begins_at_nanos, report.certificate_ends_at_nanos)
            for report in reports
            if report.certificate_ends_at_nanos
        }


def _ranked(kind: str, ends: Iterable[float]) -> Iterable[tuple[tuple[str, str], float]]:
    nearest = list(ends)[:NEAREST_MAX]
    return (((kind, str(rank)), end) for rank, end in enumerate(nearest, 1))
