"""The schema of release 0.3.0, which later revisions change."""

from alembic import op

revision = "0066"
down_revision = None

# Of meta_state, a secret too: 32 random bytes, as two random UUIDs less their fixed bits still leave 244.
_ROWS = """
INSERT INTO clock_state (id) VALUES (1);
INSERT INTO meta_state (id, token_pepper) VALUES (
    1, decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
INSERT INTO witness_state (id) VALUES (1);
"""


def upgrade() -> None:
    """Create every table and function, and the tables of one row with theirs."""
    op.execute(_SCHEMA)
    for slot in range(32):
        op.execute(_PAGES.replace("_00", f"_{slot:02}"))
    op.execute(_ROWS)


_SCHEMA = r"""
CREATE FUNCTION meta_ago(age_secs double precision) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE STRICT
    AS $$
        DECLARE
            cutoff TIMESTAMP WITH TIME ZONE;
            gap RECORD;
        BEGIN
            SELECT least(now(), observed_at + interval '60 seconds') INTO cutoff FROM clock_state;
            cutoff := cutoff - make_interval(secs => age_secs);
            FOR gap IN SELECT gap_start, gap_end FROM clock_gaps ORDER BY gap_end DESC LOOP
                EXIT WHEN cutoff >= gap.gap_end;
                cutoff := cutoff - (gap.gap_end - gap.gap_start);
            END LOOP;
            RETURN cutoff;
        END $$;

CREATE FUNCTION meta_empty_deduplication_pages(slot integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'public', 'pg_temp'
    SET lock_timeout TO '1s'
    AS $$
        BEGIN
          IF EXISTS (
            SELECT FROM deduplication_runs r WHERE r.day % 32 = slot AND NOT r.is_young
          ) THEN
            RETURN false;
          END IF;
          EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE',
                         'deduplication_pages_' || lpad(slot::text, 2, '0'));
          IF EXISTS (
            SELECT FROM deduplication_runs r WHERE r.day % 32 = slot AND NOT r.is_young
          ) THEN
            RETURN false;
          END IF;
          EXECUTE format('TRUNCATE %I', 'deduplication_pages_' || lpad(slot::text, 2, '0'));
          RETURN true;
        END
        $$;

CREATE TABLE access_tokens (
    id uuid NOT NULL,
    subject text NOT NULL,
    role text NOT NULL,
    digest bytea NOT NULL,
    hint text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    dataset_ids uuid[],
    pepper text DEFAULT ''::text NOT NULL
);

CREATE TABLE audit_log (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    rpc text NOT NULL,
    subject_id text NOT NULL,
    detail text NOT NULL,
    principal text DEFAULT ''::text NOT NULL,
    host text DEFAULT ''::text NOT NULL,
    request_id text DEFAULT ''::text NOT NULL
);

ALTER TABLE audit_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME audit_log_id_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1);

CREATE TABLE automatic_columns (
    dataset_id uuid NOT NULL,
    field_id integer NOT NULL,
    attribute text NOT NULL,
    type smallint NOT NULL,
    is_written boolean NOT NULL
);

CREATE TABLE baby_segments (
    stream_id uuid NOT NULL,
    "offset" bigint NOT NULL,
    start_ns bigint NOT NULL,
    end_ns bigint NOT NULL,
    size_bytes bigint NOT NULL,
    num_records bigint NOT NULL,
    flush_id bytea,
    dataset_ids uuid[],
    committed_at timestamp with time zone DEFAULT now() NOT NULL,
    reaped_at timestamp with time zone,
    crc32c bigint,
    crc32c_read_at timestamp with time zone
);

CREATE TABLE catalog_authors (
    entry_id uuid NOT NULL,
    created_by text,
    created_at timestamp with time zone,
    updated_by text,
    updated_at timestamp with time zone,
    deleted_by text,
    deleted_at timestamp with time zone
);

CREATE TABLE clock_gaps (
    gap_end timestamp with time zone NOT NULL,
    gap_start timestamp with time zone NOT NULL
);

CREATE TABLE clock_state (
    id smallint DEFAULT 1 NOT NULL,
    observed_at timestamp with time zone,
    CONSTRAINT clock_state_one_row_check CHECK ((id = 1))
);

CREATE TABLE damaged_objects (
    object_key text NOT NULL COLLATE pg_catalog."C",
    damage text NOT NULL,
    found_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE dataset_deduplication (
    dataset_key integer CONSTRAINT dataset_identities_dataset_key_not_null NOT NULL,
    days smallint CONSTRAINT dataset_identities_days_not_null NOT NULL,
    key bytea DEFAULT '\x'::bytea CONSTRAINT dataset_identities_key_not_null NOT NULL,
    refuses_outside boolean DEFAULT false CONSTRAINT dataset_identities_refuses_outside_not_null NOT NULL
);

CREATE TABLE dataset_duplicates (
    dataset_key integer CONSTRAINT dataset_repeats_dataset_key_not_null NOT NULL,
    records bigint CONSTRAINT dataset_repeats_records_not_null NOT NULL
);

CREATE TABLE dataset_stats (
    dataset_key integer NOT NULL,
    live_segments bigint DEFAULT 0 NOT NULL,
    live_size_bytes bigint DEFAULT 0 NOT NULL,
    live_compressed_size_bytes bigint DEFAULT 0 NOT NULL,
    all_segments bigint DEFAULT 0 NOT NULL,
    open_tasks bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE dataset_usage (
    dataset_id uuid NOT NULL,
    month text NOT NULL,
    slot integer NOT NULL,
    records bigint NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE dataset_visibility (
    dataset_key integer NOT NULL,
    from_version bigint NOT NULL,
    to_version bigint,
    name text,
    from_time timestamp with time zone DEFAULT clock_timestamp()
);

CREATE TABLE datasets (
    id uuid NOT NULL,
    key integer NOT NULL,
    name text NOT NULL,
    is_default boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    purged_at timestamp with time zone,
    deletion_horizon bigint DEFAULT 0 NOT NULL,
    event_retention_secs bigint,
    created_retention_secs bigint,
    tombstone_grace_secs bigint,
    records_per_month bigint DEFAULT 0 NOT NULL,
    changed_version bigint DEFAULT 0 NOT NULL,
    ingest_bytes_per_sec bigint DEFAULT 0 NOT NULL,
    ingest_exports_in_flight bigint DEFAULT 0 NOT NULL,
    ingest_memory_bytes bigint DEFAULT 0 NOT NULL,
    event_age_max_secs bigint DEFAULT 0 NOT NULL,
    event_lead_max_secs bigint DEFAULT 0 NOT NULL,
    pins_horizon bigint,
    refuses_foreign boolean DEFAULT false NOT NULL,
    foreign_time_column text DEFAULT ''::text NOT NULL,
    bound_field_ids integer[],
    schema_violations smallint DEFAULT 0 CONSTRAINT datasets_nonconforming_not_null NOT NULL,
    store text DEFAULT ''::text NOT NULL,
    deduplication_rule bigint,
    deduplication_column text DEFAULT ''::text CONSTRAINT datasets_identity_column_not_null NOT NULL,
    kept_files smallint DEFAULT 0 NOT NULL,
    timestamp_unit smallint DEFAULT 0 NOT NULL,
    has_automatic_columns boolean DEFAULT false NOT NULL
);

ALTER TABLE datasets ALTER COLUMN key ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME datasets_key_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1);

CREATE TABLE deduplication_pages (
    run bigint CONSTRAINT identity_pages_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_hashes_not_null NOT NULL
);
ALTER TABLE ONLY deduplication_pages ALTER COLUMN hashes SET STORAGE PLAIN;

CREATE TABLE deduplication_runs (
    id bigint CONSTRAINT identity_runs_id_not_null NOT NULL,
    dataset_key integer CONSTRAINT identity_runs_dataset_key_not_null NOT NULL,
    day integer CONSTRAINT identity_runs_day_not_null NOT NULL,
    tier smallint CONSTRAINT identity_runs_tier_not_null NOT NULL,
    bits smallint CONSTRAINT identity_runs_bits_not_null NOT NULL,
    deduplication_keys bigint CONSTRAINT identity_runs_identities_not_null NOT NULL,
    is_young boolean CONSTRAINT identity_runs_is_young_not_null NOT NULL,
    is_due boolean CONSTRAINT identity_runs_is_due_not_null NOT NULL,
    uid uuid DEFAULT gen_random_uuid() CONSTRAINT identity_runs_uid_not_null NOT NULL
);

ALTER TABLE deduplication_runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME deduplication_runs_id_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1);

CREATE TABLE deletion_brakes (
    dataset_key integer NOT NULL,
    braked_at timestamp with time zone,
    segments bigint NOT NULL,
    size_bytes bigint NOT NULL,
    live_size_bytes bigint NOT NULL,
    released_version bigint DEFAULT 0 NOT NULL
);

CREATE TABLE denied_calls (
    id bigint NOT NULL,
    minute timestamp with time zone NOT NULL,
    host text NOT NULL,
    reason text NOT NULL,
    calls bigint NOT NULL
);

ALTER TABLE denied_calls ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME denied_calls_id_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1);

CREATE TABLE excess_allowances (
    dataset_id uuid NOT NULL,
    events bigint NOT NULL
);

CREATE TABLE former_layouts (
    dataset_id uuid NOT NULL,
    until_version bigint NOT NULL,
    field_ids integer[] NOT NULL,
    bound_ids integer[]
);

CREATE TABLE ingest_streams (
    id uuid NOT NULL,
    collector_id text NOT NULL,
    collector_string text NOT NULL,
    shard_hash integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    stopped_at_nanos bigint,
    stopped_offset bigint,
    stop_reason smallint,
    deleted_offset bigint DEFAULT '-1'::integer NOT NULL,
    deleted_ingest_time_nanos bigint DEFAULT 0 NOT NULL,
    retired_at timestamp with time zone,
    changed_version bigint DEFAULT 0 NOT NULL,
    principal text DEFAULT ''::text NOT NULL,
    CONSTRAINT ingest_streams_deleted_in_stream_check CHECK (((stopped_offset IS NULL) OR (deleted_offset <= stopped_offset))),
    CONSTRAINT ingest_streams_stop_check CHECK (((stopped_at_nanos IS NULL) = (stopped_offset IS NULL)))
);

CREATE TABLE ingest_tokens (
    id uuid NOT NULL,
    name text NOT NULL,
    digest bytea NOT NULL,
    hint text NOT NULL,
    logs_dataset_id uuid,
    traces_dataset_id uuid,
    metrics_dataset_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_at timestamp with time zone,
    changed_version bigint DEFAULT 0 NOT NULL,
    pepper text DEFAULT ''::text NOT NULL
);

CREATE TABLE lineage_ends (
    segment_id uuid NOT NULL
);

CREATE TABLE link_columns (
    link_id uuid NOT NULL,
    kind smallint NOT NULL,
    name text NOT NULL,
    type smallint NOT NULL
);

CREATE TABLE losses (
    id uuid NOT NULL,
    kind smallint NOT NULL,
    stream_id uuid,
    "offset" bigint,
    dataset_id uuid,
    segment_id uuid,
    object_key text,
    records bigint,
    version bigint NOT NULL,
    lost_at timestamp with time zone DEFAULT now() NOT NULL,
    actor text NOT NULL,
    reason text NOT NULL,
    withdrawn_version bigint
);

CREATE TABLE merge_attempts (
    task_id uuid NOT NULL,
    attempt integer NOT NULL,
    worker_id text NOT NULL,
    claimed_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    outcome text,
    error text,
    failed_segment_id uuid
);

CREATE TABLE merge_task_inputs (
    segment_id uuid NOT NULL,
    task_id uuid NOT NULL,
    "position" smallint NOT NULL
);

CREATE TABLE merge_tasks (
    id uuid NOT NULL,
    dataset_key integer NOT NULL,
    state smallint DEFAULT 1 NOT NULL,
    kind smallint DEFAULT 1 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    worker_id text,
    claimed_at timestamp with time zone,
    beat_at timestamp with time zone,
    free_at timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    poison_failures integer DEFAULT 0 NOT NULL,
    failed_at timestamp with time zone,
    rows_done bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    output_segment_id uuid,
    output_merge_count smallint NOT NULL,
    segment_count integer NOT NULL,
    smallest_size bigint NOT NULL,
    largest_size bigint NOT NULL,
    smallest_compressed_size bigint NOT NULL,
    largest_compressed_size bigint NOT NULL,
    total_size bigint NOT NULL,
    total_compressed_size bigint NOT NULL,
    start_ns bigint NOT NULL,
    end_ns bigint NOT NULL,
    more_output_ids uuid[],
    rewrite_id uuid,
    progressed_at timestamp with time zone,
    CONSTRAINT merge_tasks_state_check CHECK ((state = ANY (ARRAY[1, 2, 3, 4])))
);

CREATE TABLE meta_servers (
    id uuid NOT NULL,
    host text NOT NULL,
    release text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE meta_state (
    id smallint DEFAULT 1 NOT NULL,
    version bigint DEFAULT 0 NOT NULL,
    gap_start bigint DEFAULT 0 NOT NULL,
    gap_end bigint DEFAULT 0 NOT NULL,
    timeline bigint,
    system_identifier text,
    deletion_held boolean DEFAULT false NOT NULL,
    history_floor bigint DEFAULT 0 NOT NULL,
    removals_floor bigint DEFAULT 0 NOT NULL,
    token_pepper bytea NOT NULL,
    ceiling bigint,
    incarnation text,
    least_release text,
    CONSTRAINT meta_state_one_row_check CHECK ((id = 1))
)
WITH (fillfactor='10');

CREATE TABLE nurseries (
    id text NOT NULL,
    lease_until timestamp with time zone NOT NULL
);

CREATE TABLE nursery_shards (
    shard smallint NOT NULL,
    nursery_id text NOT NULL
);

CREATE TABLE object_identities (
    object_key text NOT NULL COLLATE pg_catalog."C",
    state smallint NOT NULL,
    segment_id uuid,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT object_identities_state_check CHECK ((state = ANY (ARRAY[1, 2, 3])))
);

CREATE TABLE object_stores (
    name text NOT NULL,
    url text NOT NULL
);

CREATE TABLE offset_checkpoints (
    stream_id uuid NOT NULL,
    dataset_id uuid NOT NULL,
    version bigint NOT NULL,
    stream_offset bigint NOT NULL,
    ingest_timestamp_nanos bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE parked_streams (
    stream_id uuid NOT NULL,
    "offset" bigint NOT NULL,
    reason text NOT NULL,
    parked_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE pins (
    id uuid NOT NULL,
    owner text NOT NULL,
    dataset_key integer NOT NULL,
    version bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    held_segments bigint NOT NULL,
    held_bytes bigint NOT NULL,
    holds_changes boolean DEFAULT false NOT NULL,
    principal text DEFAULT ''::text NOT NULL,
    CONSTRAINT pins_lease_check CHECK ((expires_at <= ends_at))
);

CREATE TABLE projections (
    id uuid NOT NULL,
    name text NOT NULL,
    projection text NOT NULL,
    schema_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE promoted_columns (
    dataset_id uuid NOT NULL,
    "position" integer NOT NULL,
    name text NOT NULL,
    type smallint NOT NULL,
    scope smallint NOT NULL,
    attribute text NOT NULL,
    is_of_schema boolean DEFAULT false NOT NULL
);

CREATE TABLE promoted_field_ids (
    dataset_id uuid NOT NULL,
    field_id integer NOT NULL,
    name text NOT NULL,
    type smallint NOT NULL,
    scope smallint NOT NULL,
    attribute text NOT NULL,
    is_bound boolean DEFAULT false NOT NULL
);

CREATE TABLE quarantined_ranges (
    stream_id uuid NOT NULL,
    verdict text NOT NULL COLLATE pg_catalog."C",
    first_offset bigint NOT NULL,
    last_offset bigint NOT NULL,
    dataset_id uuid
);

CREATE TABLE registration_segments (
    first_segment_id uuid NOT NULL,
    segment_id uuid NOT NULL
);

CREATE TABLE registrations (
    id bigint NOT NULL,
    stream_id uuid NOT NULL,
    dataset_id uuid NOT NULL,
    start_offset bigint NOT NULL,
    end_offset bigint NOT NULL,
    ingest_time_nanos bigint NOT NULL,
    version bigint NOT NULL,
    segment_id uuid,
    part smallint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    moved_from bigint,
    CONSTRAINT registrations_span_check CHECK ((start_offset < end_offset))
);

ALTER TABLE registrations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME registrations_id_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1);

CREATE TABLE replays (
    object_key text NOT NULL COLLATE pg_catalog."C",
    state smallint NOT NULL,
    dataset_id uuid,
    version bigint,
    segment_ids uuid[],
    actor text NOT NULL,
    reason text NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE retention_baselines (
    dataset_key integer NOT NULL,
    event_secs bigint DEFAULT 0 NOT NULL,
    created_secs bigint DEFAULT 0 NOT NULL,
    seen_event_secs bigint DEFAULT 0 NOT NULL,
    seen_created_secs bigint DEFAULT 0 NOT NULL,
    seen_since timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE rewrite_jobs (
    id uuid NOT NULL,
    dataset_key integer NOT NULL,
    state smallint NOT NULL,
    format_version integer,
    start_ns bigint,
    end_ns bigint,
    version bigint NOT NULL,
    tasks_max integer NOT NULL,
    bytes_per_sec bigint,
    allowance_bytes bigint DEFAULT 0 NOT NULL,
    cursor_at timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    cursor_id uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
    total_segments bigint DEFAULT 0 NOT NULL,
    total_bytes bigint DEFAULT 0 NOT NULL,
    done_segments bigint DEFAULT 0 NOT NULL,
    done_bytes bigint DEFAULT 0 NOT NULL,
    active_ms bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone NOT NULL,
    advanced_at timestamp with time zone NOT NULL,
    planned_at timestamp with time zone,
    finished_at timestamp with time zone,
    store text,
    inexact_bounds boolean DEFAULT false NOT NULL,
    CONSTRAINT rewrite_jobs_state_check CHECK ((state = ANY (ARRAY[1, 2, 3, 4])))
);

CREATE TABLE rewrites (
    dataset_filter text NOT NULL,
    version bigint NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE routing_changes (
    token_id uuid NOT NULL,
    last_stream_id uuid NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE routing_periods (
    stream_id uuid NOT NULL,
    token_id uuid NOT NULL,
    from_offset bigint NOT NULL,
    logs_dataset_id uuid,
    traces_dataset_id uuid,
    metrics_dataset_id uuid
);

CREATE TABLE schema_bindings (
    dataset_id uuid NOT NULL,
    schema_id uuid NOT NULL,
    version integer,
    names text[] NOT NULL,
    scopes smallint[] NOT NULL,
    attributes text[] NOT NULL
);

CREATE TABLE schema_columns (
    schema_id uuid NOT NULL,
    "position" integer NOT NULL,
    name text NOT NULL,
    type smallint NOT NULL
);

CREATE TABLE schema_versions (
    schema_id uuid NOT NULL,
    version integer NOT NULL,
    names text[] NOT NULL,
    types smallint[] NOT NULL,
    replaced_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE schemas (
    id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    is_frozen boolean DEFAULT false NOT NULL
);

CREATE TABLE scrub_state (
    name text NOT NULL,
    checked_through text NOT NULL COLLATE pg_catalog."C",
    objects bigint NOT NULL,
    size_bytes bigint NOT NULL,
    is_complete boolean NOT NULL,
    began_at timestamp with time zone DEFAULT now() NOT NULL,
    holder text,
    lease_until timestamp with time zone
);

CREATE TABLE segment_lineage (
    input_id uuid NOT NULL,
    output_id uuid NOT NULL
);

CREATE TABLE segments (
    id uuid NOT NULL,
    dataset_key integer NOT NULL,
    dur_class smallint NOT NULL,
    start_ns bigint NOT NULL,
    end_ns bigint NOT NULL,
    created_version bigint NOT NULL,
    tombstone_version bigint,
    tombstone_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    size_bytes bigint NOT NULL,
    compressed_size_bytes bigint NOT NULL,
    number_of_events integer NOT NULL,
    prefix text NOT NULL,
    object_name text NOT NULL,
    merge_count smallint DEFAULT 0 NOT NULL,
    quarantined_at timestamp with time zone,
    facts bytea,
    signals smallint,
    crc32c bigint,
    crc32c_read_at timestamp with time zone,
    format_version integer,
    message bytea,
    foreign_state smallint,
    foreign_file bytea,
    CONSTRAINT segments_lifetime_check CHECK ((tombstone_version > created_version)),
    CONSTRAINT segments_range_check CHECK ((start_ns <= end_ns)),
    CONSTRAINT segments_sizes_check CHECK (((size_bytes >= 0) AND (compressed_size_bytes >= 0) AND (number_of_events >= 0))),
    CONSTRAINT segments_tombstone_check CHECK (((tombstone_version IS NULL) = (tombstone_at IS NULL)))
);

CREATE TABLE sharding_fields (
    dataset_id uuid NOT NULL,
    "position" integer NOT NULL,
    field_name text NOT NULL,
    weight double precision NOT NULL
);

CREATE TABLE staged_deduplication_keys (
    staged_id uuid CONSTRAINT staged_identities_staged_id_not_null NOT NULL,
    part smallint CONSTRAINT staged_identities_part_not_null NOT NULL,
    days integer[] CONSTRAINT staged_identities_days_not_null NOT NULL,
    numbers integer[] CONSTRAINT staged_identities_numbers_not_null NOT NULL,
    hashes bytea CONSTRAINT staged_identities_hashes_not_null NOT NULL,
    staged_at timestamp with time zone DEFAULT now() CONSTRAINT staged_identities_staged_at_not_null NOT NULL
);
ALTER TABLE ONLY staged_deduplication_keys ALTER COLUMN hashes SET STORAGE EXTERNAL;

CREATE TABLE stream_datasets (
    stream_id uuid NOT NULL,
    dataset_id uuid NOT NULL,
    merged_offset bigint NOT NULL,
    merged_ingest_time_nanos bigint DEFAULT 0 NOT NULL,
    base_offset bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_version bigint NOT NULL,
    CONSTRAINT stream_datasets_merged_check CHECK ((merged_offset >= '-1'::integer))
)
WITH (fillfactor='70');

CREATE TABLE stream_heads (
    stream_id uuid NOT NULL,
    committed_offset bigint DEFAULT '-1'::integer NOT NULL,
    last_activity_at timestamp with time zone DEFAULT now() NOT NULL,
    is_stopped boolean DEFAULT false NOT NULL,
    is_pending boolean DEFAULT false NOT NULL,
    removal_count bigint DEFAULT 0 NOT NULL,
    merged_floor bigint DEFAULT '-1'::integer NOT NULL,
    CONSTRAINT stream_heads_committed_check CHECK ((committed_offset >= '-1'::integer))
)
WITH (fillfactor='50');

CREATE TABLE stream_removals (
    version bigint NOT NULL,
    stream_id uuid NOT NULL,
    dataset_id uuid NOT NULL,
    shard_hash integer NOT NULL,
    removed_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE stream_tokens (
    stream_id uuid NOT NULL,
    token_id uuid NOT NULL,
    registered_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_offset bigint
);

CREATE TABLE table_objects (
    id bigint NOT NULL,
    dataset_key integer NOT NULL,
    digest bytea NOT NULL,
    object_key text NOT NULL COLLATE pg_catalog."C",
    size_bytes bigint NOT NULL,
    gap_end bigint NOT NULL,
    handed_out_at timestamp with time zone DEFAULT now() NOT NULL,
    examined_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE table_objects ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (SEQUENCE NAME table_objects_id_seq START WITH 1 INCREMENT BY 1 NO MINVALUE NO MAXVALUE CACHE 1);

CREATE TABLE table_snapshots (
    dataset_key integer NOT NULL,
    version bigint NOT NULL,
    object_ids bigint[] NOT NULL,
    gap_end bigint NOT NULL,
    committed_at_ms bigint NOT NULL,
    segments bigint NOT NULL,
    number_of_events bigint NOT NULL,
    size_bytes bigint NOT NULL,
    handed_out_at timestamp with time zone DEFAULT now() NOT NULL,
    examined_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE version_gaps (
    gap_start bigint NOT NULL,
    gap_end bigint NOT NULL
);

CREATE TABLE view_dataset_projections (
    id uuid NOT NULL,
    view_id uuid NOT NULL,
    dataset_id uuid NOT NULL,
    projection_id uuid NOT NULL
);

CREATE TABLE views (
    id uuid NOT NULL,
    name text NOT NULL,
    description text,
    schema_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE witness_state (
    id smallint DEFAULT 1 NOT NULL,
    tick bigint DEFAULT 0 NOT NULL,
    tick_at timestamp with time zone DEFAULT now() NOT NULL,
    history bigint,
    number bigint DEFAULT 0 NOT NULL,
    term uuid,
    next_term uuid,
    superseded_by bigint,
    restored_at timestamp with time zone,
    restored_reason text DEFAULT ''::text NOT NULL,
    reconciled_at timestamp with time zone,
    CONSTRAINT one_witness CHECK ((id = 1))
);

CREATE TABLE worker_settings (
    name text NOT NULL COLLATE pg_catalog."C",
    settings jsonb NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE workers (
    id text NOT NULL COLLATE pg_catalog."C",
    first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    last_seen_at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE ONLY access_tokens ADD CONSTRAINT access_tokens_digest_key UNIQUE (digest);

ALTER TABLE ONLY access_tokens ADD CONSTRAINT access_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY audit_log ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);

ALTER TABLE ONLY automatic_columns ADD CONSTRAINT automatic_columns_dataset_id_attribute_type_unique UNIQUE (dataset_id, attribute, type);

ALTER TABLE ONLY automatic_columns ADD CONSTRAINT automatic_columns_pkey PRIMARY KEY (dataset_id, field_id);

ALTER TABLE ONLY baby_segments ADD CONSTRAINT baby_segments_pkey PRIMARY KEY (stream_id, "offset");

ALTER TABLE ONLY catalog_authors ADD CONSTRAINT catalog_authors_pkey PRIMARY KEY (entry_id);

ALTER TABLE ONLY clock_gaps ADD CONSTRAINT clock_gaps_pkey PRIMARY KEY (gap_end);

ALTER TABLE ONLY clock_state ADD CONSTRAINT clock_state_pkey PRIMARY KEY (id);

ALTER TABLE ONLY damaged_objects ADD CONSTRAINT damaged_objects_pkey PRIMARY KEY (object_key);

ALTER TABLE ONLY dataset_deduplication ADD CONSTRAINT dataset_deduplication_pkey PRIMARY KEY (dataset_key);

ALTER TABLE ONLY dataset_duplicates ADD CONSTRAINT dataset_duplicates_pkey PRIMARY KEY (dataset_key);

ALTER TABLE ONLY dataset_stats ADD CONSTRAINT dataset_stats_pkey PRIMARY KEY (dataset_key);

ALTER TABLE ONLY dataset_usage ADD CONSTRAINT dataset_usage_pkey PRIMARY KEY (dataset_id, month, slot);

ALTER TABLE ONLY dataset_visibility ADD CONSTRAINT dataset_visibility_pkey PRIMARY KEY (dataset_key, from_version);

ALTER TABLE ONLY datasets ADD CONSTRAINT datasets_key_unique UNIQUE (key);

ALTER TABLE ONLY datasets ADD CONSTRAINT datasets_pkey PRIMARY KEY (id);

ALTER TABLE ONLY deduplication_pages ADD CONSTRAINT deduplication_pages_pkey PRIMARY KEY (run, bucket);

ALTER TABLE ONLY deduplication_runs ADD CONSTRAINT deduplication_runs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY deletion_brakes ADD CONSTRAINT deletion_brakes_pkey PRIMARY KEY (dataset_key);

ALTER TABLE ONLY denied_calls ADD CONSTRAINT denied_calls_kind_key UNIQUE (minute, host, reason);

ALTER TABLE ONLY denied_calls ADD CONSTRAINT denied_calls_pkey PRIMARY KEY (id);

ALTER TABLE ONLY excess_allowances ADD CONSTRAINT excess_allowances_pkey PRIMARY KEY (dataset_id);

ALTER TABLE ONLY former_layouts ADD CONSTRAINT former_layouts_pkey PRIMARY KEY (dataset_id, until_version);

ALTER TABLE ONLY ingest_streams ADD CONSTRAINT ingest_streams_pkey PRIMARY KEY (id);

ALTER TABLE ONLY ingest_tokens ADD CONSTRAINT ingest_tokens_digest_unique UNIQUE (digest);

ALTER TABLE ONLY ingest_tokens ADD CONSTRAINT ingest_tokens_name_unique UNIQUE (name);

ALTER TABLE ONLY ingest_tokens ADD CONSTRAINT ingest_tokens_pkey PRIMARY KEY (id);

ALTER TABLE ONLY lineage_ends ADD CONSTRAINT lineage_ends_pkey PRIMARY KEY (segment_id);

ALTER TABLE ONLY link_columns ADD CONSTRAINT link_columns_pkey PRIMARY KEY (link_id, kind, name);

ALTER TABLE ONLY losses ADD CONSTRAINT losses_pkey PRIMARY KEY (id);

ALTER TABLE ONLY merge_attempts ADD CONSTRAINT merge_attempts_pkey PRIMARY KEY (task_id, attempt);

ALTER TABLE ONLY merge_task_inputs ADD CONSTRAINT merge_task_inputs_pkey PRIMARY KEY (segment_id);

ALTER TABLE ONLY merge_tasks ADD CONSTRAINT merge_tasks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY meta_servers ADD CONSTRAINT meta_servers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY meta_state ADD CONSTRAINT meta_state_pkey PRIMARY KEY (id);

ALTER TABLE ONLY nurseries ADD CONSTRAINT nurseries_pkey PRIMARY KEY (id);

ALTER TABLE ONLY nursery_shards ADD CONSTRAINT nursery_shards_pkey PRIMARY KEY (shard);

ALTER TABLE ONLY object_identities ADD CONSTRAINT object_identities_pkey PRIMARY KEY (object_key);

ALTER TABLE ONLY object_stores ADD CONSTRAINT object_stores_pkey PRIMARY KEY (name);

ALTER TABLE ONLY offset_checkpoints ADD CONSTRAINT offset_checkpoints_pkey PRIMARY KEY (stream_id, dataset_id, version);

ALTER TABLE ONLY parked_streams ADD CONSTRAINT parked_streams_pkey PRIMARY KEY (stream_id);

ALTER TABLE ONLY pins ADD CONSTRAINT pins_pkey PRIMARY KEY (id);

ALTER TABLE ONLY projections ADD CONSTRAINT projections_name_unique UNIQUE (name);

ALTER TABLE ONLY projections ADD CONSTRAINT projections_pkey PRIMARY KEY (id);

ALTER TABLE ONLY promoted_columns ADD CONSTRAINT promoted_columns_dataset_id_name_unique UNIQUE (dataset_id, name);

ALTER TABLE ONLY promoted_columns ADD CONSTRAINT promoted_columns_pkey PRIMARY KEY (dataset_id, "position");

ALTER TABLE ONLY promoted_field_ids ADD CONSTRAINT promoted_field_ids_dataset_id_name_type_scope_attribute_unique UNIQUE (dataset_id, name, type, scope, attribute);

ALTER TABLE ONLY promoted_field_ids ADD CONSTRAINT promoted_field_ids_pkey PRIMARY KEY (dataset_id, field_id);

ALTER TABLE ONLY quarantined_ranges ADD CONSTRAINT quarantined_ranges_pkey PRIMARY KEY (stream_id, verdict, first_offset);

ALTER TABLE ONLY registration_segments ADD CONSTRAINT registration_segments_pkey PRIMARY KEY (first_segment_id, segment_id);

ALTER TABLE ONLY registrations ADD CONSTRAINT registrations_pkey PRIMARY KEY (id);

ALTER TABLE ONLY registrations ADD CONSTRAINT registrations_stream_id_dataset_id_end_offset_part_unique UNIQUE (stream_id, dataset_id, end_offset, part);

ALTER TABLE ONLY replays ADD CONSTRAINT replays_pkey PRIMARY KEY (object_key);

ALTER TABLE ONLY retention_baselines ADD CONSTRAINT retention_baselines_pkey PRIMARY KEY (dataset_key);

ALTER TABLE ONLY rewrite_jobs ADD CONSTRAINT rewrite_jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY rewrites ADD CONSTRAINT rewrites_pkey PRIMARY KEY (dataset_filter);

ALTER TABLE ONLY routing_changes ADD CONSTRAINT routing_changes_pkey PRIMARY KEY (token_id);

ALTER TABLE ONLY routing_periods ADD CONSTRAINT routing_periods_pkey PRIMARY KEY (stream_id, token_id, from_offset);

ALTER TABLE ONLY schema_bindings ADD CONSTRAINT schema_bindings_pkey PRIMARY KEY (dataset_id);

ALTER TABLE ONLY schema_columns ADD CONSTRAINT schema_columns_pkey PRIMARY KEY (schema_id, "position");

ALTER TABLE ONLY schema_columns ADD CONSTRAINT schema_columns_schema_id_name_unique UNIQUE (schema_id, name);

ALTER TABLE ONLY schema_versions ADD CONSTRAINT schema_versions_pkey PRIMARY KEY (schema_id, version);

ALTER TABLE ONLY schemas ADD CONSTRAINT schemas_name_unique UNIQUE (name);

ALTER TABLE ONLY schemas ADD CONSTRAINT schemas_pkey PRIMARY KEY (id);

ALTER TABLE ONLY scrub_state ADD CONSTRAINT scrub_state_pkey PRIMARY KEY (name);

ALTER TABLE ONLY segment_lineage ADD CONSTRAINT segment_lineage_pkey PRIMARY KEY (input_id, output_id);

ALTER TABLE ONLY segments ADD CONSTRAINT segments_pkey PRIMARY KEY (id);

ALTER TABLE ONLY sharding_fields ADD CONSTRAINT sharding_fields_dataset_id_field_name_unique UNIQUE (dataset_id, field_name);

ALTER TABLE ONLY sharding_fields ADD CONSTRAINT sharding_fields_pkey PRIMARY KEY (dataset_id, "position");

ALTER TABLE ONLY staged_deduplication_keys ADD CONSTRAINT staged_deduplication_keys_pkey PRIMARY KEY (staged_id, part);

ALTER TABLE ONLY stream_datasets ADD CONSTRAINT stream_datasets_pkey PRIMARY KEY (stream_id, dataset_id);

ALTER TABLE ONLY stream_heads ADD CONSTRAINT stream_heads_pkey PRIMARY KEY (stream_id);

ALTER TABLE ONLY stream_removals ADD CONSTRAINT stream_removals_pkey PRIMARY KEY (version, stream_id, dataset_id);

ALTER TABLE ONLY stream_tokens ADD CONSTRAINT stream_tokens_pkey PRIMARY KEY (stream_id, token_id);

ALTER TABLE ONLY table_objects ADD CONSTRAINT table_objects_digest_key UNIQUE (dataset_key, digest);

ALTER TABLE ONLY table_objects ADD CONSTRAINT table_objects_object_key_key UNIQUE (object_key);

ALTER TABLE ONLY table_objects ADD CONSTRAINT table_objects_pkey PRIMARY KEY (id);

ALTER TABLE ONLY table_snapshots ADD CONSTRAINT table_snapshots_pkey PRIMARY KEY (dataset_key, version);

ALTER TABLE ONLY version_gaps ADD CONSTRAINT version_gaps_pkey PRIMARY KEY (gap_start);

ALTER TABLE ONLY view_dataset_projections ADD CONSTRAINT view_dataset_projections_pkey PRIMARY KEY (id);

ALTER TABLE ONLY view_dataset_projections ADD CONSTRAINT view_dataset_projections_view_id_dataset_id_projection__26ef UNIQUE (view_id, dataset_id, projection_id);

ALTER TABLE ONLY views ADD CONSTRAINT views_name_unique UNIQUE (name);

ALTER TABLE ONLY views ADD CONSTRAINT views_pkey PRIMARY KEY (id);

ALTER TABLE ONLY witness_state ADD CONSTRAINT witness_state_pkey PRIMARY KEY (id);

ALTER TABLE ONLY worker_settings ADD CONSTRAINT worker_settings_pkey PRIMARY KEY (name);

ALTER TABLE ONLY workers ADD CONSTRAINT workers_pkey PRIMARY KEY (id);

CREATE INDEX audit_log_at_index ON audit_log USING btree (at);

CREATE INDEX baby_segments_reaped_index ON baby_segments USING btree (reaped_at) WHERE (reaped_at IS NOT NULL);

CREATE INDEX dataset_visibility_names ON dataset_visibility USING btree (name) WHERE (name IS NOT NULL);

CREATE UNIQUE INDEX datasets_default_unique ON datasets USING btree (is_default) WHERE is_default;

CREATE INDEX datasets_kept_index ON datasets USING btree (key) WHERE (kept_files = ANY (ARRAY[1, 2]));

CREATE UNIQUE INDEX datasets_name_live_unique ON datasets USING btree (name) WHERE (deleted_at IS NULL);

CREATE INDEX datasets_names ON datasets USING btree (name);

CREATE INDEX datasets_purging_index ON datasets USING btree (key) WHERE ((deleted_at IS NOT NULL) AND (purged_at IS NULL));

CREATE INDEX deduplication_runs_dataset_key_day_tier_index ON deduplication_runs USING btree (dataset_key, day, tier);

CREATE INDEX deduplication_runs_due_index ON deduplication_runs USING btree (id) WHERE is_due;

CREATE INDEX ingest_streams_changed_index ON ingest_streams USING btree (changed_version) WHERE (retired_at IS NULL);

CREATE UNIQUE INDEX ingest_streams_collector_active_unique ON ingest_streams USING btree (collector_id) WHERE (stopped_offset IS NULL);

CREATE INDEX ingest_streams_retired_index ON ingest_streams USING btree (retired_at) WHERE (retired_at IS NOT NULL);

CREATE INDEX ingest_tokens_changed_index ON ingest_tokens USING btree (changed_version);

CREATE INDEX ingest_tokens_logs_index ON ingest_tokens USING btree (logs_dataset_id);

CREATE INDEX ingest_tokens_metrics_index ON ingest_tokens USING btree (metrics_dataset_id);

CREATE INDEX ingest_tokens_traces_index ON ingest_tokens USING btree (traces_dataset_id);

CREATE INDEX losses_segment_index ON losses USING btree (segment_id);

CREATE INDEX losses_stream_index ON losses USING btree (stream_id, "offset");

CREATE INDEX merge_task_inputs_task_id_index ON merge_task_inputs USING btree (task_id);

CREATE INDEX merge_tasks_finished_index ON merge_tasks USING btree (finished_at, state) WHERE (state > 1);

CREATE INDEX merge_tasks_held_index ON merge_tasks USING btree (free_at) WHERE ((state = 1) AND (free_at IS NOT NULL));

CREATE INDEX merge_tasks_oldest_index ON merge_tasks USING btree (id) WHERE ((state = 1) AND (free_at IS NULL));

CREATE INDEX merge_tasks_open_index ON merge_tasks USING btree (dataset_key, id) WHERE (state = 1);

CREATE INDEX merge_tasks_rewrite_index ON merge_tasks USING btree (rewrite_id, state) WHERE (rewrite_id IS NOT NULL);

CREATE INDEX merge_tasks_smallest_index ON merge_tasks USING btree (total_compressed_size, id) WHERE ((state = 1) AND (free_at IS NULL));

CREATE INDEX meta_servers_seen_at ON meta_servers USING btree (seen_at);

CREATE INDEX object_identities_garbage_index ON object_identities USING btree (changed_at) WHERE (state > 1);

CREATE INDEX offset_checkpoints_created_index ON offset_checkpoints USING btree (stream_id, dataset_id, created_at);

CREATE INDEX pins_dataset_index ON pins USING btree (dataset_key, version);

CREATE INDEX pins_owner_index ON pins USING btree (owner);

CREATE INDEX pins_principal_index ON pins USING btree (principal);

CREATE INDEX projections_schema_id_index ON projections USING btree (schema_id);

CREATE INDEX registration_segments_segment_index ON registration_segments USING btree (segment_id);

CREATE INDEX registrations_empty_index ON registrations USING btree (created_at) WHERE (segment_id IS NULL);

CREATE INDEX registrations_segment_index ON registrations USING btree (segment_id);

CREATE INDEX registrations_version_index ON registrations USING btree (dataset_id, version);

CREATE UNIQUE INDEX rewrite_jobs_unfinished_index ON rewrite_jobs USING btree (dataset_key) WHERE (state < 3);

CREATE INDEX schema_bindings_schema_id_index ON schema_bindings USING btree (schema_id);

CREATE INDEX segment_lineage_output_index ON segment_lineage USING btree (output_id);

CREATE INDEX segments_created_index ON segments USING btree (dataset_key, created_version, id);

CREATE INDEX segments_due_index ON segments USING btree (dataset_key, tombstone_at, id) WHERE (tombstone_version IS NOT NULL);

CREATE INDEX segments_event_end_index ON segments USING btree (dataset_key, end_ns, id) WHERE (tombstone_version IS NULL);

CREATE INDEX segments_foreign_index ON segments USING btree (foreign_state, id) WHERE ((foreign_state IS NOT NULL) AND (tombstone_version IS NULL));

CREATE INDEX segments_live_index ON segments USING btree (dataset_key, created_at, id) WHERE (tombstone_version IS NULL);

CREATE INDEX segments_lookup_index ON segments USING btree (dataset_key, dur_class, start_ns, id);

CREATE INDEX segments_mergeable_index ON segments USING btree (dataset_key, start_ns, id) WHERE ((tombstone_version IS NULL) AND (quarantined_at IS NULL) AND (merge_count < 4) AND (compressed_size_bytes < 268435456));

CREATE INDEX segments_quarantined_index ON segments USING btree (id) WHERE (quarantined_at IS NOT NULL);

CREATE INDEX segments_removed_index ON segments USING btree (dataset_key, tombstone_version, id) WHERE (tombstone_version IS NOT NULL);

CREATE INDEX segments_small_index ON segments USING btree (dataset_key, start_ns, id) WHERE ((tombstone_version IS NULL) AND (quarantined_at IS NULL) AND (compressed_size_bytes < 268435456));

CREATE INDEX segments_tombstoned_index ON segments USING btree (tombstone_at, id) WHERE (tombstone_version IS NOT NULL);

CREATE INDEX segments_unread_index ON segments USING btree (id) WHERE ((facts IS NULL) AND (tombstone_version IS NULL));

CREATE INDEX stream_datasets_changed_index ON stream_datasets USING btree (changed_version);

CREATE INDEX stream_datasets_dataset_index ON stream_datasets USING btree (dataset_id);

CREATE INDEX stream_heads_pending_index ON stream_heads USING btree (stream_id) WHERE is_pending;

CREATE INDEX stream_removals_removed_index ON stream_removals USING btree (removed_at);

CREATE INDEX stream_tokens_carriers_index ON stream_tokens USING btree (token_id, stream_id);

CREATE INDEX stream_tokens_token_index ON stream_tokens USING btree (token_id);

CREATE INDEX table_objects_examined_index ON table_objects USING btree (examined_at);

CREATE INDEX table_snapshots_examined_index ON table_snapshots USING btree (examined_at);

CREATE INDEX view_dataset_projections_dataset_id_index ON view_dataset_projections USING btree (dataset_id);

CREATE INDEX view_dataset_projections_projection_id_index ON view_dataset_projections USING btree (projection_id);

CREATE INDEX views_schema_id_index ON views USING btree (schema_id);

CREATE INDEX workers_last_seen_at_index ON workers USING btree (last_seen_at);

ALTER TABLE ONLY automatic_columns ADD CONSTRAINT automatic_columns_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES datasets(id);

ALTER TABLE ONLY dataset_visibility ADD CONSTRAINT dataset_visibility_dataset_key_fkey FOREIGN KEY (dataset_key) REFERENCES datasets(key);

ALTER TABLE ONLY excess_allowances ADD CONSTRAINT excess_allowances_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES datasets(id) ON DELETE CASCADE;

ALTER TABLE ONLY former_layouts ADD CONSTRAINT former_layouts_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES datasets(id);

ALTER TABLE ONLY ingest_tokens ADD CONSTRAINT ingest_tokens_logs_dataset_id_fkey FOREIGN KEY (logs_dataset_id) REFERENCES datasets(id);

ALTER TABLE ONLY ingest_tokens ADD CONSTRAINT ingest_tokens_metrics_dataset_id_fkey FOREIGN KEY (metrics_dataset_id) REFERENCES datasets(id);

ALTER TABLE ONLY ingest_tokens ADD CONSTRAINT ingest_tokens_traces_dataset_id_fkey FOREIGN KEY (traces_dataset_id) REFERENCES datasets(id);

ALTER TABLE ONLY link_columns ADD CONSTRAINT link_columns_link_id_fkey FOREIGN KEY (link_id) REFERENCES view_dataset_projections(id) ON DELETE CASCADE;

ALTER TABLE ONLY nursery_shards ADD CONSTRAINT nursery_shards_nursery_id_fkey FOREIGN KEY (nursery_id) REFERENCES nurseries(id) ON DELETE CASCADE;

ALTER TABLE ONLY projections ADD CONSTRAINT projections_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES schemas(id);

ALTER TABLE ONLY promoted_columns ADD CONSTRAINT promoted_columns_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES datasets(id);

ALTER TABLE ONLY promoted_field_ids ADD CONSTRAINT promoted_field_ids_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES datasets(id);

ALTER TABLE ONLY schema_bindings ADD CONSTRAINT schema_bindings_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES datasets(id);

ALTER TABLE ONLY schema_bindings ADD CONSTRAINT schema_bindings_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES schemas(id);

ALTER TABLE ONLY schema_columns ADD CONSTRAINT schema_columns_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES schemas(id) ON DELETE CASCADE;

ALTER TABLE ONLY schema_versions ADD CONSTRAINT schema_versions_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES schemas(id) ON DELETE CASCADE;

ALTER TABLE ONLY sharding_fields ADD CONSTRAINT sharding_fields_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES datasets(id);

ALTER TABLE ONLY view_dataset_projections ADD CONSTRAINT view_dataset_projections_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES datasets(id);

ALTER TABLE ONLY view_dataset_projections ADD CONSTRAINT view_dataset_projections_projection_id_fkey FOREIGN KEY (projection_id) REFERENCES projections(id) ON DELETE CASCADE;

ALTER TABLE ONLY view_dataset_projections ADD CONSTRAINT view_dataset_projections_view_id_fkey FOREIGN KEY (view_id) REFERENCES views(id) ON DELETE CASCADE;

ALTER TABLE ONLY views ADD CONSTRAINT views_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES schemas(id);
"""
_PAGES = """
CREATE TABLE deduplication_pages_00 (
    run bigint CONSTRAINT identity_pages_00_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_00_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_00_hashes_not_null NOT NULL
);
ALTER TABLE ONLY deduplication_pages_00 ALTER COLUMN hashes SET STORAGE PLAIN;

ALTER TABLE ONLY deduplication_pages_00 ADD CONSTRAINT deduplication_pages_00_pkey PRIMARY KEY (run, bucket);
"""
