"""Settings of workers and of classes of workers, and which of them apply to a worker."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import JSONB

from meta.errors import QuotaExceeded
from meta.store.access import audit
from meta.store.engine.pool import Transaction

# Each DownloadConfig compares its worker_id with all of them.
NAMES_MAX = 256
# Changes of these settings take turns, so that their number is exact.
LOCK_KEY = 7_310_579_241_902_119
_TAKE_TURNS = text("SELECT pg_advisory_xact_lock(:key)")


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Values that are set; None leaves the value of the worker's own environment."""

    batch_bytes_max: int | None = None
    batch_babies_max: int | None = None
    decode_bytes_max: int | None = None
    task_bytes_max: int | None = None
    concurrent_tasks: int | None = None
    buffer_bytes_max: int | None = None
    # Ids of the datasets whose merge tasks it takes.
    dataset_ids: tuple[str, ...] | None = None
    flush_timeout_ms: int | None = None

    def given(self) -> dict[str, Any]:
        """The fields that are set."""
        return {name: value for name, value in asdict(self).items() if value is not None}


NOTHING = WorkerSettings()


@dataclass(frozen=True, slots=True)
class NamedSettings:
    """The settings of a worker or class, and when they were changed, in nanoseconds."""

    name: str
    settings: WorkerSettings
    updated_at_nanos: int


_COLUMNS = "name, settings, (extract(epoch FROM updated_at) * 1000000)::bigint * 1000"
_LISTED = "ORDER BY length(rtrim(name, '*')), right(name, 1) <> '*', name"
_ALL = text(f"SELECT {_COLUMNS} FROM worker_settings {_LISTED} LIMIT :limit")  # noqa: S608
_APPLIES = "name = {0} OR (right(name, 1) = '*' AND starts_with({0}, left(name, -1)))"
_APPLYING = text(f"""
    SELECT {_COLUMNS} FROM worker_settings WHERE {_APPLIES.format(":id")} {_LISTED} LIMIT :limit
""")  # noqa: S608
# Of at most 256 names, those of each worker in their order.
_APPLYING_TO_SOME = text(f"""
    SELECT w, {_COLUMNS} FROM unnest(cast(:ids AS text[])) AS w
      JOIN worker_settings ON {_APPLIES.format("w")}
    ORDER BY w, {_LISTED.removeprefix("ORDER BY ")}
""")  # noqa: S608
_FIND = text("SELECT settings FROM worker_settings WHERE name = :name")
_COUNT = text("SELECT count(*) FROM worker_settings")
_SET = text("""
    INSERT INTO worker_settings (name, settings) VALUES (:name, :settings)
    ON CONFLICT (name) DO UPDATE SET settings = excluded.settings, updated_at = now()
""").bindparams(bindparam("settings", type_=JSONB))
_REMOVE = text("DELETE FROM worker_settings WHERE name = :name")


def list_all(tx: Transaction) -> list[NamedSettings]:
    """All names with settings, a longer one after a shorter one."""
    return _read(tx.execute(_ALL, {"limit": NAMES_MAX}))


def list_applying(tx: Transaction, worker_id: str) -> list[NamedSettings]:
    """The classes that a worker belongs to, the smallest last, then its own name."""
    return _read(tx.execute(_APPLYING, {"id": worker_id, "limit": NAMES_MAX}))


def in_force_for(tx: Transaction, worker_ids: Collection[str]) -> dict[str, WorkerSettings]:
    """The settings in force of each of some workers."""
    entries: dict[str, list[NamedSettings]] = {worker_id: [] for worker_id in worker_ids}
    for worker_id, *row in tx.execute(_APPLYING_TO_SOME, {"ids": list(entries)}):
        entries[worker_id] += _read([row])
    return {worker_id: in_force(applying) for worker_id, applying in entries.items()}


def in_force(entries: Sequence[NamedSettings]) -> WorkerSettings:
    """Each setting from the last of the names that sets it."""
    merged = NOTHING
    for entry in entries:
        merged = replace(merged, **entry.settings.given())
    return merged


def change(
    tx: Transaction, name: str, settings: WorkerSettings, removed: Collection[str]
) -> WorkerSettings:
    """Set and remove fields of a name; returns the rest. Raises QuotaExceeded."""
    tx.execute(_TAKE_TURNS, {"key": LOCK_KEY})
    stored = tx.execute(_FIND, {"name": name}).scalar_one_or_none()
    before = NOTHING if stored is None else _settings(stored)
    after = replace(before, **settings.given() | dict.fromkeys(removed))
    if after == before:
        return after
    if after == NOTHING:
        tx.execute(_REMOVE, {"name": name})
    else:
        if stored is None and tx.execute(_COUNT).scalar_one() >= NAMES_MAX:
            raise QuotaExceeded(
                f"{NAMES_MAX} workers and classes have settings: unset one of them, or set a class",
                limit=NAMES_MAX,
            )
        tx.execute(_SET, {"name": name, "settings": after.given()})
    audit.note(tx, "SetWorkerSettings", name, audit.states(before, after))
    return after


def _read(rows: Any) -> list[NamedSettings]:
    return [NamedSettings(name, _settings(stored), updated) for name, stored, updated in rows]


def _settings(stored: Mapping[str, Any]) -> WorkerSettings:
    # A server of a later release may have stored more.
    settings = {name: stored[name] for name in WorkerSettings.__slots__ if name in stored}
    if "dataset_ids" in settings:
        settings["dataset_ids"] = tuple(settings["dataset_ids"])
    return WorkerSettings(**settings)
