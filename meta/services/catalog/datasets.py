"""Datasets: create, read, list, delete, sharding fields."""

from uuid import UUID

from meta.commits import installation_totals
from meta.commits.transactions import Transactions
from meta.config import Settings
from meta.errors import InvalidArgument, NotFound
from meta.services.catalog import entry_versions
from meta.services.catalog.promoted_columns import FORMAT_COLUMNS
from meta.services.messages import authors, checks, convert, pages
from meta.services.server_parts import ServerParts
from meta.store.access import audit, creator_quotas
from meta.store.catalog import dataset_layouts, dataset_names, datasets
from meta.store.catalog.dataset_layouts import Layout, ShardingField
from meta.store.catalog.datasets import Dataset
from meta.store.deletion import dataset_deletion
from meta.store.engine import scope
from meta.store.engine.pool import Transaction
from meta.store.versions import versions
from meta.v1 import catalog_pb2 as pb
from meta.v1 import operations_pb2


class DatasetCalls:
    """The dataset calls of CatalogService."""

    def __init__(self, transactions: Transactions, settings: Settings) -> None:
        self._transactions = transactions
        self._settings = settings

    def CreateDataset(self, request: pb.CreateDatasetRequest) -> pb.CreateDatasetResponse:
        """Create a dataset; the same name again is the same dataset."""
        name = checks.name(request.name)
        live_max = self._settings.datasets_max

        def work(tx: Transaction) -> datasets.Dataset:
            existing = datasets.find_by_name(tx, name)
            if existing is not None:
                return existing
            # Only then: a dataset of an earlier release may have such a name, and keeps it.
            new_name = checks.new_dataset_name(name)
            made = datasets.create(tx, new_name, live_max=live_max)
            audit.note(tx, "CreateDataset", made.id, f"name {name!r}")
            creator_quotas.check_datasets(tx, made.id, self._settings.datasets_per_creator_max)
            return made

        dataset = None
        if scope.tenant_key() is not None:
            dataset = self._transactions.read(lambda tx: datasets.find_by_name(tx, name))
        if dataset is None:
            installation_totals.check(self._transactions, "datasets", datasets.count_live, live_max)
            dataset = self._transactions.write(work)
        return pb.CreateDatasetResponse(id=str(dataset.id), name=dataset.name)

    def GetDataset(self, request: pb.GetDatasetRequest) -> pb.GetDatasetResponse:
        """Read a dataset by id or name."""
        identifier = checks.identifier(request)
        at_version = checks.optional_count(request, "at_version")
        dataset, by = self._transactions.read(
            lambda tx: authors.of(tx, _get(tx, identifier, at_version))
        )
        return pb.GetDatasetResponse(id=str(dataset.id), name=dataset.name, authors=by)

    def ListDatasets(self, request: pb.ListDatasetsRequest) -> pb.ListDatasetsResponse:
        """Page through the live datasets."""
        of_all = request.all_tenants
        filters = ("all tenants",) if of_all else ()
        window = pages.window(request.pagination, "ListDatasets", *filters)
        page, by = self._transactions.read(
            lambda tx: authors.of_page(tx, datasets.list_page(tx, window, of_all_tenants=of_all))
        )
        return pb.ListDatasetsResponse(
            items=[pb.Dataset(id=str(d.id), name=d.name, authors=by.get(d.id)) for d in page.items],
            pagination=pages.answer(page, "ListDatasets", *filters),
        )

    def DeleteDataset(self, request: pb.DeleteDatasetRequest) -> pb.DeleteDatasetResponse:
        """Delete a dataset that no token routes to and no stream has unmerged records of."""
        identifier = checks.identifier(request)
        keeps_files = request.keep_files
        if keeps_files and not self._settings.keeps_witness:
            raise InvalidArgument(
                "keep_files needs a meta that keeps a witness in the bucket: set"
                " META_OBJECT_STORE_URL",
                field="keep_files",
            )
        success = self._transactions.write(
            lambda tx: dataset_deletion.delete(tx, identifier, keeps_files=keeps_files)
        )
        return pb.DeleteDatasetResponse(success=success, keeps_files=success and keeps_files)

    def SetShardingFields(
        self, request: pb.SetShardingFieldsRequest
    ) -> pb.SetShardingFieldsResponse:
        """Replace the list of sharding fields."""
        identifier = checks.identifier(request)
        fields = convert.sharding_fields(request.fields, "fields")
        expected = entry_versions.expected(request)
        self._transactions.write(lambda tx: _set_sharding_fields(tx, identifier, fields, expected))
        return pb.SetShardingFieldsResponse(
            fields=convert.sharding_messages(fields), version=entry_versions.of(_content(fields))
        )

    def GetShardingFields(
        self, request: pb.GetShardingFieldsRequest
    ) -> pb.GetShardingFieldsResponse:
        """Read the list of sharding fields."""
        identifier = checks.identifier(request)

        def work(tx: Transaction) -> tuple[ShardingField, ...]:
            dataset = datasets.get(tx, identifier)
            return dataset_layouts.read(tx, [dataset.id])[dataset.id].sharding_fields

        fields = self._transactions.read(work)
        return pb.GetShardingFieldsResponse(
            fields=convert.sharding_messages(fields), version=entry_versions.of(_content(fields))
        )


def _set_sharding_fields(
    tx: Transaction,
    identifier: UUID | str,
    fields: tuple[ShardingField, ...],
    expected: str | None,
) -> None:
    dataset = datasets.lock_settings(tx, identifier)
    layout = dataset_layouts.read(tx, [dataset.id])[dataset.id]
    before = layout.sharding_fields
    entry_versions.check(expected, _content(before), is_in_effect=before == fields)
    if before != fields:
        _check_columns(fields, layout)
        audit.note(tx, "SetShardingFields", dataset.id, audit.states(before, fields))
        dataset_layouts.replace_sharding_fields(tx, dataset.id, fields)
        # Nurseries read the fields: equal response_seq must mean equal fields.
        datasets.stamp(tx, dataset.id, versions.allocate(tx))


def _get(tx: Transaction, identifier: UUID | str, at_version: int | None) -> Dataset:
    """A dataset by id, by name, or by the name that it had at a version. Raises NotFound."""
    if at_version is not None and isinstance(identifier, str):
        dataset = dataset_names.find_at(tx, identifier, at_version)
    else:
        dataset = datasets.find_either(tx, identifier)
    if dataset is not None:
        return dataset
    if isinstance(identifier, str):
        raise dataset_names.missing(tx, identifier)
    raise NotFound("there is no such dataset", dataset=identifier)


def rename_dataset(
    server: ServerParts, request: operations_pb2.RenameDatasetRequest
) -> operations_pb2.RenameDatasetResponse:
    """Rename a dataset; versions of before keep the former name."""
    dataset_id = checks.uuid(request.dataset_id, "dataset_id")
    new_name = checks.new_dataset_name(request.new_name, "new_name")
    dataset = server.transactions.write(lambda tx: dataset_names.rename(tx, dataset_id, new_name))
    return operations_pb2.RenameDatasetResponse(id=str(dataset.id), name=dataset.name)


def _check_columns(fields: tuple[ShardingField, ...], layout: Layout) -> None:
    """Refuse a field that no file has. Releases before 0.3 took any: those that are there may stay.

    Raises InvalidArgument.
    """
    promoted = (column.name for column in layout.promoted_columns)
    kept = (field.field_name for field in layout.sharding_fields)
    column_names = {*FORMAT_COLUMNS, *promoted, *kept}
    for index, field in enumerate(fields):
        if field.field_name not in column_names:
            at = f"fields[{index}].field_name"
            raise InvalidArgument(
                f"{at} {field.field_name!r} is not a column of the dataset's files; an attribute is"
                " one once it is promoted",
                field=at,
            )


def _content(fields: tuple[ShardingField, ...]) -> pb.GetShardingFieldsResponse:
    return pb.GetShardingFieldsResponse(fields=convert.sharding_messages(fields))
