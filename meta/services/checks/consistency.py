"""CheckConsistency: the listing of the bucket against the rows, both ways, then the rows alone."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from functools import partial

from meta.errors import InvalidArgument
from meta.event_loop import stepped
from meta.services.messages import checks
from meta.services.server_parts import ServerParts
from meta.store.checks import ledger_checks, stored_objects
from meta.store.checks.ledger_checks import Position
from meta.store.checks.stored_objects import LAST_KEY, KeySpan, StoredObject
from meta.store.deduplication import windows
from meta.store.deletion import orphans
from meta.store.deletion.orphans import Question
from meta.store.engine.pool import Transaction
from meta.store.versions import clock
from meta.v1 import operations_pb2 as pb
from segments.inventory.findings import FINDINGS, Finding, difference
from segments.inventory.matching import match
from segments.keys import AttemptKey, BabyKey, MergedKey, parse_key

OBJECTS_MAX = 1_000
ROWS_AT_ONCE = 2_000
FINDINGS_AT_ONCE = 1_000
ORPHAN_AGE_SECS_MAX = 10**9
_KEY_CHARACTERS_MAX = 1_024


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A checked request: the objects of the listing in a span of keys."""

    span: KeySpan
    objects: list[pb.ListedObject]
    is_last: bool


@dataclass(slots=True)
class _Ages:
    """The check's beginning, the age of an orphan, and whether unknown objects are named."""

    orphan_secs: float
    names_unknown: bool = False
    began_nanos: int = 0


async def check_consistency(
    server: ServerParts, request_iterator: AsyncIterator[pb.CheckConsistencyRequest]
) -> AsyncIterator[pb.CheckConsistencyResponse]:
    """Compare each page of the listing when it arrives, then check the rows by themselves.

    Begin the listing after the call, so that it misses no later registration.
    """
    through = ""
    ages = _Ages(server.settings.lifetimes.orphan_min_age)
    async for request in request_iterator:
        if not ages.began_nanos:
            ages.began_nanos = await asyncio.to_thread(server.transactions.read, clock.now_nanos)
            through = checks.text(request.resume_after, "resume_after")
            if request.HasField("orphan_age_secs"):
                ages.orphan_secs = checks.count(
                    request.orphan_age_secs, "orphan_age_secs", high=ORPHAN_AGE_SECS_MAX
                )
            ages.names_unknown = request.name_unknown
        stretch = await asyncio.to_thread(_checked, request, through)
        async for reply in stepped(_compared(server, stretch, ages)):
            yield reply
        through = stretch.span.through
        if stretch.is_last:
            async for page in stepped(_ledger(server)):
                if page:
                    yield pb.CheckConsistencyResponse(findings=page, checked_through=LAST_KEY)
            streams = 0
            async for counted in stepped(_count_streams(server)):
                streams += counted
            duplicates = await asyncio.to_thread(
                server.transactions.read, windows.count_all_duplicates
            )
            yield pb.CheckConsistencyResponse(
                checked_through=through,
                complete=True,
                num_streams=streams,
                duplicates=duplicates,
            )
            return


def _compared(
    server: ServerParts, stretch: _Stretch, ages: _Ages
) -> Iterator[pb.CheckConsistencyResponse]:
    """The findings of a page of the listing, in bounded replies."""
    counts = {True: 0, False: 0}
    findings: list[pb.Finding] = []
    strangers: list[pb.ListedObject] = []
    rows = _rows(server, stretch.span, ages.began_nanos)
    for row, listed in match(rows, stretch.objects, lambda listed: listed.object_key):
        if row is None:
            strangers += [listed] if listed else []
            continue
        counts[bool(row.segment_id)] += 1
        if finding := _difference(row, listed):
            findings.append(_message(finding))
        if len(findings) == FINDINGS_AT_ONCE:
            after = stretch.span.after
            yield pb.CheckConsistencyResponse(findings=findings, checked_through=after)
            findings = []
    if strangers:
        judged = server.transactions.read(lambda tx: list(_judged(tx, strangers, ages)))
        findings += map(_message, judged)
    yield pb.CheckConsistencyResponse(
        findings=findings,
        checked_through=stretch.span.through,
        num_objects=len(stretch.objects),
        num_segments=counts[True],
        num_babies=counts[False],
    )


def _rows(server: ServerParts, span: KeySpan, began_nanos: int) -> Iterator[StoredObject]:
    """The rows of a span, page by page; a page is its own snapshot."""
    while True:
        read = partial(
            stored_objects.read_page, span=span, most=ROWS_AT_ONCE, began_nanos=began_nanos
        )
        page = server.transactions.read(read)
        yield from page.objects
        if not page.next_after:
            return
        span = span._replace(after=page.next_after)


def _difference(row: StoredObject, listed: pb.ListedObject | None) -> Finding | None:
    if listed is None and not row.must_exist:
        return None
    subject_id = row.segment_id or row.object_key.split("/")[1]
    listed_bytes = None if listed is None else listed.size_bytes
    return difference(row.object_key, subject_id, row.size_bytes, listed_bytes)


def _ledger(server: ServerParts) -> Iterator[list[pb.Finding]]:
    """Findings among the rows, page by page; a page is its own snapshot."""
    for kind in ledger_checks.KINDS:
        findings_max, position = ledger_checks.FINDINGS_MAX, None
        while findings_max:
            read = partial(ledger_checks.read_page, kind=kind, position=position, most=findings_max)
            page = server.transactions.read(read)
            yield list(map(_message, page.findings))
            findings_max -= len(page.findings)
            position = page.next_position
            if position is None:
                break


def _count_streams(server: ServerParts) -> Iterator[int]:
    position: Position | None = None
    while True:
        read = partial(ledger_checks.count_streams, position=position)
        count, position = server.transactions.read(read)
        yield count
        if position is None:
            return


def _judged(tx: Transaction, strangers: list[pb.ListedObject], ages: _Ages) -> Iterator[Finding]:
    """Objects without a row: garbage once it is old, and unknown at any age.

    A caller that does not ask for the unknown is told of old segments among them as if they were
    garbage. Condemning proves each anew.
    """
    oldest_nanos = clock.now_nanos(tx) - int(ages.orphan_secs * 1e9)
    names = {listed.object_key: parse_key(listed.object_key) for listed in strangers}
    ours = [k for k, n in names.items() if isinstance(n, BabyKey | MergedKey | AttemptKey)]
    judgement = orphans.condemn(tx, Question(ours), is_dry_run=True)
    garbage, unknown = set(judgement.condemned), set(judgement.unknown)
    if not ages.names_unknown:
        garbage |= {key for key in unknown if not isinstance(names[key], BabyKey)}
        unknown.clear()
    for listed in strangers:
        key = listed.object_key
        if names[key] is None:
            message = "the name is none that this system gives"
            yield Finding("OBJECT_UNREGISTERED", message, key)
        elif key in unknown:
            message = "no row names the object, and none says that it is garbage"
            yield Finding("OBJECT_UNKNOWN", message, key)
        elif key in garbage and listed.modified_at_nanos <= oldest_nanos:
            message = "no row refers to the object"
            yield Finding("OBJECT_UNREGISTERED", message, key)


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
    return _Stretch(KeySpan(after, through), list(request.objects), request.end_of_listing)


def _message(finding: Finding) -> pb.Finding:
    # An object of a foreign name stays.
    is_foreign = finding.object_key and parse_key(finding.object_key) is None
    return pb.Finding(
        kind=pb.FindingKind.Value(f"FINDING_KIND_{finding.kind}"),
        object_key=finding.object_key,
        subject_id=finding.subject_id,
        message=finding.message,
        repair="" if is_foreign else FINDINGS[finding.kind].repair,
    )
