"""docs/bucket-policy.json before a server that enforces it: a process can do its part, no more."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from meta.store.versions.witness import Mark
from meta.watches.witness_log import WitnessLog
from segments.location import StoreLocation
from segments.store.open import open_store
from tests.support.object_store.policed import (
    BUCKET,
    DOCS,
    PATH,
    PROCESSES,
    PolicedBucket,
    bucket_policy,
    policed_bucket,
)

ROOTS = (
    *("ingest-stream/", "dataset/", "quarantine/", "iceberg/", "hidden/", "replaced/"),
    *("probe/", "witness/"),
)
UPLOADS = "unfinished uploads"
_ROW = re.compile(r"^\| ([a-z ]+) \| (.*) \| (.*) \| (.*) \| (.*) \|$", re.MULTILINE)


def allowed() -> Mapping[str, tuple[frozenset[str], ...]]:
    """The table of docs/security.md: what a process may get, put, delete and list."""
    page = (DOCS / "security.md").read_text()
    table = page[page.index("| Process | Get |") :]
    rows = {row[0]: tuple(map(_cell, row[1:])) for row in _ROW.findall(table)}
    return {name: cells for name, cells in rows.items() if name in PROCESSES}


def _cell(text: str) -> frozenset[str]:
    if text in ("all", "none"):
        return frozenset(ROOTS if text == "all" else ())
    return frozenset(part.strip("`") for part in text.split(", "))


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PolicedBucket]:
    with policed_bucket(tmp_path_factory.mktemp("versitygw")) as made:
        yield made


def _is_allowed(call: Callable[[], Any]) -> bool:
    try:
        reply = call()
    except ClientError as error:
        # HEAD has no body to say more.
        if error.response["Error"]["Code"] not in ("AccessDenied", "403"):
            raise
        return False
    errors = reply.get("Errors", [])
    assert {error["Code"] for error in errors} <= {"AccessDenied"}
    return not errors


def _roots_allowed(call: Callable[[str], Any]) -> frozenset[str]:
    return frozenset(root for root in ROOTS if _is_allowed(partial(call, root)))


@pytest.mark.parametrize("process", PROCESSES)
def test_a_process_may_do_what_the_table_says_and_no_more(
    bucket: PolicedBucket, process: str
) -> None:
    client = bucket.client(process)
    there, elsewhere = f"of-{process}", f"{uuid4()}"
    for root in ROOTS:
        bucket.owner.put_object(Bucket=BUCKET, Key=f"{PATH}/{root}{there}", Body=b"1")
    bucket.owner.put_object(Bucket=BUCKET, Key=elsewhere, Body=b"1")

    gets = _roots_allowed(
        lambda root: client.get_object(Bucket=BUCKET, Key=f"{PATH}/{root}{there}")
    )
    puts = _roots_allowed(
        lambda root: client.put_object(
            Bucket=BUCKET, Key=f"{PATH}/{root}{uuid4()}", Body=b"2", IfNoneMatch="*"
        )
    )
    deletes = _roots_allowed(
        lambda root: client.delete_objects(
            Bucket=BUCKET, Delete={"Objects": [{"Key": f"{PATH}/{root}{there}"}]}
        )
    )
    lists = {
        "names": _is_allowed(lambda: client.list_objects_v2(Bucket=BUCKET, Prefix=PATH)),
        UPLOADS: _is_allowed(lambda: client.list_multipart_uploads(Bucket=BUCKET)),
    }

    listed = frozenset(name for name, is_allowed in lists.items() if is_allowed)
    assert _is_allowed(lambda: client.head_bucket(Bucket=BUCKET)) == ("names" in listed)
    expected = allowed()[process]
    assert (gets, puts, deletes, listed) == (*expected[:3], expected[3])
    for call in (client.get_object, client.delete_object):
        assert not _is_allowed(partial(call, Bucket=BUCKET, Key=elsewhere))
    assert not _is_allowed(partial(client.put_object, Bucket=BUCKET, Key=elsewhere, Body=b"2"))
    policy = bucket_policy()
    assert not _is_allowed(partial(client.put_bucket_policy, Bucket=BUCKET, Policy=policy))


def test_meta_keeps_its_witness_with_its_own_account(
    bucket: PolicedBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in bucket.credentials("meta").items():
        monkeypatch.setenv(name, value)
    url = f"s3://{BUCKET}/{PATH}?endpoint={bucket.url}&region=us-east-1"
    log, term = WitnessLog(open_store(StoreLocation.from_url(url))), uuid4()
    for number in range(30):
        mark = Mark(history=1, number=number, tick=number, ceiling=100 + number, term=term)
        assert log.write(mark)
        assert log.view(1).newest == mark
    log.note_revoked("ingest", str(term))
    log.note_revoked("ingest", str(term))

    # Another writer of a number that is taken, and the repetition of a write, are told apart.
    assert log.write(mark)
    assert not log.write(replace(mark, tick=1))
    assert [key.token_id for key in log.revoked()] == [str(term)]
    names = bucket.owner.list_objects_v2(Bucket=BUCKET, Prefix=f"{PATH}/witness/0")
    assert len(names["Contents"]) <= 17
