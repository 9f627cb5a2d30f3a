"""Checks of the object stores: rights, writes that never overwrite, latency, clock, rules."""

import time
from collections.abc import Iterator
from pathlib import Path

from segments.errors import StoreError, StoreUnusable
from segments.location import StoreLocation, Stores
from segments.store.bucket_rules import read_rules
from segments.store.interface import ObjectStore
from segments.store.open import open_store
from segments.store.probe import PROBE_KEY
from segments.store.timeouts import BRIEF_TIMEOUTS
from segplane.health.doctor.verdicts import CheckResult, CheckVerdict, judged, unknown
from segplane.health.processes import SKEW_NANOS, span

AREA = "bucket"
_READS = 5
SLOW_SECS = 1.0
# Of the refusals of credentials, in the words of the stores.
_RIGHTS_WORDS = ("credentials", "denied", "rights", "authoriz", "permission")
_RIGHTS = "give this command the credentials of a collector (docs/security.md), or run it there"


def examine(stores: Stores, database_time_nanos: int | None) -> Iterator[CheckResult]:
    """Check the default store and each named one."""
    for name in stores.names():
        location = stores.get(name)
        prefix = f"store {name}: " if name else ""
        yield from _examine(prefix, location, database_time_nanos)


def _examine(
    prefix: str, location: StoreLocation, database_time_nanos: int | None
) -> Iterator[CheckResult]:
    if location.provider == "file" and not Path("/", location.path).is_dir():
        # A probe would create the folder below the mount point of a disk that is not mounted.
        step = "run this command where the processes run; mount the folder where it is missing"
        yield unknown(AREA, f"{prefix}writes", f"{location.url()} is not on this machine", step)
        return
    store = open_store(location, is_brief=True)
    try:
        store.probe()
    except StoreUnusable as error:
        yield _refused(prefix, error)
        return
    except StoreError as error:
        text = f"{location.url()} does not answer: {error}"
        yield CheckResult(
            AREA, f"{prefix}writes", CheckVerdict.NEEDS, text, "see the store's own state"
        )
        return
    text = f"{location.url()} takes writes and does not overwrite"
    yield CheckResult(AREA, f"{prefix}writes", CheckVerdict.OK, text)
    try:
        yield from _reads(prefix, store, database_time_nanos)
    except StoreError as error:
        text = f"{location.url()} takes writes, and a read failed: {error}"
        step = "see the store's own state, and the rights of the credentials to read"
        yield CheckResult(AREA, f"{prefix}reads", CheckVerdict.NEEDS, text, step)
    yield _rules(prefix, location)


def _refused(prefix: str, error: StoreError) -> CheckResult:
    name, text = f"{prefix}writes", str(error)
    if "overwrites" in text:
        step = "use a store that honours If-None-Match: acknowledged records would be replaced"
        return CheckResult(AREA, name, CheckVerdict.NEEDS, text, step)
    if any(word in text for word in _RIGHTS_WORDS):
        # The processes may have rights that this command does not have.
        return unknown(AREA, name, text, _RIGHTS)
    step = "check the bucket, its region and the object store URL; processes fail likewise"
    return CheckResult(AREA, name, CheckVerdict.NEEDS, text, step)


def _reads(
    prefix: str, store: ObjectStore, database_time_nanos: int | None
) -> Iterator[CheckResult]:
    times = []
    for _ in range(_READS):
        began = time.monotonic()
        store.get(PROBE_KEY)
        times.append(time.monotonic() - began)
    median = sorted(times)[_READS // 2]
    text = f"a small read takes {median * 1e3:.0f} ms"
    slow = text if median > SLOW_SECS else ""
    step = "each flush and merge waits for the store: look at its region and load"
    yield judged(AREA, f"{prefix}latency", text, slow, is_warning=True, next_step=step)
    if database_time_nanos is None:
        yield unknown(AREA, f"{prefix}clock", "meta does not tell the time of the database")
        return
    skew = store.now_nanos() - database_time_nanos
    side = "ahead of" if skew > 0 else "behind"
    trouble = f"the store's clock is {span(abs(skew))} {side} the database's"
    yield judged(
        AREA,
        f"{prefix}clock",
        f"the store's clock differs by less than {span(SKEW_NANOS)} from the database's",
        trouble if abs(skew) > SKEW_NANOS else "",
        is_warning=True,
        next_step="synchronise the clocks: the age of orphans follows from the store's",
    )


def _rules(prefix: str, location: StoreLocation) -> CheckResult:
    name = f"{prefix}rules"
    try:
        rules = read_rules(location, BRIEF_TIMEOUTS)
    except StoreError as error:
        step = "look at the bucket's versioning and lifecycle rules yourself"
        return unknown(AREA, name, f"the rules of the bucket are not shown: {error}", step)
    if rules.harmful:
        step = "remove the rule, or leave out our prefix: only the janitor deletes objects"
        return CheckResult(AREA, name, CheckVerdict.NEEDS, "; ".join(rules.harmful), step)
    trouble = ""
    if rules.is_versioned and not rules.ends_versions:
        trouble = "the bucket keeps versions of deleted objects for ever"
    step = "add a lifecycle rule that ends noncurrent versions, after the time of your backups"
    text = "no rule deletes or archives our objects"
    return judged(AREA, name, text, trouble, is_warning=True, next_step=step)
