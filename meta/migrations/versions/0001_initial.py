"""The first schema."""

from alembic import op

revision = "0001"
down_revision = None

# 32 random bytes: two random UUIDs less their fixed bits still leave 244.
_STATE = """
INSERT INTO meta_state (id, token_pepper) VALUES (
    1, decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'))
"""


def upgrade() -> None:
    """Create every table and the one row of meta_state."""
    op.execute(_TABLES)
    op.execute(_STATE)


_TABLES = """
CREATE TABLE audit_log (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    rpc TEXT NOT NULL,
    subject_id TEXT NOT NULL,
    detail TEXT NOT NULL,
    CONSTRAINT audit_log_pkey PRIMARY KEY (id)
);

CREATE INDEX audit_log_at_index ON audit_log (at);

CREATE TABLE baby_segments (
    stream_id UUID NOT NULL,
    "offset" BIGINT NOT NULL,
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    size_bytes BIGINT NOT NULL,
    num_records BIGINT NOT NULL,
    flush_id BYTEA,
    dataset_ids UUID[],
    committed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    reaped_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT baby_segments_pkey PRIMARY KEY (stream_id, "offset")
);

CREATE INDEX baby_segments_reaped_index ON baby_segments (reaped_at) WHERE reaped_at IS NOT NULL;

CREATE TABLE dataset_stats (
    dataset_key INTEGER NOT NULL,
    live_segments BIGINT DEFAULT 0 NOT NULL,
    live_size_bytes BIGINT DEFAULT 0 NOT NULL,
    live_compressed_size_bytes BIGINT DEFAULT 0 NOT NULL,
    all_segments BIGINT DEFAULT 0 NOT NULL,
    open_tasks BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT dataset_stats_pkey PRIMARY KEY (dataset_key)
)
 WITH (fillfactor = 50);

CREATE TABLE dataset_usage (
    dataset_id UUID NOT NULL,
    month TEXT NOT NULL,
    slot INTEGER NOT NULL,
    records BIGINT NOT NULL,
    CONSTRAINT dataset_usage_pkey PRIMARY KEY (dataset_id, month, slot)
)
 WITH (fillfactor = 50);

CREATE TABLE datasets (
    id UUID NOT NULL,
    key INTEGER GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL,
    is_default BOOLEAN DEFAULT false NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    deleted_at TIMESTAMP WITH TIME ZONE,
    purged_at TIMESTAMP WITH TIME ZONE,
    deletion_horizon BIGINT DEFAULT 0 NOT NULL,
    event_retention_secs BIGINT,
    created_retention_secs BIGINT,
    tombstone_grace_secs BIGINT,
    records_per_month BIGINT DEFAULT 0 NOT NULL,
    changed_version BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT datasets_pkey PRIMARY KEY (id),
    CONSTRAINT datasets_key_unique UNIQUE (key)
);

CREATE UNIQUE INDEX datasets_default_unique ON datasets (is_default) WHERE is_default;

CREATE UNIQUE INDEX datasets_name_live_unique ON datasets (name) WHERE deleted_at IS NULL;

CREATE TABLE ingest_streams (
    id UUID NOT NULL,
    collector_id TEXT NOT NULL,
    collector_string TEXT NOT NULL,
    shard_hash INTEGER NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    stopped_at_nanos BIGINT,
    stopped_offset BIGINT,
    stop_reason SMALLINT,
    deleted_offset BIGINT DEFAULT -1 NOT NULL,
    deleted_ingest_time_nanos BIGINT DEFAULT 0 NOT NULL,
    retired_at TIMESTAMP WITH TIME ZONE,
    changed_version BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT ingest_streams_pkey PRIMARY KEY (id),
    CONSTRAINT ingest_streams_stop_check CHECK ((stopped_at_nanos IS NULL) = (stopped_offset IS NULL)),
    CONSTRAINT ingest_streams_deleted_in_stream_check CHECK (stopped_offset IS NULL OR deleted_offset <= stopped_offset)
);

CREATE INDEX ingest_streams_changed_index ON ingest_streams (changed_version) WHERE retired_at IS NULL;

CREATE UNIQUE INDEX ingest_streams_collector_active_unique ON ingest_streams (collector_id) WHERE stopped_offset IS NULL;

CREATE INDEX ingest_streams_retired_index ON ingest_streams (retired_at) WHERE retired_at IS NOT NULL;

CREATE TABLE lineage_ends (
    segment_id UUID NOT NULL,
    CONSTRAINT lineage_ends_pkey PRIMARY KEY (segment_id)
);

CREATE TABLE merge_attempts (
    task_id UUID NOT NULL,
    attempt INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    claimed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    ended_at TIMESTAMP WITH TIME ZONE,
    outcome TEXT,
    error TEXT,
    failed_segment_id UUID,
    CONSTRAINT merge_attempts_pkey PRIMARY KEY (task_id, attempt)
);

CREATE TABLE merge_task_inputs (
    segment_id UUID NOT NULL,
    task_id UUID NOT NULL,
    position SMALLINT NOT NULL,
    CONSTRAINT merge_task_inputs_pkey PRIMARY KEY (segment_id)
);

CREATE INDEX merge_task_inputs_task_id_index ON merge_task_inputs (task_id);

CREATE TABLE merge_tasks (
    id UUID NOT NULL,
    dataset_key INTEGER NOT NULL,
    state SMALLINT DEFAULT 1 NOT NULL,
    kind SMALLINT DEFAULT 1 NOT NULL,
    attempt INTEGER DEFAULT 0 NOT NULL,
    worker_id TEXT,
    claimed_at TIMESTAMP WITH TIME ZONE,
    beat_at TIMESTAMP WITH TIME ZONE,
    free_at TIMESTAMP WITH TIME ZONE,
    failures INTEGER DEFAULT 0 NOT NULL,
    poison_failures INTEGER DEFAULT 0 NOT NULL,
    failed_at TIMESTAMP WITH TIME ZONE,
    rows_done BIGINT DEFAULT 0 NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    finished_at TIMESTAMP WITH TIME ZONE,
    output_segment_id UUID,
    output_merge_count SMALLINT NOT NULL,
    segment_count INTEGER NOT NULL,
    smallest_size BIGINT NOT NULL,
    largest_size BIGINT NOT NULL,
    smallest_compressed_size BIGINT NOT NULL,
    largest_compressed_size BIGINT NOT NULL,
    total_size BIGINT NOT NULL,
    total_compressed_size BIGINT NOT NULL,
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    CONSTRAINT merge_tasks_pkey PRIMARY KEY (id),
    CONSTRAINT merge_tasks_state_check CHECK (state IN (1, 2, 3, 4))
);

CREATE INDEX merge_tasks_finished_index ON merge_tasks (finished_at, state) WHERE state > 1;

CREATE INDEX merge_tasks_held_index ON merge_tasks (free_at) WHERE state = 1 AND free_at IS NOT NULL;

CREATE INDEX merge_tasks_oldest_index ON merge_tasks (id) WHERE state = 1 AND free_at IS NULL;

CREATE INDEX merge_tasks_open_index ON merge_tasks (dataset_key, id) WHERE state = 1;

CREATE INDEX merge_tasks_smallest_index ON merge_tasks (total_compressed_size, id) WHERE state = 1 AND free_at IS NULL;

CREATE TABLE meta_state (
    id SMALLINT DEFAULT 1 NOT NULL,
    version BIGINT DEFAULT 0 NOT NULL,
    gap_start BIGINT DEFAULT 0 NOT NULL,
    gap_end BIGINT DEFAULT 0 NOT NULL,
    timeline BIGINT,
    system_identifier TEXT,
    deletion_held BOOLEAN DEFAULT false NOT NULL,
    history_floor BIGINT DEFAULT 0 NOT NULL,
    removals_floor BIGINT DEFAULT 0 NOT NULL,
    token_pepper BYTEA NOT NULL,
    CONSTRAINT meta_state_pkey PRIMARY KEY (id),
    CONSTRAINT meta_state_one_row_check CHECK (id = 1)
)
 WITH (fillfactor = 10);

CREATE TABLE object_identities (
    object_key TEXT COLLATE "C" NOT NULL,
    state SMALLINT NOT NULL,
    segment_id UUID,
    changed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT object_identities_pkey PRIMARY KEY (object_key),
    CONSTRAINT object_identities_state_check CHECK (state IN (1, 2, 3))
);

CREATE INDEX object_identities_garbage_index ON object_identities (changed_at) WHERE state > 1;

CREATE TABLE offset_checkpoints (
    stream_id UUID NOT NULL,
    dataset_id UUID NOT NULL,
    version BIGINT NOT NULL,
    stream_offset BIGINT NOT NULL,
    ingest_timestamp_nanos BIGINT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT offset_checkpoints_pkey PRIMARY KEY (stream_id, dataset_id, version)
);

CREATE INDEX offset_checkpoints_created_index ON offset_checkpoints (stream_id, dataset_id, created_at);

CREATE TABLE registrations (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    stream_id UUID NOT NULL,
    dataset_id UUID NOT NULL,
    start_offset BIGINT NOT NULL,
    end_offset BIGINT NOT NULL,
    ingest_time_nanos BIGINT NOT NULL,
    version BIGINT NOT NULL,
    segment_id UUID,
    part SMALLINT DEFAULT 0 NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT registrations_pkey PRIMARY KEY (id),
    CONSTRAINT registrations_span_check CHECK (start_offset < end_offset),
    CONSTRAINT registrations_stream_id_dataset_id_end_offset_part_unique UNIQUE (stream_id, dataset_id, end_offset, part)
);

CREATE INDEX registrations_empty_index ON registrations (created_at) WHERE segment_id IS NULL;

CREATE INDEX registrations_segment_index ON registrations (segment_id);

CREATE INDEX registrations_version_index ON registrations (dataset_id, version);

CREATE TABLE rewrites (
    dataset_filter TEXT NOT NULL,
    version BIGINT NOT NULL,
    started_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT rewrites_pkey PRIMARY KEY (dataset_filter)
);

CREATE TABLE routing_periods (
    stream_id UUID NOT NULL,
    token_id UUID NOT NULL,
    from_offset BIGINT NOT NULL,
    logs_dataset_id UUID,
    traces_dataset_id UUID,
    metrics_dataset_id UUID,
    CONSTRAINT routing_periods_pkey PRIMARY KEY (stream_id, token_id, from_offset)
);

CREATE TABLE schemas (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT schemas_pkey PRIMARY KEY (id),
    CONSTRAINT schemas_name_unique UNIQUE (name)
);

CREATE TABLE segment_lineage (
    input_id UUID NOT NULL,
    output_id UUID NOT NULL,
    CONSTRAINT segment_lineage_pkey PRIMARY KEY (input_id, output_id)
);

CREATE INDEX segment_lineage_output_index ON segment_lineage (output_id);

CREATE TABLE segments (
    id UUID NOT NULL,
    dataset_key INTEGER NOT NULL,
    dur_class SMALLINT NOT NULL,
    start_ns BIGINT NOT NULL,
    end_ns BIGINT NOT NULL,
    created_version BIGINT NOT NULL,
    tombstone_version BIGINT,
    tombstone_at TIMESTAMP WITH TIME ZONE,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    size_bytes BIGINT NOT NULL,
    compressed_size_bytes BIGINT NOT NULL,
    number_of_events INTEGER NOT NULL,
    prefix TEXT NOT NULL,
    object_name TEXT NOT NULL,
    merge_count SMALLINT DEFAULT 0 NOT NULL,
    quarantined_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT segments_pkey PRIMARY KEY (id),
    CONSTRAINT segments_range_check CHECK (start_ns <= end_ns),
    CONSTRAINT segments_lifetime_check CHECK (tombstone_version > created_version),
    CONSTRAINT segments_tombstone_check CHECK ((tombstone_version IS NULL) = (tombstone_at IS NULL)),
    CONSTRAINT segments_sizes_check CHECK (size_bytes >= 0 AND compressed_size_bytes >= 0 AND number_of_events >= 0)
);

CREATE INDEX segments_live_index ON segments (dataset_key, created_at, id) WHERE tombstone_version IS NULL;

CREATE INDEX segments_lookup_index ON segments (dataset_key, dur_class, start_ns, id);

CREATE INDEX segments_mergeable_index ON segments (dataset_key, start_ns, id) WHERE tombstone_version IS NULL AND quarantined_at IS NULL AND merge_count < 4 AND compressed_size_bytes < 268435456;

CREATE INDEX segments_quarantined_index ON segments (id) WHERE quarantined_at IS NOT NULL;

CREATE INDEX segments_tombstoned_index ON segments (tombstone_at, id) WHERE tombstone_version IS NOT NULL;

CREATE TABLE stream_datasets (
    stream_id UUID NOT NULL,
    dataset_id UUID NOT NULL,
    merged_offset BIGINT NOT NULL,
    merged_ingest_time_nanos BIGINT DEFAULT 0 NOT NULL,
    base_offset BIGINT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    changed_version BIGINT NOT NULL,
    CONSTRAINT stream_datasets_pkey PRIMARY KEY (stream_id, dataset_id),
    CONSTRAINT stream_datasets_merged_check CHECK (merged_offset >= -1)
)
 WITH (fillfactor = 70);

CREATE INDEX stream_datasets_changed_index ON stream_datasets (changed_version);

CREATE INDEX stream_datasets_dataset_index ON stream_datasets (dataset_id);

CREATE TABLE stream_heads (
    stream_id UUID NOT NULL,
    committed_offset BIGINT DEFAULT -1 NOT NULL,
    last_activity_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    is_stopped BOOLEAN DEFAULT false NOT NULL,
    is_pending BOOLEAN DEFAULT false NOT NULL,
    removal_count BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT stream_heads_pkey PRIMARY KEY (stream_id),
    CONSTRAINT stream_heads_committed_check CHECK (committed_offset >= -1)
)
 WITH (fillfactor = 50);

CREATE INDEX stream_heads_pending_index ON stream_heads (stream_id) WHERE is_pending;

CREATE TABLE stream_removals (
    version BIGINT NOT NULL,
    stream_id UUID NOT NULL,
    dataset_id UUID NOT NULL,
    shard_hash INTEGER NOT NULL,
    removed_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT stream_removals_pkey PRIMARY KEY (version, stream_id, dataset_id)
);

CREATE INDEX stream_removals_removed_index ON stream_removals (removed_at);

CREATE TABLE stream_tokens (
    stream_id UUID NOT NULL,
    token_id UUID NOT NULL,
    registered_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    revoked_offset BIGINT,
    CONSTRAINT stream_tokens_pkey PRIMARY KEY (stream_id, token_id)
);

CREATE INDEX stream_tokens_token_index ON stream_tokens (token_id);

CREATE TABLE dataset_visibility (
    dataset_key INTEGER NOT NULL,
    from_version BIGINT NOT NULL,
    to_version BIGINT,
    CONSTRAINT dataset_visibility_pkey PRIMARY KEY (dataset_key, from_version),
    CONSTRAINT dataset_visibility_dataset_key_fkey FOREIGN KEY(dataset_key) REFERENCES datasets (key)
);

CREATE TABLE ingest_tokens (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    digest BYTEA NOT NULL,
    hint TEXT NOT NULL,
    logs_dataset_id UUID,
    traces_dataset_id UUID,
    metrics_dataset_id UUID,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    revoked_at TIMESTAMP WITH TIME ZONE,
    changed_version BIGINT DEFAULT 0 NOT NULL,
    CONSTRAINT ingest_tokens_pkey PRIMARY KEY (id),
    CONSTRAINT ingest_tokens_name_unique UNIQUE (name),
    CONSTRAINT ingest_tokens_digest_unique UNIQUE (digest),
    CONSTRAINT ingest_tokens_logs_dataset_id_fkey FOREIGN KEY(logs_dataset_id) REFERENCES datasets (id),
    CONSTRAINT ingest_tokens_traces_dataset_id_fkey FOREIGN KEY(traces_dataset_id) REFERENCES datasets (id),
    CONSTRAINT ingest_tokens_metrics_dataset_id_fkey FOREIGN KEY(metrics_dataset_id) REFERENCES datasets (id)
);

CREATE INDEX ingest_tokens_changed_index ON ingest_tokens (changed_version);

CREATE TABLE projections (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    projection TEXT NOT NULL,
    schema_id UUID,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT projections_pkey PRIMARY KEY (id),
    CONSTRAINT projections_name_unique UNIQUE (name),
    CONSTRAINT projections_schema_id_fkey FOREIGN KEY(schema_id) REFERENCES schemas (id)
);

CREATE INDEX projections_schema_id_index ON projections (schema_id);

CREATE TABLE promoted_columns (
    dataset_id UUID NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    type SMALLINT NOT NULL,
    scope SMALLINT NOT NULL,
    attribute TEXT NOT NULL,
    CONSTRAINT promoted_columns_pkey PRIMARY KEY (dataset_id, position),
    CONSTRAINT promoted_columns_dataset_id_name_unique UNIQUE (dataset_id, name),
    CONSTRAINT promoted_columns_dataset_id_fkey FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE TABLE schema_columns (
    schema_id UUID NOT NULL,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    type SMALLINT NOT NULL,
    CONSTRAINT schema_columns_pkey PRIMARY KEY (schema_id, position),
    CONSTRAINT schema_columns_schema_id_name_unique UNIQUE (schema_id, name),
    CONSTRAINT schema_columns_schema_id_fkey FOREIGN KEY(schema_id) REFERENCES schemas (id) ON DELETE CASCADE
);

CREATE TABLE sharding_fields (
    dataset_id UUID NOT NULL,
    position INTEGER NOT NULL,
    field_name TEXT NOT NULL,
    weight DOUBLE PRECISION NOT NULL,
    CONSTRAINT sharding_fields_pkey PRIMARY KEY (dataset_id, position),
    CONSTRAINT sharding_fields_dataset_id_field_name_unique UNIQUE (dataset_id, field_name),
    CONSTRAINT sharding_fields_dataset_id_fkey FOREIGN KEY(dataset_id) REFERENCES datasets (id)
);

CREATE TABLE views (
    id UUID NOT NULL,
    name TEXT NOT NULL,
    description TEXT,
    schema_id UUID,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    CONSTRAINT views_pkey PRIMARY KEY (id),
    CONSTRAINT views_name_unique UNIQUE (name),
    CONSTRAINT views_schema_id_fkey FOREIGN KEY(schema_id) REFERENCES schemas (id)
);

CREATE INDEX views_schema_id_index ON views (schema_id);

CREATE TABLE view_dataset_projections (
    id UUID NOT NULL,
    view_id UUID NOT NULL,
    dataset_id UUID NOT NULL,
    projection_id UUID NOT NULL,
    CONSTRAINT view_dataset_projections_pkey PRIMARY KEY (id),
    CONSTRAINT view_dataset_projections_view_id_dataset_id_projection__26ef UNIQUE (view_id, dataset_id, projection_id),
    CONSTRAINT view_dataset_projections_view_id_fkey FOREIGN KEY(view_id) REFERENCES views (id) ON DELETE CASCADE,
    CONSTRAINT view_dataset_projections_dataset_id_fkey FOREIGN KEY(dataset_id) REFERENCES datasets (id),
    CONSTRAINT view_dataset_projections_projection_id_fkey FOREIGN KEY(projection_id) REFERENCES projections (id) ON DELETE CASCADE
);

CREATE INDEX view_dataset_projections_dataset_id_index ON view_dataset_projections (dataset_id);

CREATE INDEX view_dataset_projections_projection_id_index ON view_dataset_projections (projection_id);
"""
