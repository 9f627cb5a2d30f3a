"""docs/azure-role-assignments.json: it says what the table of docs/security.md says, no more."""

from collections.abc import Iterator

import pytest

from segments.errors import StoreUnusable
from segments.location import StoreLocation
from segments.store.open import open_store
from segments.store.upload_body import PART_BYTES
from tests.e2e.test_bucket_policy import ROOTS, allowed
from tests.support.object_store import clouds
from tests.support.object_store.azure_policed import (
    ACTIONS,
    CONTAINER,
    is_allowed,
    policed_azure,
    policy,
)
from tests.support.object_store.policed import DOCS, PATH, PROCESSES
from tests.support.object_store.policed_cloud import CREATE, DELETE, GET, LIST, PolicedCloud


@pytest.fixture
def bucket(azure_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PolicedCloud]:
    monkeypatch.setenv("AZURE_STORAGE_KEY", clouds.ACCOUNT_KEY)
    with policed_azure(azure_endpoint) as made:
        yield made


@pytest.mark.parametrize("process", PROCESSES)
def test_a_process_may_do_in_azures_store_what_the_table_says_and_no_more(process: str) -> None:
    gets, puts, deletes = (
        frozenset(root for root in ROOTS if is_allowed(process, role, f"{PATH}/{root}x"))
        for role in (GET, CREATE, DELETE)
    )

    expected = allowed()[process]
    lists = is_allowed(process, LIST, CONTAINER)
    assert (gets, puts, deletes, lists) == (*expected[:3], "names" in expected[3])
    for role in (GET, CREATE, DELETE):
        assert not any(is_allowed(process, role, path) for path in ("x", PATH, CONTAINER))


def test_each_role_holds_the_actions_of_its_operation_alone() -> None:
    roles = {role["Name"]: role for role in policy()["roles"]}

    assert {name: set(role["DataActions"]) for name, role in roles.items()} == {
        f"Segplane {operation}": actions for operation, actions in ACTIONS.items()
    }
    assert all(role["Actions"] == [] for role in roles.values())
    assert {one["role"] for one in policy()["assignments"]} == set(roles)
    assert "docs/azure-role-assignments.json" in (DOCS / "object-stores.md").read_text()


def test_the_store_of_a_process_is_refused_what_its_roles_do_not_allow(
    bucket: PolicedCloud,
) -> None:
    collector, reader, meta = (
        open_store(StoreLocation.from_url(bucket.url(name)))
        for name in ("collector", "reader", "meta")
    )
    key = "ingest-stream/policed/00000000000000000001"
    collector.put_if_absent(key, b"1")
    # Above this size an object is sent in blocks.
    collector.put_if_absent(f"{key}0", bytes(PART_BYTES + 1))

    assert collector.get(key) == b"1"
    assert [info.key for info in meta.list("ingest-stream/policed/")] == [key, f"{key}0"]
    with pytest.raises(StoreUnusable, match="refused the credentials to read"):
        reader.get(key)
    with pytest.raises(StoreUnusable, match="refused the credentials to delete"):
        collector.delete([key])
    with pytest.raises(StoreUnusable, match="refused the credentials to write"):
        meta.put_if_absent("dataset/1", b"1")
    with pytest.raises(StoreUnusable, match="refused the credentials to list"):
        list(reader.list("dataset/"))
    assert [line.split(" some/")[0].strip() for line in bucket.refused] == [
        "reader: Get",
        "collector: Delete",
        "meta: Create",
        "reader: List",
    ]
