"""meta's settings, from META_* variables; `docs/settings.md` lists them."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from meta import identities, token_peppers
from meta.client.addresses import is_loopback_host
from meta.identities import CertificateRules, Oidc
from meta.planning.planner import Policy
from meta.process import (
    NO_METRICS,
    ConfigError,
    Environment,
    MetricsAddress,
    ServerTls,
    production,
)
from meta.store.access.token_secrets import Peppers
from meta.store.engine.database_url import is_encrypted
from meta.store.engine.pool import COMMIT_BATCHES_MAX, DatabaseSettings
from meta.store.pins.pins import PinLimits
from segments.location import StoreLocation
from segments.named_stores import NamedStore, Stores

GRACE_FLOOR_SECS = 300.0
# As many as a reply holds, with names of 255 four-byte characters; larger settings count as these.
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

    flush_timeout_ms: int = 1_000
    max_segment_size_bytes: int = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Ages and leases in seconds, on the database's clock."""

    tombstone_grace: float = 2_100.0
    cursor: float = 1_800.0
    checkpoint: float = 1_800.0
    claim_lease: float = 3_600.0
    beat_lease: float = 60.0
    nursery_lease: float = 10.0
    # After n failures a merge waits 2^n times as long, at most 60 times.
    fail_backoff: float = 60.0
    orphan_min_age: float = 86_400.0
    dataset_grace: float = 604_800.0
    baby_row: float = 86_400.0
    identity: float = 2_592_000.0
    finished_task: float = 2_592_000.0
    retired_stream: float = 604_800.0
    audit: float = 7_776_000.0
    watch_heartbeat: float = 10.0


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a meta process."""

    bind: str
    database: DatabaseSettings
    location: StoreLocation
    named_stores: tuple[NamedStore, ...] = ()
    # Of the database, in the bucket; and whether a restored one revokes all of its tokens.
    keeps_witness: bool = False
    revokes_on_restore: bool = False
    threads: int = 64
    concurrent_rpcs_max: int = 512
    identity_rpcs_max: int = 256
    processes: int = 1
    # False: the size of the database's pool is the default, which a start may reduce.
    is_pool_set: bool = True
    metrics: MetricsAddress = NO_METRICS
    # Certificate of all ports but the next; None = plain text.
    tls: ServerTls | None = None
    # A port of plain text for health checks alone; "" = none.
    health_bind: str = ""
    drain_secs: float = 20.0
    database_wait_secs: float = 30.0
    auth_token: str = field(default="", repr=False)
    # Every call but health needs a credential: META_AUTH_TOKEN or an access token.
    requires_authentication: bool = False
    # Names in certificates that stand for a role, and an issuer of tokens; None = none is trusted.
    certificate_rules: CertificateRules = field(default_factory=CertificateRules)
    oidc: Oidc | None = None
    peppers: Peppers = field(default=Peppers(), repr=False)
    default_dataset: str = "default"
    datasets_max: int = DATASETS_MAX
    datasets_per_creator_max: int = 0  # No quota.
    tokens_max: int = TOKENS_MAX
    records_per_month: int = -1
    merge_debt_segments: int = 1_000
    stream: StreamDefaults = StreamDefaults()
    lifetimes: Lifetimes = Lifetimes()
    deletion_percent_max: int = 50
    watchers_max: int = 256
    pins: PinLimits = field(default_factory=PinLimits)
    is_unsafe_grace: bool = False
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
    if not (is_loopback(bind) or is_restricted):
        _check_open_bind(bind, tls)
    if health_bind := env.text("HEALTH_BIND", ""):
        is_loopback(health_bind, "META_HEALTH_BIND")
    threads = env.integer("THREADS", 64, low=2, high=1_024)
    settings = Settings(
        bind=bind,
        database=_database(env, threads),
        location=env.location("OBJECT_STORE_URL") or DEFAULT_LOCATION,
        named_stores=env.named_stores("OBJECT_STORES"),
        keeps_witness=env.is_set("OBJECT_STORE_URL"),
        revokes_on_restore=env.flag("REVOKE_ON_RESTORE"),
        threads=threads,
        concurrent_rpcs_max=env.integer("CONCURRENT_RPCS_MAX", 512, low=2, high=100_000),
        identity_rpcs_max=env.integer("IDENTITY_RPCS_MAX", 256, low=1, high=100_000),
        is_pool_set=env.is_set("DATABASE_POOL"),
        processes=env.integer("PROCESSES", 1, low=1, high=64),
        metrics=env.metrics(),
        tls=tls,
        health_bind=health_bind,
        drain_secs=env.seconds("DRAIN_SECS", 20.0),
        database_wait_secs=env.seconds("DATABASE_WAIT_SECS", 30.0),
        auth_token=auth_token,
        requires_authentication=requires_authentication,
        certificate_rules=rules,
        oidc=oidc,
        peppers=token_peppers.load(env),
        default_dataset=env.text("DEFAULT_DATASET", "default"),
        datasets_max=min(DATASETS_MAX, env.integer("DATASETS_MAX", DATASETS_MAX, low=1)),
        datasets_per_creator_max=env.integer("DATASETS_PER_CREATOR_MAX", 0, low=0),
        tokens_max=min(TOKENS_MAX, env.integer("TOKENS_MAX", TOKENS_MAX, low=1)),
        records_per_month=env.integer("RECORDS_PER_MONTH", -1, low=-1),
        merge_debt_segments=env.integer("MERGE_DEBT_SEGMENTS", 1_000, low=0),
        stream=_stream_defaults(env),
        lifetimes=_lifetimes(env),
        deletion_percent_max=env.integer("DELETION_PERCENT_MAX", 50, low=1, high=100),
        watchers_max=env.integer("WATCHERS_MAX", 256, low=1, high=10_000),
        pins=_pins(env),
        is_unsafe_grace=env.flag("UNSAFE_SHORT_GRACE"),
        merge_policy=_merge_policy(env),
    )
    return _checked(env, settings)


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
    lifetimes = settings.lifetimes
    for name, secs, floor in (
        ("ORPHAN_MIN_AGE_SECS", lifetimes.orphan_min_age, ORPHAN_AGE_FLOOR_SECS),
        ("DATASET_GRACE_SECS", lifetimes.dataset_grace, DATASET_GRACE_FLOOR_SECS),
        ("AUDIT_SECS", lifetimes.audit, AUDIT_FLOOR_SECS),
    ):
        if secs < floor:
            yield f"META_{name} is {secs:g}, below {floor:g}"
    yield from production.weak_secret("META_AUTH_TOKEN", settings.auth_token)
    yield from token_peppers.weak(settings.peppers)
    yield from production.plain_store("META_OBJECT_STORE_URL", settings.location)
    for name, location in settings.stores.named:
        yield from production.plain_store(f"META_OBJECT_STORES {name}", location)
    yield from production.open_metrics("META_", settings.metrics)


def _stream_defaults(env: Environment) -> StreamDefaults:
    return StreamDefaults(
        flush_timeout_ms=env.integer("FLUSH_TIMEOUT_MS", 1_000, low=10, high=600_000),
        max_segment_size_bytes=env.integer("MAX_SEGMENT_SIZE_BYTES", 2**24, low=1_024, high=2**30),
    )


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
            "META_DATABASE_URL is not set: give a Postgres URL such as"
            " postgresql://user@host/segplane, or run `segplane serve` for an embedded one"
        )
    return DatabaseSettings(
        url=url,
        # Threads also decode and serialize; two more connections are for background work.
        pool_size=env.integer("DATABASE_POOL", threads // 2 + 2, low=2, high=2_000),
        lock_timeout_ms=env.integer("LOCK_TIMEOUT_MS", 5_000, low=100),
        statement_timeout_ms=env.integer("STATEMENT_TIMEOUT_MS", 30_000, low=1_000),
        commit_batches=env.integer("COMMIT_BATCHES", 1, low=1, high=COMMIT_BATCHES_MAX),
    )


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
    return PinLimits(
        lease_secs=env.seconds("PIN_LEASE_SECS_MAX", base.lease_secs, low=1),
        age_secs=env.seconds("PIN_AGE_SECS_MAX", base.age_secs, low=1),
        per_owner=env.integer("PINS_PER_OWNER_MAX", base.per_owner, low=1, high=100_000),
        total=env.integer("PINS_MAX", base.total, low=1, high=100_000),
        held_bytes_per_owner=env.integer("PIN_BYTES_MAX", base.held_bytes_per_owner, low=0),
    )


def _lifetimes(env: Environment) -> Lifetimes:
    is_unsafe, base = env.flag("UNSAFE_SHORT_GRACE"), Lifetimes()
    cursor = env.seconds("CURSOR_LIFETIME_SECS", base.cursor, low=1)
    floor = 0.0 if is_unsafe else max(GRACE_FLOOR_SECS, cursor + GRACE_OVER_CURSOR_SECS)
    grace = env.seconds("TOMBSTONE_GRACE_SECS", base.tombstone_grace)
    if grace < floor:
        raise ConfigError(
            f"META_TOMBSTONE_GRACE_SECS is {grace:g}, below {floor:g}: readers with a cursor would"
            " lose objects (META_UNSAFE_SHORT_GRACE=true allows it, for tests only)"
        )
    return Lifetimes(
        tombstone_grace=grace,
        cursor=cursor,
        checkpoint=env.seconds("CHECKPOINT_LIFETIME_SECS", base.checkpoint, low=1),
        claim_lease=env.seconds("CLAIM_LEASE_SECS", base.claim_lease, low=1),
        beat_lease=env.seconds("BEAT_LEASE_SECS", base.beat_lease, low=1),
        nursery_lease=env.seconds("NURSERY_LEASE_SECS", base.nursery_lease, low=1),
        fail_backoff=env.seconds("FAIL_BACKOFF_SECS", base.fail_backoff),
        orphan_min_age=env.seconds("ORPHAN_MIN_AGE_SECS", base.orphan_min_age),
        dataset_grace=env.seconds("DATASET_GRACE_SECS", base.dataset_grace),
        baby_row=env.seconds("BABY_ROW_SECS", base.baby_row),
        identity=env.seconds("IDENTITY_SECS", base.identity),
        finished_task=env.seconds("FINISHED_TASK_SECS", base.finished_task),
        retired_stream=env.seconds("RETIRED_STREAM_SECS", base.retired_stream),
        audit=env.seconds("AUDIT_SECS", base.audit),
    )
