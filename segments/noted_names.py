"""Names of datasets, groups and tenants in the bucket, for a lost or restored catalog.

Each one is an immutable object, `witness/names/<kind>/<id>/<number>`. The highest number of an id
counts. A name that is read was not checked by meta, so it is checked here.
"""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass

from segments.errors import ObjectMissing
from segments.ids import is_canonical_uuid
from segments.keys import OFFSET_DIGITS, WITNESS_ROOT, has_control_characters
from segments.store.interface import ObjectInfo, ObjectStore

NAMES_ROOT = f"{WITNESS_ROOT}names/"
DATASET, GROUP, TENANT = "dataset", "group", "tenant"
# The tenant `default`, of which the bucket has no object.
DEFAULT_TENANT_ID = "00000000-0000-7000-8000-000000000000"
SUSPENDED, DELETED = "suspended", "deleted"
FORMAT = 1
CHARACTERS_MAX = 255
# A name and a title of so many characters take 6 KiB at most.
OBJECT_BYTES_MAX = 16 * 1024
READS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class NotedName:
    """A name; that of a dataset has a title and a group, "" = the default group.

    The tenant of a dataset or group is "" if its object has none. The state is that of a tenant.
    """

    name: str
    title: str = ""
    group_id: str = ""
    tenant_id: str = DEFAULT_TENANT_ID
    state: str = ""


@dataclass(frozen=True, slots=True)
class NameObject:
    """The newest object of a dataset, group or tenant."""

    number: int
    info: ObjectInfo


def name_folder(kind: str, entry_id: str) -> str:
    """The prefix of the names of a dataset or group, with its last slash."""
    return f"{NAMES_ROOT}{kind}/{entry_id}/"


def name_key(kind: str, entry_id: str, number: int) -> str:
    """The key of one name; keys order as numbers do."""
    return f"{name_folder(kind, entry_id)}{number:0{OFFSET_DIGITS}}"


def encode(noted: NotedName) -> bytes:
    """The content of an object; equal names have equal bytes."""
    return json.dumps({"format": FORMAT, **asdict(noted)}).encode()


def decode(content: bytes) -> NotedName | None:
    """Read the content of an object; None if nothing can have that name."""
    try:
        body = json.loads(content)
        noted = NotedName(
            body["name"],
            body["title"],
            body["group_id"],
            body.get("tenant_id", ""),
            body.get("state", ""),
        )
        is_ours = body["format"] == FORMAT and _is_text(noted.name) and _is_text(noted.title)
        ids = (noted.group_id, noted.tenant_id)
        is_placed = all(each == "" or is_canonical_uuid(each) for each in ids)
        is_placed = is_placed and noted.state in ("", SUSPENDED, DELETED)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return noted if is_ours and noted.name and is_placed else None


def _is_text(value: str) -> bool:
    """Return whether Postgres and every door take a text; raises for what is none."""
    value.encode()
    return len(value) <= CHARACTERS_MAX and not has_control_characters(value)


def numbers(store: ObjectStore, kind: str, entry_id: str) -> list[int]:
    """The numbers of the names of a dataset or group."""
    keys = (info.key for info in store.list(name_folder(kind, entry_id)))
    return [number for _, number in filter(None, (_parse(kind, key) for key in keys))]


def newest_of(store: ObjectStore, kind: str, entry_id: str) -> NameObject | None:
    """The newest object of one dataset, group or tenant."""
    parsed = ((_parse(kind, info.key), info) for info in store.list(name_folder(kind, entry_id)))
    objects = [NameObject(key[1], info) for key, info in parsed if key is not None]
    return max(objects, key=lambda item: item.number, default=None)


def newest(store: ObjectStore, kind: str) -> dict[str, NameObject]:
    """The newest object of each dataset or group, by its id, the oldest object first."""
    objects: dict[str, NameObject] = {}
    for info in store.list(f"{NAMES_ROOT}{kind}/"):
        if parsed := _parse(kind, info.key):
            objects[parsed[0]] = NameObject(parsed[1], info)
    ages = sorted(objects.items(), key=lambda item: (item[1].info.modified_at_nanos, item[0]))
    return dict(ages)


def read(store: ObjectStore, objects: Mapping[str, NameObject]) -> dict[str, NotedName]:
    """The names that objects have, by id, in their order; those that cannot be read are absent."""

    def read_one(item: NameObject) -> NotedName | None:
        if item.info.size_bytes > OBJECT_BYTES_MAX:
            return None
        try:
            return decode(store.get(item.info.key))
        except ObjectMissing:
            return None

    with ThreadPoolExecutor(READS_AT_ONCE) as pool:
        names = zip(objects, pool.map(read_one, objects.values()), strict=True)
        return {entry_id: noted for entry_id, noted in names if noted is not None}


def _parse(kind: str, key: str) -> tuple[str, int] | None:
    entry_id, _, digits = key.removeprefix(f"{NAMES_ROOT}{kind}/").partition("/")
    is_number = len(digits) == OFFSET_DIGITS and digits.isascii() and digits.isdecimal()
    return (entry_id, int(digits)) if is_number and is_canonical_uuid(entry_id) else None
