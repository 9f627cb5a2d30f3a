"""Entries of the catalog say who created, changed and deleted them, and when."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
from sqlalchemy import select

from meta.config import Settings
from meta.errors import QuotaExceeded
from meta.roles import Role
from meta.store.deletion import lifetimes
from meta.store.deletion.lifetimes import Ages, ExpiryRule
from meta.store.tables.server import catalog_authors
from meta.v1 import catalog_pb2, common_pb2, ingest_token_pb2
from meta.v1 import operations_pb2 as pb
from tests.support.meta.dataset_life import delete, set_settings, undelete
from tests.support.meta.guarded import GuardedServer, guarded

AGES = Ages(*[1e6] * len(fields(Ages)))
COLUMN = common_pb2.Column(name="a", type=common_pb2.KQL_TYPE_LONG)


@pytest.fixture
def guard(meta_settings: Settings) -> Iterator[GuardedServer]:
    with guarded(meta_settings) as running:
        yield running


class TestQuota:
    """With at most two datasets of one creator."""

    @pytest.fixture
    def meta_settings(self, meta_settings: Settings) -> Settings:
        return replace(meta_settings, datasets_per_creator_max=2)

    def test_a_creator_has_no_more_datasets_than_the_quota_allows(
        self, guard: GuardedServer
    ) -> None:
        """Neither new ones nor deleted ones that come back, whoever asks; others have their own."""

        def make(client: Any, name: str) -> str:
            return str(client.catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name=name)).id)

        with guard.client(Role.CATALOG, "ann") as ann, guard.client(Role.CATALOG, "bob") as bob:
            first, second = make(ann, "a"), make(ann, "b")
            assert make(ann, "a") == first
            with pytest.raises(QuotaExceeded, match="'ann' has created 2 datasets") as refused:
                make(ann, "c")
            assert refused.value.metadata["limit"] == "2"
            make(bob, "c")
            delete(bob, first)
            make(ann, "d")
            with pytest.raises(QuotaExceeded, match="'ann'"):
                undelete(bob, first)
            delete(ann, second)
            assert undelete(bob, first).success


def create(client: Any) -> str:
    """Create an entry of each kind; returns the id of the token."""
    catalog = client.catalog
    catalog.CreateDataset(catalog_pb2.CreateDatasetRequest(name="web"))
    catalog.CreateSchema(catalog_pb2.CreateSchemaRequest(name="s", columns=[COLUMN]))
    catalog.CreateView(catalog_pb2.CreateViewRequest(name="v"))
    catalog.CreateProjection(
        catalog_pb2.CreateProjectionRequest(name="p", projection="extend a = 1")
    )
    request = ingest_token_pb2.CreateIngestTokenRequest(name="t", dataset_name="web")
    return str(client.ingest_token.CreateIngestToken(request).token.id)


def shown(client: Any, token_id: str) -> dict[str, tuple[common_pb2.Authors, common_pb2.Authors]]:
    """The authors of each entry, alone and in its list."""
    catalog, tokens = client.catalog, client.ingest_token
    page = catalog_pb2.PaginationRequest(limit=100)
    listed = {
        "web": catalog.ListDatasets(catalog_pb2.ListDatasetsRequest()).items,
        "s": catalog.ListSchemas(catalog_pb2.ListSchemasRequest()).items,
        "v": catalog.ListViews(catalog_pb2.ListViewsRequest()).items,
        "p": catalog.ListProjections(catalog_pb2.ListProjectionsRequest()).items,
        "t": tokens.ListIngestTokens(
            ingest_token_pb2.ListIngestTokensRequest(pagination=page)
        ).tokens,
    }
    alone = {
        "web": catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="web")),
        "s": catalog.GetSchema(catalog_pb2.GetSchemaRequest(name="s")),
        "v": catalog.GetView(catalog_pb2.GetViewRequest(name="v")),
        "p": catalog.GetProjection(catalog_pb2.GetProjectionRequest(name="p")),
        "t": tokens.GetIngestToken(ingest_token_pb2.GetIngestTokenRequest(token_id=token_id)).token,
    }
    return {
        name: (alone[name].authors, next(i.authors for i in items if i.name == name))
        for name, items in listed.items()
    }


def test_entries_name_who_created_and_who_last_changed_them(guard: GuardedServer) -> None:
    with guard.client(Role.CATALOG, "ann") as ann, guard.client(Role.CATALOG, "bob") as bob:
        token_id = create(ann)
        created = shown(bob, token_id)
        # What changes nothing has no author.
        bob.catalog.CreateView(catalog_pb2.CreateViewRequest(name="v"))
        assert shown(bob, token_id) == created
        set_settings(bob, created_id(bob), pb.DatasetSettings(records_per_month=9))
        added = common_pb2.Column(name="b", type=common_pb2.KQL_TYPE_LONG)
        bob.catalog.UpdateSchema(catalog_pb2.UpdateSchemaRequest(name="s", add_columns=[added]))
        bob.catalog.UpdateView(catalog_pb2.UpdateViewRequest(name="v", description="d"))
        bob.catalog.UpdateProjection(
            catalog_pb2.UpdateProjectionRequest(name="p", projection="extend a = 2")
        )
        bob.ingest_token.RevokeIngestToken(
            ingest_token_pb2.RevokeIngestTokenRequest(token_id=token_id)
        )
        changed = shown(ann, token_id)

    for name, (alone, listed) in created.items():
        assert alone == listed
        assert (alone.created_by, alone.updated_by, alone.deleted_by) == ("ann", "", ""), name
        assert alone.created_at.endswith("Z")
    for name, (alone, listed) in changed.items():
        assert alone == listed
        by = alone.deleted_by if name == "t" else alone.updated_by
        at = alone.deleted_at if name == "t" else alone.updated_at
        assert (alone.created_by, by) == ("ann", "bob"), name
        assert at >= alone.created_at == created[name][0].created_at


def _removed_resources() -> ExpiryRule:
    return next(rule for rule in lifetimes.SLOW if rule.name == "removed_resources")


def created_id(client: Any) -> str:
    return str(client.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="web")).id)


def test_a_reader_is_not_told_who_works_here(guard: GuardedServer) -> None:
    create(guard.admin)
    with guard.client(Role.READER) as reader:
        entry = reader.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="web"))
        views = reader.catalog.ListViews(catalog_pb2.ListViewsRequest()).items

    assert not entry.HasField("authors")
    assert not views[0].HasField("authors")


def test_an_access_token_names_who_created_and_who_revoked_it(guard: GuardedServer) -> None:
    token = guard.token(Role.READER).token
    guard.admin.operations.RevokeAccessToken(pb.RevokeAccessTokenRequest(token_id=token.id))

    (listed,) = guard.admin.operations.ListAccessTokens(pb.ListAccessTokensRequest()).tokens

    assert listed.authors.created_by == listed.authors.deleted_by == "META_AUTH_TOKEN"
    assert listed.authors.deleted_at >= listed.authors.created_at


def test_authors_outlive_their_entries_and_an_undeleted_dataset_is_not_deleted(
    guard: GuardedServer,
) -> None:
    admin = guard.admin
    token_id = create(admin)
    dataset = created_id(admin)
    admin.ingest_token.RevokeIngestToken(
        ingest_token_pb2.RevokeIngestTokenRequest(token_id=token_id)
    )
    admin.ingest_token.DeleteIngestToken(
        ingest_token_pb2.DeleteIngestTokenRequest(token_id=token_id)
    )
    admin.catalog.DeleteView(catalog_pb2.DeleteViewRequest(name="v"))
    admin.catalog.DeleteProjection(catalog_pb2.DeleteProjectionRequest(name="p"))
    admin.catalog.DeleteSchema(catalog_pb2.DeleteSchemaRequest(name="s"))
    admin.catalog.DeleteDataset(catalog_pb2.DeleteDatasetRequest(name="web"))

    ended_by = select(catalog_authors.c.entry_id, catalog_authors.c.deleted_by)
    with guard.running.database.write() as tx:
        rows = {str(row.entry_id): row.deleted_by for row in tx.execute(ended_by)}
        assert list(rows.values()) == ["META_AUTH_TOKEN"] * 5
        removed = _removed_resources()
        assert removed.run(tx, replace(AGES, audit=1e6)) == 0
        assert removed.run(tx, replace(AGES, audit=-1.0)) == 4
        assert [str(row.entry_id) for row in tx.execute(ended_by)] == [dataset]

    admin.operations.UndeleteDataset(pb.UndeleteDatasetRequest(dataset_id=dataset))
    authors = admin.catalog.GetDataset(catalog_pb2.GetDatasetRequest(name="web")).authors

    assert (authors.updated_by, authors.deleted_by, authors.deleted_at) == (
        "META_AUTH_TOKEN",
        "",
        "",
    )
