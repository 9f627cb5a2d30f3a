"""Tables of the Collector's ClickHouse exporter, from the SQL templates of its Go module."""

import re
from pathlib import Path

TEMPLATES = Path(__file__).parents[2] / "build" / "bench" / "clickhouse"
_FULL_TEXT = re.compile(
    r"\{\{- if \.HasFullTextSearch\}\}(.*?)\{\{- else\}\}.*?\{\{- end\}\}", re.DOTALL
)
_ENGINE = "MergeTree()"


def create_tables() -> list[str]:
    """Return the statements that create `otel_logs` and `otel_traces`, with full-text indexes."""
    logs = _FULL_TEXT.sub(r"\1", (TEMPLATES / "logs_table.sql").read_text())
    for field, text in {
        "{{ident .Database}}.{{ident .TableName}}": "otel_logs",
        "{{.ClusterString}}": "",
        "{{.Engine}}": _ENGINE,
        "{{.TTL}}": "",
    }.items():
        logs = logs.replace(field, text)
    traces = (TEMPLATES / "traces_table.sql").read_text()
    traces = (
        traces.replace("%q.%q %s", "otel_traces")
        .replace("= %s", f"= {_ENGINE}")
        .replace("\n%s\n", "\n")
    )
    for statement in (logs, traces):
        if "{{" in statement or "%s" in statement or "%q" in statement:
            raise ValueError(f"the exporter's template has a field that is not known: {statement}")
    return [logs, traces]
