"""The typed columns of a dataset: those of the schema that it is bound to, and promoted ones."""

from collections.abc import Container, Iterable, Mapping, Sequence
from uuid import UUID

from meta.errors import InvalidArgument, QuotaExceeded, RaceLost
from meta.services.catalog import column_names, deduplication_setting, promoted_columns
from meta.services.catalog.promoted_columns import RECEIPT_COLUMNS
from meta.services.messages import checks
from meta.services.messages.filled import filled
from meta.store.access import audit
from meta.store.catalog import (
    bindings,
    dataset_layouts,
    datasets,
    former_layouts,
    link_columns,
    one_tenant,
    schema_versions,
)
from meta.store.catalog.bindings import Binding, BoundAttribute
from meta.store.catalog.dataset_layouts import PromotedColumnRow
from meta.store.catalog.named_entries import keep_schema
from meta.store.catalog.schemas import COLUMNS_MAX, SCHEMAS
from meta.store.engine.pool import Transaction
from meta.store.versions import upgrades, versions
from meta.store.versions.versions import Version
from meta.v1 import common_pb2, operations_pb2

PROMOTED_FIELD = "settings.promoted_columns.columns"
BINDING_FIELD = "settings.binding"
# Each costs a change of the schema 10 ms.
FOLLOWERS_MAX = 100


def checked_binding(message: operations_pb2.SchemaBinding) -> Binding | None:
    """Check a binding as far as the message alone allows; None = the dataset is to be unbound."""
    if not message.schema_id:
        if message.HasField("version") or message.attributes:
            raise InvalidArgument("schema_id is not set", field=f"{BINDING_FIELD}.schema_id")
        return None
    schema_id = checks.uuid(message.schema_id, f"{BINDING_FIELD}.schema_id")
    version = checks.optional_count(
        message, "version", f"{BINDING_FIELD}.version", low=1, high=schema_versions.VERSIONS_MAX
    )
    field = f"{BINDING_FIELD}.attributes"
    checks.at_most(message.attributes, field, COLUMNS_MAX)
    attributes = []
    for index, item in enumerate(message.attributes):
        at = f"{field}[{index}]"
        scope = promoted_columns.checked_scope(item.scope, f"{at}.scope")
        column = checks.name(item.column, f"{at}.column")
        attribute = checks.name(item.attribute, f"{at}.attribute")
        attributes.append(BoundAttribute(column, scope, attribute))
    checks.distinct([attribute.column for attribute in attributes], field)
    return Binding(schema_id, version, tuple(attributes))


def checked_schema_violations(value: int) -> int:
    """Check what becomes of records that violate the schema; 0 = null."""
    if value not in operations_pb2.SchemaViolations.values():
        field = "settings.schema_violations"
        raise InvalidArgument(f"{value} is not null, quarantine or reject", field=field)
    is_null = value == operations_pb2.SCHEMA_VIOLATIONS_NULL
    return operations_pb2.SCHEMA_VIOLATIONS_UNSPECIFIED if is_null else value


def message_of(tx: Transaction, dataset_id: UUID) -> operations_pb2.SchemaBinding | None:
    """The binding of a dataset, with the version that is in force; None if it has none."""
    binding = bindings.read(tx, dataset_id)
    if binding is None:
        return None
    in_force = binding.version
    if in_force is None:
        in_force = SCHEMAS.get(tx, binding.schema_id).version
    return operations_pb2.SchemaBinding(
        schema_id=str(binding.schema_id),
        version=binding.version,
        attributes=[filled(operations_pb2.BoundAttribute, item) for item in binding.attributes],
        version_in_force=in_force,
    )


def promote(tx: Transaction, dataset_id: UUID, columns: Sequence[PromotedColumnRow]) -> None:
    """Replace the promoted columns of a dataset whose row is locked; other columns stay.

    The list may contain columns of a schema and of receipt, because readers of it get them too.
    """
    before = current(tx, dataset_id)
    bound = [column for column in before if column.is_of_schema or column.is_of_receipt]
    added = [column for column in columns if column not in bound]
    taken = {column.name.casefold() for column in bound}
    for column in added:
        if column.is_of_receipt:
            setting = promoted_columns.receipt_setting(column)
            raise InvalidArgument(
                f"{column.name} is a column of datasets with {setting}", field=PROMOTED_FIELD
            )
        if column.name.casefold() in taken:
            raise InvalidArgument(
                f"{column.name} is a column of the schema that the dataset is bound to, or one of"
                " its record_ids or batch_ids",
                field=PROMOTED_FIELD,
            )
    checks.at_most(added, PROMOTED_FIELD, promoted_columns.COLUMNS_MAX)
    promoted_columns.check_added_names([*added, *bound], before, PROMOTED_FIELD)
    if not _are_same([*bound, *added], before):
        _replace(tx, {dataset_id: [*bound, *added]})


def bind(tx: Transaction, dataset_id: UUID, binding: Binding | None) -> None:
    """Bind a dataset whose row is locked to a schema, or unbind it; promoted columns stay.

    Raises NotFound for a schema or version that does not exist, InvalidArgument for columns that do
    not fit, StillReferenced.
    """
    old = bindings.read(tx, dataset_id)
    if binding is not None:
        keep_schema(tx, binding.schema_id)
        one_tenant.require(tx, (dataset_id, binding.schema_id))
        if old is not None and old.schema_id == binding.schema_id:
            newest = SCHEMAS.get(tx, binding.schema_id).version
            bounds = (old.version or newest, binding.version or newest)
            new_names = schema_versions.new_names(tx, binding.schema_id, *bounds)
            former_layouts.rename_columns(tx, dataset_id, new_names)
        if binding.version is None:
            _check_followers(tx, dataset_id, binding.schema_id)
    columns = _columns(tx, dataset_id, binding)
    if binding is not None:
        _check_read([c.name for c in columns if c.is_of_schema], binding, old)
    bindings.write(tx, dataset_id, binding)
    if not _are_same(columns, current(tx, dataset_id)):
        _replace(tx, {dataset_id: columns})
    if old != binding:
        audit.note(tx, "SetDatasetSettings", dataset_id, audit.states(old, binding))


def set_receipt(tx: Transaction, dataset_id: UUID, setting: str, *, is_on: bool) -> None:
    """Add columns of receipt to a dataset whose row is locked, or take them away.

    Raises InvalidArgument if a column has or had one of their names, UpgradeUnfinished.
    """
    if is_on == has_receipt(tx, dataset_id, setting):
        return
    before, field = current(tx, dataset_id), f"settings.{setting}"
    changed = RECEIPT_COLUMNS[setting]
    schema = [column for column in before if column.is_of_schema]
    receipt = [c for c in before if c.is_of_receipt and c not in changed]
    others = [c for c in before if not c.is_of_schema and not c.is_of_receipt]
    if is_on:
        if setting == "batch_ids":
            upgrades.require_finished(tx, "a column batch_id")
        column_names.check([*schema, *receipt, *changed], others, field)
        column_names.check_former(dataset_layouts.list_numbered(tx, dataset_id), changed, field)
        receipt = sorted([*receipt, *changed], key=lambda column: column.scope)
    _replace(tx, {dataset_id: [*schema, *receipt, *others]})
    audit.note(tx, "SetDatasetSettings", dataset_id, f"{setting}: {str(is_on).lower()}")


def lock_followers(tx: Transaction, identifier: UUID | str) -> Sequence[UUID]:
    """Lock the datasets that follow a schema, ahead of the schema, in the order of locks."""
    schema = SCHEMAS.find(tx, identifier)
    if schema is None:
        return ()
    followers = bindings.followers(tx, schema.id, FOLLOWERS_MAX)
    datasets.lock_columns(tx, followers)
    return followers


def follow(
    tx: Transaction, schema_id: UUID, locked: Sequence[UUID], new_names: Mapping[str, str]
) -> None:
    """Give the datasets that follow a schema its newest columns, all at one version.

    The schema and the datasets are locked. Raises RaceLost, InvalidArgument, StillReferenced.
    """
    if bindings.followers(tx, schema_id, FOLLOWERS_MAX) != list(locked):
        raise RaceLost("a dataset was bound to the schema meanwhile", schema_id=schema_id)
    changed = {}
    bindings.rename_columns(tx, schema_id, new_names)
    for dataset_id in locked:
        former_layouts.rename_columns(tx, dataset_id, new_names)
        columns = _columns(tx, dataset_id, bindings.read(tx, dataset_id))
        if not _are_same(columns, current(tx, dataset_id)):
            changed[dataset_id] = columns
    if changed:
        _replace(tx, changed)


def current(tx: Transaction, dataset_id: UUID) -> tuple[PromotedColumnRow, ...]:
    """The columns that a dataset has now, bound ones first."""
    return dataset_layouts.read(tx, [dataset_id])[dataset_id].promoted_columns


def has_receipt(tx: Transaction, dataset_id: UUID, setting: str) -> bool:
    """Whether a dataset has the columns of receipt of a setting."""
    return any(column in RECEIPT_COLUMNS[setting] for column in current(tx, dataset_id))


def _are_same(columns: Sequence[PromotedColumnRow], stored: Sequence[PromotedColumnRow]) -> bool:
    return [(column, column.is_of_schema) for column in columns] == [
        (column, column.is_of_schema) for column in stored
    ]


def _check_followers(tx: Transaction, dataset_id: UUID, schema_id: UUID) -> None:
    following = bindings.followers(tx, schema_id, FOLLOWERS_MAX + 1)
    if len({*following, dataset_id}) > FOLLOWERS_MAX:
        raise QuotaExceeded(
            f"{FOLLOWERS_MAX} datasets follow the schema: bind this one to a version",
            limit=FOLLOWERS_MAX,
        )


def _columns(tx: Transaction, dataset_id: UUID, binding: Binding | None) -> list[PromotedColumnRow]:
    """The columns of a dataset under a binding: the schema's, then its promoted ones."""
    before = current(tx, dataset_id)
    numbered = dataset_layouts.list_numbered(tx, dataset_id)
    bound = _bound(tx, binding, numbered) if binding is not None else []
    promoted = [column for column in before if not column.is_of_schema and column not in bound]
    column_names.check(bound, promoted, BINDING_FIELD)
    column_names.check_former(numbered, bound, BINDING_FIELD)
    return [*bound, *promoted]


def _bound(
    tx: Transaction, binding: Binding, numbered: Iterable[PromotedColumnRow]
) -> list[PromotedColumnRow]:
    """The columns of a binding; one that was renamed in the dataset keeps its attribute."""
    schema = SCHEMAS.get(tx, binding.schema_id)
    columns = schema.columns
    if binding.version not in (None, schema.version):
        columns = schema_versions.read(tx, schema.id, binding.version or 0)
    record = common_pb2.ATTRIBUTE_SCOPE_RECORD
    bound = {column.name: BoundAttribute(column.name, record, column.name) for column in columns}
    renamed = (column for column in numbered if column.column_id is not None)
    bound |= {c.name: BoundAttribute(c.name, c.scope, c.attribute) for c in renamed}
    bound |= {attribute.column: attribute for attribute in binding.attributes}
    return [
        PromotedColumnRow(
            column.name,
            column.kql_type,
            bound[column.name].scope,
            bound[column.name].attribute,
            is_of_schema=True,
        )
        for column in columns
    ]


def _check_read(names: Container[str], binding: Binding, before: Binding | None) -> None:
    """Refuse attributes of no column, but for those of before: their column may come back."""
    kept = before.attributes if before is not None else ()
    odd = [a.column for a in binding.attributes if a.column not in names and a not in kept]
    if odd:
        field = f"{BINDING_FIELD}.attributes"
        raise InvalidArgument(f"the schema has no column {odd[0]}", field=field)


def _replace(tx: Transaction, columns: dict[UUID, list[PromotedColumnRow]]) -> Version:
    """Store the columns of datasets; readers see them from one version on."""
    before = {dataset_id: current(tx, dataset_id) for dataset_id in columns}
    for dataset_id, dataset_columns in columns.items():
        link_columns.check_promoted(tx, dataset_id, dataset_columns)
        deduplication_setting.check_kept(tx, dataset_id, dataset_columns)
        dataset_layouts.replace_promoted_columns(tx, dataset_id, dataset_columns)
        column_names.check_files(current(tx, dataset_id))
    # Nurseries read the columns: equal response_seq must mean equal columns.
    version = versions.allocate(tx)
    for dataset_id in columns:
        datasets.stamp(tx, dataset_id, version)
        former_layouts.keep(tx, dataset_id, before[dataset_id], version)
    return version
