"""Processes by their last reports; the table is bounded, whatever comes."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import NamedTuple

from sqlalchemy import text

from meta.store.engine.pool import Transaction

PROCESSES_MAX = 10_000
# Those that were not seen for so long are forgotten.
EXPIRY_NANOS = 7 * 86_400 * 10**9


class ProcessKey(NamedTuple):
    """A start of a process under a subject, which no other subject can report."""

    kind: str
    name: str
    started_at_nanos: int
    subject: str


FIRST = ProcessKey("", "", -1, "")


@dataclass(frozen=True, slots=True)
class ReportedProcess:
    """A process with its last report, a serialized ProcessReport; times are the database's."""

    kind: str
    name: str
    started_at_nanos: int
    subject: str
    report: bytes
    is_ended: bool
    clock_skew_nanos: int
    credential_ends_at_nanos: int
    first_seen_nanos: int
    last_seen_nanos: int

    @property
    def key(self) -> ProcessKey:
        """The key that distinguishes it."""
        return ProcessKey(self.kind, self.name, self.started_at_nanos, self.subject)

    def joined(self, other: "ReportedProcess") -> "ReportedProcess":
        """Return the later report of the process, since its first one; its end is the last one."""
        last = max(self, other, key=lambda each: (each.is_ended, each.last_seen_nanos))
        first_seen_nanos = min(self.first_seen_nanos, other.first_seen_nanos)
        if last.first_seen_nanos == first_seen_nanos:
            return last
        return replace(last, first_seen_nanos=first_seen_nanos)


_COLUMNS = tuple(field.name for field in fields(ReportedProcess))
_NAMES = ", ".join(_COLUMNS)
_KEY = ", ".join(ProcessKey._fields)
_TYPES = {"report": "bytea", "is_ended": "boolean"} | dict.fromkeys(
    ("kind", "name", "subject"), "text"
)
_VALUES = ", ".join(f"cast(:{name} AS {_TYPES.get(name, 'bigint')}[])" for name in _COLUMNS)
# A process reports to several servers in turn, so the newest report wins, and its end over all.
# Rows are locked in one order, so that two servers do not deadlock.
_SAVE = text(f"""
    INSERT INTO processes ({_NAMES})
    SELECT * FROM unnest({_VALUES}) AS reported ({_NAMES}) ORDER BY {_KEY}
    ON CONFLICT ({_KEY}) DO UPDATE
      SET report = excluded.report, is_ended = excluded.is_ended,
          clock_skew_nanos = excluded.clock_skew_nanos,
          credential_ends_at_nanos = excluded.credential_ends_at_nanos,
          last_seen_nanos = excluded.last_seen_nanos
      WHERE (processes.is_ended, processes.last_seen_nanos)
          < (excluded.is_ended, excluded.last_seen_nanos)
""")  # noqa: S608
# Each subject keeps its newest, so that one with many does not displace the others.
_PRUNE = text(f"""
    WITH ranked AS (
      SELECT {_KEY}, last_seen_nanos,
             row_number() OVER (PARTITION BY subject ORDER BY last_seen_nanos DESC) AS rank
      FROM processes WHERE last_seen_nanos > :expired),
    excess AS (
      SELECT {_KEY} FROM ranked ORDER BY rank, last_seen_nanos DESC OFFSET :most)
    DELETE FROM processes
    WHERE last_seen_nanos <= :expired OR ({_KEY}) IN (SELECT {_KEY} FROM excess)
""")  # noqa: S608
_PAGE = text(f"""
    SELECT {_NAMES} FROM processes
    WHERE ({_KEY}) > (:kind, :name, :started_at_nanos, :subject)
    ORDER BY {_KEY} LIMIT :most
""")  # noqa: S608
_LATEST = text(f"""
    SELECT {_NAMES} FROM processes WHERE kind = :kind
    ORDER BY is_ended, last_seen_nanos DESC LIMIT :most
""")  # noqa: S608


def save(tx: Transaction, reported: Sequence[ReportedProcess]) -> None:
    """Write the last reports of some processes, each named once."""
    columns = zip(*map(astuple, reported), strict=True)
    tx.execute(_SAVE, dict(zip(_COLUMNS, map(list, columns), strict=True)))


def prune(tx: Transaction, now_nanos: int) -> None:
    """Remove those that were not seen for a week, and those beyond the bound."""
    tx.execute(_PRUNE, {"expired": now_nanos - EXPIRY_NANOS, "most": PROCESSES_MAX})


def page(tx: Transaction, after: ProcessKey, most: int) -> list[ReportedProcess]:
    """Return the processes behind a key in the order of keys."""
    return [ReportedProcess(*row) for row in tx.execute(_PAGE, after._asdict() | {"most": most})]


def latest(tx: Transaction, kind: str, most: int) -> list[ReportedProcess]:
    """Return the processes of a kind that reported last, those that have ended after others."""
    rows = tx.execute(_LATEST, {"kind": kind, "most": most})
    return [ReportedProcess(*row) for row in rows]
