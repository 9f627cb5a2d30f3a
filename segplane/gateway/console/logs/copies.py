"""A search of logs as texts to copy, and as the query of a download."""

import json
import re
import shlex
from dataclasses import dataclass

from kql.dataset_table import FORMAT_COLUMNS, SIGNAL_COLUMNS, WORDS
from segplane.gateway.console.kql_text import quoted_name
from segplane.gateway.console.logs.asked import LogsAsk
from segplane.gateway.console.logs.records import source
from segplane.gateway.console.logs.search import LogSearch

# The format of the query process, and the media type, of each format of a download.
DOWNLOADS = {
    "csv": ("spreadsheet", "text/csv; charset=utf-8"),
    "json": ("json", "application/json"),
    "parquet": ("parquet", "application/vnd.apache.parquet"),
}
# The columns of a download without chosen ones, and those beside chosen ones.
_ALL = tuple(name for name in (*FORMAT_COLUMNS, *WORDS) if name in SIGNAL_COLUMNS["logs"])
_BASIS = ("timestamp", "timestamp_nanos", "severity", "service_name", "body")
_TOKEN = "SEGPLANE_TOKEN"
_TENANT = "Segplane-Tenant"
_NOT_IN_FILE_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Copy:
    """A text to copy, and the program that it is for."""

    program: str
    text: str


def whole_query(ask: LogsAsk, search: LogSearch) -> str:
    """Return the query for all records of a search, newest first, with all columns of logs."""
    lines = [source(ask, search), f"| where {ask.range.kql()}"]
    lines.append("| sort by timestamp desc, timestamp_nanos desc")
    chosen = [f"{quoted_name(column.text())} = {column.kql()}" for column in ask.columns]
    basis = _BASIS if chosen else _ALL
    names = [name for name in basis if name not in {c.text() for c in ask.columns}]
    lines.append(f"| project {', '.join([*names, *chosen])}")
    return "\n".join(lines)


def copies(query: str, server: str, tenant: str = "") -> tuple[Copy, ...]:
    """Return a query for each program; `server` is the address of the gateway.

    `tenant` is the one that the person has chosen, "" = none.
    """
    return (
        Copy("KQL", query),
        Copy("curl", _curl(query, server, tenant)),
        Copy("Python", _python(query, server, tenant)),
    )


def file_name(dataset: str, format_: str) -> str:
    """Return the name of a download, of characters that every file system has."""
    return f"{_NOT_IN_FILE_NAMES.sub('_', dataset)[:100].strip('._') or 'logs'}-logs.{format_}"


def _curl(query: str, server: str, tenant: str) -> str:
    body = json.dumps({"query": query, "language": "kql"})
    return " \\\n  ".join(
        [
            f"curl -s --fail-with-body {shlex.quote(f'{server}/v1/query')}",
            f'-H "Authorization: Bearer ${_TOKEN}" -H "Content-Type: application/json"',
            *([f"-H {shlex.quote(f'{_TENANT}: {tenant}')}"] if tenant else []),
            f"-d {shlex.quote(body)}",
        ]
    )


def _python(query: str, server: str, tenant: str) -> str:
    header = f"\n        {_TENANT!r}: {tenant!r}," if tenant else ""
    return f"""import json
import os
from urllib.request import Request, urlopen

query = {query!r}
request = Request(
    {f"{server}/v1/query"!r},
    json.dumps({{"query": query, "language": "kql"}}).encode(),
    {{
        "Authorization": "Bearer " + os.environ[{_TOKEN!r}],
        "Content-Type": "application/json",{header}
    }},
)
with urlopen(request) as answer:
    rows = json.load(answer)
"""
