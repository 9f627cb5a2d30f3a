"""docs/gcs-bucket-policy.json: it says what the table of docs/security.md says, and no more."""

import re
from collections.abc import Iterator

import pytest

from segments.errors import StoreUnusable
from segments.location import StoreLocation
from segments.store.open import open_store
from tests.e2e.test_bucket_policy import ROOTS, allowed
from tests.support.object_store.gcs_policed import (
    OBJECTS,
    PERMISSIONS,
    bucket_policy,
    is_allowed,
    policed_gcs,
)
from tests.support.object_store.policed import DOCS, PATH, PROCESSES
from tests.support.object_store.policed_cloud import CREATE, DELETE, GET, LIST, PolicedCloud


@pytest.fixture
def bucket(gcs_endpoint: str) -> Iterator[PolicedCloud]:
    with policed_gcs(gcs_endpoint) as made:
        yield made


@pytest.mark.parametrize("process", PROCESSES)
def test_a_process_may_do_in_googles_store_what_the_table_says_and_no_more(process: str) -> None:
    gets, puts, deletes = (
        frozenset(root for root in ROOTS if is_allowed(process, role, f"{OBJECTS}{PATH}/{root}x"))
        for role in (GET, CREATE, DELETE)
    )

    lists = is_allowed(process, LIST, OBJECTS.removesuffix("/objects/"))

    expected = allowed()[process]
    assert (gets, puts, deletes, lists) == (*expected[:3], "names" in expected[3])
    elsewhere = [f"{OBJECTS}x", f"{OBJECTS}{PATH}", OBJECTS.removesuffix("/objects/")]
    for role in (GET, CREATE, DELETE):
        assert not any(is_allowed(process, role, resource) for resource in elsewhere)


def test_the_page_creates_the_roles_of_the_policy() -> None:
    page = (DOCS / "object-stores.md").read_text()
    created = re.findall(r"gcloud iam roles create segplane(\w+) .* --permissions (\S+)", page)

    assert dict(created) == PERMISSIONS
    used = {binding["role"].rpartition("/segplane")[2] for binding in bucket_policy()["bindings"]}
    assert used == PERMISSIONS.keys()


def test_the_store_of_a_process_is_refused_what_the_policy_does_not_allow(
    bucket: PolicedCloud,
) -> None:
    collector, reader, meta = (
        open_store(StoreLocation.from_url(bucket.url(name)))
        for name in ("collector", "reader", "meta")
    )
    key = "ingest-stream/policed/00000000000000000001"
    collector.put_if_absent(key, b"1")

    assert collector.get(key) == b"1"
    assert [listed.key for listed in meta.list("ingest-stream/policed/")] == [key]
    with pytest.raises(StoreUnusable, match="refused the credentials to read"):
        reader.get(key)
    with pytest.raises(StoreUnusable, match="refused the credentials to delete"):
        collector.delete([key])
    with pytest.raises(StoreUnusable, match="refused the credentials to write"):
        meta.put_if_absent("dataset/1", b"1")
    with pytest.raises(StoreUnusable, match="refused the credentials to list"):
        list(reader.list("dataset/"))
    assert [line.split(" projects/")[0] for line in bucket.refused] == [
        "reader: Get",
        "collector: Delete",
        "meta: Create",
        "reader: List",
    ]
