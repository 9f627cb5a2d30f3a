"""Rows of a server at its limits."""

from uuid import UUID

from sqlalchemy import text

from meta.store.engine.pool import Transaction

GRPC_DEFAULT_BYTES = 4 * 1024 * 1024
# The longest name there may be on the wire.
LONGEST_NAME = "\U0001f680" * 247
PROMOTED_COLUMNS = 50
# What a client of the published contract gets in one reply each, however long the names are.
CONTRACT_DATASETS, CONTRACT_TOKENS = 1_000, 2_500


def fill_datasets(tx: Transaction, count: int) -> None:
    """Add datasets with the longest names, each with promoted columns."""
    tx.execute(
        text(
            "WITH made AS (INSERT INTO datasets (id, name, changed_version)"
            " SELECT gen_random_uuid(), :name || lpad(n::text, 8, '0'), 1"
            " FROM generate_series(1, :count) n RETURNING id)"
            " INSERT INTO promoted_columns (dataset_id, position, name, type, scope, attribute)"
            " SELECT id, p, 'a_promoted_column_' || p, 4, 1, 'http.request.header.number.' || p"
            " FROM made, generate_series(1, :columns) p"
        ),
        {"name": LONGEST_NAME, "count": count, "columns": PROMOTED_COLUMNS},
    )


def fill_bare_datasets(tx: Transaction, count: int) -> None:
    """Add datasets with the longest names and nothing else."""
    tx.execute(
        text(
            "INSERT INTO datasets (id, name)"
            " SELECT gen_random_uuid(), :name || lpad(n::text, 8, '0')"
            " FROM generate_series(1, :count) n"
        ),
        {"name": LONGEST_NAME, "count": count},
    )


def fill_tokens(tx: Transaction, count: int, dataset_id: str) -> None:
    """Add tokens with the longest names; they are known from the first version on."""
    tx.execute(
        text(
            "INSERT INTO ingest_tokens (id, name, digest, hint, logs_dataset_id,"
            " traces_dataset_id, metrics_dataset_id, changed_version)"
            " SELECT gen_random_uuid(), :name || lpad(n::text, 8, '0'),"
            " decode(md5(n::text) || md5(n::text), 'hex'), 'abcd', :d, :d, :d, 1"
            " FROM generate_series(1, :count) n"
        ),
        {"name": LONGEST_NAME, "count": count, "d": UUID(dataset_id)},
    )


def fill_streams(tx: Transaction, count: int, dataset_id: str) -> None:
    """Add streams, each with one entry and nothing committed."""
    tx.execute(
        text(
            "WITH s AS (INSERT INTO ingest_streams (id, collector_id, collector_string,"
            " shard_hash) SELECT gen_random_uuid(), 'bulk-' || n, '', n"
            " FROM generate_series(1, :count) n RETURNING id),"
            " h AS (INSERT INTO stream_heads (stream_id) SELECT id FROM s)"
            " INSERT INTO stream_datasets (stream_id, dataset_id, merged_offset, base_offset,"
            " changed_version) SELECT id, :d, -1, -1, 0 FROM s"
        ),
        {"count": count, "d": UUID(dataset_id)},
    )
