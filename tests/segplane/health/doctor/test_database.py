"""Checks of a database, from the facts of a real one."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest

from meta import migrations
from meta.database_facts import DatabaseFacts, RoleRights, Standby
from meta.store.checks import server_facts
from segplane.health.doctor import database
from segplane.health.doctor.verdicts import CheckResult, CheckVerdict
from tests.support.meta.server import MetaServer


def read(meta_server: MetaServer) -> DatabaseFacts:
    return server_facts.read(meta_server.settings.database.url, migrations.head_revision())


def by_name(facts: DatabaseFacts) -> dict[str, CheckResult]:
    return {check.name: check for check in database.examine(facts)}


@pytest.mark.database_owner
def test_the_facts_of_a_real_database_are_judged(meta_server: MetaServer) -> None:
    facts = read(meta_server)
    checks = by_name(facts)

    assert facts.revision == migrations.head_revision()
    assert facts.version.startswith("PostgreSQL ")
    assert 0 < facts.connections < facts.connections_max
    assert facts.size_bytes > 1_000_000
    for name in ("version", "encoding", "freezing", "schema", "connections"):
        assert checks[name].verdict is CheckVerdict.OK, checks[name]


@pytest.mark.parametrize(
    ("change", "name", "verdict"),
    [
        ({"version_number": 150_004}, "version", CheckVerdict.NEEDS),
        ({"encoding": "SQL_ASCII"}, "encoding", CheckVerdict.NEEDS),
        ({"settings": {"fsync": "off"}}, "durability", CheckVerdict.NEEDS),
        (
            {"settings": {"synchronous_commit": "off"}},
            "durability",
            CheckVerdict.NEEDS,
        ),
        ({"settings": {"autovacuum": "off"}}, "freezing", CheckVerdict.NEEDS),
        ({"transaction_age": database.AGE_MAX + 1}, "freezing", CheckVerdict.WARNING),
        ({"transaction_age": database.AGE_DANGER + 1}, "freezing", CheckVerdict.NEEDS),
        ({"revision": None}, "schema", CheckVerdict.NEEDS),
        ({"revision": "0042"}, "schema", CheckVerdict.NEEDS),
        ({"revision": "9999"}, "schema", CheckVerdict.WARNING),
        ({"connections": 1_000_000}, "connections", CheckVerdict.WARNING),
        (
            {"roles": [RoleRights("serving", 40, ("new_table",))]},
            "rights",
            CheckVerdict.NEEDS,
        ),
        ({"answer_secs": database.ANSWER_SECS_MAX}, "speed", CheckVerdict.OK),
        ({"answer_secs": 2 * database.ANSWER_SECS_MAX}, "speed", CheckVerdict.WARNING),
        ({"lock_waits": 3, "lock_wait_secs": 0.9}, "speed", CheckVerdict.OK),
        ({"lock_waits": 3, "lock_wait_secs": 2.5}, "speed", CheckVerdict.WARNING),
        ({"standbys": [Standby("b", "streaming", 0.2)]}, "standby b", CheckVerdict.OK),
        ({"standbys": [Standby("b", "streaming", 90.0)]}, "standby b", CheckVerdict.WARNING),
        ({"standbys": [Standby("b", "catchup", 0.1)]}, "standby b", CheckVerdict.WARNING),
        ({"standbys": [Standby("b", "", None)]}, "standby b", CheckVerdict.UNKNOWN),
    ],
)
@pytest.mark.one_meta
def test_a_fact_that_endangers_data_has_its_verdict(
    meta_server: MetaServer,
    change: dict[str, Any],
    name: str,
    verdict: CheckVerdict,
) -> None:
    facts = read(meta_server)

    check = by_name(replace(facts, **change))[name]

    assert check.verdict is verdict
    assert bool(check.next_step) == (verdict is not CheckVerdict.OK)


@pytest.mark.database_owner
def test_a_role_that_was_not_granted_a_new_table_is_named(meta_server: MetaServer) -> None:
    url = meta_server.settings.database.url
    role = f"serving_{meta_server.address.rpartition(':')[2]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role}")
        try:
            # As a backup has it.
            connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
            readers = read(meta_server).roles
            every = "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public"
            connection.execute(f"GRANT {every} TO {role}")
            granted = next(r for r in read(meta_server).roles if r.role == role)
            connection.execute(f"REVOKE INSERT ON visibility_counts FROM {role}")
            lacking = next(r for r in read(meta_server).roles if r.role == role)
            policy = "callers ON visibility_counts AS RESTRICTIVE"
            connection.execute(f"CREATE POLICY {policy} TO {role} USING (true)")
            after_policy = read(meta_server).roles
        finally:
            connection.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")

    assert [reader.role for reader in readers if reader.role == role] == []
    assert list(granted.lacking) == []
    assert list(lacking.lacking) == ["visibility_counts"]
    # The role of tenants' callers has fewer rights on purpose.
    assert [callers.role for callers in after_policy if callers.role == role] == []
