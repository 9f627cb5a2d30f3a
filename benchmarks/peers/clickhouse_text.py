"""A search for a text in chDB, run by the interpreter that has it: wall time of each round, in ms.

Reads one JSON object from stdin (folder, path of a Parquet file, text, rounds), writes one to
stdout. It imports nothing of ours. The table has the order and the full-text index of the
OpenTelemetry Collector's exporter.
"""

import json
import sys
import tempfile
import time

from chdb import session

TABLE = """
CREATE TABLE otel_logs (
    Timestamp DateTime64(9) CODEC(Delta, ZSTD(1)), ServiceName LowCardinality(String),
    TraceId String CODEC(ZSTD(1)), Body String CODEC(ZSTD(1)),
    LogAttributes String CODEC(ZSTD(1)),
    INDEX idx_body lower(Body) TYPE text(tokenizer = 'splitByNonAlpha')
) ENGINE = MergeTree() ORDER BY (ServiceName, Timestamp)
"""
INSERT = """
INSERT INTO otel_logs
SELECT timestamp, service_name, trace_id, body, attributes FROM file('{path}', Parquet)
WHERE signal = 'logs'
"""
ASK = "SELECT count() FROM otel_logs WHERE hasToken(lower(Body), '{text}')"


def main() -> None:
    """Insert the rows of the file as one part, and search."""
    order = json.load(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="clickhouse-", dir=order["folder"]) as data:
        database = session.Session(data)
        settings = "SET max_threads = 2, use_structure_from_insertion_table_in_table_functions = 0"
        for statement in (settings, TABLE, INSERT.format(**order)):
            database.query(statement)
        database.query("OPTIMIZE TABLE otel_logs FINAL")
        walls = []
        for _ in range(order["rounds"]):
            began = time.perf_counter()
            answer = str(database.query(ASK.format(**order), "CSV")).strip()
            walls.append((time.perf_counter() - began) * 1_000)
            assert answer == "1", answer
    print(json.dumps(walls))


if __name__ == "__main__":
    main()
