"""Searches for texts in chDB, run by the interpreter that has it: wall and CPU time of each.

Reads one JSON object from stdin (folder, path of a Parquet file), inserts its logs and writes a
line. Then each line of stdin is a text, and each line of stdout the ms of its search. It imports
nothing of ours. The table has the order and the full-text index of the OpenTelemetry Collector's
exporter.
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
    order = json.loads(sys.stdin.readline())
    with tempfile.TemporaryDirectory(prefix="clickhouse-", dir=order["folder"]) as data:
        database = session.Session(data)
        settings = "SET max_threads = 2, use_structure_from_insertion_table_in_table_functions = 0"
        for statement in (settings, TABLE, INSERT.format(**order)):
            database.query(statement)
        database.query("OPTIMIZE TABLE otel_logs FINAL")
        print("ready", flush=True)
        for line in sys.stdin:
            began, cpu = time.perf_counter(), time.process_time()
            answer = str(database.query(ASK.format(text=line.strip()), "CSV")).strip()
            spent = [time.perf_counter() - began, time.process_time() - cpu]
            assert answer == "1", answer
            print(*(1_000 * secs for secs in spent), flush=True)


if __name__ == "__main__":
    main()
