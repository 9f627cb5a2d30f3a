"""Background choice of automatic columns, once an hour for each dataset that is counted."""

import structlog

from meta.access import AuditCaller
from meta.commits.transactions import Transactions
from meta.planning import column_choice
from meta.planning.column_choice import AttributeSum, Column, SignalSums, Sums
from meta.process import Shutdown
from meta.store.access import audit
from meta.store.catalog import attribute_counts, automatic_columns, datasets
from meta.store.catalog.attribute_counts import DueChoice, StoredCounts
from meta.store.catalog.automatic_columns import NUMBERED_MAX, AutomaticColumns
from meta.store.engine.pool import Transaction
from meta.store.versions import versions
from meta.v1 import common_pb2

log = structlog.get_logger()
PAUSE_SECS = 60.0
IDLE_SECS_MAX = 300.0
CHOICE_SECS = 3_600.0
AUTHOR = AuditCaller(subject="meta")
_NUMBERS = {"string": common_pb2.KQL_TYPE_STRING, "long": common_pb2.KQL_TYPE_LONG}
_TYPES = {int(number): kql_type for kql_type, number in _NUMBERS.items()}


class ColumnWatch:
    """Chooses the columns that are due; servers on one database take turns."""

    def __init__(self, transactions: Transactions, shutdown: Shutdown) -> None:
        self._transactions = transactions
        self._shutdown = shutdown

    def run_round(self) -> bool:
        """Work until nothing is due, each step in its own transaction; False if nothing was."""
        is_any = False
        while not self._shutdown.is_requested and self._transactions.write(_step):
            is_any = True
        return is_any


def _step(tx: Transaction) -> bool:
    """Add counts of a dataset that is due to its sums, or choose its columns; False if none is."""
    due = attribute_counts.lock_due(tx)
    if due is None:
        return False
    if due.is_purged:
        attribute_counts.end(tx, due.dataset_id)
    elif not _add_counts(tx, due):
        _choose(tx, due)
        attribute_counts.schedule(tx, due.dataset_id, CHOICE_SECS)
    return True


def _add_counts(tx: Transaction, due: DueChoice) -> bool:
    """Add the counts of segments to the sums; True if there may be more."""
    taken = attribute_counts.take(tx, due.dataset_id)
    if taken:
        stored = attribute_counts.read(tx, due.dataset_id)
        sums: dict[int, Sums] = {}
        for hour, counts in taken:
            period = column_choice.period_of(hour)
            if period not in sums:
                sums[period] = _counts(stored.get(period, {}))
            column_choice.add(sums[period], _counts(counts))
        attribute_counts.write(
            tx, due.dataset_id, {period: _stored(own) for period, own in sums.items()}
        )
    return len(taken) == attribute_counts.ROWS_MAX


def _choose(tx: Transaction, due: DueChoice) -> None:
    attribute_counts.expire(tx, due.dataset_id, due.hour - column_choice.KEPT_HOURS)
    sums = attribute_counts.read(tx, due.dataset_id)
    columns = automatic_columns.read(tx, due.dataset_id)
    before = [(c.attribute, _TYPES[c.kql_type]) for c in columns.columns if _is_chosen(c)]
    listed = {c.attribute for c in columns.columns if c.is_written and not c.is_chosen}
    periods = {period: _counts(counts) for period, counts in sums.items()}
    after = _numbered(columns, column_choice.choose(periods, due.hour, before, listed))
    if set(after) == set(before):
        return
    numbered = [(attribute, int(_NUMBERS[kql_type])) for attribute, kql_type in after]
    automatic_columns.write(tx, due.dataset_id, numbered, is_chosen=True)
    # Nurseries read them: equal response_seq must mean equal columns.
    datasets.stamp(tx, due.dataset_id, versions.allocate(tx))
    change = audit.states(_names(before), _names(after))
    audit.note(tx, "ChooseAutomaticColumns", due.dataset_id, change, AUTHOR)
    log.info("automatic_columns_chosen", dataset_id=str(due.dataset_id), columns=_names(after))


def _numbered(columns: AutomaticColumns, chosen: tuple[Column, ...]) -> list[Column]:
    """Leave out new columns for which the dataset has no field ids left."""
    known = {(column.attribute, _TYPES[column.kql_type]) for column in columns.columns}
    left = NUMBERED_MAX - len(known)
    new = [column for column in chosen if column not in known][left:]
    if new:
        log.warning("automatic_columns_exhausted", attributes=_names(new), limit=NUMBERED_MAX)
    return [column for column in chosen if column not in new]


def _is_chosen(column: automatic_columns.AutomaticColumnRow) -> bool:
    return column.is_written and column.is_chosen


def _names(columns: list[Column]) -> list[str]:
    return sorted(f"{attribute}:{kql_type}" for attribute, kql_type in columns)


def _counts(stored: StoredCounts) -> Sums:
    return {
        int(signal): SignalSums(records, {a: AttributeSum(*own) for a, own in named.items()})
        for signal, (records, named) in stored.items()
    }


def _stored(counts: Sums) -> StoredCounts:
    for own in counts.values():
        own.cut()
    return {str(signal): (own.records, own.attributes) for signal, own in counts.items()}
