"""CheckConsistency: the listing of the bucket against the rows, both ways, then the rows alone."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import grpc

from meta.errors import InvalidArgument
from meta.event_loop import stepped
from meta.services.messages import checks
from meta.services.server_parts import ServerParts
from meta.store.checks import consistency, ledger_checks
from meta.store.checks.consistency import LAST_KEY, ROWS_AT_ONCE, Expected, StreamFacts
from meta.store.checks.ledger_checks import LedgerFinding, Position
from meta.store.engine.pool import Transaction
from meta.store.registration import identities
from meta.store.segments import object_keys
from meta.v1 import operations_pb2 as pb
from segments.keys import (
    AttemptKey,
    BabyKey,
    MarkerKey,
    MergedKey,
    ObjectKey,
    QuarantineKey,
    TableKey,
    parse_key,
)

OBJECTS_MAX = 1_000
ORPHAN_AGE_SECS_MAX = 10**9
_KEY_CHARACTERS_MAX = 1_024
_CONDEMN = "condemn the object, then delete it"
_LEDGER_REPAIRS = {"TASK_INPUT_DEAD": "cancel the task", "STATS": "store the recount"}


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A checked request: the objects of the listing in (after, through]."""

    after: str
    through: str
    objects: dict[str, pb.ListedObject]
    is_last: bool


@dataclass(slots=True)
class _Ages:
    """Age in seconds of an orphan, and whether objects are named of which nothing is known."""

    orphan_secs: float
    names_unknown: bool = False


async def check_consistency(
    server: ServerParts,
    request_iterator: AsyncIterator[pb.CheckConsistencyRequest],
    context: grpc.ServicerContext,
) -> AsyncIterator[pb.CheckConsistencyResponse]:
    """Compare each page of the listing when it arrives, then check the rows by themselves.

    Begin the listing after the call, so that it misses no later registration.
    """
    began: datetime | None = None
    through = ""
    ages = _Ages(server.settings.lifetimes.orphan_min_age)
    async for request in request_iterator:
        if began is None:
            now = await asyncio.to_thread(server.transactions.read, consistency.clock)
            began = now[0]
            through = checks.text(request.resume_after, "resume_after")
            if request.HasField("orphan_age_secs"):
                ages.orphan_secs = checks.count(
                    request.orphan_age_secs, "orphan_age_secs", high=ORPHAN_AGE_SECS_MAX
                )
            ages.names_unknown = request.name_unknown
        stretch = await asyncio.to_thread(_checked, request, through)
        async for reply in stepped(_compared(server, stretch, began, ages)):
            yield reply
        through = stretch.through
        if stretch.is_last:
            async for page in stepped(_ledger(server)):
                if page:
                    yield pb.CheckConsistencyResponse(findings=page, checked_through=LAST_KEY)
            streams = 0
            async for counted in stepped(_count_streams(server)):
                streams += counted
            repeats = await asyncio.to_thread(
                server.transactions.read, identities.count_all_repeats
            )
            yield pb.CheckConsistencyResponse(
                checked_through=through,
                complete=True,
                num_streams=streams,
                event_repeats=repeats,
            )
            return


def _compared(
    server: ServerParts, stretch: _Stretch, began: datetime, ages: _Ages
) -> Iterator[pb.CheckConsistencyResponse]:
    """The findings of a page of the listing, in bounded replies."""
    strangers = dict(stretch.objects)
    counts = []
    for read in (consistency.expected_segments, consistency.expected_babies):
        after, count = stretch.after, 0
        while True:
            expected = server.transactions.read(
                lambda tx, read=read, after=after: read(  # type: ignore[misc]
                    tx, after, stretch.through, began
                )
            )
            count += len(expected)
            findings = list(_matched(expected, strangers))
            if findings:
                yield pb.CheckConsistencyResponse(findings=findings, checked_through=stretch.after)
            if len(expected) < ROWS_AT_ONCE:
                break
            after = expected[-1].object_key
        counts.append(count)
    findings = []
    if strangers:
        findings = server.transactions.read(lambda tx: _strangers(tx, strangers, ages))
    yield pb.CheckConsistencyResponse(
        findings=findings,
        checked_through=stretch.through,
        num_objects=len(stretch.objects),
        num_segments=counts[0],
        num_babies=counts[1],
    )


def _ledger(server: ServerParts) -> Iterator[list[pb.Finding]]:
    """Findings among the rows, page by page; a page is a snapshot of its own."""
    for kind in ledger_checks.KINDS:
        left, position = ledger_checks.FINDINGS_MAX, None
        while left:
            page = server.transactions.read(
                lambda tx, kind=kind, position=position, left=left: (  # type: ignore[misc]
                    ledger_checks.read_page(tx, kind, position, left)
                )
            )
            yield list(map(_ledger_finding, page.findings))
            left -= len(page.findings)
            position = page.next_position
            if position is None:
                break


def _count_streams(server: ServerParts) -> Iterator[int]:
    position: Position | None = None
    while True:
        count, position = server.transactions.read(
            lambda tx, position=position: (  # type: ignore[misc]
                ledger_checks.count_streams(tx, position)
            )
        )
        yield count
        if position is None:
            return


def _strangers(
    tx: Transaction, objects: dict[str, pb.ListedObject], ages: _Ages
) -> list[pb.Finding]:
    """Objects without a row: garbage once it is old, and unknown at any age."""
    _, now_nanos = consistency.clock(tx)
    oldest_nanos = now_nanos - int(ages.orphan_secs * 1e9)
    names = {key: parse_key(key) for key in objects}
    streams = consistency.stream_facts(
        tx, [name.stream_id for name in names.values() if isinstance(name, BabyKey)]
    )
    condemned = _condemned(tx, names) if ages.names_unknown else set(names)
    findings = []
    for key, name in names.items():
        kind = pb.FINDING_KIND_OBJECT_UNREGISTERED
        if name is None:
            message = "the name is none that this system gives"
            findings.append(_finding(kind, key, "", message))
        elif ages.names_unknown and _is_unknown(name, key in condemned, streams):
            message = "no row names the object, and none says that it is garbage"
            findings.append(_finding(pb.FINDING_KIND_OBJECT_UNKNOWN, key, "", message))
        elif objects[key].modified_at_nanos <= oldest_nanos and _is_garbage(name, streams):
            message = "no row refers to the object"
            findings.append(_finding(kind, key, "", message, _CONDEMN))
    return findings


def _condemned(tx: Transaction, names: Mapping[str, ObjectKey | None]) -> set[str]:
    """The keys of merged segments that a row says are garbage."""
    merged = [k for k, name in names.items() if isinstance(name, MergedKey | AttemptKey)]
    return set(object_keys.find(tx, merged))


def _is_unknown(name: ObjectKey, is_condemned: bool, streams: dict[str, StreamFacts]) -> bool:
    """True for a merged segment that was not condemned and a baby that was not committed."""
    if isinstance(name, MergedKey | AttemptKey):
        return not is_condemned
    if not isinstance(name, BabyKey):
        return False
    stream = streams.get(name.stream_id)
    return stream is None or not _is_garbage(name, streams)


def _checked(request: pb.CheckConsistencyRequest, after: str) -> _Stretch:
    checks.at_most(request.objects, "objects", OBJECTS_MAX)
    last = after
    for index, listed in enumerate(request.objects):
        field = f"objects[{index}].object_key"
        checks.text(listed.object_key, field, characters_max=_KEY_CHARACTERS_MAX)
        # Keys compare by bytes, as in Postgres and the object stores.
        if listed.object_key.encode() <= last.encode():
            raise InvalidArgument(
                f"{listed.object_key!r} does not come after {last!r}", field=field
            )
        last = listed.object_key
    through = checks.text(request.listed_through, "listed_through") or last
    if request.end_of_listing:
        through = LAST_KEY
    if through.encode() < last.encode():
        raise InvalidArgument(
            f"listed_through is {through!r}, before {last!r}", field="listed_through"
        )
    objects = {listed.object_key: listed for listed in request.objects}
    return _Stretch(after, through, objects, request.end_of_listing)


def _matched(
    expected: list[Expected], strangers: dict[str, pb.ListedObject]
) -> Iterator[pb.Finding]:
    """Remove expected objects from `strangers`; yield those that are missing or differ in size."""
    for row in expected:
        listed = strangers.pop(row.object_key, None)
        if listed is None:
            if row.must_exist:
                is_baby = isinstance(parse_key(row.object_key), BabyKey)
                kind = pb.FINDING_KIND_BABY_MISSING if is_baby else pb.FINDING_KIND_OBJECT_MISSING
                message = f"an object of {row.size_bytes} bytes is not in the listing"
                yield _finding(kind, row.object_key, row.subject_id, message)
        # A commit by MarkStreamStopped does not know the size of the stop message.
        elif row.size_bytes and listed.size_bytes != row.size_bytes:
            message = f"the object has {listed.size_bytes} bytes, {row.size_bytes} are registered"
            kind = pb.FINDING_KIND_SIZE_MISMATCH
            yield _finding(kind, row.object_key, row.subject_id, message)


def _is_garbage(name: ObjectKey, streams: dict[str, StreamFacts]) -> bool:
    """False for objects that may be used: tails of streams, quarantine, markers, table metadata."""
    if isinstance(name, QuarantineKey | MarkerKey | TableKey):
        return False
    if not isinstance(name, BabyKey):
        return True
    stream = streams.get(name.stream_id)
    if stream is None:
        return False
    if stream.is_retired or name.offset <= stream.deleted_offset:
        return True
    return stream.stopped_offset is not None and name.offset > stream.stopped_offset


def _finding(
    kind: pb.FindingKind.ValueType, key: str, subject_id: str, message: str, repair: str = ""
) -> pb.Finding:
    return pb.Finding(
        kind=kind, object_key=key, subject_id=subject_id, message=message, repair=repair
    )


def _ledger_finding(finding: LedgerFinding) -> pb.Finding:
    kind = pb.FindingKind.Value(f"FINDING_KIND_{finding.kind}")
    repair = _LEDGER_REPAIRS.get(finding.kind, "")
    return _finding(kind, "", finding.subject_id, finding.message, repair)
