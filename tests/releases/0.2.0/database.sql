--
-- PostgreSQL database dump
--

\restrict segplane

-- Dumped from database version 18.4
-- Dumped by pg_dump version 18.4

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: meta_ago(double precision); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.meta_ago(age_secs double precision) RETURNS timestamp with time zone
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


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: access_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.access_tokens (
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


--
-- Name: alembic_version; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);


--
-- Name: audit_log; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.audit_log (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    rpc text NOT NULL,
    subject_id text NOT NULL,
    detail text NOT NULL,
    principal text DEFAULT ''::text NOT NULL,
    host text DEFAULT ''::text NOT NULL,
    request_id text DEFAULT ''::text NOT NULL
);


--
-- Name: audit_log_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.audit_log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: baby_segments; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.baby_segments (
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


--
-- Name: catalog_authors; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.catalog_authors (
    entry_id uuid NOT NULL,
    created_by text,
    created_at timestamp with time zone,
    updated_by text,
    updated_at timestamp with time zone,
    deleted_by text,
    deleted_at timestamp with time zone
);


--
-- Name: clock_gaps; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.clock_gaps (
    gap_end timestamp with time zone NOT NULL,
    gap_start timestamp with time zone NOT NULL
);


--
-- Name: clock_state; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.clock_state (
    id smallint DEFAULT 1 NOT NULL,
    observed_at timestamp with time zone,
    CONSTRAINT clock_state_one_row_check CHECK ((id = 1))
);


--
-- Name: damaged_objects; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.damaged_objects (
    object_key text NOT NULL COLLATE pg_catalog."C",
    damage text NOT NULL,
    found_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: dataset_stats; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.dataset_stats (
    dataset_key integer NOT NULL,
    live_segments bigint DEFAULT 0 NOT NULL,
    live_size_bytes bigint DEFAULT 0 NOT NULL,
    live_compressed_size_bytes bigint DEFAULT 0 NOT NULL,
    all_segments bigint DEFAULT 0 NOT NULL,
    open_tasks bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');


--
-- Name: dataset_usage; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.dataset_usage (
    dataset_id uuid NOT NULL,
    month text NOT NULL,
    slot integer NOT NULL,
    records bigint NOT NULL
)
WITH (fillfactor='50');


--
-- Name: dataset_visibility; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.dataset_visibility (
    dataset_key integer NOT NULL,
    from_version bigint NOT NULL,
    to_version bigint
);


--
-- Name: datasets; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.datasets (
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
    pins_horizon bigint
);


--
-- Name: datasets_key_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.datasets ALTER COLUMN key ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.datasets_key_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: deletion_brakes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deletion_brakes (
    dataset_key integer NOT NULL,
    braked_at timestamp with time zone,
    segments bigint NOT NULL,
    size_bytes bigint NOT NULL,
    live_size_bytes bigint NOT NULL,
    released_version bigint DEFAULT 0 NOT NULL
);


--
-- Name: denied_calls; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.denied_calls (
    id bigint NOT NULL,
    minute timestamp with time zone NOT NULL,
    host text NOT NULL,
    reason text NOT NULL,
    calls bigint NOT NULL
);


--
-- Name: denied_calls_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.denied_calls ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.denied_calls_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: excess_allowances; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.excess_allowances (
    dataset_id uuid NOT NULL,
    events bigint NOT NULL
);


--
-- Name: ingest_streams; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.ingest_streams (
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


--
-- Name: ingest_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.ingest_tokens (
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


--
-- Name: lineage_ends; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.lineage_ends (
    segment_id uuid NOT NULL
);


--
-- Name: link_columns; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.link_columns (
    link_id uuid NOT NULL,
    kind smallint NOT NULL,
    name text NOT NULL,
    type smallint NOT NULL
);


--
-- Name: losses; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.losses (
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


--
-- Name: merge_attempts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.merge_attempts (
    task_id uuid NOT NULL,
    attempt integer NOT NULL,
    worker_id text NOT NULL,
    claimed_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    outcome text,
    error text,
    failed_segment_id uuid
);


--
-- Name: merge_task_inputs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.merge_task_inputs (
    segment_id uuid NOT NULL,
    task_id uuid NOT NULL,
    "position" smallint NOT NULL
);


--
-- Name: merge_tasks; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.merge_tasks (
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
    CONSTRAINT merge_tasks_state_check CHECK ((state = ANY (ARRAY[1, 2, 3, 4])))
);


--
-- Name: meta_state; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.meta_state (
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
    CONSTRAINT meta_state_one_row_check CHECK ((id = 1))
)
WITH (fillfactor='10');


--
-- Name: nurseries; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.nurseries (
    id text NOT NULL,
    lease_until timestamp with time zone NOT NULL
);


--
-- Name: nursery_shards; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.nursery_shards (
    shard smallint NOT NULL,
    nursery_id text NOT NULL
);


--
-- Name: object_identities; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.object_identities (
    object_key text NOT NULL COLLATE pg_catalog."C",
    state smallint NOT NULL,
    segment_id uuid,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT object_identities_state_check CHECK ((state = ANY (ARRAY[1, 2, 3])))
);


--
-- Name: offset_checkpoints; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.offset_checkpoints (
    stream_id uuid NOT NULL,
    dataset_id uuid NOT NULL,
    version bigint NOT NULL,
    stream_offset bigint NOT NULL,
    ingest_timestamp_nanos bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: parked_streams; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.parked_streams (
    stream_id uuid NOT NULL,
    "offset" bigint NOT NULL,
    reason text NOT NULL,
    parked_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: pins; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.pins (
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


--
-- Name: projections; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.projections (
    id uuid NOT NULL,
    name text NOT NULL,
    projection text NOT NULL,
    schema_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: promoted_columns; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.promoted_columns (
    dataset_id uuid NOT NULL,
    "position" integer NOT NULL,
    name text NOT NULL,
    type smallint NOT NULL,
    scope smallint NOT NULL,
    attribute text NOT NULL
);


--
-- Name: promoted_field_ids; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.promoted_field_ids (
    dataset_id uuid NOT NULL,
    field_id integer NOT NULL,
    name text NOT NULL,
    type smallint NOT NULL,
    scope smallint NOT NULL,
    attribute text NOT NULL
);


--
-- Name: registration_segments; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.registration_segments (
    first_segment_id uuid NOT NULL,
    segment_id uuid NOT NULL
);


--
-- Name: registrations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.registrations (
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
    CONSTRAINT registrations_span_check CHECK ((start_offset < end_offset))
);


--
-- Name: registrations_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.registrations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.registrations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: replays; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.replays (
    object_key text NOT NULL COLLATE pg_catalog."C",
    state smallint NOT NULL,
    dataset_id uuid,
    version bigint,
    segment_ids uuid[],
    actor text NOT NULL,
    reason text NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: rewrite_jobs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.rewrite_jobs (
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
    CONSTRAINT rewrite_jobs_state_check CHECK ((state = ANY (ARRAY[1, 2, 3, 4])))
);


--
-- Name: rewrites; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.rewrites (
    dataset_filter text NOT NULL,
    version bigint NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: routing_changes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.routing_changes (
    token_id uuid NOT NULL,
    last_stream_id uuid NOT NULL,
    changed_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: routing_periods; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.routing_periods (
    stream_id uuid NOT NULL,
    token_id uuid NOT NULL,
    from_offset bigint NOT NULL,
    logs_dataset_id uuid,
    traces_dataset_id uuid,
    metrics_dataset_id uuid
);


--
-- Name: schema_columns; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schema_columns (
    schema_id uuid NOT NULL,
    "position" integer NOT NULL,
    name text NOT NULL,
    type smallint NOT NULL
);


--
-- Name: schemas; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schemas (
    id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: scrub_state; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.scrub_state (
    name text NOT NULL,
    checked_through text NOT NULL COLLATE pg_catalog."C",
    objects bigint NOT NULL,
    size_bytes bigint NOT NULL,
    is_complete boolean NOT NULL,
    began_at timestamp with time zone DEFAULT now() NOT NULL,
    holder text,
    lease_until timestamp with time zone
);


--
-- Name: segment_lineage; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.segment_lineage (
    input_id uuid NOT NULL,
    output_id uuid NOT NULL
);


--
-- Name: segments; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.segments (
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
    CONSTRAINT segments_lifetime_check CHECK ((tombstone_version > created_version)),
    CONSTRAINT segments_range_check CHECK ((start_ns <= end_ns)),
    CONSTRAINT segments_sizes_check CHECK (((size_bytes >= 0) AND (compressed_size_bytes >= 0) AND (number_of_events >= 0))),
    CONSTRAINT segments_tombstone_check CHECK (((tombstone_version IS NULL) = (tombstone_at IS NULL)))
);


--
-- Name: sharding_fields; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.sharding_fields (
    dataset_id uuid NOT NULL,
    "position" integer NOT NULL,
    field_name text NOT NULL,
    weight double precision NOT NULL
);


--
-- Name: stream_datasets; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.stream_datasets (
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


--
-- Name: stream_heads; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.stream_heads (
    stream_id uuid NOT NULL,
    committed_offset bigint DEFAULT '-1'::integer NOT NULL,
    last_activity_at timestamp with time zone DEFAULT now() NOT NULL,
    is_stopped boolean DEFAULT false NOT NULL,
    is_pending boolean DEFAULT false NOT NULL,
    removal_count bigint DEFAULT 0 NOT NULL,
    CONSTRAINT stream_heads_committed_check CHECK ((committed_offset >= '-1'::integer))
)
WITH (fillfactor='50');


--
-- Name: stream_removals; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.stream_removals (
    version bigint NOT NULL,
    stream_id uuid NOT NULL,
    dataset_id uuid NOT NULL,
    shard_hash integer NOT NULL,
    removed_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: stream_tokens; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.stream_tokens (
    stream_id uuid NOT NULL,
    token_id uuid NOT NULL,
    registered_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_offset bigint
);


--
-- Name: table_objects; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.table_objects (
    id bigint NOT NULL,
    dataset_key integer NOT NULL,
    digest bytea NOT NULL,
    object_key text NOT NULL COLLATE pg_catalog."C",
    size_bytes bigint NOT NULL,
    gap_end bigint NOT NULL,
    handed_out_at timestamp with time zone DEFAULT now() NOT NULL,
    examined_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: table_objects_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.table_objects ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.table_objects_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: table_snapshots; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.table_snapshots (
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


--
-- Name: version_gaps; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.version_gaps (
    gap_start bigint NOT NULL,
    gap_end bigint NOT NULL
);


--
-- Name: view_dataset_projections; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.view_dataset_projections (
    id uuid NOT NULL,
    view_id uuid NOT NULL,
    dataset_id uuid NOT NULL,
    projection_id uuid NOT NULL
);


--
-- Name: views; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.views (
    id uuid NOT NULL,
    name text NOT NULL,
    description text,
    schema_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Data for Name: access_tokens; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.access_tokens (id, subject, role, digest, hint, created_at, expires_at, revoked_at, dataset_ids, pepper) FROM stdin;
01a20ebb-a775-70d9-8595-2d19ebb8a152	ingest-eu	ingest	\\x04a83c4a4b8b1b4ce3db95682809aa9b2933676c58c32e6da05694a4433d9cb6	zZwg	2026-11-24 18:05:08.849164+00	\N	\N	\N	81a688c9b06da216
01a20ebb-a77a-714a-bbd0-6b195dc301e6	nursery-eu	nursery	\\xaa38e403bf3ab3a979af2b921163a7ffc6673629975a98283fb27aed68304043	RC1Q	2026-11-24 18:05:08.857236+00	\N	\N	\N	81a688c9b06da216
01a20ebb-a77d-78f1-a828-1cef91aa84f1	merge-eu	merge	\\xdd5f23a76c740827221474d6d340c1b03970ce60f3fae2ac20a7524e2cddd6aa	ELDA	2026-11-24 18:05:08.860721+00	\N	\N	\N	81a688c9b06da216
01a20ebb-a780-7da6-8ef0-bfbb2622d1e5	janitor-eu	janitor	\\xc682a265f66200967513afc2c65d7c10d78f97b424b3e5f82a4e850388390108	Zing	2026-11-24 18:05:08.864035+00	\N	\N	\N	81a688c9b06da216
01a20ebb-a784-734e-b9c8-859252ea91b1	reader-eu	reader	\\xc2522bc81bc4307c5cca5c38e3688f628712917bb511758d490e5c3402f0260b	cZaA	2026-11-24 18:05:08.867355+00	\N	\N	\N	81a688c9b06da216
01a20ebb-a788-7179-a51a-64fc5fa43221	gateway-eu	gateway	\\x0a57f6923708cca598e90f4b25c308186fa1ecac720f68ebadfed497a2cd4ff2	2O9w	2026-11-24 18:05:08.870999+00	\N	\N	\N	81a688c9b06da216
01a20ebb-a78b-7311-92ee-a34b98a643cf	catalog-eu	catalog	\\x92a834215acb4c1c9941961a98a55912aac3a9dd0610535a146f3c17396ed125	AxCg	2026-11-24 18:05:08.874525+00	\N	\N	\N	81a688c9b06da216
01a20ebb-a78e-773a-9b2e-3439ce6c019a	analyst	reader	\\x7044e869562ffec169455dbff9b47620886c4f5e99f6a8ad32069d7b1a8ef88d	fUhQ	2026-11-24 18:05:08.877453+00	\N	\N	{01a20ebb-a6ce-7093-bfb1-67789b9e6643}	81a688c9b06da216
01a20ebb-a791-7bdf-a326-da217ff1ee86	former	admin	\\x33293d2327568a16f1ed3f15bfa94f12fd4d98edf232610569cb936a49361d04	sDYw	2026-11-24 18:05:08.880995+00	\N	2026-11-24 18:05:08.885975+00	\N	81a688c9b06da216
\.


--
-- Data for Name: alembic_version; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.alembic_version (version_num) FROM stdin;
0035
\.


--
-- Data for Name: audit_log; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.audit_log (id, at, rpc, subject_id, detail, principal, host, request_id) FROM stdin;
1	2026-11-24 18:05:08.673198+00	CreateDataset	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	name 'web'	META_AUTH_TOKEN	127.0.0.1	
2	2026-11-24 18:05:08.685543+00	CreateDataset	01a20ebb-a6ce-7093-bfb1-67789b9e6643	name 'orders'	META_AUTH_TOKEN	127.0.0.1	
3	2026-11-24 18:05:08.693176+00	CreateDataset	01a20ebb-a6d5-7b27-aede-6ac69dfcb52f	name 'empty'	META_AUTH_TOKEN	127.0.0.1	
4	2026-11-24 18:05:08.702865+00	CreateDataset	01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	name 'gone'	META_AUTH_TOKEN	127.0.0.1	
5	2026-11-24 18:05:08.73011+00	SetDatasetSettings	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	DatasetSettings(event_retention_secs=0, created_retention_secs=0, tombstone_grace_secs=0, records_per_month=0, ingest_bytes_per_sec=0, ingest_exports_in_flight=0, ingest_memory_bytes=0, event_age_max_secs=0, event_lead_max_secs=0) became DatasetSettings(event_retention_secs=0, created_retention_secs=0, tombstone_grace_secs=86400, records_per_month=0, ingest_bytes_per_sec=0, ingest_exports_in_flight=0, ingest_memory_bytes=0, event_age_max_secs=0, event_lead_max_secs=0)	META_AUTH_TOKEN	127.0.0.1	
6	2026-11-24 18:05:08.746067+00	SetDatasetSettings	01a20ebb-a6ce-7093-bfb1-67789b9e6643	DatasetSettings(event_retention_secs=0, created_retention_secs=0, tombstone_grace_secs=0, records_per_month=0, ingest_bytes_per_sec=0, ingest_exports_in_flight=0, ingest_memory_bytes=0, event_age_max_secs=0, event_lead_max_secs=0) became DatasetSettings(event_retention_secs=3153600000, created_retention_secs=3153600000, tombstone_grace_secs=86400, records_per_month=1000000, ingest_bytes_per_sec=10000000, ingest_exports_in_flight=100, ingest_memory_bytes=0, event_age_max_secs=0, event_lead_max_secs=0)	META_AUTH_TOKEN	127.0.0.1	
7	2026-11-24 18:05:08.746067+00	SetDatasetSettings	01a20ebb-a6ce-7093-bfb1-67789b9e6643	5 excess events are allowed	META_AUTH_TOKEN	127.0.0.1	
8	2026-11-24 18:05:08.751063+00	SetShardingFields	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	() became (ShardingField(field_name='service_name', weight=2.0),)	META_AUTH_TOKEN	127.0.0.1	
9	2026-11-24 18:05:08.756079+00	CreateSchema	01a20ebb-a715-7173-b5df-7d7bbe46cfc1	name 'failures'	META_AUTH_TOKEN	127.0.0.1	
10	2026-11-24 18:05:08.763502+00	CreateView	01a20ebb-a71c-7cc3-bc97-1c4298885a8d	name 'failures'	META_AUTH_TOKEN	127.0.0.1	
11	2026-11-24 18:05:08.769661+00	CreateProjection	01a20ebb-a728-7144-8599-21ab59431731	name 'errors'	META_AUTH_TOKEN	127.0.0.1	
12	2026-11-24 18:05:08.781896+00	LinkViewDatasetProjection	01a20ebb-a71c-7cc3-bc97-1c4298885a8d	dataset 01a20ebb-a6c1-7d63-bc82-6d1dc75b222e, projection 01a20ebb-a728-7144-8599-21ab59431731	META_AUTH_TOKEN	127.0.0.1	
13	2026-11-24 18:05:08.792311+00	LinkViewDatasetProjection	01a20ebb-a71c-7cc3-bc97-1c4298885a8d	dataset 01a20ebb-a6ce-7093-bfb1-67789b9e6643, projection 01a20ebb-a728-7144-8599-21ab59431731	META_AUTH_TOKEN	127.0.0.1	
14	2026-11-24 18:05:08.801087+00	CreateView	01a20ebb-a741-75cc-99c7-093f39fd5aa6	name 'unlinked'	META_AUTH_TOKEN	127.0.0.1	
15	2026-11-24 18:05:08.805044+00	CreateProjection	01a20ebb-a745-79c4-9418-36a65289145b	name 'unlinked'	META_AUTH_TOKEN	127.0.0.1	
16	2026-11-24 18:05:08.808311+00	CreateIngestToken	01a20ebb-a749-7b83-b5a7-00455d1d41f3	name 'frontend'	META_AUTH_TOKEN	127.0.0.1	
17	2026-11-24 18:05:08.81566+00	CreateIngestToken	01a20ebb-a750-7744-8cd1-0e6afed62c99	name 'shop'	META_AUTH_TOKEN	127.0.0.1	
18	2026-11-24 18:05:08.819783+00	CreateIngestToken	01a20ebb-a754-77f9-bc5c-2f3cdfc7ad7d	name 'old'	META_AUTH_TOKEN	127.0.0.1	
19	2026-11-24 18:05:08.82395+00	CreateIngestToken	01a20ebb-a758-7a22-905e-351cb685d409	name 'revoked'	META_AUTH_TOKEN	127.0.0.1	
20	2026-11-24 18:05:08.829443+00	UpdateIngestTokenRouting	01a20ebb-a750-7744-8cd1-0e6afed62c99	logs 01a20ebb-a6c1-7d63-bc82-6d1dc75b222e, traces 01a20ebb-a6c1-7d63-bc82-6d1dc75b222e, metrics 01a20ebb-a6c1-7d63-bc82-6d1dc75b222e became logs 01a20ebb-a6ce-7093-bfb1-67789b9e6643, traces 01a20ebb-a6c1-7d63-bc82-6d1dc75b222e, metrics 01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	META_AUTH_TOKEN	127.0.0.1	
21	2026-11-24 18:05:08.841161+00	RevokeIngestToken	01a20ebb-a758-7a22-905e-351cb685d409	name 'revoked'	META_AUTH_TOKEN	127.0.0.1	
22	2026-11-24 18:05:08.849164+00	CreateAccessToken	01a20ebb-a775-70d9-8595-2d19ebb8a152	subject 'ingest-eu', ingest	META_AUTH_TOKEN	127.0.0.1	
23	2026-11-24 18:05:08.857236+00	CreateAccessToken	01a20ebb-a77a-714a-bbd0-6b195dc301e6	subject 'nursery-eu', nursery	META_AUTH_TOKEN	127.0.0.1	
24	2026-11-24 18:05:08.860721+00	CreateAccessToken	01a20ebb-a77d-78f1-a828-1cef91aa84f1	subject 'merge-eu', merge	META_AUTH_TOKEN	127.0.0.1	
25	2026-11-24 18:05:08.864035+00	CreateAccessToken	01a20ebb-a780-7da6-8ef0-bfbb2622d1e5	subject 'janitor-eu', janitor	META_AUTH_TOKEN	127.0.0.1	
26	2026-11-24 18:05:08.867355+00	CreateAccessToken	01a20ebb-a784-734e-b9c8-859252ea91b1	subject 'reader-eu', reader	META_AUTH_TOKEN	127.0.0.1	
27	2026-11-24 18:05:08.870999+00	CreateAccessToken	01a20ebb-a788-7179-a51a-64fc5fa43221	subject 'gateway-eu', gateway	META_AUTH_TOKEN	127.0.0.1	
28	2026-11-24 18:05:08.874525+00	CreateAccessToken	01a20ebb-a78b-7311-92ee-a34b98a643cf	subject 'catalog-eu', catalog	META_AUTH_TOKEN	127.0.0.1	
29	2026-11-24 18:05:08.877453+00	CreateAccessToken	01a20ebb-a78e-773a-9b2e-3439ce6c019a	subject 'analyst', reader, datasets 'orders'	META_AUTH_TOKEN	127.0.0.1	
30	2026-11-24 18:05:08.880995+00	CreateAccessToken	01a20ebb-a791-7bdf-a326-da217ff1ee86	subject 'former', admin	META_AUTH_TOKEN	127.0.0.1	
31	2026-11-24 18:05:08.885975+00	RevokeAccessToken	01a20ebb-a791-7bdf-a326-da217ff1ee86	subject 'former'	META_AUTH_TOKEN	127.0.0.1	
32	2026-11-24 18:05:40.944562+00	DropPayload	quarantine/01a20ebb-b968-74d6-95ce-3d3852cc5260/00000000000000000013/01a20ebb-a750-7744-8cd1-0e6afed62c99-logs-0	root@vm: recorded	META_AUTH_TOKEN	127.0.0.1	
33	2026-11-24 18:05:47.049307+00	CreateRewriteJob	00000000-0000-0000-0000-000000000002	dataset 01a20ebb-a6ce-7093-bfb1-67789b9e6643	META_AUTH_TOKEN	127.0.0.1	
34	2026-11-24 18:05:47.054671+00	UpdateRewriteJob	00000000-0000-0000-0000-000000000002	paused	META_AUTH_TOKEN	127.0.0.1	
35	2026-11-24 18:05:47.059767+00	RevokeIngestToken	01a20ebb-a754-77f9-bc5c-2f3cdfc7ad7d	name 'old'	META_AUTH_TOKEN	127.0.0.1	
36	2026-11-24 18:05:47.277171+00	DeleteDataset	01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	name 'gone'	META_AUTH_TOKEN	127.0.0.1	
\.


--
-- Data for Name: baby_segments; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records, flush_id, dataset_ids, committed_at, reaped_at, crc32c, crc32c_read_at) FROM stdin;
01a20ebb-b968-74d6-95ce-3d3852cc5260	0	1795218906581974390	1795219408306002439	974	8	\\x8b5fac35a8e79d6589aaff2636f5ed18	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:13.469861+00	\N	692618320	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	1	1795218906581974390	1795219408306002439	1094	8	\\x4cbb2c33f81e1c1f29a54a97e27d5eda	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:13.554289+00	\N	596793180	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	2	1795218906581974390	1795219408306002439	1273	8	\\xd66d55d0701469efdcd94b3122920de0	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:13.615483+00	\N	2620279883	\N
01a20ebb-bb35-7572-b055-05e957fdd489	0	1795218915516685670	1795218941175347059	414	2	\\x1ec2aad7fc01276bc81b11afea0f1fae	{01a20ebb-a6ce-7093-bfb1-67789b9e6643}	2026-11-24 18:05:14.056915+00	\N	3110314882	\N
01a20ebb-bb35-7572-b055-05e957fdd489	1	1795218915516685670	1795218941175347059	444	2	\\x6b5a03c4af3de21542a4a45c05cbd988	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:14.126356+00	\N	3173938994	\N
01a20ebb-bb35-7572-b055-05e957fdd489	2	1795218915516685670	1795218941175347059	490	2	\\x9920eba13d9dfd695673d5a67d34235b	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:14.185508+00	\N	1721279747	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	3	1795219064147905834	1795219112161812848	419	2	\\xf1bcfe2aae13799527e38e4936c4cce9	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:23.782229+00	\N	2038766186	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	4	1795219064147905834	1795219112161812848	450	2	\\x5be014211debd5351c88d3b9f3c4f6c4	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:23.848393+00	\N	1078215291	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	5	1795219064147905834	1795219112161812848	495	2	\\x21e0775e52cb8ceba890ddfa06ef92cf	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:23.905807+00	\N	1059132031	\N
01a20ebb-bb35-7572-b055-05e957fdd489	3	1795219183548671318	1795219412773023149	370	2	\\xead721feecdfc6adfd418e2f62d5c5f4	{01a20ebb-a6ce-7093-bfb1-67789b9e6643}	2026-11-24 18:05:23.968936+00	\N	191388787	\N
01a20ebb-bb35-7572-b055-05e957fdd489	4	1795219183548671318	1795219412773023149	400	2	\\x25f3d8d7b54af76a300ffe3a8e4b456c	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:24.031005+00	\N	2619400758	\N
01a20ebb-bb35-7572-b055-05e957fdd489	5	1795219183548671318	1795219412773023149	444	2	\\xcf900afa7ca265b021f5dcea57c7f6f6	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:24.128619+00	\N	738607125	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	6	1795218934683531985	1795219120937583802	414	2	\\x75fd05693efba6677d396e08168a17e6	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:24.870998+00	\N	1198443464	\N
01a20ebb-b84a-7915-bbd1-48c3ef4abb28	0	1795219101266522999	1795219357960609759	577	4	\\xcec5d8b30b780e18817afa15b95ba892	{01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3}	2026-11-24 18:05:13.20402+00	2026-11-24 18:05:24.941478+00	4246135059	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	7	1795218934683531985	1795219120937583802	444	2	\\xe2f818da049f15ad1c2248acc7aa1f15	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:24.957673+00	\N	1229067269	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	8	1795218934683531985	1795219120937583802	490	2	\\xb38ee5692ec05d8f5e2eb6daad39ffd2	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:25.015657+00	\N	3201930050	\N
01a20ebb-bb35-7572-b055-05e957fdd489	6	1795219295596540548	1795219314635842985	372	2	\\xa5dd99aa2f710775daa48dddc0d95d7e	{01a20ebb-a6ce-7093-bfb1-67789b9e6643}	2026-11-24 18:05:25.075105+00	\N	2641139022	\N
01a20ebb-bb35-7572-b055-05e957fdd489	7	1795219295596540548	1795219314635842985	402	2	\\x88790ae8e4c4c926ef0421c8dc7088ea	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:25.133762+00	\N	1137702436	\N
01a20ebb-bb35-7572-b055-05e957fdd489	8	1795219295596540548	1795219314635842985	446	2	\\xd72220042703b5cb726e7c6fba976b29	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:25.220268+00	\N	3026363305	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	9	1795219435102452561	1795219445502675053	416	2	\\x5a676c1ca696dc4c3a75780fe6fdab71	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:26.383331+00	\N	1517514574	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	10	1795219435102452561	1795219445502675053	446	2	\\x701c1eb6301f83cf69a83b20aa21e9ce	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:26.442185+00	\N	3542651356	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	11	1795219435102452561	1795219445502675053	492	2	\\x498c92f067d786f5e5ad4e169f5ed04c	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:26.501884+00	\N	3461661353	\N
01a20ebb-bb35-7572-b055-05e957fdd489	9	1795219167349572474	1795219437038455267	412	2	\\xa3841aac717c722ee6a2a7a85766af68	{01a20ebb-a6ce-7093-bfb1-67789b9e6643}	2026-11-24 18:05:26.561545+00	\N	928476593	\N
01a20ebb-bb35-7572-b055-05e957fdd489	10	1795219167349572474	1795219437038455267	442	2	\\x75e77c1bd053d08369fe23e6a80bc1ed	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:26.620513+00	\N	1836271637	\N
01a20ebb-bb35-7572-b055-05e957fdd489	11	1795219167349572474	1795219437038455267	488	2	\\x20fe9d176020f9d9c1dca0fa5df83639	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:26.681882+00	\N	1117304634	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	12	1795219106646678123	1795219106646678123	295	1	\\xcbf2ec71604ca3df7536b9aad15dc7bd	{01a20ebb-a6ce-7093-bfb1-67789b9e6643}	2026-11-24 18:05:39.446329+00	\N	1809816796	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	13	1795218912337856832	1795218912337856832	299	1	\\x2c703d96fcfa43dadf10a79c2347b2d6	{01a20ebb-a6ce-7093-bfb1-67789b9e6643}	2026-11-24 18:05:39.838963+00	\N	4020269514	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	14	1795218917721862491	1795219111779152475	414	2	\\x880ae028c3327aee99fbeec1d4e073a2	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:41.10767+00	\N	2724345890	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	15	1795218917721862491	1795219111779152475	444	2	\\x82ce4cd650005217c8970fbf8b1c6029	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:41.173347+00	\N	1145972462	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	16	1795218917721862491	1795219111779152475	490	2	\\x33754f8726865191fec0fd90ffdb7dbe	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:41.232138+00	\N	966138762	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	17	1795218969488752977	1795219076390116014	419	2	\\x508081624f5a849ae274a17f17ac072b	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:42.343304+00	\N	536848319	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	18	1795218969488752977	1795219076390116014	450	2	\\xc4b32f6aa786214df43e298ae77c96fa	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:42.401634+00	\N	782940659	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	19	1795218969488752977	1795219076390116014	495	2	\\xce5aba0174a441a94aefaf464202fc65	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:42.459363+00	\N	1298114863	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	20	1795219039692588092	1795219247743286229	419	2	\\x816a7aef89534df0dfea23fe3d3059f3	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:43.613713+00	\N	1915113945	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	21	1795219039692588092	1795219247743286229	449	2	\\x0f4e1ae27ce5f660216aeb032c956d35	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:43.674292+00	\N	2635004257	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	22	1795219039692588092	1795219247743286229	495	2	\\xe281bcd98e14b849586b872bdc7ec08e	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:43.730535+00	\N	1266346776	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	23	1795219226027090442	1795219479725779136	418	2	\\x2e1a0600b46478a592b7a6d56a4b719c	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:45.054033+00	\N	795933575	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	24	1795219226027090442	1795219479725779136	448	2	\\x33a55da0599c5b4ba7468e9847fa8681	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:45.113078+00	\N	209132604	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	25	1795219226027090442	1795219479725779136	494	2	\\xd1341e2e38b239e7b5807bdc414213d3	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:45.171755+00	\N	2589103567	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	26	1795218921808039683	1795219343291299273	506	3	\\x64b9f5687f61b20ad71ed965e05d562a	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:48.096765+00	\N	4093063536	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	27	1795218921808039683	1795219343291299273	552	3	\\x5298da5fe4653bf617836bb58b2b9027	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:48.154024+00	\N	2047762513	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	28	1795218921808039683	1795219343291299273	618	3	\\x3047f76fffaf12da572489d36ba05fc6	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:48.21108+00	\N	1283235046	\N
01a20ebb-bb35-7572-b055-05e957fdd489	12	1795218957028957747	1795219481028746248	530	3	\\x672a9a52a86cf0dd383491b4879730de	{01a20ebb-a6ce-7093-bfb1-67789b9e6643}	2026-11-24 18:05:48.275885+00	\N	3350368905	\N
01a20ebb-bb35-7572-b055-05e957fdd489	13	1795218957028957747	1795219481028746248	576	3	\\xf763d23513c700b571b1eb12522a245d	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:48.333159+00	\N	4180659392	\N
01a20ebb-bb35-7572-b055-05e957fdd489	14	1795218957028957747	1795219481028746248	644	3	\\x3ee1c2993bc6b8711aff6c07e1e61081	{01a20ebb-a6c1-7d63-bc82-6d1dc75b222e}	2026-11-24 18:05:48.393133+00	\N	2469912937	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	29	0	0	44	0	\\x5f62410acce71232e267d92d2b7b3ce6	\N	2026-11-24 18:05:48.401066+00	\N	2113734422	\N
\.


--
-- Data for Name: catalog_authors; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.catalog_authors (entry_id, created_by, created_at, updated_by, updated_at, deleted_by, deleted_at) FROM stdin;
01a20ebb-a6d5-7b27-aede-6ac69dfcb52f	META_AUTH_TOKEN	2026-11-24 18:05:08.693176+00	\N	\N	\N	\N
01a20ebb-a6ce-7093-bfb1-67789b9e6643	META_AUTH_TOKEN	2026-11-24 18:05:08.685543+00	META_AUTH_TOKEN	2026-11-24 18:05:08.746067+00	\N	\N
01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	META_AUTH_TOKEN	2026-11-24 18:05:08.673198+00	META_AUTH_TOKEN	2026-11-24 18:05:08.751063+00	\N	\N
01a20ebb-a715-7173-b5df-7d7bbe46cfc1	META_AUTH_TOKEN	2026-11-24 18:05:08.756079+00	\N	\N	\N	\N
01a20ebb-a728-7144-8599-21ab59431731	META_AUTH_TOKEN	2026-11-24 18:05:08.769661+00	\N	\N	\N	\N
01a20ebb-a71c-7cc3-bc97-1c4298885a8d	META_AUTH_TOKEN	2026-11-24 18:05:08.763502+00	META_AUTH_TOKEN	2026-11-24 18:05:08.792311+00	\N	\N
01a20ebb-a741-75cc-99c7-093f39fd5aa6	META_AUTH_TOKEN	2026-11-24 18:05:08.801087+00	\N	\N	\N	\N
01a20ebb-a745-79c4-9418-36a65289145b	META_AUTH_TOKEN	2026-11-24 18:05:08.805044+00	\N	\N	\N	\N
01a20ebb-a749-7b83-b5a7-00455d1d41f3	META_AUTH_TOKEN	2026-11-24 18:05:08.808311+00	\N	\N	\N	\N
01a20ebb-a750-7744-8cd1-0e6afed62c99	META_AUTH_TOKEN	2026-11-24 18:05:08.81566+00	META_AUTH_TOKEN	2026-11-24 18:05:08.829443+00	\N	\N
01a20ebb-a758-7a22-905e-351cb685d409	META_AUTH_TOKEN	2026-11-24 18:05:08.82395+00	\N	\N	META_AUTH_TOKEN	2026-11-24 18:05:08.841161+00
01a20ebb-a775-70d9-8595-2d19ebb8a152	META_AUTH_TOKEN	2026-11-24 18:05:08.849164+00	\N	\N	\N	\N
01a20ebb-a77a-714a-bbd0-6b195dc301e6	META_AUTH_TOKEN	2026-11-24 18:05:08.857236+00	\N	\N	\N	\N
01a20ebb-a77d-78f1-a828-1cef91aa84f1	META_AUTH_TOKEN	2026-11-24 18:05:08.860721+00	\N	\N	\N	\N
01a20ebb-a780-7da6-8ef0-bfbb2622d1e5	META_AUTH_TOKEN	2026-11-24 18:05:08.864035+00	\N	\N	\N	\N
01a20ebb-a784-734e-b9c8-859252ea91b1	META_AUTH_TOKEN	2026-11-24 18:05:08.867355+00	\N	\N	\N	\N
01a20ebb-a788-7179-a51a-64fc5fa43221	META_AUTH_TOKEN	2026-11-24 18:05:08.870999+00	\N	\N	\N	\N
01a20ebb-a78b-7311-92ee-a34b98a643cf	META_AUTH_TOKEN	2026-11-24 18:05:08.874525+00	\N	\N	\N	\N
01a20ebb-a78e-773a-9b2e-3439ce6c019a	META_AUTH_TOKEN	2026-11-24 18:05:08.877453+00	\N	\N	\N	\N
01a20ebb-a791-7bdf-a326-da217ff1ee86	META_AUTH_TOKEN	2026-11-24 18:05:08.880995+00	\N	\N	META_AUTH_TOKEN	2026-11-24 18:05:08.885975+00
01a20ebb-a754-77f9-bc5c-2f3cdfc7ad7d	META_AUTH_TOKEN	2026-11-24 18:05:08.819783+00	\N	\N	META_AUTH_TOKEN	2026-11-24 18:05:47.059767+00
01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	META_AUTH_TOKEN	2026-11-24 18:05:08.702865+00	\N	\N	META_AUTH_TOKEN	2026-11-24 18:05:47.277171+00
\.


--
-- Data for Name: clock_gaps; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.clock_gaps (gap_end, gap_start) FROM stdin;
\.


--
-- Data for Name: clock_state; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.clock_state (id, observed_at) FROM stdin;
1	2026-11-24 18:05:48.777057+00
\.


--
-- Data for Name: damaged_objects; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.damaged_objects (object_key, damage, found_at) FROM stdin;
\.


--
-- Data for Name: dataset_stats; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.dataset_stats (dataset_key, live_segments, live_size_bytes, live_compressed_size_bytes, all_segments, open_tasks) FROM stdin;
1	0	0	0	0	0
4	0	0	0	0	0
5	2	3001	11557	2	0
3	6	8172	31721	6	0
2	7	62957	187354	17	1
\.


--
-- Data for Name: dataset_usage; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.dataset_usage (dataset_id, month, slot, records) FROM stdin;
01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	2026-11	10	4
01a20ebb-a6ce-7093-bfb1-67789b9e6643	2026-11	10	13
01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	2026-11	10	97
\.


--
-- Data for Name: dataset_visibility; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.dataset_visibility (dataset_key, from_version, to_version) FROM stdin;
1	1	\N
2	2	\N
3	3	\N
4	4	\N
5	5	42
\.


--
-- Data for Name: datasets; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.datasets (id, key, name, is_default, created_at, deleted_at, purged_at, deletion_horizon, event_retention_secs, created_retention_secs, tombstone_grace_secs, records_per_month, changed_version, ingest_bytes_per_sec, ingest_exports_in_flight, ingest_memory_bytes, event_age_max_secs, event_lead_max_secs, pins_horizon) FROM stdin;
01a20ebb-a65b-78d6-96c0-0fd50a44af16	1	default	t	2026-11-24 18:05:08.570624+00	\N	\N	0	\N	\N	\N	0	1	0	0	0	0	0	\N
01a20ebb-a6d5-7b27-aede-6ac69dfcb52f	4	empty	f	2026-11-24 18:05:08.693176+00	\N	\N	0	\N	\N	\N	0	4	0	0	0	0	0	\N
01a20ebb-a6ce-7093-bfb1-67789b9e6643	3	orders	f	2026-11-24 18:05:08.685543+00	\N	\N	0	3153600000	3153600000	86400	1000000	3	10000000	100	0	0	0	\N
01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	2	web	f	2026-11-24 18:05:08.673198+00	\N	\N	0	0	0	86400	0	7	0	0	0	0	0	0
01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	5	gone	f	2026-11-24 18:05:08.702865+00	2026-11-24 18:05:47.280765+00	\N	0	\N	\N	\N	0	5	0	0	0	0	0	\N
\.


--
-- Data for Name: deletion_brakes; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deletion_brakes (dataset_key, braked_at, segments, size_bytes, live_size_bytes, released_version) FROM stdin;
\.


--
-- Data for Name: denied_calls; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.denied_calls (id, minute, host, reason, calls) FROM stdin;
1	2026-11-24 18:05:00+00	127.0.0.1	UNAUTHENTICATED	1
\.


--
-- Data for Name: excess_allowances; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.excess_allowances (dataset_id, events) FROM stdin;
01a20ebb-a6ce-7093-bfb1-67789b9e6643	5
\.


--
-- Data for Name: ingest_streams; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.ingest_streams (id, collector_id, collector_string, shard_hash, created_at, stopped_at_nanos, stopped_offset, stop_reason, deleted_offset, deleted_ingest_time_nanos, retired_at, changed_version, principal) FROM stdin;
01a20ebb-bb35-7572-b055-05e957fdd489	ingest-eucollector-2	segplane-collector	1476252809	2026-11-24 18:05:13.900942+00	\N	\N	\N	-1	0	\N	16	ingest-eu
01a20ebb-b84a-7915-bbd1-48c3ef4abb28	ingest-eucollector-3	segplane-collector	1867168552	2026-11-24 18:05:13.157559+00	\N	\N	\N	0	1795543513193787231	\N	41	ingest-eu
01a20ebb-b968-74d6-95ce-3d3852cc5260	ingest-eucollector-1	segplane-collector	1389122144	2026-11-24 18:05:13.433928+00	1795543548406194000	29	1	-1	0	\N	43	ingest-eu
\.


--
-- Data for Name: ingest_tokens; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.ingest_tokens (id, name, digest, hint, logs_dataset_id, traces_dataset_id, metrics_dataset_id, created_at, revoked_at, changed_version, pepper) FROM stdin;
01a20ebb-a749-7b83-b5a7-00455d1d41f3	frontend	\\x5bd4b12f987c3fab3084380a6b04f1e5f907b1bfa7f563b23431801207908bfb	HqiA	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	2026-11-24 18:05:08.808311+00	\N	8	81a688c9b06da216
01a20ebb-a750-7744-8cd1-0e6afed62c99	shop	\\x384fd25fe41cb05107d8c9fdac2967d300ca77d679f35219684a3e291687d027	ZGMQ	01a20ebb-a6ce-7093-bfb1-67789b9e6643	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	2026-11-24 18:05:08.81566+00	\N	12	81a688c9b06da216
01a20ebb-a758-7a22-905e-351cb685d409	revoked	\\x92bfedfeb721c431d1b0ea3970f62033be58448ac3f33a482fb3aef902d24efe	Uttw	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	2026-11-24 18:05:08.82395+00	2026-11-24 18:05:08.841161+00	13	81a688c9b06da216
01a20ebb-a754-77f9-bc5c-2f3cdfc7ad7d	old	\\x1d55d8da9002bca94e029825cce872892cd3bbc44c270a8998e48ad3923ae950	PVhg	01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	2026-11-24 18:05:08.819783+00	2026-11-24 18:05:47.059767+00	40	81a688c9b06da216
\.


--
-- Data for Name: lineage_ends; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.lineage_ends (segment_id) FROM stdin;
\.


--
-- Data for Name: link_columns; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.link_columns (link_id, kind, name, type) FROM stdin;
01a20ebb-a733-7d1f-b0cd-e13d2eb543c3	1	severity_number	1
01a20ebb-a733-7d1f-b0cd-e13d2eb543c3	1	body	4
01a20ebb-a73b-756b-8787-9ef1d1ee39ec	1	severity_number	1
01a20ebb-a73b-756b-8787-9ef1d1ee39ec	1	body	4
\.


--
-- Data for Name: losses; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.losses (id, kind, stream_id, "offset", dataset_id, segment_id, object_key, records, version, lost_at, actor, reason, withdrawn_version) FROM stdin;
01a20ebc-24d3-788a-bed2-22e21a1cc940	3	01a20ebb-b968-74d6-95ce-3d3852cc5260	13	01a20ebb-a6ce-7093-bfb1-67789b9e6643	\N	quarantine/01a20ebb-b968-74d6-95ce-3d3852cc5260/00000000000000000013/01a20ebb-a750-7744-8cd1-0e6afed62c99-logs-0	\N	31	2026-11-24 18:05:40.944562+00	root@vm	recorded	\N
\.


--
-- Data for Name: merge_attempts; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.merge_attempts (task_id, attempt, worker_id, claimed_at, ended_at, outcome, error, failed_segment_id) FROM stdin;
01a20ebb-f034-72c3-b522-be172140108a	1	vm-7887-323ee933	2026-11-24 18:05:37.186772+00	2026-11-24 18:05:37.583763+00	completed	\N	\N
01a20ebb-f034-7233-bf6d-05961b2d6014	1	vm-7887-323ee933	2026-11-24 18:05:37.614473+00	2026-11-24 18:05:37.948091+00	completed	\N	\N
\.


--
-- Data for Name: merge_task_inputs; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.merge_task_inputs (segment_id, task_id, "position") FROM stdin;
01a20ebc-190d-7daa-a23f-13dbd32b606a	01a20ebc-3ca2-7415-b797-890e552d7287	0
01a20ebc-2703-74ad-b19e-8fc2dc674386	01a20ebc-3ca2-7415-b797-890e552d7287	1
01a20ebc-2bc4-760a-9eb4-d1ef24da5ef6	01a20ebc-3ca2-7415-b797-890e552d7287	2
01a20ebc-3146-708e-9d29-3d3bc3d8f4bb	01a20ebc-3ca2-7415-b797-890e552d7287	3
\.


--
-- Data for Name: merge_tasks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.merge_tasks (id, dataset_key, state, kind, attempt, worker_id, claimed_at, beat_at, free_at, failures, poison_failures, failed_at, rows_done, created_at, finished_at, output_segment_id, output_merge_count, segment_count, smallest_size, largest_size, smallest_compressed_size, largest_compressed_size, total_size, total_compressed_size, start_ns, end_ns, more_output_ids, rewrite_id) FROM stdin;
01a20ebb-f034-72c3-b522-be172140108a	2	2	1	1	vm-7887-323ee933	2026-11-24 18:05:37.186772+00	2026-11-24 18:05:37.200855+00	\N	0	0	\N	0	2026-11-24 18:05:27.474719+00	2026-11-24 18:05:37.584783+00	01a20ebc-17a9-70c7-8358-0b1b3059d06e	1	5	1989	12597	6201	38287	34752	114456	1795219295596540548	1795219445502675053	\N	\N
01a20ebb-f034-7233-bf6d-05961b2d6014	2	2	1	1	vm-7887-323ee933	2026-11-24 18:05:37.614473+00	2026-11-24 18:05:37.622824+00	\N	0	0	\N	0	2026-11-24 18:05:27.474719+00	2026-11-24 18:05:37.949145+00	01a20ebc-190d-7daa-a23f-13dbd32b606a	1	5	4298	13071	11812	38536	40455	132662	1795218906581974390	1795219183548671318	\N	\N
01a20ebc-3ca2-7415-b797-890e552d7287	2	1	1	0	\N	\N	\N	\N	0	0	\N	0	2026-11-24 18:05:47.041169+00	\N	\N	2	4	4294	15126	11808	39531	34015	99776	1795218906581974390	1795219183548671318	\N	\N
\.


--
-- Data for Name: meta_state; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.meta_state (id, version, gap_start, gap_end, timeline, system_identifier, deletion_held, history_floor, removals_floor, token_pepper) FROM stdin;
1	43	0	0	1	7711800637878225504	f	0	0	\\xc6e8ff8e56ff4a6e9ea06e189079bf13db31116a09354ecbad86f967a329c9a3
\.


--
-- Data for Name: nurseries; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.nurseries (id, lease_until) FROM stdin;
\.


--
-- Data for Name: nursery_shards; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.nursery_shards (shard, nursery_id) FROM stdin;
\.


--
-- Data for Name: object_identities; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.object_identities (object_key, state, segment_id, changed_at) FROM stdin;
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-e04b-73f4-8bc5-87788166689d.parquet	1	01a20ebb-e112-7cc5-b3a1-2c12eb7ed229	2026-11-24 18:05:23.601448+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-e095-7bfa-9dbc-a8febd041be7.parquet	1	01a20ebb-e112-7d05-b1e0-15bbfa28a39b	2026-11-24 18:05:23.601448+00
dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged/01a20ebb-e042-72e9-86e6-0118c0dc72df.parquet	1	01a20ebb-e112-7d0c-aa83-14e6230ffc4a	2026-11-24 18:05:23.601448+00
dataset/01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3/merged/01a20ebb-e0d7-7274-a6de-763c29b8aaa6.parquet	1	01a20ebb-e112-7d11-9534-3a387953ac1e	2026-11-24 18:05:23.601448+00
dataset/01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3/merged/01a20ebb-e0e8-7816-9a81-44f6854f04f3.parquet	1	01a20ebb-e112-7d17-9356-9511a1475dc5	2026-11-24 18:05:23.601448+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-e32b-7c36-9012-2b31337e9564.parquet	1	01a20ebb-e35f-7ff7-96d7-f54f54274874	2026-11-24 18:05:24.190292+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-e4d2-737b-af32-716ccde9c08a.parquet	1	01a20ebb-e571-7df7-9447-d4280bf1e6a6	2026-11-24 18:05:24.719956+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-e501-7615-a086-9c8c652e7695.parquet	1	01a20ebb-e571-7e38-a68b-523426417faf	2026-11-24 18:05:24.719956+00
dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged/01a20ebb-e51d-75ce-8cd5-1a59dbfc9b35.parquet	1	01a20ebb-e571-7e3f-992a-37057ad1e607	2026-11-24 18:05:24.719956+00
dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged/01a20ebb-e526-70de-b964-de4d0922bbff.parquet	1	01a20ebb-e571-7e45-b7e8-63c6e06afadb	2026-11-24 18:05:24.719956+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-e780-76f2-af93-5a3e16332eb9.parquet	1	01a20ebb-e7ed-7e0c-a493-18fdd5ceddcd	2026-11-24 18:05:25.356687+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-e7a5-7877-846b-1d12b38cfef6.parquet	1	01a20ebb-e7ed-7e50-9df5-c7350794de41	2026-11-24 18:05:25.356687+00
dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged/01a20ebb-e774-7c8a-81c2-7a3e2d11f835.parquet	1	01a20ebb-e7ed-7e58-b085-953b6fe8531f	2026-11-24 18:05:25.356687+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-e90b-7992-a209-79efc02a89f0.parquet	1	01a20ebb-e924-7a4f-bb7e-1a9ee4bac845	2026-11-24 18:05:25.667414+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-edbd-7e88-811f-a586fa99909d.parquet	1	01a20ebb-ee31-7594-8645-97d1ea878fbb	2026-11-24 18:05:26.959129+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-edd2-70b1-b6ea-50345994af83.parquet	1	01a20ebb-ee31-75d1-9999-5fac4f0fb184	2026-11-24 18:05:26.959129+00
dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged/01a20ebb-edf8-725d-945b-562711ed123a.parquet	1	01a20ebb-ee31-75da-95a1-bbb6884b70c9	2026-11-24 18:05:26.959129+00
dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged/01a20ebb-ee01-708b-8aaa-8e5732805dc2.parquet	1	01a20ebb-ee31-75e0-94f3-0399364eac1c	2026-11-24 18:05:26.959129+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-f034-72c3-b522-be172140108a-1/01a20ebc-176f-7ced-afc6-c14acd70c4ff.parquet	1	01a20ebc-17a9-70c7-8358-0b1b3059d06e	2026-11-24 18:05:37.572074+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-f034-7233-bf6d-05961b2d6014-1/01a20ebc-18c2-76e1-b72c-a4e8f9565a54.parquet	1	01a20ebc-190d-7daa-a23f-13dbd32b606a	2026-11-24 18:05:37.931952+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebc-26dd-78f9-bf36-045828d7d2d1.parquet	1	01a20ebc-2703-74ad-b19e-8fc2dc674386	2026-11-24 18:05:41.506328+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebc-2b99-753e-ad0f-70215a285aa9.parquet	1	01a20ebc-2bc4-760a-9eb4-d1ef24da5ef6	2026-11-24 18:05:42.721772+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebc-3106-7b07-b81c-a23c37351aa1.parquet	1	01a20ebc-3146-708e-9d29-3d3bc3d8f4bb	2026-11-24 18:05:44.132904+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebc-3118-7a65-9bd3-4104f97cba87.parquet	1	01a20ebc-3146-70ca-acb0-a0ab2a8dcd22	2026-11-24 18:05:44.132904+00
dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebc-36a4-708c-be0d-f8a3e7ae6ef4.parquet	1	01a20ebc-3743-7d3e-a8b3-ca06c087a00d	2026-11-24 18:05:45.664215+00
\.


--
-- Data for Name: offset_checkpoints; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.offset_checkpoints (stream_id, dataset_id, version, stream_offset, ingest_timestamp_nanos, created_at) FROM stdin;
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	17	2	1795543513000000000	2026-11-24 18:05:23.606351+00
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	17	2	1795543514000000000	2026-11-24 18:05:23.606454+00
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6ce-7093-bfb1-67789b9e6643	17	2	1795543514000000000	2026-11-24 18:05:23.606456+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	18	5	1795543523000000000	2026-11-24 18:05:24.195986+00
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	19	5	1795543524000000000	2026-11-24 18:05:24.725584+00
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6ce-7093-bfb1-67789b9e6643	19	5	1795543524000000000	2026-11-24 18:05:24.725594+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	21	8	1795543525000000000	2026-11-24 18:05:25.359952+00
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	21	7	1795543525000000000	2026-11-24 18:05:25.359963+00
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6ce-7093-bfb1-67789b9e6643	21	7	1795543525000000000	2026-11-24 18:05:25.359965+00
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	22	8	1795543525000000000	2026-11-24 18:05:25.670238+00
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6ce-7093-bfb1-67789b9e6643	23	8	1795543525000000000	2026-11-24 18:05:26.311+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	24	11	1795543526000000000	2026-11-24 18:05:26.963382+00
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	24	11	1795543526000000000	2026-11-24 18:05:26.963389+00
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6ce-7093-bfb1-67789b9e6643	24	11	1795543526000000000	2026-11-24 18:05:26.963391+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	28	12	1795543539000000000	2026-11-24 18:05:39.849469+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	29	13	1795543539000000000	2026-11-24 18:05:40.226168+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	30	13	1795543539000000000	2026-11-24 18:05:40.458981+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	32	16	1795543541000000000	2026-11-24 18:05:41.509049+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	33	16	1795543541000000000	2026-11-24 18:05:42.134568+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	34	19	1795543542000000000	2026-11-24 18:05:42.728173+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	35	19	1795543542000000000	2026-11-24 18:05:43.362285+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	36	22	1795543543000000000	2026-11-24 18:05:44.135843+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	37	22	1795543543000000000	2026-11-24 18:05:44.786222+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	38	25	1795543545000000000	2026-11-24 18:05:45.671225+00
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	39	25	1795543545000000000	2026-11-24 18:05:46.123687+00
\.


--
-- Data for Name: parked_streams; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.parked_streams (stream_id, "offset", reason, parked_at) FROM stdin;
\.


--
-- Data for Name: pins; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.pins (id, owner, dataset_key, version, created_at, expires_at, ends_at, held_segments, held_bytes, holds_changes, principal) FROM stdin;
00000000-0000-0000-0000-000000000001	reader	2	24	2026-11-24 18:05:27.115062+00	2026-11-24 19:05:27.115062+00	2026-11-25 18:05:27.11506+00	0	0	f	META_AUTH_TOKEN
\.


--
-- Data for Name: projections; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.projections (id, name, projection, schema_id, created_at) FROM stdin;
01a20ebb-a728-7144-8599-21ab59431731	errors	where severity_number >= 17 | project severity_number, body	01a20ebb-a715-7173-b5df-7d7bbe46cfc1	2026-11-24 18:05:08.769661+00
01a20ebb-a745-79c4-9418-36a65289145b	unlinked	extend size = strlen(body)	\N	2026-11-24 18:05:08.805044+00
\.


--
-- Data for Name: promoted_columns; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.promoted_columns (dataset_id, "position", name, type, scope, attribute) FROM stdin;
01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	0	record	4	1	record.id
01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	1	attempt	2	1	attempt
\.


--
-- Data for Name: promoted_field_ids; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.promoted_field_ids (dataset_id, field_id, name, type, scope, attribute) FROM stdin;
01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	1000	record	4	1	record.id
01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	1002	attempt	2	1	attempt
\.


--
-- Data for Name: registration_segments; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.registration_segments (first_segment_id, segment_id) FROM stdin;
01a20ebb-e112-7cc5-b3a1-2c12eb7ed229	01a20ebb-e112-7d05-b1e0-15bbfa28a39b
01a20ebb-e112-7d11-9534-3a387953ac1e	01a20ebb-e112-7d17-9356-9511a1475dc5
01a20ebb-e571-7df7-9447-d4280bf1e6a6	01a20ebb-e571-7e38-a68b-523426417faf
01a20ebb-e571-7e3f-992a-37057ad1e607	01a20ebb-e571-7e45-b7e8-63c6e06afadb
01a20ebb-e7ed-7e0c-a493-18fdd5ceddcd	01a20ebb-e7ed-7e50-9df5-c7350794de41
01a20ebb-ee31-7594-8645-97d1ea878fbb	01a20ebb-ee31-75d1-9999-5fac4f0fb184
01a20ebb-ee31-75da-95a1-bbb6884b70c9	01a20ebb-ee31-75e0-94f3-0399364eac1c
01a20ebc-3146-708e-9d29-3d3bc3d8f4bb	01a20ebc-3146-70ca-acb0-a0ab2a8dcd22
\.


--
-- Data for Name: registrations; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.registrations (id, stream_id, dataset_id, start_offset, end_offset, ingest_time_nanos, version, segment_id, part, created_at) FROM stdin;
1	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	-1	2	1795543513000000000	17	01a20ebb-e112-7cc5-b3a1-2c12eb7ed229	0	2026-11-24 18:05:23.606094+00
2	01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	-1	2	1795543514000000000	17	01a20ebb-e112-7cc5-b3a1-2c12eb7ed229	0	2026-11-24 18:05:23.606326+00
3	01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6ce-7093-bfb1-67789b9e6643	-1	2	1795543514000000000	17	01a20ebb-e112-7d0c-aa83-14e6230ffc4a	0	2026-11-24 18:05:23.606333+00
4	01a20ebb-b84a-7915-bbd1-48c3ef4abb28	01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	-1	0	1795543513000000000	17	01a20ebb-e112-7d11-9534-3a387953ac1e	0	2026-11-24 18:05:23.606336+00
5	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	2	5	1795543523000000000	18	01a20ebb-e35f-7ff7-96d7-f54f54274874	0	2026-11-24 18:05:24.195657+00
6	01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	2	5	1795543524000000000	19	01a20ebb-e571-7df7-9447-d4280bf1e6a6	0	2026-11-24 18:05:24.725552+00
7	01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6ce-7093-bfb1-67789b9e6643	2	5	1795543524000000000	19	01a20ebb-e571-7e3f-992a-37057ad1e607	0	2026-11-24 18:05:24.725577+00
8	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	5	8	1795543525000000000	21	01a20ebb-e7ed-7e0c-a493-18fdd5ceddcd	0	2026-11-24 18:05:25.359837+00
9	01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	5	7	1795543525000000000	21	01a20ebb-e7ed-7e0c-a493-18fdd5ceddcd	0	2026-11-24 18:05:25.359865+00
10	01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6ce-7093-bfb1-67789b9e6643	5	7	1795543525000000000	21	01a20ebb-e7ed-7e58-b085-953b6fe8531f	0	2026-11-24 18:05:25.359869+00
11	01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	7	8	1795543525000000000	22	01a20ebb-e924-7a4f-bb7e-1a9ee4bac845	0	2026-11-24 18:05:25.670212+00
12	01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6ce-7093-bfb1-67789b9e6643	7	8	1795543525000000000	23	\N	0	2026-11-24 18:05:26.310832+00
13	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	8	11	1795543526000000000	24	01a20ebb-ee31-7594-8645-97d1ea878fbb	0	2026-11-24 18:05:26.963333+00
14	01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	8	11	1795543526000000000	24	01a20ebb-ee31-7594-8645-97d1ea878fbb	0	2026-11-24 18:05:26.96336+00
15	01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6ce-7093-bfb1-67789b9e6643	8	11	1795543526000000000	24	01a20ebb-ee31-75da-95a1-bbb6884b70c9	0	2026-11-24 18:05:26.963364+00
16	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	11	12	1795543539000000000	28	\N	0	2026-11-24 18:05:39.849337+00
17	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	12	13	1795543539000000000	29	\N	0	2026-11-24 18:05:40.226113+00
18	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	11	13	1795543539000000000	30	\N	0	2026-11-24 18:05:40.458939+00
19	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	13	16	1795543541000000000	32	01a20ebc-2703-74ad-b19e-8fc2dc674386	0	2026-11-24 18:05:41.509012+00
20	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	13	16	1795543541000000000	33	\N	0	2026-11-24 18:05:42.134527+00
21	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	16	19	1795543542000000000	34	01a20ebc-2bc4-760a-9eb4-d1ef24da5ef6	0	2026-11-24 18:05:42.728139+00
22	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	16	19	1795543542000000000	35	\N	0	2026-11-24 18:05:43.362247+00
23	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	19	22	1795543543000000000	36	01a20ebc-3146-708e-9d29-3d3bc3d8f4bb	0	2026-11-24 18:05:44.13581+00
24	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	19	22	1795543543000000000	37	\N	0	2026-11-24 18:05:44.786124+00
25	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	22	25	1795543545000000000	38	01a20ebc-3743-7d3e-a8b3-ca06c087a00d	0	2026-11-24 18:05:45.671187+00
26	01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	22	25	1795543545000000000	39	\N	0	2026-11-24 18:05:46.123647+00
\.


--
-- Data for Name: replays; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.replays (object_key, state, dataset_id, version, segment_ids, actor, reason, changed_at) FROM stdin;
quarantine/01a20ebb-b968-74d6-95ce-3d3852cc5260/00000000000000000013/01a20ebb-a750-7744-8cd1-0e6afed62c99-logs-0	3	\N	31	{}	root@vm	recorded	2026-11-24 18:05:40.950989+00
\.


--
-- Data for Name: rewrite_jobs; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.rewrite_jobs (id, dataset_key, state, format_version, start_ns, end_ns, version, tasks_max, bytes_per_sec, allowance_bytes, cursor_at, cursor_id, total_segments, total_bytes, done_segments, done_bytes, active_ms, created_at, due_at, advanced_at, planned_at, finished_at) FROM stdin;
00000000-0000-0000-0000-000000000002	3	2	\N	\N	\N	39	1	\N	0	1970-01-01 00:00:00+00	00000000-0000-0000-0000-000000000000	6	31721	0	0	0	2026-11-24 18:05:47.050969+00	2026-11-24 18:05:47.055228+00	2026-11-24 18:05:47.050969+00	\N	\N
\.


--
-- Data for Name: rewrites; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.rewrites (dataset_filter, version, started_at) FROM stdin;
\.


--
-- Data for Name: routing_changes; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.routing_changes (token_id, last_stream_id, changed_at) FROM stdin;
\.


--
-- Data for Name: routing_periods; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.routing_periods (stream_id, token_id, from_offset, logs_dataset_id, traces_dataset_id, metrics_dataset_id) FROM stdin;
01a20ebb-b84a-7915-bbd1-48c3ef4abb28	01a20ebb-a754-77f9-bc5c-2f3cdfc7ad7d	0	01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a749-7b83-b5a7-00455d1d41f3	0	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a750-7744-8cd1-0e6afed62c99	0	01a20ebb-a6ce-7093-bfb1-67789b9e6643	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a750-7744-8cd1-0e6afed62c99	12	01a20ebb-a6ce-7093-bfb1-67789b9e6643	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e
\.


--
-- Data for Name: schema_columns; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.schema_columns (schema_id, "position", name, type) FROM stdin;
01a20ebb-a715-7173-b5df-7d7bbe46cfc1	0	severity_number	1
01a20ebb-a715-7173-b5df-7d7bbe46cfc1	1	body	4
\.


--
-- Data for Name: schemas; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.schemas (id, name, created_at) FROM stdin;
01a20ebb-a715-7173-b5df-7d7bbe46cfc1	failures	2026-11-24 18:05:08.756079+00
\.


--
-- Data for Name: scrub_state; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.scrub_state (name, checked_through, objects, size_bytes, is_complete, began_at, holder, lease_until) FROM stdin;
janitor		18	290396	t	2026-11-24 18:05:27.467722+00	01a20ebb-f000-7768-8221-3b716d58a29b	2026-11-24 18:10:28.545916+00
\.


--
-- Data for Name: segment_lineage; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.segment_lineage (input_id, output_id) FROM stdin;
01a20ebb-e112-7d05-b1e0-15bbfa28a39b	01a20ebc-17a9-70c7-8358-0b1b3059d06e
01a20ebb-e571-7e38-a68b-523426417faf	01a20ebc-17a9-70c7-8358-0b1b3059d06e
01a20ebb-e7ed-7e50-9df5-c7350794de41	01a20ebc-17a9-70c7-8358-0b1b3059d06e
01a20ebb-e924-7a4f-bb7e-1a9ee4bac845	01a20ebc-17a9-70c7-8358-0b1b3059d06e
01a20ebb-ee31-75d1-9999-5fac4f0fb184	01a20ebc-17a9-70c7-8358-0b1b3059d06e
01a20ebb-e112-7cc5-b3a1-2c12eb7ed229	01a20ebc-190d-7daa-a23f-13dbd32b606a
01a20ebb-e35f-7ff7-96d7-f54f54274874	01a20ebc-190d-7daa-a23f-13dbd32b606a
01a20ebb-e571-7df7-9447-d4280bf1e6a6	01a20ebc-190d-7daa-a23f-13dbd32b606a
01a20ebb-e7ed-7e0c-a493-18fdd5ceddcd	01a20ebc-190d-7daa-a23f-13dbd32b606a
01a20ebb-ee31-7594-8645-97d1ea878fbb	01a20ebc-190d-7daa-a23f-13dbd32b606a
\.


--
-- Data for Name: segments; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.segments (id, dataset_key, dur_class, start_ns, end_ns, created_version, tombstone_version, tombstone_at, created_at, size_bytes, compressed_size_bytes, number_of_events, prefix, object_name, merge_count, quarantined_at, facts, signals, crc32c, crc32c_read_at, format_version, message) FROM stdin;
01a20ebb-e112-7d0c-aa83-14e6230ffc4a	3	3	1795218915516685670	1795218941175347059	17	\N	\N	2026-11-24 18:05:23.601448+00	1316	4509	2	dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged	01a20ebb-e042-72e9-86e6-0118c0dc72df.parquet	0	\N	\\x0802121a080110021a1408e6babccbf9c2f9f41810f3eebc96d9c3f9f418	2	2932985656	\N	2	\\x1233646174617365742f30316132306562622d613663652d373039332d626662312d3637373839623965363634332f6d6572676564122c30316132306562622d653034322d373265392d383665362d3031313863306463373264662e706172717565740a2430316132306562622d653131322d376430632d616138332d313465363233306666633461121408e6babccbf9c2f9f41810f3eebc96d9c3f9f41818a40a209d232802322430316132306562622d613663652d373039332d626662312d363737383962396536363433
01a20ebb-e112-7d11-9534-3a387953ac1e	5	4	1795219101266522999	1795219176274654937	17	\N	\N	2026-11-24 18:05:23.601448+00	1506	5791	2	dataset/01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3/merged	01a20ebb-e0d7-7274-a6de-763c29b8aaa6.parquet	0	\N	\\x0802121a080110021a1408f7e6f2c7adc8f9f41810d9edc7fec4caf9f418	2	1188984284	\N	2	\\x1233646174617365742f30316132306562622d613665332d373830302d623861322d6437663563623262626166332f6d6572676564122c30316132306562622d653064372d373237342d613664652d3736336332396238616161362e706172717565740a2430316132306562622d653131322d376431312d393533342d336133383739353361633165121408f7e6f2c7adc8f9f41810d9edc7fec4caf9f41818e20b209f2d2802322430316132306562622d613665332d373830302d623861322d643766356362326262616633
01a20ebb-e112-7d17-9356-9511a1475dc5	5	3	1795219297076948325	1795219357960609759	17	\N	\N	2026-11-24 18:05:23.601448+00	1495	5766	2	dataset/01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3/merged	01a20ebb-e0e8-7816-9a81-44f6854f04f3.parquet	0	\N	\\x0802121a080110021a1408e5daca8187cef9f41810dfbf96e9e9cff9f418	2	1666686512	\N	2	\\x1233646174617365742f30316132306562622d613665332d373830302d623861322d6437663563623262626166332f6d6572676564122c30316132306562622d653065382d373831362d396138312d3434663638353466303466332e706172717565740a2430316132306562622d653131322d376431372d393335362d393531316131343735646335121408e5daca8187cef9f41810dfbf96e9e9cff9f41818d70b20862d2802322430316132306562622d613665332d373830302d623861322d643766356362326262616633
01a20ebb-e571-7e3f-992a-37057ad1e607	3	0	1795219183548671318	1795219183548671318	19	\N	\N	2026-11-24 18:05:24.719956+00	1384	5673	1	dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged	01a20ebb-e51d-75ce-8cd5-1a59dbfc9b35.parquet	0	\N	\\x0802121a080110011a1408d6ca8a8be0caf9f41810d6ca8a8be0caf9f418	2	493259266	\N	2	\\x1233646174617365742f30316132306562622d613663652d373039332d626662312d3637373839623965363634332f6d6572676564122c30316132306562622d653531642d373563652d386364352d3161353964626663396233352e706172717565740a2430316132306562622d653537312d376533662d393932612d333730353761643165363037121408d6ca8a8be0caf9f41810d6ca8a8be0caf9f41818e80a20a92c2801322430316132306562622d613663652d373039332d626662312d363737383962396536363433
01a20ebb-e571-7e45-b7e8-63c6e06afadb	3	0	1795219412773023149	1795219412773023149	19	\N	\N	2026-11-24 18:05:24.719956+00	1384	5673	1	dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged	01a20ebb-e526-70de-b964-de4d0922bbff.parquet	0	\N	\\x0802121a080110011a1408addbe281b6d1f9f41810addbe281b6d1f9f418	2	2891005713	\N	2	\\x1233646174617365742f30316132306562622d613663652d373039332d626662312d3637373839623965363634332f6d6572676564122c30316132306562622d653532362d373064652d623936342d6465346430393232626266662e706172717565740a2430316132306562622d653537312d376534352d623765382d363363366530366166616462121408addbe281b6d1f9f41810addbe281b6d1f9f41818e80a20a92c2801322430316132306562622d613663652d373039332d626662312d363737383962396536363433
01a20ebb-e7ed-7e58-b085-953b6fe8531f	3	3	1795219295596540548	1795219314635842985	21	\N	\N	2026-11-24 18:05:25.356687+00	1312	4494	2	dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged	01a20ebb-e774-7c8a-81c2-7a3e2d11f835.parquet	0	\N	\\x0802121a080110021a140884e5d5bf81cef9f41810a9cba8b6c8cef9f418	2	2810290833	\N	2	\\x1233646174617365742f30316132306562622d613663652d373039332d626662312d3637373839623965363634332f6d6572676564122c30316132306562622d653737342d376338612d383163322d3761336532643131663833352e706172717565740a2430316132306562622d653765642d376535382d623038352d39353362366665383533316612140884e5d5bf81cef9f41810a9cba8b6c8cef9f41818a00a208e232802322430316132306562622d613663652d373039332d626662312d363737383962396536363433
01a20ebc-190d-7daa-a23f-13dbd32b606a	2	5	1795218906581974390	1795219183548671318	26	\N	\N	2026-11-24 18:05:37.931952+00	15126	39531	32	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-f034-7233-bf6d-05961b2d6014-1	01a20ebc-18c2-76e1-b72c-a4e8f9565a54.parquet	1	\N	\\x0802121a080110081a1408f6fa88a7d8c2f9f41810fee6b9e8f4c9f9f418121a0802100c1a1408f6fa88a7d8c2f9f41810d6ca8a8be0caf9f418121a0803100c1a1408f6fa88a7d8c2f9f41810d6ca8a8be0caf9f4181a04e807ea07	14	4262154603	\N	2	\\x125a646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d65726765642f30316132306562622d663033342d373233332d626636642d3035393631623264363031342d31122c30316132306562632d313863322d373665312d623732632d6134653866393536356135342e706172717565740a2430316132306562632d313930642d376461612d613233662d313364626433326236303661121408f6fa88a7d8c2f9f41810d6ca8a8be0caf9f41818967620ebb4022820322430316132306562622d613663312d376436332d626338322d366431646337356232323265b00601
01a20ebb-e35f-7ff7-96d7-f54f54274874	2	3	1795219064147905834	1795219112161812848	18	26	2026-11-24 18:05:37.938527+00	2026-11-24 18:05:24.190292+00	4298	11812	6	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebb-e32b-7c36-9012-2b31337e9564.parquet	0	\N	\\x0802121a080110021a1408aa9aaea4a3c7f9f41810f0c29693d6c8f9f418121a080210021a1408aa9aaea4a3c7f9f41810f0c29693d6c8f9f418121a080310021a1408aa9aaea4a3c7f9f41810f0c29693d6c8f9f4181a04e807ea07	14	806897623	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562622d653332622d376333362d393031322d3262333133333765393536342e706172717565740a2430316132306562622d653335662d376666372d393664372d663534663534323734383734121408aa9aaea4a3c7f9f41810f0c29693d6c8f9f41818ca2120a45c2806322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebb-e7ed-7e0c-a493-18fdd5ceddcd	2	4	1795218934683531985	1795219120937583802	21	26	2026-11-24 18:05:37.938605+00	2026-11-24 18:05:25.356687+00	10805	36967	6	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebb-e780-76f2-af93-5a3e16332eb9.parquet	0	\N	\\x0802121a080110021a1408d1f5f7fec0c3f9f41810ba89e5ebf6c8f9f418121a080210021a1408d1f5f7fec0c3f9f41810ba89e5ebf6c8f9f418121a080310021a1408d1f5f7fec0c3f9f41810ba89e5ebf6c8f9f4181a04e807ea07	14	2529165514	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562622d653738302d373666322d616639332d3561336531363333326562392e706172717565740a2430316132306562622d653765642d376530632d613439332d313866646435636564646364121408d1f5f7fec0c3f9f41810ba89e5ebf6c8f9f41818b55420e7a0022806322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebb-e112-7cc5-b3a1-2c12eb7ed229	2	4	1795218906581974390	1795219154753450878	17	26	2026-11-24 18:05:37.938614+00	2026-11-24 18:05:23.601448+00	13071	38536	16	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebb-e04b-73f4-8bc5-87788166689d.parquet	0	\N	\\x0802121a080110041a1408f6fa88a7d8c2f9f41810fee6b9e8f4c9f9f418121a080210061a1408f6fa88a7d8c2f9f41810fee6b9e8f4c9f9f418121a080310061a1408f6fa88a7d8c2f9f41810fee6b9e8f4c9f9f4181a04e807ea07	14	2607420953	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562622d653034622d373366342d386263352d3837373838313636363839642e706172717565740a2430316132306562622d653131322d376363352d623361312d326331326562376564323239121408f6fa88a7d8c2f9f41810fee6b9e8f4c9f9f418188f662088ad022810322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebb-ee31-75da-95a1-bbb6884b70c9	3	0	1795219167349572474	1795219167349572474	24	\N	\N	2026-11-24 18:05:26.959129+00	1390	5691	1	dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged	01a20ebb-edf8-725d-945b-562711ed123a.parquet	0	\N	\\x0802121a080110011a1408fa86e0dea3caf9f41810fa86e0dea3caf9f418	2	672209848	\N	2	\\x1233646174617365742f30316132306562622d613663652d373039332d626662312d3637373839623965363634332f6d6572676564122c30316132306562622d656466382d373235642d393435622d3536323731316564313233612e706172717565740a2430316132306562622d656533312d373564612d393561312d626262363838346237306339121408fa86e0dea3caf9f41810fa86e0dea3caf9f41818ee0a20bb2c2801322430316132306562622d613663652d373039332d626662312d363737383962396536363433
01a20ebb-ee31-75e0-94f3-0399364eac1c	3	0	1795219437038455267	1795219437038455267	24	\N	\N	2026-11-24 18:05:26.959129+00	1386	5681	1	dataset/01a20ebb-a6ce-7093-bfb1-67789b9e6643/merged	01a20ebb-ee01-708b-8aaa-8e5732805dc2.parquet	0	\N	\\x0802121a080110011a1408e393b7b490d2f9f41810e393b7b490d2f9f418	2	326173791	\N	2	\\x1233646174617365742f30316132306562622d613663652d373039332d626662312d3637373839623965363634332f6d6572676564122c30316132306562622d656530312d373038622d386161612d3865353733323830356463322e706172717565740a2430316132306562622d656533312d373565302d393466332d303339393336346561633163121408e393b7b490d2f9f41810e393b7b490d2f9f41818ea0a20b12c2801322430316132306562622d613663652d373039332d626662312d363737383962396536363433
01a20ebc-17a9-70c7-8358-0b1b3059d06e	2	4	1795219295596540548	1795219445502675053	25	\N	\N	2026-11-24 18:05:37.572074+00	14360	39167	26	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged/01a20ebb-f034-72c3-b522-be172140108a-1	01a20ebc-176f-7ced-afc6-c14acd70c4ff.parquet	1	\N	\\x0802121a080110061a14089fd9e38a90cff9f41810ed90bef8afd2f9f418121a0802100a1a140884e5d5bf81cef9f41810ed90bef8afd2f9f418121a0803100a1a140884e5d5bf81cef9f41810ed90bef8afd2f9f4181a04e807ea07	14	293487197	\N	2	\\x125a646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d65726765642f30316132306562622d663033342d373263332d623532322d6265313732313430313038612d31122c30316132306562632d313736662d376365642d616663362d6331346163643730633466662e706172717565740a2430316132306562632d313761392d373063372d383335382d30623162333035396430366512140884e5d5bf81cef9f41810ed90bef8afd2f9f41818987020ffb102281a322430316132306562622d613663312d376436332d626338322d366431646337356232323265b00601
01a20ebb-e7ed-7e50-9df5-c7350794de41	2	3	1795219295596540548	1795219314635842985	21	25	2026-11-24 18:05:37.580736+00	2026-11-24 18:05:25.356687+00	2409	9632	2	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebb-e7a5-7877-846b-1d12b38cfef6.parquet	0	\N	\\x0802121a080310021a140884e5d5bf81cef9f41810a9cba8b6c8cef9f4181a04e807ea07	8	1341336181	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562622d653761352d373837372d383436622d3164313262333863666566362e706172717565740a2430316132306562622d653765642d376535302d396466352d63373335303739346465343112140884e5d5bf81cef9f41810a9cba8b6c8cef9f41818e91220a04b2802322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebb-e924-7a4f-bb7e-1a9ee4bac845	2	3	1795219295596540548	1795219314635842985	22	25	2026-11-24 18:05:37.58104+00	2026-11-24 18:05:25.667414+00	1989	6201	2	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebb-e90b-7992-a209-79efc02a89f0.parquet	0	\N	\\x0802121a080210021a140884e5d5bf81cef9f41810a9cba8b6c8cef9f4181a04e807ea07	4	3453683532	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562622d653930622d373939322d613230392d3739656663303261383966302e706172717565740a2430316132306562622d653932342d376134662d626237652d31613965653462616338343512140884e5d5bf81cef9f41810a9cba8b6c8cef9f41818c50f20b9302802322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebb-e112-7d05-b1e0-15bbfa28a39b	2	4	1795219333871889567	1795219408306002439	17	25	2026-11-24 18:05:37.581051+00	2026-11-24 18:05:23.601448+00	12597	38287	12	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebb-e095-7bfa-9dbc-a8febd041be7.parquet	0	\N	\\x0802121a080110041a14089fd9e38a90cff9f4181087b4ddafa5d1f9f418121a080210041a14089fd9e38a90cff9f4181087b4ddafa5d1f9f418121a080310041a14089fd9e38a90cff9f4181087b4ddafa5d1f9f4181a04e807ea07	14	417526876	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562622d653039352d376266612d396462632d6138666562643034316265372e706172717565740a2430316132306562622d653131322d376430352d623165302d3135626266613238613339621214089fd9e38a90cff9f4181087b4ddafa5d1f9f41818b562208fab02280c322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebb-e571-7e38-a68b-523426417faf	2	0	1795219412773023149	1795219412773023149	19	25	2026-11-24 18:05:37.581057+00	2026-11-24 18:05:24.719956+00	6135	22639	2	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebb-e501-7615-a086-9c8c652e7695.parquet	0	\N	\\x0802121a080210011a1408addbe281b6d1f9f41810addbe281b6d1f9f418121a080310011a1408addbe281b6d1f9f41810addbe281b6d1f9f4181a04e807ea07	12	2429814632	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562622d653530312d373631352d613038362d3963386336353265373639352e706172717565740a2430316132306562622d653537312d376533382d613638622d353233343236343137666166121408addbe281b6d1f9f41810addbe281b6d1f9f41818f72f20efb0012802322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebb-ee31-75d1-9999-5fac4f0fb184	2	2	1795219435102452561	1795219445502675053	24	25	2026-11-24 18:05:37.581063+00	2026-11-24 18:05:26.959129+00	11622	37697	8	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebb-edd2-70b1-b6ea-50345994af83.parquet	0	\N	\\x0802121a080110021a1408d1f6a29989d2f9f41810ed90bef8afd2f9f418121a080210031a1408d1f6a29989d2f9f41810ed90bef8afd2f9f418121a080310031a1408d1f6a29989d2f9f41810ed90bef8afd2f9f4181a04e807ea07	14	4008449831	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562622d656464322d373062312d623665612d3530333435393934616638332e706172717565740a2430316132306562622d656533312d373564312d393939392d356661633466306662313834121408d1f6a29989d2f9f41810ed90bef8afd2f9f41818e65a20c1a6022808322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebc-2bc4-760a-9eb4-d1ef24da5ef6	2	4	1795218969488752977	1795219076390116014	34	\N	\N	2026-11-24 18:05:42.721772+00	4318	11831	6	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebc-2b99-753e-ad0f-70215a285aa9.parquet	0	\N	\\x0802121a080110021a1408d182aed3c2c4f9f41810aeb5f3f1d0c7f9f418121a080210021a1408d182aed3c2c4f9f41810aeb5f3f1d0c7f9f418121a080310021a1408d182aed3c2c4f9f41810aeb5f3f1d0c7f9f4181a04e807ea07	14	3278826059	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562632d326239392d373533652d616430662d3730323135613238356161392e706172717565740a2430316132306562632d326263342d373630612d396562342d643165663234646135656636121408d182aed3c2c4f9f41810aeb5f3f1d0c7f9f41818de2120b75c2806322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebc-3146-708e-9d29-3d3bc3d8f4bb	2	0	1795219039692588092	1795219039692588092	36	\N	\N	2026-11-24 18:05:44.132904+00	10277	36606	3	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebc-3106-7b07-b81c-a23c37351aa1.parquet	0	\N	\\x0802121a080110011a1408bc889497c8c6f9f41810bc889497c8c6f9f418121a080210011a1408bc889497c8c6f9f41810bc889497c8c6f9f418121a080310011a1408bc889497c8c6f9f41810bc889497c8c6f9f4181a04e807ea07	14	3342735035	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562632d333130362d376230372d623831632d6132336333373335316161312e706172717565740a2430316132306562632d333134362d373038652d396432392d336433626333643866346262121408bc889497c8c6f9f41810bc889497c8c6f9f41818a55020fe9d022803322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebc-3146-70ca-acb0-a0ab2a8dcd22	2	0	1795219247743286229	1795219247743286229	36	\N	\N	2026-11-24 18:05:44.132904+00	10278	36597	3	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebc-3118-7a65-9bd3-4104f97cba87.parquet	0	\N	\\x0802121a080110011a1408d5f7ba9dcfccf9f41810d5f7ba9dcfccf9f418121a080210011a1408d5f7ba9dcfccf9f41810d5f7ba9dcfccf9f418121a080310011a1408d5f7ba9dcfccf9f41810d5f7ba9dcfccf9f4181a04e807ea07	14	4154657677	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562632d333131382d376136352d396264332d3431303466393763626138372e706172717565740a2430316132306562632d333134362d373063612d616362302d613061623261386463643232121408d5f7ba9dcfccf9f41810d5f7ba9dcfccf9f41818a65020f59d022803322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebb-ee31-7594-8645-97d1ea878fbb	2	0	1795219167349572474	1795219167349572474	24	26	2026-11-24 18:05:37.938621+00	2026-11-24 18:05:26.959129+00	6147	22709	2	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebb-edbd-7e88-811f-a586fa99909d.parquet	0	\N	\\x0802121a080210011a1408fa86e0dea3caf9f41810fa86e0dea3caf9f418121a080310011a1408fa86e0dea3caf9f41810fa86e0dea3caf9f4181a04e807ea07	12	741231195	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562622d656462642d376538382d383131662d6135383666613939393039642e706172717565740a2430316132306562622d656533312d373539342d383634352d393764316561383738666262121408fa86e0dea3caf9f41810fa86e0dea3caf9f41818833020b5b1012802322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebb-e571-7df7-9447-d4280bf1e6a6	2	0	1795219183548671318	1795219183548671318	19	26	2026-11-24 18:05:37.93875+00	2026-11-24 18:05:24.719956+00	6134	22638	2	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebb-e4d2-737b-af32-716ccde9c08a.parquet	0	\N	\\x0802121a080210011a1408d6ca8a8be0caf9f41810d6ca8a8be0caf9f418121a080310011a1408d6ca8a8be0caf9f41810d6ca8a8be0caf9f4181a04e807ea07	12	2476677942	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562622d653464322d373337622d616633322d3731366363646539633038612e706172717565740a2430316132306562622d653537312d376466372d393434372d643432383062663165366136121408d6ca8a8be0caf9f41810d6ca8a8be0caf9f41818f62f20eeb0012802322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebc-2703-74ad-b19e-8fc2dc674386	2	4	1795218917721862491	1795219111779152475	32	\N	\N	2026-11-24 18:05:41.506328+00	4294	11808	6	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebc-26dd-78f9-bf36-045828d7d2d1.parquet	0	\N	\\x0802121a080110021a1408dbe2fde681c3f9f41810dbe4dadcd4c8f9f418121a080210021a1408dbe2fde681c3f9f41810dbe4dadcd4c8f9f418121a080310021a1408dbe2fde681c3f9f41810dbe4dadcd4c8f9f4181a04e807ea07	14	3886732353	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562632d323664642d373866392d626633362d3034353832386437643264312e706172717565740a2430316132306562632d323730332d373461642d623139652d386663326463363734333836121408dbe2fde681c3f9f41810dbe4dadcd4c8f9f41818c62120a05c2806322430316132306562622d613663312d376436332d626338322d366431646337356232323265
01a20ebc-3743-7d3e-a8b3-ca06c087a00d	2	4	1795219226027090442	1795219479725779136	38	\N	\N	2026-11-24 18:05:45.664215+00	4304	11814	6	dataset/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/merged	01a20ebc-36a4-708c-be0d-f8a3e7ae6ef4.parquet	0	\N	\\x0802121a080110021a14088ac4afaafecbf9f41810c0d1aab7afd3f9f418121a080210021a14088ac4afaafecbf9f41810c0d1aab7afd3f9f418121a080310021a14088ac4afaafecbf9f41810c0d1aab7afd3f9f4181a04e807ea07	14	3564214507	\N	2	\\x1233646174617365742f30316132306562622d613663312d376436332d626338322d3664316463373562323232652f6d6572676564122c30316132306562632d333661342d373038632d626530642d6638613365376165366566342e706172717565740a2430316132306562632d333734332d376433652d613862332d6361303663303837613030641214088ac4afaafecbf9f41810c0d1aab7afd3f9f41818d02120a65c2806322430316132306562622d613663312d376436332d626338322d366431646337356232323265
\.


--
-- Data for Name: sharding_fields; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.sharding_fields (dataset_id, "position", field_name, weight) FROM stdin;
01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	0	service_name	2
\.


--
-- Data for Name: stream_datasets; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.stream_datasets (stream_id, dataset_id, merged_offset, merged_ingest_time_nanos, base_offset, created_at, changed_version) FROM stdin;
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	11	1795543526000000000	-1	2026-11-24 18:05:13.900942+00	24
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a6ce-7093-bfb1-67789b9e6643	11	1795543526000000000	-1	2026-11-24 18:05:13.900942+00	24
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	25	1795543545000000000	-1	2026-11-24 18:05:13.433928+00	38
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a6ce-7093-bfb1-67789b9e6643	25	1795543545000000000	11	2026-11-24 18:05:39.435947+00	39
\.


--
-- Data for Name: stream_heads; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.stream_heads (stream_id, committed_offset, last_activity_at, is_stopped, is_pending, removal_count) FROM stdin;
01a20ebb-bb35-7572-b055-05e957fdd489	14	2026-11-24 18:05:48.393093+00	f	t	0
01a20ebb-b968-74d6-95ce-3d3852cc5260	29	2026-11-24 18:05:48.401045+00	t	t	0
01a20ebb-b84a-7915-bbd1-48c3ef4abb28	0	2026-11-24 18:05:13.203615+00	f	f	1
\.


--
-- Data for Name: stream_removals; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.stream_removals (version, stream_id, dataset_id, shard_hash, removed_at) FROM stdin;
41	01a20ebb-b84a-7915-bbd1-48c3ef4abb28	01a20ebb-a6e3-7800-b8a2-d7f5cb2bbaf3	1867168552	2026-11-24 18:05:47.176953+00
\.


--
-- Data for Name: stream_tokens; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.stream_tokens (stream_id, token_id, registered_at, revoked_offset) FROM stdin;
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a749-7b83-b5a7-00455d1d41f3	2026-11-24 18:05:13.433928+00	\N
01a20ebb-bb35-7572-b055-05e957fdd489	01a20ebb-a750-7744-8cd1-0e6afed62c99	2026-11-24 18:05:13.900942+00	\N
01a20ebb-b968-74d6-95ce-3d3852cc5260	01a20ebb-a750-7744-8cd1-0e6afed62c99	2026-11-24 18:05:39.435947+00	\N
01a20ebb-b84a-7915-bbd1-48c3ef4abb28	01a20ebb-a754-77f9-bc5c-2f3cdfc7ad7d	2026-11-24 18:05:13.157559+00	0
\.


--
-- Data for Name: table_objects; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.table_objects (id, dataset_key, digest, object_key, size_bytes, gap_end, handed_out_at, examined_at) FROM stdin;
1	2	\\x96c3a0b153b11c4d7a28959d0098b768c72b8501052fe76976130fa619aa1a3c	iceberg/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/1795543547-01a20ebc-3b6f-7083-b8db-c6ca4ab3fd94/manifest.avro	7449	0	2026-11-24 18:05:46.737436+00	2026-11-24 18:05:46.737436+00
2	2	\\x9ffd7fcbf092082f3a11c2828e854af87e5154a5544fb780f0f00edad8f0e896	iceberg/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/1795543547-01a20ebc-3b7e-7711-86e7-202f3ba9d5fd/snapshot-39.avro	1654	0	2026-11-24 18:05:46.753944+00	2026-11-24 18:05:46.753944+00
3	2	\\x08b9559a1160d2e50b2ea871de11a28b2774ebf920920dca9ac1d2cd08e4a11b	iceberg/01a20ebb-a6c1-7d63-bc82-6d1dc75b222e/1795543547-01a20ebc-3b8e-70d0-b24d-fdef32eb7c15/v39.metadata.json	10060	0	2026-11-24 18:05:46.770983+00	2026-11-24 18:05:46.770983+00
\.


--
-- Data for Name: table_snapshots; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.table_snapshots (dataset_key, version, object_ids, gap_end, committed_at_ms, segments, number_of_events, size_bytes, handed_out_at, examined_at) FROM stdin;
2	39	{2,1}	0	1795543545664	7	82	187354	2026-11-24 18:05:46.770983+00	2026-11-24 18:05:46.770983+00
\.


--
-- Data for Name: version_gaps; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.version_gaps (gap_start, gap_end) FROM stdin;
\.


--
-- Data for Name: view_dataset_projections; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.view_dataset_projections (id, view_id, dataset_id, projection_id) FROM stdin;
01a20ebb-a733-7d1f-b0cd-e13d2eb543c3	01a20ebb-a71c-7cc3-bc97-1c4298885a8d	01a20ebb-a6c1-7d63-bc82-6d1dc75b222e	01a20ebb-a728-7144-8599-21ab59431731
01a20ebb-a73b-756b-8787-9ef1d1ee39ec	01a20ebb-a71c-7cc3-bc97-1c4298885a8d	01a20ebb-a6ce-7093-bfb1-67789b9e6643	01a20ebb-a728-7144-8599-21ab59431731
\.


--
-- Data for Name: views; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.views (id, name, description, schema_id, created_at) FROM stdin;
01a20ebb-a71c-7cc3-bc97-1c4298885a8d	failures	all errors	01a20ebb-a715-7173-b5df-7d7bbe46cfc1	2026-11-24 18:05:08.763502+00
01a20ebb-a741-75cc-99c7-093f39fd5aa6	unlinked	\N	\N	2026-11-24 18:05:08.801087+00
\.


--
-- Name: audit_log_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.audit_log_id_seq', 36, true);


--
-- Name: datasets_key_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.datasets_key_seq', 5, true);


--
-- Name: denied_calls_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.denied_calls_id_seq', 1, true);


--
-- Name: registrations_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.registrations_id_seq', 26, true);


--
-- Name: table_objects_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.table_objects_id_seq', 3, true);


--
-- Name: access_tokens access_tokens_digest_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.access_tokens
    ADD CONSTRAINT access_tokens_digest_key UNIQUE (digest);


--
-- Name: access_tokens access_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.access_tokens
    ADD CONSTRAINT access_tokens_pkey PRIMARY KEY (id);


--
-- Name: alembic_version alembic_version_pkc; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);


--
-- Name: audit_log audit_log_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);


--
-- Name: baby_segments baby_segments_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.baby_segments
    ADD CONSTRAINT baby_segments_pkey PRIMARY KEY (stream_id, "offset");


--
-- Name: catalog_authors catalog_authors_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.catalog_authors
    ADD CONSTRAINT catalog_authors_pkey PRIMARY KEY (entry_id);


--
-- Name: clock_gaps clock_gaps_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clock_gaps
    ADD CONSTRAINT clock_gaps_pkey PRIMARY KEY (gap_end);


--
-- Name: clock_state clock_state_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.clock_state
    ADD CONSTRAINT clock_state_pkey PRIMARY KEY (id);


--
-- Name: damaged_objects damaged_objects_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.damaged_objects
    ADD CONSTRAINT damaged_objects_pkey PRIMARY KEY (object_key);


--
-- Name: dataset_stats dataset_stats_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.dataset_stats
    ADD CONSTRAINT dataset_stats_pkey PRIMARY KEY (dataset_key);


--
-- Name: dataset_usage dataset_usage_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.dataset_usage
    ADD CONSTRAINT dataset_usage_pkey PRIMARY KEY (dataset_id, month, slot);


--
-- Name: dataset_visibility dataset_visibility_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.dataset_visibility
    ADD CONSTRAINT dataset_visibility_pkey PRIMARY KEY (dataset_key, from_version);


--
-- Name: datasets datasets_key_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.datasets
    ADD CONSTRAINT datasets_key_unique UNIQUE (key);


--
-- Name: datasets datasets_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.datasets
    ADD CONSTRAINT datasets_pkey PRIMARY KEY (id);


--
-- Name: deletion_brakes deletion_brakes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deletion_brakes
    ADD CONSTRAINT deletion_brakes_pkey PRIMARY KEY (dataset_key);


--
-- Name: denied_calls denied_calls_kind_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.denied_calls
    ADD CONSTRAINT denied_calls_kind_key UNIQUE (minute, host, reason);


--
-- Name: denied_calls denied_calls_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.denied_calls
    ADD CONSTRAINT denied_calls_pkey PRIMARY KEY (id);


--
-- Name: excess_allowances excess_allowances_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.excess_allowances
    ADD CONSTRAINT excess_allowances_pkey PRIMARY KEY (dataset_id);


--
-- Name: ingest_streams ingest_streams_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ingest_streams
    ADD CONSTRAINT ingest_streams_pkey PRIMARY KEY (id);


--
-- Name: ingest_tokens ingest_tokens_digest_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ingest_tokens
    ADD CONSTRAINT ingest_tokens_digest_unique UNIQUE (digest);


--
-- Name: ingest_tokens ingest_tokens_name_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ingest_tokens
    ADD CONSTRAINT ingest_tokens_name_unique UNIQUE (name);


--
-- Name: ingest_tokens ingest_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ingest_tokens
    ADD CONSTRAINT ingest_tokens_pkey PRIMARY KEY (id);


--
-- Name: lineage_ends lineage_ends_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.lineage_ends
    ADD CONSTRAINT lineage_ends_pkey PRIMARY KEY (segment_id);


--
-- Name: link_columns link_columns_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.link_columns
    ADD CONSTRAINT link_columns_pkey PRIMARY KEY (link_id, kind, name);


--
-- Name: losses losses_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.losses
    ADD CONSTRAINT losses_pkey PRIMARY KEY (id);


--
-- Name: merge_attempts merge_attempts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.merge_attempts
    ADD CONSTRAINT merge_attempts_pkey PRIMARY KEY (task_id, attempt);


--
-- Name: merge_task_inputs merge_task_inputs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.merge_task_inputs
    ADD CONSTRAINT merge_task_inputs_pkey PRIMARY KEY (segment_id);


--
-- Name: merge_tasks merge_tasks_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.merge_tasks
    ADD CONSTRAINT merge_tasks_pkey PRIMARY KEY (id);


--
-- Name: meta_state meta_state_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.meta_state
    ADD CONSTRAINT meta_state_pkey PRIMARY KEY (id);


--
-- Name: nurseries nurseries_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.nurseries
    ADD CONSTRAINT nurseries_pkey PRIMARY KEY (id);


--
-- Name: nursery_shards nursery_shards_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.nursery_shards
    ADD CONSTRAINT nursery_shards_pkey PRIMARY KEY (shard);


--
-- Name: object_identities object_identities_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.object_identities
    ADD CONSTRAINT object_identities_pkey PRIMARY KEY (object_key);


--
-- Name: offset_checkpoints offset_checkpoints_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.offset_checkpoints
    ADD CONSTRAINT offset_checkpoints_pkey PRIMARY KEY (stream_id, dataset_id, version);


--
-- Name: parked_streams parked_streams_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.parked_streams
    ADD CONSTRAINT parked_streams_pkey PRIMARY KEY (stream_id);


--
-- Name: pins pins_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.pins
    ADD CONSTRAINT pins_pkey PRIMARY KEY (id);


--
-- Name: projections projections_name_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.projections
    ADD CONSTRAINT projections_name_unique UNIQUE (name);


--
-- Name: projections projections_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.projections
    ADD CONSTRAINT projections_pkey PRIMARY KEY (id);


--
-- Name: promoted_columns promoted_columns_dataset_id_name_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.promoted_columns
    ADD CONSTRAINT promoted_columns_dataset_id_name_unique UNIQUE (dataset_id, name);


--
-- Name: promoted_columns promoted_columns_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.promoted_columns
    ADD CONSTRAINT promoted_columns_pkey PRIMARY KEY (dataset_id, "position");


--
-- Name: promoted_field_ids promoted_field_ids_dataset_id_name_type_scope_attribute_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.promoted_field_ids
    ADD CONSTRAINT promoted_field_ids_dataset_id_name_type_scope_attribute_unique UNIQUE (dataset_id, name, type, scope, attribute);


--
-- Name: promoted_field_ids promoted_field_ids_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.promoted_field_ids
    ADD CONSTRAINT promoted_field_ids_pkey PRIMARY KEY (dataset_id, field_id);


--
-- Name: registration_segments registration_segments_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.registration_segments
    ADD CONSTRAINT registration_segments_pkey PRIMARY KEY (first_segment_id, segment_id);


--
-- Name: registrations registrations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.registrations
    ADD CONSTRAINT registrations_pkey PRIMARY KEY (id);


--
-- Name: registrations registrations_stream_id_dataset_id_end_offset_part_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.registrations
    ADD CONSTRAINT registrations_stream_id_dataset_id_end_offset_part_unique UNIQUE (stream_id, dataset_id, end_offset, part);


--
-- Name: replays replays_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.replays
    ADD CONSTRAINT replays_pkey PRIMARY KEY (object_key);


--
-- Name: rewrite_jobs rewrite_jobs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rewrite_jobs
    ADD CONSTRAINT rewrite_jobs_pkey PRIMARY KEY (id);


--
-- Name: rewrites rewrites_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.rewrites
    ADD CONSTRAINT rewrites_pkey PRIMARY KEY (dataset_filter);


--
-- Name: routing_changes routing_changes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.routing_changes
    ADD CONSTRAINT routing_changes_pkey PRIMARY KEY (token_id);


--
-- Name: routing_periods routing_periods_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.routing_periods
    ADD CONSTRAINT routing_periods_pkey PRIMARY KEY (stream_id, token_id, from_offset);


--
-- Name: schema_columns schema_columns_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_columns
    ADD CONSTRAINT schema_columns_pkey PRIMARY KEY (schema_id, "position");


--
-- Name: schema_columns schema_columns_schema_id_name_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_columns
    ADD CONSTRAINT schema_columns_schema_id_name_unique UNIQUE (schema_id, name);


--
-- Name: schemas schemas_name_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schemas
    ADD CONSTRAINT schemas_name_unique UNIQUE (name);


--
-- Name: schemas schemas_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schemas
    ADD CONSTRAINT schemas_pkey PRIMARY KEY (id);


--
-- Name: scrub_state scrub_state_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.scrub_state
    ADD CONSTRAINT scrub_state_pkey PRIMARY KEY (name);


--
-- Name: segment_lineage segment_lineage_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.segment_lineage
    ADD CONSTRAINT segment_lineage_pkey PRIMARY KEY (input_id, output_id);


--
-- Name: segments segments_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.segments
    ADD CONSTRAINT segments_pkey PRIMARY KEY (id);


--
-- Name: sharding_fields sharding_fields_dataset_id_field_name_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sharding_fields
    ADD CONSTRAINT sharding_fields_dataset_id_field_name_unique UNIQUE (dataset_id, field_name);


--
-- Name: sharding_fields sharding_fields_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sharding_fields
    ADD CONSTRAINT sharding_fields_pkey PRIMARY KEY (dataset_id, "position");


--
-- Name: stream_datasets stream_datasets_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.stream_datasets
    ADD CONSTRAINT stream_datasets_pkey PRIMARY KEY (stream_id, dataset_id);


--
-- Name: stream_heads stream_heads_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.stream_heads
    ADD CONSTRAINT stream_heads_pkey PRIMARY KEY (stream_id);


--
-- Name: stream_removals stream_removals_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.stream_removals
    ADD CONSTRAINT stream_removals_pkey PRIMARY KEY (version, stream_id, dataset_id);


--
-- Name: stream_tokens stream_tokens_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.stream_tokens
    ADD CONSTRAINT stream_tokens_pkey PRIMARY KEY (stream_id, token_id);


--
-- Name: table_objects table_objects_digest_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.table_objects
    ADD CONSTRAINT table_objects_digest_key UNIQUE (dataset_key, digest);


--
-- Name: table_objects table_objects_object_key_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.table_objects
    ADD CONSTRAINT table_objects_object_key_key UNIQUE (object_key);


--
-- Name: table_objects table_objects_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.table_objects
    ADD CONSTRAINT table_objects_pkey PRIMARY KEY (id);


--
-- Name: table_snapshots table_snapshots_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.table_snapshots
    ADD CONSTRAINT table_snapshots_pkey PRIMARY KEY (dataset_key, version);


--
-- Name: version_gaps version_gaps_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.version_gaps
    ADD CONSTRAINT version_gaps_pkey PRIMARY KEY (gap_start);


--
-- Name: view_dataset_projections view_dataset_projections_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.view_dataset_projections
    ADD CONSTRAINT view_dataset_projections_pkey PRIMARY KEY (id);


--
-- Name: view_dataset_projections view_dataset_projections_view_id_dataset_id_projection__26ef; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.view_dataset_projections
    ADD CONSTRAINT view_dataset_projections_view_id_dataset_id_projection__26ef UNIQUE (view_id, dataset_id, projection_id);


--
-- Name: views views_name_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_name_unique UNIQUE (name);


--
-- Name: views views_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_pkey PRIMARY KEY (id);


--
-- Name: audit_log_at_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_log_at_index ON public.audit_log USING btree (at);


--
-- Name: baby_segments_reaped_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX baby_segments_reaped_index ON public.baby_segments USING btree (reaped_at) WHERE (reaped_at IS NOT NULL);


--
-- Name: datasets_default_unique; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX datasets_default_unique ON public.datasets USING btree (is_default) WHERE is_default;


--
-- Name: datasets_name_live_unique; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX datasets_name_live_unique ON public.datasets USING btree (name) WHERE (deleted_at IS NULL);


--
-- Name: datasets_purging_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX datasets_purging_index ON public.datasets USING btree (key) WHERE ((deleted_at IS NOT NULL) AND (purged_at IS NULL));


--
-- Name: ingest_streams_changed_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ingest_streams_changed_index ON public.ingest_streams USING btree (changed_version) WHERE (retired_at IS NULL);


--
-- Name: ingest_streams_collector_active_unique; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX ingest_streams_collector_active_unique ON public.ingest_streams USING btree (collector_id) WHERE (stopped_offset IS NULL);


--
-- Name: ingest_streams_retired_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ingest_streams_retired_index ON public.ingest_streams USING btree (retired_at) WHERE (retired_at IS NOT NULL);


--
-- Name: ingest_tokens_changed_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ingest_tokens_changed_index ON public.ingest_tokens USING btree (changed_version);


--
-- Name: losses_segment_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX losses_segment_index ON public.losses USING btree (segment_id);


--
-- Name: losses_stream_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX losses_stream_index ON public.losses USING btree (stream_id, "offset");


--
-- Name: merge_task_inputs_task_id_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX merge_task_inputs_task_id_index ON public.merge_task_inputs USING btree (task_id);


--
-- Name: merge_tasks_finished_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX merge_tasks_finished_index ON public.merge_tasks USING btree (finished_at, state) WHERE (state > 1);


--
-- Name: merge_tasks_held_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX merge_tasks_held_index ON public.merge_tasks USING btree (free_at) WHERE ((state = 1) AND (free_at IS NOT NULL));


--
-- Name: merge_tasks_oldest_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX merge_tasks_oldest_index ON public.merge_tasks USING btree (id) WHERE ((state = 1) AND (free_at IS NULL));


--
-- Name: merge_tasks_open_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX merge_tasks_open_index ON public.merge_tasks USING btree (dataset_key, id) WHERE (state = 1);


--
-- Name: merge_tasks_rewrite_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX merge_tasks_rewrite_index ON public.merge_tasks USING btree (rewrite_id, state) WHERE (rewrite_id IS NOT NULL);


--
-- Name: merge_tasks_smallest_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX merge_tasks_smallest_index ON public.merge_tasks USING btree (total_compressed_size, id) WHERE ((state = 1) AND (free_at IS NULL));


--
-- Name: object_identities_garbage_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX object_identities_garbage_index ON public.object_identities USING btree (changed_at) WHERE (state > 1);


--
-- Name: offset_checkpoints_created_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX offset_checkpoints_created_index ON public.offset_checkpoints USING btree (stream_id, dataset_id, created_at);


--
-- Name: pins_dataset_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pins_dataset_index ON public.pins USING btree (dataset_key, version);


--
-- Name: pins_owner_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pins_owner_index ON public.pins USING btree (owner);


--
-- Name: pins_principal_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX pins_principal_index ON public.pins USING btree (principal);


--
-- Name: projections_schema_id_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX projections_schema_id_index ON public.projections USING btree (schema_id);


--
-- Name: registration_segments_segment_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX registration_segments_segment_index ON public.registration_segments USING btree (segment_id);


--
-- Name: registrations_empty_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX registrations_empty_index ON public.registrations USING btree (created_at) WHERE (segment_id IS NULL);


--
-- Name: registrations_segment_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX registrations_segment_index ON public.registrations USING btree (segment_id);


--
-- Name: registrations_version_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX registrations_version_index ON public.registrations USING btree (dataset_id, version);


--
-- Name: rewrite_jobs_unfinished_index; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX rewrite_jobs_unfinished_index ON public.rewrite_jobs USING btree (dataset_key) WHERE (state < 3);


--
-- Name: segment_lineage_output_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segment_lineage_output_index ON public.segment_lineage USING btree (output_id);


--
-- Name: segments_created_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_created_index ON public.segments USING btree (dataset_key, created_version, id);


--
-- Name: segments_due_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_due_index ON public.segments USING btree (dataset_key, tombstone_at, id) WHERE (tombstone_version IS NOT NULL);


--
-- Name: segments_event_end_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_event_end_index ON public.segments USING btree (dataset_key, end_ns, id) WHERE (tombstone_version IS NULL);


--
-- Name: segments_live_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_live_index ON public.segments USING btree (dataset_key, created_at, id) WHERE (tombstone_version IS NULL);


--
-- Name: segments_lookup_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_lookup_index ON public.segments USING btree (dataset_key, dur_class, start_ns, id);


--
-- Name: segments_mergeable_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_mergeable_index ON public.segments USING btree (dataset_key, start_ns, id) WHERE ((tombstone_version IS NULL) AND (quarantined_at IS NULL) AND (merge_count < 4) AND (compressed_size_bytes < 268435456));


--
-- Name: segments_quarantined_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_quarantined_index ON public.segments USING btree (id) WHERE (quarantined_at IS NOT NULL);


--
-- Name: segments_removed_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_removed_index ON public.segments USING btree (dataset_key, tombstone_version, id) WHERE (tombstone_version IS NOT NULL);


--
-- Name: segments_small_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_small_index ON public.segments USING btree (dataset_key, start_ns, id) WHERE ((tombstone_version IS NULL) AND (quarantined_at IS NULL) AND (compressed_size_bytes < 268435456));


--
-- Name: segments_tombstoned_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_tombstoned_index ON public.segments USING btree (tombstone_at, id) WHERE (tombstone_version IS NOT NULL);


--
-- Name: segments_unread_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_unread_index ON public.segments USING btree (id) WHERE ((facts IS NULL) AND (tombstone_version IS NULL));


--
-- Name: stream_datasets_changed_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX stream_datasets_changed_index ON public.stream_datasets USING btree (changed_version);


--
-- Name: stream_datasets_dataset_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX stream_datasets_dataset_index ON public.stream_datasets USING btree (dataset_id);


--
-- Name: stream_heads_pending_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX stream_heads_pending_index ON public.stream_heads USING btree (stream_id) WHERE is_pending;


--
-- Name: stream_removals_removed_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX stream_removals_removed_index ON public.stream_removals USING btree (removed_at);


--
-- Name: stream_tokens_carriers_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX stream_tokens_carriers_index ON public.stream_tokens USING btree (token_id, stream_id);


--
-- Name: stream_tokens_token_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX stream_tokens_token_index ON public.stream_tokens USING btree (token_id);


--
-- Name: table_objects_examined_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX table_objects_examined_index ON public.table_objects USING btree (examined_at);


--
-- Name: table_snapshots_examined_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX table_snapshots_examined_index ON public.table_snapshots USING btree (examined_at);


--
-- Name: view_dataset_projections_dataset_id_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX view_dataset_projections_dataset_id_index ON public.view_dataset_projections USING btree (dataset_id);


--
-- Name: view_dataset_projections_projection_id_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX view_dataset_projections_projection_id_index ON public.view_dataset_projections USING btree (projection_id);


--
-- Name: views_schema_id_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX views_schema_id_index ON public.views USING btree (schema_id);


--
-- Name: dataset_visibility dataset_visibility_dataset_key_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.dataset_visibility
    ADD CONSTRAINT dataset_visibility_dataset_key_fkey FOREIGN KEY (dataset_key) REFERENCES public.datasets(key);


--
-- Name: excess_allowances excess_allowances_dataset_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.excess_allowances
    ADD CONSTRAINT excess_allowances_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES public.datasets(id) ON DELETE CASCADE;


--
-- Name: ingest_tokens ingest_tokens_logs_dataset_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ingest_tokens
    ADD CONSTRAINT ingest_tokens_logs_dataset_id_fkey FOREIGN KEY (logs_dataset_id) REFERENCES public.datasets(id);


--
-- Name: ingest_tokens ingest_tokens_metrics_dataset_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ingest_tokens
    ADD CONSTRAINT ingest_tokens_metrics_dataset_id_fkey FOREIGN KEY (metrics_dataset_id) REFERENCES public.datasets(id);


--
-- Name: ingest_tokens ingest_tokens_traces_dataset_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.ingest_tokens
    ADD CONSTRAINT ingest_tokens_traces_dataset_id_fkey FOREIGN KEY (traces_dataset_id) REFERENCES public.datasets(id);


--
-- Name: link_columns link_columns_link_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.link_columns
    ADD CONSTRAINT link_columns_link_id_fkey FOREIGN KEY (link_id) REFERENCES public.view_dataset_projections(id) ON DELETE CASCADE;


--
-- Name: nursery_shards nursery_shards_nursery_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.nursery_shards
    ADD CONSTRAINT nursery_shards_nursery_id_fkey FOREIGN KEY (nursery_id) REFERENCES public.nurseries(id) ON DELETE CASCADE;


--
-- Name: projections projections_schema_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.projections
    ADD CONSTRAINT projections_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES public.schemas(id);


--
-- Name: promoted_columns promoted_columns_dataset_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.promoted_columns
    ADD CONSTRAINT promoted_columns_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES public.datasets(id);


--
-- Name: promoted_field_ids promoted_field_ids_dataset_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.promoted_field_ids
    ADD CONSTRAINT promoted_field_ids_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES public.datasets(id);


--
-- Name: schema_columns schema_columns_schema_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_columns
    ADD CONSTRAINT schema_columns_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES public.schemas(id) ON DELETE CASCADE;


--
-- Name: sharding_fields sharding_fields_dataset_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.sharding_fields
    ADD CONSTRAINT sharding_fields_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES public.datasets(id);


--
-- Name: view_dataset_projections view_dataset_projections_dataset_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.view_dataset_projections
    ADD CONSTRAINT view_dataset_projections_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES public.datasets(id);


--
-- Name: view_dataset_projections view_dataset_projections_projection_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.view_dataset_projections
    ADD CONSTRAINT view_dataset_projections_projection_id_fkey FOREIGN KEY (projection_id) REFERENCES public.projections(id) ON DELETE CASCADE;


--
-- Name: view_dataset_projections view_dataset_projections_view_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.view_dataset_projections
    ADD CONSTRAINT view_dataset_projections_view_id_fkey FOREIGN KEY (view_id) REFERENCES public.views(id) ON DELETE CASCADE;


--
-- Name: views views_schema_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.views
    ADD CONSTRAINT views_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES public.schemas(id);


--
-- PostgreSQL database dump complete
--

\unrestrict segplane

