"""Names that complete a query: datasets, views, columns of its tables, functions."""

from collections.abc import Iterator, Sequence
from itertools import islice

from kql.catalog.table import FUNCTIONS, OPERATORS
from meta.client import MetaClient
from meta.errors import MetaError
from meta.v1 import resources_pb2 as pb
from segplane.query.errors import QueryError
from segplane.query.tables import CatalogTables

NAMES_MAX = 200
TABLES_MAX = 4
PREFIX_CHARACTERS_MAX = 255
_OF_KIND_MAX = 50
# Behind every name that begins with a text.
_LAST_CHARACTER = "\U0010ffff"
_SQL_FUNCTIONS = (
    *("approx_quantile", "avg", "coalesce", "count", "date_trunc", "json_extract_string", "lower"),
    *("max", "median", "min", "quantile_cont", "regexp_matches", "strlen", "sum", "time_bucket"),
)
Name = dict[str, str]


def completions(
    language: str, prefix: str, tables: Sequence[str], client: MetaClient
) -> list[Name]:
    """Return at most 200 names that begin with a text, in any case; those of columns first."""
    prefix = prefix[:PREFIX_CHARACTERS_MAX]
    names = [*_columns(client, tables[:TABLES_MAX], prefix.lower())]
    for kind, word in ((pb.RESOURCE_KIND_DATASET, "dataset"), (pb.RESOURCE_KIND_VIEW, "view")):
        names += _resources(client, kind, word, prefix)
    functions = _SQL_FUNCTIONS if language == "sql" else (*OPERATORS, *FUNCTIONS)
    names += [
        _name(name, "keyword" if language != "sql" and name in OPERATORS else "function")
        for name in functions
        if name.startswith(prefix.lower())
    ]
    return names[:NAMES_MAX]


def _columns(client: MetaClient, tables: Sequence[str], prefix: str) -> Iterator[Name]:
    catalog = CatalogTables(client)
    for table_name in dict.fromkeys(tables):
        try:
            table = catalog.get(table_name[:PREFIX_CHARACTERS_MAX])
        except (QueryError, MetaError):
            # The query itself says why it cannot be read.
            continue
        columns = table.columns.items() if table is not None else ()
        matching = (item for item in columns if item[0].lower().startswith(prefix))
        for name, type_ in islice(matching, _OF_KIND_MAX):
            yield _name(name, "property", str(type_))


def _resources(
    client: MetaClient, kind: pb.ResourceKind.ValueType, word: str, prefix: str
) -> Iterator[Name]:
    request = pb.ListResourcesRequest(kind=kind, limit=_OF_KIND_MAX, order=pb.RESOURCE_ORDER_NAME)
    if prefix:
        request.name_from, request.name_to = prefix, prefix + _LAST_CHARACTER
    try:
        items = client.resources.ListResources(request).items
    except MetaError:
        # Views do not exist for a caller who is limited to datasets.
        return
    for item in items:
        yield _name(f"{item.group}/{item.name}" if item.group else item.name, "class", word)


def _name(name: str, kind: str, detail: str = "") -> Name:
    return {"name": name, "kind": kind, "detail": detail}
