"""Repairs of a check's findings that need no judgement; the others are left, with advice.

First what lineage proves is registered, because an orphan may hold the records of a missing baby;
then other orphans are condemned, which the janitor deletes.
"""

from collections.abc import Iterator, Sequence

from dataplane.condemnation import Condemnation
from meta.client import MetaClient
from meta.errors import MetaError
from meta.v1 import operations_pb2 as pb
from segments.inventory.findings import FINDINGS
from segments.inventory.listing import batches
from segments.keys import BabyKey, parse_key
from segments.store.interface import ObjectStore
from segplane.fsck.check_cursor import CatalogCursor

REPAIRS_PER_CALL = 100
KEYS_PER_CALL = 1_000
_BY_META = frozenset(kind for kind, rule in FINDINGS.items() if rule.is_by_meta)


def repair(client: MetaClient, store: ObjectStore, cursor: CatalogCursor) -> Iterator[str]:
    """Repair findings; yields a line for each repair and for each finding that is left.

    Raises MetaError, StoreError. May be interrupted anywhere and run again.
    """
    missing = {
        name.stream_id: name.offset
        for kind, key, *_ in reversed(cursor.findings)
        if kind == "BABY_MISSING" and isinstance(name := parse_key(key), BabyKey)
    }
    registered: set[str] = set()
    candidates = [*cursor.orphans, *cursor.unknown]
    if missing and candidates:
        # pyarrow is not part of a light install.
        from segplane.fsck.orphan_batches import register_batches

        for keys, line in register_batches(client, store, candidates, missing):
            registered.update(keys)
            yield line
    yield from _condemn(client, store, [key for key in cursor.orphans if key not in registered])
    yield from _by_meta(client, cursor.findings)
    for kind, key, subject, message, _ in cursor.findings:
        if kind not in _BY_META and key not in registered:
            yield f"left: {subject or key}: {message}: {advice(key, subject)}"


def _condemn(client: MetaClient, store: ObjectStore, keys: Sequence[str]) -> Iterator[str]:
    condemn = Condemnation(client, store)
    for batch in batches(keys, KEYS_PER_CALL):
        try:
            condemned = condemn(batch, dry_run=False)
        except MetaError as error:
            yield f"left: {len(batch)} orphans: {error.message}"
            return
        for key in condemned:
            yield f"condemned: {key}: the janitor deletes it"


def _by_meta(client: MetaClient, findings: Sequence[Sequence[str]]) -> Iterator[str]:
    rows = [(kind, subject, message) for kind, _, subject, message, _ in findings]
    by_meta = [row for row in rows if row[0] in _BY_META]
    for batch in batches(by_meta, REPAIRS_PER_CALL):
        repairs = [
            pb.Repair(kind=pb.FindingKind.Value(f"FINDING_KIND_{kind}"), subject_id=subject)
            for kind, subject, _ in batch
        ]
        reply = client.operations.RepairCatalog(pb.RepairCatalogRequest(repairs=repairs))
        for (kind, subject, message), is_repaired in zip(batch, reply.repaired, strict=True):
            done = "recounted" if kind == "STATS" else "cancelled"
            yield f"{done if is_repaired else 'resolved by itself'}: {subject}: {message}"


def advice(key: str, segment_id: str = "ID") -> str:
    """Return the remedy for a damaged or missing object."""
    name = parse_key(key)
    if isinstance(name, BabyKey):
        return (
            f"put a sound copy of the object back under {key}; without one, the nursery merges its"
            " sound payloads and quarantines the others (`segplane quarantine list`), and if it is"
            " missing, its stream waits there until `segplane streams skip"
            f" {name.stream_id} {name.offset} --accept-loss`"
        )
    if not key:
        return "report it: no command changes these rows"
    return (
        f"put a sound copy of the object back under {key}, or `segplane segments replace"
        f" {segment_id or 'ID'} FILE`; without one, `segplane segments hide {segment_id or 'ID'}"
        " --accept-loss` lets queries and merges continue without its records"
    )
