"""Background choice of automatic columns, once an hour for each dataset that is counted."""

from uuid import UUID

import structlog

from meta.access import AuditCaller
from meta.commits.transactions import Transactions
from meta.planning import column_choice
from meta.planning.column_choice import CurrentColumns, SignalSums, Sums
from meta.process import Shutdown
from meta.store.access import audit
from meta.store.catalog import attribute_counts, automatic_columns, datasets
from meta.store.catalog.attribute_counts import StoredCounts
from meta.store.catalog.automatic_columns import NUMBERED_MAX, AutomaticColumns
from meta.store.engine.pool import Transaction
from meta.store.versions import versions
from meta.v1 import common_pb2
from segments.attribute_counts import AttributeCount

log = structlog.get_logger()
PAUSE_SECS = 60.0
IDLE_SECS_MAX = 300.0
# Of the field ids of a dataset; the others are left to people.
CHOSEN_NUMBERED_MAX = NUMBERED_MAX // 2
AUTHOR = AuditCaller(subject="meta")
_NUMBERS = {"string": common_pb2.KQL_TYPE_STRING, "long": common_pb2.KQL_TYPE_LONG}
_TYPES = {int(number): kql_type for kql_type, number in _NUMBERS.items()}


class ColumnWatch:
    """Chooses the columns that are due; servers on one database take turns."""

    def __init__(self, transactions: Transactions, shutdown: Shutdown) -> None:
        self._transactions = transactions
        self._shutdown = shutdown

    def run_round(self) -> bool:
        """Choose the columns of each dataset that is due; False if none was.

        A dataset for which this fails is due again after an hour.
        """
        is_any = False
        while not self._shutdown.is_requested:
            dataset_id = self._transactions.write(attribute_counts.claim_due)
            if dataset_id is None:
                break
            is_any = True
            self._choose(dataset_id)
        return is_any

    def _choose(self, dataset_id: UUID) -> None:
        while self._transactions.write(lambda tx: _add_counts(tx, dataset_id)):
            if self._shutdown.is_requested:
                return
        self._transactions.write(lambda tx: _choose(tx, dataset_id))


def _add_counts(tx: Transaction, dataset_id: UUID) -> bool:
    """Add counts of segments to the sums; True if there may be more."""
    if attribute_counts.lock(tx, dataset_id) is None:
        return False
    taken = attribute_counts.take(tx, dataset_id)
    periods = {column_choice.period_of(hour) for hour, _ in taken}
    stored = attribute_counts.read(tx, dataset_id, periods)
    sums = {period: _sums(stored.get(period, {})) for period in periods}
    for hour, counts in taken:
        column_choice.add(sums[column_choice.period_of(hour)], _sums(counts))
    if sums:
        cut = {period: _stored(own) for period, own in sums.items()}
        attribute_counts.write(tx, dataset_id, cut)
    return len(taken) == attribute_counts.ROWS_MAX


def _choose(tx: Transaction, dataset_id: UUID) -> None:
    locked = attribute_counts.lock(tx, dataset_id)
    if locked is None:
        return
    if locked.is_purged:
        attribute_counts.end(tx, dataset_id)
    if locked.is_deleted:
        return
    hour = locked.hour
    attribute_counts.expire(tx, dataset_id, hour - column_choice.KEPT_HOURS, hour)
    sums = attribute_counts.read(tx, dataset_id)
    current = _current(automatic_columns.read(tx, dataset_id))
    periods = {period: _sums(counts) for period, counts in sums.items()}
    chosen = column_choice.choose(periods, hour, current)
    if set(chosen) == set(current.chosen):
        return
    numbered = [(attribute, int(_NUMBERS[kql_type])) for attribute, kql_type in chosen]
    automatic_columns.write(tx, dataset_id, numbered, is_chosen=True)
    # Nurseries read them: equal response_seq must mean equal columns.
    datasets.stamp(tx, dataset_id, versions.allocate(tx))
    for verb, changed in (
        ("added", set(chosen).difference(current.chosen)),
        ("ended", set(current.chosen).difference(chosen)),
    ):
        for attribute, kql_type in sorted(changed):
            name = f"{attribute}:{kql_type}"
            audit.note(tx, "ChooseAutomaticColumns", dataset_id, f"{verb} {name}", AUTHOR)
            log.info("automatic_column_chosen", dataset_id=str(dataset_id), column=name, verb=verb)


def _current(stored: AutomaticColumns) -> CurrentColumns:
    """The columns as the choice needs them; those of types of later releases are left out."""
    numbered = {
        (column.attribute, _TYPES[column.kql_type]): column
        for column in stored.columns
        if column.kql_type in _TYPES
    }
    return CurrentColumns(
        chosen=[name for name, own in numbered.items() if own.is_written and own.is_chosen],
        listed={c.attribute for c in stored.columns if c.is_written and not c.is_chosen},
        numbered=numbered,
        new_max=max(0, CHOSEN_NUMBERED_MAX - len(stored.columns)),
    )


def _sums(stored: StoredCounts) -> Sums:
    return {
        int(signal): SignalSums(records, {a: AttributeCount(*own) for a, own in named.items()})
        for signal, (records, named) in stored.items()
    }


def _stored(sums: Sums) -> StoredCounts:
    column_choice.cut(sums)
    return {str(signal): (own.records, own.attributes) for signal, own in sums.items()}
