"""meta's settings, from META_* variables; `docs/settings.md` lists them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from meta import identities
from meta.client.addresses import is_loopback_host
from meta.identities import CertificateRules, Oidc
from meta.planning.planner import Policy
from meta.process import production
from meta.process.declared import read_declared, setting
from meta.process.environment import Environment
from meta.process.exits import ConfigError
from meta.process.metrics_address import NO_METRICS, MetricsAddress
from meta.process.tls import ServerTls
from meta.store.access.token_secrets import DATABASE_PEPPER, Peppers
from meta.store.engine import caller_role
from meta.store.engine.database_url import is_encrypted, normalized
from meta.store.engine.pool import COMMIT_BATCHES_MAX, DatabaseSettings
from meta.store.pins.pins import PinLimits
from segments.location import NamedStore, StoreLocation, Stores

GRACE_FLOOR_SECS = 300.0
# A reply holds as many, with names of 255 four-byte characters; larger settings count as these.
DATASETS_MAX = 100_000
TOKENS_MAX = 100_000
GRACE_OVER_CURSOR_SECS = 300.0
DEFAULT_LOCATION = StoreLocation.from_url(Path("segplane-data/objects").absolute().as_uri())
# Least values with SEGPLANE_PROFILE=production. A write may take this long until it is registered.
ORPHAN_AGE_FLOOR_SECS = 3_600.0
DATASET_GRACE_FLOOR_SECS = 86_400.0
AUDIT_FLOOR_SECS = 604_800.0


@dataclass(frozen=True, slots=True)
class StreamDefaults:
    """Settings that collectors receive when they register."""

    flush_timeout_ms: int = setting(1_000, low=10, high=600_000)
    max_segment_size_bytes: int = setting(16 * 1024 * 1024, low=1_024, high=2**30)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Ages and leases in seconds, on the database's clock."""

    tombstone_grace: float = setting(2_100.0, name="TOMBSTONE_GRACE_SECS")
    cursor: float = setting(1_800.0, name="CURSOR_LIFETIME_SECS", low=1)
    # A checkpoint lives as long as a cursor, which may name it.
    checkpoint: float = 1_800.0
    claim_lease: float = setting(3_600.0, name="CLAIM_LEASE_SECS", low=1)
    beat_lease: float = setting(60.0, name="BEAT_LEASE_SECS", low=1)
    nursery_lease: float = 10.0
    # After n failures a merge waits 2^n times as long, at most 60 times.
    fail_backoff: float = 60.0
    orphan_min_age: float = setting(86_400.0, name="ORPHAN_MIN_AGE_SECS")
    dataset_grace: float = setting(604_800.0, name="DATASET_GRACE_SECS")
    baby_row: float = 86_400.0
    identity: float = 2_592_000.0
    finished_task: float = 2_592_000.0
    retired_stream: float = 604_800.0
    audit: float = setting(7_776_000.0, name="AUDIT_SECS")
    watch_heartbeat: float = 10.0


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a meta process."""

    bind: str
    database: DatabaseSettings
    location: StoreLocation
    named_stores: tuple[NamedStore, ...] = ()
    # A witness of the database is kept in the bucket; a restored database revokes all tokens.
    keeps_witness: bool = False
    revokes_on_restore: bool = setting(False, name="REVOKE_ON_RESTORE")
    threads: int = 64
    concurrent_rpcs_max: int = setting(512, low=2, high=100_000)
    # Calls of one subject: half of all.
    identity_rpcs_max: int = 256
    processes: int = setting(1, low=1, high=64)
    # False: the size of the database's pool is the default, which a start may reduce.
    is_pool_set: bool = True
    metrics: MetricsAddress = NO_METRICS
    # Certificate of all ports but the next; None = plain text.
    tls: ServerTls | None = None
    health_bind: str = setting("")  # A port of plain text for health checks alone; "" = none.
    drain_secs: float = setting(20.0)
    database_wait_secs: float = setting(30.0)
    auth_token: str = field(default="", repr=False)
    # Every call but health needs a credential: META_AUTH_TOKEN or an access token.
    requires_authentication: bool = False
    # Names in certificates that stand for a role, and an issuer of tokens; None = none is trusted.
    certificate_rules: CertificateRules = field(default_factory=CertificateRules)
    oidc: Oidc | None = None
    peppers: Peppers = field(default=Peppers(), repr=False)
    default_dataset: str = setting("default")
    # Name under which `segplane status` lists the process; by default its host and port.
    process_name: str = setting("")
    # Names of datasets are labels of metrics, which meta's access control does not reach.
    has_dataset_metrics: bool = setting(False, name="DATASET_METRICS")
    datasets_max: int = DATASETS_MAX
    datasets_per_creator_max: int = 0  # No quota.
    tokens_max: int = TOKENS_MAX
    records_per_month: int = setting(-1, low=-1)
    merge_debt_segments: int = setting(1_000)
    stream: StreamDefaults = StreamDefaults()
    lifetimes: Lifetimes = Lifetimes()
    deletion_percent_max: int = setting(50, low=1, high=100)
    watchers_max: int = setting(256, low=1, high=10_000)
    pins: PinLimits = field(default_factory=PinLimits)
    is_inspection: bool = False  # A restored backup, which no call changes, without its bucket.
    is_unsafe_grace: bool = setting(False, name="UNSAFE_SHORT_GRACE")
    merge_policy: Policy = field(default_factory=Policy)

    @property
    def stores(self) -> Stores:
        """The default store and the named ones."""
        return Stores(self.location, self.named_stores)


def load(env: Environment) -> Settings:
    """Read and check the settings. Raises ConfigError."""
    auth_token, bind = env.secret("AUTH_TOKEN"), env.text("BIND", "127.0.0.1:9500")
    tls = env.server_tls()
    rules, oidc = identities.certificate_rules(env, tls), identities.oidc(env)
    # A map of names to roles does not mean that callers without a name need none.
    requires_authentication = env.flag("REQUIRE_AUTHENTICATION") or bool(rules.rules or oidc)
    is_restricted = env.flag("ALLOW_UNAUTHENTICATED") or requires_authentication or auth_token
    # A production profile names this with everything else that it refuses.
    if not (is_loopback(bind) or is_restricted or env.is_production()):
        _check_open_bind(bind, tls)
    threads = env.integer("THREADS", 64, low=2, high=1_024)
    settings = read_declared(
        env,
        Settings,
        bind=bind,
        database=_database(env, threads),
        threads=threads,
        location=env.location("OBJECT_STORE_URL") or DEFAULT_LOCATION,
        named_stores=env.named_stores("OBJECT_STORES"),
        keeps_witness=env.is_set("OBJECT_STORE_URL"),
        is_pool_set=env.is_set("DATABASE_POOL"),
        metrics=env.metrics(),
        tls=tls,
        auth_token=auth_token,
        requires_authentication=requires_authentication,
        certificate_rules=rules,
        oidc=oidc,
        peppers=_load_peppers(env),
        datasets_max=min(DATASETS_MAX, env.integer("DATASETS_MAX", DATASETS_MAX, low=1)),
        datasets_per_creator_max=env.integer("DATASETS_PER_CREATOR_MAX", 0, low=0),
        tokens_max=min(TOKENS_MAX, env.integer("TOKENS_MAX", TOKENS_MAX, low=1)),
        stream=read_declared(env, StreamDefaults),
        lifetimes=_lifetimes(env),
        pins=_pins(env),
        merge_policy=_merge_policy(env),
    )
    if settings.health_bind:
        is_loopback(settings.health_bind, "META_HEALTH_BIND")
    return _checked(env, replace(settings, identity_rpcs_max=settings.concurrent_rpcs_max // 2))


def _checked(env: Environment, settings: Settings) -> Settings:
    if env.is_production():
        production.refuse(_violations(env, settings))
    age = settings.lifetimes.orphan_min_age
    if not env.is_trial() and age < ORPHAN_AGE_FLOOR_SECS:
        raise ConfigError(
            f"META_ORPHAN_MIN_AGE_SECS is {age:g}, below {ORPHAN_AGE_FLOOR_SECS:g}: objects would"
            " be deleted before they are registered (SEGPLANE_TRIAL=1 allows it, for tests only)"
        )
    return settings


def _violations(env: Environment, settings: Settings) -> Iterator[str]:
    """Settings that are unsafe if a network reaches this meta."""
    if settings.tls is None:
        yield "META_TLS_CERT_FILE is not set: the port is plain text"
    if not (settings.auth_token or settings.requires_authentication):
        yield "META_REQUIRE_AUTHENTICATION is false: every caller is an administrator"
    if env.flag("ALLOW_UNAUTHENTICATED"):
        yield "META_ALLOW_UNAUTHENTICATED is true"
    if settings.is_unsafe_grace:
        yield "META_UNSAFE_SHORT_GRACE is true: readers lose objects"
    if not is_encrypted(settings.database.url, env.values.get("PGSSLMODE", "")):
        yield "META_DATABASE_URL has no sslmode=require, verify-ca or verify-full"
    if settings.database.caller_role:
        yield "META_DATABASE_CALLER_ROLE is set: tenants are a preview (docs/tenants.md)"
    lifetimes = settings.lifetimes
    for name, secs, floor in (
        ("ORPHAN_MIN_AGE_SECS", lifetimes.orphan_min_age, ORPHAN_AGE_FLOOR_SECS),
        ("DATASET_GRACE_SECS", lifetimes.dataset_grace, DATASET_GRACE_FLOOR_SECS),
        ("AUDIT_SECS", lifetimes.audit, AUDIT_FLOOR_SECS),
    ):
        if secs < floor:
            yield f"META_{name} is {secs:g}, below {floor:g}"
    yield from production.weak_secret("META_AUTH_TOKEN", settings.auth_token)
    yield from _weak_peppers(settings.peppers)
    yield from production.plain_store("META_OBJECT_STORE_URL", settings.location)
    for name, location in settings.stores.named_stores:
        yield from production.plain_store(f"META_OBJECT_STORES {name}", location)
    yield from production.open_metrics("META_", settings.metrics)


def _check_open_bind(bind: str, tls: ServerTls | None) -> None:
    """Raise ConfigError if anyone on the network could call a server at `bind`."""
    if tls is None or tls.client_ca_file is None:
        raise ConfigError(
            f"META_BIND {bind} is open to the network: set META_AUTH_TOKEN, or"
            " META_REQUIRE_AUTHENTICATION=true, or META_TLS_CLIENT_CA_FILE, or"
            " META_ALLOW_UNAUTHENTICATED=true if something else restricts access"
        )


def is_loopback(bind: str, setting: str = "META_BIND") -> bool:
    """True for a loopback address. Raises ConfigError if it is not host:port."""
    host, _, port = bind.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise ConfigError(f"{setting} is {bind!r}, not host:port such as 127.0.0.1:9500")
    return is_loopback_host(host)


def _database(env: Environment, threads: int) -> DatabaseSettings:
    url = env.text("DATABASE_URL", "")
    if not url:
        raise ConfigError(
            "META_DATABASE_URL is not set: give a Postgres URL such as postgresql://user@host/segplane,"
            " or run `segplane dev --meta-only` for an embedded one"
        )
    settings = DatabaseSettings(
        url=url,
        caller_role=caller_role.checked(env.text("DATABASE_CALLER_ROLE", "")),
        # Threads also decode and serialize; two more connections are for background work.
        pool_size=env.integer("DATABASE_POOL", threads // 2 + 2, low=2, high=2_000),
        statement_timeout_ms=env.integer("STATEMENT_TIMEOUT_MS", 30_000, low=1_000),
        commit_batches=env.integer("COMMIT_BATCHES", 1, low=1, high=COMMIT_BATCHES_MAX),
    )
    try:
        normalized(url)
    except ValueError as error:
        raise ConfigError(f"META_DATABASE_URL: {error}") from error
    return settings


def _merge_policy(env: Environment) -> Policy:
    base = Policy()
    return replace(
        base,
        files_max=env.integer("MERGE_FILES_MAX", base.files_max, low=1, high=1_000),
        files_quiet=env.integer("MERGE_FILES_QUIET", base.files_quiet, low=1, high=1_000),
        quiet_nanos=int(env.seconds("MERGE_QUIET_SECS", base.quiet_nanos / 1e9) * 1e9),
    )


def _pins(env: Environment) -> PinLimits:
    base = PinLimits()
    return replace(
        base,
        age_secs=env.seconds("PIN_AGE_SECS_MAX", base.age_secs, low=1),
        held_bytes_per_owner=env.integer("PIN_BYTES_MAX", base.held_bytes_per_owner, low=0),
    )


def _lifetimes(env: Environment) -> Lifetimes:
    lifetimes = read_declared(env, Lifetimes)
    floor = max(GRACE_FLOOR_SECS, lifetimes.cursor + GRACE_OVER_CURSOR_SECS)
    if lifetimes.tombstone_grace < floor and not env.flag("UNSAFE_SHORT_GRACE"):
        raise ConfigError(
            f"META_TOMBSTONE_GRACE_SECS is {lifetimes.tombstone_grace:g}, below {floor:g}: readers"
            " with a cursor would lose objects (META_UNSAFE_SHORT_GRACE=true allows it, for tests"
            " only)"
        )
    return replace(lifetimes, checkpoint=lifetimes.cursor)


def _load_peppers(env: Environment) -> Peppers:
    """Read the peppers. Raises ConfigError."""
    peppers = Peppers(
        env.secret("TOKEN_PEPPER").encode(),
        env.secret("TOKEN_PEPPER_NEXT").encode(),
        env.secret("TOKEN_PEPPER_PREVIOUS").encode(),
    )
    if peppers.previous == DATABASE_PEPPER and not peppers.current:
        raise ConfigError(
            "META_TOKEN_PEPPER_PREVIOUS is the database's own pepper: set META_TOKEN_PEPPER"
        )
    return peppers


def _weak_peppers(peppers: Peppers) -> Iterator[str]:
    """Return the names of the peppers that could be guessed."""
    for suffix, pepper in (
        ("", peppers.current),
        ("_NEXT", peppers.upcoming),
        ("_PREVIOUS", peppers.previous),
    ):
        if pepper != DATABASE_PEPPER:
            yield from production.weak_secret(f"META_TOKEN_PEPPER{suffix}", pepper.decode())
