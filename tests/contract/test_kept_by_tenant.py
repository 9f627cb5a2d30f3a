"""Everything that processes keep by a key: no value of one tenant is found by the key of another.

A container that is new needs a row here. Values that are computed from their arguments alone
(`functools`) are not listed.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("meta", "collector", "segplane/gateway")
_KEPT = re.compile(
    r"^\s+(?:self\.)?(\w+): \"?"
    r"(?:dict|OrderedDict|RecentValues|WeakValueDictionary|Counter|defaultdict)\[.*"
    r"(?:self\.|default_factory|= )"
)
# By what the keys are.
TENANT = "has the tenant, by its id"
CREDENTIAL = "a token or a subject, which is of one tenant, and with the tenant that it names"
ID = "an id or key of a dataset, token, stream or segment, which is of one tenant or the operator's"
CONTENT = "the bytes of what is found"
ACCOUNT = "a subject, or a tenant as a whole"
OPERATORS = "of the process, its connections or the operator's; its values are of no tenant"
ONE = "lives as long as one call, query, table or message"
NAMES = "the name of a tenant: the value is the tenant itself, read again after 3 s"
KEYS = {
    "meta.call_metrics": OPERATORS,
    "meta.client": OPERATORS,
    "meta.commits.change_feed._accounts": ACCOUNT,
    "meta.commits.change_feed._topics": ID,
    "meta.commits.process_reports": OPERATORS,
    "meta.process": OPERATORS,
    "meta.rpc.access_token_cache": CREDENTIAL,
    "meta.rpc.admission.by_account": ACCOUNT,
    "meta.rpc.decoding": ACCOUNT,
    "meta.rpc.json_web_tokens._known": CREDENTIAL,
    "meta.rpc.json_web_tokens._keys": OPERATORS,
    "meta.rpc.refusal_pace": CREDENTIAL,
    "meta.rpc.tenant_cache._kept": NAMES,
    "meta.rpc.thread_shares": ACCOUNT,
    "meta.self_report": OPERATORS,
    "meta.server.server": OPERATORS,
    "meta.services.lookup.assembled_pages": ONE,
    "meta.services.lookup.segment_layouts._known": ID,
    "meta.services.streams.recent_records._records": CREDENTIAL,
    "meta.services.streams.stream_callers": ID,
    "meta.services.streams.unstamped_commits": ID,
    "meta.store.deduplication.run_filters": ID,
    "meta.store.engine.operator_causes": OPERATORS,
    "meta.store.lookup.held_classes._known": ID,
    "meta.store.streams.removable_entries": ID,
    "meta.watches.dataset_gauges": "a name of `default`; datasets of all others are `other`",
    "meta.watches.tenant_notes": ID,
    "meta.watches.witness_log": OPERATORS,
    "collector.auth": CREDENTIAL,
    "collector.fair_queue._lanes": ID,
    "collector.intake.conformity": ID,
    "collector.intake.intake._pending": CONTENT,
    "collector.intake.quotas": ID,
    "collector.intake.token_limits": ID,
    "collector.otlp.export": CONTENT,
    "collector.otlp.json.messages": OPERATORS,
    "collector.records.json_records": ONE,
    "collector.servers": OPERATORS,
    "collector.streams.buffer": ONE,
    "segplane.gateway.console.live.feeds": TENANT,
    "segplane.gateway.console.live.streams": ACCOUNT,
    "segplane.gateway.console.operate.shared_reads": TENANT,
    "segplane.gateway.console.page_slots": CREDENTIAL,
    "segplane.gateway.console.sessions": CREDENTIAL,
    "segplane.gateway.console.static_files": OPERATORS,
    "segplane.gateway.http.connection": OPERATORS,
    "segplane.gateway.http.readers": CREDENTIAL,
    "segplane.gateway.http.recent_values": "those of its users",
    "segplane.gateway.http.tenant_clients": TENANT,
    "segplane.gateway.iceberg.access.access._kept": ID,
    "segplane.gateway.iceberg.access.access.config": ONE,
    "segplane.gateway.iceberg.access.cloud_reads": ID,
    "segplane.gateway.iceberg.catalog._loads": TENANT,
    "segplane.gateway.iceberg.metadata": ONE,
    "segplane.gateway.iceberg.namespaces._known": TENANT,
    "segplane.gateway.iceberg.table_names._known": TENANT,
    "segplane.gateway.iceberg.tables._followed": TENANT,
    "segplane.gateway.iceberg.tables._left_out": ID,
    "segplane.gateway.management.openapi": OPERATORS,
    "segplane.gateway.management.quarantine_view": ONE,
    "segplane.gateway.queries.accounts._accounts": ACCOUNT,
    "segplane.gateway.queries.broker": ONE,
    "segplane.gateway.queries.kept_datasets._kept": TENANT,
    "segplane.gateway.queries.kept_datasets.lists": ONE,
    "segplane.gateway.queries.processes": ONE,
}


def _containers() -> set[str]:
    found = set()
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "_pb2" in path.name:
                continue
            module = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
            for line in path.read_text().splitlines():
                match = _KEPT.match(line)
                if match and ("self." in line or "default_factory" in line):
                    found.add(f"{module}.{match[1]}")
    return found


def _row(container: str) -> str:
    """The row of a container: its own, or that of its module or package; "" = none."""
    parts = container.split(".")
    names = (".".join(parts[:count]) for count in range(len(parts), 1, -1))
    return next((name for name in names if name in KEYS), "")


def test_each_container_has_a_row() -> None:
    rows = {container: _row(container) for container in _containers()}

    assert [container for container, row in rows.items() if not row] == []
    assert set(KEYS) - set(rows.values()) == set()


@pytest.mark.parametrize(
    ("module", "key"),
    [
        ("iceberg.catalog", r"_LoadKey = tuple\[str, DatasetScope\]"),
        ("iceberg.namespaces", r"key = self\._monotonic\(\), \(scope\.tenant, name\)"),
        ("iceberg.table_names", r"key = self\._monotonic\(\), \(scope\.tenant, name\)"),
        ("iceberg.tables", r"self\._follow\(meta, table, \(scope\.tenant, dataset_name\)\)"),
        ("console.sessions.visitors", r"rights=\(reader\.role, reader\.scope\)"),
        ("http.callers", r'name=f"\{self\.name\}\{tenant\}"'),
        ("http.readers", r'name = f"\{caller\.name\} \{tenant\}"'),
    ],
)
def test_a_key_of_the_gateway_that_holds_a_name_holds_the_tenant(module: str, key: str) -> None:
    path = ROOT / "segplane/gateway" / f"{module.replace('.', '/')}.py"

    assert re.search(key, path.read_text())
