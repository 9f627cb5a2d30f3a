"""A hostile principal of each role reads, changes and breaks nothing beyond its row.

It knows the ids, names and collector of others, sends forged cursors, damaged and huge messages to
every RPC, and keeps slow connections open. `docs/access.md` has the rows.
"""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event

import pytest

from meta.client import MetaClient
from meta.config import Settings
from meta.errors import RoleRefused
from meta.roles import Role
from meta.rpc import refusal_pace
from meta.store.tables import metadata
from meta.v1 import catalog_pb2
from tests.support.meta.catalog import CatalogDriver
from tests.support.meta.guarded import GuardedServer, guarded
from tests.support.meta.hostile import (
    Hostile,
    Victim,
    good_caller,
    hostile_client,
    live_beside,
    table_digests,
    victims_rows,
)

CALLS = 200_000
_CATALOG = frozenset(
    {
        "access_tokens",
        "catalog_authors",
        "former_layouts",
        "ingest_tokens",
        "link_columns",
        "projections",
        "promoted_columns",
        "promoted_field_ids",
        "group_visibility",
        "groups",
        "resource_labels",
        "resource_locks",
        "resources",
        "schema_bindings",
        "schema_columns",
        "schema_versions",
        "schemas",
        "sharding_fields",
        "view_dataset_projections",
        "views",
    }
)
# What only a person decides.
_DECISIONS = frozenset(
    {"access_tokens", "losses", "metric_names", "replays", "tenant_shares", "worker_settings"}
)
_STREAMS = frozenset(
    {
        "baby_segments",
        "ingest_streams",
        "offset_checkpoints",
        "parked_streams",
        "quarantined_ranges",
        "stream_datasets",
        "stream_heads",
        "stream_removals",
        "stream_tokens",
    }
)
# A revocation notes in them how far each stream is.
_REVOKED = frozenset({"stream_tokens"})
_TABLES = frozenset({"table_objects", "table_snapshots"})
_ALL = frozenset(metadata.tables)


@dataclass(frozen=True)
class Case:
    """A role, whether its token is limited to the dataset `web`, and the tables it may write."""

    role: Role
    writes: frozenset[str]
    is_limited: bool = False
    # False where its row lets it change what belongs to others.
    spares_victim: bool = True


_READER = frozenset({"audit_log", "datasets"})
# A pin that is ended with the word of an operator is audited, one's own as well.
_GATEWAY = _TABLES | {"object_identities", "datasets", "audit_log"}
# A process that asks for its configuration is noted, and so are the costs that it reports.
_WORKERS = frozenset({"cost_reports", "costs", "workers"})
_COMMITS = _STREAMS | {"dataset_stats", "dataset_usage", "excess_allowances", "meta_state"}
CASES = (
    Case(Role.READER, _READER, is_limited=True),
    Case(Role.READER, _READER),
    Case(Role.GATEWAY, _GATEWAY, is_limited=True),
    Case(Role.GATEWAY, _GATEWAY | _WORKERS, spares_victim=False),
    Case(Role.INGEST, _COMMITS | _WORKERS | {"routing_periods", "dataset_visibility"}),
    Case(Role.MERGE, _ALL - _CATALOG - _DECISIONS - _STREAMS - _TABLES),
    Case(Role.JANITOR, _ALL - _CATALOG - _DECISIONS - _STREAMS, spares_victim=False),
    Case(Role.NURSERY, _ALL - _CATALOG - _DECISIONS - _TABLES, spares_victim=False),
    Case(
        Role.CATALOG,
        _ALL - _DECISIONS - (_STREAMS - _REVOKED) - _TABLES - _WORKERS,
        spares_victim=False,
    ),
)


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    """A deletion grace that is over at once."""
    lifetimes = replace(meta_settings.lifetimes, tombstone_grace=0.0)
    with guarded(replace(meta_settings, lifetimes=lifetimes)) as running:
        yield running


def _attack(
    guard: GuardedServer, victim: Victim, calls: int
) -> dict[tuple[Role, bool], "Counter[str]"]:
    """Let a principal of each role attack, one after the other; returns what each heard."""
    told: dict[tuple[Role, bool], Counter[str]] = {}
    catalog = CatalogDriver(guard.admin)
    web = guard.admin.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="web")).id
    for number, case in enumerate(CASES):
        token = hostile_client(guard, case.role, *(["web"] if case.is_limited else []))
        own = catalog.token(web).plaintext
        hostile = Hostile(guard, victim, case.role, token, case.is_limited, own)
        rows, tables = victims_rows(guard, victim), table_digests(guard)

        told[case.role, case.is_limited] = hostile.attack(calls, seed=number)

        changed = {name for name, digest in table_digests(guard).items() if digest != tables[name]}
        # The server counts what it denies.
        changed -= {"denied_calls"}
        assert changed <= case.writes, (case, changed - case.writes)
        assert not case.spares_victim or victims_rows(guard, victim) == rows, case
    return told


def _go_on(client: MetaClient, is_over: Event) -> int:
    """A good reader, whose every call is to be answered."""
    answers = 0
    while not is_over.is_set():
        assert good_caller(client)
        answers += 1
        is_over.wait(0.05)
    return answers


def _attack_beside_a_good_reader(guard: GuardedServer, calls: int) -> None:
    victim, is_over = live_beside(guard), Event()
    with guard.client(Role.READER, "good") as client, ThreadPoolExecutor(1) as pool:
        answers = pool.submit(_go_on, client, is_over)
        try:
            told = _attack(guard, victim, calls)
        finally:
            is_over.set()
        assert answers.result(60) > len(CASES)
    assert set(told) == {(case.role, case.is_limited) for case in CASES}
    assert sum(sum(heard.values()) for heard in told.values()) >= calls * len(CASES)
    for heard in told.values():
        # Otherwise the calls would test nothing but the first check.
        assert heard["OK"]
        assert heard[RoleRefused.reason]


def test_no_hostile_principal_gets_beyond_its_row(guard: GuardedServer) -> None:
    _attack_beside_a_good_reader(guard, 80)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_200_000_calls_of_hostile_principals(
    guard: GuardedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Its pace would make most calls end with their deadline.
    monkeypatch.setattr(refusal_pace, "REFUSALS_PER_SEC", 1e9)
    monkeypatch.setattr(refusal_pace, "BURST", 10**12)
    _attack_beside_a_good_reader(guard, -(-CALLS // len(CASES)))
