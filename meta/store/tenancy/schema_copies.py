"""Copies of schemas in another tenant, with all their versions, for datasets that move there."""

from uuid import UUID

from sqlalchemy import Uuid, bindparam, text

from meta.errors import NameTaken
from meta.store.engine.pool import Transaction
from segments.ids import new_uuid7

_SCHEMA, _COPY_ID = bindparam("schema", type_=Uuid), bindparam("copy", type_=Uuid)
# All that a schema is, but for its id, name and times.
_CONTENT = """
    SELECT ROW(s.version, s.is_frozen,
      ARRAY(SELECT ROW(c.name, c.type) FROM schema_columns c
            WHERE c.schema_id = s.id ORDER BY c.position),
      ARRAY(SELECT ROW(v.version, v.names, v.types, v.renamed, v.new_names) FROM schema_versions v
            WHERE v.schema_id = s.id ORDER BY v.version))::text
    FROM schemas s WHERE s.id = {schema}
"""
_NAMED = text(f"""
    SELECT e.id, ({_CONTENT.format(schema="e.id")}) = ({_CONTENT.format(schema=":schema")})
      AS is_equal
    FROM schemas e WHERE e.tenant_key = :tenant AND e.name = :name
""").bindparams(_SCHEMA)  # noqa: S608
_KEEP = text("SELECT name FROM schemas WHERE id = :schema FOR SHARE").bindparams(_SCHEMA)
_COPY = tuple(
    text(statement).bindparams(_SCHEMA, _COPY_ID)
    for statement in (
        """
        INSERT INTO schemas (id, name, version, is_frozen, tenant_key)
        SELECT :copy, :name, version, is_frozen, :tenant FROM schemas WHERE id = :schema
        """,
        """
        INSERT INTO schema_columns (schema_id, position, name, type)
        SELECT :copy, position, name, type FROM schema_columns
        WHERE schema_id = :schema
        """,
        """
        INSERT INTO schema_versions
          (schema_id, version, names, types, replaced_at, renamed, new_names)
        SELECT :copy, version, names, types, replaced_at, renamed, new_names FROM schema_versions
        WHERE schema_id = :schema
        """,
    )
)


def copy(tx: Transaction, schema_id: UUID, tenant_key: int, name: str = "") -> UUID:
    """The schema of this name and content in a tenant, made unless there is one.

    Without a name it is that of the original. Raises NameTaken.
    """
    name = name or tx.execute(_KEEP, {"schema": schema_id}).scalar_one()
    values = {"schema": schema_id, "tenant": tenant_key, "name": name}
    row = tx.execute(_NAMED, values).one_or_none()
    if row is None:
        copy_id = new_uuid7()
        for statement in _COPY:
            tx.execute(statement, values | {"copy": copy_id})
        return copy_id
    if not row.is_equal:
        raise NameTaken("the tenant has another schema of this name", schema_name=name)
    return UUID(str(row.id))
