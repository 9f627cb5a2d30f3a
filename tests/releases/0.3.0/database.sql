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


--
-- Name: meta_empty_deduplication_pages(integer); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.meta_empty_deduplication_pages(slot integer) RETURNS boolean
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
-- Name: automatic_columns; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.automatic_columns (
    dataset_id uuid NOT NULL,
    field_id integer NOT NULL,
    attribute text NOT NULL,
    type smallint NOT NULL,
    is_written boolean NOT NULL
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
-- Name: dataset_deduplication; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.dataset_deduplication (
    dataset_key integer CONSTRAINT dataset_identities_dataset_key_not_null NOT NULL,
    days smallint CONSTRAINT dataset_identities_days_not_null NOT NULL,
    key bytea DEFAULT '\x'::bytea CONSTRAINT dataset_identities_key_not_null NOT NULL,
    refuses_outside boolean DEFAULT false CONSTRAINT dataset_identities_refuses_outside_not_null NOT NULL
);


--
-- Name: dataset_duplicates; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.dataset_duplicates (
    dataset_key integer CONSTRAINT dataset_repeats_dataset_key_not_null NOT NULL,
    records bigint CONSTRAINT dataset_repeats_records_not_null NOT NULL
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
    to_version bigint,
    name text,
    from_time timestamp with time zone DEFAULT clock_timestamp()
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
-- Name: deduplication_pages; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages (
    run bigint CONSTRAINT identity_pages_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_00; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_00 (
    run bigint CONSTRAINT identity_pages_00_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_00_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_00_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_00 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_01; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_01 (
    run bigint CONSTRAINT identity_pages_01_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_01_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_01_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_01 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_02; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_02 (
    run bigint CONSTRAINT identity_pages_02_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_02_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_02_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_02 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_03; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_03 (
    run bigint CONSTRAINT identity_pages_03_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_03_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_03_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_03 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_04; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_04 (
    run bigint CONSTRAINT identity_pages_04_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_04_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_04_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_04 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_05; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_05 (
    run bigint CONSTRAINT identity_pages_05_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_05_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_05_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_05 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_06; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_06 (
    run bigint CONSTRAINT identity_pages_06_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_06_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_06_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_06 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_07; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_07 (
    run bigint CONSTRAINT identity_pages_07_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_07_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_07_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_07 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_08; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_08 (
    run bigint CONSTRAINT identity_pages_08_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_08_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_08_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_08 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_09; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_09 (
    run bigint CONSTRAINT identity_pages_09_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_09_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_09_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_09 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_10; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_10 (
    run bigint CONSTRAINT identity_pages_10_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_10_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_10_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_10 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_11; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_11 (
    run bigint CONSTRAINT identity_pages_11_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_11_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_11_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_11 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_12; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_12 (
    run bigint CONSTRAINT identity_pages_12_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_12_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_12_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_12 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_13; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_13 (
    run bigint CONSTRAINT identity_pages_13_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_13_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_13_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_13 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_14; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_14 (
    run bigint CONSTRAINT identity_pages_14_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_14_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_14_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_14 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_15; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_15 (
    run bigint CONSTRAINT identity_pages_15_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_15_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_15_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_15 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_16; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_16 (
    run bigint CONSTRAINT identity_pages_16_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_16_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_16_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_16 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_17; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_17 (
    run bigint CONSTRAINT identity_pages_17_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_17_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_17_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_17 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_18; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_18 (
    run bigint CONSTRAINT identity_pages_18_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_18_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_18_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_18 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_19; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_19 (
    run bigint CONSTRAINT identity_pages_19_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_19_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_19_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_19 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_20; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_20 (
    run bigint CONSTRAINT identity_pages_20_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_20_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_20_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_20 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_21; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_21 (
    run bigint CONSTRAINT identity_pages_21_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_21_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_21_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_21 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_22; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_22 (
    run bigint CONSTRAINT identity_pages_22_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_22_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_22_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_22 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_23; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_23 (
    run bigint CONSTRAINT identity_pages_23_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_23_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_23_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_23 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_24; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_24 (
    run bigint CONSTRAINT identity_pages_24_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_24_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_24_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_24 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_25; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_25 (
    run bigint CONSTRAINT identity_pages_25_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_25_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_25_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_25 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_26; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_26 (
    run bigint CONSTRAINT identity_pages_26_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_26_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_26_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_26 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_27; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_27 (
    run bigint CONSTRAINT identity_pages_27_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_27_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_27_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_27 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_28; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_28 (
    run bigint CONSTRAINT identity_pages_28_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_28_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_28_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_28 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_29; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_29 (
    run bigint CONSTRAINT identity_pages_29_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_29_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_29_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_29 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_30; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_30 (
    run bigint CONSTRAINT identity_pages_30_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_30_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_30_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_30 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_pages_31; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_pages_31 (
    run bigint CONSTRAINT identity_pages_31_run_not_null NOT NULL,
    bucket integer CONSTRAINT identity_pages_31_bucket_not_null NOT NULL,
    hashes uuid[] CONSTRAINT identity_pages_31_hashes_not_null NOT NULL
);
ALTER TABLE ONLY public.deduplication_pages_31 ALTER COLUMN hashes SET STORAGE PLAIN;


--
-- Name: deduplication_runs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.deduplication_runs (
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


--
-- Name: deduplication_runs_id_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.deduplication_runs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.deduplication_runs_id_seq
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
-- Name: former_layouts; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.former_layouts (
    dataset_id uuid NOT NULL,
    until_version bigint NOT NULL,
    field_ids integer[] NOT NULL,
    bound_ids integer[]
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
    progressed_at timestamp with time zone,
    CONSTRAINT merge_tasks_state_check CHECK ((state = ANY (ARRAY[1, 2, 3, 4])))
);


--
-- Name: meta_servers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.meta_servers (
    id uuid NOT NULL,
    host text NOT NULL,
    release text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL
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
    ceiling bigint,
    incarnation text,
    least_release text,
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
-- Name: object_stores; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.object_stores (
    name text NOT NULL,
    url text NOT NULL
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
    attribute text NOT NULL,
    is_of_schema boolean DEFAULT false NOT NULL
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
    attribute text NOT NULL,
    is_bound boolean DEFAULT false NOT NULL
);


--
-- Name: quarantined_ranges; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.quarantined_ranges (
    stream_id uuid NOT NULL,
    verdict text NOT NULL COLLATE pg_catalog."C",
    first_offset bigint NOT NULL,
    last_offset bigint NOT NULL,
    dataset_id uuid
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
    moved_from bigint,
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
-- Name: retention_baselines; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.retention_baselines (
    dataset_key integer NOT NULL,
    event_secs bigint DEFAULT 0 NOT NULL,
    created_secs bigint DEFAULT 0 NOT NULL,
    seen_event_secs bigint DEFAULT 0 NOT NULL,
    seen_created_secs bigint DEFAULT 0 NOT NULL,
    seen_since timestamp with time zone DEFAULT now() NOT NULL
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
    store text,
    inexact_bounds boolean DEFAULT false NOT NULL,
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
-- Name: schema_bindings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schema_bindings (
    dataset_id uuid NOT NULL,
    schema_id uuid NOT NULL,
    version integer,
    names text[] NOT NULL,
    scopes smallint[] NOT NULL,
    attributes text[] NOT NULL
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
-- Name: schema_versions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schema_versions (
    schema_id uuid NOT NULL,
    version integer NOT NULL,
    names text[] NOT NULL,
    types smallint[] NOT NULL,
    replaced_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: schemas; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.schemas (
    id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    is_frozen boolean DEFAULT false NOT NULL
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
    foreign_state smallint,
    foreign_file bytea,
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
-- Name: staged_deduplication_keys; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.staged_deduplication_keys (
    staged_id uuid CONSTRAINT staged_identities_staged_id_not_null NOT NULL,
    part smallint CONSTRAINT staged_identities_part_not_null NOT NULL,
    days integer[] CONSTRAINT staged_identities_days_not_null NOT NULL,
    numbers integer[] CONSTRAINT staged_identities_numbers_not_null NOT NULL,
    hashes bytea CONSTRAINT staged_identities_hashes_not_null NOT NULL,
    staged_at timestamp with time zone DEFAULT now() CONSTRAINT staged_identities_staged_at_not_null NOT NULL
);
ALTER TABLE ONLY public.staged_deduplication_keys ALTER COLUMN hashes SET STORAGE EXTERNAL;


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
    merged_floor bigint DEFAULT '-1'::integer NOT NULL,
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
-- Name: witness_state; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.witness_state (
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


--
-- Name: worker_settings; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.worker_settings (
    name text NOT NULL COLLATE pg_catalog."C",
    settings jsonb NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Name: workers; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.workers (
    id text NOT NULL COLLATE pg_catalog."C",
    first_seen_at timestamp with time zone DEFAULT now() NOT NULL,
    last_seen_at timestamp with time zone DEFAULT now() NOT NULL
);


--
-- Data for Name: access_tokens; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.access_tokens (id, subject, role, digest, hint, created_at, expires_at, revoked_at, dataset_ids, pepper) FROM stdin;
01a2240d-2d84-7676-9e51-32b8205738e8	ingest-eu	ingest	\\x516c1f8604cc3c420871c59131fff08f9e1ea73846a3ae6d82b98bcbc75f6148	advQ	2026-11-28 21:26:13.121989+00	\N	\N	\N	71ecf4c3c73e7e00
01a2240d-2d8b-716f-b385-d76cd0ff8f32	nursery-eu	nursery	\\x7533efdff7092ff76047c2f2e052209aac5969806037ae418b548c88b936772c	Y2lw	2026-11-28 21:26:13.130244+00	\N	\N	\N	71ecf4c3c73e7e00
01a2240d-2d90-7ecb-b96c-161275684a84	merge-eu	merge	\\x6e8e9b12c80586257bc12c74cd09643d4f1abc803f87a19a09f16eadcd829fc9	yxMw	2026-11-28 21:26:13.136106+00	\N	\N	\N	71ecf4c3c73e7e00
01a2240d-2d94-7c86-ad90-85ed16bf9025	janitor-eu	janitor	\\x39350a753b81694bb25c8b8ca9e796e5dbc63e4c61af243d5aabb092c6e209b4	oGRw	2026-11-28 21:26:13.139958+00	\N	\N	\N	71ecf4c3c73e7e00
01a2240d-2d9a-7eff-86af-f55b3fb8dc6b	reader-eu	reader	\\x41fffcea418b95efb8e5ecfff3b51b500f6f35b2e68652f86d22d62fab6a1a44	dDRA	2026-11-28 21:26:13.143094+00	\N	\N	\N	71ecf4c3c73e7e00
01a2240d-2da1-72c4-890f-b7e428f4ae0e	gateway-eu	gateway	\\xff8cd9981a8483043925da32d6433bfaba31ba0ea887b6ad37dbedaeec0969a6	WGUg	2026-11-28 21:26:13.152167+00	\N	\N	\N	71ecf4c3c73e7e00
01a2240d-2da6-7e44-9a7f-e027e9d26363	catalog-eu	catalog	\\xdde64f45c7bd3288e8576584cd4aa762cce0dcc85c117151e6339ae214b990da	_Sxw	2026-11-28 21:26:13.15602+00	\N	\N	\N	71ecf4c3c73e7e00
01a2240d-2daa-773f-9e6e-8f0b1853d9fe	analyst	reader	\\xe0afa6c5cef99bf54dd74599b14d0c16df3cda1add833bf80c2b9ade192ec437	-5fw	2026-11-28 21:26:13.161527+00	\N	\N	{01a2240d-2c87-7752-8e72-ffdc83389332}	71ecf4c3c73e7e00
01a2240d-2dad-7c39-ac18-561f06f2cbab	former	admin	\\x60bcc666b095cb4a750067fa4f0cc5cfb5a8923c3e918f5b7b60e57e86b22ed3	XsGw	2026-11-28 21:26:13.165097+00	\N	2026-11-28 21:26:13.168439+00	\N	71ecf4c3c73e7e00
\.


--
-- Data for Name: alembic_version; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.alembic_version (version_num) FROM stdin;
0066
\.


--
-- Data for Name: audit_log; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.audit_log (id, at, rpc, subject_id, detail, principal, host, request_id) FROM stdin;
1	2026-11-28 21:26:09.357036+00	ReleaseDeletionHold			META_AUTH_TOKEN	127.0.0.1	
2	2026-11-28 21:26:11.292445+00	ReleaseDeletionHold			META_AUTH_TOKEN	127.0.0.1	
3	2026-11-28 21:26:12.832419+00	CreateDataset	01a2240d-2c61-7738-9213-166ebbad4d02	name 'web'	META_AUTH_TOKEN	127.0.0.1	
4	2026-11-28 21:26:12.871142+00	CreateDataset	01a2240d-2c87-7752-8e72-ffdc83389332	name 'orders'	META_AUTH_TOKEN	127.0.0.1	
5	2026-11-28 21:26:12.892549+00	CreateDataset	01a2240d-2c9d-7454-ba4c-a33c52bd6e05	name 'empty'	META_AUTH_TOKEN	127.0.0.1	
6	2026-11-28 21:26:12.905386+00	CreateDataset	01a2240d-2ca9-7d3f-a59c-78396c24c058	name 'gone'	META_AUTH_TOKEN	127.0.0.1	
7	2026-11-28 21:26:12.912322+00	SetDatasetSettings	01a2240d-2c61-7738-9213-166ebbad4d02	{"before": {"tombstone_grace_secs": 0}, "after": {"tombstone_grace_secs": 86400}}	META_AUTH_TOKEN	127.0.0.1	
8	2026-11-28 21:26:12.961099+00	SetDatasetSettings	01a2240d-2c87-7752-8e72-ffdc83389332	{"before": {"event_retention_secs": 0, "created_retention_secs": 0, "tombstone_grace_secs": 0, "records_per_month": 0, "ingest_bytes_per_sec": 0, "ingest_exports_in_flight": 0}, "after": {"event_retention_secs": 3153600000, "created_retention_secs": 3153600000, "tombstone_grace_secs": 86400, "records_per_month": 1000000, "ingest_bytes_per_sec": 10000000, "ingest_exports_in_flight": 100}}	META_AUTH_TOKEN	127.0.0.1	
9	2026-11-28 21:26:12.961099+00	SetDatasetSettings	01a2240d-2c87-7752-8e72-ffdc83389332	5 excess events are allowed	META_AUTH_TOKEN	127.0.0.1	
10	2026-11-28 21:26:12.985166+00	SetShardingFields	01a2240d-2c61-7738-9213-166ebbad4d02	{"before": [], "after": [{"field_name": "service_name", "weight": 2.0}]}	META_AUTH_TOKEN	127.0.0.1	
11	2026-11-28 21:26:12.992969+00	CreateSchema	01a2240d-2d01-79e6-b2e0-429cf7035c85	name 'failures'	META_AUTH_TOKEN	127.0.0.1	
12	2026-11-28 21:26:13.000643+00	CreateView	01a2240d-2d09-7574-b731-abb696a4657e	name 'failures'	META_AUTH_TOKEN	127.0.0.1	
13	2026-11-28 21:26:13.012104+00	CreateProjection	01a2240d-2d15-7cd9-a721-9e3d57882382	name 'errors'	META_AUTH_TOKEN	127.0.0.1	
14	2026-11-28 21:26:13.020558+00	LinkViewDatasetProjection	01a2240d-2d09-7574-b731-abb696a4657e	dataset 01a2240d-2c61-7738-9213-166ebbad4d02, projection 01a2240d-2d15-7cd9-a721-9e3d57882382	META_AUTH_TOKEN	127.0.0.1	
15	2026-11-28 21:26:13.029958+00	LinkViewDatasetProjection	01a2240d-2d09-7574-b731-abb696a4657e	dataset 01a2240d-2c87-7752-8e72-ffdc83389332, projection 01a2240d-2d15-7cd9-a721-9e3d57882382	META_AUTH_TOKEN	127.0.0.1	
16	2026-11-28 21:26:13.04027+00	CreateView	01a2240d-2d30-7855-9abe-8a51d8415965	name 'unlinked'	META_AUTH_TOKEN	127.0.0.1	
17	2026-11-28 21:26:13.044103+00	CreateProjection	01a2240d-2d34-7b24-922d-5037a02ea270	name 'unlinked'	META_AUTH_TOKEN	127.0.0.1	
18	2026-11-28 21:26:13.052154+00	CreateIngestToken	01a2240d-2d3d-7e1f-afe0-cb1f73a23faa	name 'frontend'	META_AUTH_TOKEN	127.0.0.1	
19	2026-11-28 21:26:13.060102+00	CreateIngestToken	01a2240d-2d44-7be2-907f-22013e8b96c5	name 'shop'	META_AUTH_TOKEN	127.0.0.1	
20	2026-11-28 21:26:13.068137+00	CreateIngestToken	01a2240d-2d4c-7c2b-9b34-1682e3beb52e	name 'old'	META_AUTH_TOKEN	127.0.0.1	
21	2026-11-28 21:26:13.071924+00	CreateIngestToken	01a2240d-2d50-7851-a860-03c2e6bb45a0	name 'revoked'	META_AUTH_TOKEN	127.0.0.1	
22	2026-11-28 21:26:13.080054+00	UpdateIngestTokenRouting	01a2240d-2d44-7be2-907f-22013e8b96c5	{"before": {"logs": "01a2240d-2c61-7738-9213-166ebbad4d02"}, "after": {"logs": "01a2240d-2c87-7752-8e72-ffdc83389332"}}	META_AUTH_TOKEN	127.0.0.1	
23	2026-11-28 21:26:13.09204+00	RevokeIngestToken	01a2240d-2d50-7851-a860-03c2e6bb45a0	name 'revoked'	META_AUTH_TOKEN	127.0.0.1	
24	2026-11-28 21:26:13.121989+00	CreateAccessToken	01a2240d-2d84-7676-9e51-32b8205738e8	subject 'ingest-eu', ingest	META_AUTH_TOKEN	127.0.0.1	
25	2026-11-28 21:26:13.130244+00	CreateAccessToken	01a2240d-2d8b-716f-b385-d76cd0ff8f32	subject 'nursery-eu', nursery	META_AUTH_TOKEN	127.0.0.1	
26	2026-11-28 21:26:13.136106+00	CreateAccessToken	01a2240d-2d90-7ecb-b96c-161275684a84	subject 'merge-eu', merge	META_AUTH_TOKEN	127.0.0.1	
27	2026-11-28 21:26:13.139958+00	CreateAccessToken	01a2240d-2d94-7c86-ad90-85ed16bf9025	subject 'janitor-eu', janitor	META_AUTH_TOKEN	127.0.0.1	
28	2026-11-28 21:26:13.143094+00	CreateAccessToken	01a2240d-2d9a-7eff-86af-f55b3fb8dc6b	subject 'reader-eu', reader	META_AUTH_TOKEN	127.0.0.1	
29	2026-11-28 21:26:13.152167+00	CreateAccessToken	01a2240d-2da1-72c4-890f-b7e428f4ae0e	subject 'gateway-eu', gateway	META_AUTH_TOKEN	127.0.0.1	
30	2026-11-28 21:26:13.15602+00	CreateAccessToken	01a2240d-2da6-7e44-9a7f-e027e9d26363	subject 'catalog-eu', catalog	META_AUTH_TOKEN	127.0.0.1	
31	2026-11-28 21:26:13.161527+00	CreateAccessToken	01a2240d-2daa-773f-9e6e-8f0b1853d9fe	subject 'analyst', reader, datasets 'orders'	META_AUTH_TOKEN	127.0.0.1	
32	2026-11-28 21:26:13.165097+00	CreateAccessToken	01a2240d-2dad-7c39-ac18-561f06f2cbab	subject 'former', admin	META_AUTH_TOKEN	127.0.0.1	
33	2026-11-28 21:26:13.168439+00	RevokeAccessToken	01a2240d-2dad-7c39-ac18-561f06f2cbab	subject 'former'	META_AUTH_TOKEN	127.0.0.1	
34	2026-11-28 21:26:13.192677+00	CreateDataset	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	name 'payments'	META_AUTH_TOKEN	127.0.0.1	
35	2026-11-28 21:26:13.196688+00	CreateIngestToken	01a2240d-2dcd-75e9-b4fe-0125011e0b0b	name 'payments'	META_AUTH_TOKEN	127.0.0.1	
36	2026-11-28 21:26:13.204177+00	CreateDataset	01a2240d-2dd4-764f-b096-377e68341cfa	name 'archive'	META_AUTH_TOKEN	127.0.0.1	
37	2026-11-28 21:26:13.208667+00	CreateIngestToken	01a2240d-2dd9-739c-88be-7ce80f581a5a	name 'archive'	META_AUTH_TOKEN	127.0.0.1	
38	2026-11-28 21:26:13.216253+00	CreateDataset	01a2240d-2de3-7097-a72f-96e447a72d0d	name 'mended'	META_AUTH_TOKEN	127.0.0.1	
39	2026-11-28 21:26:13.224589+00	CreateIngestToken	01a2240d-2de9-735e-bc22-7b914a1b4ddb	name 'mended'	META_AUTH_TOKEN	127.0.0.1	
40	2026-11-28 21:26:13.230235+00	CreateDataset	01a2240d-2dee-7749-88f6-584025c0ba49	name 'partner'	META_AUTH_TOKEN	127.0.0.1	
41	2026-11-28 21:26:13.236231+00	CreateIngestToken	01a2240d-2df4-7d91-bf0a-8886972cbfbb	name 'partner'	META_AUTH_TOKEN	127.0.0.1	
42	2026-11-28 21:26:13.240598+00	CreateDataset	01a2240d-2df8-7d50-9f47-fbe6da9d773e	name 'kept'	META_AUTH_TOKEN	127.0.0.1	
43	2026-11-28 21:26:13.249104+00	CreateIngestToken	01a2240d-2e01-7d3e-b8c5-1410d8d3882e	name 'kept'	META_AUTH_TOKEN	127.0.0.1	
44	2026-11-28 21:26:13.256416+00	CreateDataset	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	name 'draft'	META_AUTH_TOKEN	127.0.0.1	
45	2026-11-28 21:26:13.261902+00	RenameDataset	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	{"before": "draft", "after": "renamed"}	META_AUTH_TOKEN	127.0.0.1	
46	2026-11-28 21:26:13.268328+00	CreateIngestToken	01a2240d-2e14-7f15-b6e2-ed3e06e606e9	name 'renamed'	META_AUTH_TOKEN	127.0.0.1	
47	2026-11-28 21:26:13.272266+00	CreateSchema	01a2240d-2e18-79f5-a713-8d27296cfc07	name 'payment'	META_AUTH_TOKEN	127.0.0.1	
48	2026-11-28 21:26:13.284494+00	SetDatasetSettings	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	{"before": null, "after": {"schema_id": "01a2240d-2e18-79f5-a713-8d27296cfc07", "version": null, "attributes": [{"column": "amount", "scope": 1, "attribute": "amount.cents"}]}}	META_AUTH_TOKEN	127.0.0.1	
49	2026-11-28 21:26:13.284494+00	SetDatasetSettings	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	record_ids: true	META_AUTH_TOKEN	127.0.0.1	
50	2026-11-28 21:26:13.3234+00	SetDatasetSettings	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	{"before": {"schema_violations": 0}, "after": {"schema_violations": 2}}	META_AUTH_TOKEN	127.0.0.1	
51	2026-11-28 21:26:13.347475+00	SetDatasetSettings	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	{"deduplication": "payment_id", "window_days": 7, "refuses_outside": false}	META_AUTH_TOKEN	127.0.0.1	
52	2026-11-28 21:26:13.374527+00	SetDatasetSettings	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	{"before": {"is_enabled": false, "columns": []}, "after": {"is_enabled": true, "columns": [["region", 4]]}}	META_AUTH_TOKEN	127.0.0.1	
53	2026-11-28 21:26:13.407311+00	CreateRewriteJob	00000000-0000-0000-0000-000000000003	dataset 01a2240d-2dd4-764f-b096-377e68341cfa, moved from default to cold	META_AUTH_TOKEN	127.0.0.1	
54	2026-11-28 21:26:13.418655+00	SetWorkerSettings	merge_worker/*	{"before": {"buffer_bytes_max": null}, "after": {"buffer_bytes_max": 67108864}}	META_AUTH_TOKEN	127.0.0.1	
55	2026-11-28 21:26:29.796816+00	UpdateSchema	01a2240d-2e18-79f5-a713-8d27296cfc07	{"before": {"columns": [{"name": "payment_id", "kql_type": 4}, {"name": "amount", "kql_type": 2}, {"name": "paid_at", "kql_type": 5}], "version": 1}, "after": {"columns": [{"name": "payment_id", "kql_type": 4}, {"name": "amount", "kql_type": 2}, {"name": "paid_at", "kql_type": 5}, {"name": "cart", "kql_type": 8}], "version": 2}}	META_AUTH_TOKEN	127.0.0.1	
56	2026-11-28 21:26:30.226987+00	HideSegment	01a2240d-6934-7fd9-8c67-5365dd0ac9a9	root@vm: recorded	META_AUTH_TOKEN	127.0.0.1	
57	2026-11-28 21:26:30.745606+00	HideSegment	01a2240d-64c2-78e6-87ef-0b9ae5df86af	root@vm: recorded	META_AUTH_TOKEN	127.0.0.1	
58	2026-11-28 21:26:31.282866+00	ReplaceSegment	01a2240d-6934-7fd9-8c67-5365dd0ac9a9	root@vm: recorded	META_AUTH_TOKEN	127.0.0.1	
59	2026-11-28 21:26:31.671594+00	SaveSegments	01a2240d-2dee-7749-88f6-584025c0ba49	{"segments": 1, "without_facts": 1, "first": {"id": "01a2240d-75f8-7674-ab29-8c71299c4e10", "object_key": "dataset/01a2240d-2dee-7749-88f6-584025c0ba49/merged/857351cc-8420-4a3b-81dd-030ad60ccac8.parquet"}}	META_AUTH_TOKEN	127.0.0.1	
60	2026-11-28 21:26:42.700035+00	SaveSegments	01a2240d-2dee-7749-88f6-584025c0ba49	{"segments": 1, "without_facts": 1, "first": {"id": "01a2240d-a10c-7646-b38a-ab640b609ef9", "object_key": "dataset/01a2240d-2dee-7749-88f6-584025c0ba49/merged/c4aaa5ba-d565-474b-bf03-811f4198b6ac.parquet"}}	META_AUTH_TOKEN	127.0.0.1	
61	2026-11-28 21:26:44.353764+00	DropPayload	quarantine/01a2240d-44b8-7ab3-9e8b-40abbb0f68cf/00000000000000000014/01a2240d-2d44-7be2-907f-22013e8b96c5-logs-0	root@vm: recorded	META_AUTH_TOKEN	127.0.0.1	
62	2026-11-28 21:26:50.072139+00	CreateRewriteJob	00000000-0000-0000-0000-000000000002	dataset 01a2240d-2c87-7752-8e72-ffdc83389332	META_AUTH_TOKEN	127.0.0.1	
63	2026-11-28 21:26:50.078186+00	UpdateRewriteJob	00000000-0000-0000-0000-000000000002	paused	META_AUTH_TOKEN	127.0.0.1	
64	2026-11-28 21:26:50.084828+00	RevokeIngestToken	01a2240d-2d4c-7c2b-9b34-1682e3beb52e	name 'old'	META_AUTH_TOKEN	127.0.0.1	
65	2026-11-28 21:26:50.756617+00	DeleteDataset	01a2240d-2ca9-7d3f-a59c-78396c24c058	name 'gone'	META_AUTH_TOKEN	127.0.0.1	
66	2026-11-28 21:26:50.764751+00	RevokeIngestToken	01a2240d-2e01-7d3e-b8c5-1410d8d3882e	name 'kept'	META_AUTH_TOKEN	127.0.0.1	
67	2026-11-28 21:26:51.856083+00	DeleteDataset	01a2240d-2df8-7d50-9f47-fbe6da9d773e	name 'kept', files kept	META_AUTH_TOKEN	127.0.0.1	
68	2026-11-28 21:26:54.743153+00	RewriteAllSegments	01a2240d-2c9d-7454-ba4c-a33c52bd6e05	{"dataset": "empty", "before": null, "after": {"version": 8589934685}}	META_AUTH_TOKEN	127.0.0.1	
\.


--
-- Data for Name: automatic_columns; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.automatic_columns (dataset_id, field_id, attribute, type, is_written) FROM stdin;
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	1000000	region	4	t
\.


--
-- Data for Name: baby_segments; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.baby_segments (stream_id, "offset", start_ns, end_ns, size_bytes, num_records, flush_id, dataset_ids, committed_at, reaped_at, crc32c, crc32c_read_at) FROM stdin;
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	0	1795218906581974390	1795219408306002439	974	8	\\xa4b58a7b074e6f7ec66d39f60170db3d	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:19.146638+00	\N	3967506130	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	1	1795218906581974390	1795219408306002439	1094	8	\\x64ad40c52db9aaebf5d5b5e1a55bda76	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:19.210062+00	\N	1340812972	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	2	1795218906581974390	1795219408306002439	1273	8	\\xbacfa91372699698d1c3011651bc66e6	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:19.281027+00	\N	2538156897	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	0	1795218915516685670	1795218941175347059	414	2	\\xb421c2ad675294ea1b913cc36fa85add	{01a2240d-2c87-7752-8e72-ffdc83389332}	2026-11-28 21:26:19.589732+00	\N	1108692690	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	1	1795218915516685670	1795218941175347059	444	2	\\x22a4da944e2d061d715349924a954155	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:19.651956+00	\N	1667476598	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	2	1795218915516685670	1795218941175347059	490	2	\\xa078aca28b06986010ed3d2fb03c67de	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:19.725154+00	\N	708466039	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	3	1795219064147905834	1795219112161812848	419	2	\\x738c0dcc4e26df340236aee1a63470c0	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:26.048908+00	\N	2666023014	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	4	1795219064147905834	1795219112161812848	450	2	\\x2ec15c1fe15ced9adfe005312192a581	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:26.106132+00	\N	787673626	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	5	1795219064147905834	1795219112161812848	495	2	\\x9495b8a8f420196e72a3c0d6e7e2f725	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:26.163066+00	\N	151482619	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	3	1795219183548671318	1795219412773023149	370	2	\\x2fd60fc523d580c8e11a7a289af33f3d	{01a2240d-2c87-7752-8e72-ffdc83389332}	2026-11-28 21:26:26.231594+00	\N	3068136293	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	4	1795219183548671318	1795219412773023149	400	2	\\x5075d16e2353d7fc84c66deb0d778b52	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:26.289661+00	\N	3491580472	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	5	1795219183548671318	1795219412773023149	444	2	\\x3ad7128038e9ada9ba618f7e814729ef	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:26.35103+00	\N	2512252230	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	0	1795219101266522999	1795219357960609759	577	4	\\x8447c019c2e17c1a598b7fe9c0232ce4	{01a2240d-2ca9-7d3f-a59c-78396c24c058}	2026-11-28 21:26:18.76407+00	2026-11-28 21:26:27.335826+00	3168150156	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	1	1795218923040974244	1795219138337585710	379	2	\\x827d3b50ace6a14bf14bae5d9e4bf26e	{01a2240d-2dd4-764f-b096-377e68341cfa}	2026-11-28 21:26:19.837698+00	2026-11-28 21:26:27.335826+00	2138063987	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	2	1795218905400107392	1795219478173878173	411	2	\\x86fb56d4da1705e6fef116f63299da43	{01a2240d-2df8-7d50-9f47-fbe6da9d773e}	2026-11-28 21:26:19.997181+00	2026-11-28 21:26:27.335826+00	209208147	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	3	1795218996964401591	1795219106124481089	413	2	\\xd89b5ee94ef3be68ff13f17fb86dc5df	{01a2240d-2de3-7097-a72f-96e447a72d0d}	2026-11-28 21:26:20.165975+00	2026-11-28 21:26:27.335826+00	1759192762	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	4	1795219002109297956	1795219276336935643	415	2	\\xc0f259f4cd78de82b642c2645e192867	{01a2240d-2e08-7a8d-9dc3-a49b6ca9a589}	2026-11-28 21:26:20.252679+00	2026-11-28 21:26:27.335826+00	3099379093	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	5	1795901180257997661	1795901180258015277	765	5	\\x17d2e0b6e599664aac5259e5e952bc29	{01a2240d-2dc9-7035-9ace-5d1c8b48c0d6}	2026-11-28 21:26:21.05065+00	2026-11-28 21:26:27.335826+00	2563303719	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	6	1795218934683531985	1795219120937583802	414	2	\\xb17d38309b41d63c83ff51ca35d39149	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:27.437004+00	\N	1618174468	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	7	1795218934683531985	1795219120937583802	444	2	\\x31e66e4f0f99dc7ca8a69d3c38cbbc6c	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:27.495983+00	\N	1019292637	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	8	1795218934683531985	1795219120937583802	490	2	\\x1dcf4e12cadacf27bfda7a73f84d3a7f	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:27.559366+00	\N	3447133799	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	6	1795219295596540548	1795219314635842985	372	2	\\x20a8cedea110a2d10605567696db812f	{01a2240d-2c87-7752-8e72-ffdc83389332}	2026-11-28 21:26:27.61836+00	\N	3203551667	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	7	1795219295596540548	1795219314635842985	402	2	\\x15ade394274c14edfaee1bb74fef0802	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:27.679372+00	\N	513939305	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	8	1795219295596540548	1795219314635842985	446	2	\\xacccd04b8419b3337286aa26b5621cea	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:27.736804+00	\N	1397794834	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	9	1795219435102452561	1795219445502675053	416	2	\\x0e05a96bd388217b9a5d4c4ffba01e23	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:28.644958+00	\N	1500879557	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	6	1795219074791199266	1795219086712839192	417	2	\\x60eba33dbb205f156a9fdff50a47ec37	{01a2240d-2dd4-764f-b096-377e68341cfa}	2026-11-28 21:26:26.455441+00	2026-11-28 21:26:28.672283+00	1982182033	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	7	1795218966490937817	1795219182478529947	412	2	\\x2f395999db02b7cacc2ae557a074dcbd	{01a2240d-2df8-7d50-9f47-fbe6da9d773e}	2026-11-28 21:26:26.526074+00	2026-11-28 21:26:28.672283+00	2521316626	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	8	1795219183568702090	1795219394667559820	411	2	\\xc957e1da49adf7fd903b11f3eaf47a53	{01a2240d-2de3-7097-a72f-96e447a72d0d}	2026-11-28 21:26:26.59028+00	2026-11-28 21:26:28.672283+00	75873433	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	9	1795219372860237388	1795219440104583702	420	2	\\x415e21e153b90ffa0e538b12514026c7	{01a2240d-2e08-7a8d-9dc3-a49b6ca9a589}	2026-11-28 21:26:26.649926+00	2026-11-28 21:26:28.672283+00	825635035	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	10	1795901186651775118	1795901186651786265	989	7	\\x4140626c9bb9e60959fb16ff6e658bba	{01a2240d-2dc9-7035-9ace-5d1c8b48c0d6}	2026-11-28 21:26:26.710891+00	2026-11-28 21:26:28.672283+00	4286864034	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	10	1795219435102452561	1795219445502675053	446	2	\\xff3ae0aaafe5e295669ce671d1efe639	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:28.708981+00	\N	3848481398	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	11	1795219435102452561	1795219445502675053	492	2	\\x19495764fd626d5ad834a6ced53a912d	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:28.767165+00	\N	3252240076	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	9	1795219167349572474	1795219437038455267	412	2	\\x3de4b911cf3387eba8ad621a43ea917f	{01a2240d-2c87-7752-8e72-ffdc83389332}	2026-11-28 21:26:28.828404+00	\N	39582493	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	10	1795219167349572474	1795219437038455267	442	2	\\x2532a9ea23fdeac9e8473e3deb14a95f	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:28.899336+00	\N	957193821	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	11	1795219167349572474	1795219437038455267	488	2	\\x9fff004b0c4ccda1a97d04bf415c4a0d	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:28.980898+00	\N	2847549559	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	11	1795218934086004327	1795219334806922152	373	2	\\x23875e19ff0f467a1bf5a924271d2266	{01a2240d-2dd4-764f-b096-377e68341cfa}	2026-11-28 21:26:27.797939+00	2026-11-28 21:26:30.069144+00	2518258201	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	12	1795219078150598195	1795219231075003768	409	2	\\x8f17c71ebc074f762aa4570eaf088dd4	{01a2240d-2df8-7d50-9f47-fbe6da9d773e}	2026-11-28 21:26:27.858249+00	2026-11-28 21:26:30.069144+00	607928764	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	13	1795218904380300297	1795219248234887444	411	2	\\xa754bf27e738cab8a5e7233cd806d7d5	{01a2240d-2de3-7097-a72f-96e447a72d0d}	2026-11-28 21:26:27.921639+00	2026-11-28 21:26:30.069144+00	1837497352	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	16	1795219020637888008	1795219441680327454	416	2	\\x1609f710d2cc3cc95b6ae28780279429	{01a2240d-2dd4-764f-b096-377e68341cfa}	2026-11-28 21:26:29.041411+00	2026-11-28 21:26:31.553409+00	3212788391	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	17	1795219028421053655	1795219229212918509	412	2	\\xe55dda900dcae4064580cd466a1cbc8b	{01a2240d-2df8-7d50-9f47-fbe6da9d773e}	2026-11-28 21:26:29.098958+00	2026-11-28 21:26:31.553409+00	1941268242	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	18	1795219009988162579	1795219176919384745	412	2	\\xc396a27bee85b813ab8b12f12dedc0de	{01a2240d-2de3-7097-a72f-96e447a72d0d}	2026-11-28 21:26:29.156689+00	2026-11-28 21:26:31.553409+00	3418494943	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	19	1795219362246012806	1795219491530867105	415	2	\\xb1421854e34e28b804116eb6d699e916	{01a2240d-2e08-7a8d-9dc3-a49b6ca9a589}	2026-11-28 21:26:29.228261+00	2026-11-28 21:26:31.553409+00	1613004866	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	20	1795901189230117516	1795901189230128563	995	7	\\xa2cbf5818480c9308ac29ae2c7f6696c	{01a2240d-2dc9-7035-9ace-5d1c8b48c0d6}	2026-11-28 21:26:29.295493+00	2026-11-28 21:26:31.553409+00	2126379799	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	14	1795219401152796636	1795219457039306353	418	2	\\x4ca44932ec63fbb53c9c67d1263bfdfb	{01a2240d-2e08-7a8d-9dc3-a49b6ca9a589}	2026-11-28 21:26:27.980644+00	2026-11-28 21:26:30.069144+00	3763972928	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	15	1795901187982359099	1795901187982370275	991	7	\\xebca7e00067770e4c4bce45b6bd8b9ca	{01a2240d-2dc9-7035-9ace-5d1c8b48c0d6}	2026-11-28 21:26:28.056348+00	2026-11-28 21:26:30.069144+00	2349406670	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	12	1795219106646678123	1795219106646678123	295	1	\\xd5add1281c47312e36b6ebe93a1198de	{01a2240d-2c87-7752-8e72-ffdc83389332}	2026-11-28 21:26:42.775105+00	\N	39233903	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	13	1795219110690293495	1795219110690293495	299	1	\\xb63066b70deba666cc63beb0a797dd8f	{01a2240d-2c87-7752-8e72-ffdc83389332}	2026-11-28 21:26:43.123134+00	\N	1646313827	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	14	1795218912337856832	1795218912337856832	299	1	\\x83a0608816901f90108826a7ec4788fb	{01a2240d-2c87-7752-8e72-ffdc83389332}	2026-11-28 21:26:43.5618+00	\N	4093125603	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	15	1795218917721862491	1795219111779152475	414	2	\\x11bd2750388112a0a0724f77eeae3797	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:44.466946+00	\N	2876346414	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	16	1795218917721862491	1795219111779152475	444	2	\\x4981c0d913bdab601b8e8315523a7057	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:44.52442+00	\N	503530962	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	17	1795218917721862491	1795219111779152475	490	2	\\x2c3b9c6dc2be16d43d052a37d40ffa69	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:44.580436+00	\N	3764626753	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	18	1795218969488752977	1795219076390116014	419	2	\\xe327b1ce08c69ba677751bd82b452a75	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:45.377935+00	\N	780601280	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	19	1795218969488752977	1795219076390116014	450	2	\\xca1771c428f31a700ef8252190bbd0aa	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:45.436865+00	\N	320854960	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	20	1795218969488752977	1795219076390116014	495	2	\\x448b35c0eb76abf5d5e98fd4df5f9e44	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:45.497981+00	\N	417675887	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	21	1795219039692588092	1795219247743286229	419	2	\\x13f06e3cbbbbe5778e2a2fc3909265b9	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:46.507363+00	\N	2992659974	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	22	1795219039692588092	1795219247743286229	449	2	\\x3197b64793cd122a15920a8f4cb06a36	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:46.565204+00	\N	3229047041	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	23	1795219039692588092	1795219247743286229	495	2	\\x796ed7e66642b099d732460de095d8a5	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:46.627516+00	\N	2407944950	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	21	1795901204582140149	1795901204582149002	995	7	\\xc1f1f35910c01e30ae14ee3927ad45fa	{01a2240d-2dc9-7035-9ace-5d1c8b48c0d6}	2026-11-28 21:26:44.649691+00	2026-11-28 21:26:47.025937+00	1321195741	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	24	1795219226027090442	1795219479725779136	418	2	\\xeb40c2ccf53e1dc8bd07c43a73ff4166	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:47.443199+00	\N	1076493646	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	25	1795219226027090442	1795219479725779136	448	2	\\x38eb31aaa30772b03d509cbb8202017d	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:47.504902+00	\N	3062595130	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	26	1795219226027090442	1795219479725779136	494	2	\\xe6e864a8bb6bc02331f4510367981a5d	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:47.564002+00	\N	1343159545	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	22	1795901205504846080	1795901205504856085	995	7	\\xc4ab370dce461e8dd32272d04e5fe84d	{01a2240d-2dc9-7035-9ace-5d1c8b48c0d6}	2026-11-28 21:26:45.562198+00	2026-11-28 21:26:48.291997+00	1090214919	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	23	1795901206630212994	1795901206630222608	995	7	\\x7254f37d2ae4cfe509b553d9c0983001	{01a2240d-2dc9-7035-9ace-5d1c8b48c0d6}	2026-11-28 21:26:46.685663+00	2026-11-28 21:26:49.342378+00	3524181851	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	24	1795901207568435518	1795901207568445012	999	7	\\x97904fa1903b8dacb66e5ef2f04566ba	{01a2240d-2dc9-7035-9ace-5d1c8b48c0d6}	2026-11-28 21:26:47.628671+00	2026-11-28 21:26:49.342378+00	945129201	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	27	1795218921808039683	1795219343291299273	506	3	\\x673ded5726598d487882a0aaabaa63db	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:52.861086+00	\N	599932211	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	28	1795218921808039683	1795219343291299273	552	3	\\xc602232d67ddc85a2d36ca02105de69b	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:52.917888+00	\N	2287996143	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	29	1795218921808039683	1795219343291299273	618	3	\\x3e870007af8e6f1146922be422092002	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:52.974116+00	\N	125455869	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	12	1795218957028957747	1795219481028746248	530	3	\\x5523598bbaebee31e58d1c6fde11bdb1	{01a2240d-2c87-7752-8e72-ffdc83389332}	2026-11-28 21:26:53.036758+00	\N	3329645265	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	13	1795218957028957747	1795219481028746248	576	3	\\x864b5d8fd8ae6cf5ac95058c935dac92	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:53.098136+00	\N	4224436165	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	14	1795218957028957747	1795219481028746248	644	3	\\xade6fe09c4f69af050718d038125b70f	{01a2240d-2c61-7738-9213-166ebbad4d02}	2026-11-28 21:26:53.161023+00	\N	3075843204	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	30	0	0	44	0	\\x55eaf32ee1109c833ac09db5cd2b3d37	\N	2026-11-28 21:26:53.167541+00	\N	2740733649	\N
\.


--
-- Data for Name: catalog_authors; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.catalog_authors (entry_id, created_by, created_at, updated_by, updated_at, deleted_by, deleted_at) FROM stdin;
01a2240d-2c9d-7454-ba4c-a33c52bd6e05	META_AUTH_TOKEN	2026-11-28 21:26:12.892549+00	\N	\N	\N	\N
01a2240d-2c87-7752-8e72-ffdc83389332	META_AUTH_TOKEN	2026-11-28 21:26:12.871142+00	META_AUTH_TOKEN	2026-11-28 21:26:12.961099+00	\N	\N
01a2240d-2c61-7738-9213-166ebbad4d02	META_AUTH_TOKEN	2026-11-28 21:26:12.832419+00	META_AUTH_TOKEN	2026-11-28 21:26:12.985166+00	\N	\N
01a2240d-2d01-79e6-b2e0-429cf7035c85	META_AUTH_TOKEN	2026-11-28 21:26:12.992969+00	\N	\N	\N	\N
01a2240d-2d15-7cd9-a721-9e3d57882382	META_AUTH_TOKEN	2026-11-28 21:26:13.012104+00	\N	\N	\N	\N
01a2240d-2d09-7574-b731-abb696a4657e	META_AUTH_TOKEN	2026-11-28 21:26:13.000643+00	META_AUTH_TOKEN	2026-11-28 21:26:13.029958+00	\N	\N
01a2240d-2d30-7855-9abe-8a51d8415965	META_AUTH_TOKEN	2026-11-28 21:26:13.04027+00	\N	\N	\N	\N
01a2240d-2d34-7b24-922d-5037a02ea270	META_AUTH_TOKEN	2026-11-28 21:26:13.044103+00	\N	\N	\N	\N
01a2240d-2d3d-7e1f-afe0-cb1f73a23faa	META_AUTH_TOKEN	2026-11-28 21:26:13.052154+00	\N	\N	\N	\N
01a2240d-2d44-7be2-907f-22013e8b96c5	META_AUTH_TOKEN	2026-11-28 21:26:13.060102+00	META_AUTH_TOKEN	2026-11-28 21:26:13.080054+00	\N	\N
01a2240d-2d50-7851-a860-03c2e6bb45a0	META_AUTH_TOKEN	2026-11-28 21:26:13.071924+00	\N	\N	META_AUTH_TOKEN	2026-11-28 21:26:13.09204+00
01a2240d-2d84-7676-9e51-32b8205738e8	META_AUTH_TOKEN	2026-11-28 21:26:13.121989+00	\N	\N	\N	\N
01a2240d-2d8b-716f-b385-d76cd0ff8f32	META_AUTH_TOKEN	2026-11-28 21:26:13.130244+00	\N	\N	\N	\N
01a2240d-2d90-7ecb-b96c-161275684a84	META_AUTH_TOKEN	2026-11-28 21:26:13.136106+00	\N	\N	\N	\N
01a2240d-2d94-7c86-ad90-85ed16bf9025	META_AUTH_TOKEN	2026-11-28 21:26:13.139958+00	\N	\N	\N	\N
01a2240d-2d9a-7eff-86af-f55b3fb8dc6b	META_AUTH_TOKEN	2026-11-28 21:26:13.143094+00	\N	\N	\N	\N
01a2240d-2da1-72c4-890f-b7e428f4ae0e	META_AUTH_TOKEN	2026-11-28 21:26:13.152167+00	\N	\N	\N	\N
01a2240d-2da6-7e44-9a7f-e027e9d26363	META_AUTH_TOKEN	2026-11-28 21:26:13.15602+00	\N	\N	\N	\N
01a2240d-2daa-773f-9e6e-8f0b1853d9fe	META_AUTH_TOKEN	2026-11-28 21:26:13.161527+00	\N	\N	\N	\N
01a2240d-2dad-7c39-ac18-561f06f2cbab	META_AUTH_TOKEN	2026-11-28 21:26:13.165097+00	\N	\N	META_AUTH_TOKEN	2026-11-28 21:26:13.168439+00
01a2240d-2dcd-75e9-b4fe-0125011e0b0b	META_AUTH_TOKEN	2026-11-28 21:26:13.196688+00	\N	\N	\N	\N
01a2240d-2dd4-764f-b096-377e68341cfa	META_AUTH_TOKEN	2026-11-28 21:26:13.204177+00	\N	\N	\N	\N
01a2240d-2dd9-739c-88be-7ce80f581a5a	META_AUTH_TOKEN	2026-11-28 21:26:13.208667+00	\N	\N	\N	\N
01a2240d-2de3-7097-a72f-96e447a72d0d	META_AUTH_TOKEN	2026-11-28 21:26:13.216253+00	\N	\N	\N	\N
01a2240d-2de9-735e-bc22-7b914a1b4ddb	META_AUTH_TOKEN	2026-11-28 21:26:13.224589+00	\N	\N	\N	\N
01a2240d-2dee-7749-88f6-584025c0ba49	META_AUTH_TOKEN	2026-11-28 21:26:13.230235+00	\N	\N	\N	\N
01a2240d-2df4-7d91-bf0a-8886972cbfbb	META_AUTH_TOKEN	2026-11-28 21:26:13.236231+00	\N	\N	\N	\N
01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	META_AUTH_TOKEN	2026-11-28 21:26:13.256416+00	\N	\N	\N	\N
01a2240d-2e14-7f15-b6e2-ed3e06e606e9	META_AUTH_TOKEN	2026-11-28 21:26:13.268328+00	\N	\N	\N	\N
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	META_AUTH_TOKEN	2026-11-28 21:26:13.192677+00	META_AUTH_TOKEN	2026-11-28 21:26:13.374527+00	\N	\N
01a2240d-2e18-79f5-a713-8d27296cfc07	META_AUTH_TOKEN	2026-11-28 21:26:13.272266+00	META_AUTH_TOKEN	2026-11-28 21:26:29.796816+00	\N	\N
01a2240d-2d4c-7c2b-9b34-1682e3beb52e	META_AUTH_TOKEN	2026-11-28 21:26:13.068137+00	\N	\N	META_AUTH_TOKEN	2026-11-28 21:26:50.084828+00
01a2240d-2ca9-7d3f-a59c-78396c24c058	META_AUTH_TOKEN	2026-11-28 21:26:12.905386+00	\N	\N	META_AUTH_TOKEN	2026-11-28 21:26:50.756617+00
01a2240d-2e01-7d3e-b8c5-1410d8d3882e	META_AUTH_TOKEN	2026-11-28 21:26:13.249104+00	\N	\N	META_AUTH_TOKEN	2026-11-28 21:26:50.764751+00
01a2240d-2df8-7d50-9f47-fbe6da9d773e	META_AUTH_TOKEN	2026-11-28 21:26:13.240598+00	\N	\N	META_AUTH_TOKEN	2026-11-28 21:26:51.856083+00
\.


--
-- Data for Name: clock_gaps; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.clock_gaps (gap_end, gap_start) FROM stdin;
2026-11-28 21:26:12.798454+00	2026-11-28 21:24:10.809781+00
\.


--
-- Data for Name: clock_state; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.clock_state (id, observed_at) FROM stdin;
1	2026-11-28 21:26:52.88584+00
\.


--
-- Data for Name: damaged_objects; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.damaged_objects (object_key, damage, found_at) FROM stdin;
dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold/01a2240d-68a3-75c1-b682-b1f78e40e616.parquet	recorded	2026-11-28 21:26:54.748+00
\.


--
-- Data for Name: dataset_deduplication; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.dataset_deduplication (dataset_key, days, key, refuses_outside) FROM stdin;
6	7	\\x82e722fa8666b95c90583659851bc752	f
\.


--
-- Data for Name: dataset_duplicates; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.dataset_duplicates (dataset_key, records) FROM stdin;
6	14
\.


--
-- Data for Name: dataset_stats; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.dataset_stats (dataset_key, live_segments, live_size_bytes, live_compressed_size_bytes, all_segments, open_tasks) FROM stdin;
1	0	0	0	0	0
4	0	0	0	0	0
5	2	3001	11557	2	0
11	2	3541	11992	6	0
7	3	4871	17633	7	0
10	4	6181	23314	8	0
9	2	3800	8011	3	0
3	6	8172	31721	6	0
6	5	13675	42592	9	0
2	8	73619	222847	18	2
8	5	6763	26008	6	0
\.


--
-- Data for Name: dataset_usage; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.dataset_usage (dataset_id, month, slot, records) FROM stdin;
01a2240d-2ca9-7d3f-a59c-78396c24c058	2026-11	54	4
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	2026-11	54	54
01a2240d-2c87-7752-8e72-ffdc83389332	2026-11	54	14
01a2240d-2c61-7738-9213-166ebbad4d02	2026-11	54	97
01a2240d-2dd4-764f-b096-377e68341cfa	2026-11	54	8
01a2240d-2df8-7d50-9f47-fbe6da9d773e	2026-11	54	8
01a2240d-2de3-7097-a72f-96e447a72d0d	2026-11	54	8
01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	2026-11	54	8
\.


--
-- Data for Name: dataset_visibility; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.dataset_visibility (dataset_key, from_version, to_version, name, from_time) FROM stdin;
1	1	\N	\N	2026-11-28 21:26:06.37406+00
2	8589934594	\N	\N	2026-11-28 21:26:12.839207+00
3	8589934595	\N	\N	2026-11-28 21:26:12.876004+00
4	8589934596	\N	\N	2026-11-28 21:26:12.894878+00
6	8589934606	\N	\N	2026-11-28 21:26:13.194013+00
7	8589934608	\N	\N	2026-11-28 21:26:13.205416+00
8	8589934610	\N	\N	2026-11-28 21:26:13.219995+00
9	8589934612	\N	\N	2026-11-28 21:26:13.231262+00
11	8589934616	8589934617	draft	2026-11-28 21:26:13.257448+00
11	8589934617	\N	\N	2026-11-28 21:26:13.264484+00
5	8589934597	8589934681	\N	2026-11-28 21:26:12.90723+00
10	8589934614	8589934684	\N	2026-11-28 21:26:13.24167+00
\.


--
-- Data for Name: datasets; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.datasets (id, key, name, is_default, created_at, deleted_at, purged_at, deletion_horizon, event_retention_secs, created_retention_secs, tombstone_grace_secs, records_per_month, changed_version, ingest_bytes_per_sec, ingest_exports_in_flight, ingest_memory_bytes, event_age_max_secs, event_lead_max_secs, pins_horizon, refuses_foreign, foreign_time_column, bound_field_ids, schema_violations, store, deduplication_rule, deduplication_column, kept_files, timestamp_unit, has_automatic_columns) FROM stdin;
01a2240d-1323-7354-ba68-4e0e6359fc7e	1	default	t	2026-11-28 21:26:06.364858+00	\N	\N	0	\N	\N	\N	0	1	0	0	0	0	0	\N	f		\N	0		\N		0	0	f
01a2240d-2c9d-7454-ba4c-a33c52bd6e05	4	empty	f	2026-11-28 21:26:12.892549+00	\N	\N	0	\N	\N	\N	0	8589934596	0	0	0	0	0	\N	f		\N	0		\N		0	0	f
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	6	payments	f	2026-11-28 21:26:13.192677+00	\N	\N	0	0	0	0	0	8589934648	0	0	0	0	0	\N	f		{1000,1002,1004,1006,1008,1010}	2		8589934622	payment_id	0	0	t
01a2240d-2c61-7738-9213-166ebbad4d02	2	web	f	2026-11-28 21:26:12.832419+00	\N	\N	0	0	0	86400	0	8589934599	0	0	0	0	0	0	f		\N	0		\N		0	0	f
01a2240d-2c87-7752-8e72-ffdc83389332	3	orders	f	2026-11-28 21:26:12.871142+00	\N	\N	0	3153600000	3153600000	86400	1000000	8589934595	10000000	100	0	0	0	\N	f		\N	0		\N		0	0	f
01a2240d-2dd4-764f-b096-377e68341cfa	7	archive	f	2026-11-28 21:26:13.204177+00	\N	\N	0	\N	\N	\N	0	8589934624	0	0	0	0	0	0	f		\N	0	cold	\N		0	0	f
01a2240d-2dee-7749-88f6-584025c0ba49	9	partner	f	2026-11-28 21:26:13.230235+00	\N	\N	0	\N	\N	\N	0	8589934612	0	0	0	0	0	\N	f		\N	0		\N		0	0	f
01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	11	renamed	f	2026-11-28 21:26:13.256416+00	\N	\N	0	\N	\N	\N	0	8589934617	0	0	0	0	0	\N	f		\N	0		\N		0	0	f
01a2240d-2de3-7097-a72f-96e447a72d0d	8	mended	f	2026-11-28 21:26:13.216253+00	\N	\N	8589934650	\N	\N	\N	0	8589934610	0	0	0	0	0	8589934650	f		\N	0		\N		0	0	f
01a2240d-2ca9-7d3f-a59c-78396c24c058	5	gone	f	2026-11-28 21:26:12.905386+00	2026-11-28 21:26:50.760139+00	\N	0	\N	\N	\N	0	8589934597	0	0	0	0	0	\N	f		\N	0		\N		0	0	f
01a2240d-2df8-7d50-9f47-fbe6da9d773e	10	kept	f	2026-11-28 21:26:13.240598+00	2026-11-28 21:26:51.859353+00	\N	0	\N	\N	\N	0	8589934614	0	0	0	0	0	\N	f		\N	0		\N		1	0	f
\.


--
-- Data for Name: deduplication_pages; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages (run, bucket, hashes) FROM stdin;
9	0	{02a0327a-32be-d2a1-5446-8e119987b2a1,08da0558-23fa-8baf-5d32-a469818f1a15,0a5af8b7-7da8-d851-d7c9-65705ea21cea,0d44d329-81de-4b50-f8e8-4210b8319a6a,274842cb-4278-0afc-cfec-eba60be229d7,2e0e7e9f-3683-fb9f-e110-e5b4d7905e84,30349a60-0ffe-1863-b8c7-e4aff0126ee8,50b3be63-9115-cfbd-14d3-aeef081fc768,55904ad7-3046-f710-bcfa-84ded84fe02b,56f92f48-3991-7ea0-5d02-e2c9a9eb2d16,616ccf09-c3f9-5651-da7b-06a3af4ed86a,69c260e0-d248-9f44-456e-c0b860cec9a5,6b21a924-0a72-5526-9254-96e780a040e3,7175b2d6-4c34-f54e-e03a-3a79412f35ef,729917a5-6dcc-f979-6300-6dbed467ef3c,8a657605-4a8b-2df3-ad5d-a123e4ac1d37,9122d4e5-7402-f413-e455-ab6d0a511580,97f39273-eba5-e5ac-feb8-8eb0d2aff4b1,9ef014bd-ba21-4312-e94c-139036985974,aecfa91b-2be8-217d-c2ff-5ff097c80aae,b18edf6f-2fe8-d851-cb3d-6860f61f9b57,b86d7da8-7e48-bd41-803e-040074184549,b8a8f261-b111-144b-601e-87c725b67c14,c14a75b9-6fca-7d6f-2e96-0b7415e20147,c168c02a-2a45-12fc-a40e-f22aed05a0d0,c43d6ab5-aca5-bf3c-c894-825a69e7670f,c66f6337-f0cc-96d7-8aad-905c70de7d43,d0772101-fae7-d9ef-aa96-53541dca5041,db533103-b5e8-666c-db06-9f6d736121d4,eca7ba9f-5067-3874-7d97-5d11b0e03bcd,ef8dc59b-71b3-33ed-7540-2ab7c557527b,f1d91baa-5ac9-b550-133a-c3de729ce56d}
\.


--
-- Data for Name: deduplication_pages_00; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_00 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_01; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_01 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_02; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_02 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_03; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_03 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_04; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_04 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_05; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_05 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_06; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_06 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_07; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_07 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_08; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_08 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_09; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_09 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_10; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_10 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_11; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_11 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_12; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_12 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_13; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_13 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_14; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_14 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_15; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_15 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_16; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_16 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_17; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_17 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_18; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_18 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_19; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_19 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_20; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_20 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_21; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_21 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_22; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_22 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_23; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_23 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_24; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_24 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_25; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_25 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_26; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_26 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_27; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_27 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_28; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_28 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_29; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_29 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_30; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_30 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_pages_31; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_pages_31 (run, bucket, hashes) FROM stdin;
\.


--
-- Data for Name: deduplication_runs; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.deduplication_runs (id, dataset_key, day, tier, bits, deduplication_keys, is_young, is_due, uid) FROM stdin;
9	6	20785	0	0	32	t	f	9ea1d3a0-5763-429a-b608-86e14abd0817
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
1	2026-11-28 21:26:00+00	127.0.0.1	UNAUTHENTICATED	1
\.


--
-- Data for Name: excess_allowances; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.excess_allowances (dataset_id, events) FROM stdin;
01a2240d-2c87-7752-8e72-ffdc83389332	5
\.


--
-- Data for Name: former_layouts; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.former_layouts (dataset_id, until_version, field_ids, bound_ids) FROM stdin;
01a2240d-2c61-7738-9213-166ebbad4d02	8589934598	{}	{}
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	8589934619	{}	{}
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	8589934620	{1000,1002,1004}	{1000,1002,1004}
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	8589934648	{1000,1002,1004,1006,1008}	{1000,1002,1004,1006,1008}
\.


--
-- Data for Name: ingest_streams; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.ingest_streams (id, collector_id, collector_string, shard_hash, created_at, stopped_at_nanos, stopped_offset, stop_reason, deleted_offset, deleted_ingest_time_nanos, retired_at, changed_version, principal) FROM stdin;
01a2240d-46a9-72e3-af8b-69614ed05dc2	ingest-eucollector-2	segplane-collector	1322278338	2026-11-28 21:26:19.545838+00	\N	\N	\N	-1	0	\N	8589934627	ingest-eu
01a2240d-4374-7c5c-8d6e-c79174313f5e	ingest-eucollector-3	segplane-collector	1949384542	2026-11-28 21:26:18.735981+00	\N	\N	\N	24	1795901207621689770	\N	8589934683	ingest-eu
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	ingest-eucollector-1	segplane-collector	990865615	2026-11-28 21:26:19.062835+00	1795901213171052000	30	1	-1	0	\N	8589934685	ingest-eu
\.


--
-- Data for Name: ingest_tokens; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.ingest_tokens (id, name, digest, hint, logs_dataset_id, traces_dataset_id, metrics_dataset_id, created_at, revoked_at, changed_version, pepper) FROM stdin;
01a2240d-2d3d-7e1f-afe0-cb1f73a23faa	frontend	\\xe3fa41ffac76d15f9022ba5e32bae02a33c178a41a307d6b1abbe36e82bc32fd	hlbg	01a2240d-2c61-7738-9213-166ebbad4d02	01a2240d-2c61-7738-9213-166ebbad4d02	01a2240d-2c61-7738-9213-166ebbad4d02	2026-11-28 21:26:13.052154+00	\N	8589934600	71ecf4c3c73e7e00
01a2240d-2d44-7be2-907f-22013e8b96c5	shop	\\x6064a28277ed824217e832839f9f1ca110d41845b57298e42a1cb38d8a804f40	d33Q	01a2240d-2c87-7752-8e72-ffdc83389332	01a2240d-2c61-7738-9213-166ebbad4d02	01a2240d-2c61-7738-9213-166ebbad4d02	2026-11-28 21:26:13.060102+00	\N	8589934604	71ecf4c3c73e7e00
01a2240d-2d50-7851-a860-03c2e6bb45a0	revoked	\\xd377366bdec01db17af6006b9954fd67583b7b98975e07721a57a45fef52e3ee	Wiyw	01a2240d-2c61-7738-9213-166ebbad4d02	01a2240d-2c61-7738-9213-166ebbad4d02	01a2240d-2c61-7738-9213-166ebbad4d02	2026-11-28 21:26:13.071924+00	2026-11-28 21:26:13.09204+00	8589934605	71ecf4c3c73e7e00
01a2240d-2dcd-75e9-b4fe-0125011e0b0b	payments	\\x4d34ef9b48bdb5509c6e1322c0a92a084c4c49096b7c172cf3246701feadf1a3	D__w	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	2026-11-28 21:26:13.196688+00	\N	8589934607	71ecf4c3c73e7e00
01a2240d-2dd9-739c-88be-7ce80f581a5a	archive	\\x403da1445efa7c86844e7387cafc88cce7695b5d082fd01f3f2603d86b00cc67	8QCA	01a2240d-2dd4-764f-b096-377e68341cfa	01a2240d-2dd4-764f-b096-377e68341cfa	01a2240d-2dd4-764f-b096-377e68341cfa	2026-11-28 21:26:13.208667+00	\N	8589934609	71ecf4c3c73e7e00
01a2240d-2de9-735e-bc22-7b914a1b4ddb	mended	\\x14c61827e0594c4a2c425a083b7a04c670540a262cc825cff6ab31abcf5dba39	6z_Q	01a2240d-2de3-7097-a72f-96e447a72d0d	01a2240d-2de3-7097-a72f-96e447a72d0d	01a2240d-2de3-7097-a72f-96e447a72d0d	2026-11-28 21:26:13.224589+00	\N	8589934611	71ecf4c3c73e7e00
01a2240d-2df4-7d91-bf0a-8886972cbfbb	partner	\\x99730f9d6a9d76fef689fb1e9118762d7ff05f49c90e9aba0eae1d1e0f08252e	FKEA	01a2240d-2dee-7749-88f6-584025c0ba49	01a2240d-2dee-7749-88f6-584025c0ba49	01a2240d-2dee-7749-88f6-584025c0ba49	2026-11-28 21:26:13.236231+00	\N	8589934613	71ecf4c3c73e7e00
01a2240d-2e14-7f15-b6e2-ed3e06e606e9	renamed	\\x4fb7a2b80b095cbe3fd6be66ecb47c2f27dea15ece271585689ee384128b6a90	yyWQ	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	2026-11-28 21:26:13.268328+00	\N	8589934618	71ecf4c3c73e7e00
01a2240d-2d4c-7c2b-9b34-1682e3beb52e	old	\\xa22fa03ea43940721f20d014efab205aaa0a3f6116c05fb7b4d1145343a15e0a	z6Ew	01a2240d-2ca9-7d3f-a59c-78396c24c058	01a2240d-2ca9-7d3f-a59c-78396c24c058	01a2240d-2ca9-7d3f-a59c-78396c24c058	2026-11-28 21:26:13.068137+00	2026-11-28 21:26:50.084828+00	8589934679	71ecf4c3c73e7e00
01a2240d-2e01-7d3e-b8c5-1410d8d3882e	kept	\\x0c62c33fb3c0d98250422a67a1da31630bcfe8a728b734c69c411095d1b0a36f	qmVQ	01a2240d-2df8-7d50-9f47-fbe6da9d773e	01a2240d-2df8-7d50-9f47-fbe6da9d773e	01a2240d-2df8-7d50-9f47-fbe6da9d773e	2026-11-28 21:26:13.249104+00	2026-11-28 21:26:50.764751+00	8589934682	71ecf4c3c73e7e00
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
01a2240d-2d20-7903-b87e-f7277f012da7	1	severity_number	1
01a2240d-2d20-7903-b87e-f7277f012da7	1	body	4
01a2240d-2d2b-7c11-b404-76d49c72dbe2	1	severity_number	1
01a2240d-2d2b-7c11-b404-76d49c72dbe2	1	body	4
\.


--
-- Data for Name: losses; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.losses (id, kind, stream_id, "offset", dataset_id, segment_id, object_key, records, version, lost_at, actor, reason, withdrawn_version) FROM stdin;
01a2240d-725d-764f-9a33-70549c364c75	2	\N	\N	01a2240d-2de3-7097-a72f-96e447a72d0d	01a2240d-64c2-78e6-87ef-0b9ae5df86af	dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged/01a2240d-6480-7282-8bf2-ea81fec6a608.parquet	1	8589934651	2026-11-28 21:26:30.745606+00	root@vm	recorded	\N
01a2240d-7058-7c7a-9ef0-bdc6d9f1ca9f	2	\N	\N	01a2240d-2de3-7097-a72f-96e447a72d0d	01a2240d-6934-7fd9-8c67-5365dd0ac9a9	dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged/01a2240d-68ce-7aa1-8b51-164ec2c391ca.parquet	1	8589934650	2026-11-28 21:26:30.226987+00	root@vm	recorded	8589934652
01a2240d-a784-7e12-ac66-c49d90aca064	3	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	14	01a2240d-2c87-7752-8e72-ffdc83389332	\N	quarantine/01a2240d-44b8-7ab3-9e8b-40abbb0f68cf/00000000000000000014/01a2240d-2d44-7be2-907f-22013e8b96c5-logs-0	\N	8589934667	2026-11-28 21:26:44.353764+00	root@vm	recorded	\N
\.


--
-- Data for Name: merge_attempts; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.merge_attempts (task_id, attempt, worker_id, claimed_at, ended_at, outcome, error, failed_segment_id) FROM stdin;
01a2240d-7bfe-7f9d-b845-207c1a11cbde	1	vm-18962-6096d28b	2026-11-28 21:26:40.08714+00	2026-11-28 21:26:40.244158+00	completed	\N	\N
01a2240d-79fe-7425-85b3-ac0431a259aa	1	vm-18962-6096d28b	2026-11-28 21:26:40.258006+00	2026-11-28 21:26:40.365974+00	completed	\N	\N
01a2240d-79dc-78ba-943a-54982c503fab	1	vm-18962-6096d28b	2026-11-28 21:26:40.375478+00	2026-11-28 21:26:40.516028+00	completed	\N	\N
01a2240d-79f2-78e6-ae1e-21ec2edd290e	1	vm-18962-6096d28b	2026-11-28 21:26:40.533814+00	2026-11-28 21:26:40.647469+00	completed	\N	\N
01a2240d-79be-762d-9440-04e71d5a6b9a	1	vm-18962-6096d28b	2026-11-28 21:26:40.660465+00	2026-11-28 21:26:40.793451+00	completed	\N	\N
01a2240d-79cb-7f5b-b157-f8ec3f5b714b	1	vm-18962-6096d28b	2026-11-28 21:26:40.802722+00	2026-11-28 21:26:41.090986+00	completed	\N	\N
01a2240d-79cb-7edf-9af6-62c3a11d8dde	1	vm-18962-6096d28b	2026-11-28 21:26:41.12334+00	2026-11-28 21:26:41.258045+00	completed	\N	\N
\.


--
-- Data for Name: merge_task_inputs; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.merge_task_inputs (segment_id, task_id, "position") FROM stdin;
01a2240d-9b67-7194-9def-daa550e9bc92	01a2240d-bdd2-7431-90ca-8e47c116c7e3	0
01a2240d-a975-7cb3-8601-cd67b9e34a9c	01a2240d-bdd2-7431-90ca-8e47c116c7e3	1
01a2240d-ad4d-7d3f-91c8-c805e111d6c6	01a2240d-bdd2-7431-90ca-8e47c116c7e3	2
01a2240d-b1ea-7330-8595-ee7dcb133459	01a2240d-bdd2-7431-90ca-8e47c116c7e3	3
01a2240d-b569-73d7-a221-e8a7675b7cd7	01a2240d-bdd2-74b0-86ae-bb2989bafdc4	0
01a2240d-b1ea-7361-83ea-7deabda53606	01a2240d-bdd2-74b0-86ae-bb2989bafdc4	1
01a2240d-9ab8-71b2-b6b9-37ded176a216	01a2240d-bdd2-74b0-86ae-bb2989bafdc4	2
01a2240d-5ee5-7cd5-a563-799585d6fb29	01a2240d-bdd2-74b0-86ae-bb2989bafdc4	3
\.


--
-- Data for Name: merge_tasks; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.merge_tasks (id, dataset_key, state, kind, attempt, worker_id, claimed_at, beat_at, free_at, failures, poison_failures, failed_at, rows_done, created_at, finished_at, output_segment_id, output_merge_count, segment_count, smallest_size, largest_size, smallest_compressed_size, largest_compressed_size, total_size, total_compressed_size, start_ns, end_ns, more_output_ids, rewrite_id, progressed_at) FROM stdin;
01a2240d-7bfe-7f9d-b845-207c1a11cbde	9	2	2	1	vm-18962-6096d28b	2026-11-28 21:26:40.08714+00	2026-11-28 21:26:40.112524+00	\N	0	0	\N	0	2026-11-28 21:26:33.214296+00	2026-11-28 21:26:40.247798+00	01a2240d-976f-796c-8224-0f2df7e5655f	0	1	2118	2118	2118	2118	2118	2118	1795219071085702444	1795219298649606461	\N	\N	\N
01a2240d-79fe-7425-85b3-ac0431a259aa	11	2	1	1	vm-18962-6096d28b	2026-11-28 21:26:40.258006+00	2026-11-28 21:26:40.267284+00	\N	0	0	\N	0	2026-11-28 21:26:32.699912+00	2026-11-28 21:26:40.366537+00	01a2240d-97e2-7caa-aabd-d41f392c13b7	1	4	1310	1388	4498	5684	5338	19204	1795219276336935643	1795219491530867105	\N	\N	\N
01a2240d-79dc-78ba-943a-54982c503fab	7	2	1	1	vm-18962-6096d28b	2026-11-28 21:26:40.375478+00	2026-11-28 21:26:40.383483+00	\N	0	0	\N	0	2026-11-28 21:26:32.667185+00	2026-11-28 21:26:40.516762+00	01a2240d-9880-7192-8e68-4d6b53d1e0b4	1	4	1309	1385	4491	5673	5394	20331	1795218923040974244	1795219138337585710	\N	\N	\N
01a2240d-79f2-78e6-ae1e-21ec2edd290e	10	2	1	1	vm-18962-6096d28b	2026-11-28 21:26:40.533814+00	2026-11-28 21:26:40.54373+00	\N	0	0	\N	0	2026-11-28 21:26:32.686354+00	2026-11-28 21:26:40.64786+00	01a2240d-98fe-7afc-b2c1-c1776ae724ba	1	4	1314	1389	4507	5696	5469	21551	1795218905400107392	1795219182478529947	\N	\N	\N
01a2240d-79be-762d-9440-04e71d5a6b9a	6	2	1	1	vm-18962-6096d28b	2026-11-28 21:26:40.660465+00	2026-11-28 21:26:40.672543+00	\N	0	0	\N	0	2026-11-28 21:26:32.635517+00	2026-11-28 21:26:40.793727+00	01a2240d-9995-7c13-891c-d2e777fc9e1d	1	4	2208	2244	6615	8142	8931	31034	1795901180257997661	1795901189230122273	\N	\N	\N
01a2240d-79cb-7f5b-b157-f8ec3f5b714b	2	2	1	1	vm-18962-6096d28b	2026-11-28 21:26:40.802722+00	2026-11-28 21:26:40.81582+00	\N	0	0	\N	0	2026-11-28 21:26:32.648814+00	2026-11-28 21:26:41.09141+00	01a2240d-9ab8-71b2-b6b9-37ded176a216	1	5	1880	6426	7727	22686	20990	74024	1795219295596540548	1795219445502675053	\N	\N	\N
01a2240d-79cb-7edf-9af6-62c3a11d8dde	2	2	1	1	vm-18962-6096d28b	2026-11-28 21:26:41.12334+00	2026-11-28 21:26:41.13404+00	\N	0	0	\N	0	2026-11-28 21:26:32.648814+00	2026-11-28 21:26:41.258293+00	01a2240d-9b67-7194-9def-daa550e9bc92	1	5	1880	13062	7727	38173	43056	141894	1795218906581974390	1795219183548671318	\N	\N	\N
01a2240d-bdd2-7431-90ca-8e47c116c7e3	2	1	1	0	\N	\N	\N	\N	0	0	\N	0	2026-11-28 21:26:50.065111+00	\N	\N	2	4	4286	15117	11781	39162	33980	98991	1795218906581974390	1795219183548671318	\N	\N	\N
01a2240d-bdd2-74b0-86ae-bb2989bafdc4	2	1	1	0	\N	\N	\N	\N	0	0	\N	0	2026-11-28 21:26:50.065111+00	\N	\N	2	4	4296	12588	11789	37928	39639	123856	1795219226027090442	1795219479725779136	\N	\N	\N
\.


--
-- Data for Name: meta_servers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.meta_servers (id, host, release, started_at, seen_at) FROM stdin;
4812f7cc-78c9-43c0-a05f-72427b6f98f8	vm	0.3.0	2026-11-28 21:26:06.682908+00	2026-11-28 21:26:06.682908+00
c697519e-b489-4ad5-b46a-514370021964	vm	0.3.0	2026-11-28 21:26:08.984831+00	2026-11-28 21:26:08.984831+00
9cae8e5e-663d-4bb1-8656-3851979324d1	vm	0.3.0	2026-11-28 21:26:10.834152+00	2026-11-28 21:26:10.834152+00
2f1608a2-0961-4d6b-ad00-9d214a8f4253	vm	0.3.0	2026-11-28 21:26:12.826238+00	2026-11-28 21:26:42.842507+00
\.


--
-- Data for Name: meta_state; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.meta_state (id, version, gap_start, gap_end, timeline, system_identifier, deletion_held, history_floor, removals_floor, token_pepper, ceiling, incarnation, least_release) FROM stdin;
1	8589934685	4294967297	8589934593	1	7713336747978835811	f	0	0	\\xe9aceac65b574b8eaba3aa01537a875f3a4dcfa648fa4233a9c9078afc0f12eb	8606711809	1795901162.360018/base/12784/16563	\N
\.


--
-- Data for Name: nurseries; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.nurseries (id, lease_until) FROM stdin;
nursery-gone	2026-11-28 21:27:04.731812+00
\.


--
-- Data for Name: nursery_shards; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.nursery_shards (shard, nursery_id) FROM stdin;
0	nursery-gone
1	nursery-gone
2	nursery-gone
3	nursery-gone
4	nursery-gone
5	nursery-gone
6	nursery-gone
7	nursery-gone
8	nursery-gone
9	nursery-gone
10	nursery-gone
11	nursery-gone
12	nursery-gone
13	nursery-gone
14	nursery-gone
15	nursery-gone
16	nursery-gone
17	nursery-gone
18	nursery-gone
19	nursery-gone
20	nursery-gone
21	nursery-gone
22	nursery-gone
23	nursery-gone
24	nursery-gone
25	nursery-gone
26	nursery-gone
27	nursery-gone
28	nursery-gone
29	nursery-gone
30	nursery-gone
31	nursery-gone
32	nursery-gone
33	nursery-gone
34	nursery-gone
35	nursery-gone
36	nursery-gone
37	nursery-gone
38	nursery-gone
39	nursery-gone
40	nursery-gone
41	nursery-gone
42	nursery-gone
43	nursery-gone
44	nursery-gone
45	nursery-gone
46	nursery-gone
47	nursery-gone
48	nursery-gone
49	nursery-gone
50	nursery-gone
51	nursery-gone
52	nursery-gone
53	nursery-gone
54	nursery-gone
55	nursery-gone
56	nursery-gone
57	nursery-gone
58	nursery-gone
59	nursery-gone
60	nursery-gone
61	nursery-gone
62	nursery-gone
63	nursery-gone
\.


--
-- Data for Name: object_identities; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.object_identities (object_key, state, segment_id, changed_at) FROM stdin;
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-5e18-7023-83f4-762312766dbb.parquet	1	01a2240d-5ee5-7c5f-8804-d666c1ffcc6c	2026-11-28 21:26:25.763447+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-5e45-7168-9343-a93d24b58503.parquet	1	01a2240d-5ee5-7cd5-a563-799585d6fb29	2026-11-28 21:26:25.763447+00
dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged/01a2240d-5d4e-7df2-979f-ea2edff20034.parquet	1	01a2240d-5ee5-7cef-90a5-8ecdf5919731	2026-11-28 21:26:25.763447+00
dataset/01a2240d-2ca9-7d3f-a59c-78396c24c058/merged/01a2240d-5e6d-7876-9d8e-0d977c12f790.parquet	1	01a2240d-5ee5-7cf7-a196-d835331642f7	2026-11-28 21:26:25.763447+00
dataset/01a2240d-2ca9-7d3f-a59c-78396c24c058/merged/01a2240d-5e7f-7e04-953d-8da5105f4ed5.parquet	1	01a2240d-5ee5-7cff-a029-bbacb83f61d1	2026-11-28 21:26:25.763447+00
dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold/01a2240d-5e04-7866-a0c8-a66406389b02.parquet	1	01a2240d-5ee5-7dae-8a0b-3f875de1ed4f	2026-11-28 21:26:25.763447+00
dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged/01a2240d-5d53-7ebe-bb8f-d87938221d24.parquet	1	01a2240d-5ee5-7db7-8664-d20f429d86e1	2026-11-28 21:26:25.763447+00
dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged/01a2240d-5e90-77ad-abe9-fb300f7348b5.parquet	1	01a2240d-5ee5-7dc0-a2a8-44e1dccfd7a6	2026-11-28 21:26:25.763447+00
dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged/01a2240d-5ea8-725a-8ed4-8044fc199fcb.parquet	1	01a2240d-5ee5-7ea0-af15-248b74df63a7	2026-11-28 21:26:25.763447+00
dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged/01a2240d-5eb1-77fa-a538-30f8c344fd76.parquet	1	01a2240d-5ee5-7ed0-ac7d-f1bff3841cb9	2026-11-28 21:26:25.763447+00
dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged/01a2240d-5ebb-7a8c-b7e7-87524d2a2205.parquet	1	01a2240d-5ee5-7f5d-b78a-0ae184bb375e	2026-11-28 21:26:25.763447+00
dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged/01a2240d-5dbf-7175-b062-01e27e812682.parquet	1	01a2240d-5eed-7a6b-8509-99ad8f777efd	2026-11-28 21:26:25.771506+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-6182-7b2a-b602-bb96ad814721.parquet	1	01a2240d-61d6-7840-aabd-217869185e96	2026-11-28 21:26:26.517041+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-61a0-7b69-b02b-74768fc50189.parquet	1	01a2240d-61d6-7876-922b-374efe2da0e5	2026-11-28 21:26:26.517041+00
dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged/01a2240d-61ad-7505-93c6-8ec9a5b97d31.parquet	1	01a2240d-61d6-7882-8ab3-4aa1560c7d78	2026-11-28 21:26:26.517041+00
dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged/01a2240d-61b4-72ca-a294-4c372da6e365.parquet	1	01a2240d-61d6-788d-a1b1-89a08f836811	2026-11-28 21:26:26.517041+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-6308-784d-8058-a618d0edea6b.parquet	1	01a2240d-6346-7e9f-bac0-74fe01425bb3	2026-11-28 21:26:26.885226+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-6313-7f17-bf43-b6b11e90d7c1.parquet	1	01a2240d-6346-7ed5-90b2-737165fd0e1b	2026-11-28 21:26:26.885226+00
dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold/01a2240d-62fd-7710-b46d-c948adcb5f98.parquet	1	01a2240d-6346-7ee2-98bf-274df3e25515	2026-11-28 21:26:26.885226+00
dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged/01a2240d-6301-7899-b594-b85dfe983396.parquet	1	01a2240d-6346-7eea-a11d-ed137846d33e	2026-11-28 21:26:26.885226+00
dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged/01a2240d-6480-7282-8bf2-ea81fec6a608.parquet	1	01a2240d-64c2-78e6-87ef-0b9ae5df86af	2026-11-28 21:26:27.264891+00
dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged/01a2240d-648f-7d8b-a1be-167c8b0e9cd0.parquet	1	01a2240d-64c2-7920-8d0f-2bd7e843a81d	2026-11-28 21:26:27.264891+00
dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged/01a2240d-6476-7da4-abeb-b627d2b2aa89.parquet	1	01a2240d-64c2-792c-aea0-1a2c7c704b65	2026-11-28 21:26:27.264891+00
dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged/01a2240d-64df-72a3-8203-252c80ee206f.parquet	1	01a2240d-64f3-73af-9084-442818765454	2026-11-28 21:26:27.312818+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-6704-748f-8275-f958028411a4.parquet	1	01a2240d-674c-76d7-8f3f-33c256a55905	2026-11-28 21:26:27.914929+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-671e-74bd-988d-83c5f06af8ce.parquet	1	01a2240d-674c-7709-bdae-65766d2974b7	2026-11-28 21:26:27.914929+00
dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged/01a2240d-66ff-73a7-97cc-2d696769bfd7.parquet	1	01a2240d-674c-7715-afc0-8b96e8c73c18	2026-11-28 21:26:27.914929+00
dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold/01a2240d-68a3-75c1-b682-b1f78e40e616.parquet	1	01a2240d-6934-7f9e-9898-aee3098a3197	2026-11-28 21:26:28.403221+00
dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold/01a2240d-68b5-743e-b530-e760c5aa5fe5.parquet	1	01a2240d-6934-7fce-bb2c-3d340738bacf	2026-11-28 21:26:28.403221+00
dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged/01a2240d-68e5-710c-81d4-aff3698a89c5.parquet	1	01a2240d-6934-7fe2-93e3-fd4d9c57b5d0	2026-11-28 21:26:28.403221+00
dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged/01a2240d-68fc-782a-861e-cb2a5387ccd7.parquet	1	01a2240d-6934-7fea-93f1-7e08865224e5	2026-11-28 21:26:28.403221+00
dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged/01a2240d-6909-7e11-8100-b065e2d4099b.parquet	1	01a2240d-6934-7ff1-bf74-391935f71c9d	2026-11-28 21:26:28.403221+00
dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged/01a2240d-6896-7aaf-9c15-77b72d7836f5.parquet	1	01a2240d-6934-7ff8-a085-cae1a84d6fc3	2026-11-28 21:26:28.403221+00
dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged/01a2240d-6945-7532-8b7b-c94516b60c71.parquet	1	01a2240d-6956-73e0-9613-cdf6c53ce35a	2026-11-28 21:26:28.436534+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-6b55-7cbc-8213-342cc0ccf960.parquet	1	01a2240d-6b72-7439-8ada-055a907f2389	2026-11-28 21:26:28.97713+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-6ca2-7a93-ae42-dd36198bd4f9.parquet	1	01a2240d-6cfa-758f-99bb-f44b5fef08a7	2026-11-28 21:26:29.368927+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-6cb0-7f68-b70c-93f3e93e4bab.parquet	1	01a2240d-6cfa-75c3-b6f0-3d4d96d7decb	2026-11-28 21:26:29.368927+00
dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged/01a2240d-6cbf-7179-a799-31faebb7b697.parquet	1	01a2240d-6cfa-75cf-ac84-71f5417f6562	2026-11-28 21:26:29.368927+00
dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged/01a2240d-6cc5-7770-b85e-81d6a1439961.parquet	1	01a2240d-6cfa-75d8-9f20-8e50b335f52d	2026-11-28 21:26:29.368927+00
dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold/01a2240d-6e20-700a-99ab-181e4075cc5a.parquet	1	01a2240d-6e68-789e-9c22-e1b759eced31	2026-11-28 21:26:29.734927+00
dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold/01a2240d-6e29-773e-b50a-580cca4c0b52.parquet	1	01a2240d-6e68-78d0-bae8-ed74bff735f5	2026-11-28 21:26:29.734927+00
dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged/01a2240d-6e17-719e-862c-272a4200f287.parquet	1	01a2240d-6e68-78dc-b00d-cd4400b95f1d	2026-11-28 21:26:29.734927+00
dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged/01a2240d-6e3c-756a-8adb-a88b193ceeff.parquet	1	01a2240d-6e68-78e5-93e5-77e245fab3a7	2026-11-28 21:26:29.734927+00
dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged/01a2240d-6e44-7706-be80-68d170da5870.parquet	1	01a2240d-6e68-78ec-895d-3741015b5b67	2026-11-28 21:26:29.734927+00
dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged/01a2240d-6e18-7f4c-b327-61133af8aeb6.parquet	1	01a2240d-6e68-78f4-8532-1a0a51e049a0	2026-11-28 21:26:29.734927+00
dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged/01a2240d-6e7a-7cce-8723-17e074ba3020.parquet	1	01a2240d-6e8a-7402-b584-88a9a2b5c03b	2026-11-28 21:26:29.768548+00
dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged/2cda3b1a-876f-5ba7-2b9e-abd673534891.parquet	1	01a2240d-7476-71df-a8ad-8d24d39369d4	2026-11-28 21:26:31.282866+00
dataset/01a2240d-2dee-7749-88f6-584025c0ba49/merged/857351cc-8420-4a3b-81dd-030ad60ccac8.parquet	1	01a2240d-75f8-7674-ab29-8c71299c4e10	2026-11-28 21:26:31.671594+00
dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged/01a2240d-68ce-7aa1-8b51-164ec2c391ca.parquet	3	01a2240d-6934-7fd9-8c67-5365dd0ac9a9	2026-11-28 21:26:32.736254+00
dataset/01a2240d-2dee-7749-88f6-584025c0ba49/merged/01a2240d-7bfe-7f9d-b845-207c1a11cbde-1/01a2240d-974b-7401-8c0d-dd21b39342d9.parquet	1	01a2240d-976f-796c-8224-0f2df7e5655f	2026-11-28 21:26:40.231207+00
dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged/01a2240d-79fe-7425-85b3-ac0431a259aa-1/01a2240d-97b3-7e1c-94fc-a17fed0dccad.parquet	1	01a2240d-97e2-7caa-aabd-d41f392c13b7	2026-11-28 21:26:40.351157+00
dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold/01a2240d-79dc-78ba-943a-54982c503fab-1/01a2240d-9862-7918-a0e7-30935170c174.parquet	1	01a2240d-9880-7192-8e68-4d6b53d1e0b4	2026-11-28 21:26:40.509609+00
dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged/01a2240d-79f2-78e6-ae1e-21ec2edd290e-1/01a2240d-98ea-723f-bc5a-09393a8e8366.parquet	1	01a2240d-98fe-7afc-b2c1-c1776ae724ba	2026-11-28 21:26:40.63629+00
dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged/01a2240d-79be-762d-9440-04e71d5a6b9a-1/01a2240d-9976-75a0-9417-b06caec8518f.parquet	1	01a2240d-9995-7c13-891c-d2e777fc9e1d	2026-11-28 21:26:40.786113+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-79cb-7edf-9af6-62c3a11d8dde-1/01a2240d-9b46-7d72-87f4-4a9d24d2f21e.parquet	1	01a2240d-9b67-7194-9def-daa550e9bc92	2026-11-28 21:26:41.253117+00
dataset/01a2240d-2dee-7749-88f6-584025c0ba49/merged/c4aaa5ba-d565-474b-bf03-811f4198b6ac.parquet	1	01a2240d-a10c-7646-b38a-ab640b609ef9	2026-11-28 21:26:42.700035+00
dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged/01a2240d-aec6-7220-94b8-500a078ddca4.parquet	1	01a2240d-aed9-7180-9579-6a76237d72a9	2026-11-28 21:26:46.229024+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-b17a-7553-83ee-f7bb4d4f5514.parquet	1	01a2240d-b1ea-7330-8595-ee7dcb133459	2026-11-28 21:26:47.016805+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-b1b3-79c6-b0be-32e57f760b1c.parquet	1	01a2240d-b1ea-7361-83ea-7deabda53606	2026-11-28 21:26:47.016805+00
dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged/01a2240d-b32f-7040-8f13-7d5ec72b266b.parquet	1	01a2240d-b33a-79b1-b53e-6463f65e422b	2026-11-28 21:26:47.352536+00
dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged/01a2240d-b6c6-7468-b773-db378aa9302b.parquet	1	01a2240d-b6da-7fb6-936b-0245995044cc	2026-11-28 21:26:48.279269+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-79cb-7f5b-b157-f8ec3f5b714b-1/01a2240d-9a55-70f4-aded-3faf9feef0eb.parquet	1	01a2240d-9ab8-71b2-b6b9-37ded176a216	2026-11-28 21:26:41.078211+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-a95e-7ddf-a599-0344b6aeed4c.parquet	1	01a2240d-a975-7cb3-8601-cd67b9e34a9c	2026-11-28 21:26:44.852579+00
dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged/01a2240d-aaf3-76fe-b6f9-3dff871e22f7.parquet	1	01a2240d-ab13-7695-b829-6f89c73ce10d	2026-11-28 21:26:45.264479+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-ad2e-7dc6-a409-48cd8de45793.parquet	1	01a2240d-ad4d-7d3f-91c8-c805e111d6c6	2026-11-28 21:26:45.836651+00
dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-b552-7e15-8876-eb121fead26a.parquet	1	01a2240d-b569-73d7-a221-e8a7675b7cd7	2026-11-28 21:26:47.912051+00
\.


--
-- Data for Name: object_stores; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.object_stores (name, url) FROM stdin;
cold	file:///tmp/segplane-record-xi2pthvb/cold
\.


--
-- Data for Name: offset_checkpoints; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.offset_checkpoints (stream_id, dataset_id, version, stream_offset, ingest_timestamp_nanos, created_at) FROM stdin;
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	8589934633	2	1795901179000000000	2026-11-28 21:26:25.769659+00
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c61-7738-9213-166ebbad4d02	8589934633	2	1795901179000000000	2026-11-28 21:26:25.769727+00
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c87-7752-8e72-ffdc83389332	8589934633	2	1795901179000000000	2026-11-28 21:26:25.769729+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dd4-764f-b096-377e68341cfa	8589934633	5	1795901181000000000	2026-11-28 21:26:25.769732+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2de3-7097-a72f-96e447a72d0d	8589934633	5	1795901181000000000	2026-11-28 21:26:25.769733+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	8589934633	5	1795901181000000000	2026-11-28 21:26:25.769738+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	8589934634	5	1795901181000000000	2026-11-28 21:26:25.911079+00
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	8589934635	5	1795901186000000000	2026-11-28 21:26:26.520328+00
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c61-7738-9213-166ebbad4d02	8589934635	4	1795901186000000000	2026-11-28 21:26:26.520335+00
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c87-7752-8e72-ffdc83389332	8589934635	4	1795901186000000000	2026-11-28 21:26:26.520337+00
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c61-7738-9213-166ebbad4d02	8589934636	5	1795901186000000000	2026-11-28 21:26:26.889063+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dd4-764f-b096-377e68341cfa	8589934636	10	1795901186000000000	2026-11-28 21:26:26.889075+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2de3-7097-a72f-96e447a72d0d	8589934637	10	1795901186000000000	2026-11-28 21:26:27.26835+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	8589934637	10	1795901186000000000	2026-11-28 21:26:27.268357+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	8589934638	10	1795901186000000000	2026-11-28 21:26:27.320523+00
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	8589934640	8	1795901187000000000	2026-11-28 21:26:27.918457+00
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c61-7738-9213-166ebbad4d02	8589934640	8	1795901187000000000	2026-11-28 21:26:27.918465+00
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c87-7752-8e72-ffdc83389332	8589934640	8	1795901187000000000	2026-11-28 21:26:27.918467+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dd4-764f-b096-377e68341cfa	8589934641	15	1795901188000000000	2026-11-28 21:26:28.40743+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2de3-7097-a72f-96e447a72d0d	8589934641	15	1795901188000000000	2026-11-28 21:26:28.407438+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	8589934641	15	1795901188000000000	2026-11-28 21:26:28.407442+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	8589934642	15	1795901188000000000	2026-11-28 21:26:28.443184+00
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	8589934644	11	1795901188000000000	2026-11-28 21:26:28.980462+00
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c61-7738-9213-166ebbad4d02	8589934645	11	1795901188000000000	2026-11-28 21:26:29.375788+00
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c87-7752-8e72-ffdc83389332	8589934645	11	1795901188000000000	2026-11-28 21:26:29.375796+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dd4-764f-b096-377e68341cfa	8589934646	20	1795901189000000000	2026-11-28 21:26:29.738381+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2de3-7097-a72f-96e447a72d0d	8589934646	20	1795901189000000000	2026-11-28 21:26:29.738388+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	8589934646	20	1795901189000000000	2026-11-28 21:26:29.738392+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	8589934647	20	1795901189000000000	2026-11-28 21:26:29.775577+00
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c87-7752-8e72-ffdc83389332	8589934664	12	1795901202000000000	2026-11-28 21:26:43.134271+00
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c87-7752-8e72-ffdc83389332	8589934665	13	1795901203000000000	2026-11-28 21:26:43.575+00
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c87-7752-8e72-ffdc83389332	8589934666	14	1795901203000000000	2026-11-28 21:26:43.891696+00
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	8589934668	17	1795901204000000000	2026-11-28 21:26:44.855131+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	8589934669	21	1795901204000000000	2026-11-28 21:26:45.272739+00
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	8589934670	20	1795901205000000000	2026-11-28 21:26:45.839212+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	8589934671	22	1795901205000000000	2026-11-28 21:26:46.238569+00
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	8589934672	23	1795901206000000000	2026-11-28 21:26:47.020361+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	8589934674	23	1795901206000000000	2026-11-28 21:26:47.359405+00
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	8589934675	26	1795901207000000000	2026-11-28 21:26:47.914642+00
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	8589934676	24	1795901207000000000	2026-11-28 21:26:48.288438+00
\.


--
-- Data for Name: parked_streams; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.parked_streams (stream_id, "offset", reason, parked_at) FROM stdin;
01a2240d-46a9-72e3-af8b-69614ed05dc2	14	recorded	2026-11-28 21:26:54.739324+00
\.


--
-- Data for Name: pins; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.pins (id, owner, dataset_key, version, created_at, expires_at, ends_at, held_segments, held_bytes, holds_changes, principal) FROM stdin;
00000000-0000-0000-0000-000000000001	reader	2	8589934652	2026-11-28 21:26:31.360725+00	2026-11-28 22:26:31.360725+00	2026-11-29 21:26:31.360723+00	0	0	f	META_AUTH_TOKEN
\.


--
-- Data for Name: projections; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.projections (id, name, projection, schema_id, created_at) FROM stdin;
01a2240d-2d15-7cd9-a721-9e3d57882382	errors	where severity_number >= 17 | project severity_number, body	01a2240d-2d01-79e6-b2e0-429cf7035c85	2026-11-28 21:26:13.012104+00
01a2240d-2d34-7b24-922d-5037a02ea270	unlinked	extend size = strlen(body)	\N	2026-11-28 21:26:13.044103+00
\.


--
-- Data for Name: promoted_columns; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.promoted_columns (dataset_id, "position", name, type, scope, attribute, is_of_schema) FROM stdin;
01a2240d-2c61-7738-9213-166ebbad4d02	0	record	4	1	record.id	f
01a2240d-2c61-7738-9213-166ebbad4d02	1	attempt	2	1	attempt	f
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	0	payment_id	4	1	payment_id	t
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	1	amount	2	1	amount.cents	t
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	2	paid_at	5	1	paid_at	t
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	3	cart	8	1	cart	t
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	4	id	4	100	id	f
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	5	ingested_at	5	100	ingested_at	f
\.


--
-- Data for Name: promoted_field_ids; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.promoted_field_ids (dataset_id, field_id, name, type, scope, attribute, is_bound) FROM stdin;
01a2240d-2c61-7738-9213-166ebbad4d02	1000	record	4	1	record.id	f
01a2240d-2c61-7738-9213-166ebbad4d02	1002	attempt	2	1	attempt	f
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	1002	amount	2	1	amount.cents	t
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	1004	paid_at	5	1	paid_at	t
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	1000	payment_id	4	1	payment_id	t
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	1006	id	4	100	id	t
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	1008	ingested_at	5	100	ingested_at	t
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	1010	cart	8	1	cart	t
\.


--
-- Data for Name: quarantined_ranges; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.quarantined_ranges (stream_id, verdict, first_offset, last_offset, dataset_id) FROM stdin;
01a2240d-4374-7c5c-8d6e-c79174313f5e	9ccaf6594b7a70c9	5	5	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6
01a2240d-4374-7c5c-8d6e-c79174313f5e	9ccaf6594b7a70c9	10	10	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6
01a2240d-4374-7c5c-8d6e-c79174313f5e	9ccaf6594b7a70c9	15	15	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6
01a2240d-4374-7c5c-8d6e-c79174313f5e	9ccaf6594b7a70c9	20	20	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6
01a2240d-4374-7c5c-8d6e-c79174313f5e	86176ce1e29bb04e	21	24	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6
\.


--
-- Data for Name: registration_segments; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.registration_segments (first_segment_id, segment_id) FROM stdin;
01a2240d-5ee5-7c5f-8804-d666c1ffcc6c	01a2240d-5ee5-7cd5-a563-799585d6fb29
01a2240d-5ee5-7cf7-a196-d835331642f7	01a2240d-5ee5-7cff-a029-bbacb83f61d1
01a2240d-5ee5-7dc0-a2a8-44e1dccfd7a6	01a2240d-5ee5-7ea0-af15-248b74df63a7
01a2240d-5ee5-7ed0-ac7d-f1bff3841cb9	01a2240d-5ee5-7f5d-b78a-0ae184bb375e
01a2240d-61d6-7840-aabd-217869185e96	01a2240d-61d6-7876-922b-374efe2da0e5
01a2240d-61d6-7882-8ab3-4aa1560c7d78	01a2240d-61d6-788d-a1b1-89a08f836811
01a2240d-6346-7e9f-bac0-74fe01425bb3	01a2240d-6346-7ed5-90b2-737165fd0e1b
01a2240d-64c2-78e6-87ef-0b9ae5df86af	01a2240d-64c2-7920-8d0f-2bd7e843a81d
01a2240d-674c-76d7-8f3f-33c256a55905	01a2240d-674c-7709-bdae-65766d2974b7
01a2240d-6934-7f9e-9898-aee3098a3197	01a2240d-6934-7fce-bb2c-3d340738bacf
01a2240d-6934-7fd9-8c67-5365dd0ac9a9	01a2240d-6934-7fe2-93e3-fd4d9c57b5d0
01a2240d-6934-7fea-93f1-7e08865224e5	01a2240d-6934-7ff1-bf74-391935f71c9d
01a2240d-6cfa-758f-99bb-f44b5fef08a7	01a2240d-6cfa-75c3-b6f0-3d4d96d7decb
01a2240d-6cfa-75cf-ac84-71f5417f6562	01a2240d-6cfa-75d8-9f20-8e50b335f52d
01a2240d-6e68-789e-9c22-e1b759eced31	01a2240d-6e68-78d0-bae8-ed74bff735f5
01a2240d-6e68-78e5-93e5-77e245fab3a7	01a2240d-6e68-78ec-895d-3741015b5b67
01a2240d-b1ea-7330-8595-ee7dcb133459	01a2240d-b1ea-7361-83ea-7deabda53606
\.


--
-- Data for Name: registrations; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.registrations (id, stream_id, dataset_id, start_offset, end_offset, ingest_time_nanos, version, segment_id, part, created_at, moved_from) FROM stdin;
1	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2ca9-7d3f-a59c-78396c24c058	-1	5	1795901181000000000	8589934633	01a2240d-5ee5-7cf7-a196-d835331642f7	0	2026-11-28 21:26:25.769442+00	\N
2	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	-1	2	1795901179000000000	8589934633	01a2240d-5ee5-7c5f-8804-d666c1ffcc6c	0	2026-11-28 21:26:25.769614+00	\N
3	01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c61-7738-9213-166ebbad4d02	0	2	1795901179000000000	8589934633	01a2240d-5ee5-7c5f-8804-d666c1ffcc6c	0	2026-11-28 21:26:25.76962+00	-1
4	01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c87-7752-8e72-ffdc83389332	-1	2	1795901179000000000	8589934633	01a2240d-5ee5-7cef-90a5-8ecdf5919731	0	2026-11-28 21:26:25.769623+00	\N
5	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dd4-764f-b096-377e68341cfa	0	5	1795901181000000000	8589934633	01a2240d-5ee5-7dae-8a0b-3f875de1ed4f	0	2026-11-28 21:26:25.769628+00	\N
6	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2df8-7d50-9f47-fbe6da9d773e	1	5	1795901181000000000	8589934633	01a2240d-5ee5-7dc0-a2a8-44e1dccfd7a6	0	2026-11-28 21:26:25.769631+00	\N
7	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2de3-7097-a72f-96e447a72d0d	2	5	1795901181000000000	8589934633	01a2240d-5ee5-7db7-8664-d20f429d86e1	0	2026-11-28 21:26:25.769634+00	\N
8	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	3	5	1795901181000000000	8589934633	01a2240d-5ee5-7ed0-ac7d-f1bff3841cb9	0	2026-11-28 21:26:25.769636+00	\N
9	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	4	5	1795901181000000000	8589934634	01a2240d-5eed-7a6b-8509-99ad8f777efd	0	2026-11-28 21:26:25.911039+00	\N
10	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	2	5	1795901186000000000	8589934635	01a2240d-61d6-7840-aabd-217869185e96	0	2026-11-28 21:26:26.520289+00	\N
11	01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c61-7738-9213-166ebbad4d02	3	4	1795901186000000000	8589934635	01a2240d-61d6-7840-aabd-217869185e96	0	2026-11-28 21:26:26.520315+00	2
12	01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c87-7752-8e72-ffdc83389332	2	4	1795901186000000000	8589934635	01a2240d-61d6-7882-8ab3-4aa1560c7d78	0	2026-11-28 21:26:26.520319+00	\N
13	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dd4-764f-b096-377e68341cfa	5	10	1795901186000000000	8589934636	01a2240d-6346-7ee2-98bf-274df3e25515	0	2026-11-28 21:26:26.888945+00	\N
14	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2df8-7d50-9f47-fbe6da9d773e	6	10	1795901186000000000	8589934636	01a2240d-6346-7eea-a11d-ed137846d33e	0	2026-11-28 21:26:26.889051+00	5
15	01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c61-7738-9213-166ebbad4d02	4	5	1795901186000000000	8589934636	01a2240d-6346-7e9f-bac0-74fe01425bb3	0	2026-11-28 21:26:26.889056+00	\N
16	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2de3-7097-a72f-96e447a72d0d	7	10	1795901186000000000	8589934637	01a2240d-64c2-78e6-87ef-0b9ae5df86af	0	2026-11-28 21:26:27.268318+00	5
17	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	8	10	1795901186000000000	8589934637	01a2240d-64c2-792c-aea0-1a2c7c704b65	0	2026-11-28 21:26:27.268342+00	5
18	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	9	10	1795901186000000000	8589934638	01a2240d-64f3-73af-9084-442818765454	0	2026-11-28 21:26:27.320498+00	5
19	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	5	8	1795901187000000000	8589934640	01a2240d-674c-76d7-8f3f-33c256a55905	0	2026-11-28 21:26:27.918421+00	\N
20	01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c87-7752-8e72-ffdc83389332	5	8	1795901187000000000	8589934640	01a2240d-674c-7715-afc0-8b96e8c73c18	0	2026-11-28 21:26:27.918445+00	4
21	01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c61-7738-9213-166ebbad4d02	6	8	1795901187000000000	8589934640	01a2240d-674c-76d7-8f3f-33c256a55905	0	2026-11-28 21:26:27.91845+00	5
22	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dd4-764f-b096-377e68341cfa	10	15	1795901188000000000	8589934641	01a2240d-6934-7f9e-9898-aee3098a3197	0	2026-11-28 21:26:28.407392+00	\N
23	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2df8-7d50-9f47-fbe6da9d773e	11	15	1795901188000000000	8589934641	01a2240d-6934-7fea-93f1-7e08865224e5	0	2026-11-28 21:26:28.407415+00	10
24	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2de3-7097-a72f-96e447a72d0d	12	15	1795901188000000000	8589934641	01a2240d-6934-7fd9-8c67-5365dd0ac9a9	0	2026-11-28 21:26:28.40742+00	10
25	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	13	15	1795901188000000000	8589934641	01a2240d-6934-7ff8-a085-cae1a84d6fc3	0	2026-11-28 21:26:28.407424+00	10
26	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	14	15	1795901188000000000	8589934642	01a2240d-6956-73e0-9613-cdf6c53ce35a	0	2026-11-28 21:26:28.443158+00	10
27	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	8	11	1795901188000000000	8589934644	01a2240d-6b72-7439-8ada-055a907f2389	0	2026-11-28 21:26:28.980431+00	\N
28	01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c61-7738-9213-166ebbad4d02	9	11	1795901188000000000	8589934645	01a2240d-6cfa-758f-99bb-f44b5fef08a7	0	2026-11-28 21:26:29.375755+00	8
29	01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c87-7752-8e72-ffdc83389332	8	11	1795901188000000000	8589934645	01a2240d-6cfa-75cf-ac84-71f5417f6562	0	2026-11-28 21:26:29.375782+00	\N
30	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dd4-764f-b096-377e68341cfa	15	20	1795901189000000000	8589934646	01a2240d-6e68-789e-9c22-e1b759eced31	0	2026-11-28 21:26:29.738342+00	\N
31	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2df8-7d50-9f47-fbe6da9d773e	16	20	1795901189000000000	8589934646	01a2240d-6e68-78e5-93e5-77e245fab3a7	0	2026-11-28 21:26:29.738366+00	15
32	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2de3-7097-a72f-96e447a72d0d	17	20	1795901189000000000	8589934646	01a2240d-6e68-78dc-b00d-cd4400b95f1d	0	2026-11-28 21:26:29.738371+00	15
33	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	18	20	1795901189000000000	8589934646	01a2240d-6e68-78f4-8532-1a0a51e049a0	0	2026-11-28 21:26:29.738374+00	15
34	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	19	20	1795901189000000000	8589934647	01a2240d-6e8a-7402-b584-88a9a2b5c03b	0	2026-11-28 21:26:29.77555+00	15
35	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c87-7752-8e72-ffdc83389332	11	12	1795901202000000000	8589934664	\N	0	2026-11-28 21:26:43.134072+00	\N
36	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c87-7752-8e72-ffdc83389332	12	13	1795901203000000000	8589934665	\N	0	2026-11-28 21:26:43.574966+00	\N
37	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c87-7752-8e72-ffdc83389332	13	14	1795901203000000000	8589934666	\N	0	2026-11-28 21:26:43.89163+00	\N
38	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	14	17	1795901204000000000	8589934668	01a2240d-a975-7cb3-8601-cd67b9e34a9c	0	2026-11-28 21:26:44.8551+00	11
39	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	20	21	1795901204000000000	8589934669	01a2240d-ab13-7695-b829-6f89c73ce10d	0	2026-11-28 21:26:45.272711+00	\N
40	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	17	20	1795901205000000000	8589934670	01a2240d-ad4d-7d3f-91c8-c805e111d6c6	0	2026-11-28 21:26:45.839161+00	\N
41	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	21	22	1795901205000000000	8589934671	01a2240d-aed9-7180-9579-6a76237d72a9	0	2026-11-28 21:26:46.238543+00	\N
42	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	20	23	1795901206000000000	8589934672	01a2240d-b1ea-7330-8595-ee7dcb133459	0	2026-11-28 21:26:47.020333+00	\N
43	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	22	23	1795901206000000000	8589934674	01a2240d-b33a-79b1-b53e-6463f65e422b	0	2026-11-28 21:26:47.359378+00	\N
44	01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	23	26	1795901207000000000	8589934675	01a2240d-b569-73d7-a221-e8a7675b7cd7	0	2026-11-28 21:26:47.914607+00	\N
45	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	23	24	1795901207000000000	8589934676	01a2240d-b6da-7fb6-936b-0245995044cc	0	2026-11-28 21:26:48.288411+00	\N
\.


--
-- Data for Name: replays; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.replays (object_key, state, dataset_id, version, segment_ids, actor, reason, changed_at) FROM stdin;
quarantine/01a2240d-44b8-7ab3-9e8b-40abbb0f68cf/00000000000000000014/01a2240d-2d44-7be2-907f-22013e8b96c5-logs-0	3	\N	8589934667	{}	root@vm	recorded	2026-11-28 21:26:44.357624+00
\.


--
-- Data for Name: retention_baselines; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.retention_baselines (dataset_key, event_secs, created_secs, seen_event_secs, seen_created_secs, seen_since) FROM stdin;
3	3153600000	3153600000	3153600000	3153600000	2026-11-28 21:26:12.961099+00
\.


--
-- Data for Name: rewrite_jobs; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.rewrite_jobs (id, dataset_key, state, format_version, start_ns, end_ns, version, tasks_max, bytes_per_sec, allowance_bytes, cursor_at, cursor_id, total_segments, total_bytes, done_segments, done_bytes, active_ms, created_at, due_at, advanced_at, planned_at, finished_at, store, inexact_bounds) FROM stdin;
00000000-0000-0000-0000-000000000003	7	3	\N	\N	\N	8589934623	16	\N	0	1970-01-01 00:00:00+00	00000000-0000-0000-0000-000000000000	0	0	0	0	1434	2026-11-28 21:26:13.410645+00	2026-11-28 21:26:15.859719+00	2026-11-28 21:26:14.85972+00	\N	2026-11-28 21:26:14.85972+00	cold	f
00000000-0000-0000-0000-000000000002	3	2	\N	\N	\N	8589934678	1	\N	0	1970-01-01 00:00:00+00	00000000-0000-0000-0000-000000000000	6	31721	0	0	0	2026-11-28 21:26:50.073837+00	2026-11-28 21:26:50.07901+00	2026-11-28 21:26:50.073837+00	\N	\N	\N	f
\.


--
-- Data for Name: rewrites; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.rewrites (dataset_filter, version, started_at) FROM stdin;
4	8589934685	2026-11-28 21:26:54.743739+00
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
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2d4c-7c2b-9b34-1682e3beb52e	0	01a2240d-2ca9-7d3f-a59c-78396c24c058	01a2240d-2ca9-7d3f-a59c-78396c24c058	01a2240d-2ca9-7d3f-a59c-78396c24c058
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2d3d-7e1f-afe0-cb1f73a23faa	0	01a2240d-2c61-7738-9213-166ebbad4d02	01a2240d-2c61-7738-9213-166ebbad4d02	01a2240d-2c61-7738-9213-166ebbad4d02
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2d44-7be2-907f-22013e8b96c5	0	01a2240d-2c87-7752-8e72-ffdc83389332	01a2240d-2c61-7738-9213-166ebbad4d02	01a2240d-2c61-7738-9213-166ebbad4d02
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dd9-739c-88be-7ce80f581a5a	1	01a2240d-2dd4-764f-b096-377e68341cfa	01a2240d-2dd4-764f-b096-377e68341cfa	01a2240d-2dd4-764f-b096-377e68341cfa
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e01-7d3e-b8c5-1410d8d3882e	2	01a2240d-2df8-7d50-9f47-fbe6da9d773e	01a2240d-2df8-7d50-9f47-fbe6da9d773e	01a2240d-2df8-7d50-9f47-fbe6da9d773e
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2de9-735e-bc22-7b914a1b4ddb	3	01a2240d-2de3-7097-a72f-96e447a72d0d	01a2240d-2de3-7097-a72f-96e447a72d0d	01a2240d-2de3-7097-a72f-96e447a72d0d
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e14-7f15-b6e2-ed3e06e606e9	4	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dcd-75e9-b4fe-0125011e0b0b	5	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2d44-7be2-907f-22013e8b96c5	12	01a2240d-2c87-7752-8e72-ffdc83389332	01a2240d-2c61-7738-9213-166ebbad4d02	01a2240d-2c61-7738-9213-166ebbad4d02
\.


--
-- Data for Name: schema_bindings; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.schema_bindings (dataset_id, schema_id, version, names, scopes, attributes) FROM stdin;
01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	01a2240d-2e18-79f5-a713-8d27296cfc07	\N	{amount}	{1}	{amount.cents}
\.


--
-- Data for Name: schema_columns; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.schema_columns (schema_id, "position", name, type) FROM stdin;
01a2240d-2d01-79e6-b2e0-429cf7035c85	0	severity_number	1
01a2240d-2d01-79e6-b2e0-429cf7035c85	1	body	4
01a2240d-2e18-79f5-a713-8d27296cfc07	0	payment_id	4
01a2240d-2e18-79f5-a713-8d27296cfc07	1	amount	2
01a2240d-2e18-79f5-a713-8d27296cfc07	2	paid_at	5
01a2240d-2e18-79f5-a713-8d27296cfc07	3	cart	8
\.


--
-- Data for Name: schema_versions; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.schema_versions (schema_id, version, names, types, replaced_at) FROM stdin;
01a2240d-2e18-79f5-a713-8d27296cfc07	1	{payment_id,amount,paid_at}	{4,2,5}	2026-11-28 21:26:29.796816+00
\.


--
-- Data for Name: schemas; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.schemas (id, name, created_at, version, is_frozen) FROM stdin;
01a2240d-2d01-79e6-b2e0-429cf7035c85	failures	2026-11-28 21:26:12.992969+00	1	f
01a2240d-2e18-79f5-a713-8d27296cfc07	payment	2026-11-28 21:26:13.272266+00	2	f
\.


--
-- Data for Name: scrub_state; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.scrub_state (name, checked_through, objects, size_bytes, is_complete, began_at, holder, lease_until) FROM stdin;
janitor		47	451495	t	2026-11-28 21:26:32.624927+00	01a2240d-7977-7dbe-819c-c468c2910c48	2026-11-28 21:31:33.748134+00
\.


--
-- Data for Name: segment_lineage; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.segment_lineage (input_id, output_id) FROM stdin;
01a2240d-6934-7fd9-8c67-5365dd0ac9a9	01a2240d-7476-71df-a8ad-8d24d39369d4
01a2240d-75f8-7674-ab29-8c71299c4e10	01a2240d-976f-796c-8224-0f2df7e5655f
01a2240d-5ee5-7f5d-b78a-0ae184bb375e	01a2240d-97e2-7caa-aabd-d41f392c13b7
01a2240d-64c2-792c-aea0-1a2c7c704b65	01a2240d-97e2-7caa-aabd-d41f392c13b7
01a2240d-6934-7ff8-a085-cae1a84d6fc3	01a2240d-97e2-7caa-aabd-d41f392c13b7
01a2240d-6e68-78f4-8532-1a0a51e049a0	01a2240d-97e2-7caa-aabd-d41f392c13b7
01a2240d-5ee5-7dae-8a0b-3f875de1ed4f	01a2240d-9880-7192-8e68-4d6b53d1e0b4
01a2240d-6346-7ee2-98bf-274df3e25515	01a2240d-9880-7192-8e68-4d6b53d1e0b4
01a2240d-6934-7f9e-9898-aee3098a3197	01a2240d-9880-7192-8e68-4d6b53d1e0b4
01a2240d-6e68-789e-9c22-e1b759eced31	01a2240d-9880-7192-8e68-4d6b53d1e0b4
01a2240d-5ee5-7dc0-a2a8-44e1dccfd7a6	01a2240d-98fe-7afc-b2c1-c1776ae724ba
01a2240d-6346-7eea-a11d-ed137846d33e	01a2240d-98fe-7afc-b2c1-c1776ae724ba
01a2240d-6934-7fea-93f1-7e08865224e5	01a2240d-98fe-7afc-b2c1-c1776ae724ba
01a2240d-6e68-78e5-93e5-77e245fab3a7	01a2240d-98fe-7afc-b2c1-c1776ae724ba
01a2240d-5eed-7a6b-8509-99ad8f777efd	01a2240d-9995-7c13-891c-d2e777fc9e1d
01a2240d-64f3-73af-9084-442818765454	01a2240d-9995-7c13-891c-d2e777fc9e1d
01a2240d-6956-73e0-9613-cdf6c53ce35a	01a2240d-9995-7c13-891c-d2e777fc9e1d
01a2240d-6e8a-7402-b584-88a9a2b5c03b	01a2240d-9995-7c13-891c-d2e777fc9e1d
01a2240d-61d6-7876-922b-374efe2da0e5	01a2240d-9ab8-71b2-b6b9-37ded176a216
01a2240d-6346-7ed5-90b2-737165fd0e1b	01a2240d-9ab8-71b2-b6b9-37ded176a216
01a2240d-674c-7709-bdae-65766d2974b7	01a2240d-9ab8-71b2-b6b9-37ded176a216
01a2240d-6b72-7439-8ada-055a907f2389	01a2240d-9ab8-71b2-b6b9-37ded176a216
01a2240d-6cfa-75c3-b6f0-3d4d96d7decb	01a2240d-9ab8-71b2-b6b9-37ded176a216
01a2240d-5ee5-7c5f-8804-d666c1ffcc6c	01a2240d-9b67-7194-9def-daa550e9bc92
01a2240d-61d6-7840-aabd-217869185e96	01a2240d-9b67-7194-9def-daa550e9bc92
01a2240d-6346-7e9f-bac0-74fe01425bb3	01a2240d-9b67-7194-9def-daa550e9bc92
01a2240d-674c-76d7-8f3f-33c256a55905	01a2240d-9b67-7194-9def-daa550e9bc92
01a2240d-6cfa-758f-99bb-f44b5fef08a7	01a2240d-9b67-7194-9def-daa550e9bc92
\.


--
-- Data for Name: segments; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.segments (id, dataset_key, dur_class, start_ns, end_ns, created_version, tombstone_version, tombstone_at, created_at, size_bytes, compressed_size_bytes, number_of_events, prefix, object_name, merge_count, quarantined_at, facts, signals, crc32c, crc32c_read_at, format_version, message, foreign_state, foreign_file) FROM stdin;
01a2240d-5ee5-7cd5-a563-799585d6fb29	2	4	1795219333871889567	1795219408306002439	8589934633	\N	\N	2026-11-28 21:26:25.763447+00	12588	37928	12	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-5e45-7168-9343-a93d24b58503.parquet	0	\N	\\x0802121a080110041a14089fd9e38a90cff9f4181087b4ddafa5d1f9f418121a080210041a14089fd9e38a90cff9f4181087b4ddafa5d1f9f418121a080310041a14089fd9e38a90cff9f4181087b4ddafa5d1f9f4181a04e807ea07	14	2234699093	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d356534352d373136382d393334332d6139336432346235383530332e706172717565740a2430316132323430642d356565352d376364352d613536332d3739393538356436666232391214089fd9e38a90cff9f4181087b4ddafa5d1f9f41818ac6220a8a802280c322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-5ee5-7cef-90a5-8ecdf5919731	3	3	1795218915516685670	1795218941175347059	8589934633	\N	\N	2026-11-28 21:26:25.763447+00	1316	4509	2	dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged	01a2240d-5d4e-7df2-979f-ea2edff20034.parquet	0	\N	\\x0802121a080110021a1408e6babccbf9c2f9f41810f3eebc96d9c3f9f418	2	3713446013	\N	2	\\x1233646174617365742f30316132323430642d326338372d373735322d386537322d6666646338333338393333322f6d6572676564122c30316132323430642d356434652d376466322d393739662d6561326564666632303033342e706172717565740a2430316132323430642d356565352d376365662d393061352d386563646635393139373331121408e6babccbf9c2f9f41810f3eebc96d9c3f9f41818a40a209d232802322430316132323430642d326338372d373735322d386537322d666664633833333839333332f20603c03e01	\N	\N
01a2240d-5ee5-7cf7-a196-d835331642f7	5	4	1795219101266522999	1795219176274654937	8589934633	\N	\N	2026-11-28 21:26:25.763447+00	1506	5791	2	dataset/01a2240d-2ca9-7d3f-a59c-78396c24c058/merged	01a2240d-5e6d-7876-9d8e-0d977c12f790.parquet	0	\N	\\x0802121a080110021a1408f7e6f2c7adc8f9f41810d9edc7fec4caf9f418	2	1033064164	\N	2	\\x1233646174617365742f30316132323430642d326361392d376433662d613539632d3738333936633234633035382f6d6572676564122c30316132323430642d356536642d373837362d396438652d3064393737633132663739302e706172717565740a2430316132323430642d356565352d376366372d613139362d643833353333313634326637121408f7e6f2c7adc8f9f41810d9edc7fec4caf9f41818e20b209f2d2802322430316132323430642d326361392d376433662d613539632d373833393663323463303538f20603c03e01	\N	\N
01a2240d-5ee5-7cff-a029-bbacb83f61d1	5	3	1795219297076948325	1795219357960609759	8589934633	\N	\N	2026-11-28 21:26:25.763447+00	1495	5766	2	dataset/01a2240d-2ca9-7d3f-a59c-78396c24c058/merged	01a2240d-5e7f-7e04-953d-8da5105f4ed5.parquet	0	\N	\\x0802121a080110021a1408e5daca8187cef9f41810dfbf96e9e9cff9f418	2	2772334596	\N	2	\\x1233646174617365742f30316132323430642d326361392d376433662d613539632d3738333936633234633035382f6d6572676564122c30316132323430642d356537662d376530342d393533642d3864613531303566346564352e706172717565740a2430316132323430642d356565352d376366662d613032392d626261636238336636316431121408e5daca8187cef9f41810dfbf96e9e9cff9f41818d70b20862d2802322430316132323430642d326361392d376433662d613539632d373833393663323463303538f20603c03e01	\N	\N
01a2240d-5ee5-7db7-8664-d20f429d86e1	8	4	1795218996964401591	1795219106124481089	8589934633	\N	\N	2026-11-28 21:26:25.763447+00	1303	4490	2	dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged	01a2240d-5d53-7ebe-bb8f-d87938221d24.parquet	0	\N	\\x0802121a080110021a1408b7c3e280a9c5f9f41810c184add4bfc8f9f418	2	160737392	\N	2	\\x1233646174617365742f30316132323430642d326465332d373039372d613732662d3936653434376137326430642f6d6572676564122c30316132323430642d356435332d376562652d626238662d6438373933383232316432342e706172717565740a2430316132323430642d356565352d376462372d383636342d643230663432396438366531121408b7c3e280a9c5f9f41810c184add4bfc8f9f41818970a208a232802322430316132323430642d326465332d373039372d613732662d393665343437613732643064f20603c03e01	\N	\N
01a2240d-5ee5-7ea0-af15-248b74df63a7	10	0	1795219478173878173	1795219478173878173	8589934633	\N	\N	2026-11-28 21:26:25.763447+00	1388	5691	1	dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged	01a2240d-5ea8-725a-8ed4-8044fc199fcb.parquet	0	\N	\\x0802121a080110011a14089d8faad3a9d3f9f418109d8faad3a9d3f9f418	2	2546553762	\N	2	\\x1233646174617365742f30316132323430642d326466382d376435302d396634372d6662653664613964373733652f6d6572676564122c30316132323430642d356561382d373235612d386564342d3830343466633139396663622e706172717565740a2430316132323430642d356565352d376561302d616631352d3234386237346466363361371214089d8faad3a9d3f9f418109d8faad3a9d3f9f41818ec0a20bb2c2801322430316132323430642d326466382d376435302d396634372d666265366461396437373365f20603c03e01	\N	\N
01a2240d-5ee5-7ed0-ac7d-f1bff3841cb9	11	0	1795219002109297956	1795219002109297956	8589934633	\N	\N	2026-11-28 21:26:25.763447+00	1391	5691	1	dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged	01a2240d-5eb1-77fa-a538-30f8c344fd76.parquet	0	\N	\\x0802121a080110011a1408a48a8696bcc5f9f41810a48a8696bcc5f9f418	2	4255522376	\N	2	\\x1233646174617365742f30316132323430642d326530382d376138642d396463332d6134396236636139613538392f6d6572676564122c30316132323430642d356562312d373766612d613533382d3330663863333434666437362e706172717565740a2430316132323430642d356565352d376564302d616337642d663162666633383431636239121408a48a8696bcc5f9f41810a48a8696bcc5f9f41818ef0a20bb2c2801322430316132323430642d326530382d376138642d396463332d613439623663613961353839f20603c03e01	\N	\N
01a2240d-61d6-7882-8ab3-4aa1560c7d78	3	0	1795219183548671318	1795219183548671318	8589934635	\N	\N	2026-11-28 21:26:26.517041+00	1384	5673	1	dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged	01a2240d-61ad-7505-93c6-8ec9a5b97d31.parquet	0	\N	\\x0802121a080110011a1408d6ca8a8be0caf9f41810d6ca8a8be0caf9f418	2	1054301309	\N	2	\\x1233646174617365742f30316132323430642d326338372d373735322d386537322d6666646338333338393333322f6d6572676564122c30316132323430642d363161642d373530352d393363362d3865633961356239376433312e706172717565740a2430316132323430642d363164362d373838322d386162332d346161313536306337643738121408d6ca8a8be0caf9f41810d6ca8a8be0caf9f41818e80a20a92c2801322430316132323430642d326338372d373735322d386537322d666664633833333839333332f20603c03e01	\N	\N
01a2240d-61d6-788d-a1b1-89a08f836811	3	0	1795219412773023149	1795219412773023149	8589934635	\N	\N	2026-11-28 21:26:26.517041+00	1384	5673	1	dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged	01a2240d-61b4-72ca-a294-4c372da6e365.parquet	0	\N	\\x0802121a080110011a1408addbe281b6d1f9f41810addbe281b6d1f9f418	2	3648910966	\N	2	\\x1233646174617365742f30316132323430642d326338372d373735322d386537322d6666646338333338393333322f6d6572676564122c30316132323430642d363162342d373263612d613239342d3463333732646136653336352e706172717565740a2430316132323430642d363164362d373838642d613162312d383961303866383336383131121408addbe281b6d1f9f41810addbe281b6d1f9f41818e80a20a92c2801322430316132323430642d326338372d373735322d386537322d666664633833333839333332f20603c03e01	\N	\N
01a2240d-5ee5-7dae-8a0b-3f875de1ed4f	7	4	1795218923040974244	1795219138337585710	8589934633	8589934657	2026-11-28 21:26:40.514582+00	2026-11-28 21:26:25.763447+00	1318	4491	2	dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold	01a2240d-5e04-7866-a0c8-a66406389b02.parquet	0	\N	\\x0802121a080110021a1408a4cbaacf95c3f9f41810aef4e0d4b7c9f9f418	2	2380941867	\N	2	\\x123e646174617365742f30316132323430642d326464342d373634662d623039362d3337376536383334316366612f6d65726765642f73746f72652d636f6c64122c30316132323430642d356530342d373836362d613063382d6136363430363338396230322e706172717565740a2430316132323430642d356565352d376461652d386130622d336638373564653165643466121408a4cbaacf95c3f9f41810aef4e0d4b7c9f9f41818a60a208b232802322430316132323430642d326464342d373634662d623039362d333737653638333431636661f20603c03e01	\N	\N
01a2240d-5ee5-7dc0-a2a8-44e1dccfd7a6	10	0	1795218905400107392	1795218905400107392	8589934633	8589934658	2026-11-28 21:26:40.643467+00	2026-11-28 21:26:25.763447+00	1383	5672	1	dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged	01a2240d-5e90-77ad-abe9-fb300f7348b5.parquet	0	\N	\\x0802121a080110011a140880c3c1f3d3c2f9f4181080c3c1f3d3c2f9f418	2	3284291999	\N	2	\\x1233646174617365742f30316132323430642d326466382d376435302d396634372d6662653664613964373733652f6d6572676564122c30316132323430642d356539302d373761642d616265392d6662333030663733343862352e706172717565740a2430316132323430642d356565352d376463302d613261382d34346531646363666437613612140880c3c1f3d3c2f9f4181080c3c1f3d3c2f9f41818e70a20a82c2801322430316132323430642d326466382d376435302d396634372d666265366461396437373365f20603c03e01	\N	\N
01a2240d-5eed-7a6b-8509-99ad8f777efd	6	0	1795901180257997661	1795901180258011532	8589934634	8589934659	2026-11-28 21:26:40.79175+00	2026-11-28 21:26:25.771506+00	2208	6615	4	dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged	01a2240d-5dbf-7175-b062-01e27e812682.parquet	0	\N	\\x0802121a080110041a1408dda6eee7bbd394f618108c93efe7bbd394f6181a0ae807ea07ec07ee07f007	2	3010958607	\N	2	\\x1233646174617365742f30316132323430642d326463392d373033352d396163652d3564316338623438633064362f6d6572676564122c30316132323430642d356462662d373137352d623036322d3031653237653831323638322e706172717565740a2430316132323430642d356565642d376136622d383530392d393961643866373737656664121408dda6eee7bbd394f618108c93efe7bbd394f61818a01120d7332804322430316132323430642d326463392d373033352d396163652d356431633862343863306436f206081203c0843dc03e01	\N	\N
01a2240d-61d6-7876-922b-374efe2da0e5	2	0	1795219412773023149	1795219412773023149	8589934635	8589934660	2026-11-28 21:26:41.087674+00	2026-11-28 21:26:26.517041+00	2297	9431	1	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-61a0-7b69-b02b-74768fc50189.parquet	0	\N	\\x0802121a080310011a1408addbe281b6d1f9f41810addbe281b6d1f9f4181a04e807ea07	8	2155446443	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d363161302d376236392d623032622d3734373638666335303138392e706172717565740a2430316132323430642d363164362d373837362d393232622d333734656665326461306535121408addbe281b6d1f9f41810addbe281b6d1f9f41818f91120d7492801322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-5ee5-7c5f-8804-d666c1ffcc6c	2	4	1795218906581974390	1795219154753450878	8589934633	8589934661	2026-11-28 21:26:41.25709+00	2026-11-28 21:26:25.763447+00	13062	38173	16	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-5e18-7023-83f4-762312766dbb.parquet	0	\N	\\x0802121a080110041a1408f6fa88a7d8c2f9f41810fee6b9e8f4c9f9f418121a080210061a1408f6fa88a7d8c2f9f41810fee6b9e8f4c9f9f418121a080310061a1408f6fa88a7d8c2f9f41810fee6b9e8f4c9f9f4181a04e807ea07	14	2299262798	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d356531382d373032332d383366342d3736323331323736366462622e706172717565740a2430316132323430642d356565352d376335662d383830342d643636366331666663633663121408f6fa88a7d8c2f9f41810fee6b9e8f4c9f9f418188666209daa022810322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-64c2-7920-8d0f-2bd7e843a81d	8	0	1795219394667559820	1795219394667559820	8589934637	\N	\N	2026-11-28 21:26:27.264891+00	1385	5675	1	dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged	01a2240d-648f-7d8b-a1be-167c8b0e9cd0.parquet	0	\N	\\x0802121a080110011a14088cf7b4c8f2d0f9f418108cf7b4c8f2d0f9f418	2	2572704583	\N	2	\\x1233646174617365742f30316132323430642d326465332d373039372d613732662d3936653434376137326430642f6d6572676564122c30316132323430642d363438662d376438622d613162652d3136376338623065396364302e706172717565740a2430316132323430642d363463322d373932302d386430662d3262643765383433613831641214088cf7b4c8f2d0f9f418108cf7b4c8f2d0f9f41818e90a20ab2c2801322430316132323430642d326465332d373039372d613732662d393665343437613732643064f20603c03e01	\N	\N
01a2240d-674c-7715-afc0-8b96e8c73c18	3	3	1795219295596540548	1795219314635842985	8589934640	\N	\N	2026-11-28 21:26:27.914929+00	1312	4494	2	dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged	01a2240d-66ff-73a7-97cc-2d696769bfd7.parquet	0	\N	\\x0802121a080110021a140884e5d5bf81cef9f41810a9cba8b6c8cef9f418	2	2841067210	\N	2	\\x1233646174617365742f30316132323430642d326338372d373735322d386537322d6666646338333338393333322f6d6572676564122c30316132323430642d363666662d373361372d393763632d3264363936373639626664372e706172717565740a2430316132323430642d363734632d373731352d616663302d38623936653863373363313812140884e5d5bf81cef9f41810a9cba8b6c8cef9f41818a00a208e232802322430316132323430642d326338372d373735322d386537322d666664633833333839333332f20603c03e01	\N	\N
01a2240d-6934-7fce-bb2c-3d340738bacf	7	0	1795219334806922152	1795219334806922152	8589934641	\N	\N	2026-11-28 21:26:28.403221+00	1385	5673	1	dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold	01a2240d-68b5-743e-b530-e760c5aa5fe5.parquet	0	\N	\\x0802121a080110011a1408a8c7d1c893cff9f41810a8c7d1c893cff9f418	2	1027240420	\N	2	\\x123e646174617365742f30316132323430642d326464342d373634662d623039362d3337376536383334316366612f6d65726765642f73746f72652d636f6c64122c30316132323430642d363862352d373433652d623533302d6537363063356161356665352e706172717565740a2430316132323430642d363933342d376663652d626232632d336433343037333862616366121408a8c7d1c893cff9f41810a8c7d1c893cff9f41818e90a20a92c2801322430316132323430642d326464342d373634662d623039362d333737653638333431636661f20603c03e01	\N	\N
01a2240d-6934-7fe2-93e3-fd4d9c57b5d0	8	0	1795219248234887444	1795219248234887444	8589934641	\N	\N	2026-11-28 21:26:28.403221+00	1384	5672	1	dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged	01a2240d-68e5-710c-81d4-aff3698a89c5.parquet	0	\N	\\x0802121a080110011a140894f2ef87d1ccf9f4181094f2ef87d1ccf9f418	2	1620778255	\N	2	\\x1233646174617365742f30316132323430642d326465332d373039372d613732662d3936653434376137326430642f6d6572676564122c30316132323430642d363865352d373130632d383164342d6166663336393861383963352e706172717565740a2430316132323430642d363933342d376665322d393365332d66643464396335376235643012140894f2ef87d1ccf9f4181094f2ef87d1ccf9f41818e80a20a82c2801322430316132323430642d326465332d373039372d613732662d393665343437613732643064f20603c03e01	\N	\N
01a2240d-64c2-792c-aea0-1a2c7c704b65	11	4	1795219372860237388	1795219440104583702	8589934637	8589934656	2026-11-28 21:26:40.362322+00	2026-11-28 21:26:27.264891+00	1321	4512	2	dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged	01a2240d-6476-7da4-abeb-b627d2b2aa89.parquet	0	\N	\\x0802121a080110021a1408ccccefa9a1d0f9f4181096e4bcea9bd2f9f418	2	163130897	\N	2	\\x1233646174617365742f30316132323430642d326530382d376138642d396463332d6134396236636139613538392f6d6572676564122c30316132323430642d363437362d376461342d616265622d6236323764326232616138392e706172717565740a2430316132323430642d363463322d373932632d616561302d316132633763373034623635121408ccccefa9a1d0f9f4181096e4bcea9bd2f9f41818a90a20a0232802322430316132323430642d326530382d376138642d396463332d613439623663613961353839f20603c03e01	\N	\N
01a2240d-6934-7f9e-9898-aee3098a3197	7	0	1795218934086004327	1795218934086004327	8589934641	8589934657	2026-11-28 21:26:40.514506+00	2026-11-28 21:26:28.403221+00	1385	5673	1	dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold	01a2240d-68a3-75c1-b682-b1f78e40e616.parquet	0	\N	\\x0802121a080110011a1408e7dc81e2bec3f9f41810e7dc81e2bec3f9f418	2	543722497	\N	2	\\x123e646174617365742f30316132323430642d326464342d373634662d623039362d3337376536383334316366612f6d65726765642f73746f72652d636f6c64122c30316132323430642d363861332d373563312d623638322d6231663738653430653631362e706172717565740a2430316132323430642d363933342d376639652d393839382d616565333039386133313937121408e7dc81e2bec3f9f41810e7dc81e2bec3f9f41818e90a20a92c2801322430316132323430642d326464342d373634662d623039362d333737653638333431636661f20603c03e01	\N	\N
01a2240d-6346-7ee2-98bf-274df3e25515	7	2	1795219074791199266	1795219086712839192	8589934636	8589934657	2026-11-28 21:26:40.514574+00	2026-11-28 21:26:26.885226+00	1309	4497	2	dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold	01a2240d-62fd-7710-b46d-c948adcb5f98.parquet	0	\N	\\x0802121a080110021a1408a2a4bdf7cac7f9f4181098b894acf7c7f9f418	2	302631717	\N	2	\\x123e646174617365742f30316132323430642d326464342d373634662d623039362d3337376536383334316366612f6d65726765642f73746f72652d636f6c64122c30316132323430642d363266642d373731302d623436642d6339343861646362356639382e706172717565740a2430316132323430642d363334362d376565322d393862662d323734646633653235353135121408a2a4bdf7cac7f9f4181098b894acf7c7f9f418189d0a2091232802322430316132323430642d326464342d373634662d623039362d333737653638333431636661f20603c03e01	\N	\N
01a2240d-6934-7fea-93f1-7e08865224e5	10	0	1795219078150598195	1795219078150598195	8589934641	8589934658	2026-11-28 21:26:40.643581+00	2026-11-28 21:26:28.403221+00	1383	5676	1	dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged	01a2240d-68fc-782a-861e-cb2a5387ccd7.parquet	0	\N	\\x0802121a080110011a1408b3dcaeb9d7c7f9f41810b3dcaeb9d7c7f9f418	2	3675405056	\N	2	\\x1233646174617365742f30316132323430642d326466382d376435302d396634372d6662653664613964373733652f6d6572676564122c30316132323430642d363866632d373832612d383631652d6362326135333837636364372e706172717565740a2430316132323430642d363933342d376665612d393366312d376530383836353232346535121408b3dcaeb9d7c7f9f41810b3dcaeb9d7c7f9f41818e70a20ac2c2801322430316132323430642d326466382d376435302d396634372d666265366461396437373365f20603c03e01	\N	\N
01a2240d-6346-7eea-a11d-ed137846d33e	10	4	1795218966490937817	1795219182478529947	8589934636	8589934658	2026-11-28 21:26:40.64359+00	2026-11-28 21:26:26.885226+00	1314	4507	2	dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged	01a2240d-6301-7899-b594-b85dfe983396.parquet	0	\N	\\x0802121a080110021a1408d9f3f1bdb7c4f9f418109babe68cdccaf9f418	2	3651732670	\N	2	\\x1233646174617365742f30316132323430642d326466382d376435302d396634372d6662653664613964373733652f6d6572676564122c30316132323430642d363330312d373839392d623539342d6238356466653938333339362e706172717565740a2430316132323430642d363334362d376565612d613131642d656431333738343664333365121408d9f3f1bdb7c4f9f418109babe68cdccaf9f41818a20a209b232802322430316132323430642d326466382d376435302d396634372d666265366461396437373365f20603c03e01	\N	\N
01a2240d-64f3-73af-9084-442818765454	6	0	1795901186651775118	1795901186651781558	8589934638	8589934659	2026-11-28 21:26:40.79179+00	2026-11-28 21:26:27.312818+00	2236	8135	4	dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged	01a2240d-64df-72a3-8203-252c80ee206f.parquet	0	\N	\\x0802121a080110041a14088ec1d3d0d3d394f61810b6f3d3d0d3d394f6181a0ae807ea07ec07ee07f007	2	1977457096	\N	2	\\x1233646174617365742f30316132323430642d326463392d373033352d396163652d3564316338623438633064362f6d6572676564122c30316132323430642d363464662d373261332d383230332d3235326338306565323036662e706172717565740a2430316132323430642d363466332d373361662d393038342d3434323831383736353435341214088ec1d3d0d3d394f61810b6f3d3d0d3d394f61818bc1120c73f2804322430316132323430642d326463392d373033352d396163652d356431633862343863306436f206081203c0843dc03e01	\N	\N
01a2240d-674c-7709-bdae-65766d2974b7	2	3	1795219295596540548	1795219314635842985	8589934640	8589934660	2026-11-28 21:26:41.087626+00	2026-11-28 21:26:27.914929+00	6426	22686	4	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-671e-74bd-988d-83c5f06af8ce.parquet	0	\N	\\x0802121a080210021a140884e5d5bf81cef9f41810a9cba8b6c8cef9f418121a080310021a140884e5d5bf81cef9f41810a9cba8b6c8cef9f4181a04e807ea07	12	1473486035	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d363731652d373462642d393838642d3833633566303661663863652e706172717565740a2430316132323430642d363734632d373730392d626461652d36353736366432393734623712140884e5d5bf81cef9f41810a9cba8b6c8cef9f418189a32209eb1012804322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-6346-7ed5-90b2-737165fd0e1b	2	0	1795219412773023149	1795219412773023149	8589934636	8589934660	2026-11-28 21:26:41.087685+00	2026-11-28 21:26:26.885226+00	1880	7727	1	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-6313-7f17-bf43-b6b11e90d7c1.parquet	0	\N	\\x0802121a080210011a1408addbe281b6d1f9f41810addbe281b6d1f9f4181a04e807ea07	4	1419331347	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d363331332d376631372d626634332d6236623131653930643763312e706172717565740a2430316132323430642d363334362d376564352d393062322d373337313635666430653162121408addbe281b6d1f9f41810addbe281b6d1f9f41818d80e20af3c2801322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-674c-76d7-8f3f-33c256a55905	2	4	1795218934683531985	1795219120937583802	8589934640	8589934661	2026-11-28 21:26:41.257048+00	2026-11-28 21:26:27.914929+00	10796	36610	6	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-6704-748f-8275-f958028411a4.parquet	0	\N	\\x0802121a080110021a1408d1f5f7fec0c3f9f41810ba89e5ebf6c8f9f418121a080210021a1408d1f5f7fec0c3f9f41810ba89e5ebf6c8f9f418121a080310021a1408d1f5f7fec0c3f9f41810ba89e5ebf6c8f9f4181a04e807ea07	14	3473068101	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d363730342d373438662d383237352d6639353830323834313161342e706172717565740a2430316132323430642d363734632d373664372d386633662d333363323536613535393035121408d1f5f7fec0c3f9f41810ba89e5ebf6c8f9f41818ac5420829e022806322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-6346-7e9f-bac0-74fe01425bb3	2	0	1795219183548671318	1795219183548671318	8589934636	8589934661	2026-11-28 21:26:41.257115+00	2026-11-28 21:26:26.885226+00	1880	7727	1	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-6308-784d-8058-a618d0edea6b.parquet	0	\N	\\x0802121a080210011a1408d6ca8a8be0caf9f41810d6ca8a8be0caf9f4181a04e807ea07	4	1834611527	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d363330382d373834642d383035382d6136313864306564656136622e706172717565740a2430316132323430642d363334362d376539662d626163302d373466653031343235626233121408d6ca8a8be0caf9f41810d6ca8a8be0caf9f41818d80e20af3c2801322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-6934-7ff1-bf74-391935f71c9d	10	0	1795219231075003768	1795219231075003768	8589934641	\N	\N	2026-11-28 21:26:28.403221+00	1386	5681	1	dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged	01a2240d-6909-7e11-8100-b065e2d4099b.parquet	0	\N	\\x0802121a080110011a1408f8dab39191ccf9f41810f8dab39191ccf9f418	2	1905517383	\N	2	\\x1233646174617365742f30316132323430642d326466382d376435302d396634372d6662653664613964373733652f6d6572676564122c30316132323430642d363930392d376531312d383130302d6230363565326434303939622e706172717565740a2430316132323430642d363933342d376666312d626637342d333931393335663731633964121408f8dab39191ccf9f41810f8dab39191ccf9f41818ea0a20b12c2801322430316132323430642d326466382d376435302d396634372d666265366461396437373365f20603c03e01	\N	\N
01a2240d-976f-796c-8224-0f2df7e5655f	9	4	1795219071085702444	1795219298649606461	8589934655	\N	\N	2026-11-28 21:26:40.231207+00	1685	5896	3	dataset/01a2240d-2dee-7749-88f6-584025c0ba49/merged/01a2240d-7bfe-7f9d-b845-207c1a11cbde-1	01a2240d-974b-7401-8c0d-dd21b39342d9.parquet	0	\N	\\x0802121a080110031a1408acdac790bdc7f9f41810bd92beef8ccef9f418	2	3405237887	\N	2	\\x125a646174617365742f30316132323430642d326465652d373734392d383866362d3538343032356330626134392f6d65726765642f30316132323430642d376266652d376639642d623834352d3230376331613131636264652d31122c30316132323430642d393734622d373430312d386330642d6464323162333933343264392e706172717565740a2430316132323430642d393736662d373936632d383232342d306632646637653536353566121408acdac790bdc7f9f41810bd92beef8ccef9f41818950d20882e2803322430316132323430642d326465652d373734392d383866362d353834303235633062613439f20603c03e01	\N	\N
01a2240d-97e2-7caa-aabd-d41f392c13b7	11	4	1795219276336935643	1795219491530867105	8589934656	\N	\N	2026-11-28 21:26:40.351157+00	2150	6301	7	dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged/01a2240d-79fe-7425-85b3-ac0431a259aa-1	01a2240d-97b3-7e1c-94fc-a17fed0dccad.parquet	1	\N	\\x0802121a080110071a1408dbe5fcdfb9cdf9f41810a183b8b4dbd3f9f418	2	655934560	\N	2	\\x125a646174617365742f30316132323430642d326530382d376138642d396463332d6134396236636139613538392f6d65726765642f30316132323430642d373966652d373432352d383562332d6163303433316132353961612d31122c30316132323430642d393762332d376531632d393466632d6131376665643064636361642e706172717565740a2430316132323430642d393765322d376361612d616162642d643431663339326331336237121408dbe5fcdfb9cdf9f41810a183b8b4dbd3f9f41818e610209d312807322430316132323430642d326530382d376138642d396463332d613439623663613961353839b00601f20603c03e01	\N	\N
01a2240d-5ee5-7f5d-b78a-0ae184bb375e	11	0	1795219276336935643	1795219276336935643	8589934633	8589934656	2026-11-28 21:26:40.362239+00	2026-11-28 21:26:25.763447+00	1388	5684	1	dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged	01a2240d-5ebb-7a8c-b7e7-87524d2a2205.parquet	0	\N	\\x0802121a080110011a1408dbe5fcdfb9cdf9f41810dbe5fcdfb9cdf9f418	2	1769876260	\N	2	\\x1233646174617365742f30316132323430642d326530382d376138642d396463332d6134396236636139613538392f6d6572676564122c30316132323430642d356562622d376138632d623765372d3837353234643261323230352e706172717565740a2430316132323430642d356565352d376635642d623738612d306165313834626233373565121408dbe5fcdfb9cdf9f41810dbe5fcdfb9cdf9f41818ec0a20b42c2801322430316132323430642d326530382d376138642d396463332d613439623663613961353839f20603c03e01	\N	\N
01a2240d-6934-7ff8-a085-cae1a84d6fc3	11	3	1795219401152796636	1795219457039306353	8589934641	8589934656	2026-11-28 21:26:40.362333+00	2026-11-28 21:26:28.403221+00	1319	4510	2	dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged	01a2240d-6896-7aaf-9c15-77b72d7836f5.parquet	0	\N	\\x0802121a080110021a1408dcafe8dc8ad1f9f41810f19ccaf5dad2f9f418	2	1018722681	\N	2	\\x1233646174617365742f30316132323430642d326530382d376138642d396463332d6134396236636139613538392f6d6572676564122c30316132323430642d363839362d376161662d396331352d3737623732643738333666352e706172717565740a2430316132323430642d363933342d376666382d613038352d636165316138346436666333121408dcafe8dc8ad1f9f41810f19ccaf5dad2f9f41818a70a209e232802322430316132323430642d326530382d376138642d396463332d613439623663613961353839f20603c03e01	\N	\N
01a2240d-6956-73e0-9613-cdf6c53ce35a	6	0	1795901187982359099	1795901187982364086	8589934642	8589934659	2026-11-28 21:26:40.7918+00	2026-11-28 21:26:28.436534+00	2243	8142	4	dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged	01a2240d-6945-7532-8b7b-c94516b60c71.parquet	0	\N	\\x0802121a080110041a1408bbf48fcbd8d394f61810b69b90cbd8d394f6181a0ae807ea07ec07ee07f007	2	2081838962	\N	2	\\x1233646174617365742f30316132323430642d326463392d373033352d396163652d3564316338623438633064362f6d6572676564122c30316132323430642d363934352d373533322d386237622d6339343531366236306337312e706172717565740a2430316132323430642d363935362d373365302d393631332d636466366335336365333561121408bbf48fcbd8d394f61810b69b90cbd8d394f61818c31120ce3f2804322430316132323430642d326463392d373033352d396163652d356431633862343863306436f206081203c0843dc03e01	\N	\N
01a2240d-6b72-7439-8ada-055a907f2389	2	2	1795219435102452561	1795219445502675053	8589934644	8589934660	2026-11-28 21:26:41.0877+00	2026-11-28 21:26:28.97713+00	4257	11757	6	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-6b55-7cbc-8213-342cc0ccf960.parquet	0	\N	\\x0802121a080110021a1408d1f6a29989d2f9f41810ed90bef8afd2f9f418121a080210021a1408d1f6a29989d2f9f41810ed90bef8afd2f9f418121a080310021a1408d1f6a29989d2f9f41810ed90bef8afd2f9f4181a04e807ea07	14	285871040	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d366235352d376362632d383231332d3334326363306363663936302e706172717565740a2430316132323430642d366237322d373433392d386164612d303535613930376632333839121408d1f6a29989d2f9f41810ed90bef8afd2f9f41818a12120ed5b2806322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-6cfa-75cf-ac84-71f5417f6562	3	0	1795219167349572474	1795219167349572474	8589934645	\N	\N	2026-11-28 21:26:29.368927+00	1390	5691	1	dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged	01a2240d-6cbf-7179-a799-31faebb7b697.parquet	0	\N	\\x0802121a080110011a1408fa86e0dea3caf9f41810fa86e0dea3caf9f418	2	1783183176	\N	2	\\x1233646174617365742f30316132323430642d326338372d373735322d386537322d6666646338333338393333322f6d6572676564122c30316132323430642d366362662d373137392d613739392d3331666165626237623639372e706172717565740a2430316132323430642d366366612d373563662d616338342d373166353431376636353632121408fa86e0dea3caf9f41810fa86e0dea3caf9f41818ee0a20bb2c2801322430316132323430642d326338372d373735322d386537322d666664633833333839333332f20603c03e01	\N	\N
01a2240d-6cfa-75d8-9f20-8e50b335f52d	3	0	1795219437038455267	1795219437038455267	8589934645	\N	\N	2026-11-28 21:26:29.368927+00	1386	5681	1	dataset/01a2240d-2c87-7752-8e72-ffdc83389332/merged	01a2240d-6cc5-7770-b85e-81d6a1439961.parquet	0	\N	\\x0802121a080110011a1408e393b7b490d2f9f41810e393b7b490d2f9f418	2	1217615922	\N	2	\\x1233646174617365742f30316132323430642d326338372d373735322d386537322d6666646338333338393333322f6d6572676564122c30316132323430642d366363352d373737302d623835652d3831643661313433393936312e706172717565740a2430316132323430642d366366612d373564382d396632302d386535306233333566353264121408e393b7b490d2f9f41810e393b7b490d2f9f41818ea0a20b12c2801322430316132323430642d326338372d373735322d386537322d666664633833333839333332f20603c03e01	\N	\N
01a2240d-6e68-78d0-bae8-ed74bff735f5	7	0	1795219441680327454	1795219441680327454	8589934646	\N	\N	2026-11-28 21:26:29.734927+00	1394	5700	1	dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold	01a2240d-6e29-773e-b50a-580cca4c0b52.parquet	0	\N	\\x0802121a080110011a14089ec6ecd9a1d2f9f418109ec6ecd9a1d2f9f418	2	1529320614	\N	2	\\x123e646174617365742f30316132323430642d326464342d373634662d623039362d3337376536383334316366612f6d65726765642f73746f72652d636f6c64122c30316132323430642d366532392d373733652d623530612d3538306363613463306235322e706172717565740a2430316132323430642d366536382d373864302d626165382d6564373462666637333566351214089ec6ecd9a1d2f9f418109ec6ecd9a1d2f9f41818f20a20c42c2801322430316132323430642d326464342d373634662d623039362d333737653638333431636661f20603c03e01	\N	\N
01a2240d-6e68-78dc-b00d-cd4400b95f1d	8	4	1795219009988162579	1795219176919384745	8589934646	\N	\N	2026-11-28 21:26:29.734927+00	1302	4482	2	dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged	01a2240d-6e17-719e-862c-272a4200f287.parquet	0	\N	\\x0802121a080110021a140893e8fdc2d9c5f9f41810a985ffb1c7caf9f418	2	1291240798	\N	2	\\x1233646174617365742f30316132323430642d326465332d373039372d613732662d3936653434376137326430642f6d6572676564122c30316132323430642d366531372d373139652d383632632d3237326134323030663238372e706172717565740a2430316132323430642d366536382d373864632d623030642d63643434303062393566316412140893e8fdc2d9c5f9f41810a985ffb1c7caf9f41818960a2082232802322430316132323430642d326465332d373039372d613732662d393665343437613732643064f20603c03e01	\N	\N
01a2240d-6e68-78ec-895d-3741015b5b67	10	0	1795219229212918509	1795219229212918509	8589934646	\N	\N	2026-11-28 21:26:29.734927+00	1388	5689	1	dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged	01a2240d-6e44-7706-be80-68d170da5870.parquet	0	\N	\\x0802121a080110011a1408ed85bf998accf9f41810ed85bf998accf9f418	2	341913758	\N	2	\\x1233646174617365742f30316132323430642d326466382d376435302d396634372d6662653664613964373733652f6d6572676564122c30316132323430642d366534342d373730362d626538302d3638643137306461353837302e706172717565740a2430316132323430642d366536382d373865632d383935642d333734313031356235623637121408ed85bf998accf9f41810ed85bf998accf9f41818ec0a20b92c2801322430316132323430642d326466382d376435302d396634372d666265366461396437373365f20603c03e01	\N	\N
01a2240d-64c2-78e6-87ef-0b9ae5df86af	8	0	1795219183568702090	1795219183568702090	8589934637	8589934651	infinity	2026-11-28 21:26:27.264891+00	1385	5673	1	dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged	01a2240d-6480-7282-8bf2-ea81fec6a608.parquet	0	\N	\\x0802121a080110011a14088a95d194e0caf9f418108a95d194e0caf9f418	2	110013482	\N	2	\\x1233646174617365742f30316132323430642d326465332d373039372d613732662d3936653434376137326430642f6d6572676564122c30316132323430642d363438302d373238322d386266322d6561383166656336613630382e706172717565740a2430316132323430642d363463322d373865362d383765662d3062396165356466383661661214088a95d194e0caf9f418108a95d194e0caf9f41818e90a20a92c2801322430316132323430642d326465332d373039372d613732662d393665343437613732643064f20603c03e01	\N	\N
01a2240d-7476-71df-a8ad-8d24d39369d4	8	0	1795218904380300297	1795218904380300297	8589934652	\N	\N	2026-11-28 21:26:31.282866+00	1389	5689	1	dataset/01a2240d-2de3-7097-a72f-96e447a72d0d/merged	2cda3b1a-876f-5ba7-2b9e-abd673534891.parquet	0	\N	\\x0802121a080110011a140889b89d8dd0c2f9f4181089b89d8dd0c2f9f418	2	866704342	\N	2	\\x1233646174617365742f30316132323430642d326465332d373039372d613732662d3936653434376137326430642f6d6572676564122c32636461336231612d383736662d356261372d326239652d6162643637333533343839312e706172717565740a2430316132323430642d373437362d373164662d613861642d38643234643339333639643412140889b89d8dd0c2f9f4181089b89d8dd0c2f9f41818ed0a20b92c2801322430316132323430642d326465332d373039372d613732662d393665343437613732643064	\N	\N
01a2240d-6e68-78f4-8532-1a0a51e049a0	11	4	1795219362246012806	1795219491530867105	8589934646	8589934656	2026-11-28 21:26:40.362341+00	2026-11-28 21:26:29.734927+00	1310	4498	2	dataset/01a2240d-2e08-7a8d-9dc3-a49b6ca9a589/merged	01a2240d-6e18-7f4c-b327-61133af8aeb6.parquet	0	\N	\\x0802121a080110021a140886dfcee4f9cff9f41810a183b8b4dbd3f9f418	2	1488737526	\N	2	\\x1233646174617365742f30316132323430642d326530382d376138642d396463332d6134396236636139613538392f6d6572676564122c30316132323430642d366531382d376634632d623332372d3631313333616638616562362e706172717565740a2430316132323430642d366536382d373866342d383533322d31613061353165303439613012140886dfcee4f9cff9f41810a183b8b4dbd3f9f418189e0a2092232802322430316132323430642d326530382d376138642d396463332d613439623663613961353839f20603c03e01	\N	\N
01a2240d-75f8-7674-ab29-8c71299c4e10	9	4	1795219071085702444	1795219298649606461	8589934654	8589934655	2026-11-28 21:26:40.242316+00	2026-11-28 21:26:31.671594+00	2118	2118	3	dataset/01a2240d-2dee-7749-88f6-584025c0ba49/merged	857351cc-8420-4a3b-81dd-030ad60ccac8.parquet	0	\N	\\x121a080110031a1408acdac790bdc7f9f41810bd92beef8ccef9f418	2	1854893350	2026-11-28 21:26:32.71909+00	\N	\\x1233646174617365742f30316132323430642d326465652d373734392d383866362d3538343032356330626134392f6d6572676564122c38353733353163632d383432302d346133622d383164642d3033306164363063636163382e706172717565740a2430316132323430642d373566382d373637342d616232392d386337313239396334653130121408acdac790bdc7f9f41810bd92beef8ccef9f41818c61020c6102803322430316132323430642d326465652d373734392d383866362d353834303235633062613439	2	\\x0802
01a2240d-9880-7192-8e68-4d6b53d1e0b4	7	4	1795218923040974244	1795219138337585710	8589934657	\N	\N	2026-11-28 21:26:40.509609+00	2092	6260	6	dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold/01a2240d-79dc-78ba-943a-54982c503fab-1	01a2240d-9862-7918-a0e7-30935170c174.parquet	1	\N	\\x0802121a080110061a1408a4cbaacf95c3f9f41810aef4e0d4b7c9f9f418	2	1657217030	\N	2	\\x1265646174617365742f30316132323430642d326464342d373634662d623039362d3337376536383334316366612f6d65726765642f73746f72652d636f6c642f30316132323430642d373964632d373862612d393433612d3534393832633530336661622d31122c30316132323430642d393836322d373931382d613065372d3330393335313730633137342e706172717565740a2430316132323430642d393838302d373139322d386536382d346436623533643165306234121408a4cbaacf95c3f9f41810aef4e0d4b7c9f9f41818ac1020f4302806322430316132323430642d326464342d373634662d623039362d333737653638333431636661b00601f20603c03e01	\N	\N
01a2240d-6e68-789e-9c22-e1b759eced31	7	0	1795219020637888008	1795219020637888008	8589934646	8589934657	2026-11-28 21:26:40.514564+00	2026-11-28 21:26:29.734927+00	1382	5670	1	dataset/01a2240d-2dd4-764f-b096-377e68341cfa/merged/store-cold	01a2240d-6e20-700a-99ab-181e4075cc5a.parquet	0	\N	\\x0802121a080110011a140888bc959981c6f9f4181088bc959981c6f9f418	2	3422875203	\N	2	\\x123e646174617365742f30316132323430642d326464342d373634662d623039362d3337376536383334316366612f6d65726765642f73746f72652d636f6c64122c30316132323430642d366532302d373030612d393961622d3138316534303735636335612e706172717565740a2430316132323430642d366536382d373839652d396332322d65316237353965636564333112140888bc959981c6f9f4181088bc959981c6f9f41818e60a20a62c2801322430316132323430642d326464342d373634662d623039362d333737653638333431636661f20603c03e01	\N	\N
01a2240d-98fe-7afc-b2c1-c1776ae724ba	10	5	1795218905400107392	1795219182478529947	8589934658	\N	\N	2026-11-28 21:26:40.63629+00	2019	6253	5	dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged/01a2240d-79f2-78e6-ae1e-21ec2edd290e-1	01a2240d-98ea-723f-bc5a-09393a8e8366.parquet	1	\N	\\x0802121a080110051a140880c3c1f3d3c2f9f418109babe68cdccaf9f418	2	2288854878	\N	2	\\x125a646174617365742f30316132323430642d326466382d376435302d396634372d6662653664613964373733652f6d65726765642f30316132323430642d373966322d373865362d616531652d3231656332656464323930652d31122c30316132323430642d393865612d373233662d626335612d3039333933613865383336362e706172717565740a2430316132323430642d393866652d376166632d623263312d63313737366165373234626112140880c3c1f3d3c2f9f418109babe68cdccaf9f41818e30f20ed302805322430316132323430642d326466382d376435302d396634372d666265366461396437373365b00601f20603c03e01	\N	\N
01a2240d-6e8a-7402-b584-88a9a2b5c03b	6	0	1795901189230117516	1795901189230122273	8589934647	8589934659	2026-11-28 21:26:40.791808+00	2026-11-28 21:26:29.768548+00	2244	8142	4	dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged	01a2240d-6e7a-7cce-8723-17e074ba3020.parquet	0	\N	\\x0802121a080110041a14088c858d9eddd394f61810a1aa8d9eddd394f6181a0ae807ea07ec07ee07f007	2	3705139582	\N	2	\\x1233646174617365742f30316132323430642d326463392d373033352d396163652d3564316338623438633064362f6d6572676564122c30316132323430642d366537612d376363652d383732332d3137653037346261333032302e706172717565740a2430316132323430642d366538612d373430322d623538342d3838613961326235633033621214088c858d9eddd394f61810a1aa8d9eddd394f61818c41120ce3f2804322430316132323430642d326463392d373033352d396163652d356431633862343863306436f206081203c0843dc03e01	\N	\N
01a2240d-6cfa-75c3-b6f0-3d4d96d7decb	2	0	1795219437038455267	1795219437038455267	8589934645	8589934660	2026-11-28 21:26:41.087693+00	2026-11-28 21:26:29.368927+00	6130	22423	2	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-6cb0-7f68-b70c-93f3e93e4bab.parquet	0	\N	\\x0802121a080210011a1408e393b7b490d2f9f41810e393b7b490d2f9f418121a080310011a1408e393b7b490d2f9f41810e393b7b490d2f9f4181a04e807ea07	12	922383959	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d366362302d376636382d623730632d3933663365393365346261622e706172717565740a2430316132323430642d366366612d373563332d623666302d336434643936643764656362121408e393b7b490d2f9f41810e393b7b490d2f9f41818f22f2097af012802322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-6e68-78e5-93e5-77e245fab3a7	10	0	1795219028421053655	1795219028421053655	8589934646	8589934658	2026-11-28 21:26:40.643518+00	2026-11-28 21:26:29.734927+00	1389	5696	1	dataset/01a2240d-2df8-7d50-9f47-fbe6da9d773e/merged	01a2240d-6e3c-756a-8adb-a88b193ceeff.parquet	0	\N	\\x0802121a080110011a1408d799bc989ec6f9f41810d799bc989ec6f9f418	2	3696352268	\N	2	\\x1233646174617365742f30316132323430642d326466382d376435302d396634372d6662653664613964373733652f6d6572676564122c30316132323430642d366533632d373536612d386164622d6138386231393363656566662e706172717565740a2430316132323430642d366536382d373865352d393365352d373765323435666162336137121408d799bc989ec6f9f41810d799bc989ec6f9f41818ed0a20c02c2801322430316132323430642d326466382d376435302d396634372d666265366461396437373365f20603c03e01	\N	\N
01a2240d-9995-7c13-891c-d2e777fc9e1d	6	2	1795901180257997661	1795901189230122273	8589934659	\N	\N	2026-11-28 21:26:40.786113+00	4555	9294	16	dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged/01a2240d-79be-762d-9440-04e71d5a6b9a-1	01a2240d-9976-75a0-9417-b06caec8518f.parquet	1	\N	\\x0802121a080110101a1408dda6eee7bbd394f61810a1aa8d9eddd394f6181a0ce807ea07ec07ee07f007f207	2	2827053330	\N	2	\\x125a646174617365742f30316132323430642d326463392d373033352d396163652d3564316338623438633064362f6d65726765642f30316132323430642d373962652d373632642d393434302d3034653731643561366239612d31122c30316132323430642d393937362d373561302d393431372d6230366361656338353138662e706172717565740a2430316132323430642d393939352d376331332d383931632d643265373737666339653164121408dda6eee7bbd394f61810a1aa8d9eddd394f61818cb2320ce482810322430316132323430642d326463392d373033352d396163652d356431633862343863306436b00601f206081203c0843dc03e01	\N	\N
01a2240d-9b67-7194-9def-daa550e9bc92	2	5	1795218906581974390	1795219183548671318	8589934661	\N	\N	2026-11-28 21:26:41.253117+00	15117	39162	32	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-79cb-7edf-9af6-62c3a11d8dde-1	01a2240d-9b46-7d72-87f4-4a9d24d2f21e.parquet	1	\N	\\x0802121a080110081a1408f6fa88a7d8c2f9f41810fee6b9e8f4c9f9f418121a0802100c1a1408f6fa88a7d8c2f9f41810d6ca8a8be0caf9f418121a0803100c1a1408f6fa88a7d8c2f9f41810d6ca8a8be0caf9f4181a04e807ea07	14	948023169	\N	2	\\x125a646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d65726765642f30316132323430642d373963622d376564662d396166362d3632633361313164386464652d31122c30316132323430642d396234362d376437322d383766342d3461396432346432663231652e706172717565740a2430316132323430642d396236372d373139342d396465662d646161353530653962633932121408f6fa88a7d8c2f9f41810d6ca8a8be0caf9f418188d7620fab1022820322430316132323430642d326336312d373733382d393231332d313636656262616434643032b00601f20603c03e01	\N	\N
01a2240d-6cfa-758f-99bb-f44b5fef08a7	2	0	1795219167349572474	1795219167349572474	8589934645	8589934661	2026-11-28 21:26:41.2571+00	2026-11-28 21:26:29.368927+00	6138	22440	2	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-6ca2-7a93-ae42-dd36198bd4f9.parquet	0	\N	\\x0802121a080210011a1408fa86e0dea3caf9f41810fa86e0dea3caf9f418121a080310011a1408fa86e0dea3caf9f41810fa86e0dea3caf9f4181a04e807ea07	12	2178922279	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d366361322d376139332d616534322d6464333631393862643466392e706172717565740a2430316132323430642d366366612d373538662d393962622d663434623566656630386137121408fa86e0dea3caf9f41810fa86e0dea3caf9f41818fa2f20a8af012802322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-61d6-7840-aabd-217869185e96	2	4	1795219064147905834	1795219183548671318	8589934635	8589934661	2026-11-28 21:26:41.257108+00	2026-11-28 21:26:26.517041+00	11180	36944	7	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-6182-7b2a-b602-bb96ad814721.parquet	0	\N	\\x0802121a080110021a1408aa9aaea4a3c7f9f41810f0c29693d6c8f9f418121a080210021a1408aa9aaea4a3c7f9f41810f0c29693d6c8f9f418121a080310031a1408aa9aaea4a3c7f9f41810d6ca8a8be0caf9f4181a04e807ea07	14	2916926394	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d363138322d376232612d623630322d6262393661643831343732312e706172717565740a2430316132323430642d363164362d373834302d616162642d323137383639313835653936121408aa9aaea4a3c7f9f41810d6ca8a8be0caf9f41818ac5720d0a0022807322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-aed9-7180-9579-6a76237d72a9	6	0	1795901205504846080	1795901205504850927	8589934671	\N	\N	2026-11-28 21:26:46.229024+00	2278	8321	4	dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged	01a2240d-aec6-7220-94b8-500a078ddca4.parquet	0	\N	\\x0802121a080110041a140880d2bfee99d494f61810eff7bfee99d494f6181a0ce807ea07ec07ee07f007f207	2	2635112565	\N	2	\\x1233646174617365742f30316132323430642d326463392d373033352d396163652d3564316338623438633064362f6d6572676564122c30316132323430642d616563362d373232302d393462382d3530306130373864646361342e706172717565740a2430316132323430642d616564392d373138302d393537392d36613736323337643732613912140880d2bfee99d494f61810eff7bfee99d494f61818e6112081412804322430316132323430642d326463392d373033352d396163652d356431633862343863306436f206081203c0843dc03e01	\N	\N
01a2240d-b1ea-7330-8595-ee7dcb133459	2	0	1795219039692588092	1795219039692588092	8589934672	\N	\N	2026-11-28 21:26:47.016805+00	10268	36245	3	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-b17a-7553-83ee-f7bb4d4f5514.parquet	0	\N	\\x0802121a080110011a1408bc889497c8c6f9f41810bc889497c8c6f9f418121a080210011a1408bc889497c8c6f9f41810bc889497c8c6f9f418121a080310011a1408bc889497c8c6f9f41810bc889497c8c6f9f4181a04e807ea07	14	1707477989	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d623137612d373535332d383365652d6637626234643466353531342e706172717565740a2430316132323430642d623165612d373333302d383539352d656537646362313333343539121408bc889497c8c6f9f41810bc889497c8c6f9f418189c5020959b022803322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-b1ea-7361-83ea-7deabda53606	2	0	1795219247743286229	1795219247743286229	8589934672	\N	\N	2026-11-28 21:26:47.016805+00	10270	36237	3	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-b1b3-79c6-b0be-32e57f760b1c.parquet	0	\N	\\x0802121a080110011a1408d5f7ba9dcfccf9f41810d5f7ba9dcfccf9f418121a080210011a1408d5f7ba9dcfccf9f41810d5f7ba9dcfccf9f418121a080310011a1408d5f7ba9dcfccf9f41810d5f7ba9dcfccf9f4181a04e807ea07	14	1628682205	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d623162332d373963362d623062652d3332653537663736306231632e706172717565740a2430316132323430642d623165612d373336312d383365612d376465616264613533363036121408d5f7ba9dcfccf9f41810d5f7ba9dcfccf9f418189e50208d9b022803322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-b33a-79b1-b53e-6463f65e422b	6	0	1795901206630212994	1795901206630217911	8589934674	\N	\N	2026-11-28 21:26:47.352536+00	2287	8334	4	dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged	01a2240d-b32f-7040-8f13-7d5ec72b266b.parquet	0	\N	\\x0802121a080110041a140882cb8e879ed494f61810b7f18e879ed494f6181a0ce807ea07ec07ee07f007f207	2	2794472099	\N	2	\\x1233646174617365742f30316132323430642d326463392d373033352d396163652d3564316338623438633064362f6d6572676564122c30316132323430642d623332662d373034302d386631332d3764356563373262323636622e706172717565740a2430316132323430642d623333612d373962312d623533652d36343633663635653432326212140882cb8e879ed494f61810b7f18e879ed494f61818ef11208e412804322430316132323430642d326463392d373033352d396163652d356431633862343863306436f206081203c0843dc03e01	\N	\N
01a2240d-b6da-7fb6-936b-0245995044cc	6	0	1795901207568435518	1795901207568440145	8589934676	\N	\N	2026-11-28 21:26:48.279269+00	2278	8323	4	dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged	01a2240d-b6c6-7468-b773-db378aa9302b.parquet	0	\N	\\x0802121a080110041a1408be92bfc6a1d494f61810d1b6bfc6a1d494f6181a0ce807ea07ec07ee07f007f207	2	1047315490	\N	2	\\x1233646174617365742f30316132323430642d326463392d373033352d396163652d3564316338623438633064362f6d6572676564122c30316132323430642d623663362d373436382d623737332d6462333738616139333032622e706172717565740a2430316132323430642d623664612d376662362d393336622d303234353939353034346363121408be92bfc6a1d494f61810d1b6bfc6a1d494f61818e6112083412804322430316132323430642d326463392d373033352d396163652d356431633862343863306436f206081203c0843dc03e01	\N	\N
01a2240d-a10c-7646-b38a-ab640b609ef9	9	3	1795219248080413473	1795219301919908860	8589934662	\N	\N	2026-11-28 21:26:42.700035+00	2115	2115	3	dataset/01a2240d-2dee-7749-88f6-584025c0ba49/merged	c4aaa5ba-d565-474b-bf03-811f4198b6ac.parquet	0	\N	\N	\N	3126406405	2026-11-28 21:26:54.627436+00	\N	\\x1233646174617365742f30316132323430642d326465652d373734392d383866362d3538343032356330626134392f6d6572676564122c63346161613562612d643536352d343734622d626630332d3831316634313938623661632e706172717565740a2430316132323430642d613130632d373634362d623338612d616236343062363039656639121408a1c69bbed0ccf9f41810fcc7f18699cef9f41818c31020c3102803322430316132323430642d326465652d373734392d383866362d353834303235633062613439	1	\\x0801
01a2240d-9ab8-71b2-b6b9-37ded176a216	2	4	1795219295596540548	1795219445502675053	8589934660	\N	\N	2026-11-28 21:26:41.078211+00	12485	37902	14	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged/01a2240d-79cb-7f5b-b157-f8ec3f5b714b-1	01a2240d-9a55-70f4-aded-3faf9feef0eb.parquet	1	\N	\\x0802121a080110021a1408d1f6a29989d2f9f41810ed90bef8afd2f9f418121a080210061a140884e5d5bf81cef9f41810ed90bef8afd2f9f418121a080310061a140884e5d5bf81cef9f41810ed90bef8afd2f9f4181a04e807ea07	14	2069129156	\N	2	\\x125a646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d65726765642f30316132323430642d373963622d376635622d623135372d6638656333663562373134622d31122c30316132323430642d396135352d373066342d616465642d3366616639666565663065622e706172717565740a2430316132323430642d396162382d373162322d623662392d33376465643137366132313612140884e5d5bf81cef9f41810ed90bef8afd2f9f41818c561208ea802280e322430316132323430642d326336312d373733382d393231332d313636656262616434643032b00601f20603c03e01	\N	\N
01a2240d-a975-7cb3-8601-cd67b9e34a9c	2	4	1795218917721862491	1795219111779152475	8589934668	\N	\N	2026-11-28 21:26:44.852579+00	4286	11781	6	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-a95e-7ddf-a599-0344b6aeed4c.parquet	0	\N	\\x0802121a080110021a1408dbe2fde681c3f9f41810dbe4dadcd4c8f9f418121a080210021a1408dbe2fde681c3f9f41810dbe4dadcd4c8f9f418121a080310021a1408dbe2fde681c3f9f41810dbe4dadcd4c8f9f4181a04e807ea07	14	4189000730	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d613935652d376464662d613539392d3033343462366165656434632e706172717565740a2430316132323430642d613937352d376362332d383630312d636436376239653334613963121408dbe2fde681c3f9f41810dbe4dadcd4c8f9f41818be2120855c2806322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-ab13-7695-b829-6f89c73ce10d	6	0	1795901204582140149	1795901204582144796	8589934669	\N	\N	2026-11-28 21:26:45.264479+00	2277	8320	4	dataset/01a2240d-2dc9-7035-9ace-5d1c8b48c0d6/merged	01a2240d-aaf3-76fe-b6f9-3dff871e22f7.parquet	0	\N	\\x0802121a080110041a1408f591c2b696d494f618109cb6c2b696d494f6181a0ce807ea07ec07ee07f007f207	2	3125882182	\N	2	\\x1233646174617365742f30316132323430642d326463392d373033352d396163652d3564316338623438633064362f6d6572676564122c30316132323430642d616166332d373666652d623666392d3364666638373165323266372e706172717565740a2430316132323430642d616231332d373639352d623832392d366638396337336365313064121408f591c2b696d494f618109cb6c2b696d494f61818e5112080412804322430316132323430642d326463392d373033352d396163652d356431633862343863306436f206081203c0843dc03e01	\N	\N
01a2240d-ad4d-7d3f-91c8-c805e111d6c6	2	4	1795218969488752977	1795219076390116014	8589934670	\N	\N	2026-11-28 21:26:45.836651+00	4309	11803	6	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-ad2e-7dc6-a409-48cd8de45793.parquet	0	\N	\\x0802121a080110021a1408d182aed3c2c4f9f41810aeb5f3f1d0c7f9f418121a080210021a1408d182aed3c2c4f9f41810aeb5f3f1d0c7f9f418121a080310021a1408d182aed3c2c4f9f41810aeb5f3f1d0c7f9f4181a04e807ea07	14	2773372161	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d616432652d376463362d613430392d3438636438646534353739332e706172717565740a2430316132323430642d616434642d376433662d393163382d633830356531313164366336121408d182aed3c2c4f9f41810aeb5f3f1d0c7f9f41818d521209b5c2806322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
01a2240d-b569-73d7-a221-e8a7675b7cd7	2	4	1795219226027090442	1795219479725779136	8589934675	\N	\N	2026-11-28 21:26:47.912051+00	4296	11789	6	dataset/01a2240d-2c61-7738-9213-166ebbad4d02/merged	01a2240d-b552-7e15-8876-eb121fead26a.parquet	0	\N	\\x0802121a080110021a14088ac4afaafecbf9f41810c0d1aab7afd3f9f418121a080210021a14088ac4afaafecbf9f41810c0d1aab7afd3f9f418121a080310021a14088ac4afaafecbf9f41810c0d1aab7afd3f9f4181a04e807ea07	14	514364009	\N	2	\\x1233646174617365742f30316132323430642d326336312d373733382d393231332d3136366562626164346430322f6d6572676564122c30316132323430642d623535322d376531352d383837362d6562313231666561643236612e706172717565740a2430316132323430642d623536392d373364372d613232312d6538613736373562376364371214088ac4afaafecbf9f41810c0d1aab7afd3f9f41818c821208d5c2806322430316132323430642d326336312d373733382d393231332d313636656262616434643032f20603c03e01	\N	\N
\.


--
-- Data for Name: sharding_fields; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.sharding_fields (dataset_id, "position", field_name, weight) FROM stdin;
01a2240d-2c61-7738-9213-166ebbad4d02	0	service_name	2
\.


--
-- Data for Name: staged_deduplication_keys; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.staged_deduplication_keys (staged_id, part, days, numbers, hashes, staged_at) FROM stdin;
00000000-0000-0000-0000-000000000004	0	{20777}	{1}	\\x000102030405060708090a0b0c0d0e0f	2026-11-28 21:26:54.735438+00
\.


--
-- Data for Name: stream_datasets; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.stream_datasets (stream_id, dataset_id, merged_offset, merged_ingest_time_nanos, base_offset, created_at, changed_version) FROM stdin;
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c61-7738-9213-166ebbad4d02	11	1795901188000000000	-1	2026-11-28 21:26:19.545838+00	8589934645
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2c87-7752-8e72-ffdc83389332	11	1795901188000000000	-1	2026-11-28 21:26:19.545838+00	8589934645
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dd4-764f-b096-377e68341cfa	20	1795901189000000000	0	2026-11-28 21:26:19.804658+00	8589934646
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2de3-7097-a72f-96e447a72d0d	20	1795901189000000000	2	2026-11-28 21:26:20.148684+00	8589934646
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e08-7a8d-9dc3-a49b6ca9a589	20	1795901189000000000	3	2026-11-28 21:26:20.241622+00	8589934646
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c87-7752-8e72-ffdc83389332	14	1795901203000000000	11	2026-11-28 21:26:42.763224+00	8589934666
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2c61-7738-9213-166ebbad4d02	26	1795901207000000000	-1	2026-11-28 21:26:19.062835+00	8589934675
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dc9-7035-9ace-5d1c8b48c0d6	24	1795901207000000000	4	2026-11-28 21:26:21.037708+00	8589934676
\.


--
-- Data for Name: stream_heads; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.stream_heads (stream_id, committed_offset, last_activity_at, is_stopped, is_pending, removal_count, merged_floor) FROM stdin;
01a2240d-4374-7c5c-8d6e-c79174313f5e	24	2026-11-28 21:26:47.628613+00	f	t	2	20
01a2240d-46a9-72e3-af8b-69614ed05dc2	14	2026-11-28 21:26:53.160962+00	f	t	0	11
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	30	2026-11-28 21:26:53.167516+00	t	t	0	11
\.


--
-- Data for Name: stream_removals; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.stream_removals (version, stream_id, dataset_id, shard_hash, removed_at) FROM stdin;
8589934680	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2ca9-7d3f-a59c-78396c24c058	1949384542	2026-11-28 21:26:50.585455+00
8589934683	01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2df8-7d50-9f47-fbe6da9d773e	1949384542	2026-11-28 21:26:51.814792+00
\.


--
-- Data for Name: stream_tokens; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.stream_tokens (stream_id, token_id, registered_at, revoked_offset) FROM stdin;
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2d3d-7e1f-afe0-cb1f73a23faa	2026-11-28 21:26:19.062835+00	\N
01a2240d-46a9-72e3-af8b-69614ed05dc2	01a2240d-2d44-7be2-907f-22013e8b96c5	2026-11-28 21:26:19.545838+00	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dd9-739c-88be-7ce80f581a5a	2026-11-28 21:26:19.804658+00	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2de9-735e-bc22-7b914a1b4ddb	2026-11-28 21:26:20.148684+00	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e14-7f15-b6e2-ed3e06e606e9	2026-11-28 21:26:20.241622+00	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2dcd-75e9-b4fe-0125011e0b0b	2026-11-28 21:26:21.037708+00	\N
01a2240d-44b8-7ab3-9e8b-40abbb0f68cf	01a2240d-2d44-7be2-907f-22013e8b96c5	2026-11-28 21:26:42.763224+00	\N
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2d4c-7c2b-9b34-1682e3beb52e	2026-11-28 21:26:18.735981+00	24
01a2240d-4374-7c5c-8d6e-c79174313f5e	01a2240d-2e01-7d3e-b8c5-1410d8d3882e	2026-11-28 21:26:19.945438+00	24
\.


--
-- Data for Name: table_objects; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.table_objects (id, dataset_key, digest, object_key, size_bytes, gap_end, handed_out_at, examined_at) FROM stdin;
1	2	\\x1f754dd8f3c33ef2afe3109355448579c332844c4596ef98c8da3bdb0cc6764f	iceberg/01a2240d-2c61-7738-9213-166ebbad4d02/1795901210-01a2240d-bc9f-7e60-97e6-0440c5dbe1a9/manifest.avro	7519	8589934593	2026-11-28 21:26:49.762439+00	2026-11-28 21:26:49.762439+00
2	2	\\xb50daae2054efa82bb1a3b9edfc35e3e997da45d62fed7b8894b2a2a4bddfbf4	iceberg/01a2240d-2c61-7738-9213-166ebbad4d02/1795901210-01a2240d-bcaa-70bf-a7d1-fe1563a31b28/snapshot-8589934678.avro	1683	8589934593	2026-11-28 21:26:49.771998+00	2026-11-28 21:26:49.771998+00
3	2	\\xb7cfa4d2ff639b49208acd0bd0820f73243f71c7f75d5994391b294b9314e7eb	iceberg/01a2240d-2c61-7738-9213-166ebbad4d02/1795901210-01a2240d-bcb7-7e61-b684-8a12b92f365a/v8589934678.metadata.json	10116	8589934593	2026-11-28 21:26:49.789361+00	2026-11-28 21:26:49.789361+00
\.


--
-- Data for Name: table_snapshots; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.table_snapshots (dataset_key, version, object_ids, gap_end, committed_at_ms, segments, number_of_events, size_bytes, handed_out_at, examined_at) FROM stdin;
2	8589934678	{2,1}	8589934593	1795901207912	8	82	222847	2026-11-28 21:26:49.789361+00	2026-11-28 21:26:49.789361+00
\.


--
-- Data for Name: version_gaps; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.version_gaps (gap_start, gap_end) FROM stdin;
1	4294967297
\.


--
-- Data for Name: view_dataset_projections; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.view_dataset_projections (id, view_id, dataset_id, projection_id) FROM stdin;
01a2240d-2d20-7903-b87e-f7277f012da7	01a2240d-2d09-7574-b731-abb696a4657e	01a2240d-2c61-7738-9213-166ebbad4d02	01a2240d-2d15-7cd9-a721-9e3d57882382
01a2240d-2d2b-7c11-b404-76d49c72dbe2	01a2240d-2d09-7574-b731-abb696a4657e	01a2240d-2c87-7752-8e72-ffdc83389332	01a2240d-2d15-7cd9-a721-9e3d57882382
\.


--
-- Data for Name: views; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.views (id, name, description, schema_id, created_at) FROM stdin;
01a2240d-2d09-7574-b731-abb696a4657e	failures	all errors	01a2240d-2d01-79e6-b2e0-429cf7035c85	2026-11-28 21:26:13.000643+00
01a2240d-2d30-7855-9abe-8a51d8415965	unlinked	\N	\N	2026-11-28 21:26:13.04027+00
\.


--
-- Data for Name: witness_state; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.witness_state (id, tick, tick_at, history, number, term, next_term, superseded_by, restored_at, restored_reason, reconciled_at) FROM stdin;
1	14	2026-11-28 21:26:55.118194+00	1	15	1142464e-bf34-4bc8-86a3-a154c70ef137	\N	\N	\N		\N
\.


--
-- Data for Name: worker_settings; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.worker_settings (name, settings, updated_at) FROM stdin;
merge_worker/*	{"buffer_bytes_max": 67108864}	2026-11-28 21:26:13.418655+00
\.


--
-- Data for Name: workers; Type: TABLE DATA; Schema: public; Owner: -
--

COPY public.workers (id, first_seen_at, last_seen_at) FROM stdin;
collector/collector-1	2026-11-28 21:26:15.500242+00	2026-11-28 21:26:15.500242+00
collector/collector-2	2026-11-28 21:26:17.281081+00	2026-11-28 21:26:17.281081+00
collector/collector-3	2026-11-28 21:26:18.322099+00	2026-11-28 21:26:18.322099+00
nursery/vm-18560-4d98a97f	2026-11-28 21:26:25.108445+00	2026-11-28 21:26:25.108445+00
segments	2026-11-28 21:26:30.241402+00	2026-11-28 21:26:30.241402+00
janitor	2026-11-28 21:26:32.561602+00	2026-11-28 21:26:32.561602+00
merge_worker/vm-18962-6096d28b	2026-11-28 21:26:32.774277+00	2026-11-28 21:26:32.774277+00
quarantine	2026-11-28 21:26:44.349696+00	2026-11-28 21:26:44.349696+00
gateway	2026-11-28 21:26:49.684139+00	2026-11-28 21:26:49.684139+00
fsck	2026-11-28 21:26:53.480877+00	2026-11-28 21:26:53.480877+00
\.


--
-- Name: audit_log_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.audit_log_id_seq', 68, true);


--
-- Name: datasets_key_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.datasets_key_seq', 11, true);


--
-- Name: deduplication_runs_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.deduplication_runs_id_seq', 9, true);


--
-- Name: denied_calls_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.denied_calls_id_seq', 1, true);


--
-- Name: registrations_id_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.registrations_id_seq', 45, true);


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
-- Name: automatic_columns automatic_columns_dataset_id_attribute_type_unique; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automatic_columns
    ADD CONSTRAINT automatic_columns_dataset_id_attribute_type_unique UNIQUE (dataset_id, attribute, type);


--
-- Name: automatic_columns automatic_columns_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automatic_columns
    ADD CONSTRAINT automatic_columns_pkey PRIMARY KEY (dataset_id, field_id);


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
-- Name: dataset_deduplication dataset_deduplication_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.dataset_deduplication
    ADD CONSTRAINT dataset_deduplication_pkey PRIMARY KEY (dataset_key);


--
-- Name: dataset_duplicates dataset_duplicates_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.dataset_duplicates
    ADD CONSTRAINT dataset_duplicates_pkey PRIMARY KEY (dataset_key);


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
-- Name: deduplication_pages_00 deduplication_pages_00_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_00
    ADD CONSTRAINT deduplication_pages_00_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_01 deduplication_pages_01_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_01
    ADD CONSTRAINT deduplication_pages_01_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_02 deduplication_pages_02_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_02
    ADD CONSTRAINT deduplication_pages_02_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_03 deduplication_pages_03_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_03
    ADD CONSTRAINT deduplication_pages_03_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_04 deduplication_pages_04_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_04
    ADD CONSTRAINT deduplication_pages_04_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_05 deduplication_pages_05_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_05
    ADD CONSTRAINT deduplication_pages_05_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_06 deduplication_pages_06_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_06
    ADD CONSTRAINT deduplication_pages_06_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_07 deduplication_pages_07_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_07
    ADD CONSTRAINT deduplication_pages_07_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_08 deduplication_pages_08_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_08
    ADD CONSTRAINT deduplication_pages_08_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_09 deduplication_pages_09_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_09
    ADD CONSTRAINT deduplication_pages_09_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_10 deduplication_pages_10_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_10
    ADD CONSTRAINT deduplication_pages_10_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_11 deduplication_pages_11_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_11
    ADD CONSTRAINT deduplication_pages_11_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_12 deduplication_pages_12_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_12
    ADD CONSTRAINT deduplication_pages_12_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_13 deduplication_pages_13_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_13
    ADD CONSTRAINT deduplication_pages_13_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_14 deduplication_pages_14_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_14
    ADD CONSTRAINT deduplication_pages_14_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_15 deduplication_pages_15_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_15
    ADD CONSTRAINT deduplication_pages_15_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_16 deduplication_pages_16_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_16
    ADD CONSTRAINT deduplication_pages_16_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_17 deduplication_pages_17_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_17
    ADD CONSTRAINT deduplication_pages_17_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_18 deduplication_pages_18_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_18
    ADD CONSTRAINT deduplication_pages_18_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_19 deduplication_pages_19_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_19
    ADD CONSTRAINT deduplication_pages_19_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_20 deduplication_pages_20_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_20
    ADD CONSTRAINT deduplication_pages_20_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_21 deduplication_pages_21_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_21
    ADD CONSTRAINT deduplication_pages_21_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_22 deduplication_pages_22_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_22
    ADD CONSTRAINT deduplication_pages_22_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_23 deduplication_pages_23_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_23
    ADD CONSTRAINT deduplication_pages_23_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_24 deduplication_pages_24_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_24
    ADD CONSTRAINT deduplication_pages_24_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_25 deduplication_pages_25_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_25
    ADD CONSTRAINT deduplication_pages_25_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_26 deduplication_pages_26_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_26
    ADD CONSTRAINT deduplication_pages_26_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_27 deduplication_pages_27_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_27
    ADD CONSTRAINT deduplication_pages_27_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_28 deduplication_pages_28_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_28
    ADD CONSTRAINT deduplication_pages_28_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_29 deduplication_pages_29_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_29
    ADD CONSTRAINT deduplication_pages_29_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_30 deduplication_pages_30_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_30
    ADD CONSTRAINT deduplication_pages_30_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages_31 deduplication_pages_31_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages_31
    ADD CONSTRAINT deduplication_pages_31_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_pages deduplication_pages_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_pages
    ADD CONSTRAINT deduplication_pages_pkey PRIMARY KEY (run, bucket);


--
-- Name: deduplication_runs deduplication_runs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.deduplication_runs
    ADD CONSTRAINT deduplication_runs_pkey PRIMARY KEY (id);


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
-- Name: former_layouts former_layouts_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.former_layouts
    ADD CONSTRAINT former_layouts_pkey PRIMARY KEY (dataset_id, until_version);


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
-- Name: meta_servers meta_servers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.meta_servers
    ADD CONSTRAINT meta_servers_pkey PRIMARY KEY (id);


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
-- Name: object_stores object_stores_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.object_stores
    ADD CONSTRAINT object_stores_pkey PRIMARY KEY (name);


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
-- Name: quarantined_ranges quarantined_ranges_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.quarantined_ranges
    ADD CONSTRAINT quarantined_ranges_pkey PRIMARY KEY (stream_id, verdict, first_offset);


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
-- Name: retention_baselines retention_baselines_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.retention_baselines
    ADD CONSTRAINT retention_baselines_pkey PRIMARY KEY (dataset_key);


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
-- Name: schema_bindings schema_bindings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_bindings
    ADD CONSTRAINT schema_bindings_pkey PRIMARY KEY (dataset_id);


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
-- Name: schema_versions schema_versions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_versions
    ADD CONSTRAINT schema_versions_pkey PRIMARY KEY (schema_id, version);


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
-- Name: staged_deduplication_keys staged_deduplication_keys_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.staged_deduplication_keys
    ADD CONSTRAINT staged_deduplication_keys_pkey PRIMARY KEY (staged_id, part);


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
-- Name: witness_state witness_state_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.witness_state
    ADD CONSTRAINT witness_state_pkey PRIMARY KEY (id);


--
-- Name: worker_settings worker_settings_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.worker_settings
    ADD CONSTRAINT worker_settings_pkey PRIMARY KEY (name);


--
-- Name: workers workers_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);


--
-- Name: audit_log_at_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX audit_log_at_index ON public.audit_log USING btree (at);


--
-- Name: baby_segments_reaped_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX baby_segments_reaped_index ON public.baby_segments USING btree (reaped_at) WHERE (reaped_at IS NOT NULL);


--
-- Name: dataset_visibility_names; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX dataset_visibility_names ON public.dataset_visibility USING btree (name) WHERE (name IS NOT NULL);


--
-- Name: datasets_default_unique; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX datasets_default_unique ON public.datasets USING btree (is_default) WHERE is_default;


--
-- Name: datasets_kept_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX datasets_kept_index ON public.datasets USING btree (key) WHERE (kept_files = ANY (ARRAY[1, 2]));


--
-- Name: datasets_name_live_unique; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX datasets_name_live_unique ON public.datasets USING btree (name) WHERE (deleted_at IS NULL);


--
-- Name: datasets_names; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX datasets_names ON public.datasets USING btree (name);


--
-- Name: datasets_purging_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX datasets_purging_index ON public.datasets USING btree (key) WHERE ((deleted_at IS NOT NULL) AND (purged_at IS NULL));


--
-- Name: deduplication_runs_dataset_key_day_tier_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deduplication_runs_dataset_key_day_tier_index ON public.deduplication_runs USING btree (dataset_key, day, tier);


--
-- Name: deduplication_runs_due_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX deduplication_runs_due_index ON public.deduplication_runs USING btree (id) WHERE is_due;


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
-- Name: ingest_tokens_logs_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ingest_tokens_logs_index ON public.ingest_tokens USING btree (logs_dataset_id);


--
-- Name: ingest_tokens_metrics_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ingest_tokens_metrics_index ON public.ingest_tokens USING btree (metrics_dataset_id);


--
-- Name: ingest_tokens_traces_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX ingest_tokens_traces_index ON public.ingest_tokens USING btree (traces_dataset_id);


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
-- Name: meta_servers_seen_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX meta_servers_seen_at ON public.meta_servers USING btree (seen_at);


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
-- Name: schema_bindings_schema_id_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX schema_bindings_schema_id_index ON public.schema_bindings USING btree (schema_id);


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
-- Name: segments_foreign_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX segments_foreign_index ON public.segments USING btree (foreign_state, id) WHERE ((foreign_state IS NOT NULL) AND (tombstone_version IS NULL));


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
-- Name: workers_last_seen_at_index; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX workers_last_seen_at_index ON public.workers USING btree (last_seen_at);


--
-- Name: automatic_columns automatic_columns_dataset_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.automatic_columns
    ADD CONSTRAINT automatic_columns_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES public.datasets(id);


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
-- Name: former_layouts former_layouts_dataset_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.former_layouts
    ADD CONSTRAINT former_layouts_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES public.datasets(id);


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
-- Name: schema_bindings schema_bindings_dataset_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_bindings
    ADD CONSTRAINT schema_bindings_dataset_id_fkey FOREIGN KEY (dataset_id) REFERENCES public.datasets(id);


--
-- Name: schema_bindings schema_bindings_schema_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_bindings
    ADD CONSTRAINT schema_bindings_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES public.schemas(id);


--
-- Name: schema_columns schema_columns_schema_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_columns
    ADD CONSTRAINT schema_columns_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES public.schemas(id) ON DELETE CASCADE;


--
-- Name: schema_versions schema_versions_schema_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.schema_versions
    ADD CONSTRAINT schema_versions_schema_id_fkey FOREIGN KEY (schema_id) REFERENCES public.schemas(id) ON DELETE CASCADE;


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

