"""Checks of Postgres and of meta's database, by the facts that meta's store reads."""

from collections.abc import Iterator

from meta.database_facts import DatabaseFacts, RoleRights
from segplane.health.doctor.verdicts import CheckResult, judged, unknown

AREA = "database"
VERSION_MIN = 160_000
CONNECTIONS_SHARE_MAX = 0.8
LAG_SECS_MAX = 60.0
ANSWER_SECS_MAX = 0.25
LOCK_SECS_MAX = 1.0
# Postgres refuses writes at about 2.1 billion.
AGE_MAX, AGE_DANGER = 1_000_000_000, 1_600_000_000
# Settings without which a crash of the server loses or damages what was acknowledged.
_DURABLE = ("fsync", "full_page_writes", "synchronous_commit")


def not_given() -> CheckResult:
    """Return the check of a database whose address this command does not have."""
    step = "set META_DATABASE_URL, or --database-url, to that of meta"
    return unknown(AREA, "Postgres", "the address of the database is not given", step)


def examine(facts: DatabaseFacts) -> Iterator[CheckResult]:
    """Judge the facts of a database."""
    old = f"{facts.version} is not supported" if facts.version_number < VERSION_MIN else ""
    yield judged(AREA, "version", facts.version, old, next_step="upgrade Postgres to 16 or newer")
    wrong = f"the encoding is {facts.encoding}" if facts.encoding != "UTF8" else ""
    step = "restore the database into one with the encoding UTF8"
    yield judged(AREA, "encoding", "the encoding is UTF8", wrong, next_step=step)
    yield _durability(facts)
    yield _freezing(facts)
    yield _revision(facts)
    yield _rights(facts)
    yield _connections(facts)
    yield _speed(facts)
    yield from _replication(facts)


def _durability(facts: DatabaseFacts) -> CheckResult:
    off = [name for name in _DURABLE if facts.settings.get(name) == "off"]
    trouble = f"{', '.join(off)} off: a crash loses acknowledged records" if off else ""
    step = f"set {' and '.join(off)} to on, and restart Postgres"
    return judged(AREA, "durability", "commits survive a crash", trouble, next_step=step)


def _freezing(facts: DatabaseFacts) -> CheckResult:
    age = facts.transaction_age
    text = f"{age:,} transactions since the oldest row was frozen"
    if facts.settings.get("autovacuum") == "off":
        step = "set autovacuum to on: tables grow without it, and Postgres stops in the end"
        return judged(AREA, "freezing", text, "autovacuum is off", next_step=step)
    trouble = text if age > AGE_MAX else ""
    step = (
        "find what keeps rows from being frozen: an old or prepared transaction, a replication slot"
    )
    is_early = age <= AGE_DANGER
    return judged(AREA, "freezing", text, trouble, is_warning=is_early, next_step=step)


def _revision(facts: DatabaseFacts) -> CheckResult:
    name, revision, newest = "schema", facts.revision, facts.newest_revision
    if revision is None:
        text = "the database has no tables of meta"
        return judged(AREA, name, "", text, next_step="check the address, or run segplane migrate")
    text = f"the schema is at revision {revision}"
    if revision < newest:
        trouble = f"{text}, this release needs {newest}"
        return judged(AREA, name, text, trouble, next_step="run segplane migrate")
    later = f"{text}, of a later release than this command" if revision > newest else ""
    step = "use the segplane of the release that meta has"
    return judged(AREA, name, text, later, is_warning=True, next_step=step)


def _rights(facts: DatabaseFacts) -> CheckResult:
    # A role that may only read all tables serves no calls: a backup's, or a person's.
    partial = [role for role in facts.roles if 0 < len(role.lacking) < role.tables]
    text = f"{len(facts.roles)} role{'s have' if len(facts.roles) != 1 else ' has'} rights here"
    trouble = "; ".join(map(_lacking, partial))
    step = "run the grants of docs/security.md, as after each migration"
    if not trouble and facts.is_superuser:
        trouble = f"the role {facts.role} of this address is a superuser"
        step = "give meta a role of its own (docs/security.md)"
        return judged(AREA, "rights", text, trouble, is_warning=True, next_step=step)
    return judged(AREA, "rights", text, trouble, next_step=step)


def _lacking(role: RoleRights) -> str:
    shown = ", ".join(role.lacking[:3]) + (", ..." if len(role.lacking) > 3 else "")
    return f"the role {role.role} lacks rights on {len(role.lacking)} tables ({shown})"


def _connections(facts: DatabaseFacts) -> CheckResult:
    behind = ", behind a pooler" if facts.is_pooled else ""
    text = f"{facts.connections} of {facts.connections_max} connections are used{behind}"
    is_full = facts.connections > CONNECTIONS_SHARE_MAX * facts.connections_max
    step = "raise max_connections, or lower META_DATABASE_POOL or the number of metas"
    trouble = text if is_full else ""
    return judged(AREA, "connections", text, trouble, is_warning=True, next_step=step)


def _speed(facts: DatabaseFacts) -> CheckResult:
    name, text = "speed", f"it answers within {facts.answer_secs * 1000:.0f} ms"
    if facts.lock_waits and facts.lock_wait_secs > LOCK_SECS_MAX:
        wait = f"{facts.lock_wait_secs:.1f} s"
        text = f"{facts.lock_waits} sessions wait for locks, the longest for {wait}"
        step = "see which session holds them: pg_blocking_pids(pid) of pg_stat_activity"
        return judged(AREA, name, "", text, is_warning=True, next_step=step)
    trouble = f"it needs {facts.answer_secs:.1f} s for a small answer"
    is_slow = facts.answer_secs > ANSWER_SECS_MAX
    step = "see the load, the disk and the network of Postgres"
    return judged(AREA, name, text, trouble if is_slow else "", is_warning=True, next_step=step)


def _replication(facts: DatabaseFacts) -> Iterator[CheckResult]:
    for standby in facts.standbys:
        name = f"standby {standby.name}"
        if not standby.state:
            step = "grant pg_monitor to the role of the address"
            yield unknown(AREA, name, "its state is not shown to this role", step)
            continue
        lag = standby.lag_secs or 0.0
        text = f"{standby.state}, {lag:.1f} s behind"
        is_late = standby.state != "streaming" or lag > LAG_SECS_MAX
        step = "see the standby's log: a failover to it loses what it does not have"
        yield judged(AREA, name, text, text if is_late else "", is_warning=True, next_step=step)
